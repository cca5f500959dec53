"""Failure probabilities and scores as figures, and what is seen in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from surefoot.core import results
from surefoot.core.claims import About, CountKappa
from surefoot.records.input_table import tried_rows
from surefoot.records.record import InputRow, Record, Samples, results_of
from surefoot.report import alt, formatting
from surefoot.report.clauses import class_word, in_kept
from surefoot.report.figures import (
    INK,
    QUIET,
    STEADY,
    TEXT,
    WEAK,
    WIDTH,
    Row,
    bar_chart,
    interval_chart,
    interval_row,
    legend_above,
    marks,
    number,
)
from surefoot.report.formatting import exact_percent, percent, percent_range
from surefoot.report.tables import Table, counts_kept, quantity_heading
from surefoot.report.view import Figure, Section
from surefoot.report.views.sampling_tables import (
    count_inputs,
    counted_of,
    failing_words,
    few_trials_words,
)

_BINS = 20
"""Bars of the histogram: 5 percentage points each."""
_NONE = -9
"""Where the bar of inputs that failed in no trial stands: apart from the scale, not on it."""
MOST_CLASSES = 20
"""Classes in a figure, the weakest first: the table has all."""
_MOST_MARKS = 250
"""Inputs of a kind in a figure of extrapolations: more lie on each other, and take seconds."""
_FLOOR = 1e-12
"""Failure probabilities below this are drawn at it: a logarithmic axis has no zero."""
_MOST_WORDS = 30
"""Characters for how an input fails for which the axis has room on a phone; the table says it."""


def inputs_chart(record: Record) -> alt.ChartType:
    """A histogram of failure probabilities, or how many inputs of each kind."""
    population = record.study.population
    if population is not None and population.kind == "robust-share":
        shades = [STEADY, WEAK, QUIET, INK]
        return bar_chart(count_decisions(record), shades, len(record.inputs))
    if few_trials_words(record):
        counts = count_inputs(record)
        return bar_chart(counts, [STEADY, WEAK], sum(counts.values()))
    return _histogram(record)


def count_decisions(record: Record) -> dict[str, int]:
    """How many inputs are below the limit, above it, or undecided; apart those wrong when clean."""
    decided = [one.holds for one in results_of(record.inputs, results.Decision)]
    below, every = decided.count(True), len(decided)
    undecided = len(record.inputs) - every
    # these are no part of what is decided, as in the claim
    wrong = next((c.clean for c in record.claims if isinstance(c, CountKappa)), 0)
    counts = {"below the limit": below, "above": every - below - wrong, "undecided": undecided}
    return counts | ({"wrong when clean": wrong} if wrong else {})


def failure_shares(record: Record) -> NDArray[np.float64]:
    """The share of perturbations under which an input failed, of each that has an estimate."""
    counted = (counted_of(row.result) for row in tried_rows(record.inputs))
    return np.array([1 - one.value for one in counted if one is not None])


def _histogram(record: Record) -> alt.ChartType:
    """How many inputs fail how often; those that failed in no trial apart."""
    values, edges = failure_shares(record), np.linspace(0, 1, _BINS + 1)
    counts, _ = np.histogram(values[values > 0], edges)
    failed, never = "failed at least once", "failed in no trial"
    none = int((values == 0).sum())
    rows: list[Row] = [
        {"low": 100 * a, "high": 100 * b, "inputs": int(n), "kind": failed}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    rows.append({"low": _NONE - 2.5, "high": _NONE + 2.5, "inputs": none, "kind": never})
    highest = max(*counts.tolist(), none)
    ticks, labels = [_NONE, *range(0, 101, 20)], "datum.value < 0 ? 'none' : datum.value"
    axis = alt.Axis(values=ticks, tickCount=len(ticks), labelExpr=labels, grid=False)
    words = failing_words(record)
    words = words if len(words) <= _MOST_WORDS else "fails"
    across = alt.Scale(domain=[_NONE - 3, 100], nice=False)
    title = f"perturbations under which it {words} (%)"
    x = alt.X("low:Q", title=title, scale=across, axis=axis)
    upwards = alt.Scale(type="sqrt", domain=[0, highest * 1.2 + 0.5])
    y = alt.Y("inputs:Q", title="inputs (square-root scale)", scale=upwards)
    shade = alt.Scale(domain=[never, failed], range=[STEADY, WEAK])
    colour = alt.Color("kind:N", scale=shade, legend=legend_above())
    base = marks(rows)
    bars = base.mark_rect(stroke="white", strokeWidth=1)
    middle = "(datum.low + datum.high) / 2"
    shown = base.transform_filter("datum.inputs > 0").transform_calculate(middle=middle)
    counted = shown.mark_text(dy=-7, fontSize=TEXT, color=INK)
    return alt.layer(
        bars.encode(x=x, x2="high:Q", y=y, y2=alt.Y2Datum(0), color=colour),
        counted.encode(x="middle:Q", y="inputs:Q", text="inputs:Q"),
    ).properties(width=WIDTH, height=220)


def class_chart(record: Record, samples: Samples) -> alt.ChartType:
    """The weakest classes with their intervals; a diamond where a value is extrapolated."""
    extrapolated = {
        row.name: 100 * row.result.failure
        for row in samples.classes
        if isinstance(row.result, results.ExtrapolatedMean)
    }
    rows = [
        interval_row("class", name, value, around, extrapolated=extrapolated.get(name))
        for value, name, around in _decided_classes(record)
    ]
    rows.sort(key=lambda row: number(row, "value"), reverse=not counts_kept(record))
    title, scale = f"{quantity_heading(record)} (%)", alt.Scale(domain=[0, 100])
    return interval_chart(rows[:MOST_CLASSES], "class", title, scale, 22)


def extrapolations(record: Record) -> list[tuple[int, results.Extrapolation]]:
    """The inputs with an extrapolation, with their ranks, the weakest first.

    Of many some are left out, evenly by rank: of those that contradict their count apart.
    """
    fitted = results_of(record.inputs, results.Extrapolation)
    fitted.sort(key=lambda r: (-r.failure, -r.counted.value))
    kinds: dict[bool, list[tuple[int, results.Extrapolation]]] = {False: [], True: []}
    for i, result in enumerate(fitted):
        kinds[result.contradicted].append((i + 1, result))
    return [one for same in kinds.values() for one in same[:: -(-len(same) // _MOST_MARKS) or 1]]


def tail_chart(record: Record) -> alt.ChartType:
    """Each input's extrapolated failure probability, over the interval of its count."""
    rows = list[Row]()
    for rank, r in extrapolations(record):
        around, kind = r.counted.interval, "extrapolated"
        kind = "contradicts its count" if r.contradicted else kind
        ends = {"low": max(1 - around.high, _FLOOR), "high": max(1 - around.low, _FLOOR)}
        beyond = max(r.failure, _FLOOR)
        rows.append({"rank": rank, "extrapolated": beyond, **ends, "kind": kind})
    base = marks(rows)
    whole = alt.Axis(format=",d", tickMinStep=1, tickCount=6, grid=False)
    x = alt.X("rank:Q", title="inputs, the weakest first", scale=alt.Scale(nice=False), axis=whole)
    y = alt.Y(
        "low:Q",
        title="probability of failure",
        scale=alt.Scale(type="log", domain=[_FLOOR, 1]),
        axis=alt.Axis(format=".0e", tickCount=8),
    )
    lines = base.mark_rule(strokeWidth=2, color=QUIET, opacity=0.6).encode(x=x, y=y, y2="high:Q")
    shade = alt.Scale(domain=["extrapolated", "contradicts its count"], range=[STEADY, WEAK])
    dots = base.mark_point(size=36, filled=True, opacity=1).encode(
        x=x, y="extrapolated:Q", color=alt.Color("kind:N", scale=shade, legend=legend_above())
    )
    return alt.layer(lines, dots).properties(width=WIDTH, height=240)


