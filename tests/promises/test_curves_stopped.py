"""Curves that are stopped at any question, or contradict what is assumed: still valid."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.core.results import Curve, Interval
from surefoot.curves import SequentialCurve
from tests.curve_worlds import drive, drive_fresh, ordered, within
from tests.in_words import condition
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


RISE = "a stronger level never raises accuracy by more than "


def run(curve, assume, seed, **more):
    procedure = SequentialCurve(0.0, 1.0, (0.8,), ERROR, assume=assume, size=curve.size, **more)
    return drive(procedure, ordered(curve, seed)).curve


def valley(rng, n):
    """Below the threshold for longer than the levels of the coarsest scan are apart."""
    a = rng.uniform(0.05, 0.3)
    dip = [(a, 0.95), (a + 0.08, 0.6), (a + 0.36, 0.6), (a + 0.44, 0.95), (0.8, 0.95), (1.0, 0.5)]
    return StepCurve.of(follow([(0.0, 0.95), *dip], n))


def crossing_paths(rng, n):
    """A curve that falls evenly of inputs that do not: some recover while more others fail."""
    turns = follow([(0.0, 1.0), (1.0, 0.0)], n)
    recovering = rng.choice(n // 2, n // 10, replace=False)
    for i in recovering:
        begin = rng.uniform(0.0, 0.2)
        turns[i] = [-1.0, begin + 0.25, *(t for t in turns[i] if t > begin + 0.25)]
    return StepCurve.of(turns)


@pytest.mark.parametrize("size", [20, 200])
@pytest.mark.parametrize("assume", ["bounded-rise", "monotone", "one-crossing"])
def test_a_curve_that_comes_back_is_not_read_as_one_that_does_not(assume, size):
    runs = Runs(4, ERROR)
    for seed in runs:
        curve = valley(np.random.default_rng(seed), size)
        result = run(curve, assume, seed)
        assert result.contradiction.why is Why.ASSUMED_INSTEAD
        said = Why.INPUTS_COME_BACK if assume == "monotone" else Why.RISES
        assert {part.why for part in result.contradiction.parts} <= {said, Why.RISES}
        (reading,) = result.readings
        assert condition(reading.guarantee).startswith(RISE)
        assert condition(reading.guarantee).endswith("(after a contradiction)")
        runs.false += not within(curve.share_at_least(0.8), reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize("size", [50, 300])
def test_inputs_that_recover_contradict_monotone_though_the_curve_only_falls(size):
    for seed in range(2):
        curve = crossing_paths(np.random.default_rng(seed), size)
        result = run(curve, "monotone", seed)
        assert [part.why for part in result.contradiction.parts] == [Why.INPUTS_COME_BACK]
        (reading,), (plain,) = result.readings, run(curve, "bounded-rise", seed).readings
        assert condition(reading.guarantee).startswith(RISE)
        assert reading.interval.width == pytest.approx(plain.interval.width, abs=0.02)


def test_a_single_input_that_recovers_is_a_contradiction_of_monotone_in_a_small_set():
    turns = [[0.9] for _ in range(9)] + [[0.2, 0.7]]
    result = run(StepCurve.of(turns), "monotone", 1)
    (back,) = result.contradiction.parts
    assert (back.why, back.values[1]) == (Why.INPUTS_COME_BACK, 1)
    assert run(StepCurve.of(turns), "one-crossing", 1).contradiction is None


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_contradicted_where_the_assumption_is_true(seed):
    curve = StepCurve.of([[x] for x in np.random.default_rng(seed).normal(0.5, 0.2, 200)])
    for assume in ("monotone", "one-crossing", "bounded-rise"):
        assert run(curve, assume, seed).contradiction is None


def dip(at, n, width=0.05, depth=0.1):
    box = [(at, 0.86), (at, 0.86 - depth), (at + width, 0.86 - depth), (at + width, 0.86)]
    return StepCurve.of(follow([(0.0, 0.86), *box, (0.95, 0.86), (1.0, 0.5)], n))


def test_ten_points_over_a_twentieth_of_the_range_are_noticed():
    """In nine of ten runs; fewer than 13 of 20 would be a chance of one in 1,000 or less.

    It ends with the thirteenth.
    """
    assumptions = ("bounded-rise", "one-crossing", "monotone")
    said = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        curve = dip(rng.uniform(0.02, 0.9), 100)
        result = run(curve, assumptions[seed % 3], seed, shift=rng.uniform())
        said += result.contradiction is not None
        if result.readings[0].guarantee.assumptions[0].contradicted:
            assert within(curve.share_at_least(0.8), result.readings[0].interval)
        if said == 13:
            return
    pytest.fail(f"noticed in {said} of 20 runs")


def test_a_dip_before_the_crossing_that_the_first_look_does_not_show_is_found():
    """Seven points deep, and none of the first 50 inputs fails there: more of them are looked at
    before the crossing is stated.
    """
    n, seed = 1000, 3
    order = np.random.default_rng(seed).permutation(n)
    turns = follow([(0.0, 0.87), (0.7, 0.86), (1.0, 0.6)], n)
    for i in [i for i in order[50:] if i < 860][::11]:
        turns[i] = [0.3, 0.38, *turns[i]]
    procedure = SequentialCurve(0, 1, (0.83,), size=n)
    curve = drive(procedure, ordered(StepCurve.of(turns), seed)).curve
    assert curve.contradiction is not None or curve.readings[0].interval.high < 0.4


def test_a_contradiction_doubles_the_rise_that_is_seen():
    result = run(dip(0.48, 200), "bounded-rise", 0)
    (shape,) = result.readings[0].guarantee.assumptions
    assert shape.contradicted
    assert shape.size == pytest.approx(0.2, abs=0.05)
    assert result.contradiction.parts[0].values[2] == pytest.approx(50 * shape.size)
    steady = StepCurve.of([[x] for x in np.linspace(0.2, 1.2, 64)])
    (shape,) = run(steady, "bounded-rise", 0).readings[0].guarantee.assumptions
    assert (shape.size, shape.contradicted) == (2 / 64, False)
