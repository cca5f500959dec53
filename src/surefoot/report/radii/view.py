"""The view of critical radii: of one network, or of several on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.claims import About, Claim
from surefoot.population import mean_radii
from surefoot.report.claim_parts import may_continue
from surefoot.report.figures import svg
from surefoot.report.formatting import at_least, short, tiny
from surefoot.report.provenance import findings_sections, odd_findings, provenance
from surefoot.report.radii.figures import distribution, times
from surefoot.report.radii.tables import (
    bracket_table,
    brackets_of,
    class_table,
    closed,
    pair_table,
    points_table,
    quantile_table,
    radii_in,
    seconds,
)
from surefoot.report.view import Card, Figure, LabelledImage, Section, View
from surefoot.results import Bracket
from surefoot.store.records import Counterexample, Record

_CAPTION = (
    "Full line: inputs with a counterexample within the radius. Dashed: inputs not proved safe "
    "within it. The truth lies between. Diamond and bar: the quantile and its interval."
)


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """The headline is the quantile of each network; then pairs of networks."""
    whole = [c for c in record.claims if c.about.of is not About.CLASS]
    return View(
        title=_about(parts),
        headline=tuple(c for c in whole if c.kind == "radius_quantile"),
        about=_about(parts),
        cautions=_cautions(parts),
        continuing=may_continue(record.claims),
        claims=tuple(c for c in whole if c.kind != "radius_quantile"),
        verdicts=verdicts,
        facts=_facts(parts),
        assumptions=(),
        sections=_sections(record, parts),
        command=command,
        provenance=tuple((name, tuple(_origin(part))) for name, part in parts.items()),
    )


def _about(records: Mapping[str, Record]) -> str:
    """Which models, on which inputs, and what is proved."""
    first = next(iter(records.values()))
    models = dict.fromkeys(
        short(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    sizes = " and ".join(f"{n:,}" for n in dict.fromkeys(len(r.inputs) for r in records.values()))
    stops = first.spec["method"].get("within") is not None
    taken = "; as many as it took, in a random order" if stops else ""
    within = ""
    if not radii_in(first).published:
        within = f", inside [{first.spec['bounds']['low']:g}, {first.spec['bounds']['high']:g}],"
    return (
        f"{', '.join(models)} on {short(first.spec['words']['source'])}: "
        f"{first.spec['inputs']['selection']} ({sizes} inputs{taken}). The critical radius of an "
        f"input is the largest L∞ distance{within} up to which every point is sure to "
        f"{first.spec['words']['property']}."
    )


def _cautions(records: Mapping[str, Record]) -> tuple[str, ...]:
    """Contradictions first, then what the preflights found odd."""
    found = [
        f"Contradiction: {name + ': ' if name else ''}input {row.id} is proved up to "
        f"{at_least(bracket.low)} in real arithmetic, and a point within it fails as run. The "
        "proof, the reading of the graph or the model's own rounding is at fault: do not use these "
        "radii."
        for name, record in records.items()
        for row, bracket in brackets_of(record)
        if bracket.contradicted
    ]
    found += [line for name, part in records.items() for line in odd_findings(part, name)]
    return tuple(dict.fromkeys(found))


def _facts(records: Mapping[str, Record]) -> tuple[str, ...]:
    """What is proved and by whom; said once where it is the same for all networks."""
    each = {name: _facts_of(record) for name, record in records.items()}
    shared = [line for line in next(iter(each.values())) if all(line in of for of in each.values())]
    own = [
        f"{name}: {line}" for name, lines in each.items() for line in lines if line not in shared
    ]
    return (*own, *shared)


def _facts_of(record: Record) -> list[str]:
    brackets = [b for _, b in brackets_of(record)]
    lines = [_widths(record, brackets), *_footing(record, brackets)]
    wrong = sum(b.reason == "misclassified" for b in brackets)
    if wrong:
        lines.append(f"Wrong when clean: {wrong:,}. Their critical radius is 0, and they count.")
        share = record.claims[0].limit or 0.0
        if wrong >= share * len(brackets):
            lines[-1] += " So many make the quantile 0: --correct-only leaves them out."
    lines += _summaries(brackets)
    inside = [s for b in brackets for s in b.sampled if s.radius <= b.low]
    if inside:
        lines.append(
            f"Of {sum(s.trials for s in inside):,} points run within the proved radii "
            f"{sum(s.failed for s in inside):,} failed; a proof allows none."
        )
    spent = sorted(b.seconds for b in brackets if b.seconds is not None)
    if not spent:
        return [*lines, "The file does not say how long it took."]
    whose = "seconds by the file" if radii_in(record).published else "CPU seconds"
    last = f"It took {sum(spent):,.1f} {whose}, {seconds(spent[len(spent) // 2])} in the median"
    missing = len(brackets) - len(spent)
    return [*lines, last + (f"; of {missing:,} it says no time." if missing else ".")]


def _summaries(brackets: list[Bracket]) -> list[str]:
    """Means that are usual beside the quantile, with their counts."""
    found = mean_radii(brackets)
    line = f"Mean certified radius: {tiny(found.certified)} over {found.inputs:,} inputs"
    if found.distance is not None:
        line += (
            f"; mean distance of the counterexamples: {tiny(found.distance)} over "
            f"{found.counterexamples:,}"
        )
    return [line + "."]


def _widths(record: Record, brackets: list[Bracket]) -> str:
    widest = max((b.high - b.low for b in brackets), default=0.0)
    line = ""
    if not radii_in(record).published:
        tolerance = record.spec["method"]["tolerance"]
        line = f"{closed(record):,} of {len(brackets):,} brackets are closed to {tolerance:g}; "
    if record.spec["method"]["kind"] == "critical-quantile":
        return line + (
            "the others were proved or refuted no further than the quantile needs, or than the "
            "time allowed."
        )
    line += "the widest was never refuted." if math.isinf(widest) else ""
    line += "" if math.isinf(widest) else f"the widest is {widest:.4g} wide."
    return line[:1].upper() + line[1:]


def _footing(record: Record, brackets: list[Bracket]) -> list[str]:
    """In whose arithmetic lower ends are proved, and who confirmed the upper ones."""
    lost = sum(b.discarded for b in brackets)
    found = radii_in(record)
    if found.published:
        return [
            "The brackets are taken from the file as they stand: their proofs and counterexamples "
            "were not checked here."
        ]
    confirmed = [
        "Upper ends are points that the model itself, in onnxruntime, gives another label."
    ]
    if lost:
        confirmed.append(f"{lost:,} points that it did not confirm were thrown away.")
    verifier = record.spec["method"].get("verifier")
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
        f"{found.reader:.1e} of the largest margin.",
        *confirmed,
    ]


def _sections(record: Record, parts: Mapping[str, Record]) -> tuple[Section, ...]:
    drawn = Figure(svg(distribution(parts)), _CAPTION)
    title = "How many inputs can be changed within which radius"
    sections = [Section("distribution", title, (), (drawn,), quantile_table(parts))]
    for name, part in parts.items():
        if examples := radii_in(part).examples:
            sections.append(_examples(name, examples))
    for section, table in (("pairs", pair_table(record)), ("classes", class_table(record))):
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
            heading = f"Time an input took, {name}" if name else "Time an input took"
            label = f"times-{name}" if name else "times"
            sections.append(Section(label, heading, (), (Figure(times(part)),)))
    return (*sections, *findings_sections(parts))


def _examples(name: str, examples: tuple[Counterexample, ...]) -> Section:
    title = f"The nearest counterexamples, {name}" if name else "The nearest counterexamples"
    cards = tuple(
        Card(
            title="" if e.image else e.id,
            words="" if e.image else f"{e.clean_class}; at {tiny(e.distance)}: {e.failed_class}",
            images=(
                LabelledImage(e.image, "clean", f"{e.id}: ", e.clean_class),
                LabelledImage(
                    e.perturbed, "counterexample", f"at {tiny(e.distance)}: ", e.failed_class, True
                ),
            )
            if e.image
            else (),
        )
        for e in examples
    )
    return Section(f"examples-{name}" if name else "examples", title, cards=cards)


def _origin(record: Record) -> list[tuple[str, str]]:
    """What was run on what; for brackets of others, which rows of which file."""
    if not radii_in(record).published or record.source is None:
        return provenance(record)
    selection = record.spec["inputs"]["selection"]
    return [
        ("File", record.source.data),
        ("Rows", f"network {record.source.model}, {selection}: {len(record.inputs):,}"),
        ("Of file and choice", f"sha256 {record.digest}"),
    ]