def describe_inputs(record: Record) -> str:
    """How many inputs failed never, and how often the others; or how each was decided."""
    few, decided = few_trials_words(record), record.study.method.number("kappa") is not None
    if decided or few:
        counts = count_decisions(record) if decided else count_inputs(record)
        words = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        tried, few = ("", "") if decided else (" with a trial", f" {few}")
        return f"Of {sum(counts.values()):,} inputs{tried}: {words}.{few}"
    shares = failure_shares(record)
    failed = shares[shares > 0]
    with_trial = " with a trial" if len(shares) < len(record.inputs) else ""
    line = (
        f"Of {len(shares):,} inputs{with_trial} {len(shares) - len(failed):,} failed in no trial."
    )
    if not len(failed):
        return line
    often = int((failed > 1 / 2).sum())
    return (
        f"{line} {len(failed):,} failed at least once, the weakest under "
        f"{percent(float(failed.max()))} of the perturbations; {often:,} under more than half of "
        "them."
    )


def describe_classes(record: Record) -> str:
    """The lowest and the highest class, with their intervals."""
    word, rows = class_word(*record.claims), _decided_classes(record)
    if not rows:
        return f"No {word} is decided."
    low, high = min(rows, key=lambda row: row[0]), max(rows, key=lambda row: row[0])
    ends = " to ".join(
        f"{percent(value)} in {word} {name} (interval {percent_range(around)})"
        for value, name, around in (low, high)
    )
    return f"{quantity_heading(record).capitalize()} of {len(rows):,} {word}es, from {ends}."


