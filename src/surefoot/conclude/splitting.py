"""What follows from splitting: how rare failures are, if it reached every kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.accuracy import confident_from, failure_interval, named_height
from surefoot.conclude.facts import StudyFacts
from surefoot.conclude.scope import trials_of
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Scope
from surefoot.core.procedure import Joint
from surefoot.core.reasons import Why
from surefoot.core.results import NO_GUARANTEE, Estimate, Guarantee, RareFailure, Undecided
from surefoot.records.record import Example, InputRow, RareFailures, RecordBody, results_of
from surefoot.records.spec import StudySpec
from surefoot.statistics.splitting import SharedAscent, mean_failure

_FEW_INPUTS = 12
"""Up to so many inputs each has a claim of its own; of more the table has them."""


def procedures_of_splitting(facts: StudyFacts, names: Sequence[str]) -> dict[str, Any] | Joint[Any]:
    """One for every input, or one for all that shares the effort, where their mean is wanted."""
    if facts.method.about == "these":
        return Joint(SharedAscent(facts.method, facts.level, len(names)))
    return dict.fromkeys(names, facts.method.under(facts.level))


def conclude_splitting(
    facts: StudyFacts, rows: Sequence[InputRow], examples: tuple[Example, ...] = ()
) -> RecordBody:
    """Each input by itself, their mean where there are several, and what was counted."""
    claims: list[Claim] = []
    if len(rows) > 1:
        claims.append(_of_mean(rows, facts.method.error))
    if len(rows) == 1 or (facts.method.about == "each" and len(rows) <= _FEW_INPUTS):
        claims += [_about_input(row) for row in rows]
        claims += [claim for row in rows for claim in _counted(row)]
    details, named = RareFailures(examples), tuple(_as_counted(c, facts.spec) for c in claims)
    return RecordBody(tuple(rows), details, named, trials_of(rows))


def claim_about_rare(row: InputRow, spec: StudySpec) -> Claim:
    """What is said of one input by itself; nothing where something contradicts the assumption."""
    return _as_counted(_about_input(row), spec)


def _as_counted(claim: Claim, spec: StudySpec) -> Claim:
    """The claim, which says what a failure is."""
    return claim.saying(kept=named_height(spec), confident=confident_from(spec))


def _about_input(row: InputRow) -> Claim:
    result, scope = row.result, Scope(About.INPUT, 1, row.id)
    said = Said(scope, Randomness.FRESH, NO_GUARANTEE, Continues.ONCE, result.trials)
    if isinstance(result, RareFailure):
        said = replace(said, guarantee=result.guarantee)
        return kinds.RareFailure(said, value=result.failure, interval=result.interval)
    if not isinstance(result, Undecided):
        raise TypeError(f"input {row.id} was not studied by splitting")
    return kinds.RareFailure(replace(said, reason=result.because))


def _counted(row: InputRow) -> tuple[Claim, ...]:
    """Of ordinary trials alone, which takes nothing for granted; nothing where there are none."""
    match row.result:
        case RareFailure(counted=counted) | Undecided(counted=Estimate() as counted):
            scope = Scope(About.INPUT, 1, row.id)
            said = Said(scope, Randomness.FRESH, counted.guarantee, Continues.ONCE, counted.trials)
            around = failure_interval(counted.interval)
            return (kinds.Failure(said, value=1 - counted.value, interval=around),)
        case _:
            return ()


def _of_mean(rows: Sequence[InputRow], error: float) -> Claim:
    """Over these inputs; open where one of them is, since that one may fail most often."""
    scope = Scope(About.THESE, len(rows))
    said = Said(scope, Randomness.FRESH, NO_GUARANTEE, Continues.ONCE, trials_of(rows))
    known = results_of(rows, RareFailure)
    if len(known) < len(rows):
        row = next(row for row in rows if not isinstance(row.result, RareFailure))
        why = row.result.because if isinstance(row.result, Undecided) else None
        open_ = Why.RARE_INPUTS_OPEN.of(len(rows) - len(known), len(rows), row.id, why or "")
        return kinds.RareFailure(replace(said, reason=open_))
    mean, found = mean_failure(known, error), sum(one.failure is not None for one in known)
    promise = Guarantee.given(error, (Assumed.CHAINS_MIX,))
    value = mean.value if found else None
    return kinds.RareFailure(replace(said, guarantee=promise), value=value, interval=mean.interval)
