"""What follows for a smoothed model from the certificates of its inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.catalogue.registry import perturbation_of
from surefoot.conclude.facts import StudyFacts, method_of
from surefoot.conclude.sampling import Common, verdict_of
from surefoot.conclude.scope import groups_in, in_scope, population_of, sampled_of, trials_of
from surefoot.core import results
from surefoot.core.assumptions import Together, jointly
from surefoot.core.claims import (
    About,
    CertifiedAccuracy,
    Claim,
    Continues,
    NoiseOf,
    Randomness,
    Requirement,
    Said,
    Scope,
    SmoothedRadius,
)
from surefoot.core.procedure import Pinned
from surefoot.core.reasons import Why
from surefoot.errors import InvalidArgument
from surefoot.population import requirement, robust_of_these
from surefoot.population.share import robust_at_least
from surefoot.records.record import (
    Certificates,
    CertifiedRow,
    InputRow,
    Record,
    RecordBody,
    Requirements,
)
from surefoot.records.spec import StudySpec
from surefoot.statistics.bounds import shares, two_sided
from surefoot.statistics.kappa import tail_above
from surefoot.statistics.smoothing import RadiusTest

_STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Radii of the table where none are given, in units of the noise; up to what can be shown."""


def radius_test(spec: StudySpec, method: Any) -> RadiusTest:  # noqa: ANN401  the method of the spec
    """The procedure of each input, from what a record says of the noise."""
    noise: Any = perturbation_of(spec.perturbation.kind, spec.perturbation.options)
    test: RadiusTest = method.under(noise.smoothing(math.prod(spec.model.shape)))
    return test


def procedures_of_radii(facts: StudyFacts, names: Sequence[str]) -> dict[str, Any]:
    """The same test for every input, whatever the model says of it when clean."""
    pinned: Any = Pinned(radius_test(facts.spec, facts.method), facts.level)
    return dict.fromkeys(names, pinned)


def conclude_certificates(facts: StudyFacts, rows: Sequence[InputRow]) -> RecordBody:
    """Certified accuracy at each radius, of these inputs and of the population, and the mean."""
    test, noise = radius_test(facts.spec, facts.method), noise_of(facts.spec)
    limit = test.limit
    certified, radii = list[CertifiedRow](), test.method.radii
    if not radii:  # some that the budget can show
        most = -1.0 if limit is None else limit
        radii = tuple(r for step in _STEPS if (r := step * test.noise.scale) <= most)
    for radius in radii:  # each at its share of the error
        decided = decided_at(test, rows, radius)
        local: list[Any] = [row.result for row in decided]
        shown = sum(isinstance(one, results.Decision) for one in local)
        error = shares(facts.aggregate.error, len(radii))
        # what is not shown may hold all the same, so that only the low end can be wrong
        whole: Any = facts.aggregate.conclude(sampled_of(decided), two_sided(error))
        if isinstance(whole, results.Estimate):
            whole = replace(whole, guarantee=replace(whole.guarantee, error=error))
        certified.append(CertifiedRow(radius, shown, robust_at_least(local, error), whole))
    found = [row.result.radius for row in rows if isinstance(row.result, results.Certificate)]
    right = sum(radius is not None for radius in found)
    details = Certificates(noise, test.noise.slack, limit, right, tuple(certified))
    claims = _claims(facts, rows, details)
    if not facts.method.radii:  # of no radius in particular the average comes first
        claims = [*claims[-1:], *claims[:-1]]
    return RecordBody(tuple(rows), details, tuple(claims), trials_of(rows))


def noise_of(spec: StudySpec) -> NoiseOf:
    """The noise in the terms of a claim."""
    noise: Any = perturbation_of(spec.perturbation.kind, spec.perturbation.options)
    law = noise.smoothing(math.prod(spec.model.shape))
    return NoiseOf(str(law.norm), law.scale, noise.grid_words, bool(noise.rounds))


def decided_at(test: RadiusTest, rows: Sequence[InputRow], radius: float) -> list[InputRow]:
    """The inputs with a decision on this radius in place of their certificates."""
    decided: list[InputRow] = []
    for row in rows:
        if not isinstance(row.result, results.Certificate):
            raise TypeError(f"input {row.id} has no certificate")
        decided.append(replace(row, result=test.decision(row.result, radius)))
    return decided


