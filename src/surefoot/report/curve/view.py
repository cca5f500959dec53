"""The view of one robustness curve, or of several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from surefoot.claims import About, Claim
from surefoot.report.clauses import continuation_note
from surefoot.report.curve.figures import class_figure, curve_figures
from surefoot.report.curve.tables import READING_HEADINGS, reading_row
from surefoot.report.formatting import file_name, four_digits, with_full_stop
from surefoot.report.provenance import findings_sections, preflight_cautions, provenance
from surefoot.report.tables import Table
from surefoot.report.view import Figure, LabelledImage, Section, View
from surefoot.store.records import Curves, Record, Strip

_CAPTION = (
    "Dots: levels evaluated; a larger dot used more inputs. Lines through them: interval of the "
    "curve at this level, for all levels together. Shade: the band that follows if the curve is "
    "monotone. Diamond: where the curve crosses the threshold."
)


def curves_of(records: Mapping[str, Record]) -> dict[str, Curves]:
    """The curves of each record, by its name."""
    return {n: r.details for n, r in records.items() if isinstance(r.details, Curves)}


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """The headline is every threshold's claim; classes are in a table."""
    curves = curves_of(parts)
    cautions = dict.fromkeys(line for part in parts.values() for line in preflight_cautions(part))
    return View(
        title=about(parts),
        headline=tuple(c for c in record.claims if c.about.of is not About.CLASS),
        about=about(parts),
        cautions=tuple(cautions),
        continuing=continuation_note(record.claims),
        claims=(),
        verdicts=verdicts,
        facts=tuple(_facts(curves)),
        assumptions=(),
        sections=_sections(parts, curves),
        command=command,
        provenance=tuple((name, tuple(provenance(part))) for name, part in parts.items()),
    )


def about(records: Mapping[str, Record]) -> str:
    """Which models met which inputs, perturbed how."""
    models = dict.fromkeys(
        file_name(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    first = next(iter(records.values()))
    words = first.study.words
    perturbations = dict.fromkeys(r.study.words.perturbation for r in records.values())
    quantity = f"the share of inputs that {words.property}"
    if first.study.property.kind == "confidence":
        label = "true label" if words.reference == "true" else "label of the clean input"
        quantity = f"the mean confidence in the {label}"
    return (
        f"{', '.join(models)} on {file_name(words.source)}: {first.study.inputs.selection}; "
        f"{'; or '.join(perturbations)}; {quantity}."
    )


def _facts(curves: Mapping[str, Curves]) -> list[str]:
    lines = []
    for name, one in curves.items():
        head, curve = f"{name}: " if name else "", one.curve
        lines += [f"{head}Note: {with_full_stop(note)}" for note in curve.notes]
        lines.append(
            f"{head}It took {curve.trials:,} evaluations at {len(curve.points)} levels, which is "
            f"{curve.trials / curve.size:.3g} passes over the {curve.size:,} inputs."
        )
    return list(dict.fromkeys(lines))


def _sections(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> tuple[Section, ...]:
    drawn = tuple(Figure(draw, title) for title, draw in curve_figures(parts).items())
    rows = tuple(
        reading_row(name or parts[name].study.perturbation.kind, one.curve, reading)
        for name, one in curves.items()
        for reading in one.curve.readings
    )
    table = Table("Robustness curve", READING_HEADINGS, rows, 1)
    sections = [Section("curves", table.title, (_CAPTION,), drawn, table)]
    strips = tuple(_strip(name, one.strip) for name, one in curves.items() if one.strip is not None)
    if strips:
        sections.append(Section("strips", "One input along the levels", strips=strips))
    if any(one.classes for one in curves.values()):
        sections.append(_classes(parts, curves))
    return (*sections, *findings_sections(parts))


def _classes(parts: Mapping[str, Record], curves: Mapping[str, Curves]) -> Section:
    rows = tuple(
        reading_row(f"{name}: {row.name}" if name else row.name, row.curve, reading)
        for name, one in curves.items()
        for row in one.classes
        for reading in row.curve.readings
    )
    note = "The interval of each class holds by itself, with the confidence and assumption above."
    table = Table("Results by class", ("class", *READING_HEADINGS[1:]), rows, 1, note)
    caption = "Each class by itself, and all inputs together."
    drawn = tuple(
        Figure(partial(class_figure, parts[name], one), f"{name}. {caption}" if name else caption)
        for name, one in curves.items()
        if one.classes
    )
    return Section("classes", table.title, (), drawn, table)


def _strip(name: str, strip: Strip) -> tuple[str, tuple[LabelledImage, ...]]:
    truth = f", true class {strip.true_class}" if strip.true_class else ""
    head = f"{name}: " if name else ""
    frames = tuple(
        LabelledImage(
            f.image,
            f"level {four_digits(f.level)}",
            f"level {four_digits(f.level)} ",
            f.label,
            not f.kept,
        )
        for f in strip.frames
    )
    return f"{head}{strip.id}{truth}", frames
