"""A robustness curve: the inputs in one random order, the levels as the method asks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.conclude.scope import distinct_names
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Reading
from surefoot.core.tasks import Subject
from surefoot.engine.examples import strip
from surefoot.records.record import CurveRow, Curves, RecordBody
from surefoot.report.curve_quantity import (
    curve_quantity,
    level_quantity,
    levels_name,
    share_quantity,
)
from surefoot.study.measurement import Measurement
from surefoot.study.sampling_run import batch_size, why_in_python, workers_for
from surefoot.study.setup import Setup

WHOLE = "all"
_ROUNDING = 1e-9


def measurement(study: Setup, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for all inputs together, and one for each class where that is wanted."""
    bench, subjects_by_name = study.bench(), subjects_of(study)
    subjects = list(subjects_by_name.values())
    method: Any = study.method
    return Measurement(
        subjects=subjects,
        procedures={s.name: replace(method, **known_of(s)) for s in subjects},
        bench=bench,
        batch=batch or batch_size(study, bench, subjects[0], method.low),
        workers=workers_for(study, workers),
        in_python=why_in_python(study),
        requested=workers is not None,
        conclude=lambda curves: _with_strip(
            study, conclude(study, list(subjects_by_name), curves), subjects_by_name[WHOLE]
        ),
    )


def known_of(subject: Subject) -> dict[str, Any]:
    """What a method learns from the study: the number of inputs, and whether draws are fresh."""
    known: dict[str, Any] = {"size": len(subject.rows)}
    return known | {"fresh": True} if subject.picks else known


def shuffled(study: Setup | RecordedStudy) -> tuple[int, ...]:
    """The inputs in an order that is random by the seed and depends on nothing but their ids."""
    ids = study.fitted.ids

    def random_key(i: int) -> bytes:
        return hashlib.sha256(f"{study.seed}\0{ids[i]}".encode()).digest()

    return tuple(sorted(range(len(ids)), key=random_key))


def subjects_of(study: Setup) -> dict[str, Subject]:
    """The whole set, and each class where that is wanted, by the name a reader sees."""
    inputs, order = study.fitted, shuffled(study)
    fresh = study.randomness is Randomness.FRESH
    picks = fresh and getattr(study.method, "scope", "set") == "set"
    subjects = {WHOLE: Subject(WHOLE, order, picks)}
    if not study.class_by_class:
        return subjects
    labels = study.predicted if inputs.labels is None else inputs.labels
    names = distinct_names(sorted({int(label) for label in labels}), inputs.class_name)
    for label, name in names.items():
        rows = tuple(i for i in order if labels[i] == label)
        plain = name == WHOLE or name.isdecimal()
        subjects[f"class {name}" if plain else name] = Subject(f"class {label}", rows, picks)
    return subjects


def conclude(
    study: Setup | RecordedStudy, names: Sequence[str], concluded: Sequence[Curve]
) -> RecordBody:
    """What follows from the curves of all inputs and of classes, by name, without a model."""
    curves = {
        name: _without_contradicted(study, curve)
        for name, curve in zip(names, concluded, strict=True)
    }
    whole = curves.pop(WHOLE)
    rows = tuple(CurveRow(name, curve.size, curve) for name, curve in curves.items())
    details = Curves(whole, rows, None)
    claims = [_claim(study, whole, reading, "") for reading in whole.readings]
    claims += [_claim(study, row.curve, r, row.name) for row in rows for r in row.curve.readings]
    trials = whole.trials + sum(row.curve.trials for row in rows)
    return RecordBody((), details, tuple(claims), trials)


def _with_strip(study: Setup, body: RecordBody, whole: Subject) -> RecordBody:
    """The same with an example at some levels, which only the model can add."""
    curves: Any = body.details
    images = strip(study.bench(), whole, curves.curve.span)
    return replace(body, details=replace(curves, strip=images))


def _without_contradicted(study: Setup | RecordedStudy, curve: Curve) -> Curve:
    """Of a population nothing is located where the sample contradicts what is assumed of it."""
    if not (curve.contradiction and _of_population(study)):
        return curve
    nothing = (replace(r, interval=UNIT, crossings=()) for r in curve.readings)
    return replace(curve, readings=tuple(nothing))


def _of_population(study: Setup | RecordedStudy) -> bool:
    return getattr(study.method, "scope", "set") == "population"


def _claim(study: Setup | RecordedStudy, curve: Curve, reading: Reading, name: str) -> Claim:
    """Up to which level, where the curve falls once; else on which share of the levels."""
    population = _of_population(study)
    scope = Scope(
        About.CLASS if name else About.POPULATION if population else About.THESE,
        curve.size,
        name,
        Sampling.INDEPENDENT if population else None,
    )
    quantity, value, interval = _quantity(study, curve, reading)
    guarantee = reading.guarantee
    if not study.has_classes:
        height = curve_quantity(study.property.kind)
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
        study.randomness,
        quantity,
        guarantee,
        Continues.ONCE,
        value,
        interval,
        reading.threshold,
        reason=_why_not_located(curve) if interval == UNIT else "",
        trials=curve.trials,
        seed=study.seed if study.randomness is Randomness.FIXED else None,
    )


def _quantity(
    study: Setup | RecordedStudy, curve: Curve, reading: Reading
) -> tuple[str, float | None, Interval | None]:
    height, span = curve_quantity(study.property.kind), curve.span
    name = levels_name(study.spec.perturbation, study.spec.words.perturbation)
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
