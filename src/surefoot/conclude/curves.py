"""A robustness curve: up to which level, or on which share of the levels, it stays high enough."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.facts import StudyFacts
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed, CurveShape
from surefoot.core.claims import About, Claim, Continues, Randomness, Said, Sampling, Scope
from surefoot.core.reasons import Reason, Why, several, stated
from surefoot.core.results import UNIT, Curve, Footing, Interval, Reading
from surefoot.core.tasks import Subject
from surefoot.records.record import CurveRow, Curves, RecordBody, Strip
from surefoot.report.clauses import quantity_of

WHOLE = "all"
_ROUNDING = 1e-9
FLAT = 0.1
"""A curve is flat that stays between values not further apart, and leaves as large a share of the
range open: what is known of it are then these values."""


def procedure_of(method: Any, subject: Subject, seed: int) -> Any:  # noqa: ANN401  any method
    """The method with what it learns from the study: the number of inputs, whether draws are fresh,
    and by how much its lattice of levels is shifted, at random by the seed.
    """
    known: dict[str, Any] = {"size": len(subject.rows)}
    if subject.picks:
        known["fresh"] = True
    if hasattr(method, "shift"):
        digest = hashlib.sha256(f"lattice\0{seed}\0{subject.name}".encode()).digest()
        known["shift"] = int.from_bytes(digest[:4], "big") / 2**32
    return replace(method, **known)


def shuffled(seed: int, ids: Sequence[str]) -> tuple[int, ...]:
    """The inputs in an order that is random by the seed and depends on nothing but their ids."""

    def random_key(i: int) -> bytes:
        return hashlib.sha256(f"{seed}\0{ids[i]}".encode()).digest()

    return tuple(sorted(range(len(ids)), key=random_key))


def conclude_curves(
    facts: StudyFacts, names: Sequence[str], concluded: Sequence[Curve], strip: Strip | None = None
) -> RecordBody:
    """What follows from the curves of all inputs and of classes, by name.

    `strip` has examples at some levels, which only a model has.
    """
    curves = dict[str, Curve]()
    for name, curve in zip(names, concluded, strict=True):
        if curve.contradiction and facts.of_population:
            # of a population nothing is located where the sample contradicts what is assumed of it
            nothing = (replace(r, interval=UNIT, crossings=()) for r in curve.readings)
            curve = replace(curve, readings=tuple(nothing))  # noqa: PLW2901
        curves[name] = curve
    whole = curves.pop(WHOLE)
    rows = tuple(CurveRow(name, curve.size, curve) for name, curve in curves.items())
    details = Curves(whole, rows, strip)
    claims = [_claim(facts, whole, reading, "") for reading in whole.readings]
    claims += [_claim(facts, row.curve, r, row.name) for row in rows for r in row.curve.readings]
    trials = whole.trials + sum(row.curve.trials for row in rows)
    return RecordBody((), details, tuple(claims), trials)


def _claim(facts: StudyFacts, curve: Curve, reading: Reading, name: str) -> Claim:
    """Up to which level, where the curve falls once; else on which share of the levels."""
    population = facts.of_population
    scope = Scope(
        About.CLASS if name else About.POPULATION if population else About.THESE,
        curve.size,
        name,
        Sampling.INDEPENDENT if population else None,
    )
    is_share, value, interval = _read(curve, reading)
    quantity = quantity_of(facts.spec, curve.span, reading, is_share=is_share)
    guarantee = reading.guarantee
    if not facts.has_classes:  # then an assumption about the accuracy is about another height
        said = tuple(
            replace(one, of=str(quantity.height))
            if isinstance(one, CurveShape) and one.of == kinds.Height.ACCURACY
            else one
            for one in guarantee.assumptions
        )
        guarantee = replace(guarantee, assumptions=said)
    if population and guarantee.footing is not Footing.NONE:
        guarantee = replace(guarantee, assumptions=(Assumed.SAMPLED, *guarantee.assumptions))
    reason = _why_not_located(curve) if interval == UNIT else None
    claim = (kinds.CurvePopulation if population else kinds.CurveSet)(
        Said(scope, facts.randomness, guarantee, Continues.ONCE, curve.trials, reason=reason),
        quantity=quantity,
        threshold=reading.threshold,
        value=value,
        interval=interval,
        seed=facts.spec.seed if facts.randomness is Randomness.FIXED else None,
    )
    if isinstance(claim, kinds.CurveSet) and reading.interval.width >= FLAT:
        lowest = min((part.lowest for part in curve.between), default=0.0)
        highest = max((part.highest for part in curve.between), default=1.0)
        if highest - lowest <= FLAT:
            claim = replace(claim, whole=Interval(lowest, highest))
    return claim


def _read(curve: Curve, reading: Reading) -> tuple[bool, float | None, Interval | None]:
    """Whether it is a share of the levels or a level; the best guess, and the interval."""
    span, known = curve.span, reading.guarantee.footing is not Footing.NONE

    def level(share: float) -> float:
        return span.high if share == 1 else span.low + share * span.width

    around = Interval(level(reading.interval.low), level(reading.interval.high))
    if known and (reading.interval.low <= _ROUNDING and reading.interval.high >= 1 - _ROUNDING):
        return True, None, UNIT
    if known and len(reading.crossings) == 1 and reading.crossings[0].falls:
        # does all that is open lie where the curve falls? elsewhere a dip might hide
        there, spare = reading.crossings[0].interval, _ROUNDING * span.width
        if there.low - spare <= around.low and around.high <= there.high + spare:
            return False, level(reading.value), around
    return True, reading.value, reading.interval if known else None


def _why_not_located(curve: Curve) -> Reason:
    """Why the interval of a reading is the whole range."""
    anywhere = Why.NOT_LOCATED.of(curve.size, curve.span.low, curve.span.high)
    notes = [note for note in map(stated, curve.notes) if note]
    return stated(curve.contradiction) or several(notes) or anywhere
