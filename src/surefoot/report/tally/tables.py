"""Tables of a tally: classes, files, pairs of files, and the cases that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surefoot.core.claims import About, Claim, Verdict
from surefoot.core.results import Estimate, Interval
from surefoot.records.record import InputRow, Record, Tally
from surefoot.report.clauses import capitalised, confidence_clause
from surefoot.report.formatting import exact_percent, points, points_range, with_full_stop
from surefoot.report.tables import EACH_CLASS_NOTE, OF_POPULATION, Table, claim_cells
from surefoot.report.tally.figures import worst_first

_WORDS = {Verdict.PASS: "meets it", Verdict.FAIL: "fails it", Verdict.UNDECIDED: "undecided"}
_ORDER = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2}
"""What a reader looks for first."""
_PAGE_ROWS = 1000
"""Cases that a page lists: more make it slow to open, and --json has all."""


def rate_table(record: Record, name_heading: str) -> Table:
    """The failure rate with its interval: of all cases and each class, or of each file."""
    claims = worst_first(record)
    note = with_full_stop(capitalised(confidence_clause(claims[0]))) if claims else ""
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


def verdict_table(claims: Sequence[Claim]) -> Table:
    """What is decided of each class, all together."""
    rows = tuple(
        (c.about.name, f"at most {exact_percent(c.requirement or 0.0)}", _WORDS[c.verdict])
        for c in sorted(claims, key=lambda c: _ORDER.get(c.verdict or Verdict.PASS, 0))
        if c.verdict is not None
    )
    headings = ("class", "required: cases that fail", "outcome")
    return Table("Requirement for each class", headings, rows, 3, EACH_CLASS_NOTE)


def failed_table(record: Record, details: Tally) -> Table | None:
    """The cases that failed, those that failed most often first."""
    failed = [row for row in record.inputs if _failed(row)]
    if not failed:
        return None
    failed.sort(key=lambda row: -_failed(row) / row.result.trials)
    single = all(row.result.trials == 1 for row in record.inputs)
    rows = tuple(
        (
            row.id,
            *((details.names[row.label],) if row.label is not None else ()),
            *(() if single else (_count(row),)),
        )
        for row in failed[:_PAGE_ROWS]
    )
    left = len(failed) - len(rows)
    note = f"{left:,} more failed; --json has all." if left else ""
    names = ("case", "class") if details.names else ("case",)
    headings = names if single else (*names, "trials")
    return Table("Cases that failed", headings, rows, len(names), note)


def pair_table(record: Record) -> Table:
    """Every pair of files, as its claim says it."""
    rows = tuple(
        (
            *c.names,
            points(c.value or 0.0),
            "" if c.interval is None else points_range(c.interval),
            _fails_less(c.names, c.interval or Interval(0.0, 0.0)),
        )
        for c in record.claims
        if c.kind == "case_difference"
    )
    headings = ("file", "and file", "fails more (points)", "interval", "fails less often")
    return Table("Pairs of files", headings, rows, 2)


def _fails_less(names: tuple[str, ...], around: Interval) -> str:
    if around.low <= 0 <= around.high:
        return "not shown to differ"
    return names[1] if around.low > 0 else names[0]


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


def class_verdicts(verdicts: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Verdicts on the whole, and those on single classes."""
    single = [c for c in verdicts if c.about.of is About.CLASS and c.about.name]
    return [c for c in verdicts if c not in single], single
