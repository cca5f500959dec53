"""The view of outcomes that were counted elsewhere, of one file or of several."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.claims import About, Claim, Continues
from surefoot.records.record import Record, Tally
from surefoot.records.spec import OutcomeFileSpec
from surefoot.report.figures import svg
from surefoot.report.formatting import file_name
from surefoot.report.provenance import preflight_cautions
from surefoot.report.tables import Table
from surefoot.report.tally.figures import MOST_CLASSES, describe_rates, tally_chart
from surefoot.report.tally.tables import (
    class_verdicts,
    differing_table,
    failed_table,
    pair_table,
    rate_table,
    verdict_table,
)
from surefoot.report.tally_sentences import FAILURE_OF_TRIALS
from surefoot.report.view import Figure, Section, View

_PURPOSE = "how often such cases fail, from outcomes that were counted elsewhere"
_CAPTION = "Dot: over these cases. Line: interval for all such cases."


def view(
    record: Record, parts: Mapping[str, Record], verdicts: tuple[Claim, ...], command: str
) -> View:
    """One file: how often such cases fail. Several: their differences."""
    several = isinstance(next(iter(parts.values())).details, Tally) and len(parts) > 1
    claims = [c for c in record.claims if c.about.of is not About.CLASS]
    overall, single = class_verdicts(verdicts)
    cautions = [*preflight_cautions(record)] if several else []
    for name, part in parts.items():
        cautions += preflight_cautions(part, name)
    return View(
        title=_title(record, parts),
        headline=tuple(claims[:1]),
        about=_about(record, parts),
        cautions=tuple(cautions),
        claims=tuple(claims[1:]),
        continuing=_continuing(record.claims[0]),
        verdicts=tuple(overall),
        facts=tuple(_facts(record, parts)),
        assumptions=(),
        sections=_sections(record, parts, single),
        command=command,
        purpose=_PURPOSE,
        provenance=tuple((name, _origin(part)) for name, part in parts.items()),
    )


def _title(record: Record, parts: Mapping[str, Record]) -> str:
    return " and ".join(name or file_name(_path(part)) for name, part in parts.items())


def _path(record: Record) -> str:
    return record.spec.path if isinstance(record.spec, OutcomeFileSpec) else ""


def _about(record: Record, parts: Mapping[str, Record]) -> str:
    first = next(iter(parts.values()))
    cases = "1 case" if len(first.inputs) == 1 else f"{len(first.inputs):,} cases"
    if len(parts) > 1:
        return f"Outcomes in {_title(record, parts)}, counted elsewhere: {cases} in every file."
    return f"Outcomes in {_title(record, parts)}, counted elsewhere: {cases}."


def _facts(record: Record, parts: Mapping[str, Record]) -> list[str]:
    lines = ["The outcomes are taken as they are: the test was not run and not checked here."]
    each = {
        name: "; ".join(f"{f.name}: {f.finding}" for f in part.findings if not f.is_warning)
        for name, part in parts.items()
    }
    if len(set(each.values())) == 1:
        each = {"": next(iter(each.values()))}
    lines += [f"Read{f' from {name}' if name else ''}: {text}." for name, text in each.items()]
    claim = record.claims[0]
    if claim.quantity == FAILURE_OF_TRIALS:
        lines.append(
            "Trials of one case depend on each other: the case is the sample, with the share of "
            "its trials that failed, and each case counts the same."
        )
    if claim.about.groups:
        lines.append(
            f"The cases are in {claim.about.groups:,} groups. Claims average over the cases of a "
            "group, then over groups: each group counts the same."
        )
    if len(parts) > 1:
        unit = "group by group" if claim.about.groups else "case by case"
        lines.append(f"Differences are taken {unit}.")
    return lines


def _continuing(claim: Claim) -> str:
    unit = "groups" if claim.about.groups else "cases"
    if claim.continues is Continues.ANYTIME:
        return (
            f"May be continued: {unit} of the same population, chosen independently of the "
            "outcomes, may be added to the file, and the claim about the population may be read "
            "again at the same error."
        )
    return (
        f"Not to be continued: the claim about the population is for a number of {unit} fixed in "
        f"advance. With {unit} added and the claim read again, it would be wrong more often than "
        f"its confidence says; a new run, with new {unit} whose number is chosen beforehand, makes "
        "a claim of its own."
    )


def _sections(
    record: Record, parts: Mapping[str, Record], single: list[Claim]
) -> tuple[Section, ...]:
    several = len(parts) > 1
    classes = sum(bool(claim.about.name) for claim in record.claims)
    few = f" The {MOST_CLASSES} classes that fail most often, of {classes:,}; the table has all."
    caption = _CAPTION + (few if classes > MOST_CLASSES else "")
    figure = Figure(lambda: svg(tally_chart(record)), caption, "figure", describe_rates(record))
    rates = rate_table(record, "file" if several else "class")
    table = rates if len(rates.rows) > 1 else None  # of a single row the headline says it all
    sections = [Section("rates", rates.title, (), (figure,), table)]
    tables: list[tuple[str, Table | None]] = []
    if single:
        tables.append(("required", verdict_table(single)))
    if several:
        tables += [("pairs", pair_table(record)), ("cases", differing_table(parts))]
    elif isinstance(record.details, Tally):
        tables.append(("cases", failed_table(record, record.details)))
    sections += [Section(name, t.title, table=t) for name, t in tables if t is not None]
    return tuple(sections)


def _origin(record: Record) -> tuple[tuple[str, str], ...]:
    return (
        ("File", _path(record)),
        ("Cases", f"{len(record.inputs):,}; {record.trials:,} trials"),
        *((f.name.capitalize(), f.finding) for f in record.findings),
        ("Digest of cases, outcomes and options", f"sha256 {record.digest}"),
    )
