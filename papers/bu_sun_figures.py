"""Bu & Sun's figures: the images' probabilities, bounds and trials against p, correlations."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

import surefoot as sf
from papers import bu_sun, charts
from papers.bu_sun import PAPER, Pair, read_pairs, with_images
from papers.exhibit import Exhibit, Row, Sheet
from papers.paper import Request, whole
from papers.words import percent

__all__ = ["PAPER"]
_EDGES = tuple(round(0.05 * i, 2) for i in range(21))
"""Bars of a twentieth."""
_NEAR = 0.05
"""What counts as near 0 or 1; the paper does not say it."""
_NEAR_SHOWN = "*model; *perturbation=perturb; share:percent; published=published_share:percent"
_TRUE_P = "true probability of being kept, p"
_WHOLE, _BESIDE = 1e-6, 1e-9
"""A count this close to a whole number is that number, since rounding is far smaller; and the
distance from a jump at which it is drawn."""
_EXAMPLE = 0.2
"""The p at which the paper reads its figure 2."""


@PAPER.exhibit(
    "figure 1",
    "Probabilities of being kept, over the images",
    {"perturb": (bu_sun.GLASS,), "images": (250,), "width": 0.05, "confidence": 0.95},
    quick={"images": (40,), "width": 0.1},
)
def figure_1(request: Request) -> Exhibit:
    """A histogram for each model and perturbation."""
    options = request.options
    goal = {"each": options["width"], "confidence": options["confidence"]}
    loaded = with_images(request, most=whole("images", request.only("images"), 1))
    rows, near, drawn, results, lines = list[Row](), list[Row](), {}, {}, []
    for name, model in loaded.models.items():
        for perturb in request.options["perturb"]:
            title = f"{name}, {perturb}"
            results[title] = loaded.run("estimate", model, perturb, property="same", **goal)
            values = bu_sun.estimates(results[title])
            kept = values[~np.isnan(values)]
            counts, n = np.histogram(kept, _EDGES)[0].tolist(), len(kept)
            rows += [
                {"model": name, "perturb": perturb, "low": low, "high": high, "images": count}
                for low, high, count in zip(_EDGES[:-1], _EDGES[1:], counts, strict=True)
            ]
            drawn[f"Estimated probability of being kept of {n:,} images: {title}."] = (
                charts.histogram(counts, _EDGES, "estimated probability of being kept", title)
            )
            low, high = int((kept <= _NEAR).sum()), int((kept >= 1 - _NEAR).sum())
            near.append({"model": name, "perturb": perturb, "share": (low + high) / n})
            most = f"{low:,} at most {_NEAR:g}, {high:,} at least {1 - _NEAR:g}"
            lines.append(
                f"{title}: the estimate of {low + high:,} of {n:,} is near 0 or 1: {most}."
            )
    shown = "*model; *perturbation=perturb; from=low; to=high; images"
    return Exhibit.of(
        *lines,
        f"The bars count estimates, each within {options['width']:g} of its truth with confidence "
        f"{percent(goal['confidence'])} by itself, not for all images together; a bar is no "
        "claim about the true number of images in it.",
        "Images are those that every given model classifies correctly when clean.",
        title="Figure 1: the probability of being kept, over the images",
        sheets=(
            Sheet("Images by estimated probability of being kept", shown, rows),
            Sheet(
                "Images near 0 or 1",
                _NEAR_SHOWN,
                [{**r, "published_share": 0.5} for r in near],
                "In the paper about 50 % of 250 CIFAR-10 images (DenseNet121, glass blur).",
            ),
        ),
        charts=drawn,
        results=results,
    )


def chernoff_miss(p: float, width: float, n: int) -> float:
    """A bound of P(|k/n - p| > width) for this p: theorem 3."""
    if abs(p - 0.5) <= width / 2:
        return min(1.0, 2 * math.exp(-2 * n * width**2))
    ends = [q for q in (p - width, p + width) if 0 <= q <= 1]
    divergences = [float(rel_entr(q, p) + rel_entr(1 - q, 1 - p)) for q in ends]
    return min(1.0, sum(math.exp(-n * divergence) for divergence in divergences))


def binomial_miss(p: float, width: float, n: int) -> float:
    """P(|k/n - p| > width) itself; a distance of exactly `width` is no miss."""
    first, last = math.ceil(n * (p - width) - _WHOLE), math.floor(n * (p + width) + _WHOLE)
    return float(binom.cdf(first - 1, n, p) + binom.sf(last, n, p))


@PAPER.exhibit(
    "figure 2", "Okamoto's bound and theorem 3 against p", {"draws": 500, "width": 0.05}, needs=()
)
def figure_2(request: Request) -> Exhibit:
    """Three curves: two bounds, and what they bound, exactly."""
    n, width = request.options["draws"], request.options["width"]
    Pair(width, 0.5)  # refuses what is no width
    okamoto = min(1.0, 2 * math.exp(-2 * n * width**2))
    rows = [
        {"p": p, "okamoto": okamoto, "theorem_3": chernoff_miss(p, width, n),
         "exact": binomial_miss(p, width, n)}
        for p in bu_sun.GRID.tolist()
    ]  # fmt: skip
    # Both sides of every p at which a count enters or leaves the range: there are the peaks.
    jumps = [k / n + side for k in range(n + 1) for side in (-width, width)]
    near = {0.0, 1.0, *(p + step for p in jumps for step in (-_BESIDE, _BESIDE))}
    fine = sorted(p for p in near if 0 <= p <= 1)
    curves = {
        "Okamoto's bound": [(row["p"], row["okamoto"]) for row in rows],
        "theorem 3": [(row["p"], row["theorem_3"]) for row in rows],
        "exact probability": [(p, binomial_miss(p, width, n)) for p in fine],
    }
    worst = sf.statistics.worst_miss(n, width)
    at = next(row for row in rows if row["p"] == _EXAMPLE)
    shown = "*p; Okamoto's bound=okamoto; theorem 3=theorem_3; exact"
    caption = f"Bounds of the probability of an error above {width:g} after {n:,} trials, and that "
    return Exhibit.of(
        f"With {n:,} trials an estimate is off by more than {width:g} with probability at most "
        f"{okamoto:.3g} by Okamoto's bound for every p, and at p = {_EXAMPLE:g} at most "
        f"{at['theorem_3']:.3g} by theorem 3; the exact probability there is "
        f"{at['exact']:.3g}, and at the worst p it is {worst:.3g}.",
        "Added: the exact probability (binomial sums, nothing simulated), which is what an "
        "exact method can use. It jumps where a count enters or leaves the range.",
        title=f"Figure 2: how often {n:,} trials are off by more than {width:g}",
        sheets=(Sheet("At some p", shown, tuple(rows[::25])),),
        charts={
            f"{caption}probability.": charts.line_chart(
                curves, _TRUE_P, f"probability of an error above {width:g}"
            )
        },
    )


@PAPER.exhibit(
    "figure 3",
    "Trials of an estimate against p",
    {"pairs": ("0.05,0.05", "0.01,0.01"), "repeats": 100},
    quick={"repeats": 20},
    needs=(),
)
def figure_3(request: Request) -> Exhibit:
    """Trials against p, one panel for each pair."""
    drawn, rows, parts = {}, list[Row](), []
    repeats, last = request.options["repeats"], "limit for small widths"
    for pair in read_pairs(request.options["pairs"]):
        number = sf.statistics.okamoto(pair.width, pair.error)
        theirs, ours = bu_sun.simulated(pair, repeats, request.seed), dict(bu_sun.expected(pair))
        curves: dict[str, Any] = {
            "Bu & Sun": list(zip(bu_sun.GRID.tolist(), theirs.tolist(), strict=True)),
            "Okamoto": [(0.0, number), (1.0, number)],
            "exact sequential": list(ours.items()),
            last: list(zip(bu_sun.GRID.tolist(), bu_sun.limits(pair).tolist(), strict=True)),
        }
        drawn[f"Trials against p: {pair}."] = charts.line_chart(
            curves, _TRUE_P, "trials", title=str(pair), dashed=[last]
        )
        own = {
            p: {"width": pair.width, "error": pair.error, "p": p, "okamoto": number,
                "bu_sun": trials, "ours": ours[p]}
            for p, trials in curves["Bu & Sun"][::50]
        }  # fmt: skip
        rows += own.values()
        parts.append(
            f"at {str(pair).replace(', ', ' and ')}, Bu & Sun's method takes "
            f"{own[0.0]['bu_sun']:,.0f} trials at p = 0 and {own[0.5]['bu_sun']:,.0f} at p = 0.5, "
            f"the exact sequential method {own[0.0]['ours']:,.0f} and {own[0.5]['ours']:,.0f}, "
            f"Okamoto {number:,}"
        )
    seen = "; ".join(parts)
    shown = "*width; *error; p; Okamoto=okamoto; Bu & Sun=bu_sun:,.0f; exact sequential=ours:,.0f"
    return Exhibit.of(
        f"{seen[0].upper()}{seen[1:]}.",
        "Added: the exact sequential method (exact expectation) and the limit for any sound method "
        "as the width goes to 0. The text does not name the second pair of the paper's figure.",
        bu_sun.words_of_simulation(repeats),
        title="Figure 3: trials of an estimate against the probability that is estimated",
        sheets=(Sheet("Trials at some p", shown, rows),),
        charts=drawn,
    )


@PAPER.exhibit(
    "figure 4",
    "Correlation with the standard method against the number of images",
    {
        "perturb": (bu_sun.CONTRAST, bu_sun.FOG, bu_sun.GAUSSIAN),
        "images": (10, 20, 30, 40, 50),
        **bu_sun.MEANS,
    },
    quick=bu_sun.QUICK_MEANS | {"images": (2, 5)},
)
def figure_4(request: Request) -> Exhibit:
    """The correlations of Table 3 against the number of images, one chart a perturbation."""
    made, rows = bu_sun.global_means(request)
    drawn = {}
    for perturb in dict.fromkeys(row["perturb"] for row in rows):
        own = [row for row in rows if row["perturb"] == perturb]
        curves = {
            bu_sun.NAMES[k]: [(r["images"], r[f"{k}_pearson"]) for r in own if f"{k}_pearson" in r]
            for k in bu_sun.KEYS
        }
        caption = f"Mean Pearson correlation with the standard method over the repeats: {perturb}."
        drawn[caption] = charts.line_chart(
            curves, "images", "mean Pearson correlation", title=perturb, marks=True
        )
    return replace(made, charts=drawn)
