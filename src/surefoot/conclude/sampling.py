"""The claims of a study that samples: of each input by itself, or of a mean to a precision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Sampling, Scope, Verdict
from surefoot.core.counts import Counts
from surefoot.core.reasons import Reason, Why
from surefoot.population.groups import averages
from surefoot.population.mean import Mean, weakest
from surefoot.population.precision import PrecisionResult
from surefoot.population.requirement import Population, assumptions_within, sound, without_plan
from surefoot.population.share import every_input_at_most, fragile_at_least
from surefoot.records.input_table import groups_of
from surefoot.records.record import ClassRow, CleanLoss, Example, InputRow, RecordBody, Samples
from surefoot.statistics.bounds import shares
from surefoot.statistics.contrasts import MOST_GROUPS, contrasts, differing
from surefoot.statistics.intervals import betting_trials
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
    """What all claims of one study share: what is known of it, and the results of its inputs."""

    facts: StudyFacts
    rows: Sequence[InputRow]

    @cached_property
    def trials(self) -> int:
        """Of all inputs together."""
        return trials_of(self.rows)

    @property
    def population(self) -> Scope:
        """The population that the inputs stand for."""
        groups, sampling = len(groups_of(self.rows)), self.facts.sampling
        return Scope(About.POPULATION, len(self.rows), sampling=sampling, groups=groups)

    def these(self, guarantee: results.Guarantee, continues: Continues = Continues.ONCE) -> Said:
        """What is said of these inputs."""
        return self.of(Scope(About.THESE, len(self.rows)), guarantee, continues)

    def of(
        self, scope: Scope, guarantee: results.Guarantee, continues: Continues = Continues.ONCE
    ) -> Said:
        """What is said of this scope."""
        said = Said(scope, self.facts.randomness, guarantee, continues, self.trials)
        spec = self.facts.spec
        return replace(said, kept=kept_as(spec), confident=confident_from(spec))


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
    common, over = Common(facts, rows), facts.aggregate
    kappa = getattr(facts.method, "kappa", None)
    if isinstance(facts.method, PublishedDoubling):
        claims = [_declared(common, facts.method)]
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
    of_population = about_populations(common, details, continues, over.error)
    if isinstance(over, Mean) and facts.spec.means_accuracy and not of_population[0].is_open:
        said = replace(of_population[0].said, continues=Continues.ONCE)
        of_population[1:1] = drop_claims(facts.spec, rows, said, over, of_population[0].value)
    claims += [given_scales(claim) if own_scales else claim for claim in of_population]
    limit = every_input_at_most(right_results(rows))
    if limit is not None and limit.value not in (1.0, kappa):  # not the one that was asked for
        said, clean = common.these(limit.guarantee), wrong_when_clean(rows)
        claims.append(kinds.AllKappa(said, kappa=limit.value, interval=limit.interval, clean=clean))
    if kappa is None:
        claims += _about_weakest(common, over.error)
    if details.contrasts:
        claims.append(_about_classes(common, details, over.error))
    return tuple(claims)


def _declared(common: Common, method: PublishedDoubling) -> Claim:
    """What the published rule declares, and how often it is wrong."""
    whys = [r.reason.why for r in right_results(common.rows) if isinstance(r.reason, Reason)]
    return kinds.PublishedKappa(
        common.these(results.NO_GUARANTEE),
        kappa=method.kappa,
        robust=whys.count(Why.DECLARED_ROBUST),
        fragile=whys.count(Why.DECLARED_FRAGILE),
        stated=method.error,
        measured=method.measured_error,
        clean=wrong_when_clean(common.rows),
    )


def about_populations(
    common: Common, details: Samples, continues: Continues, error: float
) -> list[Claim]:
    """The mean, or the share that fails at most so often: of the population and of each class."""
    together = None
    if details.classes:
        together = Jointly(Together.CLASSES_AND_INPUTS, len(details.classes))
    claims = [_about_population(common, common.population, details.whole, common.rows)]
    members = by_class(common.rows).values() if details.classes else ()
    for row, own in zip(details.classes, members, strict=True):
        scope = Scope(About.CLASS, row.inputs, row.name, common.facts.sampling, row.groups)
        claims.append(_about_population(common, scope, row.result, own))
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
    common: Common, scope: Scope, whole: results.Whole, rows: Sequence[InputRow]
) -> Claim:
    facts, plain = common.facts, sound(whole)
    kappa = getattr(facts.method, "kappa", None)
    value = around = None
    if isinstance(plain, results.Undecided):
        said = replace(common.of(scope, results.NO_GUARANTEE), reason=plain.because)
    else:
        sampled = plain.guarantee.assumptions
        if scope.of is About.CLASS:
            sampled = assumptions_within(facts.sampling)
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


def _about_weakest(common: Common, error: float) -> list[Claim]:
    """The input that fails most often, the choice paid for; nothing where none is shown to fail."""
    rows = common.rows
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
    alike = Assumed.EXCHANGEABLE_GROUPS if common.population.groups else alike
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


# A mean to a stated precision: one procedure allocates the trials of all inputs.


def mean_procedure(facts: StudyFacts) -> Any:  # noqa: ANN401  a method for all inputs together
    """The method with what it learns from the study."""
    known: dict[str, Any] = {
        "size": facts.spec.inputs.number,
        "level": facts.level,
        "fresh": facts.randomness is not Randomness.NOTHING,
    }
    own = {"seed": facts.spec.seed, "sampling": facts.sampling, "by_class": facts.class_by_class}
    known |= {name: value for name, value in own.items() if hasattr(facts.method, name)}
    return replace(facts.method, **known)


def results_of_inputs(
    facts: StudyFacts, result: PrecisionResult, order: Sequence[int]
) -> dict[int, results.InputResult]:
    """What the trials of each input that had some say by themselves, by its place.

    The method took the inputs in this order.
    """
    settled = facts.randomness is Randomness.NOTHING
    known, error = _by_place(result.counts, order), facts.method.error
    said = {own: _local(own, error, settled=settled) for own in set(known.values())}
    return {i: said[own] for i, own in known.items()}


def _by_place(counts: Mapping[int, Counts], order: Sequence[int]) -> dict[int, Counts]:
    """Counts by the places of the inputs, in rising order, and not by that of the method."""
    return dict(sorted((order[i], own) for i, own in counts.items()))


def conclude_mean(
    facts: StudyFacts,
    rows: Sequence[InputRow],
    result: PrecisionResult,
    order: Sequence[int],
    examples: tuple[Example, ...] = (),
    clean_loss: CleanLoss | None = None,
) -> RecordBody:
    """What follows for all of them; `rows` are the inputs with their own results.

    The mean to a precision comes first, with the reason where it is not narrow enough.
    """
    first = _by_place(result.first, order)
    over = Mean(facts.method.error, facts.sampling, inputs=facts.spec.inputs.digest)
    studied, whole = _means(facts, over, result, first)
    classes: tuple[ClassRow, ...] = ()
    if facts.class_by_class:  # from the first trial of every input, whatever the later ones said
        once = _first_trials(rows, first, over.error)
        classes = conclude_classes(over, once, *classes_with_claims(facts, once))[1]
    details = Samples(
        whole, studied, classes, (), examples, clean_loss=clean_loss,
        part=result.part, bounds=result.bounds, once=result.once,
    )  # fmt: skip
    common, claims = Common(facts, rows), list[Claim]()
    if studied is not None:
        continues = Continues.ONCE if result.bounds is None else Continues.ANYTIME
        said = common.these(studied.guarantee, continues)
        known = studied.value if common.trials else None
        claims.append(claim_of_mean(facts.spec, rows, said, known, studied.interval))
    if isinstance(whole, results.Estimate):
        scope = Scope(About.POPULATION, len(rows), sampling=facts.sampling)
        said = common.of(scope, whole.guarantee)
        whole_claim: Claim = claim_of_mean(facts.spec, rows, said, whole.value, whole.interval)
        of_classes: list[Claim] = []
        if classes:
            each = about_populations(common, details, Continues.ONCE, over.error)
            whole_claim, *of_classes = each
        of_population = [whole_claim]
        # where inputs were taken until the mean was known, their number depends on the trials
        if facts.spec.means_accuracy and len(first) == len(rows):
            once = _first_trials(rows, first, over.error)
            of_population += drop_claims(facts.spec, once, said, over, whole.value)
        of_population += of_classes
        if facts.scales_from_inputs:
            of_population = list(map(given_scales, of_population))
        these, claims = claims, of_population + claims
        if facts.method.about is not About.POPULATION:
            claims = these + of_population
    claims[0] = claims[0].saying(reason=result.note)
    return RecordBody(rows, details, tuple(claims), result.failure.trials)


def _first_trials(
    rows: Sequence[InputRow], first: Mapping[int, Counts], error: float
) -> list[InputRow]:
    seen = zip(rows, first.values(), strict=True)
    return [replace(row, result=_once(c, error)) for row, c in seen]


def _local(counts: Counts, error: float, *, settled: bool) -> results.InputResult:
    """What the trials of one input say, whatever made them stop."""
    around = _around(counts.kept, counts.trials, error)
    guarantee = results.Guarantee.sound(error)
    if settled:
        around, guarantee = results.Interval(counts.rate, counts.rate), results.Guarantee.sound()
    return results.Estimate(counts.rate, around, guarantee, counts.trials)


@lru_cache(maxsize=4096)
def _around(kept: int, trials: int, error: float) -> results.Interval:
    return betting_trials(np.array([kept]), np.array([trials]), error)


def _means(
    facts: StudyFacts, over: Mean, result: PrecisionResult, first: Mapping[int, Counts]
) -> tuple[results.Estimate | None, results.Estimate | results.Undecided]:
    """Being kept, for these inputs and for the population.

    Where the mean is of these inputs, the population's comes from the first trial of each input,
    whose number was fixed beforehand. Where the population was, nothing is said of these inputs,
    unless it is exact: how many more trials they had depends on what the first ones said, so that
    only the first could be counted, and a reader would have two estimates of one run.
    """
    failure = result.failure
    kept = replace(failure, value=1 - failure.value, interval=failure_interval(failure.interval))
    complete = len(first) == facts.spec.inputs.number
    if facts.method.about is About.POPULATION:
        if not complete or facts.randomness is not Randomness.NOTHING:
            return None, kept
        exact = float(np.mean([c.rate for c in first.values()]))
        known = results.Guarantee.sound()
        return results.Estimate(exact, results.Interval(exact, exact), known, len(first)), kept
    if hasattr(facts.method, "cells"):  # a suite is about these inputs, or about their population
        return kept, results.Undecided(Why.CELL_OF_THESE.of())
    once = [_once(c, over.error) for c in first.values()]
    counted_once = complete and facts.sampling is not Sampling.GROUPED
    if not once or not (counted_once or facts.sampling is Sampling.INDEPENDENT):
        return kept, results.Undecided(Why.FEW_TRIED.of())
    whole = over.conclude(once, over.error)
    if isinstance(whole, results.Estimate):
        around = whole.interval
        whole = replace(whole, value=min(max(kept.value, around.low), around.high))
    return kept, whole


def _once(first: Counts, error: float) -> results.Estimate:
    """What the first trial of an input says."""
    return results.Estimate(
        first.rate, results.UNIT, results.Guarantee.sound(error), 1, first.rate, 1
    )
