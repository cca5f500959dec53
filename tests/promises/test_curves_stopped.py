"""Stopped at any question, a curve is valid and its intervals cover the truth."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.core.results import Curve, Interval
from surefoot.curves import SequentialCurve
from tests.curve_worlds import drive, drive_fresh, ordered, within
from tests.rates import Runs
from tests.step_curves import StepCurve, follow

ASSUMPTIONS = ("bounded-rise", "one-crossing", "monotone", "curvature:60")
THRESHOLDS = (0.8, 0.5)
ERROR = 0.05


def check_valid(curve: Curve, size: int) -> None:
    """Whatever a curve says, it does not contradict itself."""
    levels = [point.level for point in curve.points]
    assert levels == sorted(set(levels))
    assert all(0 <= p.interval.low <= p.value <= p.interval.high <= 1 for p in curve.points)
    assert (curve.size, [r.threshold for r in curve.readings]) == (size, list(THRESHOLDS))
    for reading in curve.readings:
        assert 0 <= reading.interval.low <= reading.value <= reading.interval.high <= 1
        assert reading.guarantee.error == ERROR
        for crossing in reading.crossings:
            assert crossing.level in crossing.interval
            assert crossing.interval.low >= curve.span.low
            assert crossing.interval.high <= curve.span.high
    for between in curve.between:
        assert 0 <= between.lowest <= between.highest <= 1
        assert between.low < between.high


def stopped_everywhere(run, truths, size, begin=0, every=1):
    """Stop after so many questions, then every so many, to the end; how many are false.

    Each stop runs from the beginning, so that not every question is tried.
    """
    last, false, k = run(np.inf), 0, begin
    while True:
        curve = run(k)
        check_valid(curve, size)
        false += any(
            not within(truth, reading.interval)
            for truth, reading in zip(truths, curve.readings, strict=True)
        )
        if curve.notes == ():
            assert curve == last
            return k, false
        assert curve.notes[0].why is Why.STOPPED_EARLY
        k += every


SETS = {
    "bell": ([[x] for x in np.random.default_rng(3).normal(0.5, 0.2, 100)], 0.0),
    "plateau": ([[x] for x in np.repeat([0.6, 0.2], [80, 20])], 0.0),
    "one input": ([[0.3]], 0.0),
    "clean inside": (
        [[-1.0, 0.4 - a, 0.4 + b] for a, b in np.random.default_rng(4).uniform(0, 0.4, (100, 2))],
        0.4,
    ),
    "comes back": (follow([(0.0, 0.9), (0.3, 0.7), (0.6, 0.7), (0.7, 0.9), (1.0, 0.3)], 100), 0.0),
}


@pytest.mark.parametrize("assume", ASSUMPTIONS)
@pytest.mark.parametrize("name", SETS)
def test_a_set_stopped_at_any_question(name, assume):
    turns, clean = SETS[name]
    curve = StepCurve.of(turns, clean)
    procedure = SequentialCurve(
        0.0, 1.0, THRESHOLDS, ERROR, 0.01, assume=assume, clean=clean, size=curve.size
    )
    truths = [curve.share_at_least(threshold) for threshold in THRESHOLDS]
    begin = 4 * ASSUMPTIONS.index(assume)  # together they stop at every fourth question
    questions, false = stopped_everywhere(
        lambda k: drive(procedure, ordered(curve, 5), k).curve, truths, curve.size, begin, 16
    )
    assert questions >= 1
    if assume in {"bounded-rise", "monotone"} and name != "comes back":
        assert false == 0


@pytest.mark.parametrize(
    ("assume", "begin", "every"),
    [("bounded-rise", 0, 9), ("one-crossing", 4, 9), ("monotone", 2, 25)],
)
@pytest.mark.parametrize("clean", [0.0, 0.4])
def test_a_population_stopped_at_any_question(clean, assume, begin, every):
    pairs = np.random.default_rng(8).uniform(0, 0.6, (25, 2))
    turns = [[b] for _, b in pairs] if not clean else [[-1.0, 0.4 - a, 0.4 + b] for a, b in pairs]
    sample = StepCurve.of(turns, clean)
    procedure = SequentialCurve(
        0.0, 1.0, THRESHOLDS, ERROR, 0.01, assume=assume, scope="population", clean=clean, size=25
    )
    one_side = [0.6 * (1 - threshold) for threshold in THRESHOLDS]
    truths = one_side if not clean else [min(t, 0.4) + t for t in one_side]
    _, false = stopped_everywhere(
        lambda k: drive(procedure, ordered(sample, 5), k).curve, truths, 25, begin, every
    )
    assert false == 0


@pytest.mark.parametrize("scope", ["set", "population"])
def test_stopped_with_the_clean_level_alone_nothing_is_stated(scope):
    procedure = SequentialCurve(0.0, 1.0, THRESHOLDS, assume="monotone", scope=scope, size=10)
    curve = drive(procedure, lambda level: np.ones(10) * (level < 0.7), 1).curve
    assert len(curve.points) == 1
    assert [reading.interval for reading in curve.readings] == [Interval(0.0, 1.0)] * 2


@pytest.mark.parametrize(("assume", "every"), [("bounded-rise", 15), ("one-crossing", 15)])
def test_fresh_draws_stopped_at_any_question(assume, every):
    def accuracy(level):
        return 0.97 if level < 1 / 3 else 0.65 if level < 5 / 6 else 0.2

    procedure = SequentialCurve(
        0.0, 1.0, THRESHOLDS, ERROR, 0.1, assume=assume, size=50, fresh=True
    )
    _, false = stopped_everywhere(
        lambda k: drive_fresh(procedure, accuracy, 3, k).curve, [1 / 3, 5 / 6], 50, 0, every
    )
    assert false == 0


@pytest.mark.parametrize(
    ("scope", "assume"),
    [
        ("set", "bounded-rise"),
        ("set", "monotone"),
        ("population", "monotone"),
        ("population", "bounded-rise"),
    ],
)
def test_stopped_before_anything_is_known_nothing_is_stated(scope, assume):
    procedure = SequentialCurve(0.0, 1.0, THRESHOLDS, scope=scope, assume=assume, size=10)
    curve = drive(procedure, lambda level: np.ones(10), 0).curve
    assert (curve.points, curve.trials) == ((), 0)
    assert [reading.interval for reading in curve.readings] == [Interval(0.0, 1.0)] * 2


def test_stopping_makes_no_interval_false_more_often():
    """At a moment that has nothing to do with the data."""
    runs = Runs(12, ERROR)
    for seed in runs:
        curve = StepCurve.of([[x] for x in np.random.default_rng(seed).normal(0.5, 0.2, 200)])
        procedure = SequentialCurve(0.0, 1.0, THRESHOLDS, ERROR, size=200)
        result = drive(procedure, ordered(curve, seed), 3 + seed % 10).curve
        runs.false += any(
            not within(curve.share_at_least(r.threshold), r.interval) for r in result.readings
        )
    assert not runs.too_often
