"""A curve through the whole engine: order, noise, resume, classes, models, words."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Randomness, Verdict
from surefoot.errors import InvalidArgument
from surefoot.study.study import join_results
from tests.in_words import together


def brightness_model(x):
    """Class 0 until the mean reaches 1/2: an image fails from the level that brings it there."""
    mean = x.reshape(len(x), -1).astype(np.float64).mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)


def shades(n=300, seed=3):
    """Grey images of one shade each, darker than 1/2."""
    values = np.random.default_rng(seed).uniform(0.0, 0.5, n).astype(np.float32)
    x = np.repeat(values, 16).reshape(n, 1, 4, 4)
    return sf.load_inputs(x, np.zeros(n, dtype=np.int64)), values.astype(np.float64)


def study(inputs, method, **more):
    more = {
        "model": sf.load_model(brightness_model, shape=(1, 4, 4), bounds=(0, 1)),
        "perturbation": sf.perturb.Brightness(),
        "property": sf.properties.TrueLabel(),
        **more,
    }
    return sf.Study(inputs=inputs, method=method, **more)


def truth(values, threshold, high=0.5):
    """The level at which fewer than `threshold` are left, exactly: an order statistic."""
    falls = np.sort(0.5 - values)[::-1]
    return min(falls[int(np.ceil(threshold * len(values) - 1e-9)) - 1] / high, 1.0)


@pytest.mark.parametrize(
    ("assume", "widest"), [("monotone", 0.0021), ("one-crossing", 0.0021), ("bounded-rise", 0.04)]
)
@pytest.mark.parametrize("threshold", [0.9, 0.25])
def test_the_crossing_of_single_shades_is_found(threshold, assume, widest):
    """A rise leaves open where the curve is so little above the threshold."""
    inputs, values = shades()
    method = sf.methods.SequentialCurve(0.0, 0.5, (threshold,), assume=assume)
    curve = study(inputs, method).run(workers=1).details.curve
    reading, known = curve.readings[0], truth(values, threshold)
    assert reading.interval.low - 1e-6 <= known <= reading.interval.high + 1e-6
    assert reading.interval.width <= widest
    assert reading.value == pytest.approx(known, abs=0.0021)
    assert curve.trials < 33 * 64 + 7 * len(inputs)
    assert curve.contradiction is None


def test_perturbations_that_draw_meet_the_same_noise_at_every_level():
    """With one threshold on a sum of noise, an input that fell stays fallen: noise only grows."""
    inputs, _ = shades(100)
    method = sf.methods.UniformCurve(0.0, 1.0, levels=15)
    made = study(inputs, method, perturbation=sf.perturb.GaussianNoise(), model=unbounded())
    rates = [p.value for p in made.run().details.curve.points]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1 > rates[-1]


def unbounded():
    return sf.load_model(brightness_model, shape=(1, 4, 4))


def verdict(result, least):
    (claim,) = result.require(least).verdicts
    return claim.verdict


def test_a_requirement_passes_fails_or_stays_open():
    inputs, values = shades(200)
    found = study(inputs, sf.methods.SequentialCurve(0.0, 0.5)).run()
    known = truth(values, 0.8)
    assert verdict(found, known - 0.05) is Verdict.PASS
    assert verdict(found, known + 0.05) is Verdict.FAIL
    edge = found.details.curve.readings[0].interval
    assert verdict(found, (edge.low + edge.high) / 2) is Verdict.UNDECIDED
    weak = study(inputs, sf.methods.UniformCurve(0.0, 0.5)).run()
    assert verdict(weak, 0.1) is Verdict.UNDECIDED


def test_a_requirement_of_several_curves_has_a_verdict_for_each():
    inputs, values = shades(200)
    found = study(inputs, sf.methods.SequentialCurve(0.0, 0.5)).run()
    several = join_results({"a": found, "b": found}, "curve").require(truth(values, 0.8) - 0.05)
    assert [claim.verdict for claim in several.verdicts] == [Verdict.PASS, Verdict.PASS]
    assert [claim.names for claim in several.verdicts] == [("a",), ("b",)]
    assert all(claim.guarantee.error == pytest.approx(0.1) for claim in several.verdicts)
    assert all(together(claim.guarantee) == "all 2 curves" for claim in several.verdicts)


def test_a_curve_says_what_was_random_about_it():
    inputs, _ = shades(60)
    fresh = sf.methods.SequentialCurve(0.0, 4.0, (0.7,), resolution=0.1)
    fixed = replace(fresh, fixed_draws=True)
    noise = {"perturbation": sf.perturb.GaussianNoise(), "model": unbounded()}
    still = study(inputs, sf.methods.SequentialCurve(0.0, 1.0)).run().claims[0]
    assert (still.random, still.seed) == (Randomness.NOTHING, None)
    drawn = study(inputs, fixed, **noise).run()
    assert (drawn.claims[0].random, drawn.claims[0].seed) == (Randomness.FIXED, 1)
    expected = study(inputs, fresh, **noise).run(workers=1, batch=4096)
    assert (expected.claims[0].random, expected.claims[0].seed) == (Randomness.FRESH, None)


def test_confidence_has_a_curve_too():
    inputs, _ = shades(200)
    asked = sf.methods.SequentialCurve(0.0, 0.5, (0.5,), measure="confidence")
    found = study(inputs, asked, property=sf.properties.Confidence()).run().details.curve
    rates = [p.value for p in found.points]
    assert rates[0] > 0.5 > rates[-1]
    (crossing,) = found.readings[0].crossings
    assert crossing.falls
    # softmax of (0.5 - m, m - 0.5) is 1/2 on average where the mean brightness is 1/2
    assert crossing.level == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    "change",
    [
        {"method": sf.methods.SequentialCurve(0.0, 0.5, measure="confidence")},
        {"property": sf.properties.Confidence()},
    ],
)
def test_confidence_is_both_measured_and_held_to_or_neither(change):
    inputs, _ = shades(10)
    with pytest.raises(InvalidArgument, match=r"sf\.properties\.Confidence"):
        study(inputs, **{"method": sf.methods.SequentialCurve(0.0, 0.5), **change})
