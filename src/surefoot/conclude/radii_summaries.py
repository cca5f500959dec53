"""Claims about radii beside the quantile: robust accuracy and severity at a radius, means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.class_groups import sampled_of
from surefoot.conclude.radii import claim_of_ranks
from surefoot.conclude.sampling import NO_GUARANTEE
from surefoot.core.claims import About, Claim, Continues, Randomness, Scope
from surefoot.core.results import Bracket, Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument
from surefoot.population import mean_radii, mean_radius, robust_accuracy, robust_share
from surefoot.population.radii import RobustAccuracy
from surefoot.records.record import InputRow, Radii, Record
from surefoot.region.critical_level import ARITHMETIC
from surefoot.statistics.multiplicity import shares

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
