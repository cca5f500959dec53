"""Requirements: what is demanded of a result, decided one-sided, the error shared by all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from surefoot.claims import About, Claim, Continues, Sampling, Scope, Verdict
from surefoot.errors import InvalidArgument
from surefoot.population import (
    Mean,
    Population,
    RobustShare,
    TailMean,
    not_worse,
    requirement,
    requirement_of_each,
    requires,
    requires_of_interval,
    robust_accuracy,
)
from surefoot.results import (
    Bracket,
    Decision,
    Footing,
    Guarantee,
    Quantile,
    Reading,
    Undecided,
)
from surefoot.statistics.multiplicity import shares
from surefoot.store.records import Comparison, Curves, Radii, Record, Samples
from surefoot.study.attack_run import robust_accuracy_claim
from surefoot.study.class_groups import by_class, names_apart
from surefoot.study.curve_run import share_of_levels
from surefoot.study.sampling_claims import FAILURE, NO_GUARANTEE, verdict_of

_POPULATIONS: dict[str, Any] = {kind.kind: kind for kind in (Mean, RobustShare, TailMean)}


@dataclass(frozen=True)
class Required:
    """What is demanded; None where nothing is."""

    least: float | None = None
    of_each_class: float | None = None
    not_worse: tuple[str, float] | None = None

    @property
    def number(self) -> int:
        """How many requirements share the error."""
        return sum(one is not None for one in (self.least, self.of_each_class, self.not_worse))


def population_of(record: Record) -> Population:
    """The kind of statement about the population that the record makes."""
    told = record.spec["population"]
    made = _POPULATIONS[told["kind"]]
    sampling = told.get("sampling")
    over: Population = (
        made(told["error"]) if sampling is None else made(told["error"], Sampling(sampling))
    )
    return over


def continues_of(over: Population, local: Sequence[Any]) -> Continues:
    """Whether inputs may be added to these and the claim be read again."""
    return over.continues(local) if isinstance(over, Mean) else Continues.ONCE


def identical_pairs(parts: Mapping[str, Record]) -> set[frozenset[str]]:
    """Models that are the same in every respect and met the same random numbers.

    A digest need not cover all of a model in memory: results that differ show that it does not.
    """
    same = {
        name: (
            {key: r.spec[key] for key in ("model", "bounds", "generator", "block", "seed")},
            [(row.id, row.predicted, row.result) for row in _sorted(r)],
        )
        for name, r in parts.items()
    }
    return {frozenset((a, b)) for a, b in combinations(parts, 2) if same[a] == same[b]}


def decide(record: Record, parts: Mapping[str, Record], required: Required) -> tuple[Claim, ...]:
    """A claim with a verdict for each requirement."""
    if required.number == 0:
        raise InvalidArgument("nothing is required: pass least=0.95, for example")
    match record.details:
        case Samples():
            return _of_samples(record, required)
        case Curves() | Radii():
            return _of_parts({"": record}, required)
        case Comparison() if required.not_worse is not None:
            return _of_models(record, parts, required)
        case Comparison() if all(isinstance(p.details, Curves | Radii) for p in parts.values()):
            return _of_parts(parts, required)
        case _:
            raise InvalidArgument(
                "this result takes no such requirement: require it of one model at one level, or "
                "not_worse of models side by side"
            )


def _of_samples(record: Record, required: Required) -> tuple[Claim, ...]:
    if required.not_worse is not None:
        raise InvalidArgument("not_worse is about models side by side: use sf.compare")
    over: Any = population_of(record)
    over = replace(over, error=shares(over.error, required.number))
    local: list[Any] = [row.result for row in record.inputs]
    claims = []
    if required.least is not None:
        decided = requirement(over, local, required.least, continues_of(over, local))
        scope = Scope(About.POPULATION, len(local))
        claims.append(_sampled(record, over, decided, required.least, scope))
    if required.of_each_class is not None:
        names = record.spec["inputs"]["class_names"]
        groups = by_class(record.inputs)
        named = names_apart(groups, lambda i: names[i] if 0 <= i < len(names) else str(i))
        own = {named[label]: members for label, members in groups.items()}
        least = required.of_each_class
        each = requirement_of_each(over, own, least)
        every = Scope(About.CLASS, len(local))
        claims.append(_sampled(record, over, each.together, least, every))
        claims += [
            _sampled(record, over, one, least, Scope(About.CLASS, len(own[name]), name))
            for name, one in each.classes.items()
        ]
    return tuple(claims)


def _sampled(
    record: Record,
    over: Population,
    decided: Decision | Undecided,
    least: float,
    scope: Scope,
) -> Claim:
    """The mean is required as the share kept, and claimed as the failure probability."""
    model = next(c for c in record.claims if c.about.of is About.POPULATION)
    verdict, reason = verdict_of(decided)
    sure = decided.guarantee if isinstance(decided, Decision) else None
    promise = sure or Guarantee(Footing.CONDITIONAL, over.error, model.guarantee.assumptions)
    mean = model.kind == "mean_population"
    together = "all classes" if scope.name else ""
    return Claim(
        model.kind,
        replace(scope, sampling=model.about.sampling),
        model.random,
        FAILURE if mean else model.quantity,
        Guarantee(promise.footing, promise.error, promise.assumptions, together),
        model.continues,
        limit=model.limit,
        requirement=1 - least if mean else least,
        verdict=verdict,
        reason=reason,
        trials=record.trials,
    )


def _of_parts(parts: Mapping[str, Record], required: Required) -> tuple[Claim, ...]:
    """The same demand on each curve, or on each network's quantile of the radius."""
    if required.least is None or required.number > 1:
        raise InvalidArgument("curves and radii take one requirement, least=…")
    least, claims = required.least, []
    for name, record in parts.items():
        if isinstance(record.details, Curves):
            claims += _of_curve(name, record, record.details, least, len(parts))
        else:
            claims.append(_of_radii(name, record, least, len(parts)))
    return tuple(claims)


