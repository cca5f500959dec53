"""What follows from outcomes that were counted elsewhere: of these cases, of all such cases."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from surefoot.conclude.class_groups import by_class, groups_in, groups_within_classes, sampled_of
from surefoot.conclude.sampling import NO_GUARANTEE, failure_interval
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.results import UNIT, Estimate, Footing, Guarantee, Interval, Undecided, Whole
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_rows import Case, OutcomeFile
from surefoot.population import Mean
from surefoot.population.requirement import (
    CASE_GROUPS_SAMPLED,
    CASES_SAMPLED,
    CASES_WITHIN,
    TRIALS_SETTLED,
    WHOLE_CASE_GROUPS,
)
from surefoot.records.record import ClassRow, Finding, InputRow, Record, Source, Tally
from surefoot.records.spec import OutcomeFileSpec
from surefoot.report.tally_sentences import FAILURE_OF_CASES, FAILURE_OF_TRIALS
from surefoot.statistics.multiplicity import shares

COUNTED = Guarantee(Footing.SOUND, 0.0)
"""Of what was counted, nothing is uncertain."""
MOST_CLASSES = 200
"""Classes that share one error: with more of them no interval says much."""


def tally_record(file: OutcomeFile, error: float) -> Record:
    """The record of one file: claims about the population, these cases and each class."""
    names = file.classes
    _check_classes(file)
    grouped = any(case.group for case in file.cases)
    sampling = Sampling.GROUPED if grouped else Sampling.INDEPENDENT
    rows = tuple(_row(case, names) for case in file.cases)
    over = Mean(error, sampling)
    details = _details(over, file.cases, rows, names)
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


def _check_classes(file: OutcomeFile) -> None:
    if len(file.classes) > MOST_CLASSES:
        raise InvalidArgument(
            f"{file.path} has {len(file.classes):,} classes, more than {MOST_CLASSES}: name "
            "another column with by (--by)"
        )


def _row(case: Case, names: tuple[str, ...]) -> InputRow:
    label = names.index(case.class_name) if case.class_name else None
    result = counted_case(case.failed, case.trials)
    return InputRow(case.name, label, None, result, digest=case.content, group=case.group)


@lru_cache(maxsize=4096)
def counted_case(failed: int, trials: int) -> Estimate:
    """The outcomes of one case: an unbiased estimate of how often it passes, and no interval."""
    kept = 1 - failed / trials
    return Estimate(kept, UNIT, COUNTED, trials, kept, trials)


def _details(
    over: Mean, cases: Sequence[Case], rows: Sequence[InputRow], names: tuple[str, ...]
) -> Tally:
    classes = by_class(rows) if len({row.label for row in rows} - {None}) > 1 else {}
    if not groups_within_classes(classes):
        raise InvalidArgument(
            "some groups have cases of several classes, and of such classes nothing can be said: "
            "leave out group (--group), or name a class for each group with by (--by)"
        )
    sampled = {label: sampled_of(members) for label, members in classes.items()}
    return Tally(
        whole=over.conclude(sampled_of(rows), over.error / 2 if classes else over.error),
        classes=tuple(
            ClassRow(
                names[label],
                len(members),
                over.conclude(sampled[label], shares(over.error / 2, len(classes))),
                groups_in(sampled[label]),
            )
            for label, members in classes.items()
        ),
        failed=sum(case.failed for case in cases),
        trials=sum(case.trials for case in cases),
        names=names,
    )


def _claims(over: Mean, rows: Sequence[InputRow], details: Tally) -> tuple[Claim, ...]:
    """The population first, then the count, then each class."""
    together = f"the {len(details.classes):,} classes and all cases" if details.classes else ""
    scope = population_scope(over, rows)
    claims = [
        population_claim(over, scope, rows, details.whole, together),
        Claim(
            "cases_failed",
            Scope(About.THESE, len(rows)),
            Randomness.NOTHING,
            quantity_of(rows),
            COUNTED,
            Continues.ONCE,
            value=_mean_failure(rows),
            interval=Interval(_mean_failure(rows), _mean_failure(rows)),
            limit=float(details.failed),
            trials=details.trials,
        ),
    ]
    members = by_class(rows) if details.classes else {}
    for row, own in zip(details.classes, members.values(), strict=True):
        scope = Scope(About.CLASS, row.inputs, row.name, over.sampling, row.groups)
        claims.append(population_claim(over, scope, own, row.result, together))
    return tuple(claims)


def mean_of(record: Record, error: float) -> Mean:
    """The statement about the population that the record makes, at this error."""
    return Mean(error, Sampling(_spec(record).sampling))


def error_of(record: Record) -> float:
    """How often at most the claims of the record may be wrong."""
    return _spec(record).error


def _spec(record: Record) -> OutcomeFileSpec:
    if not isinstance(record.spec, OutcomeFileSpec):
        raise InvalidArgument(f"run {record.digest[:12]} is no tally: name one of surefoot tally")
    return record.spec


def population_scope(over: Mean, rows: Sequence[InputRow]) -> Scope:
    """The population that these cases stand for."""
    groups = groups_in(sampled_of(rows))
    return Scope(About.POPULATION, len(rows), sampling=over.sampling, groups=groups)


def population_claim(
    over: Mean, scope: Scope, rows: Sequence[InputRow], whole: Whole, together: str
) -> Claim:
    """How often such cases fail."""
    claim = Claim(
        "case_failure",
        scope,
        Randomness.NOTHING,
        quantity_of(rows),
        NO_GUARANTEE,
        Continues.ONCE if scope.of is About.CLASS else over.continues(sampled_of(rows)),
        trials=sum(row.result.trials for row in rows),
    )
    return with_estimate(claim, rows, whole, over.error, together)


def with_estimate(
    claim: Claim, rows: Sequence[InputRow], whole: Whole, error: float, together: str
) -> Claim:
    """The claim with its number, or with the reason why there is none."""
    if not isinstance(whole, Estimate):
        reason = whole.reason if isinstance(whole, Undecided) else ""
        return replace(claim, reason=reason, guarantee=NO_GUARANTEE)
    assumed = assumptions(rows, within_class=claim.about.of is About.CLASS)
    return replace(
        claim,
        guarantee=Guarantee(Footing.CONDITIONAL, error, assumed, together),
        value=1 - whole.value,
        interval=failure_interval(whole.interval),
    )


def assumptions(rows: Sequence[InputRow], *, within_class: bool = False) -> tuple[str, ...]:
    """What a claim about the population takes for granted of these cases."""
    sampled: tuple[str, ...] = (CASES_WITHIN if within_class else CASES_SAMPLED,)
    if any(row.group for row in rows):
        sampled = (CASE_GROUPS_SAMPLED, WHOLE_CASE_GROUPS)
    numbers = {row.result.trials for row in rows}
    return (*sampled, TRIALS_SETTLED) if len(numbers) > 1 else sampled


def quantity_of(rows: Sequence[InputRow]) -> str:
    """What is measured: cases that fail, or trials where some case has several."""
    single = all(row.result.trials == 1 for row in rows)
    return FAILURE_OF_CASES if single else FAILURE_OF_TRIALS


def _mean_failure(rows: Sequence[InputRow]) -> float:
    values = [1 - row.result.value for row in rows if isinstance(row.result, Estimate)]
    return sum(values) / len(values)
