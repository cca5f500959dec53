"""Whether a model keeps an accuracy at a share of the levels at most so much smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surefoot.conclude.sampling import NO_GUARANTEE
from surefoot.core.claims import About, Claim, Randomness, Verdict
from surefoot.core.results import Curve, Footing, Guarantee, Reading
from surefoot.errors import InvalidArgument
from surefoot.population import SAME_POPULATION
from surefoot.records.population import is_same_model
from surefoot.records.record import Record
from surefoot.report.curve_quantity import robustness_quantity
from surefoot.report.formatting import percent_range

_ROUNDING = 1e-9
"""Relative: two errors closer than this count as equal."""


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
    same, spent = is_same_model(record, earlier), _error(record) + _error(earlier)
    claims = []
    for (claim, reading), (other, earlier_reading) in zip(mine, theirs, strict=True):
        assumptions = dict.fromkeys((*claim.guarantee.assumptions, *other.guarantee.assumptions))
        if not same_inputs:
            assumptions[SAME_POPULATION] = None
        together = {1: "", 2: "both thresholds"}.get(len(mine), f"all {len(mine)} thresholds")
        guarantee = Guarantee(Footing.CONDITIONAL, spent, tuple(assumptions), together)
        blank = replace(
            claim,
            kind="curve_not_worse",
            quantity=robustness_quantity(record.study, _curve(record).span),
            guarantee=Guarantee(Footing.SOUND, 0.0) if same else guarantee,
            value=None,
            interval=None,
            requirement=margin,
            names=tuple(parts),
            trials=record.trials + earlier.trials,
            reason="",
        )
        known = replace(blank, verdict=Verdict.PASS) if same else None
        claims.append(known or _decided(blank, reading, earlier_reading, margin))
    return tuple(claims)


def share_claims(record: Record) -> tuple[Claim, ...]:
    """The claims of a curve as the share of the levels, which is what is compared."""
    quantity = robustness_quantity(record.study, _curve(record).span)
    return tuple(
        replace(claim, quantity=quantity, value=reading.value, interval=reading.interval)
        for claim, reading in _readings(record)
    )


def check_curve_errors(own: float, earlier: Record, name: str, error: float) -> None:
    """Refuse an earlier curve whose interval may be wrong more often than the comparison may."""
    other = _error(earlier)
    if own + other > error * (1 + _ROUNDING):
        raise InvalidArgument(
            f"the interval of {name} is wrong with probability up to {other:g} and that of this "
            f"curve with {own:g}, and their comparison may be with {error:g}: state the same "
            "confidence in the study for both runs (confidence = 0.99), or measure the earlier "
            "model again (previous-model)"
        )


def _decided(claim: Claim, mine: Reading, other: Reading, margin: float) -> Claim:
    if Footing.NONE in (mine.guarantee.footing, other.guarantee.footing):
        reason = "this method promises nothing: use sequential or asap"
        return _undecided(claim, reason)
    if mine.interval.low >= other.interval.high - margin:
        return replace(claim, verdict=Verdict.PASS)
    if mine.interval.high < other.interval.low - margin:
        return replace(claim, verdict=Verdict.FAIL)
    first, second = claim.names
    reason = (
        f"it is {percent_range(mine.interval)} with {first} and {percent_range(other.interval)} "
        f"with {second}: another assume (--assume), a finer resolution (--resolution), new runs of "
        "both with more inputs or a larger margin may decide it"
    )
    return _undecided(claim, reason)


def _undecided(claim: Claim, reason: str) -> Claim:
    return replace(claim, verdict=Verdict.UNDECIDED, reason=reason, guarantee=NO_GUARANTEE)


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


def _curve(record: Record) -> Curve:
    curves: Any = record.details
    whole: Curve = curves.curve
    return whole


def _readings(record: Record) -> list[tuple[Claim, Reading]]:
    """The claim and the reading of each threshold."""
    own = [claim for claim in record.claims if claim.about.of is not About.CLASS]
    return list(zip(own, _curve(record).readings, strict=True))


def _error(record: Record) -> float:
    """How often at most an interval of the curve is wrong; its thresholds share it."""
    known = (reading.guarantee for _, reading in _readings(record))
    return max((one.error for one in known if one.footing is not Footing.NONE), default=0.0)
