"""Whether a model is not worse than others: at one level, on curves, by radii."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import PurePath
from typing import Any

import numpy as np

from surefoot.conclude import scope
from surefoot.conclude.sampling import verdict_of
from surefoot.core import claims as kinds
from surefoot.core import results
from surefoot.core.assumptions import Assumed, Together, jointly
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Scope, Verdict
from surefoot.core.reasons import Reason, Why
from surefoot.errors import InvalidArgument
from surefoot.population import Population, not_worse, not_worse_of_samples
from surefoot.records.record import Curves, EarlierModel, Radii, Record, Samples, results_of
from surefoot.report.clauses import quantity_of


def not_worse_claim(
    parts: Mapping[str, Record], name: str, margin: float, error: float
) -> kinds.NotWorse:
    """The verdict on one of several models on the same inputs, one-sided, spending `error`.

    An exported file fails as often as itself, whatever the seed, width and error of the two runs.
    """
    over = _population_at(parts, error)
    local = _local(parts)
    same = {
        frozenset((a, b))
        for a, b in combinations(parts, 2)
        if scope.is_same_model(parts[a], parts[b])
    }
    # one of them may have been run again alone, to be compared again
    run = max(part.rung for part in parts.values())
    decided = not_worse(over, local, name, margin, same, run)
    return _claim(parts, name, margin, decided, over.continues)


def _population_at(parts: Mapping[str, Record], error: float) -> Population:
    first = next(iter(parts.values()))
    return replace(scope.population_of(first), error=error)


def _local(parts: Mapping[str, Record]) -> dict[str, list[Any]]:
    return {other: scope.sampled_of(scope.rows_by_id(part)) for other, part in parts.items()}


def _claim(
    parts: Mapping[str, Record],
    name: str,
    margin: float,
    decided: results.Decision | results.Undecided,
    continues: Continues,
) -> kinds.NotWorse:
    first = next(iter(parts.values()))
    verdict, reason = verdict_of(decided)
    model = scope.claim_of_population(first)
    said = replace(
        model.said,
        about=replace(model.about, inputs=len(first.inputs)),
        guarantee=getattr(decided, "guarantee", results.NO_GUARANTEE),
        continues=continues,
        trials=sum(part.trials for part in parts.values()),
        names=(name, *(other for other in parts if other != name)),
        reason=reason,
    )
    asked = kinds.Requirement(margin, verdict)
    return kinds.NotWorse(said, requirement=asked, kappa=kinds.limit_of(model))


def curve_not_worse(
    parts: Mapping[str, Record], margin: float, error: float, *, same_inputs: bool
) -> tuple[Claim, ...]:
    """A verdict for each threshold, read off the intervals of the two curves.

    Were it wrong, an interval would be, and all intervals of a curve hold together: the errors of
    the two curves add up, and may be `error` at most.
    """
    record, earlier = parts.values()
    _check_inputs(parts, same_inputs=same_inputs)
    check_curve_errors(_error(record), earlier, list(parts)[1], error)
    mine, theirs = (_readings(one) for one in (record, earlier))
    same, spent = scope.is_same_model(record, earlier), _error(record) + _error(earlier)
    together, claims = jointly(Together.THRESHOLDS, len(mine)), []
    for (claim, reading), (other, earlier_reading) in zip(mine, theirs, strict=True):
        assumptions = dict.fromkeys((*claim.guarantee.assumptions, *other.guarantee.assumptions))
        if not same_inputs:
            assumptions[Assumed.SAME_POPULATION] = None
        guarantee = results.Guarantee.given(spent, tuple(assumptions), together)
        said = replace(
            claim.said,
            guarantee=results.Guarantee.sound() if same else guarantee,
            names=tuple(parts),
            trials=record.trials + earlier.trials,
            reason=None,
        )
        span, limit = _curve(record).span, claim.threshold
        quantity = quantity_of(record.study, span, reading, earlier_reading, is_share=True)
        blank = kinds.CurveNotWorse(said, quantity=quantity, threshold=limit, seed=claim.seed)
        known = blank.answered(margin, Verdict.PASS) if same else None
        claims.append(known or _decided(blank, reading, earlier_reading, margin))
    return tuple(claims)


def share_claims(record: Record) -> tuple[Claim, ...]:
    """The claims of a curve as the share of the levels, which is what is compared."""
    span = _curve(record).span
    claims = []
    for claim, reading in _readings(record):
        quantity = quantity_of(record.study, span, reading, is_share=True)
        known = replace(claim, value=reading.value, interval=reading.interval)
        claims.append(replace(known, quantity=quantity))
    return tuple(claims)


def check_curve_errors(own: float, earlier: Record, name: str, error: float) -> None:
    """Refuse an earlier curve whose interval may be wrong more often than the comparison may."""
    other = _error(earlier)
    if results.exceeds(own + other, error):
        raise InvalidArgument(
            f"the interval of {name} is wrong with probability up to {other:g} and that of this "
            f"curve with {own:g}, and their comparison may be with {error:g}: state the same "
            "confidence in the study for both runs (confidence = 0.99), or measure the earlier "
            "model again (previous-model)"
        )


def _decided(
    claim: kinds.CurveNotWorse, mine: results.Reading, other: results.Reading, margin: float
) -> kinds.CurveNotWorse:
    if results.Footing.NONE in (mine.guarantee.footing, other.guarantee.footing):
        reason = Why.NO_PROMISE.of()
        return claim.saying(guarantee=results.NO_GUARANTEE).answered(
            margin, Verdict.UNDECIDED, reason
        )
    if mine.interval.low >= other.interval.high - margin:
        return claim.answered(margin, Verdict.PASS)
    if mine.interval.high < other.interval.low - margin:
        return claim.answered(margin, Verdict.FAIL)
    reason = _both_open(Why.SHARES_OPEN, claim, mine.interval, other.interval)
    return claim.saying(guarantee=results.NO_GUARANTEE).answered(margin, Verdict.UNDECIDED, reason)


def _check_inputs(parts: Mapping[str, Record], *, same_inputs: bool) -> None:
    """Curves of these inputs, or of these draws, are of the same ones or are not compared."""
    record, earlier = parts.values()
    name = list(parts)[1]
    own = next(claim for claim in record.claims if claim.about.of is not About.CLASS)
    if own.about.of is About.THESE and not same_inputs:
        raise InvalidArgument(
            f"{name} was measured on other inputs, and a curve is about its own inputs alone: "
            "measure the earlier model again on these (previous-model), or measure both curves of "
            'the population (scope = "population")'
        )
    if own.random is Randomness.FIXED and record.study.seed != earlier.study.seed:
        raise InvalidArgument(
            f"{name} was measured with other draws (seed {earlier.study.seed}, and here "
            f"{record.study.seed}): use the same seed for fixed draws, or leave out fixed-draws"
        )


def _curve(record: Record) -> results.Curve:
    if not isinstance(record.details, Curves):
        raise TypeError(f"run {record.digest[:12]} is no curve")
    return record.details.curve


def curve_claims(record: Record) -> list[kinds.CurveSet | kinds.CurvePopulation]:
    """What is claimed of the whole curve, one of each threshold."""
    whole = (claim for claim in record.claims if claim.about.of is not About.CLASS)
    return [claim for claim in whole if isinstance(claim, kinds.CurveSet | kinds.CurvePopulation)]


def _readings(
    record: Record,
) -> list[tuple[kinds.CurveSet | kinds.CurvePopulation, results.Reading]]:
    """The claim and the reading of each threshold."""
    return list(zip(curve_claims(record), _curve(record).readings, strict=True))


def _error(record: Record) -> float:
    """How often at most an interval of the curve is wrong; its thresholds share it."""
    known = (reading.guarantee for _, reading in _readings(record))
    return max((one.error for one in known if one.footing is not results.Footing.NONE), default=0.0)


def radius_not_worse(parts: Mapping[str, Record], margin: float) -> Claim:
    """The verdict on the mean radius of the same inputs: from proofs, so without error.

    Passed where the mean certified radius is at least (1 - `margin`) times the mean distance of
    the earlier model's counterexamples, refuted where the opposite is proved. An input that fails
    when it is clean has the radius 0.
    """
    record, earlier = parts.values()
    mine, theirs = (results_of(one.inputs, results.Bracket) for one in (record, earlier))
    rests_on = dict.fromkeys(a for b in (*mine, *theirs) for a in b.guarantee.assumptions)
    footing = results.Footing.CONDITIONAL if rests_on else results.Footing.SOUND
    promise = results.Guarantee(footing, 0.0, tuple(rests_on))
    these, trials = Scope(About.THESE, len(mine)), record.trials + earlier.trials
    said = Said(these, Randomness.NOTHING, promise, Continues.ANYTIME, trials, tuple(parts))
    blank = kinds.RadiusNotWorse(said)
    if scope.is_same_model(record, earlier):
        sure = blank.saying(guarantee=results.Guarantee.sound())
        return sure.answered(margin, Verdict.PASS)
    if any(b.contradicted for b in (*mine, *theirs)):
        reason = Why.POINT_FAILED.of()
        return blank.answered(margin, Verdict.UNDECIDED, reason)
    new, old = _mean(mine), _mean(theirs)
    if new.low >= (1 - margin) * old.high:
        return blank.answered(margin, Verdict.PASS)
    if new.high < (1 - margin) * old.low:
        return blank.answered(margin, Verdict.FAIL)
    return blank.answered(margin, Verdict.UNDECIDED, _both_open(Why.RADII_OPEN, blank, new, old))


def _both_open(why: Why, claim: Claim, mine: results.Interval, other: results.Interval) -> Reason:
    """Between which numbers each of the two lies."""
    first, second = claim.names
    return why.of(first, mine.low, mine.high, second, other.low, other.high)


def _mean(brackets: list[results.Bracket]) -> results.Interval:
    """Between the mean of what is proved and that of the counterexamples."""
    return results.Interval(
        float(np.mean([b.low for b in brackets])), float(np.mean([b.high for b in brackets]))
    )


_CURVE_OPTIONS = ("low", "high", "thresholds", "scope", "measure", "fixed_draws", "clean")
"""Options that say which curve is measured; the others say how."""


def not_worse_than(
    record: Record, earlier: Record, of: EarlierModel, *, accepted: bool = False
) -> tuple[Claim, ...]:
    """The verdict on a model against an earlier one; on a curve, one for each threshold.

    At one level each input's estimate is unbiased, or bounded with a stated error, whatever the
    width and the error of the method were, so the differences input by input are a sample of
    differences of the population. With the same seed both met the same perturbations, which makes
    the interval shorter; with another it holds as well. Where one run has all inputs of the other,
    those are compared; where each has its own, what is said of the population is. `of` says how the
    claim calls the two (`different_names`). `accepted`: a PASS counts, however implausible the
    answers to clean inputs are.
    """
    mine, theirs = of.names
    _check_same_question(record, earlier, theirs)
    parts = {mine: record, theirs: earlier}
    if isinstance(record.details, Curves):
        same = _same_inputs(record, earlier)
        claims = curve_not_worse(parts, of.margin, of.error, same_inputs=same)
    elif isinstance(record.details, Radii):
        if not _same_inputs(record, earlier):
            raise InvalidArgument(
                f"{theirs} was measured on other inputs, and radii are compared on the same ones: "
                "measure the earlier model again on these (previous-model)"
            )
        claims = (radius_not_worse(parts, of.margin),)
    else:
        claims = (_at_one_level(parts, of.margin, of.error),)
    claims = scope.without_doubtful(claims, (record, earlier))
    claims = claims if accepted else scope.plausible(claims, parts)
    return scope.as_in_records(claims, (record, earlier))


def _at_one_level(parts: Mapping[str, Record], margin: float, error: float) -> Claim:
    """Input by input on those that both runs have, if one has all of the other's."""
    name, (record, earlier) = next(iter(parts)), parts.values()
    if _same_inputs(record, earlier):
        return not_worse_claim(parts, name, margin, error)
    # an input has a name, and that of its values and label
    mine, theirs = ({(row.id, row.digest) for row in one.inputs} for one in (record, earlier))
    named = all(digest for _, digest in (*mine, *theirs))
    if named and (mine <= theirs or theirs <= mine):
        common = mine & theirs
        pairs = {
            called: replace(one, inputs=tuple(r for r in one.inputs if (r.id, r.digest) in common))
            for called, one in parts.items()
        }
        return replace(not_worse_claim(pairs, name, margin, error), common=len(common))
    decided: results.Decision | results.Undecided  # on other inputs each, of the same population
    if scope.is_same_model(record, earlier):
        decided = results.Decision("the same model", True, results.Guarantee.sound(), 0)
    else:
        new, old = _local(parts).values()
        decided = not_worse_of_samples(_population_at(parts, error), new, old, margin)
    return _claim(parts, name, margin, decided, Continues.ONCE)


