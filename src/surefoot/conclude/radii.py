"""Quantiles of critical radii, and the claims made from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.curves import WHOLE, shuffled
from surefoot.conclude.facts import StudyFacts, norm_of
from surefoot.conclude.scope import by_class, distinct_names, groups_in, sampled_of, trials_of
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed, Assumption, Jointly, Together, jointly
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Sampling, Scope
from surefoot.core.reasons import Why
from surefoot.core.results import NO_GUARANTEE, Bracket, Guarantee, Quantile, Undecided
from surefoot.core.tasks import Subject
from surefoot.errors import InvalidArgument
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.quantile import GroupQuantile, OrderStatistics, ShortestRanks, of_each
from surefoot.population.quantile_search import CriticalQuantile, CriticalQuantileResult
from surefoot.population.radii import (
    RobustAccuracy,
    mean_radii,
    mean_radius,
    robust_accuracy,
    robust_share,
)
from surefoot.records.record import (
    AttackSummary,
    Counterexample,
    InputRow,
    QuantileRow,
    Radii,
    Record,
    RecordBody,
    results_of,
)
from surefoot.region.attack_method import BROKEN, AttackOutcome
from surefoot.statistics.bounds import shares

ALL = "all inputs"
_SAMPLE_ALONE = (ShortestRanks.kind, GroupQuantile.kind)
"""Estimators that assume no distribution; one of them is in every record."""


def quantiles_of(
    method: Any,  # noqa: ANN401  any method that brackets radii
    rows: Sequence[InputRow],
    searched_quantile: Quantile | Undecided | None,
    classes: Mapping[str, Sequence[InputRow]],
) -> tuple[tuple[QuantileRow, ...], tuple[QuantileRow, ...]]:
    """Of all inputs by each estimator, the headline first; and of each class.

    Where the method chose how many inputs to look at, its own estimate stands alone: the others
    are right for a number fixed beforehand. Where groups were sampled, the one for groups does:
    the others take the inputs for independent.
    """
    share, error = method.quantile, method.error
    local = sampled_of(rows)
    groups = groups_in(local)
    ours: Any = GroupQuantile(share, error) if groups else ShortestRanks(share, error)
    # all classes share half of the error, as in `conclude_classes`; a search has spent all of it
    joint = len(classes) > 1 and searched_quantile is None
    half = error / 2 if joint else error
    together = Jointly(Together.CLASSES_AND_INPUTS, len(classes)) if joint else None
    first = ours.conclude(local, half) if searched_quantile is None else searched_quantile
    quantiles = [QuantileRow(ALL, len(rows), ours.kind, at_error(first, error, together), groups)]
    searched = isinstance(method, CriticalQuantile)
    if not groups and not (searched and method.within is not None):
        others: list[Any] = [OrderStatistics(share, error)]
        if share < 0.5 and not searched:  # its prior puts the quantile below the median
            others.append(LogNormalPosterior(share, error))
        quantiles += [
            QuantileRow(ALL, len(rows), over.kind, over.conclude(local, error)) for over in others
        ]
    sampled = {name: sampled_of(members) for name, members in classes.items()}
    each = of_each(ours, sampled, half) if classes else {}
    together = together or Jointly(Together.CLASSES, len(classes))
    return tuple(quantiles), tuple(
        QuantileRow(
            name, len(classes[name]), ours.kind, at_error(one, error, together),
            groups_in(sampled[name]),
        )
        for name, one in each.items()
    )  # fmt: skip


def at_error(
    result: Quantile | Undecided, error: float, together: Jointly | None
) -> Quantile | Undecided:
    """With the error at which it holds, and with which others."""
    if isinstance(result, Undecided):
        return result
    return replace(result, guarantee=replace(result.guarantee, error=error, jointly=together))


def claims_of(radii: Radii, rows: Sequence[InputRow]) -> tuple[kinds.RadiusQuantile, ...]:
    """The quantile of the population; then of each class, all of them together."""
    claims = [_claim(radii.quantiles[0], About.POPULATION, trials_of(rows))]
    members = by_class(rows).values() if radii.classes else ()
    claims += [
        _claim(row, About.CLASS, trials_of(own))
        for row, own in zip(radii.classes, members, strict=True)
    ]
    return tuple(claims)


def claim_of_ranks(record: Record) -> kinds.RadiusQuantile:
    """The quantile by the estimator that rests on the sample alone, whichever makes the headline.

    What else is said of the population has its scope, error and assumptions.
    """
    radii, headline = record.details, record.claims[0]
    if not isinstance(headline, kinds.RadiusQuantile):
        raise InvalidArgument(f"run {record.digest[:12]} has no quantile of radii: use critical")
    if not isinstance(radii, Radii) or radii.quantiles[0].estimator in _SAMPLE_ALONE:
        return headline
    ranks = next(row for row in radii.quantiles if row.estimator in _SAMPLE_ALONE)
    claim, scope = _claim(ranks, About.POPULATION, headline.trials), headline.about
    claim = replace(claim, norm=headline.norm)
    return claim.saying(about=replace(claim.about, predicted=scope.predicted, only=scope.only))


def _claim(row: QuantileRow, of: About, trials: int) -> kinds.RadiusQuantile:
    name, result = "" if of is About.POPULATION else row.name, row.result
    sampling = Sampling.GROUPED if row.groups else Sampling.INDEPENDENT
    scope = Scope(of, row.inputs, name, sampling, row.groups)
    said = Said(scope, Randomness.NOTHING, NO_GUARANTEE, Continues.ONCE, trials)
    if isinstance(result, Undecided):
        return kinds.RadiusQuantile(replace(said, reason=result.because))
    return kinds.RadiusQuantile(
        replace(said, guarantee=result.guarantee, reason=result.note),
        value=result.value,
        interval=result.interval,
        share=result.share,
    )


def at_radii(parts: Mapping[str, Record], radii: Sequence[float]) -> tuple[Claim, ...]:
    """Robust accuracy of each network's inputs and of the population, and severity, at each radius.

    What is said of the population holds for all radii together, each network by itself.
    """
    distinct = tuple(dict.fromkeys(radii))
    if not distinct:
        raise InvalidArgument("robust accuracy needs one radius or more: write at_radius(8/255)")
    claims: list[Claim] = []
    for name, record in parts.items():
        for radius in distinct:
            own = _at_radius(record, radius, len(distinct))
            claims += [claim.saying(names=(name,) * bool(name)) for claim in own]
    return tuple(claims)


def _at_radius(record: Record, radius: float, radii: int) -> list[Claim]:
    local = results_of(record.inputs, Bracket)
    if not local:
        raise InvalidArgument(
            "robust accuracy at a radius needs critical radii: use sf.methods.CriticalLevel"
        )
    counts = robust_accuracy(local, radius)
    proved, refuted, rests = counts.proved, counts.refuted, _rests_on(local)
    these = robust_accuracy_claim(radius, proved, refuted, counts.inputs, rests, counts.clean)
    if not isinstance(record.details, Radii):  # an attack: it says nothing of other inputs
        return [these]
    claims: list[kinds.RobustAtRadius | kinds.Severity] = [these]
    if (severity := counts.severity) is not None:
        said = _of_these(counts.refuted, Guarantee.given(0.0, rests), counts.inputs)
        clean, left = counts.clean, counts.open
        claims.append(
            kinds.Severity(said, radius=radius, interval=severity, clean=clean, open=left)
        )
    ranks = claim_of_ranks(record)
    every = (*claims, _population(record, ranks, counts, radii))
    return [replace(claim, norm=ranks.norm) for claim in every]


def _of_these(inputs: int, guarantee: Guarantee, trials: int) -> Said:
    """What is proved of these inputs, which more proofs only narrow."""
    scope = Scope(About.THESE, inputs)
    return Said(scope, Randomness.NOTHING, guarantee, Continues.ANYTIME, trials)


def _population(
    record: Record, model: kinds.RadiusQuantile, counts: RobustAccuracy, radii: int
) -> kinds.RobustPopulation:
    """The share of the population, in the scope of the quantile and at its error."""
    if record.chooses_inputs or model.is_open:
        reason = Why.INPUTS_CHOSEN.of() if record.chooses_inputs else model.reason
        nothing = replace(model.said, guarantee=NO_GUARANTEE, reason=reason)
        return kinds.RobustPopulation(nothing, radius=counts.radius)
    promise = replace(model.guarantee, jointly=jointly(Together.RADII, radii))
    local = sampled_of(record.inputs)
    return kinds.RobustPopulation(
        replace(model.said, guarantee=promise, reason=None),
        radius=counts.radius,
        interval=robust_share(local, counts.radius, shares(promise.error, radii)),
        clean=counts.clean,
    )


def mean_claims(
    quantile: kinds.RadiusQuantile, rows: Sequence[InputRow], ceiling: float | None
) -> tuple[Claim, ...]:
    """The mean critical radius of these inputs; of the population where there is a ceiling.

    `quantile` is the claim beside which they stand: they have its scope, error and assumptions.
    `ceiling` is the radius beyond which none is counted; without one a mean has no interval.
    """
    local = results_of(rows, Bracket)
    means = mean_radii(local)
    some = 0 < means.counterexamples < means.inputs
    these = kinds.MeanRadius(
        _of_these(means.inputs, Guarantee.given(0.0, _rests_on(local)), quantile.trials),
        interval=means.between,
        clean=means.clean,
        norm=quantile.norm,
        counterexamples=means.counterexamples,
        distance=means.distance if some else None,
    )
    if ceiling is None or quantile.is_open:
        return (these,)
    promise = replace(quantile.guarantee, jointly=None)
    of_population = kinds.MeanRadiusPopulation(
        replace(quantile.said, guarantee=promise, reason=None),
        ceiling=ceiling,
        interval=mean_radius(sampled_of(rows), ceiling, promise.error),
        clean=means.clean,
    )
    return these, of_population


def _rests_on(local: Sequence[Bracket]) -> tuple[Assumption, ...]:
    return tuple(dict.fromkeys(a for b in local for a in b.guarantee.assumptions))


_ARITHMETIC = (Assumed.ARITHMETIC, Assumed.FLOAT32)


def robust_accuracy_claim(
    radius: float,
    proved: int,
    refuted: int,
    n: int,
    rests: tuple[Assumption, ...] = (),
    clean: int = 0,
) -> kinds.RobustAtRadius:
    """How many of these inputs are proved and refuted at a radius; what that `rests` on.

    The arithmetic is assumed of what is proved alone: refuted are points that the model was run on.
    """
    promise = Guarantee.given(0.0, rests) if rests else Guarantee.sound()
    if not proved and all(one in _ARITHMETIC for one in rests):
        promise = Guarantee.sound()
    said = _of_these(n, promise, n)
    return kinds.RobustAtRadius(said, radius=radius, proved=proved, refuted=refuted, clean=clean)


def searches(
    facts: StudyFacts, each: Sequence[Subject]
) -> tuple[Sequence[Subject], Mapping[str, Any]]:
    """A search for each input, or one search for all of them in a random order."""
    if not isinstance(facts.method, CriticalQuantile):
        return each, {subject.name: facts.method for subject in each}
    # the largest distance between two inputs
    power = {"L2": 0.5, "L1": 1.0}.get(norm_of(facts.spec), 0.0)
    widest = float(facts.bounds.width * math.prod(facts.spec.model.shape) ** power)
    whole = replace(facts.method, size=facts.spec.inputs.number, top=widest)
    order = shuffled(facts.spec.seed, [subject.name for subject in each])
    return [Subject(WHOLE, order)], {WHOLE: whole}


def brackets_of(
    subjects: Sequence[Subject], answers: Sequence[Any]
) -> tuple[dict[int, Bracket], Quantile | Undecided | None]:
    """The bracket of each input tried, by row; and the quantile, where a search gave it."""
    if isinstance(answers[0], CriticalQuantileResult):
        only = answers[0]
        return dict(zip(subjects[0].rows, only.brackets, strict=False)), only.quantile
    return dict(enumerate(answers)), None


def conclude_radii(
    facts: StudyFacts,
    rows: tuple[InputRow, ...],
    searched: Quantile | Undecided | None,
    reader: float | None,
    examples: tuple[Counterexample, ...] = (),
) -> RecordBody:
    """What follows from the brackets of the inputs; examples are what only a model has."""
    members = by_class(rows) if facts.class_by_class else {}
    names = distinct_names(members, facts.spec.inputs.class_name)
    named = {names[label]: own for label, own in members.items()}
    quantiles, classes = quantiles_of(facts.method, rows, searched, named)
    radii = Radii(quantiles, classes, examples, reader)
    norm = norm_of(facts.spec)
    claims = tuple(replace(claim, norm=norm) for claim in claims_of(radii, rows))
    # in another norm hardly any input is as far as the widest distance, and a mean says nothing
    ceiling = None if norm != kinds.LINF else facts.bounds.width
    # a search for the quantile leaves brackets open that a mean would need
    means = () if searched is not None else mean_claims(claims[0], rows, ceiling)
    return RecordBody(rows, radii, (*claims, *means), trials_of(rows))


def conclude_attack(
    facts: StudyFacts, rows: tuple[InputRow, ...], attack: AttackSummary
) -> RecordBody:
    """What follows from one search an input, without a model."""
    local = results_of(rows, Bracket)
    outcomes = Counter(one.reason for one in local)
    n, broken = len(local), sum(outcomes[outcome] for outcome in BROKEN)
    summary = replace(
        attack,
        withstood=1 - broken / n,
        broken=broken,
        clean=outcomes[AttackOutcome.WRONG_CLEAN],
        blind=outcomes[AttackOutcome.NO_GRADIENT],
        discarded=sum(one.discarded for one in local),
    )
    claim = robust_accuracy_claim(facts.level, 0, broken, n)
    return RecordBody(rows, summary, (claim,), n)
