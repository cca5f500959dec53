"""The view of robustness curves: one, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.claims import About, Claim
from surefoot.report.claim_parts import may_continue
from surefoot.report.curve.figures import class_figure, figures
from surefoot.report.formatting import ended, percent, percent_range, short, tiny
from surefoot.report.provenance import findings_sections, odd_findings, provenance
from surefoot.report.tables import Table
from surefoot.report.view import Figure, LabelledImage, Section, View
from surefoot.results import Curve, Footing, Reading
from surefoot.store.records import Curves, Record, Strip

_HEADINGS = ("curve", "threshold", "share of levels", "interval", "crosses at", "levels", "passes")
_CAPTION = (
    "Dots: levels evaluated, the larger the more inputs. Lines through them: between which bounds "
    "the curve lies there, all together. Shade: the band that follows if the curve goes one way. "
    "Diamond: where it crosses the threshold."
)


def curves_of(records: Mapping[str, Record]) -> dict[str, Curves]:
    """What was found, by name."""
    return {n: r.details for n, r in records.items() if isinstance(r.details, Curves)}


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """The headline is every threshold's claim; classes are in a table."""
    found = curves_of(parts)
    cautions = dict.fromkeys(line for part in parts.values() for line in odd_findings(part))
    return View(
        title=about(parts),
        headline=tuple(c for c in record.claims if c.about.of is not About.CLASS),
        about=about(parts),
        cautions=tuple(cautions),
        continuing=may_continue(record.claims),
        claims=(),
        verdicts=verdicts,
        facts=tuple(_facts(found)),
        assumptions=(),
        sections=_sections(parts, found),
        command=command,
        provenance=tuple((name, tuple(provenance(part))) for name, part in parts.items()),
    )


def about(records: Mapping[str, Record]) -> str:
    """Which models met which inputs, perturbed how."""
    models = dict.fromkeys(
        short(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    first = next(iter(records.values()))
    words = dict.fromkeys(r.spec["words"]["perturbation"] for r in records.values())
    what = f"the share of inputs that {first.spec['words']['property']}"
    if first.spec["property"]["kind"] == "confidence":
        true = first.spec["words"]["reference"] == "true"
        label = "true label" if true else "label of the clean input"
        what = f"the mean confidence in the {label}"
    return (
        f"{', '.join(models)} on {short(first.spec['words']['source'])}: "
        f"{first.spec['inputs']['selection']}; {'; or '.join(words)}; {what}."
    )


def _facts(found: Mapping[str, Curves]) -> list[str]:
    lines = []
    for name, one in found.items():
        head, curve = f"{name}: " if name else "", one.curve
        lines += [f"{head}Noticed: {ended(note)}" for note in curve.notes]
        lines.append(
            f"{head}It took {curve.trials:,} evaluations at {len(curve.points)} levels, as many as "
            f"{curve.trials / curve.size:.3g} passes over the {curve.size:,} inputs."
        )
    return list(dict.fromkeys(lines))


def _sections(parts: Mapping[str, Record], found: Mapping[str, Curves]) -> tuple[Section, ...]:
    drawn = tuple(Figure(svg, title) for title, svg in figures(parts).items())
    rows = tuple(
        _row(name or parts[name].spec["perturbation"]["kind"], one.curve, reading)
        for name, one in found.items()
        for reading in one.curve.readings
    )
    table = Table("Robustness curve", _HEADINGS, rows, 1)
    sections = [Section("curves", table.title, (_CAPTION,), drawn, table)]
    strips = tuple(_strip(name, one.strip) for name, one in found.items() if one.strip is not None)
    if strips:
        sections.append(Section("strips", "One input along the levels", strips=strips))
    if any(one.classes for one in found.values()):
        sections.append(_classes(parts, found))
    return (*sections, *findings_sections(parts))


def _classes(parts: Mapping[str, Record], found: Mapping[str, Curves]) -> Section:
    rows = tuple(
        _row(f"{name}: {row.name}" if name else row.name, row.curve, reading)
        for name, one in found.items()
        for row in one.classes
        for reading in row.curve.readings
    )
    note = "Each class's interval holds by itself, with the confidence and assumption above."
    table = Table("Class by class", ("class", *_HEADINGS[1:]), rows, 1, note)
    caption = "Each class by itself, and all inputs together."
    drawn = tuple(
        Figure(class_figure(parts[name], one), f"{name}. {caption}" if name else caption)
        for name, one in found.items()
        if one.classes
    )
    return Section("classes", table.title, (), drawn, table)


def _strip(name: str, strip: Strip) -> tuple[str, tuple[LabelledImage, ...]]:
    truth = f", in truth {strip.true_class}" if strip.true_class else ""
    head = f"{name}: " if name else ""
    frames = tuple(
        LabelledImage(
            f.image, f"level {tiny(f.level)}", f"level {tiny(f.level)} ", f.label, not f.kept
        )
        for f in strip.frames
    )
    return f"{head}{strip.id}{truth}", frames


def _row(name: str, curve: Curve, reading: Reading) -> tuple[str, ...]:
    known = reading.guarantee.footing is not Footing.NONE
    nowhere = "not caught" if reading.interval.width > 0 and reading.value < 1 else "nowhere"
    return (
        name,
        percent(reading.threshold),
        percent(reading.value),
        percent_range(reading.interval) if known else "no guarantee",
        ", ".join(tiny(c.level) for c in reading.crossings) or nowhere,
        f"{len(curve.points)}",
        f"{curve.trials / curve.size:.3g}",
    )
