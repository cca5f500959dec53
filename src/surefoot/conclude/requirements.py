"""Requirements on a result: each decided one-sided, the error shared by all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from surefoot.conclude.comparison import MODELS, PERTURBED
from surefoot.conclude.not_worse import curve_claims, not_worse_claim
from surefoot.conclude.radii import claim_of_ranks
from surefoot.conclude.sampling import verdict_of
from surefoot.conclude.sampling_requirements import (
    Decided,
    kept_at,
    of_each_class,
    of_precision,
    of_these,
    sampled_claim,
)
from surefoot.conclude.scope import (
    groups_in,
    plausible,
    population_of,
    sampled_of,
    without_doubtful,
)
from surefoot.conclude.smoothing import require_certified
from surefoot.conclude.suite import kept_over_cells, likely_to_decide
from surefoot.conclude.tally import of_tallies, of_tally
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Together, jointly
from surefoot.core.reasons import Why
from surefoot.core.results import UNIT, Bracket, Footing, Guarantee
from surefoot.errors import InvalidArgument
from surefoot.population import QuantileWithin, requirement, requires, requires_of_interval
from surefoot.records import record as records
from surefoot.records.options import refused_value
from surefoot.records.spec import Spec, StudySpec
from surefoot.report.clauses import quantity_of
from surefoot.statistics.bounds import shares
from surefoot.statistics.counted import rung
from surefoot.statistics.plausible import below_grey_level


def check_requirements(
    record: records.Record, parts: Mapping[str, records.Record], required: records.Requirements
) -> tuple[kinds.Claim, ...]:
    """A claim with a verdict for each requirement.

    On the population there is none where the inputs are plainly no random sample of it. None is
    PASS where the answers to clean inputs are implausible, unless that is accepted.
    """
    if required.number == 0 and required.clean_accuracy is None:
        raise InvalidArgument("nothing is required: pass least=0.95, for example")
    for one in (record, *parts.values()):
        if isinstance(one.spec, StudySpec) and one.spec.promises_nothing:
            raise InvalidArgument(
                f"{one.spec.method.kind} promises nothing, so that no requirement can rest on it: "
                "use kappa-test (--method kappa-test), or leave out the requirement"
            )
    of_suite = isinstance(record.details, records.Comparison) and record.details.along == "cell"
    claims: tuple[kinds.Claim, ...] = ()
    if required.number:
        claims = (
            _of_suite(record, parts, required) if of_suite else _decided(record, parts, required)
        )
        claims = without_doubtful(claims, (record, *parts.values()))
    runs = parts or {"": record}
    models = {"": next(iter(runs.values()))} if of_suite else runs  # of one model in every cell
    if isinstance(record.details, records.Comparison) and record.details.along == PERTURBED:
        models = next(iter(records.models_under(parts).values()))
    if required.clean_accuracy is not None:
        every = (_of_clean(name, one, required.clean_accuracy) for name, one in models.items())
        claims = (*claims, *every)
    return claims if required.accept_clean_accuracy else plausible(claims, runs)


def _of_clean(name: str, record: records.Record, least: float) -> kinds.Claim:
    """The floor of the clean accuracy: counted on these inputs, so that it holds or does not."""
    clean = record.clean
    if not 0 <= least <= 1:
        raise refused_value("clean_accuracy", least, "is no share: write 0.9 for 90 %")
    if clean is None:
        raise refused_value(
            "clean_accuracy", least, "needs a model of classes, and labels: leave it out"
        )
    said = kinds.Said(
        kinds.Scope(kinds.About.THESE, clean.inputs),
        kinds.Randomness.NOTHING,
        Guarantee.sound(),
        kinds.Continues.ONCE,
        names=(name,) * bool(name),
    )
    # a share by division is the number that was written
    verdict = kinds.Verdict.PASS if clean.right / clean.inputs >= least else kinds.Verdict.FAIL
    return kinds.CountedAccuracy(said, right=clean.right).answered(least, verdict)


def _decided(
    record: records.Record, parts: Mapping[str, records.Record], required: records.Requirements
) -> tuple[kinds.Claim, ...]:
    match record.details:
        case records.Samples() | records.Certificates():
            return _of_samples(record, required)
        case records.RareFailures():
            raise InvalidArgument(
                "splitting takes for granted that it reached every kind of failure, which nothing "
                "can confirm, so that it passes no requirement: leave it out, and require it of "
                "trials (surefoot certify --kappa 1e-4)"
            )
        case records.Curves() | records.Radii():
            return _of_parts({"": record}, required)
        case records.Tally() if required.not_worse is None and required.of_these is None:
            return of_tally(record, required.least, required.of_each_class)
        case records.Comparison() if all(
            isinstance(p.details, records.Tally) for p in parts.values()
        ):
            if required.not_worse is None or required.number > 1:
                raise InvalidArgument(
                    "files side by side take one requirement, not_worse (--not-worse 0.02): pass "
                    "that alone"
                )
            return of_tallies(record, parts, *required.not_worse)
        case records.Comparison() if required.not_worse is not None:
            return _of_models(record, parts, required)
        case records.Comparison() if all(
            isinstance(p.details, records.Curves | records.Radii) for p in parts.values()
        ):
            return _of_parts(parts, required)
        case _:
            raise InvalidArgument(
                "this result takes no such requirement: require it of one model at one level, or "
                "not_worse of models side by side"
            )


def _of_suite(
    record: records.Record, parts: Mapping[str, records.Record], required: records.Requirements
) -> tuple[kinds.Claim, ...]:
    """Of the mean over the cells, one-sided, at what this run of the suite may spend."""
    least = required.least
    if least is None or required.number > 1 or not 0 <= least <= 1:
        raise InvalidArgument(
            "a suite takes one requirement, of the mean over its cells, between 0 and 1: pass "
            "least=0.6 (--require 0.6)"
        )
    mean = next(claim for claim in record.claims if isinstance(claim, kinds.SuiteMean))
    own = {name: part for name, part in parts.items() if not name.startswith(records.BASELINE)}
    error = mean.guarantee.error
    claim = replace(mean, value=None)
    claim = claim.saying(continues=kinds.Continues.LADDER) if error else claim
    run = max(part.rung for part in own.values())
    around = kept_over_cells(own, rung(error, run), kept_at) if error else mean.interval or UNIT
    if around.low >= least:
        return (replace(claim, interval=None).answered(least, kinds.Verdict.PASS),)
    if around.high < least:
        return (replace(claim, interval=None).answered(least, kinds.Verdict.FAIL),)
    known = mean.interval or UNIT
    forecast = likely_to_decide(own, least, rung(error, run + 1), kept_at) if error else None
    reason = Why.SUITE_OPEN.of(known.low, known.high, *filter(None, [forecast]))
    return (claim.answered(least, kinds.Verdict.UNDECIDED, reason),)


def _of_samples(record: records.Record, required: records.Requirements) -> tuple[kinds.Claim, ...]:
    if isinstance(record.details, records.Certificates):
        return require_certified(record, required)
    if required.not_worse is not None:
        raise InvalidArgument("not_worse is about models side by side: use sf.compare")
    if record.study.population is None:
        if required.number > 1 or required.least is None:
            raise InvalidArgument(
                "a mean to a precision takes one requirement, of that mean: pass least=0.95 "
                "(--require 0.95), or estimate each input (--each) for requirements of classes"
            )
        return (of_precision(record, required.least),)
    over = population_of(record)
    over = replace(over, error=shares(over.error, required.number))
    local = sampled_of(record.inputs)
    claims: list[kinds.Claim] = []
    if required.of_these is not None:
        claims.append(of_these(record, required.of_these, over.error))
    if required.least is not None:
        answer = requirement(over, local, required.least, record.rung)
        scope = kinds.Scope(kinds.About.POPULATION, len(record.inputs), groups=groups_in(local))
        claims.append(sampled_claim(record, over, Decided(scope, answer), required.least))
    if required.of_each_class is not None:
        claims += of_each_class(record, over, required.of_each_class)
    return tuple(claims)


def _of_parts(
    parts: Mapping[str, records.Record], required: records.Requirements
) -> tuple[kinds.Claim, ...]:
    """The same demand on each curve, or on each network's quantile of the radius."""
    if required.least is None or required.number > 1:
        raise InvalidArgument("curves and radii take one requirement, least=…: pass that alone")
    least, claims = required.least, []
    for name, record in parts.items():
        if isinstance(record.details, records.Curves):
            claims += _of_curve(name, record, record.details, least, len(parts))
        else:
            claim = _of_radii(name, record, least, len(parts))
            accepted = required.accept_clean_accuracy
            claims.append(claim if accepted else _if_noticeable(claim, record.spec, least))
    return tuple(claims)


