"""A mean to a stated precision: what follows from the trials that one procedure allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from surefoot.conclude.accuracy import (
    claim_of_mean,
    drop_claims,
    failure_interval,
)
from surefoot.conclude.facts import StudyFacts
from surefoot.conclude.sampling import (
    about_populations,
    classes_with_claims,
    common_of,
    conclude_classes,
    given_scales,
)
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import UNIT, Estimate, Guarantee, InputResult, Interval, Undecided
from surefoot.population import Mean
from surefoot.population.precision import PrecisionResult
from surefoot.records import record as records
from surefoot.statistics.intervals import betting_trials


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
) -> dict[int, InputResult]:
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
    rows: Sequence[records.InputRow],
    result: PrecisionResult,
    order: Sequence[int],
    examples: tuple[records.Example, ...] = (),
    clean_loss: records.CleanLoss | None = None,
) -> records.RecordBody:
    """What follows for all of them; `rows` are the inputs with their own results.

    The mean to a precision comes first, with the reason where it is not narrow enough.
    """
    first = _by_place(result.first, order)
    over = Mean(facts.method.error, facts.sampling, inputs=facts.spec.inputs.digest)
    studied, whole = _means(facts, over, result, first)
    classes: tuple[records.ClassRow, ...] = ()
    if facts.class_by_class:  # from the first trial of every input, whatever the later ones said
        once = _first_trials(rows, first, over.error)
        classes = conclude_classes(over, once, *classes_with_claims(facts, once))[1]
    details = records.Samples(
        whole, studied, classes, (), examples, clean_loss=clean_loss,
        part=result.part, bounds=result.bounds, once=result.once,
    )  # fmt: skip
    common, claims = common_of(facts, rows), list[Claim]()
    if studied is not None:
        continues = Continues.ONCE if result.bounds is None else Continues.ANYTIME
        said = common.these(studied.guarantee, continues)
        known = studied.value if common.trials else None
        claims.append(claim_of_mean(facts.spec, rows, said, known, studied.interval))
    if isinstance(whole, Estimate):
        scope = Scope(About.POPULATION, common.inputs, sampling=common.sampling)
        said = common.of(scope, whole.guarantee)
        whole_claim: Claim = claim_of_mean(facts.spec, rows, said, whole.value, whole.interval)
        of_classes: list[Claim] = []
        if classes:
            whole_claim, *of_classes = about_populations(
                facts, common, rows, details, Continues.ONCE, over.error
            )
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
    return records.RecordBody(rows, details, tuple(claims), result.failure.trials)


def _first_trials(
    rows: Sequence[records.InputRow], first: Mapping[int, Counts], error: float
) -> list[records.InputRow]:
    seen = zip(rows, first.values(), strict=True)
    return [replace(row, result=_once(c, error)) for row, c in seen]


def _local(counts: Counts, error: float, *, settled: bool) -> InputResult:
    """What the trials of one input say, whatever made them stop."""
    around = _around(counts.kept, counts.trials, error)
    guarantee = Guarantee.sound(error)
    if settled:
        around, guarantee = Interval(counts.rate, counts.rate), Guarantee.sound()
    return Estimate(counts.rate, around, guarantee, counts.trials)


@lru_cache(maxsize=4096)
def _around(kept: int, trials: int, error: float) -> Interval:
    return betting_trials(np.array([kept]), np.array([trials]), error)


def _means(
    facts: StudyFacts, over: Mean, result: PrecisionResult, first: Mapping[int, Counts]
) -> tuple[Estimate | None, Estimate | Undecided]:
    """Being kept, for these inputs and for the population.

    Where the mean is of these inputs, the population's comes from the first trial of each input,
    whose number was fixed beforehand. Where the population was, nothing is said of these inputs,
    unless it is exact: how many more trials they had depends on what the first ones said, so that
    only the first could be counted, and a reader would have two estimates of one run.
    """
    failure = result.failure
    kept = replace(failure, value=1 - failure.value, interval=failure_interval(failure.interval))
    once = [_once(c, over.error) for c in first.values()]
    complete = len(once) == facts.spec.inputs.number
    counted_once = complete and facts.sampling is not Sampling.GROUPED
    if facts.method.about is About.POPULATION:
        if not complete or facts.randomness is not Randomness.NOTHING:
            return None, kept
        exact = float(np.mean([c.rate for c in first.values()]))
        known = Guarantee.sound()
        return Estimate(exact, Interval(exact, exact), known, len(once)), kept
    whole: Any = Undecided(Why.FEW_TRIED.of())
    if hasattr(facts.method, "cells"):  # a suite is about these inputs, or about their population
        return kept, Undecided(Why.CELL_OF_THESE.of())
    if once and (counted_once or facts.sampling is Sampling.INDEPENDENT):
        whole = over.conclude(once, over.error)
        around = whole.interval
        whole = replace(whole, value=min(max(kept.value, around.low), around.high))
    return kept, whole


def _once(first: Counts, error: float) -> Estimate:
    """What the first trial of an input says."""
    return Estimate(first.rate, UNIT, Guarantee.sound(error), 1, first.rate, 1)