def _claims(facts: StudyFacts, rows: Sequence[InputRow], details: Certificates) -> list[Claim]:
    """Of these inputs at each radius, of the population at each, and the mean radius."""
    n, error, every = len(rows), facts.aggregate.error, Common(facts, rows)
    together = jointly(Together.RADII, len(details.rows))
    common = every.these(results.Guarantee.sound(error, together))
    of_these, of_population = list[Claim](), list[Claim]()
    for row in details.rows:
        known: Any = {"radius": row.radius, "noise": details.noise, "shown": row.shown}
        around = results.Interval(row.least / n, 1.0)
        of_these.append(CertifiedAccuracy(common, **known, value=row.shown / n, interval=around))
        said = replace(common, about=every.population)
        if isinstance(row.whole, results.Undecided):
            # nothing is certified, which says nothing of others
            known |= {"interval": results.UNIT}
        else:
            promise = replace(row.whole.guarantee, error=error, jointly=together)
            said = replace(said, guarantee=promise)
            known |= {"value": row.whole.value, "interval": row.whole.interval}
        of_population.append(CertifiedAccuracy(said, **known))
    mean = _mean_radius(rows, replace(common, guarantee=results.Guarantee.sound(error)), details)
    return [*of_these, *of_population, mean]


def _mean_radius(rows: Sequence[InputRow], said: Said, details: Certificates) -> Claim:
    """The average over these inputs; those without a radius count as 0.

    Of n certificates no more than Binomial(n, a) are wrong; were they the longest, and 0 in truth,
    the average would still be the low end.
    """
    found = [row.result for row in rows if isinstance(row.result, results.Certificate)]
    radii, error = sorted(one.radius or 0.0 for one in found), said.guarantee.error
    a, n = max(one.guarantee.error for one in found), len(found)
    wrong = next((c for c in range(n) if tail_above(c + 1, n, a) <= error), n)
    low = sum(radii[: len(radii) - wrong]) / len(radii)
    return SmoothedRadius(
        said,
        noise=details.noise,
        right=details.right,
        value=sum(radii) / len(radii),
        interval=results.Interval(low, math.inf),
    )


def claim_about_certificate(row: InputRow, found: results.Certificate, noise: NoiseOf) -> Claim:
    """What is said of one input by itself."""
    scope = Scope(About.INPUT, 1, row.id)
    said = Said(scope, Randomness.FRESH, found.guarantee, Continues.ONCE, found.trials)
    if found.radius is None:
        return SmoothedRadius(said, noise=noise, right=0)
    around = results.Interval(found.radius, math.inf)
    return SmoothedRadius(said, noise=noise, value=found.radius, interval=around)


def require_certified(record: Record, required: Requirements) -> tuple[Claim, ...]:
    """Whether such a share of the population, or of these inputs, is certified at the one radius.

    Never refuted: that a radius is not shown says nothing against it.
    """
    spec, details = record.study, record.details
    if not isinstance(details, Certificates) or len(details.rows) != 1:
        raise InvalidArgument(
            "a requirement is about certified accuracy at one radius: give one alone (--radius 0.5)"
        )
    if spec.inputs.labelled is False:
        raise InvalidArgument(
            f"certified accuracy needs labels, and {spec.words.source} holds none: add labels, or "
            "leave out require (--require)"
        )
    if required.of_each_class is not None or required.not_worse is not None:
        raise InvalidArgument(
            "a smoothed model takes requirements of the population and of these inputs: pass "
            "least=0.6 (--require 0.6) or of_these=0.6 (--require-these 0.6)"
        )
    test, radius = radius_test(spec, method_of(spec)), details.rows[0].radius
    over = population_of(record)
    over = replace(over, error=shares(over.error, required.number))
    decided = decided_at(test, record.inputs, radius)
    known = [c for c in record.claims if isinstance(c, CertifiedAccuracy) and c.radius == radius]
    these = next(claim for claim in known if claim.about.of is About.THESE)
    population = next(claim for claim in known if claim.about.of is About.POPULATION)
    claims: list[Claim] = []
    if required.of_these is not None:
        local: list[Any] = [row.result for row in decided]
        answer = robust_of_these(local, required.of_these, over.error)
        why = answer.because if isinstance(answer, results.Undecided) else None
        if why is not None and why.why is Why.SHARE_OF_THESE_OPEN:
            _, inputs, _, passing, _ = why.values  # how many are certified, and a PASS takes
            answer = results.Undecided(
                Why.CERTIFIED_OPEN.of(details.rows[0].shown, inputs, passing)
            )
        claims.append(_answered(these, answer, required.of_these, over.error))
    if required.least is not None:
        sampled = sampled_of(decided)
        answer = requirement(over, sampled, required.least, record.rung)
        about = replace(population.about, groups=groups_in(sampled))
        claim = _answered(population.saying(about=about), answer, required.least, over.error)
        claims.append(in_scope(claim, spec))
    return tuple(claims)


def _answered(
    claim: CertifiedAccuracy,
    answer: results.Decision | results.Undecided,
    least: float,
    error: float,
) -> Claim:
    verdict, reason = verdict_of(answer)
    promise = replace(claim.guarantee, error=error, jointly=None)
    if isinstance(answer, results.Decision) and claim.about.of is About.POPULATION:
        promise = answer.guarantee
    said = replace(claim.said, guarantee=promise, reason=reason)
    return replace(
        claim, said=said, value=None, interval=None, requirement=Requirement(least, verdict)
    )
