"""Figure 2: Okamoto's bound and theorem 3 against p, and the probability that both bound."""

from __future__ import annotations

import math

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from surefoot.report.figures import INK, STEADY
from surefoot.report.line_chart import ORANGE, Curve, line_chart
from surefoot.statistics import worst_miss
from surefoot.statistics.bounds import binomial_miss, chernoff_miss
from surefoot.statistics.fixed_width import check_width_and_error

_POINTS = 501
_EVERY = 25
"""Of these points the table has every twenty-fifth."""
_BESIDE = 1e-9
"""Distance from a jump at which it is drawn."""
_EXAMPLE = 0.2
"""The p at which the paper reads its figure."""


def make(request: Request) -> Exhibit:
    """Three curves: two bounds, and what they bound, exactly."""
    n, width = request.options["draws"], request.options["width"]
    check_width_and_error(width, 0.5)
    okamoto = min(1.0, 2 * math.exp(-2 * n * width**2))
    rows = [
        {
            "p": p,
            "okamoto": okamoto,
            "theorem_3": chernoff_miss(p, width, n),
            "exact": binomial_miss(p, width, n),
        }
        for p in (round(i / (_POINTS - 1), 3) for i in range(_POINTS))
    ]
    exact = [{"p": p, "exact": binomial_miss(p, width, n)} for p in _fine_grid(n, width)]
    curves = {
        name: Curve([(row["p"], row[key]) for row in (exact if key == "exact" else rows)], colour)
        for name, key, colour in (
            ("Okamoto's bound", "okamoto", STEADY),
            ("theorem 3", "theorem_3", ORANGE),
            ("exact probability", "exact", INK),
        )
    }
    x, y = "true probability of being kept, p", f"probability of an error above {width:g}"
    worst, at = worst_miss(n, width), next(row for row in rows if row["p"] == _EXAMPLE)
    return Exhibit(
        name=request.part.name,
        title=f"Figure 2: how often {n:,} trials are off by more than {width:g}",
        lines=(
            f"With {n:,} trials an estimate is off by more than {width:g} with probability at most "
            f"{okamoto:.3g} by Okamoto's bound for every p, and at p = {_EXAMPLE:g} at most "
            f"{at['theorem_3']:.3g} by theorem 3; the exact probability there is "
            f"{at['exact']:.3g}, and at the worst p it is {worst:.3g}.",
            "Added: the exact probability (binomial sums, nothing simulated), which is what an "
            "exact method can use. It jumps where a count enters or leaves the range.",
        ),
        sheets=(Sheet("At some p", _COLUMNS, tuple(rows[::_EVERY])),),
        charts={
            f"Bounds of the probability of an error above {width:g} after {n:,} trials, and that "
            "probability.": line_chart(curves, x, y)
        },
    )


def _fine_grid(n: int, width: float) -> list[float]:
    """Both sides of every p at which a count enters or leaves the range: there are the peaks."""
    ends = [k / n + side for k in range(n + 1) for side in (-width, width)]
    near = [p + step for p in ends for step in (-_BESIDE, _BESIDE)]
    return sorted(p for p in {0.0, 1.0, *near} if 0 <= p <= 1)


_COLUMNS = (
    Column("p", "p", is_name=True),
    Column("Okamoto's bound", "okamoto"),
    Column("theorem 3", "theorem_3"),
    Column("exact", "exact"),
)