def _if_noticeable(claim: kinds.RadiusQuantile, spec: Spec, least: float) -> kinds.Claim:
    """The verdict, no PASS where the radius is less than one grey level of pixels of 0 to 255."""
    if not isinstance(spec, StudySpec) or spec.bounds is None or not spec.inputs.frame:
        return claim
    if claim.verdict is kinds.Verdict.FAIL or not below_grey_level(
        least, span := spec.bounds.width
    ):
        return claim
    return claim.answered(least, kinds.Verdict.UNDECIDED, Why.HARDLY_A_RADIUS.of(least, span))


def _of_curve(
    name: str, record: records.Record, details: records.Curves, least: float, curves: int
) -> list[kinds.Claim]:
    """The share of the levels that is kept at or above each threshold.

    Each curve's intervals hold at its own error, so that all verdicts together hold at the sum.
    """
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a share of the levels lies between 0 and 1, got {least:g}: write 0.25 for a quarter"
        )
    claims: list[kinds.Claim] = []
    for claim, reading in zip(curve_claims(record), details.curve.readings, strict=True):
        around = reading.interval
        guarantee = claim.guarantee
        if curves > 1 and guarantee.error:
            together = jointly(Together.CURVES, curves)
            guarantee = replace(
                guarantee, error=min(1.0, curves * guarantee.error), jointly=together
            )
        quantity = quantity_of(record.study, details.curve.span, reading, is_share=True)
        verdict, reason = kinds.Verdict.UNDECIDED, claim.reason
        named = claim.saying(guarantee=guarantee, names=(name,) * bool(name))
        named = replace(named, quantity=quantity, value=reading.value, interval=around)
        if reading.guarantee.footing is Footing.NONE:
            named, reason = replace(named, value=claim.value, interval=None), Why.NO_PROMISE.of()
        elif around.low >= least or around.high < least:
            verdict = kinds.Verdict.PASS if around.low >= least else kinds.Verdict.FAIL
        else:
            reason = reason or Why.SHARE_OPEN.of(around.low, around.high)
        claims.append(named.answered(least, verdict, reason))
    return claims