def _decided_classes(record: Record) -> list[tuple[float, str, results.Interval]]:
    """Value, name and interval of each class that has them."""
    return [
        (claim.value, claim.about.name, claim.interval)
        for claim in map(in_kept, record.claims)
        if claim.about.of is About.CLASS and claim.interval is not None and claim.value is not None
    ]


def describe_tails(record: Record) -> str:
    """Between which values the extrapolations lie."""
    fitted = results_of(record.inputs, results.Extrapolation)
    if not fitted:
        return "No input has an extrapolation."
    values = [result.failure for result in fitted]
    least, most = map(formatting.small_probability, (min(values), max(values)))
    wrong = sum(result.contradicted for result in fitted)
    return (
        f"Extrapolated failure probabilities of {len(fitted):,} inputs, from {most} down to "
        f"{least}, each over the interval of its count; {wrong:,} contradict their count."
    )


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
    rows = [row for row in tried_rows(record.inputs) if fits_of(row)]
    if not rows:
        return []
    tails = results_of(rows, results.Extrapolation)
    weakest = min((tail.z for tail in tails), default=None)
    shown = {row.id: row for row in rows if all(fit.scores for fit in fits_of(row))}
    roles = {name: _role(row, weakest) for name, row in shown.items()}
    figures = tuple(
        Figure(
            partial(score_chart, shown[name]),
            caption_of(shown[name], roles[name]),
            f"scores-{i}",
            f"Histograms of the scores of input {name}, with the fitted normal and the limit; the "
            "numbers are in the caption.",
        )
        for i, name in enumerate(sorted(shown, key=lambda name: _ROLES.index(roles[name])), 1)
    )
    table = fit_table(rows)
    confident = record.study.property.kind == "confident"
    score = "score, the highest confidence of a wrong class" if confident else "severity"
    line = (
        f"Bars: how many trials had which {score}. Curve: the normal distribution with the same "
        "mean and deviation. Dashed: the limit."
    )
    return [
        Section("scores", "Scores of single inputs", (line,), figures, folded=True),
        Section("fits", table.title, table=table, folded=True),
    ]


def fits_of(row: InputRow) -> tuple[results.NormalFit, ...]:
    """The normal distributions that were fitted to its scores."""
    return (
        row.result.fits if isinstance(row.result, results.Extrapolation | results.Undecided) else ()
    )


_WEAKEST, _TYPICAL, _CONTRADICTS, _NO_FIT = _ROLES = (
    "the largest extrapolated failure probability",
    "a typical input: the median of z",
    "its extrapolation contradicts its count",
    "no transform made its scores normal",
)
"""Why an input is shown, in the order of the page."""


def _role(row: InputRow, weakest: float | None) -> str:
    if not isinstance(row.result, results.Extrapolation):
        return _NO_FIT
    if row.result.contradicted:
        return _CONTRADICTS
    return _WEAKEST if row.result.z == weakest else _TYPICAL


def caption_of(row: InputRow, role: str = "") -> str:
    """What the histograms of an input show, with the count beside what is extrapolated."""
    head = f"{row.id}{f' ({role})' if role else ''}: "
    panels = "; ".join(fit_words(fit) for fit in fits_of(row))
    return f"{head}{panels}. {outcome_words(row)}"


def fit_words(fit: results.NormalFit) -> str:
    """Mean, deviation, z and the test of one fit."""
    outcome = "not rejected" if fit.accepted else "rejected"
    power = "" if fit.power is None else f", λ = {fit.power:.3g}"
    p = formatting.p_bound(fit.p_value, is_bound=fit.p_is_bound)
    return (
        f"{transform_name(fit)}{power}: mean {formatting.four_digits(fit.mean)}, deviation "
        f"{formatting.four_digits(fit.deviation)}, z = {fit.z:.3g}, normality {outcome} at "
        f"{exact_percent(fit.level)} (Anderson-Darling, p {p if p.startswith('<') else f'= {p}'})"
    )


def outcome_words(row: InputRow) -> str:
    """The extrapolation with its footing, and what was counted."""
    counted = counted_of(row.result)
    by_count = f"By count it fails under {counted_words(counted)}." if counted else ""
    if not isinstance(row.result, results.Extrapolation):
        return f"No extrapolation. {by_count}".strip()
    failure = formatting.small_probability(row.result.failure)
    return f"Extrapolated failure probability {failure}: {FOOTING}. {by_count}".strip()


def counted_words(counted: results.Estimate) -> str:
    """The counted failure probability with its interval."""
    around = percent_range(failing(counted))
    certain = formatting.confidence(counted.guarantee.error)
    return f"{around} of the perturbations (confidence {certain}, this input by itself)"


def failing(counted: results.Estimate) -> results.Interval:
    """The interval of failing, from that of being kept."""
    return results.Interval(max(0.0, 1 - counted.interval.high), min(1.0, 1 - counted.interval.low))


