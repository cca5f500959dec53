"""A mean to a stated precision: all inputs under one procedure that allocates the trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.conclude.sampling import FAILURE, common_of, failure_interval, given_scales
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.counts import Counts
from surefoot.core.procedure import Joint
from surefoot.core.results import (
    UNIT,
    Estimate,
    Footing,
    Guarantee,
    InputResult,
    Interval,
    Undecided,
)
from surefoot.perturb.table import scales_from_inputs
from surefoot.population import Mean
from surefoot.population.precision import PrecisionResult
from surefoot.records.record import RecordBody, Samples
from surefoot.statistics.intervals import betting_trials
from surefoot.study.curve_run import shuffled
from surefoot.study.measurement import Measurement
from surefoot.study.sampling_run import (
    batch_size,
    input_rows,
    why_in_python,
    with_examples,
    workers_for,
)
from surefoot.study.setup import Setup

NO_TRIAL = "no trial of it was needed for the mean"


def measurement(study: Setup, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for all inputs, which are in an order that is random by the seed."""
    bench, subjects, order = study.bench(), study.fitted.subjects(), shuffled(study)
    in_order = [subjects[row] for row in order]
    size = batch or batch_size(study, bench, subjects[0], study.level)
    return Measurement(
        subjects=in_order,
        procedures=Joint(procedure(study)),
        bench=bench,
        batch=size,
        workers=workers_for(study, workers),
        in_python=why_in_python(study),
        requested=workers is not None,
        conclude=lambda answers: with_examples(study, conclude(study, answers[0], order), size),
    )


def procedure(study: Setup | RecordedStudy) -> Any:  # noqa: ANN401  a method for all inputs together
    """The method with what it learns from the study."""
    known: dict[str, Any] = {
        "size": len(study.fitted),
        "level": study.level,
        "fresh": study.randomness is not Randomness.NOTHING,
    }
    own = {"seed": study.seed, "sampling": study.sampling}
    known |= {name: value for name, value in own.items() if hasattr(study.method, name)}
    return replace(study.method, **known)


def conclude(
    study: Setup | RecordedStudy, result: PrecisionResult, order: Sequence[int]
) -> RecordBody:
    """What follows from the result, without a model; the inputs were in this order."""
    place = np.argsort(order)
    counts = [result.counts[i] for i in place]
    first = [result.first[i] for i in place]
    error, settled = study.method.error, study.randomness is Randomness.NOTHING
    local: list[Any] = [_local(c, error, settled=settled) for c in counts]
    rows = input_rows(study, local)
    of_set, of_population = _means(study, result, first)
    details = Samples(
        whole=of_population,
        studied=of_set,
        classes=(),
        contrasts=(),
        examples=(),
    )
    claims = _claims(study, local, details, result)
    return RecordBody(rows, details, claims, result.failure.trials)


def _local(counts: Counts, error: float, *, settled: bool) -> InputResult:
    """What the trials of one input say, whatever made them stop."""
    if not counts.trials:
        return Undecided(NO_TRIAL)
    around = _around(counts.kept, counts.trials, error)
    guarantee = Guarantee(Footing.SOUND, error)
    if settled:
        around, guarantee = Interval(counts.rate, counts.rate), Guarantee(Footing.SOUND, 0.0)
    return Estimate(counts.rate, around, guarantee, counts.trials)


@lru_cache(maxsize=4096)
def _around(kept: int, trials: int, error: float) -> Interval:
    return betting_trials(np.array([kept]), np.array([trials]), error)


def _means(
    study: Setup | RecordedStudy, result: PrecisionResult, first: Sequence[Counts]
) -> tuple[Estimate | None, Estimate | Undecided]:
    """Being kept, for these inputs and for the population.

    Where these inputs were asked for, the population's comes from the first trial of each input,
    whose number was fixed beforehand. Where the population was, nothing is said of these inputs,
    unless it is exact: how many more trials they had depends on what the first ones said, so that
    only the first could be counted, and a reader would have two estimates of one run.
    """
    failure = result.failure
    kept = replace(failure, value=1 - failure.value, interval=failure_interval(failure.interval))
    over = Mean(study.method.error, study.sampling)
    once = [
        Estimate(c.rate, UNIT, Guarantee(Footing.SOUND, over.error), 1, c.rate, 1)
        for c in first
        if c.trials
    ]
    complete = len(once) == len(first)
    counted_once = complete and study.sampling is not Sampling.GROUPED
    if study.method.about is About.POPULATION:
        if not complete or study.randomness is not Randomness.NOTHING:
            return None, kept
        exact = float(np.mean([c.rate for c in first]))
        known = Guarantee(Footing.SOUND, 0.0)
        return Estimate(exact, Interval(exact, exact), known, len(once)), kept
    whole: Any = Undecided("too few inputs had a trial for a statement about the population")
    if once and (counted_once or study.sampling is Sampling.INDEPENDENT):
        whole = over.conclude(once, over.error)
        around = whole.interval
        whole = replace(whole, value=min(max(kept.value, around.low), around.high))
    return kept, whole


def _claims(
    study: Setup | RecordedStudy,
    local: Sequence[InputResult],
    details: Samples,
    result: PrecisionResult,
) -> tuple[Claim, ...]:
    """The mean that was asked for comes first, with the reason where it is not narrow enough."""
    common, claims = common_of(study, local), []
    population_first = study.method.about is About.POPULATION
    if (mean := details.studied) is not None:
        continues = Continues.ANYTIME if result.anytime else Continues.ONCE
        value = 1 - mean.value if common.trials else None
        claims.append(
            common.these(
                "mean_set", FAILURE, mean.guarantee, continues,
                value=value, interval=failure_interval(mean.interval),
            )
        )  # fmt: skip
    if isinstance(details.whole, Estimate):
        whole = details.whole
        of_population = common.of(
            Scope(About.POPULATION, common.inputs, sampling=common.sampling),
            "mean_population", FAILURE, whole.guarantee,
            value=1 - whole.value, interval=failure_interval(whole.interval),
        )  # fmt: skip
        own_scales = scales_from_inputs(study.perturbation)
        claims.append(given_scales(of_population) if own_scales else of_population)
    if population_first:
        claims.reverse()
    return (replace(claims[0], reason=result.note), *claims[1:])
