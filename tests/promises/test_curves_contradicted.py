"""Where the data contradict the assumption that is said, and what is stated then."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.curves import SequentialCurve
from tests.curve_worlds import drive, ordered, within
from tests.in_words import condition
from tests.rates import Runs
from tests.step_curves import StepCurve, follow

RISE = "a stronger level never raises accuracy by more than "
ERROR = 0.05


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


def test_a_contradiction_doubles_the_rise_that_is_seen():
    result = run(dip(0.48, 200), "bounded-rise", 0)
    (shape,) = result.readings[0].guarantee.assumptions
    assert shape.contradicted
    assert shape.size == pytest.approx(0.2, abs=0.05)
    assert result.contradiction.parts[0].values[2] == pytest.approx(50 * shape.size)
    steady = StepCurve.of([[x] for x in np.linspace(0.2, 1.2, 64)])
    (shape,) = run(steady, "bounded-rise", 0).readings[0].guarantee.assumptions
    assert (shape.size, shape.contradicted) == (2 / 64, False)
