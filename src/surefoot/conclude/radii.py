"""Quantiles of critical radii, and the claims made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.curves import WHOLE, shuffled
from surefoot.conclude.facts import StudyFacts
from surefoot.conclude.sampling import NO_GUARANTEE
from surefoot.conclude.scope import by_class, distinct_names, groups_in, sampled_of, trials_of
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.core.tasks import Subject
from surefoot.errors import InvalidArgument
from surefoot.population import (
    CriticalQuantile,
    CriticalQuantileResult,
    GroupQuantile,
    LogNormalPosterior,
    OrderStatistics,
    ShortestRanks,
    mean_radii,
    mean_radius,
    of_each,
    robust_accuracy,
    robust_share,
)
from surefoot.population.radii import RobustAccuracy
from surefoot.records.record import (
    AttackSummary,
    Counterexample,
    InputRow,
    QuantileRow,
    Radii,
    Record,
    RecordBody,
)
from surefoot.region.attack_method import BROKEN, AttackOutcome
from surefoot.region.critical_level import ARITHMETIC
from surefoot.statistics.multiplicity import shares

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
    first = ours.conclude(local, error) if searched_quantile is None else searched_quantile
    quantiles = [QuantileRow(ALL, len(rows), ours.kind, first, groups)]
    searched = isinstance(method, CriticalQuantile)
    if not groups and not (searched and method.within is not None):
        others: list[Any] = [OrderStatistics(share, error)]
        if share < 0.5 and not searched:  # its prior puts the quantile below the median
            others.append(LogNormalPosterior(share, error))
        quantiles += [
            QuantileRow(ALL, len(rows), over.kind, over.conclude(local, error)) for over in others
        ]
    sampled = {name: sampled_of(members) for name, members in classes.items()}
    each = of_each(ours, sampled, error) if classes else {}
    return tuple(quantiles), tuple(
        QuantileRow(name, len(classes[name]), ours.kind, one, groups_in(sampled[name]))
        for name, one in each.items()
    )


def claims_of(radii: Radii, rows: Sequence[InputRow]) -> tuple[Claim, ...]:
    """The quantile of the population; then of each class, all classes together."""
    together = f"the {len(radii.classes):,} classes"
    claims = [_claim(radii.quantiles[0], About.POPULATION, trials_of(rows), "")]
    members = by_class(rows).values() if radii.classes else ()
    claims += [
        _claim(row, About.CLASS, trials_of(own), together)
        for row, own in zip(radii.classes, members, strict=True)
    ]
    return tuple(claims)


def claim_of_ranks(record: Record) -> Claim:
    """The quantile by the estimator that rests on the sample alone, whichever makes the headline.

    What else is said of the population has its scope, error and assumptions.
    """
    radii = record.details
    if not isinstance(radii, Radii) or radii.quantiles[0].estimator in _SAMPLE_ALONE:
        return record.claims[0]
    ranks = next(row for row in radii.quantiles if row.estimator in _SAMPLE_ALONE)
    headline = record.claims[0]
    claim = _claim(ranks, About.POPULATION, headline.trials, "")
    scope = headline.about
    return replace(claim, about=replace(claim.about, predicted=scope.predicted, only=scope.only))


def _claim(row: QuantileRow, of: About, trials: int, together: str) -> Claim:
    name = "" if of is About.POPULATION else row.name
    sampling = Sampling.GROUPED if row.groups else Sampling.INDEPENDENT
    blank = Claim(
        "radius_quantile",
        Scope(of, row.inputs, name, sampling, row.groups),
        Randomness.NOTHING,
        "quantile of the critical radius",
        Guarantee(Footing.NONE, 1.0),
        Continues.ONCE,
        trials=trials,
    )
    result = row.result
    if isinstance(result, Undecided):
        return replace(blank, reason=result.reason)
    promise = result.guarantee
    return replace(
        blank,
        guarantee=Guarantee(promise.footing, promise.error, promise.assumptions, together),
        value=result.value,
        interval=result.interval,
        limit=result.share,
        reason=result.note,
    )


_CRITICAL = "mean critical radius"
_ROBUST = "share of inputs that keep their label at every point of the ball"


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
            claims += [replace(claim, names=(name,) * bool(name)) for claim in own]
    return tuple(claims)


def _at_radius(record: Record, radius: float, radii: int) -> list[Claim]:
    local = [row.result for row in record.inputs if isinstance(row.result, Bracket)]
    if not local:
        raise InvalidArgument(
            "robust accuracy at a radius needs critical radii: use sf.methods.CriticalLevel"
        )
    counts = robust_accuracy(local, radius)
    these = robust_accuracy_claim(radius, counts.proved, counts.refuted, counts.inputs)
    rests = _rests_on(local)
    if rests != (PROOFS,):
        these = replace(these, guarantee=Guarantee(Footing.CONDITIONAL, 0.0, rests))
    these = replace(these, reason=_clean_clause(counts.clean, "count as not robust"))
    if not isinstance(record.details, Radii):  # an attack: it says nothing of other inputs
        return [these]
    return [these, *_severity(counts, rests), _population(record, counts, radii)]


def _severity(counts: RobustAccuracy, rests: tuple[str, ...]) -> list[Claim]:
    """The mean critical radius of the inputs refuted at the radius; nothing where there is none."""
    if counts.severity is None:
        return []
    clauses = [_clean_clause(counts.clean, "count as 0")] * (counts.clean > 0)
    if counts.open:
        clauses.append(f"the {counts.open:,} open at that radius have no part in it")
    claim = Claim(
        "severity",
        Scope(About.THESE, counts.refuted),
        Randomness.NOTHING,
        f"{_CRITICAL} of the inputs refuted at a radius",
        Guarantee(Footing.CONDITIONAL, 0.0, rests),
        Continues.ANYTIME,
        interval=counts.severity,
        limit=counts.radius,
        reason="; ".join(clauses),
        trials=counts.inputs,
    )
    return [claim]


def _population(record: Record, counts: RobustAccuracy, radii: int) -> Claim:
    """The share of the population, in the scope of the quantile and at its error."""
    model, local = claim_of_ranks(record), sampled_of(record.inputs)
    claim = replace(
        model,
        kind="robust_accuracy_population",
        quantity=_ROBUST,
        value=None,
        interval=None,
        limit=counts.radius,
        reason="",
    )
    if record.chooses_inputs:
        reason = "the search chose how many inputs it took: leave out within (--within)"
        return replace(claim, guarantee=NO_GUARANTEE, reason=reason)
    if model.guarantee.footing is Footing.NONE:
        return replace(claim, guarantee=NO_GUARANTEE, reason=model.reason)
    promise = model.guarantee
    together = {1: "", 2: "both radii"}.get(radii, f"all {radii} radii")
    return replace(
        claim,
        guarantee=Guarantee(promise.footing, promise.error, promise.assumptions, together),
        interval=robust_share(local, counts.radius, shares(promise.error, radii)),
        reason=_clean_clause(counts.clean, "count as not robust"),
    )


def mean_claims(
    quantile: Claim, rows: Sequence[InputRow], ceiling: float | None
) -> tuple[Claim, ...]:
    """The mean critical radius of these inputs; of the population where there is a ceiling.

    `quantile` is the claim beside which they stand: they have its scope, error and assumptions.
    `ceiling` is the radius beyond which none is counted; without one a mean has no interval.
    """
    local: list[Any] = [row.result for row in rows]
    means = mean_radii(local)
    clauses = [_clean_clause(means.clean, "count as 0")] * (means.clean > 0)
    if 0 < means.counterexamples < means.inputs and means.distance is not None:
        clauses.append(
            f"the {means.counterexamples:,} counterexamples that are known are at a mean distance "
            f"of {means.distance:.4g}"
        )
    these = Claim(
        "mean_radius",
        Scope(About.THESE, means.inputs),
        Randomness.NOTHING,
        _CRITICAL,
        Guarantee(Footing.CONDITIONAL, 0.0, _rests_on(local)),
        Continues.ANYTIME,
        interval=means.between,
        reason="; ".join(clauses),
        trials=quantile.trials,
    )
    if ceiling is None or quantile.guarantee.footing is Footing.NONE:
        return (these,)
    promise = replace(quantile.guarantee, jointly="")
    of_population = replace(
        quantile,
        kind="mean_radius_population",
        quantity=_CRITICAL,
        guarantee=promise,
        value=None,
        interval=mean_radius(sampled_of(rows), ceiling, promise.error),
        limit=ceiling,
        reason=_clean_clause(means.clean, "count as 0"),
    )
    return these, of_population


def _clean_clause(clean: int, counted: str) -> str:
    """How many inputs fail when clean, and how they are counted; empty for none."""
    if not clean:
        return ""
    if clean == 1:
        return f"1 input fails when clean and {counted.replace('count', 'counts', 1)}"
    return f"{clean:,} inputs fail when clean and {counted}"


def _rests_on(local: Sequence[Bracket]) -> tuple[str, ...]:
    """What the brackets rest on, as a remark."""
    every = dict.fromkeys(a for b in local for a in b.guarantee.assumptions)
    return tuple(PROOFS if assumption == ARITHMETIC else assumption for assumption in every)


PROOFS = "proofs are in real arithmetic"
"""What a proved radius rests on, as a remark beside a count."""


def robust_accuracy_claim(radius: float, proved: int, refuted: int, n: int) -> Claim:
    """How many of these inputs are proved and refuted at a radius."""
    arithmetic = (PROOFS,) if proved else ()
    footing = Footing.CONDITIONAL if proved else Footing.SOUND
    return Claim(
        "robust_accuracy",
        Scope(About.THESE, n),
        Randomness.NOTHING,
        "share of inputs that keep their label at every point of the ball",
        Guarantee(footing, 0.0, arithmetic),
        Continues.ANYTIME,
        interval=Interval(proved / n, (n - refuted) / n),
        limit=radius,
        trials=n,
    )


def searches(
    facts: StudyFacts, each: Sequence[Subject]
) -> tuple[Sequence[Subject], Mapping[str, Any]]:
    """A search for each input, or one search for all of them in a random order."""
    if not isinstance(facts.method, CriticalQuantile):
        return each, {subject.name: facts.method for subject in each}
    whole = replace(facts.method, size=facts.spec.inputs.number, top=facts.bounds.width)
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
    names = distinct_names(members, facts.class_name)
    named = {names[label]: own for label, own in members.items()}
    quantiles, classes = quantiles_of(facts.method, rows, searched, named)
    radii = Radii(quantiles, classes, examples, reader)
    claims = claims_of(radii, rows)
    chosen = isinstance(facts.method, CriticalQuantile) and facts.method.within is not None
    means = mean_claims(claims[0], rows, None if chosen else facts.bounds.width)
    return RecordBody(rows, radii, (*claims, *means), trials_of(rows))


def conclude_attack(
    facts: StudyFacts, rows: tuple[InputRow, ...], attack: AttackSummary
) -> RecordBody:
    """What follows from one search an input, without a model."""
    local = [row.result for row in rows if isinstance(row.result, Bracket)]

    outcomes = Counter(one.reason for one in local)
    n, broken = len(local), sum(outcomes[outcome] for outcome in BROKEN)
    summary = replace(
        attack,
        failure_rate=1 - broken / n,
        broken=broken,
        clean=outcomes[AttackOutcome.WRONG_CLEAN],
        blind=outcomes[AttackOutcome.NO_GRADIENT],
        discarded=sum(one.discarded for one in local),
    )
    claim = robust_accuracy_claim(facts.level, 0, broken, n)
    return RecordBody(rows, summary, (claim,), n)
