"""The claims of a study that samples: about these inputs, each class and the population."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.accuracy import (
    claim_of_mean,
    confident_from,
    drop_claims,
    failure_interval,
    kept_as,
    right_results,
    wrong_when_clean,
)
from surefoot.conclude.facts import StudyFacts
from surefoot.conclude.scope import (
    by_class,
    distinct_names,
    groups_in,
    groups_within_classes,
    sampled_of,
    trials_of,
)
from surefoot.core import claims as kinds
from surefoot.core import results
from surefoot.core.assumptions import Assumed, Jointly, Together, jointly
from surefoot.core.claims import (
    About,
    Claim,
    Continues,
    Height,
    Randomness,
    Said,
    Sampling,
    Scope,
    Verdict,
)
from surefoot.core.reasons import Reason, Why
from surefoot.population.groups import averages
from surefoot.population.mean import Mean, weakest
from surefoot.population.requirement import Population, assumptions_within, sound, without_plan
from surefoot.population.share import every_input_at_most, fragile_at_least
from surefoot.records.input_table import groups_of
from surefoot.records.record import ClassRow, CleanLoss, Example, InputRow, RecordBody, Samples
from surefoot.statistics.bounds import shares
from surefoot.statistics.contrasts import MOST_GROUPS, contrasts, differing
from surefoot.statistics.kappa import PublishedDoubling


def verdict_of(decided: results.Decision | results.Undecided) -> tuple[Verdict, Reason | None]:
    """The verdict, and why where it is open."""
    match decided:
        case results.Decision(holds=True):
            return Verdict.PASS, None
        case results.Decision():
            return Verdict.FAIL, None
        case results.Undecided():
            return Verdict.UNDECIDED, decided.because


@dataclass(frozen=True)
class Common:
    """What all claims of one study share."""

    random: Randomness
    inputs: int
    sampling: Sampling
    trials: int
    groups: int = 0
    kept: Height | None = None
    confident: float | None = None

    @property
    def population(self) -> Scope:
        """The population that the inputs stand for."""
        return Scope(About.POPULATION, self.inputs, sampling=self.sampling, groups=self.groups)

    def these(self, guarantee: results.Guarantee, continues: Continues = Continues.ONCE) -> Said:
        """What is said of these inputs."""
        return self.of(Scope(About.THESE, self.inputs), guarantee, continues)

    def of(
        self, scope: Scope, guarantee: results.Guarantee, continues: Continues = Continues.ONCE
    ) -> Said:
        """What is said of this scope."""
        said = Said(scope, self.random, guarantee, continues, self.trials)
        return replace(said, kept=self.kept, confident=self.confident)


def common_of(facts: StudyFacts, rows: Sequence[InputRow]) -> Common:
    """What all claims of this study share."""
    groups = len(groups_of(rows))
    trials, failing = trials_of(rows), (kept_as(facts.spec), confident_from(facts.spec))
    return Common(facts.randomness, len(rows), facts.sampling, trials, groups, *failing)


def conclude_samples(
    facts: StudyFacts,
    rows: Sequence[InputRow],
    examples: tuple[Example, ...] = (),
    clean_loss: CleanLoss | None = None,
) -> RecordBody:
    """What follows from the results of the inputs; only a model has examples and a clean loss."""
    over = facts.aggregate
    local: list[Any] = [row.result for row in rows]
    rows = with_few_histograms(rows)
    classes, names = classes_with_claims(facts, rows)
    whole, of_classes = conclude_classes(over, rows, classes, names)
    # which classes differ in the mean of their inputs' values, unless there are too many
    values = {names[label]: _values(own) for label, own in classes.items() if of_classes}
    few = sum(len(own) > 1 for own in values.values()) <= MOST_GROUPS
    seed = int.from_bytes(hashlib.sha256(facts.digest.encode()).digest()[:8])
    draw = np.random.default_rng(seed)
    details = Samples(
        whole=whole,
        studied=over.studied(local),
        classes=of_classes,
        contrasts=contrasts(values, draw, over.error) if of_classes and few else (),
        examples=examples,
        clean_loss=clean_loss,
    )
    return RecordBody(rows, details, claims_of(facts, rows, details), trials_of(rows))


def classes_with_claims(
    facts: StudyFacts, rows: Sequence[InputRow]
) -> tuple[dict[int, list[InputRow]], dict[int, str]]:
    """The inputs of each class that gets a claim of its own, and their names."""
    classes = by_class(rows) if facts.class_by_class else {}
    classes = classes if groups_within_classes(classes) else {}
    return classes, distinct_names(classes, facts.spec.inputs.class_name)


def conclude_classes(
    over: Population,
    rows: Sequence[InputRow],
    classes: Mapping[int, Sequence[InputRow]],
    names: Mapping[int, str] | Sequence[str],
) -> tuple[results.Whole, tuple[ClassRow, ...]]:
    """Of all inputs; and of each class, where there are several: they share half of the error."""
    if len(classes) < 2:
        return over.conclude(sampled_of(rows), over.error), ()
    half, sampled = over.error / 2, {label: sampled_of(own) for label, own in classes.items()}
    alone, share = without_plan(over), shares(half, len(classes))
    each = {label: alone.conclude(own, share) for label, own in sampled.items()}
    return over.conclude(sampled_of(rows), half), tuple(
        ClassRow(names[label], len(classes[label]), whole, groups_in(sampled[label]))
        for label, whole in each.items()
    )


def _values(rows: Sequence[InputRow]) -> NDArray[np.float64]:
    """One value for each input with an estimate, or for each group that has such inputs."""
    known = [
        row for row in rows if isinstance(row.result, results.Estimate | results.Extrapolation)
    ]
    return averages(sampled_of(known), lambda result: float(result.value))


def claims_of(facts: StudyFacts, rows: Sequence[InputRow], details: Samples) -> tuple[Claim, ...]:
    """The headline first; no verdict, which only a requirement gets."""
    common, over = common_of(facts, rows), facts.aggregate
    kappa = getattr(facts.method, "kappa", None)
    if isinstance(facts.method, PublishedDoubling):
        claims = [_declared(common, rows, facts.method)]
    elif kappa is not None:
        # the error pays for how many inputs were looked at, once: added ones would cost again
        local = right_results(rows)
        decided = [r.holds for r in local if isinstance(r, results.Decision)]
        claims = [
            kinds.CountKappa(
                common.these(results.Guarantee.sound(facts.method.error)),
                kappa=kappa,
                fragile=decided.count(False),
                robust=decided.count(True),
                at_least=fragile_at_least(local, facts.method.error),
                clean=wrong_when_clean(rows),
            )
        ]
    else:
        claims = []
        if (mean := details.studied) is not None:
            said = common.these(mean.guarantee)
            claims.append(claim_of_mean(facts.spec, rows, said, mean.value, mean.interval))
        if isinstance(tail := details.whole, results.ExtrapolatedMean):
            said = common.these(tail.guarantee)
            claims.append(kinds.Tail(said, value=tail.failure, fitted=tail.fitted))
    own_scales = facts.scales_from_inputs
    continues = Continues.ONCE if own_scales else over.continues
    of_population: list[Claim] = [
        *about_populations(facts, common, rows, details, continues, over.error),
    ]
    if isinstance(over, Mean) and facts.spec.means_accuracy and not of_population[0].is_open:
        said = replace(of_population[0].said, continues=Continues.ONCE)
        of_population[1:1] = drop_claims(facts.spec, rows, said, over, of_population[0].value)
    claims += [given_scales(claim) if own_scales else claim for claim in of_population]
    limit = every_input_at_most(right_results(rows))
    if limit is not None and limit.value not in (1.0, kappa):  # not the one that was asked for
        said, clean = common.these(limit.guarantee), wrong_when_clean(rows)
        claims.append(kinds.AllKappa(said, kappa=limit.value, interval=limit.interval, clean=clean))
    if kappa is None:
        claims += _about_weakest(common, rows, over.error)
    if details.contrasts:
        claims.append(_about_classes(common, details, over.error))
    return tuple(claims)


def _declared(common: Common, rows: Sequence[InputRow], method: PublishedDoubling) -> Claim:
    """What the published rule declares, and how often it is wrong."""
    whys = [r.reason.why for r in right_results(rows) if isinstance(r.reason, Reason)]
    return kinds.PublishedKappa(
        common.these(results.NO_GUARANTEE),
        kappa=method.kappa,
        robust=whys.count(Why.DECLARED_ROBUST),
        fragile=whys.count(Why.DECLARED_FRAGILE),
        stated=method.error,
        measured=method.measured_error,
        clean=wrong_when_clean(rows),
    )


def about_populations(
    facts: StudyFacts,
    common: Common,
    rows: Sequence[InputRow],
    details: Samples,
    continues: Continues,
    error: float,
) -> list[Claim]:
    """The mean, or the share that fails at most so often: of the population and of each class."""
    together = None
    if details.classes:
        together = Jointly(Together.CLASSES_AND_INPUTS, len(details.classes))
    claims = [_about_population(facts, common, common.population, details.whole, rows)]
    members = by_class(rows).values() if details.classes else ()
    for row, own in zip(details.classes, members, strict=True):
        scope = Scope(About.CLASS, row.inputs, row.name, common.sampling, row.groups)
        claims.append(_about_population(facts, common, scope, row.result, own))
    first, *rest = (
        claim.saying(guarantee=replace(claim.guarantee, error=error, jointly=together))
        if not claim.is_open
        else claim
        for claim in claims
    )
    return [
        first.saying(continues=continues),
        *(claim.saying(trials=trials_of(own)) for claim, own in zip(rest, members, strict=True)),
    ]


def _about_population(
    facts: StudyFacts, common: Common, scope: Scope, whole: results.Whole, rows: Sequence[InputRow]
) -> Claim:
    plain, kappa = sound(whole), getattr(facts.method, "kappa", None)
    value = around = None
    if isinstance(plain, results.Undecided):
        said = replace(common.of(scope, results.NO_GUARANTEE), reason=plain.because)
    else:
        sampled = plain.guarantee.assumptions
        if scope.of is About.CLASS:
            sampled = assumptions_within(common.sampling)
        said = common.of(scope, replace(plain.guarantee, assumptions=sampled))
        value, around = plain.value, plain.interval
    if kappa is None:
        return claim_of_mean(facts.spec, rows, said, value, around)
    clean = wrong_when_clean(rows)
    return kinds.ShareKappa(said, kappa=kappa, value=value, interval=around, clean=clean)


def given_scales(claim: Claim) -> Claim:
    """The claim with what it takes for granted where the noise is scaled by these inputs."""
    own = claim.guarantee
    return claim.saying(
        guarantee=replace(own, assumptions=(*own.assumptions, Assumed.GIVEN_SCALES))
    )


def _about_weakest(common: Common, rows: Sequence[InputRow], error: float) -> list[Claim]:
    """The input that fails most often, the choice paid for; nothing where none is shown to fail."""
    local: list[Any] = [row.result for row in rows]
    worst = weakest(local, error)
    if worst is None or worst[1].high == 1:
        return []
    i, around = worst
    guarantee = results.Guarantee.sound(error, Jointly(Together.INPUTS, len(rows)))
    said = common.of(Scope(About.INPUT, len(rows), rows[i].id), guarantee)
    fault = None if rows[i].right_when_clean else kinds.CleanFault.WRONG_LABEL
    if rows[i].clean_kept is False:
        fault = kinds.CleanFault.FAILS
    said = replace(said, trials=rows[i].result.trials)
    return [kinds.Worst(said, interval=failure_interval(around), clean_fault=fault)]


def _about_classes(common: Common, details: Samples, error: float) -> Claim:
    alike, pairs = Assumed.EXCHANGEABLE, len(details.contrasts)
    alike = Assumed.EXCHANGEABLE_GROUPS if common.groups else alike
    together = jointly(Together.PAIRS, pairs)
    said = common.of(common.population, results.Guarantee.given(error, (alike,), together))
    differ = len(differing(details.contrasts, error))
    return kinds.ClassesDiffer(said, differ=differ, pairs=pairs, classes=len(details.classes))


def claim_about(
    row: InputRow, random: Randomness, method: str, kappa: float | None = None
) -> Claim:
    """What its result allows; `method` is its kind, `kappa` its limit where it has one."""
    scope, result = Scope(About.INPUT, 1, row.id), row.result
    if isinstance(result, results.Bracket):
        proof = Said(scope, Randomness.NOTHING, result.guarantee, Continues.ANYTIME, result.trials)
        return kinds.Radius(proof, value=result.low, interval=result.interval)
    if isinstance(result, results.Extrapolation):
        counted = result.counted
        guarantee = replace(result.guarantee, error=counted.guarantee.error)  # of the count alone
        said = Said(scope, random, guarantee, Continues.ONCE, result.trials)
        return kinds.Tail(said, value=result.failure, interval=failure_interval(counted.interval))
    if isinstance(result, results.Certificate | results.RareFailure):
        raise TypeError("conclude/smoothing.py and conclude/splitting.py have the claims of these")
    known = result if isinstance(result, results.Estimate) else result.counted
    value = None if known is None else 1 - known.value
    around = None if known is None else failure_interval(known.interval)
    promise = results.NO_GUARANTEE if known is None else known.guarantee
    if isinstance(result, results.Decision):
        promise = result.guarantee
    reason = result.because if isinstance(result, results.Undecided) else None
    # only the κ-test may be given more trials and be read again; others have a settled number
    continues = Continues.ANYTIME if method == "kappa-test" else Continues.ONCE
    said = Said(scope, random, promise, continues, result.trials, reason=reason)
    if kappa is None:
        return kinds.Failure(said, value=value, interval=around)
    decision = Verdict.UNDECIDED
    if isinstance(result, results.Decision):
        decision = Verdict.PASS if result.holds else Verdict.FAIL
    return kinds.Kappa(said, kappa=kappa, decision=decision, value=value, interval=around)


def with_few_histograms(rows: Sequence[InputRow]) -> tuple[InputRow, ...]:
    """The rows with the scores of a weak input, a typical one, one without a fit, and one whose
    extrapolation contradicts its count; without those of the others.
    """
    tails = {
        i: row.result for i, row in enumerate(rows) if isinstance(row.result, results.Extrapolation)
    }
    by_z = sorted(tails, key=lambda i: tails[i].z)
    contradicted = [i for i, tail in tails.items() if tail.contradicted]
    without = [
        i for i, r in enumerate(rows) if isinstance(r.result, results.Undecided) and r.result.fits
    ]
    places = {*by_z[:1], *by_z[len(by_z) // 2 :][:1], *without[:1], *contradicted[:1]}
    few = list(rows)
    for i, row in enumerate(rows):
        if i not in places and isinstance(row.result, results.Extrapolation | results.Undecided):
            bare = tuple(replace(fit, scores=None) for fit in row.result.fits)
            few[i] = replace(row, result=replace(row.result, fits=bare)) if bare else row
    return tuple(few)
