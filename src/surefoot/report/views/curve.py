"""The page of a robustness curve: its figures, with what is seen in words, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import attrgetter, itemgetter

from surefoot.core.assumptions import CurveShape
from surefoot.core.claims import About, CurvePopulation, Randomness
from surefoot.core.results import UNIT, Crossing, Curve, Footing, Interval, Reading
from surefoot.curves.known_curve import chance_to_notice
from surefoot.errors import InvalidArgument
from surefoot.records.record import CurveRow, Curves, Record, Strip
from surefoot.report import alt
from surefoot.report.clauses import (
    capitalised,
    class_word,
    continuation_note,
    curve_quantity,
    levels_name,
    perturbation_name,
)
from surefoot.report.figures import (
    INK,
    QUIET,
    SERIES,
    TEXT,
    WEAK,
    WIDTH,
    Row,
    interval_chart,
    interval_row,
    legend_above,
    marks,
)
from surefoot.report.formatting import (
    file_name,
    four_digits,
    percent,
    percent_range,
    radius_range,
    with_full_stop,
)
from surefoot.report.provenance import (
    Shown,
    findings_sections,
    models_in,
    page_title,
    preflight_cautions,
)
from surefoot.report.reasons import reason_words
from surefoot.report.tables import Table
from surefoot.report.view import Caution, Figure, LabelledImage, Section, View

_HEIGHT = 260
_MOST_DOTS = 100
"""Levels of a curve whose dots are drawn: more of them hide the curve."""
_DOT, _CHECK = 34, 14
"""Areas of the dots of a curve in square pixels, and of levels with few inputs."""
_MOST_LABELS = 4
"""Crossings in figures: of more, the figures would hide the curve."""
_FIGURES = 0.42
"""Share of the width that the figures of a crossing need."""
_SUBTITLE = "Shade: what the curve can do between the levels, if what is assumed is true"


def curves_chart(records: Mapping[str, Record]) -> alt.ChartType:
    """All of them below each other, as one chart."""
    groups = grouped(records)
    charts = [_chart(group, title) for title, group in groups.items()]
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


def grouped(records: Mapping[str, Record]) -> dict[str, dict[str, Record]]:
    """Curves by figure: those of the same perturbation over the same levels share one."""
    groups: dict[str, dict[str, Record]] = {}
    for name, record in records.items():
        span = curve_in(record).span
        title = (
            f"{perturbation_name(record.study.perturbation)}, level {span.low:g} to {span.high:g}"
        )
        groups.setdefault(title, {})[name] = record
    return groups


def curve_in(record: Record) -> Curve:
    """The curve of all inputs."""
    if not isinstance(record.details, Curves):
        raise InvalidArgument(
            f"run {record.digest[:12]} is not a curve: name one of surefoot curve"
        )
    return record.details.curve


def _chart(records: Mapping[str, Record], title: str = "") -> alt.ChartType:
    """All curves of one perturbation; a title where the chart stands without a page."""
    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    axes = _Axes.around(curves, next(iter(records.values())))
    layers = [*_between(curves, axes), *_lines(curves, axes), *_marks(curves, axes)]
    chart = alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)
    if not title:
        return chart
    below = _SUBTITLE if any(curve.between for curve in curves.values()) else ""
    return chart.properties(title=alt.Title(title, subtitle=below, anchor="start", fontSize=13))


@dataclass(frozen=True)
class _Axes:
    """The channels that all layers share."""

    level: str
    x: alt.X
    y: alt.Y
    low: alt.Y
    colour: alt.Color
    right: float

    @classmethod
    def around(cls, curves: Mapping[str, Curve], record: Record) -> _Axes:
        names = list(curves)
        shades = [SERIES[i % len(SERIES)] for i in range(len(names))]
        above = legend_above(columns=1, labelLimit=500, symbolOpacity=1)
        colour = alt.Color(
            "name:N",
            scale=alt.Scale(domain=names, range=shades),
            legend=above if len(names) > 1 else None,
        )
        left = min(curve.span.low for curve in curves.values())
        right = max(curve.span.high for curve in curves.values())
        level, x = f"level of {levels_name(record.study)}", _levels_axis(record, left, right)
        y, low = _height_axis(record, "value"), _height_axis(record, "low")
        return cls(level, x, y, low, colour, right)


def _levels_axis(record: Record, left: float, right: float) -> alt.X:
    scale = alt.Scale(domain=[left, right], nice=False)
    axis = alt.Axis(grid=False, tickCount=5)
    return alt.X("level:Q", title=f"level of {levels_name(record.study)}", scale=scale, axis=axis)


def _height_axis(record: Record, channel: str) -> alt.Y:
    axis = alt.Axis(values=[0, 25, 50, 75, 100], domain=False)
    title = f"{curve_quantity(record.study.property.kind)} (%)"
    return alt.Y(f"{channel}:Q", title=title, scale=alt.Scale(domain=[0, 100]), axis=axis)


def _between(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """Where each curve can be: from level to level, or at the levels alone, then paler."""
    boxes, ends = list[Row](), list[Row]()
    for name, curve in curves.items():
        for gap in curve.between:
            low, high = (100 * min(max(end, 0.0), 1.0) for end in (gap.lowest, gap.highest))
            here = {"level": gap.low, "to": gap.high, "low": low, "high": high}
            boxes.append({"name": name, **here})
        ends += [] if curve.between else curve_rows(name, curve)
    strong, pale = (0.2, 0.12) if len(curves) == 1 else (0.12, 0.07)
    x, y, colour = axes.x, axes.low, axes.colour
    band, joined = marks(boxes).mark_rect(opacity=strong), marks(ends).mark_area(opacity=pale)
    layers = [
        (boxes, band.encode(x=x, x2="to:Q", y=y, y2="high:Q", color=colour)),
        (ends, joined.encode(x=x, y=y, y2="high:Q", color=colour)),
    ]
    return [layer for rows, layer in layers if rows]


def _lines(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """The levels evaluated; a line between neighbours that are `firm`."""
    rows = [row for name, curve in curves.items() for row in curve_rows(name, curve)]
    x, y, colour = axes.x, axes.y, axes.colour
    crowded = {name for name, curve in curves.items() if len(curve.points) > _MOST_DOTS}
    firm = [row for row in rows if row["firm"]]
    dots = [row for row in firm if row["name"] not in crowded]
    checks = [row for row in rows if not row["firm"]]
    size = _DOT if len(curves) == 1 else _DOT / 2
    few = marks(checks).mark_circle(size=_CHECK, opacity=0.6, color=QUIET)
    line, dot = marks(firm).mark_line(strokeWidth=2), marks(dots).mark_circle(size=size, opacity=1)
    layers = [
        (checks, few.encode(x=x, y=y)),
        (firm, line.encode(x=x, y=y, color=colour, detail="stretch:N")),
        (dots, dot.encode(x=x, y=y, color=colour)),
    ]
    return [layer for rows, layer in layers if rows]


def _marks(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """Thresholds, and where they are crossed."""
    readings = [(name, reading) for name, curve in curves.items() for reading in curve.readings]
    one = next(iter(curves.values()))
    thresholds: list[Row] = [
        {"value": 100 * t, "level": axes.right, "text": f"{100 * t:g} %"}
        for t in dict.fromkeys(reading.threshold for _, reading in readings)
    ]
    line = marks(thresholds).mark_rule(strokeDash=[5, 4], color=QUIET)
    words = marks(thresholds).mark_text(align="left", dx=6, color=INK, fontSize=TEXT)
    layers = [line.encode(y=axes.y), words.encode(x=axes.x, y=axes.y, text="text:N")]
    rows = [
        _crossing_row(name, reading.threshold, c, one.span)
        for name, reading in readings
        for c in reading.crossings
    ]
    return [*layers, *(_crossings(rows, axes, alone=len(curves) == 1) if rows else [])]


def _crossing_row(name: str, threshold: float, crossing: Crossing, span: Interval) -> Row:
    """A crossing; its figures stand where the curve is not: above and outwards, if they fit."""
    share = (crossing.level - span.low) / span.width
    above = share < 1 - _FIGURES if crossing.falls else share > _FIGURES
    around, text = crossing.interval, four_digits(crossing.level)
    levels = {"level": around.low, "to": around.high, "at": crossing.level}
    room = {"right": above == crossing.falls, "above": above}
    text = f"{text} ({radius_range(around)})"
    return {"name": name, **levels, "value": 100 * threshold, **room, "text": text}


def _crossings(rows: list[Row], axes: _Axes, *, alone: bool) -> list[alt.Chart]:
    """A bar over the interval, a diamond at the best guess; of a single curve also in figures."""
    colour = alt.value(WEAK) if alone else axes.colour
    x, y = alt.X("at:Q", title=axes.level), axes.y
    diamond = marks(rows).mark_point(
        shape="diamond", size=110, filled=True, stroke="white", opacity=1
    )
    bar = marks(rows).mark_rule(strokeWidth=5, opacity=1 if alone else 0.6, strokeCap="round")
    layers = [
        bar.encode(x=axes.x, x2="to:Q", y=y, color=colour),
        diamond.encode(x=x, y=y, color=colour),
    ]
    if not alone or len(rows) > _MOST_LABELS:
        return layers
    for right, above in product((True, False), repeat=2):
        here = [row for row in rows if (row["right"], row["above"]) == (right, above)]
        if here:
            text = marks(here).mark_text(
                align="left" if right else "right", dx=4 if right else -4, dy=-15 if above else 17,
                fontSize=TEXT, fontWeight="bold", color=INK,
            )  # fmt: skip
            layers.append(text.encode(x=x, y=y, text="text:N"))
    return layers


def curve_rows(name: str, curve: Curve) -> list[Row]:
    """The rows of a curve; where a shade says what it can do, `firm` are levels with as many trials
    as inputs: the value of another one may lie outside of the shade. A `stretch` has none of them.
    """
    stretch = 0
    rows = list[Row]()
    for p in curve.points:
        value, low, high = (100 * share for share in (p.value, p.interval.low, p.interval.high))
        row: Row = {"name": name, "level": p.level, "value": value, "low": low, "high": high}
        firm = not curve.between or p.trials >= curve.size
        stretch += not firm
        rows.append({**row, "firm": firm, "stretch": stretch})
    return rows


_WEAKEST = 3
"""Classes with a colour of their own: more colours are not kept apart."""
MOST_CLASSES = 20
"""Classes whose curves are drawn: lines of more are one grey area, so that of more the weakest are
drawn as intervals, below each other. The table has all."""


def weakest_classes(curves: Curves) -> list[CurveRow]:
    """All classes, those that are below the threshold at most levels first; last those of which a
    time limit left nothing evaluated.
    """
    return sorted(curves.classes, key=lambda row: (not row.curve.points, _robustness(row)))


def _robustness(row: CurveRow) -> float:
    readings = [reading.value for reading in row.curve.readings]
    values = readings or [point.value for point in row.curve.points]
    return sum(values) / max(len(values), 1)


def class_caption(curves: Curves) -> str:
    """What the marks of the figure of the classes mean."""
    if len(curves.classes) <= MOST_CLASSES:
        return "Thick line: all inputs. In colours: the weakest classes. Dashed: the thresholds."
    threshold = percent(curves.curve.readings[0].threshold)
    evaluated = sum(bool(row.curve.points) for row in curves.classes)
    drawn = f"The {MOST_CLASSES} weakest of {len(curves.classes):,} classes, and all inputs."
    if evaluated < len(curves.classes):
        few = f"{evaluated:,} of {len(curves.classes):,} classes were evaluated"
        drawn = f"{few}. At most {MOST_CLASSES} of them, the weakest first, and all inputs."
    return (
        f"{drawn} Dot: the "
        f"share of the levels at which the curve is at or above {threshold}. Line: its interval, "
        "where there is a guarantee. The table has all classes."
    )


def class_chart(record: Record, curves: Curves) -> alt.ChartType:
    """The curves of all classes where these are few, else what the weakest came to."""
    if len(curves.classes) <= MOST_CLASSES:
        return _lines_of_classes(record, curves)
    evaluated = [row for row in weakest_classes(curves) if row.curve.points]
    parts = [*evaluated[:MOST_CLASSES], CurveRow("all inputs", 0, curves.curve)]
    readings = [(row.name, row.curve.readings[0]) for row in parts]
    rows = []
    for name, reading in readings:
        alone = Interval(reading.value, reading.value)
        around = alone if reading.guarantee.footing is Footing.NONE else reading.interval
        rows.append(interval_row("class", name, reading.value, around))
    title = f"share of levels at {percent(readings[0][1].threshold)} or above (%)"
    return interval_chart(rows, "class", title, alt.Scale(domainMin=0), 22)


def _lines_of_classes(record: Record, curves: Curves) -> alt.ChartType:
    """All inputs as a thick line, the weakest classes in colours, the others in grey."""
    ordered, span = weakest_classes(curves), curves.curve.span
    colours, others = ordered[:_WEAKEST], ordered[_WEAKEST:]
    names = ["all inputs", *(row.name for row in colours)]
    shades = [INK, *(SERIES[i + 1] for i in range(len(colours)))]
    if others:
        names, shades = [*names, "other classes"], [*shades, QUIET]
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=names, range=shades),
        legend=legend_above(columns=2, labelLimit=220, symbolOpacity=1),
    )
    x, y = _levels_axis(record, span.low, span.high), _height_axis(record, "value")
    thresholds: list[Row] = [{"value": 100 * r.threshold} for r in curves.curve.readings]
    layers = [marks(thresholds).mark_rule(strokeDash=[5, 4], color=QUIET).encode(y=y)]
    whole = [CurveRow("all inputs", 0, curves.curve)]
    for part, width, strength in ((others, 1, 0.45), (colours, 1.8, 1), (whole, 3, 1)):
        rows: list[Row] = [
            {**row, "part": "other classes" if part is others else one.name}
            for one in part
            for row in curve_rows(one.name, one.curve)
        ]
        if rows:
            line = marks(rows).mark_line(strokeWidth=width, opacity=strength)
            layers.append(line.encode(x=x, y=y, color=colour, detail="name:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=240)


_MOST_CURVES, _MOST_CROSSINGS = 6, 3
"""Curves and crossings in words: a description is listened to."""


def describe_curves(records: Mapping[str, Record]) -> str:
    """Where each curve begins and ends, its band there, and where it crosses the thresholds."""
    lines = [
        _describe(name, curve_quantity(record.study.property.kind), curve_in(record))
        for name, record in list(records.items())[:_MOST_CURVES]
    ]
    more = len(records) - _MOST_CURVES
    return " ".join([*lines, *([f"{more} more curves."] if more > 0 else [])])


def describe_classes(curves: Curves) -> str:
    """The weakest and the strongest class at the highest level."""
    at_end = attrgetter("level")
    ends = [
        (row.name, max(row.curve.points, key=at_end).value)
        for row in weakest_classes(curves)
        if row.curve.points
    ]
    if not ends:
        return "No level was evaluated."
    (low_name, low), (high_name, high) = (f(ends, key=itemgetter(1)) for f in (min, max))
    return (
        f"Curves of {len(curves.classes):,} classes and of all inputs. At the highest level they "
        f"lie between {percent(low)} ({low_name}) and {percent(high)} ({high_name})."
    )


def _describe(name: str, quantity: str, curve: Curve) -> str:
    head = f"{name}: {quantity}" if name else quantity.capitalize()
    if not curve.points:
        return f"{head}: no level was evaluated."
    points = sorted(curve.points, key=lambda point: point.level)
    first, last = points[0], points[-1]
    verb = "falls" if last.value < first.value else "rises"
    change = f"{verb} from {percent(first.value)}" if first.value != last.value else "is"
    line = f"{head} {change} {'' if change == 'is' else f'at level {four_digits(first.level)} to '}"
    line += f"{percent(last.value)} at level {four_digits(last.level)}."
    if curve.between:
        gap = max(curve.between, key=lambda between: between.high)
        low, high = max(gap.lowest, 0.0), min(gap.highest, 1.0)
        line += f" There the band reaches from {percent(low)} to {percent(high)}."
    for reading in curve.readings:
        for crossing in reading.crossings[:_MOST_CROSSINGS]:
            line += (
                f" It crosses {percent(reading.threshold)} at {four_digits(crossing.level)} "
                f"({radius_range(crossing.interval)})."
            )
    return line


_MOST = 3
"""Crossings in a cell: without a guarantee there may be many next to each other."""
_SPARE = 1e-9
"""Of the range: evenly spread levels miss 0 by the rounding of binary numbers."""


def reading_row(name: str, curve: Curve, reading: Reading) -> tuple[str, ...]:
    """The cells of one threshold; the robustness is the share of the levels at or above it."""
    return (name, percent(reading.threshold), *_findings(curve, reading), f"{curve.trials:,}")


def class_row(name: str, curve: Curve, reading: Reading, *, several: bool) -> tuple[str, ...]:
    """The cells of one class and threshold."""
    threshold = (percent(reading.threshold),) if several else ()
    return (name, f"{curve.size:,}", *threshold, *_findings(curve, reading))


def findings_headings(parts: Mapping[str, Record]) -> tuple[str, ...]:
    """Of the cells that say what was read off a curve."""
    height, *others = {curve_quantity(part.study.property.kind): None for part in parts.values()}
    return ("crosses at", "robustness", "interval", f"{'height' if others else height} at level 0")


def _findings(curve: Curve, reading: Reading) -> tuple[str, ...]:
    if not curve.points:
        return ("not evaluated", "not known", "", "")
    guaranteed = reading.guarantee.footing is not Footing.NONE
    at_zero = (p for p in curve.points if abs(p.level) <= _SPARE * curve.span.width)
    clean = next(at_zero, None)
    return (
        _crossing_cell(curve, reading, guaranteed=guaranteed),
        "not known" if guaranteed and reading.interval == UNIT else percent(reading.value),
        percent_range(reading.interval) if guaranteed else "no guarantee",
        "" if clean is None else percent(clean.value),
    )


def _crossing_cell(curve: Curve, reading: Reading, *, guaranteed: bool) -> str:
    if reading.crossings:
        shown = [
            f"{four_digits(one.level)} ({radius_range(one.interval)})"
            if guaranteed  # else the levels at its two sides: robustness is a share of these
            else radius_range(one.interval)
            for one in reading.crossings[:_MOST]
        ]
        more = len(reading.crossings) - _MOST
        return "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])
    decided = reading.interval.low == reading.interval.high if guaranteed else curve.points
    return "nowhere" if decided else "not located"


_DOTS = "Line and dots: the levels evaluated. Dashed: the thresholds."
_FIRM = (
    "Dots in colour: levels with as many trials as inputs, or more; line: between neighbours of "
    "these. Dashed: the thresholds."
)
_LEVELS = (
    "Pale shade: between which values the curve lies at the levels, for all levels together; "
    "between them nothing is claimed."
)
_CHECKS = "Grey dots: levels with fewer trials; what is known there is the shade."
_SHADE = "Shade: where the curve can be, at and between the levels, if what is assumed is true."
_CROSSING = (
    "Diamond: where the curve crosses the threshold, and bar: the levels between which it does."
)
_FIXED = (
    "Published methods give each input one draw of the noise, the same at every level: their rows "
    "are for these draws, not for fresh ones."
)


def view(shown: Shown) -> View:
    """The headline is every threshold's claim; classes are in a table.

    Where methods are compared, the claims of the first one are the headline.
    """
    record, parts = shown.record, shown.members
    curves = {n: r.details for n, r in parts.items() if isinstance(r.details, Curves)}
    claims = [c for c in record.claims if c.about.of is not About.CLASS]
    methods = {name: part.study.method.kind for name, part in parts.items()}
    first = next(iter(methods.values()))
    others = {name for name, method in methods.items() if method != first}
    sections = _sections(parts, curves)
    # how well each run checks what its claims assume
    powers = {name: _power(parts[name], one.curve) for name, one in curves.items()}
    return shown.view(
        title=page_title(parts, [_levels(parts[n], one.curve) for n, one in curves.items()]),
        headline=tuple(c for c in claims if not others.intersection(c.names)),
        about=about(parts),
        warnings=tuple(_cautions(parts, curves)),
        continuing=_continuing(record),
        claims=tuple(c for c in claims if others.intersection(c.names)),
        facts=tuple(_facts(parts, curves)),
        assumptions=tuple(f"{n}: {power}" if n else power for n, power in powers.items() if power),
        sections=sections,
        answer=sections[0].table if len(parts) > 1 else None,
        provenance=shown.provenance,
    )


def _levels(record: Record, curve: Curve) -> str:
    """The perturbation and its levels, in a few words."""
    named = perturbation_name(record.study.perturbation)
    return f"{named} {curve.span.low:g} to {curve.span.high:g}"


def _cautions(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> list[Caution]:
    """What must be read with the result: a contradicted assumption, a stop, an odd preflight."""
    lines = []
    for name, one in curves.items():
        head = f"{name}: " if name else ""
        lines += _clean_already_below(head, parts[name], one.curve)
        of_classes = [(f"{head}{row.name}: ", row.curve) for row in one.classes]
        for who, curve in ((head, one.curve), *of_classes):
            if curve.contradiction:
                assumed = parts[name].study.method.text("assume").partition(":")[0]
                words = f"Note: {who}the data contradict the assumption {assumed}: "
                lines.append(
                    Caution(words + with_full_stop(reason_words(curve.contradiction)), urgent=True)
                )
        if parts[name].stopped_early:
            notes = [with_full_stop(reason_words(note)) for note in one.curve.notes]
            notes += _unfinished_classes(one)
            lines += [Caution(f"Note: {head}{note}") for note in notes]
    lines += [line for part in parts.values() for line in preflight_cautions(part)]
    return list(dict.fromkeys(lines))


def _clean_already_below(head: str, record: Record, curve: Curve) -> list[Caution]:
    """Thresholds that the clean accuracy does not reach, though nothing is perturbed."""
    clean = next((f.clean for f in record.findings if f.clean is not None), None)
    if clean is None or record.study.property.kind != "true" or record.study.inputs.only:
        return []
    share = clean.right / clean.inputs
    below = [percent(one.threshold) for one in curve.readings if share < one.threshold]
    words = f"Note: {head}clean accuracy is {percent(share)}, already below {', '.join(below)}."
    return [Caution(words, before=True)] if below else []


def _unfinished_classes(curves: Curves) -> list[str]:
    """How many classes a time limit left without a curve, or with one that may still narrow."""
    none = sum(not row.curve.points for row in curves.classes)
    begun = sum(bool(row.curve.points and row.curve.notes) for row in curves.classes)
    every, lines = f"{len(curves.classes):,} classes", []
    if none:
        lines.append(f"the time limit was reached before {none:,} of {every} were evaluated.")
    if begun:
        lines.append(f"the curves of {begun:,} of {every} were stopped early by the time limit.")
    return lines


def _continuing(record: Record) -> str:
    """A run that a time limit ended goes on; inputs are not added to a curve."""
    if record.stopped_early:
        return (
            "May be continued: the same command, or the same study with the same store, goes on "
            "where the time limit ended the run, and its result may be read again. Inputs may not "
            "be added."
        )
    return continuation_note(record.claims)


def about(records: Mapping[str, Record]) -> str:
    """Which models met which inputs, perturbed how."""
    models, first = ", ".join(models_in(records)), next(iter(records.values()))
    words = first.study.words
    perturbations = dict.fromkeys(r.study.words.perturbation for r in records.values())
    quantity = f"the share of inputs that {words.property}"
    if first.study.property.kind == "confidence":
        label = "true label" if words.reference == "true" else "label of the clean input"
        quantity = f"the mean confidence in the {label}"
    return (
        f"{models} on {file_name(words.source)}: {first.study.inputs.selection}; "
        f"{'; or '.join(perturbations)}; {quantity}."
    )


def _facts(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> list[str]:
    lines = []
    for name, one in curves.items():
        head, curve = f"{name}: " if name else "", one.curve
        if not parts[name].stopped_early:
            lines += [f"{head}Note: {with_full_stop(reason_words(note))}" for note in curve.notes]
        levels = "1 level" if len(curve.points) == 1 else f"{len(curve.points)} levels"
        share = curve.trials / curve.size
        each = f"{share:,.0f}" if share >= 100 else f"{share:.3g}"
        passes = f", {each} for each of the {curve.size:,} inputs"
        lines.append(f"{head}It took {curve.trials:,} evaluations at {levels}{passes}.")
        if one.classes:
            more = sum(row.curve.trials for row in one.classes)
            lines.append(f"{head}It took {more:,} evaluations for the curves of the classes.")
    kinds = {part.claims[0].random for part in parts.values()}
    if Randomness.FIXED in kinds and len(kinds) > 1:
        lines.append(_FIXED)
    return list(dict.fromkeys(lines))


def _power(record: Record, curve: Curve) -> str:
    """How often a rise would be noticed, where the perturbation draws; else empty."""
    shapes = [a for a in record.claims[0].guarantee.assumptions if isinstance(a, CurveShape)]
    own = record.claims[0].random is Randomness.FRESH and record.claims[0].about.of is About.THESE
    if not (own and shapes and curve.points) or shapes[0].shape == "curvature":
        return ""
    mean = sum(point.value for point in curve.points) / len(curve.points)
    rise = shapes[0].size if shapes[0].shape == "bounded-rise" else 0.0
    chance = percent(round(chance_to_notice(mean, rise), 2))
    return (
        f"A rise of 10 points over a twentieth of the range is noticed in about {chance} of such "
        "runs, or more: the perturbation draws."
    )


def _sections(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> tuple[Section, ...]:
    timed = not any(one.classes for one in curves.values())  # else the time is of all curves
    rows = []
    for name, one in curves.items():
        record = parts[name]
        called = name or perturbation_name(record.study.perturbation)
        seconds = [f"{record.seconds:.1f}" if record.seconds else ""] if timed else []
        for reading in one.curve.readings:
            rows.append((*reading_row(called, one.curve, reading), *seconds))
    note = "Robustness: the share of the levels at which the curve is at or above the threshold."
    last = ("evaluations", "seconds") if timed else ("evaluations",)
    headings = ("curve", "threshold", *findings_headings(parts), *last)
    table = Table("Robustness curve", headings, tuple(rows), 1, note)
    shaded = [bool(one.curve.between) for one in curves.values()]
    crossed = any(r.crossings for one in curves.values() for r in one.curve.readings)
    rough = any(not row["firm"] for one in curves.values() for row in curve_rows("", one.curve))
    dots = [_FIRM, _CHECKS] if rough else [_DOTS]
    marked = [*dots, *[_SHADE] * any(shaded), *[_LEVELS] * (not all(shaded))]
    caption = " ".join([*marked, *[_CROSSING] * crossed])
    groups, drawn = grouped(parts), list[Figure]()
    alone = len(groups) == 1
    for title, group in groups.items():
        words = f"{capitalised(title)}. {caption}" if alone else title
        drawn.append(Figure(partial(_chart, group), words, description=describe_curves(group)))
    lines = () if alone else (caption,)
    sections = [Section("curves", table.title, lines, tuple(drawn), table)]
    strips = tuple(
        _strip(name, one.strip, "class" if parts[name].study.model.classes else "output")
        for name, one in curves.items()
        if one.strip is not None
    )
    if strips:
        sections.append(Section("strips", "One input along the levels", strips=strips))
    if any(one.classes for one in curves.values()):
        sections.append(_classes(parts, curves))
    return (*sections, *findings_sections(parts))


def _classes(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> Section:
    several = len({r.threshold for one in curves.values() for r in one.curve.readings}) > 1
    rows = tuple(
        class_row(f"{name}: {row.name}" if name else row.name, row.curve, reading, several=several)
        for name, one in curves.items()
        for row in weakest_classes(one)
        for reading in row.curve.readings
    )
    population = any(isinstance(c, CurvePopulation) for r in parts.values() for c in r.claims)
    word = class_word(*(claim for part in parts.values() for claim in part.claims))
    about = f"the population of the {word}" if population else f"these inputs of the {word}"
    note = (
        f"The interval is about {about}; that of each {word} holds by itself, with the confidence "
        "and assumption above."
    )
    threshold = ("threshold",) if several else ()
    headings = (word, "inputs", *threshold, *findings_headings(parts))
    table = Table(f"Results by {word}", headings, rows, 1, note)
    drawn = []
    for name, one in curves.items():
        if one.classes:
            words = f"{name}. {class_caption(one)}" if name else class_caption(one)
            draw = partial(class_chart, parts[name], one)
            drawn.append(Figure(draw, words, description=describe_classes(one)))
    return Section("classes", table.title, (), tuple(drawn), table)


def _strip(name: str, strip: Strip, what: str) -> tuple[str, tuple[LabelledImage, ...]]:
    truth = f", true {what} {strip.true_class}" if strip.true_class else ""
    head = f"{name}: " if name else ""
    frames = []
    for f in strip.frames:
        at, failed = f"level {four_digits(f.level)}", ", failed" * (not f.kept)
        text = f"{strip.id} at {at}{failed}"
        frames.append(LabelledImage(f.image, text, f"{at} ", f.label, not f.kept))
    return f"{head}{strip.id}{truth}", tuple(frames)
