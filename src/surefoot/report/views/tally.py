"""The page of outcomes that were counted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from surefoot.core.claims import About, CaseDifference, CaseFailure, Claim, Outcomes
from surefoot.core.results import UNIT, Estimate
from surefoot.records.record import InputRow, Record, Tally
from surefoot.records.spec import OutcomeFileSpec
from surefoot.report import alt, formatting
from surefoot.report.clauses import by_scope, capitalised, confidence_clause
from surefoot.report.figures import interval_chart, interval_row
from surefoot.report.provenance import Shown, preflight_cautions
from surefoot.report.tables import OF_POPULATION, Table, claim_cells, pair_table, verdict_table
from surefoot.report.view import Figure, Section, View, table_sections

MOST_CLASSES = 20
"""Classes in a figure, those that fail most often first: the table has all."""


def describe_rates(record: Record) -> str:
    """The rate of all cases, or of each file, with its interval; and the extreme classes."""
    claims = [c for c in worst_first(record) if c.interval is not None]
    lines = [f"{_row_name(c)} {_words(c)}" for c in claims if not c.about.name]
    if classes := [c for c in claims if c.about.name]:
        first, last = classes[0], classes[-1]
        lines.append(
            f"{len(classes):,} classes from {first.about.name} {_words(first)} to "
            f"{last.about.name} {_words(last)}"
        )
    return f"Failure rates: {'; '.join(lines)}." if lines else "No rate is known."


def worst_first(record: Record) -> list[CaseFailure]:
    """All cases or files in their order, then the classes: those that fail most often first."""
    claims = [claim for claim in record.claims if isinstance(claim, CaseFailure)]
    return sorted(claims, key=lambda c: (1, -(c.value or 0.0)) if c.about.name else (0, 0.0))


def _words(claim: Claim) -> str:
    value = "" if claim.value is None else f"{formatting.percent(claim.value)} "
    return f"{value}({formatting.percent_range(claim.interval or UNIT)})"


def tally_chart(record: Record) -> alt.ChartType:
    """All cases and each class, or each file: a dot and its interval."""
    rows = [
        interval_row("name", _row_name(claim), claim.value, claim.interval)
        for claim in worst_first(record)[: MOST_CLASSES + 1]
        if claim.interval is not None and claim.value is not None
    ]
    return interval_chart(rows, "name", "failure rate (%)", alt.Scale(domainMin=0), 26)


_PAGE_ROWS = 1000
"""Cases that a page lists: more make it slow to open, and --json has all."""


def rate_table(record: Record, name_heading: str) -> Table:
    """The failure rate with its interval: of all cases and each class, or of each file."""
    claims = worst_first(record)
    note = formatting.with_full_stop(capitalised(confidence_clause(claims[0]))) if claims else ""
    rows = tuple((_row_name(c), _size(c), *claim_cells(c)) for c in claims)
    headings = (name_heading, "cases", "failure rate", OF_POPULATION)
    return Table("Failure rate", headings, rows, note=note)


def _row_name(claim: Claim) -> str:
    return claim.about.name or ", ".join(claim.names) or "all cases"


def _size(claim: Claim) -> str:
    """How many cases, in how many groups, with how many trials."""
    groups = f" in {claim.about.groups:,} groups" if claim.about.groups else ""
    several = claim.trials != claim.about.inputs
    trials = f", {claim.trials:,} trials" if several else ""
    return f"{claim.about.inputs:,}{groups}{trials}"


def failed_table(record: Record, details: Tally) -> Table | None:
    """The cases that failed, those that failed most often first."""
    failed = [row for row in record.inputs if _failed(row)]
    if not failed:
        return None
    failed.sort(key=lambda row: -_failed(row) / row.result.trials)
    single = all(row.result.trials == 1 for row in record.inputs)
    rows = list[tuple[str, ...]]()
    for row in failed[:_PAGE_ROWS]:
        name = () if row.label is None else (details.names[row.label],)
        rows.append((row.id, *name, *(() if single else (_count(row),))))
    left = len(failed) - len(rows)
    note = f"{left:,} more failed; --json has all." if left else ""
    names = ("case", *((details.by or "class",) if details.names else ()))
    headings = names if single else (*names, "trials")
    return Table("Cases that failed", headings, tuple(rows), len(names), note)


def differing_table(parts: Mapping[str, Record]) -> Table | None:
    """The cases that do not fail equally often in all files."""
    by_id = {name: {row.id: row for row in part.inputs} for name, part in parts.items()}
    first = next(iter(by_id.values()))
    rows = []
    for case in first:
        of_files = [known[case] for known in by_id.values()]
        if len({row.result.value for row in of_files if isinstance(row.result, Estimate)}) > 1:
            rows.append((case, *map(_count, of_files)))
    if not rows:
        return None
    left = len(rows) - _PAGE_ROWS
    note = f"{left:,} more differ; --json has all." if left > 0 else ""
    return Table("Cases that differ", ("case", *parts), tuple(rows[:_PAGE_ROWS]), 1, note)


def _count(row: InputRow) -> str:
    """How many of its trials failed, in words where there is one."""
    if row.result.trials == 1:
        return "failed" if _failed(row) else "passed"
    return f"{_failed(row):,} of {row.result.trials:,} failed"


def _failed(row: InputRow) -> int:
    kept = row.result.value if isinstance(row.result, Estimate) else 0.0
    return round((1 - kept) * row.result.trials)


_CAPTION = "Dot: over these cases. Line: interval for all such cases."


def view(shown: Shown) -> View:
    """One file: how often such cases fail. Several: their differences."""
    record, parts = shown.record, shown.members
    several = isinstance(next(iter(parts.values())).details, Tally) and len(parts) > 1
    claims = [c for c in record.claims if c.about.of is not About.CLASS]
    overall, single = by_scope(shown.verdicts)
    sections = _sections(record, parts, single)
    cautions = [*preflight_cautions(record)] if several else []
    for name, part in parts.items():
        cautions += preflight_cautions(part, name)
    return shown.view(
        title=_title(parts),
        headline=tuple(claims[:1]),
        about=_about(parts),
        warnings=tuple(cautions),
        claims=tuple(claims[1:]),
        verdicts=overall,
        facts=tuple(_facts(record, parts)),
        sections=sections,
        answer=sections[0].table,
        provenance=tuple((name, _origin(part)) for name, part in parts.items()),
    )


def _title(parts: Mapping[str, Record]) -> str:
    return " and ".join(name or formatting.file_name(_path(part)) for name, part in parts.items())


def _path(record: Record) -> str:
    return record.spec.path if isinstance(record.spec, OutcomeFileSpec) else ""


def _about(parts: Mapping[str, Record]) -> str:
    number = len(next(iter(parts.values())).inputs)
    cases = "1 case" if number == 1 else f"{number:,} cases"
    every = " in every file" if len(parts) > 1 else ""
    return f"Outcomes in {_title(parts)}, counted elsewhere: {cases}{every}."


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
    if isinstance(claim, CaseFailure | CaseDifference) and claim.counted is Outcomes.TRIALS:
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


def _sections(
    record: Record, parts: Mapping[str, Record], single: list[Claim]
) -> tuple[Section, ...]:
    several = len(parts) > 1
    classes = sum(bool(claim.about.name) for claim in record.claims)
    few = f" The {MOST_CLASSES} classes that fail most often, of {classes:,}; the table has all."
    caption = _CAPTION + (few if classes > MOST_CLASSES else "")
    figure = Figure(partial(tally_chart, record), caption, "figure", describe_rates(record))
    by = record.details.by if isinstance(record.details, Tally) else ""
    rates = rate_table(record, "file" if several else by or "class")
    table = rates if len(rates.rows) > 1 else None  # of a single row the headline says it all
    tables: dict[str, Table | None] = {}
    if single:
        tables["required"] = verdict_table(single, "cases that fail")
    if several:
        differences = [c for c in record.claims if isinstance(c, CaseDifference)]
        words = ("fails more (points)", "fails less often")
        pairs = pair_table(differences, "file", words, same="not shown to differ")
        tables |= {"pairs": pairs, "cases": differing_table(parts)}
    elif isinstance(record.details, Tally):
        tables["cases"] = failed_table(record, record.details)
    rated = Section("rates", rates.title, (), (figure,), table)
    return (rated, *table_sections(tables))


def _origin(record: Record) -> tuple[tuple[str, str], ...]:
    return (
        ("File", _path(record)),
        ("Cases", f"{len(record.inputs):,}; {record.trials:,} trials"),
        *((f.name.capitalize(), f.finding) for f in record.findings),
        ("Digest of cases, outcomes and options", f"sha256 {record.digest}"),
    )