def _same_inputs(record: Record, earlier: Record) -> bool:
    rows, others = ({r.id: (r.label, r.group) for r in one.inputs} for one in (record, earlier))
    return rows == others and record.study.inputs.digest == earlier.study.inputs.digest


def different_names(mine: str, theirs: str) -> tuple[str, str]:
    """File names; whole paths where the file names are the same."""
    short = PurePath(mine).name, PurePath(theirs).name
    if short[0] != short[1]:
        return short
    return (mine, theirs) if mine != theirs else (mine, f"{theirs} before")


def _check_same_question(record: Record, earlier: Record, name: str) -> None:
    """The same quantity under the same perturbation, or nothing is compared."""
    for one in (record, earlier):
        sampled = isinstance(one.details, Samples) and one.study.population is not None
        if not sampled and not isinstance(one.details, Curves | Radii):
            raise InvalidArgument(
                f"run {one.digest[:12]} has no results of single inputs at one level: compare "
                "models by estimate with a width, certify, tail, curve or critical"
            )
    for part in ("perturbation", "property", "bounds"):
        a, b = (getattr(one.study, part) for one in (record, earlier))
        if a != b:
            raise InvalidArgument(
                f"{name} was measured with another {part} ({b}, and here {a}): measure the earlier "
                "model again (previous-model)"
            )
    if _question(record) != _question(earlier):
        raise InvalidArgument(
            f"{name} was measured by another kind of study ({earlier.study.method}, and here "
            f"{record.study.method}): measure the earlier model again (previous-model)"
        )


def _question(record: Record) -> Sequence[object]:
    """What the numbers of a run are of, whatever their precision."""
    study = record.study
    if isinstance(record.details, Curves):
        return study.method.kind, *(study.method.options.get(name) for name in _CURVE_OPTIONS)
    if isinstance(record.details, Radii):
        return ("radii",)
    over = study.population
    kind, sampling = (None, None) if over is None else (over.kind, over.sampling)
    return study.method.kind, kind, sampling, study.method.number("kappa")
