"""Files of outcomes of the same cases, compared case by case."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.conclude.class_groups import sampled_of
from surefoot.conclude.tally import (
    assumptions,
    mean_of,
    population_claim,
    population_scope,
    quantity_of,
)
from surefoot.core.claims import Claim, Continues
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_rows import Case, OutcomeFile
from surefoot.population import Difference, Mean, differences
from surefoot.records.population import rows_by_id
from surefoot.records.record import Comparison, Finding, InputRow, Member, Record
from surefoot.records.spec import ComparisonSpec, OutcomeFileSpec
from surefoot.statistics.multiplicity import shares

FILES = "file"
"""What differs between the members."""
_NAMED = 5
"""Cases that a note names; the others are counted."""


def matched(files: Mapping[str, OutcomeFile]) -> tuple[dict[str, OutcomeFile], list[Finding]]:
    """The files with the cases that all of them have, and what was left out."""
    for name, file in files.items():
        if not file.names_cases:
            raise InvalidArgument(
                f"{name} does not name its cases, so that they cannot be matched: add a column and "
                "name it with case (--case)"
            )
    cases = {name: {case.name: case for case in file.cases} for name, file in files.items()}
    common = set.intersection(*(set(known) for known in cases.values()))
    if not common:
        raise InvalidArgument(
            f"{' and '.join(files)} have no case in common: cases are matched by their names; name "
            "them alike in both"
        )
    findings = [
        Finding("matching", "warning", _left_out(name, [c for c in known if c not in common]))
        for name, known in cases.items()
        if len(known) > len(common)
    ]
    first, *others = files
    for other in others:
        _check_same_cases(first, other, [(cases[first][c], cases[other][c]) for c in common])
    tasks = dict.fromkeys(file.task for file in files.values() if file.task)
    if len(tasks) > 1:
        text = f"the logs are of different tasks ({', '.join(tasks)}); cases are matched by name"
        findings.append(Finding("tasks", "warning", text))
    kept = {
        name: replace(file, cases=tuple(case for case in file.cases if case.name in common))
        for name, file in files.items()
    }
    return kept, findings


def _left_out(name: str, cases: Sequence[str]) -> str:
    named = ", ".join(cases[:_NAMED]) + (", …" if len(cases) > _NAMED else "")
    are = "1 case of" if len(cases) == 1 else f"{len(cases):,} cases of"
    be = "is" if len(cases) == 1 else "are"
    return f"{are} {name} {be} not in every file ({named}) and left out"


def _check_same_cases(first: str, other: str, pairs: Sequence[tuple[Case, Case]]) -> None:
    for mine, theirs in pairs:
        contents = {mine.content, theirs.content} - {""}  # a file need not name them
        differ = {"content": len(contents) > 1, "group": mine.group != theirs.group}
        what = next((name for name, other_one in differ.items() if other_one), None)
        if what is not None:
            raise InvalidArgument(
                f"case {mine.name} has another {what} in {first} than in {other}: compare files of "
                "the same cases"
            )


def compare_tallies(
    records: Mapping[str, Record], findings: Sequence[Finding], error: float
) -> Record:
    """Half of the error goes to each file's interval, half to the differences of all pairs."""
    rows = {name: rows_by_id(record) for name, record in records.items()}
    first = next(iter(records.values()))
    over = mean_of(first, error)
    local = {name: sampled_of(own) for name, own in rows.items()}
    pairs = differences(over, local, error / 2)
    each = shares(error / 2, len(records))
    members = tuple(
        Member(name, record.digest, None, over.conclude(local[name], each))
        for name, record in records.items()
    )
    digest = hashlib.sha256("\n".join(r.digest for r in records.values()).encode()).hexdigest()
    if not isinstance(first.spec, OutcomeFileSpec):
        raise InvalidArgument(f"run {first.digest[:12]} is no tally: compare files of outcomes")
    return Record(
        digest=digest,
        spec=ComparisonSpec(first.spec, error),
        claims=_claims(over, rows, members, pairs),
        inputs=(),
        details=Comparison(FILES, members, pairs),
        findings=tuple(findings),
        trials=sum(record.trials for record in records.values()),
    )


def _claims(
    over: Mean,
    rows: Mapping[str, Sequence[InputRow]],
    members: Sequence[Member],
    pairs: Sequence[Difference],
) -> tuple[Claim, ...]:
    """Every difference, then each file by itself; all of it together."""
    together = f"everything said of these {len(members)} files"
    every = [row for own in rows.values() for row in own]
    assumed = tuple(dict.fromkeys(a for own in rows.values() for a in assumptions(own)))
    own_claims = [
        replace(
            population_claim(
                over, population_scope(over, rows[m.name]), rows[m.name], m.whole, together
            ),
            names=(m.name,),
        )
        for m in members
        if m.whole is not None
    ]
    once = any(claim.continues is Continues.ONCE for claim in own_claims)
    continues = Continues.ONCE if once else Continues.ANYTIME
    model = own_claims[0]
    of_pairs = [
        replace(
            model,
            kind="case_difference",
            quantity=quantity_of(every),
            names=(pair.first, pair.second),
            value=0.0 - pair.value,
            interval=Interval(0.0 - pair.interval.high, 0.0 - pair.interval.low),
            guarantee=replace(model.guarantee, assumptions=assumed),
            trials=sum(row.result.trials for row in every),
        )
        for pair in pairs
    ]
    return tuple(replace(claim, continues=continues) for claim in (*of_pairs, *own_claims))
