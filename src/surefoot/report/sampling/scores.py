"""The scores behind an extrapolated tail: histograms with the fitted normal, and the fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from surefoot.core.results import Estimate, Extrapolation, Histogram, Interval, NormalFit, Undecided
from surefoot.records.record import InputRow, Record
from surefoot.report.figures import INK, QUIET, STEADY, WEAK, svg
from surefoot.report.formatting import (
    confidence,
    exact_percent,
    four_digits,
    p_bound,
    percent_range,
    small_probability,
)
from surefoot.report.tables import Table
from surefoot.report.view import Figure, Section

_ROWS = 60
"""Fits in the table of a page, the weakest first; the frame and the JSON have all."""
_CURVE_POINTS = 121
_REACH = 4.0
"""Deviations to both sides over which the fitted curve is drawn."""
_FAR = 3.0
"""A limit farther away than this many times the width of the curve is named, not drawn."""
_NAMES = {"none": "as they are", "box-cox": "Box-Cox", "yeo-johnson": "Yeo-Johnson"}
"""Transforms as a page writes them."""
FOOTING = "an extrapolation of a fitted model, without guarantee"


def score_sections(record: Record) -> list[Section]:
    """Histograms of a few inputs, and a table of the fits; nothing where no tail was fitted."""
    rows = [row for row in record.inputs if fits_of(row)]
    if not rows:
        return []
    weakest = min((r.result.z for r in rows if isinstance(r.result, Extrapolation)), default=None)
    shown = {row.id: row for row in rows if all(fit.scores for fit in fits_of(row))}
    roles = {name: _role(row, weakest) for name, row in shown.items()}
    figures = tuple(
        Figure(
            partial(_drawn, shown[name]),
            caption_of(shown[name], roles[name]),
            f"scores-{i}",
            f"Histograms of the scores of input {name}, with the fitted normal and the limit; the "
            "numbers are in the caption.",
        )
        for i, name in enumerate(sorted(shown, key=lambda name: _ROLES.index(roles[name])), 1)
    )
    table = fit_table(rows)
    line = (
        "Bars: how many trials had which score, the highest confidence of a wrong class. Curve: "
        "the normal distribution with the same mean and deviation. Dashed: the limit."
        if record.study.property.kind == "confident"
        else "Bars: how many trials had which severity. Curve: the normal distribution with the "
        "same mean and deviation. Dashed: the limit."
    )
    return [
        Section("scores", "Scores of single inputs", (line,), figures),
        Section("fits", table.title, table=table),
    ]


def fits_of(row: InputRow) -> tuple[NormalFit, ...]:
    """The normal distributions that were fitted to its scores."""
    return row.result.fits if isinstance(row.result, Extrapolation | Undecided) else ()


_WEAKEST, _TYPICAL, _CONTRADICTS, _NO_FIT = _ROLES = (
    "the largest extrapolated failure probability",
    "a typical input: the median of z",
    "its extrapolation contradicts its count",
    "no transform made its scores normal",
)
"""Why an input is shown, in the order of the page."""


def _role(row: InputRow, weakest: float | None) -> str:
    match row.result:
        case Extrapolation(contradicted=True):
            return _CONTRADICTS
        case Extrapolation(z=z):
            return _WEAKEST if z == weakest else _TYPICAL
        case _:
            return _NO_FIT


def caption_of(row: InputRow, role: str = "") -> str:
    """What the histograms of an input show, with the count beside what is extrapolated."""
    head = f"{row.id}{f' ({role})' if role else ''}: "
    panels = "; ".join(fit_words(fit) for fit in fits_of(row))
    return f"{head}{panels}. {outcome_words(row)}"


def fit_words(fit: NormalFit) -> str:
    """Mean, deviation, z and the test of one fit."""
    outcome = "not rejected" if fit.accepted else "rejected"
    power = "" if fit.power is None else f", λ = {fit.power:.3g}"
    p = p_bound(fit.p_value, is_bound=fit.p_is_bound)
    return (
        f"{transform_name(fit)}{power}: mean {four_digits(fit.mean)}, deviation "
        f"{four_digits(fit.deviation)}, z = {fit.z:.3g}, normality {outcome} at "
        f"{exact_percent(fit.level)} (Anderson-Darling, p {p if p.startswith('<') else f'= {p}'})"
    )


def outcome_words(row: InputRow) -> str:
    """The extrapolation with its footing, and what was counted."""
    counted = row.result.counted if isinstance(row.result, Extrapolation | Undecided) else None
    by_count = f"By count it fails under {counted_words(counted)}." if counted else ""
    if not isinstance(row.result, Extrapolation):
        return f"No extrapolation. {by_count}".strip()
    failure = small_probability(row.result.failure)
    return f"Extrapolated failure probability {failure}: {FOOTING}. {by_count}".strip()


def counted_words(counted: Estimate) -> str:
    """The counted failure probability with its interval."""
    around = percent_range(failing(counted))
    error = counted.guarantee.error
    return f"{around} of the perturbations (confidence {confidence(error)}, this input by itself)"


def failing(counted: Estimate) -> Interval:
    """The interval of failing, from that of being kept."""
    return Interval(max(0.0, 1 - counted.interval.high), min(1.0, 1 - counted.interval.low))


def transform_name(fit: NormalFit) -> str:
    """The transform as a page writes it."""
    return _NAMES.get(fit.transform, fit.transform)


def fit_table(rows: Sequence[InputRow]) -> Table:
    """One row an input: the fit that was used, or the last that was tried."""
    ordered = sorted(rows, key=lambda row: (row.result.trials == 0, fits_of(row)[-1].z))
    headings = (
        "input", "transform", "mean", "deviation", "limit", "z", "A²", "p", "extrapolated",
        "interval of the counted",
    )  # fmt: skip
    error = max((e.guarantee.error for r in rows if (e := _counted(r)) is not None), default=0.0)
    levels = ", ".join(dict.fromkeys(exact_percent(fits_of(row)[-1].level) for row in rows))
    more = f"The {_ROWS} weakest of {len(rows):,}; to_frame() and --json have all. "
    note = (
        f"{more if len(rows) > _ROWS else ''}Mean, deviation and limit are those after the "
        f"transform. A²: Anderson and Darling's statistic; p: of normality, tested at {levels}. "
        "Extrapolated probabilities have no guarantee; the intervals of the counts have confidence "
        f"{confidence(error)}, each input by itself."
    )
    cells = tuple(map(_cells, ordered[:_ROWS]))
    return Table("Fitted distributions", headings, cells, 2, note, page_only=True)


def _counted(row: InputRow) -> Estimate | None:
    return row.result.counted if isinstance(row.result, Extrapolation | Undecided) else None


def _cells(row: InputRow) -> tuple[str, ...]:
    fit, counted = fits_of(row)[-1], _counted(row)
    tail = row.result if isinstance(row.result, Extrapolation) else None
    name = transform_name(fit)
    return (
        row.id,
        name if fit.power is None else f"{name}, λ = {fit.power:.2g}",
        f"{fit.mean:.3g}",
        f"{fit.deviation:.3g}",
        f"{fit.limit:.3g}",
        f"{fit.z:.3g}",
        f"{fit.statistic:.3g}",
        p_bound(fit.p_value, is_bound=fit.p_is_bound),
        "rejected: none" if tail is None else small_probability(tail.failure),
        "" if counted is None else percent_range(failing(counted)),
    )


def _drawn(row: InputRow) -> str:
    return svg(score_chart(row))


def score_chart(row: InputRow) -> Any:  # noqa: ANN401  an object of Altair
    """One panel a fit, side by side: raw first, then after each transform that was tried."""
    import altair as alt

    panels = [_panel(fit, fit.scores) for fit in fits_of(row) if fit.scores is not None]
    return alt.hconcat(*panels, spacing=30) if len(panels) > 1 else panels[0]


def _panel(fit: NormalFit, scores: Histogram) -> Any:  # noqa: ANN401  an object of Altair
    import altair as alt

    edges = np.linspace(scores.low, scores.high, len(scores.counts) + 1)
    bars = [
        {"low": a, "high": b, "trials": n}
        for a, b, n in zip(edges[:-1].tolist(), edges[1:].tolist(), scores.counts, strict=True)
    ]
    reach = _REACH * fit.deviation
    low, high = min(scores.low, fit.mean - reach), max(scores.high, fit.mean + reach)
    drawn = low - _FAR * (high - low) <= fit.limit <= high + _FAR * (high - low)
    ends = [min(low, fit.limit), max(high, fit.limit)] if drawn else [low, high]
    margin = 0.02 * (ends[1] - ends[0])
    domain = [ends[0] - margin, ends[1] + margin]
    name = "score" if fit.transform == "none" else f"score after {transform_name(fit)}"
    name += "" if fit.power is None else f" (λ = {fit.power:.3g})"
    scale = alt.Scale(domain=domain, nice=False)
    x = alt.X("low:Q", title=name, scale=scale, axis=alt.Axis(tickCount=6))
    curve_points = _curve(fit, scores)
    highest = max(*scores.counts, *(point["trials"] for point in curve_points))
    y = alt.Y("trials:Q", title="trials", scale=alt.Scale(domain=[0, 1.15 * highest]))
    histogram = alt.Chart(alt.InlineData(values=bars)).mark_rect(color=STEADY, opacity=0.55)
    curve = alt.Chart(alt.InlineData(values=curve_points))
    layers = histogram.encode(x=x, x2="high:Q", y=y, y2=alt.Y2Datum(0))
    layers += curve.mark_line(color=INK, strokeWidth=1.5).encode(x="at:Q", y="trials:Q")
    layers += _limit(fit, domain, drawn=drawn)
    return layers.properties(width=240, height=180)


def _curve(fit: NormalFit, scores: Histogram) -> list[dict[str, float]]:
    """Expected trials in a bin, along the fitted normal."""
    width = (scores.high - scores.low) / len(scores.counts)
    scale = sum(scores.counts) * width / (fit.deviation * math.sqrt(2 * math.pi))
    at = np.linspace(-_REACH, _REACH, _CURVE_POINTS)
    heights = scale * np.exp(-(at**2) / 2)
    return [
        {"at": fit.mean + z * fit.deviation, "trials": h}
        for z, h in zip(at.tolist(), heights.tolist(), strict=True)
    ]


def _limit(fit: NormalFit, domain: Sequence[float], *, drawn: bool) -> Any:  # noqa: ANN401  an object of Altair
    """A dashed line at the limit, with z beside it; words at the edge where it is far away."""
    import altair as alt

    right = fit.limit > fit.mean
    words = f"limit, z = {fit.z:.3g}"
    if not drawn:
        words = f"{words} →" if right else f"← {words}"
    at = fit.limit if drawn else domain[1 if right else 0]
    left = at > sum(domain) / 2
    base = alt.Chart(alt.InlineData(values=[{"at": at, "text": words}]))
    text = base.mark_text(
        align="right" if left else "left",
        dx=-5 if left else 5,
        fontSize=12,
        color=WEAK if drawn else QUIET,
    ).encode(x="at:Q", y=alt.value(8), text="text:N")
    if not drawn:
        return text
    return base.mark_rule(color=WEAK, strokeDash=[5, 4], strokeWidth=1.5).encode(x="at:Q") + text
