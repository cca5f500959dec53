"""Outcomes that were counted elsewhere: claims of one file, files compared, requirements."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from surefoot.conclude.accuracy import failure_interval
from surefoot.conclude.comparison import digest_of_parts
from surefoot.conclude.sampling import conclude_classes, verdict_of
from surefoot.conclude.sampling_requirements import Decided, decide_classes, named_classes
from surefoot.conclude.scope import (
    by_class,
    groups_in,
    groups_within_classes,
    rows_by_id,
    sampled_of,
    trials_of,
)
from surefoot.core import claims as kinds
from surefoot.core import results
from surefoot.core.assumptions import Assumed, Assumption, Jointly, Together
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Sampling, Scope
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcomes.rows import Case, OutcomeFile
from surefoot.population.comparison import differences, not_worse
from surefoot.population.mean import Mean
from surefoot.population.requirement import requirement
from surefoot.records.record import (
    Comparison,
    Finding,
    InputRow,
    Member,
    OfClasses,
    Record,
    Source,
    Tally,
    results_of,
)
from surefoot.records.spec import ComparisonSpec, OutcomeFileSpec
from surefoot.statistics.bounds import shares

CASES = "cases"
"""What was sampled, as a forecast calls it."""
COUNTED = results.Guarantee.sound()
"""Of what was counted, nothing is uncertain."""
MOST_CLASSES = 200
"""Classes that share one error: with more of them no interval says much."""


def tally_record(file: OutcomeFile, error: float, by: str | None = None) -> Record:
    """The record of one file: claims about the population, these cases and each class."""
    names = file.classes
    if len(names) > MOST_CLASSES:
        raise InvalidArgument(
            f"{file.path} has {len(names):,} classes, more than {MOST_CLASSES}: name "
            "another column with by (--by)"
        )
    grouped = any(case.group for case in file.cases)
    sampling = Sampling.GROUPED if grouped else Sampling.INDEPENDENT
    rows = tuple(_row(case, names) for case in file.cases)
    over = Mean(error, sampling, inputs=_names_of(rows))
    classes = by_class(rows) if len({row.label for row in rows} - {None}) > 1 else {}
    if not groups_within_classes(classes):
        raise InvalidArgument(
            "some groups have cases of several classes, and of such classes nothing can be said: "
            "leave out group (--group), or name a class for each group with by (--by)"
        )
    whole, of_classes = conclude_classes(over, rows, classes, names)
    failed = sum(case.failed for case in file.cases)
    details = Tally(whole, of_classes, failed, trials_of(rows), names, by or "")
    columns = tuple(f"{remark.name}: {remark.text}" for remark in file.remarks)
    spec = OutcomeFileSpec(str(file.path), error, str(sampling), columns)
    content = repr((spec, file.cases)).encode()
    return Record(
        digest=hashlib.sha256(content).hexdigest(),
        spec=spec,
        claims=_claims(over, rows, details),
        inputs=rows,
        details=details,
        findings=tuple(
            Finding(r.name, "warning" if r.is_warning else "ok", r.text) for r in file.remarks
        ),
        trials=details.trials,
        source=Source("", str(file.path)),
    )


def _row(case: Case, names: tuple[str, ...]) -> InputRow:
    label = names.index(case.class_name) if case.class_name else None
    result = counted_case(case.failed, case.trials)
    return InputRow(case.name, label, None, result, digest=case.content, group=case.group)


@lru_cache(maxsize=4096)
def counted_case(failed: int, trials: int) -> results.Estimate:
    """The outcomes of one case: an unbiased estimate of how often it passes, and no interval."""
    kept = 1 - failed / trials
    return results.Estimate(kept, results.UNIT, COUNTED, trials, kept, trials)


def _claims(over: Mean, rows: Sequence[InputRow], details: Tally) -> tuple[Claim, ...]:
    """The population first, then the count, then each class."""
    together = None
    if details.classes:
        together = Jointly(Together.CLASSES_AND_CASES, len(details.classes))
    counted = Said(
        Scope(About.THESE, len(rows)), Randomness.NOTHING, COUNTED, Continues.ONCE, details.trials
    )
    rates = [1 - one.value for one in results_of(rows, results.Estimate)]
    claims = [
        population_claim(over, rows, details.whole, together),
        kinds.CasesFailed(
            counted, counted=outcomes_of(rows), failed=details.failed, rate=sum(rates) / len(rates)
        ),
    ]
    members = by_class(rows) if details.classes else {}
    for row, own in zip(details.classes, members.values(), strict=True):
        claims.append(population_claim(over, own, row.result, together, row.name))
    return tuple(claims)


def mean_of(record: Record, error: float) -> Mean:
    """The statement about the population that the record makes, at this error."""
    return Mean(error, Sampling(_spec(record).sampling), inputs=_names_of(record.inputs))


def _names_of(rows: Sequence[InputRow]) -> str | None:
    """Names the cases and what they are, for draws; None where a file says but their numbers."""
    if all(row.id.isdecimal() and not row.digest and not row.group for row in rows):
        return None
    names = sorted((row.id, row.digest, row.group) for row in rows)
    return hashlib.sha256(repr(names).encode()).hexdigest()


def error_of(record: Record) -> float:
    """How often at most the claims of the record may be wrong."""
    return _spec(record).error


def _spec(record: Record) -> OutcomeFileSpec:
    if not isinstance(record.spec, OutcomeFileSpec):
        raise InvalidArgument(f"run {record.digest[:12]} is no tally: name one of surefoot tally")
    return record.spec


def population_claim(
    over: Mean,
    rows: Sequence[InputRow],
    whole: results.Whole,
    together: Jointly | None,
    name: str = "",
) -> kinds.CaseFailure:
    """How often such cases fail, of a class where it is named; or why there is no number."""
    of, groups = About.CLASS if name else About.POPULATION, groups_in(sampled_of(rows))
    scope = Scope(of, len(rows), name, over.sampling, groups)
    trials, counted = sum(row.result.trials for row in rows), outcomes_of(rows)
    said = Said(scope, Randomness.NOTHING, results.NO_GUARANTEE, Continues.ONCE, trials)
    if isinstance(whole, results.Undecided):
        said = replace(said, reason=whole.because)
    if not isinstance(whole, results.Estimate):
        return kinds.CaseFailure(said, counted=counted)
    assumed = assumptions(rows, within_class=scope.of is About.CLASS)
    said = replace(said, guarantee=results.Guarantee.given(over.error, assumed, together))
    around = failure_interval(whole.interval)
    return kinds.CaseFailure(said, counted=counted, value=1 - whole.value, interval=around)


def assumptions(rows: Sequence[InputRow], *, within_class: bool = False) -> tuple[Assumption, ...]:
    """What a claim about the population takes for granted of these cases."""
    sampled: tuple[Assumption, ...] = (
        Assumed.CASES_WITHIN if within_class else Assumed.CASES_SAMPLED,
    )
    if any(row.group for row in rows):
        sampled = (Assumed.CASE_GROUPS_SAMPLED, Assumed.WHOLE_CASE_GROUPS)
    numbers = {row.result.trials for row in rows}
    return (*sampled, Assumed.TRIALS_SETTLED) if len(numbers) > 1 else sampled


def outcomes_of(rows: Sequence[InputRow]) -> kinds.Outcomes:
    """What is counted: cases that fail, or trials where some case has several."""
    single = all(row.result.trials == 1 for row in rows)
    return kinds.Outcomes.CASES if single else kinds.Outcomes.TRIALS


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
        for mine in (case for name, case in cases[first].items() if name in common):
            theirs = cases[other][mine.name]
            contents = {mine.content, theirs.content} - {""}  # a file need not name them
            differ = {"content": len(contents) > 1, "group": mine.group != theirs.group}
            for what in (name for name, another in differ.items() if another):
                raise InvalidArgument(
                    f"case {mine.name} has another {what} in {first} than in {other}: compare "
                    "files of the same cases"
                )
    tasks = dict.fromkeys(file.task for file in files.values() if file.task)
    if len(tasks) > 1:
        if any(
            name.isdecimal() and not known[name].content
            for known in cases.values()
            for name in common
        ):
            raise InvalidArgument(
                f"{' and '.join(files)} are of different tasks ({', '.join(tasks)}) and only "
                "number their cases: compare files of the same task"
            )
        text = f"the logs are of different tasks ({', '.join(tasks)}); cases are matched by name"
        findings.append(Finding("tasks", "warning", text))
    kept = {
        name: replace(file, cases=tuple(case for case in file.cases if case.name in common))
        for name, file in files.items()
    }
    return kept, findings


def _left_out(name: str, cases: Sequence[str]) -> str:
    named = ", ".join(cases[:_NAMED]) + (", …" if len(cases) > _NAMED else "")
    are = f"1 case of {name} is" if len(cases) == 1 else f"{len(cases):,} cases of {name} are"
    return f"{are} not in every file ({named}) and left out"


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
    together = Jointly(Together.FILES, len(members))
    every = [row for own in rows.values() for row in own]
    assumed = tuple(dict.fromkeys(a for own in rows.values() for a in assumptions(own)))
    own_claims = [
        population_claim(over, rows[m.name], m.whole, together).saying(names=(m.name,))
        for m in members
        if m.whole is not None
    ]
    model = own_claims[0].said
    said = replace(
        model,
        guarantee=replace(model.guarantee, assumptions=assumed),
        trials=sum(row.result.trials for row in every),
    )
    counted, of_pairs = outcomes_of(every), list[Claim]()
    for pair in pairs:
        named, value = replace(said, names=(pair.first, pair.second)), 0.0 - pair.value
        around = -pair.interval
        of_pairs.append(kinds.CaseDifference(named, counted=counted, value=value, interval=around))
    return Record(
        digest=digest_of_parts(record.digest for record in records.values()),
        spec=ComparisonSpec(_spec(first), error),
        claims=(*of_pairs, *own_claims),  # every difference, then each file; all of it together
        inputs=(),
        details=Comparison(FILES, members, pairs),
        findings=tuple(findings),
        trials=sum(record.trials for record in records.values()),
    )


def of_tally(record: Record, least: float | None, each: OfClasses | None) -> tuple[Claim, ...]:
    """A verdict on the share that passes: of all such cases, and of each class."""
    number = (least is not None) + (each is not None)
    over = mean_of(record, shares(error_of(record), number))
    claims = []
    if least is not None:
        local = sampled_of(record.inputs)
        answer = requirement(over, local, least, unit=CASES)
        claims.append(_verdict(record, over, Decided(record.claims[0].about, answer), least))
    if each is not None:
        claims += _of_each(record, over, each)
    return tuple(claims)


def _of_each(record: Record, over: Mean, least: OfClasses) -> list[Claim]:
    """The verdict on all classes together, then on each."""
    details = record.details
    if not isinstance(details, Tally) or not details.names:
        raise InvalidArgument(
            "the cases have no classes to require something of: name their column with by (--by), "
            "or leave out require_each (--require-each)"
        )
    classes = by_class(record.inputs)
    named = {label: details.names[label] for label in classes}
    skipped = [name for i, name in enumerate(details.names) if i not in classes]
    required = named_classes(least, named, skipped)
    one, *others = dict.fromkeys(required.values())
    number = None if others else one
    together, *each = decide_classes(over, classes, named, required)
    whole = _verdict(record, over, together, number)
    if isinstance(least, Mapping):
        whole = whole.saying(names=tuple(required))
    return [whole, *(_verdict(record, over, one, required[one.scope.name]) for one in each)]


def _verdict(record: Record, over: Mean, decided: Decided, least: float | None) -> Claim:
    """What passes is required, and what fails is claimed."""
    (verdict, reason), scope = verdict_of(decided.answer), decided.scope
    assumed = assumptions(record.inputs, within_class=scope.of is About.CLASS)
    together = Jointly(Together.EVERY_CLASS) if scope.name else None
    model = record.claims[0].said
    said = replace(
        model,
        about=replace(scope, sampling=over.sampling),
        trials=model.trials if decided.rows is None else trials_of(decided.rows),
        guarantee=results.Guarantee.given(over.error, assumed, together),
        reason=reason,
    )
    number = None if least is None else results.complement(least)
    answer = kinds.Requirement(number, verdict)
    return kinds.CaseFailure(said, counted=outcomes_of(record.inputs), requirement=answer)


def of_tallies(
    record: Record, parts: Mapping[str, Record], name: str, margin: float
) -> tuple[Claim, ...]:
    """Whether cases fail in this file at most so much more often than in each other."""
    first = next(iter(parts.values()))
    over = mean_of(first, record.shared_error or error_of(first))
    rows = {other: rows_by_id(part) for other, part in parts.items()}
    local = {other: sampled_of(own) for other, own in rows.items()}
    model = record.claims[0].said
    decided = not_worse(over, local, name, margin, unit=CASES)
    verdict, reason = verdict_of(decided)
    guarantee = results.NO_GUARANTEE
    if isinstance(decided, results.Decision):
        guarantee = results.Guarantee.given(over.error, model.guarantee.assumptions)
    said = replace(
        model,
        guarantee=guarantee,
        # the forecast alone: the sentence names the files already
        reason=None if reason is None else reason.parts[0],
        names=(name, *(other for other in parts if other != name)),
    )
    counted = outcomes_of([row for own in rows.values() for row in own])
    return (kinds.NotWorse(said, requirement=kinds.Requirement(margin, verdict), counted=counted),)