def _of_curve(name: str, record: Record, found: Curves, least: float, curves: int) -> list[Claim]:
    """The share of the levels that is kept at or above each threshold.

    Each curve's intervals hold at its own error, so that all verdicts together hold at the sum.
    """
    if not 0 <= least <= 1:
        raise InvalidArgument(f"a share of the levels lies between 0 and 1, got {least:g}")
    own = [claim for claim in record.claims if claim.about.of is not About.CLASS]
    quantity = share_of_levels(found.curve.span, record.spec["property"]["kind"])
    claims = []
    for claim, reading in zip(own, found.curve.readings, strict=True):
        promise = claim.guarantee
        if curves > 1 and promise.error:
            together = f"all {curves} curves"
            promise = replace(promise, error=min(1.0, curves * promise.error), jointly=together)
        asked = replace(claim, quantity=quantity, requirement=least, guarantee=promise)
        claims.append(_of_reading(replace(asked, names=(name,) * bool(name)), reading, least))
    return claims


def _of_reading(claim: Claim, reading: Reading, least: float) -> Claim:
    within = reading.interval
    if reading.guarantee.footing is Footing.NONE:
        reason = "this method promises nothing: use sequential or asap"
        return replace(claim, verdict=Verdict.UNDECIDED, reason=reason, interval=None)
    claim = replace(claim, value=reading.value, interval=within)
    if within.low >= least:
        return replace(claim, verdict=Verdict.PASS)
    if within.high < least:
        return replace(claim, verdict=Verdict.FAIL)
    reason = "it lies within the interval; a finer --precision may decide it"
    return replace(claim, verdict=Verdict.UNDECIDED, reason=reason)


def _of_radii(name: str, record: Record, least: float, networks: int) -> Claim:
    if not 0 < least < math.inf:
        raise InvalidArgument(f"a required radius is a number above 0, got {least:g}: try 8/255")
    model = record.claims[0]
    local = [row.result for row in record.inputs if isinstance(row.result, Bracket)]
    made = replace(model, value=None, interval=None, requirement=least, names=(name,) * bool(name))
    if any(b.contradicted for b in local):
        reason = "a point failed within a radius that was proved"
        return replace(made, verdict=Verdict.UNDECIDED, reason=reason)
    if model.limit is None:
        return replace(made, verdict=Verdict.UNDECIDED, reason=model.reason)
    error = shares(model.guarantee.error, networks)
    settled = record.details.quantiles[0].result if isinstance(record.details, Radii) else None
    stops = record.spec["method"].get("within") is not None
    if stops and isinstance(settled, Quantile):
        decided = requires_of_interval(settled, least)  # the search chose how many inputs it took
    else:
        decided = requires(local, model.limit, least, error)
    verdict, reason = verdict_of(decided)
    promise = Guarantee(model.guarantee.footing, error, model.guarantee.assumptions)
    return replace(made, verdict=verdict, reason=reason, guarantee=promise)


def at_radius(parts: Mapping[str, Record], radius: float) -> tuple[Claim, ...]:
    """How many inputs of each network are proved, refuted and open at this radius."""
    claims = []
    for name, record in parts.items():
        local = [row.result for row in record.inputs if isinstance(row.result, Bracket)]
        if not local:
            raise InvalidArgument("robust accuracy at a radius needs critical radii: CriticalLevel")
        found = robust_accuracy(local, radius)
        claim = robust_accuracy_claim(radius, found.proved, found.refuted, found.inputs)
        claims.append(replace(claim, names=(name,) * bool(name)))
    return tuple(claims)


def _of_models(
    record: Record, parts: Mapping[str, Record], required: Required
) -> tuple[Claim, ...]:
    if required.not_worse is None or required.number > 1:
        raise InvalidArgument("models side by side take one requirement, not_worse=(name, margin)")
    name, margin = required.not_worse
    if name not in parts:
        raise InvalidArgument(f"there is no {name!r} among those compared: {', '.join(parts)}")
    first = next(iter(parts.values()))
    if not isinstance(first.details, Samples) or record.spec["along"] != "model":
        raise InvalidArgument("not_worse compares models at one level: use sf.compare")
    over: Any = population_of(first)
    local = {other: [row.result for row in _sorted(part)] for other, part in parts.items()}
    over = replace(over, error=record.spec["error"])
    continues = continues_of(over, local[name])
    decided = not_worse(over, local, name, margin, identical_pairs(parts), continues)
    verdict, reason = verdict_of(decided)
    model = next(c for c in first.claims if c.about.of is About.POPULATION)
    promise = decided.guarantee if isinstance(decided, Decision) else NO_GUARANTEE
    return (
        Claim(
            "not_worse",
            Scope(About.POPULATION, len(first.inputs), sampling=model.about.sampling),
            model.random,
            model.quantity,
            promise,
            continues,
            limit=model.limit,
            requirement=margin,
            verdict=verdict,
            names=(name, *(other for other in parts if other != name)),
            reason=reason,
            trials=sum(part.trials for part in parts.values()),
        ),
    )


def _sorted(record: Record) -> list[Any]:
    return sorted(record.inputs, key=lambda row: row.id)
