"""A robustness curve: up to which level, or on which share of the levels, it stays high enough."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.facts import StudyFacts
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Reading
from surefoot.core.tasks import Subject
from surefoot.records.record import CurveRow, Curves, RecordBody, Strip
from surefoot.report.curve_quantity import (
    curve_quantity,
    level_quantity,
    levels_name,
    share_quantity,
)

WHOLE = "all"
_ROUNDING = 1e-9


def known_of(subject: Subject) -> dict[str, Any]:
    """What a method learns from the study: the number of inputs, and whether draws are fresh."""
    known: dict[str, Any] = {"size": len(subject.rows)}
    return known | {"fresh": True} if subject.picks else known


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
    curves = {
        name: _without_contradicted(facts, curve)
        for name, curve in zip(names, concluded, strict=True)
    }
    whole = curves.pop(WHOLE)
    rows = tuple(CurveRow(name, curve.size, curve) for name, curve in curves.items())
    details = Curves(whole, rows, strip)
    claims = [_claim(facts, whole, reading, "") for reading in whole.readings]
    claims += [_claim(facts, row.curve, r, row.name) for row in rows for r in row.curve.readings]
    trials = whole.trials + sum(row.curve.trials for row in rows)
    return RecordBody((), details, tuple(claims), trials)


def _without_contradicted(facts: StudyFacts, curve: Curve) -> Curve:
    """Of a population nothing is located where the sample contradicts what is assumed of it."""
    if not (curve.contradiction and facts.of_population):
        return curve
    nothing = (replace(r, interval=UNIT, crossings=()) for r in curve.readings)
    return replace(curve, readings=tuple(nothing))


def _claim(facts: StudyFacts, curve: Curve, reading: Reading, name: str) -> Claim:
    """Up to which level, where the curve falls once; else on which share of the levels."""
    population = facts.of_population
    scope = Scope(
        About.CLASS if name else About.POPULATION if population else About.THESE,
        curve.size,
        name,
        Sampling.INDEPENDENT if population else None,
    )
    quantity, value, interval = _quantity(facts, curve, reading)
    guarantee = reading.guarantee
    if not facts.has_classes:
        height = curve_quantity(facts.spec.property.kind)
        said = tuple(
            text.replace("the accuracy", f"the {height}") for text in guarantee.assumptions
        )
        guarantee = replace(guarantee, assumptions=said)
    if population and guarantee.footing is not Footing.NONE:
        sample = "the inputs are an independent random sample of the population they stand for"
        guarantee = Guarantee(
            guarantee.footing, guarantee.error, (sample, *guarantee.assumptions), guarantee.jointly
        )
    return Claim(
        "curve_population" if population else "curve_set",
        scope,
        facts.randomness,
        quantity,
        guarantee,
        Continues.ONCE,
        value,
        interval,
        reading.threshold,
        reason=_why_not_located(curve) if interval == UNIT else "",
        trials=curve.trials,
        seed=facts.spec.seed if facts.randomness is Randomness.FIXED else None,
    )


def _quantity(
    facts: StudyFacts, curve: Curve, reading: Reading
) -> tuple[str, float | None, Interval | None]:
    height, span = curve_quantity(facts.spec.property.kind), curve.span
    name = levels_name(facts.spec.perturbation, facts.spec.words.perturbation)
    known = reading.guarantee.footing is not Footing.NONE

    def level(share: float) -> float:
        return span.high if share == 1 else span.low + share * span.width

    around = Interval(level(reading.interval.low), level(reading.interval.high))
    if known and _is_whole(reading.interval):
        return share_quantity(height, name, span), None, UNIT
    if known and _falls_once(reading, around, span):
        return level_quantity(height, name, span), level(reading.value), around
    interval = reading.interval if known else None
    return share_quantity(height, name, span), reading.value, interval


def _is_whole(interval: Interval) -> bool:
    """Whether it leaves everything open."""
    return interval.low <= _ROUNDING and interval.high >= 1 - _ROUNDING


def _falls_once(reading: Reading, around: Interval, span: Interval) -> bool:
    """Whether all that is open lies where the curve falls: elsewhere a dip might hide."""
    if len(reading.crossings) != 1 or not reading.crossings[0].falls:
        return False
    there, spare = reading.crossings[0].interval, _ROUNDING * span.width
    return there.low - spare <= around.low and around.high <= there.high + spare


def _why_not_located(curve: Curve) -> str:
    """Why the interval of a reading is the whole range."""
    if curve.contradiction:
        return curve.contradiction
    if curve.notes:
        return "; ".join(curve.notes)
    span = f"{curve.span.low:g} to {curve.span.high:g}"
    return (
        f"with these {curve.size:,} inputs and this assumption it may be at any level from {span}, "
        "or at none"
    )
