"""The page of a robustness curve, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from surefoot.core.claims import About, Claim, CurvePopulation, Randomness
from surefoot.core.results import UNIT, Curve, Footing, Reading
from surefoot.records.record import Curves, Record, Strip
from surefoot.report.clauses import class_word, continuation_note, curve_quantity, perturbation_name
from surefoot.report.formatting import (
    file_name,
    four_digits,
    percent,
    percent_range,
    radius_range,
    with_full_stop,
)
from surefoot.report.provenance import (
    findings_sections,
    models_in,
    page_title,
    preflight_cautions,
    provenance,
)
from surefoot.report.reasons import reason_words
from surefoot.report.tables import Table
from surefoot.report.view import Caution, Figure, LabelledImage, Section, View
from surefoot.report.views import curve_figures

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
        _crossings(curve, reading, guaranteed=guaranteed),
        "not known" if guaranteed and reading.interval == UNIT else percent(reading.value),
        percent_range(reading.interval) if guaranteed else "no guarantee",
        "" if clean is None else percent(clean.value),
    )


def _crossings(curve: Curve, reading: Reading, *, guaranteed: bool) -> str:
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
_LEVELS = (
    "Pale shade: between which values the curve lies at the levels, for all levels together; "
    "between them nothing is claimed."
)
_CHECKS = "Grey dots: levels with few inputs, as a check."
_SHADE = "Shade: where the curve can be, at and between the levels, if what is assumed is true."
_CROSSING = (
    "Diamond: where the curve crosses the threshold, and bar: the levels between which it does."
)
_FIXED = (
    "Published methods give each input one draw of the noise, the same at every level: their rows "
    "are for these draws, not for fresh ones."
)


def curves_of(records: Mapping[str, Record]) -> dict[str, Curves]:
    """The curves of each record, by its name."""
    return {n: r.details for n, r in records.items() if isinstance(r.details, Curves)}


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """The headline is every threshold's claim; classes are in a table.

    Where methods are compared, the claims of the first one are the headline.
    """
    curves = curves_of(parts)
    shown = [c for c in record.claims if c.about.of is not About.CLASS]
    methods = {name: part.study.method.kind for name, part in parts.items()}
    first = next(iter(methods.values()))
    others = {name for name, method in methods.items() if method != first}
    sections = _sections(parts, curves)
    return View(
        title=page_title(parts, [_levels(parts[n], one.curve) for n, one in curves.items()]),
        headline=tuple(c for c in shown if not others.intersection(c.names)),
        about=about(parts),
        warnings=tuple(_cautions(parts, curves)),
        continuing=_continuing(record),
        claims=tuple(c for c in shown if others.intersection(c.names)),
        verdicts=verdicts,
        facts=tuple(_facts(parts, curves)),
        assumptions=(),
        sections=sections,
        answer=sections[0].table if len(parts) > 1 else None,
        command=command,
        provenance=tuple((name, tuple(provenance(part))) for name, part in parts.items()),
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
    parts_of_caption = {
        _DOTS: True,
        _SHADE: any(shaded),
        _LEVELS: not all(shaded),
        _CHECKS: any(shaded),
        _CROSSING: crossed,
    }
    caption = " ".join(text for text, shown in parts_of_caption.items() if shown)
    groups, drawings = curve_figures.grouped(parts), curve_figures.curve_figures(parts)
    alone = len(drawings) == 1
    drawn = tuple(
        Figure(
            draw,
            f"{title[0].upper()}{title[1:]}. {caption}" if alone else title,
            description=curve_figures.describe_curves(groups[title]),
        )
        for title, draw in drawings.items()
    )
    sections = [Section("curves", table.title, () if alone else (caption,), drawn, table)]
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
        for row in curve_figures.weakest_classes(one)
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
    drawn = tuple(
        Figure(
            partial(curve_figures.class_chart, parts[name], one),
            f"{name}. {curve_figures.class_caption(one)}"
            if name
            else curve_figures.class_caption(one),
            description=curve_figures.describe_classes(one),
        )
        for name, one in curves.items()
        if one.classes
    )
    return Section("classes", table.title, (), drawn, table)


def _strip(name: str, strip: Strip, what: str) -> tuple[str, tuple[LabelledImage, ...]]:
    truth = f", true {what} {strip.true_class}" if strip.true_class else ""
    head = f"{name}: " if name else ""
    frames = tuple(
        LabelledImage(
            f.image,
            f"{strip.id} at level {four_digits(f.level)}{'' if f.kept else ', failed'}",
            f"level {four_digits(f.level)} ",
            f.label,
            not f.kept,
        )
        for f in strip.frames
    )
    return f"{head}{strip.id}{truth}", frames