def transform_name(fit: results.NormalFit) -> str:
    """The transform as a page writes it."""
    return _NAMES.get(fit.transform, fit.transform)


def fit_table(rows: Sequence[InputRow]) -> Table:
    """One row an input: the fit that was used, or the last that was tried."""
    ordered = sorted(rows, key=lambda row: (row.result.trials == 0, fits_of(row)[-1].z))
    headings = (
        "input", "transform", "mean", "deviation", "limit", "z", "A²", "p", "extrapolated",
        "interval of the counted",
    )  # fmt: skip
    error = max(
        (e.guarantee.error for r in rows if (e := counted_of(r.result)) is not None), default=0.0
    )
    levels = ", ".join(dict.fromkeys(exact_percent(fits_of(row)[-1].level) for row in rows))
    more = f"The {_ROWS} weakest of {len(rows):,}; to_frame() and --json have all. "
    note = (
        f"{more if len(rows) > _ROWS else ''}Mean, deviation and limit are those after the "
        f"transform. A²: Anderson and Darling's statistic; p: of normality, tested at {levels}. "
        "Extrapolated probabilities have no guarantee; the intervals of the counts have confidence "
        f"{formatting.confidence(error)}, each input by itself."
    )
    cells = tuple(map(_cells, ordered[:_ROWS]))
    return Table("Fitted distributions", headings, cells, 2, note, page_only=True)


def _cells(row: InputRow) -> tuple[str, ...]:
    fit, counted = fits_of(row)[-1], counted_of(row.result)
    tail = row.result if isinstance(row.result, results.Extrapolation) else None
    name = transform_name(fit)
    return (
        row.id,
        name if fit.power is None else f"{name}, λ = {fit.power:.2g}",
        *(f"{n:.3g}" for n in (fit.mean, fit.deviation, fit.limit, fit.z, fit.statistic)),
        formatting.p_bound(fit.p_value, is_bound=fit.p_is_bound),
        "rejected: none" if tail is None else formatting.small_probability(tail.failure),
        "" if counted is None else percent_range(failing(counted)),
    )


def score_chart(row: InputRow) -> alt.ChartType:
    """One panel a fit, side by side: raw first, then after each transform that was tried."""
    panels = [_panel(fit, fit.scores) for fit in fits_of(row) if fit.scores is not None]
    return alt.hconcat(*panels, spacing=30) if len(panels) > 1 else panels[0]


def _panel(fit: results.NormalFit, scores: results.Histogram) -> alt.LayerChart:
    edges = np.linspace(scores.low, scores.high, len(scores.counts) + 1)
    bars: list[Row] = [
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
    highest = max(*scores.counts, *(number(point, "trials") for point in curve_points))
    y = alt.Y("trials:Q", title="trials", scale=alt.Scale(domain=[0, 1.15 * highest]))
    histogram = marks(bars).mark_rect(color=STEADY, opacity=0.55)
    layers: alt.LayerChart = histogram.encode(x=x, x2="high:Q", y=y, y2=alt.Y2Datum(0))
    layers += (
        marks(curve_points).mark_line(color=INK, strokeWidth=1.5).encode(x="at:Q", y="trials:Q")
    )
    layers += _limit(fit, domain, drawn=drawn)
    return layers.properties(width=240, height=180)


def _curve(fit: results.NormalFit, scores: results.Histogram) -> list[Row]:
    """Expected trials in a bin, along the fitted normal."""
    width = (scores.high - scores.low) / len(scores.counts)
    scale = sum(scores.counts) * width / (fit.deviation * math.sqrt(2 * math.pi))
    at = np.linspace(-_REACH, _REACH, _CURVE_POINTS)
    heights = scale * np.exp(-(at**2) / 2)
    return [
        {"at": fit.mean + z * fit.deviation, "trials": h}
        for z, h in zip(at.tolist(), heights.tolist(), strict=True)
    ]


def _limit(fit: results.NormalFit, domain: Sequence[float], *, drawn: bool) -> alt.ChartType:
    """A dashed line at the limit, with z beside it; words at the edge where it is far away."""
    right = fit.limit > fit.mean
    words = f"limit, z = {fit.z:.3g}"
    if not drawn:
        words = f"{words} →" if right else f"← {words}"
    at = fit.limit if drawn else domain[1 if right else 0]
    left = at > sum(domain) / 2
    base = marks([{"at": at, "text": words}])
    marked = base.mark_text(
        align="right" if left else "left", dx=-5 if left else 5, fontSize=12,
        color=WEAK if drawn else QUIET,
    )  # fmt: skip
    text: alt.Chart = marked.encode(x="at:Q", y=alt.value(8), text="text:N")
    line: alt.Chart = base.mark_rule(color=WEAK, strokeDash=[5, 4], strokeWidth=1.5)
    return line.encode(x="at:Q") + text if drawn else text
