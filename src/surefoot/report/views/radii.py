"""The page of critical radii."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from surefoot.core.claims import About, Claim, RadiusQuantile, limit_of
from surefoot.core.results import Bracket
from surefoot.records.record import Counterexample, Record
from surefoot.records.spec import BracketFileSpec
from surefoot.region.critical_level import NOT_REACHED
from surefoot.report.clauses import capitalised, continuation_note
from surefoot.report.figures import svg
from surefoot.report.formatting import at_least, file_name, four_digits
from surefoot.report.provenance import findings_sections, preflight_cautions, provenance
from surefoot.report.view import Card, Figure, LabelledImage, Section, View
from surefoot.report.views.radii_figures import (
    accuracy_chart,
    describe_accuracy,
    describe_radii,
    describe_times,
    radii_chart,
    times_figure,
)
from surefoot.report.views.radii_tables import (
    AtRadius,
    Means,
    accuracy_table,
    bracket_table,
    brackets_of,
    class_table,
    closed,
    column_of_parts,
    counted_unit,
    means_table,
    pair_table,
    points_table,
    quantile_table,
    radii_in,
    sampled_facts,
    seconds,
    severity_table,
    times_table,
    tolerance_of,
)

_CAPTION = (
    "Solid line: inputs with a counterexample within the radius. Dashed: inputs not proved within "
    "it. The truth lies between the two. Diamond and bar: the quantile and its interval."
)

_ACCURACY_CAPTION = (
    "Solid line: inputs that are not refuted at the radius. Dashed: inputs that are proved up to "
    "it. The robust accuracy of these inputs lies between the two. Bars, at the radii that were "
    "named: its interval for the population."
)


def radii_sections(record: Record, parts: Mapping[str, Record]) -> tuple[Section, ...]:
    """The distribution first, then robust accuracy, examples, tables and times."""
    drawn = Figure(lambda: svg(radii_chart(parts)), _CAPTION, description=describe_radii(parts))
    title = f"Share of {counted_unit(parts.values())} refuted within a radius"
    sections = [
        Section("distribution", title, (), (drawn,), quantile_table(parts, column_of_parts(record)))
    ]
    curve = Figure(
        lambda: svg(accuracy_chart(record, parts)),
        _ACCURACY_CAPTION,
        description=describe_accuracy(parts),
    )
    sections.append(
        Section("accuracy", "Robust accuracy", (), (curve,), accuracy_table(record, parts))
    )
    for name, part in parts.items():
        if examples := radii_in(part).examples:
            sections.append(_examples(name, examples))
    for section, table in (
        ("pairs", pair_table(record)),
        ("classes", class_table(record)),
        ("severity", severity_table(record, parts)),
        ("means", means_table(record, parts)),
        ("time", times_table(record, parts)),
    ):
        if table is not None:
            sections.append(Section(section, table.title, table=table))
    for name, part in parts.items():
        for kind, table in (
            ("brackets", bracket_table(part, name)),
            ("points", points_table(part, name)),
        ):
            if table is not None:
                sections.append(
                    Section(f"{kind}-{name}" if name else kind, table.title, table=table)
                )
    for name, part in parts.items():
        if any(b.seconds is not None for _, b in brackets_of(part)):
            heading = f"Time per input, {name}" if name else "Time per input"
            label = f"times-{name}" if name else "times"
            figure = Figure(partial(times_figure, part), description=describe_times(part))
            sections.append(Section(label, heading, (), (figure,)))
    return (*sections, *findings_sections(parts))


def _examples(name: str, examples: tuple[Counterexample, ...]) -> Section:
    title = f"Nearest counterexamples, {name}" if name else "Nearest counterexamples"
    cards = tuple(
        Card(
            title="" if e.image else e.id,
            text=""
            if e.image
            else f"{e.clean_class}; at {four_digits(e.distance)}: {e.failed_class}",
            images=(
                LabelledImage(e.image, f"{e.id}, clean", f"{e.id}: ", e.clean_class),
                LabelledImage(
                    e.perturbed,
                    f"{e.id}, counterexample at {four_digits(e.distance)}",
                    f"at {four_digits(e.distance)}: ",
                    e.failed_class,
                    True,
                ),
            )
            if e.image
            else (),
        )
        for e in examples
    )
    return Section(f"examples-{name}" if name else "examples", title, cards=cards)


def continuing_note(record: Record) -> str:
    """Whether it may be continued; after a time limit brackets only become narrower."""
    note = continuation_note(record.claims)
    if not record.stopped_early:
        return note
    return (
        "The same command, or the same study with the same store, goes on where the time limit "
        f"ended the run; brackets only become narrower. {note}"
    )


def stopped_note(name: str, record: Record) -> str:
    """How many inputs the time limit left out."""
    brackets = brackets_of(record)
    number = sum(bracket.reason == NOT_REACHED.reason for _, bracket in brackets)
    left_out = (
        f"{number:,} of {len(brackets):,} inputs were not reached: nothing is proved or refuted "
        "for them, and they count as such"
        if number
        else "every input was tried, not all of them to the end"
    )
    return f"Note: {name + ': ' if name else ''}stopped early by the time limit: {left_out}."


_PURPOSE = "up to which size no perturbation at all makes the model fail, and how certain that is"


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """The headline is the quantile of each network; then pairs of networks."""
    in_tables = AtRadius | Means if len(parts) > 1 else ()
    whole = sorted(
        (
            c
            for c in record.claims
            if c.about.of is not About.CLASS and not isinstance(c, in_tables)
        ),
        key=lambda c: c.about.of is About.POPULATION,  # so that an assumption is said once
    )
    return View(
        title=_about(parts),
        headline=tuple(c for c in whole if isinstance(c, RadiusQuantile)),
        about=_about(parts),
        cautions=_cautions(parts),
        continuing=continuing_note(record),
        claims=tuple(c for c in whole if not isinstance(c, RadiusQuantile)),
        verdicts=verdicts,
        facts=_facts(parts),
        assumptions=(),
        sections=radii_sections(record, parts),
        command=command,
        purpose=_PURPOSE,
        provenance=tuple((name, tuple(_origin(part))) for name, part in parts.items()),
    )


def _about(records: Mapping[str, Record]) -> str:
    """Which models, on which inputs, and what is proved."""
    first = next(iter(records.values()))
    models = dict.fromkeys(
        file_name(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    sizes = " and ".join(f"{n:,}" for n in dict.fromkeys(map(_inputs, records.values())))
    taken = "; as many as needed, in a random order" if first.chooses_inputs else ""
    source, _, within, kept = _question(first)
    selection = " and ".join(dict.fromkeys(_question(r)[1] for r in records.values()))
    return (
        f"{', '.join(models)} on {file_name(source)}: {selection} ({sizes} inputs{taken}). The "
        f"critical radius of an input is the largest L∞ distance{within} up to which all points "
        f"{kept}."
    )


def _inputs(record: Record) -> int:
    """How many inputs it has; where networks are pooled, each has a row of every network."""
    about = record.claims[0].about
    return about.groups if about.networks else len(record.inputs)


def _question(record: Record) -> tuple[str, str, str, str]:
    """Source and selection of the inputs, the bounds of the points, and what these must do."""
    if isinstance(record.spec, BracketFileSpec):
        return record.spec.path, record.spec.selection, "", "keep its label"
    study, bounds = record.study, record.study.bounds
    within = "" if bounds is None else f", inside [{bounds.low:g}, {bounds.high:g}],"
    return study.words.source, study.inputs.selection, within, study.words.property


def _cautions(records: Mapping[str, Record]) -> tuple[str, ...]:
    """Contradictions first, then what the preflights found odd."""
    lines = [
        f"Contradiction: {name + ': ' if name else ''}input {row.id} is proved up to "
        f"{at_least(bracket.low)} in real arithmetic, and the model fails at a point within. The "
        "proof, the reading of the graph or the rounding of the model is at fault: do not use "
        "these radii."
        for name, record in records.items()
        for row, bracket in brackets_of(record)
        if bracket.contradicted
    ]
    lines += [stopped_note(name, part) for name, part in records.items() if part.stopped_early]
    lines += [line for name, part in records.items() for line in preflight_cautions(part, name)]
    return tuple(dict.fromkeys(lines))


def _facts(records: Mapping[str, Record]) -> tuple[str, ...]:
    """What is proved and by whom; once where it is the same for all networks."""
    each = {name: _facts_of(record) for name, record in records.items()}
    shared = [line for line in next(iter(each.values())) if all(line in of for of in each.values())]
    own = [
        f"{name}: {line}" for name, lines in each.items() for line in lines if line not in shared
    ]
    pooled = any(r.claims[0].about.networks for r in records.values())
    groups = any(r.claims[0].about.groups for r in records.values())
    if len(records) > 1 and groups and not pooled:
        shared.append(
            "The quantiles of two networks are not compared: that test takes inputs for "
            "independent, and these are in groups."
        )
    return (*own, *shared)


def _facts_of(record: Record) -> list[str]:
    brackets = [b for _, b in brackets_of(record)]
    lines = [_widths(record, brackets), *_footing(record, brackets), *sampled_facts(record)]
    wrong = sum(b.reason == "misclassified" for b in brackets)
    if wrong:
        lines.append(
            f"Misclassified when clean: {wrong:,}. Their critical radius is 0, and they are "
            "included."
        )
        share = limit_of(record.claims[0]) or 0.0
        if wrong >= share * len(brackets) and not record.claims[0].about.groups:
            lines[-1] += (
                " They make the quantile 0; correct_only=True (--correct-only) leaves them out."
            )
    inside = [s for b in brackets for s in b.sampled if s.radius <= b.low]
    if inside:
        lines.append(
            f"Of {sum(s.trials for s in inside):,} points drawn within the proved radii "
            f"{sum(s.failed for s in inside):,} failed; a proof allows none."
        )
    spent = sorted(b.seconds for b in brackets if b.seconds is not None)
    if not spent:
        return [*lines, "The file does not say how long it took."]
    clock = "seconds, as the file says" if radii_in(record).published else "CPU seconds"
    last = f"It took {sum(spent):,.1f} {clock}, {seconds(spent[len(spent) // 2])} in the median"
    missing = len(brackets) - len(spent)
    return [*lines, last + (f"; no time is known of {missing:,}." if missing else ".")]


def _widths(record: Record, brackets: list[Bracket]) -> str:
    widest = max((b.high - b.low for b in brackets), default=0.0)
    line, tolerance = "", tolerance_of(record)
    if tolerance is not None:
        number = closed(record, tolerance)
        line = f"{number:,} of {len(brackets):,} brackets are closed to {tolerance:g}; "
    if tolerance is not None and record.study.method.kind == "critical-quantile":
        return line + (
            "the others were proved or refuted no further than the quantile needs, or than the "
            "time allowed."
        )
    if math.isinf(widest):
        return capitalised(f"{line}for at least one input no counterexample is known.")
    return capitalised(f"{line}the widest is {widest:.4g} wide.")


def _footing(record: Record, brackets: list[Bracket]) -> list[str]:
    """In which arithmetic lower ends are proved, and what confirmed the upper ends."""
    lost = sum(b.discarded for b in brackets)
    radii = radii_in(record)
    if radii.published:
        return [
            "The brackets are taken from the file unchanged: their proofs and counterexamples were "
            "not checked here."
        ]
    confirmed = [
        "Upper ends are points to which the model itself, in onnxruntime, gives another label."
    ]
    if lost:
        confirmed.append(f"{lost:,} points that it did not confirm were discarded.")
    verifier = record.study.method.text("verifier")
    if verifier:
        return [
            f"Lower ends are proved by {verifier!r}, in its own arithmetic, and were not checked "
            "here.",
            *confirmed,
        ]
    return [
        "Lower ends are proved in real arithmetic, computed in float64 with an allowance for its "
        "rounding; the model runs in float32.",
        "On random inputs the network as read and the model as run differ by at most "
        f"{radii.reader:.1e} of the largest margin.",
        *confirmed,
    ]


def _origin(record: Record) -> list[tuple[str, str]]:
    """Model, inputs and method; for brackets of others, which rows of which file."""
    if not isinstance(record.spec, BracketFileSpec) or record.source is None:
        return provenance(record)
    return [
        ("File", record.source.data),
        ("Rows", f"network {record.source.model}, {record.spec.selection}: {len(record.inputs):,}"),
        ("Digest of file and selection", f"sha256 {record.digest}"),
    ]