def _of_radii(
    name: str, record: records.Record, least: float, networks: int
) -> kinds.RadiusQuantile:
    if not 0 < least < math.inf:
        raise InvalidArgument(f"a required radius is a number above 0, got {least:g}: try 8/255")
    model = claim_of_ranks(record)
    local = records.results_of(record.inputs, Bracket)
    claim = replace(model, value=None, interval=None).saying(names=(name,) * bool(name))
    if any(b.contradicted for b in local):
        return claim.answered(least, kinds.Verdict.UNDECIDED, Why.POINT_FAILED.of())
    if model.share is None:
        return claim.answered(least, kinds.Verdict.UNDECIDED, model.reason)
    error, together = shares(model.guarantee.error, networks), None
    within = record.study.method.number("within") if record.chooses_inputs else None
    if within is not None:  # the search chose how many inputs it took
        whole = model.guarantee.error
        search = QuantileWithin(within, model.share, whole, record.study.inputs.number)
        decided = requires_of_interval(search.stopped(local, rung(whole, record.rung)), least)
        error = min(1.0, networks * whole)  # of intervals, each at the whole error
        together = jointly(Together.NETWORKS, networks)
    else:
        sampled = sampled_of(record.inputs) if model.about.groups else local
        decided = requires(sampled, model.share, least, error, record.rung)
    verdict, reason = verdict_of(decided)
    guarantee = replace(model.guarantee, error=error, jointly=together)
    said = claim.saying(guarantee=guarantee, continues=kinds.Continues.LADDER)
    return said.answered(least, verdict, reason)


def _of_models(
    record: records.Record, parts: Mapping[str, records.Record], required: records.Requirements
) -> tuple[kinds.Claim, ...]:
    if required.not_worse is None or required.number > 1:
        raise InvalidArgument(
            "models side by side take one requirement, not_worse=(name, margin): pass that alone"
        )
    (name, margin), details = required.not_worse, record.details
    along = details.along if isinstance(details, records.Comparison) else ""
    split = records.models_under(parts) if along == PERTURBED else {"": parts}
    first, claims = next(iter(parts.values())), []
    for words, models in split.items():  # each at an equal part of the error
        if name not in models:
            raise InvalidArgument(
                f"there is no {name!r} among those compared: choose one of {', '.join(models)}"
            )
        if along != PERTURBED and not (
            isinstance(first.details, records.Samples) and along == MODELS
        ):
            raise InvalidArgument("not_worse compares models at one level: use sf.compare")
        error = record.shared_error or population_of(first).error
        if along == MODELS:
            return (not_worse_claim(parts, name, margin, error),)
        named = {records.under(model, words): part for model, part in models.items()}
        claim = not_worse_claim(named, records.under(name, words), margin, error / len(split))
        together = jointly(Together.VERDICTS, len(split))
        if claim.guarantee.error:
            promise = replace(claim.guarantee, error=error, jointly=together)
            claim = claim.saying(guarantee=promise)
        claims.append(claim)
    return tuple(claims)
