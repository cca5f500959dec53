"""Smoothed models: noise on a grid, the test of radii, refusals, evidence, the vote."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

import surefoot as sf
from surefoot.core.claims import About, Verdict
from surefoot.core.counts import Counts
from surefoot.core.results import UNIT
from surefoot.engine.streams import stream
from surefoot.perturb.grid import _noise_steps
from surefoot.records.record import Certificates
from surefoot.statistics import Norm, SmoothedRadius, Smoothing
from surefoot.testing.conformance import check_model, check_procedure
from tests.refusals import refused

GAUSSIAN = sf.perturb.GaussianGrid(0.25)
VALUES = 12
WEIGHTS = np.random.default_rng(3).normal(size=(VALUES, 3)).astype(np.float32)
X = np.random.default_rng(4).integers(0, 256, (12, VALUES)).astype(np.float32) / np.float32(255)
OFF = X * np.float32(0.9991)
METHOD = SmoothedRadius((0.1,), 0.05, 2000)
QUICK = {"workers": 1, "batch": 1024}


def scores(x: np.ndarray) -> np.ndarray:
    return (x - np.float32(0.5)) @ WEIGHTS


Y = scores(X).argmax(axis=1)


@pytest.fixture(scope="module")
def model():
    return sf.load_model(scores, shape=(VALUES,), bounds=(0, 1), scores="logits")


def study(model, method=METHOD, x=X, noise=GAUSSIAN, **more):
    return sf.Study(model, sf.load_inputs(x, Y), noise, method, **more)


@pytest.mark.parametrize(
    ("noise", "truth"),
    [
        (GAUSSIAN, lambda edges: ndtr(edges / 0.25)),
        (sf.perturb.GaussianGrid(3.0, grid=1.0), lambda edges: ndtr(edges / 3)),
        (sf.perturb.UniformGrid(0.5), lambda edges: np.clip(edges + 0.5, 0, 1)),
    ],
)
def test_the_law_of_one_value_is_as_near_as_stated(noise, truth):
    level, most = noise.level, noise._steps(noise.level)
    edges = np.concatenate([[0], noise._boundaries(level), [2**48]])
    drawn = np.diff(edges) / 2.0**48
    steps = np.arange(-most, most + 1)
    law = truth((steps + 0.5) * noise.grid) - truth((steps - 0.5) * noise.grid)
    beyond = 1 - law.sum()
    assert (np.abs(drawn - law).sum() + beyond) / 2 <= noise.slack(1)
    assert noise.slack(784) == 784 * noise.slack(1) < 1e-8


def test_noise_is_whole_steps_and_the_same_on_torch():
    torch = pytest.importorskip("torch")
    drawn = GAUSSIAN.draw(stream(1, "a", GAUSSIAN.kind, 0, X), 500, (VALUES,))
    assert drawn.shape == (500, 2, VALUES)
    assert np.array_equal(drawn * 2**24, np.floor(drawn * 2**24))
    y = GAUSSIAN.apply(X[:1], drawn, 0.25, UNIT)
    assert np.array_equal(GAUSSIAN.values_of(GAUSSIAN.steps_of(y)), y)
    assert y.min() < 0  # not clipped
    one = GAUSSIAN.apply(torch.from_numpy(X[:1]), torch.from_numpy(drawn), 0.25, UNIT)
    assert np.array_equal(one.numpy(), y)
    number = (drawn[:, 0].astype(np.float64) + drawn[:, 1] * 2.0**-24) * 2.0**48
    steps = np.searchsorted(GAUSSIAN._boundaries(0.25), number, side="right") - GAUSSIAN._steps(
        0.25
    )
    assert np.array_equal(GAUSSIAN.steps_of(y), GAUSSIAN.steps_of(X[:1]) + steps)
    clipped = replace(GAUSSIAN, clip=True).apply(X[:1], drawn, 0.25, UNIT)
    assert np.array_equal(clipped, np.clip(y, 0, 1))
    mixed = GAUSSIAN.apply(X[:2], drawn[:2], np.array([0.25, 0.0], np.float32), UNIT)
    assert np.array_equal(mixed, np.stack([y[0], X[1]]))


def test_a_shift_moves_pixels_around_the_edges_and_two_shifts_are_one():
    torch = pytest.importorskip("torch")
    noise = sf.perturb.GaussianShift(2.0)
    images = np.random.default_rng(5).random((2, 3, 4, 5), dtype=np.float32)
    drawn = noise.draw(stream(1, "a", noise.kind, 0, images), 200, (3, 4, 5))
    steps = _noise_steps(sf.perturb.GaussianGrid(2.0, grid=1.0), drawn, 2.0)
    assert abs(steps.std() - np.sqrt(4 + 1 / 12)) < 0.25
    y = noise.apply(images[:1], drawn, 2.0, UNIT)
    for moved, by in zip(y, steps, strict=True):
        assert np.array_equal(moved, np.roll(images[0], by, (1, 2)))
    again = noise.apply(np.roll(images[:1], (1, -3), (2, 3)), drawn, 2.0, UNIT)
    assert np.array_equal(again, np.roll(y, (1, -3), (2, 3)))
    one = noise.apply(torch.from_numpy(images[:1]), torch.from_numpy(drawn), 2.0, UNIT)
    assert np.array_equal(one.numpy(), y)
    mixed = noise.apply(images, drawn[:2], np.array([2.0, 0.0], np.float32), UNIT)
    assert np.array_equal(mixed, np.stack([y[0], images[1]]))
    assert noise.smoothing(60) == Smoothing(Norm.SHIFT, 2.0, 2 * 32 * 2.0**-48)


def test_values_of_8_bits_stay_what_they_are():
    grey = np.arange(256, dtype=np.float32)
    assert np.array_equal(GAUSSIAN.values_of(grey), grey / np.float32(255))
    assert not GAUSSIAN.off_grid(X).any()
    assert GAUSSIAN.off_grid(X + np.float32(1e-4)).all()
    assert (GAUSSIAN.grid_words, sf.perturb.GaussianGrid(1.0, grid=1.0).grid_words) == (
        "1/255",
        "1",
    )


@pytest.mark.parametrize(
    "noise",
    [
        Smoothing(Norm.L2, 0.25, 1e-8),
        Smoothing(Norm.L1, 0.5, 1e-8),
        Smoothing(Norm.SHIFT, 2.0, 1e-8),
    ],
)
def test_a_radius_is_no_longer_than_its_share_allows(noise):
    for failing in (0.0, 1e-6, 1e-3, 0.1, 0.4, 0.4999):
        radius = noise.radius(failing)
        assert radius is not None
        assert noise.kappa(radius) >= failing
        assert noise.kappa(1.0001 * radius + 1e-6) < failing + 1e-4
    assert noise.radius(0.5) is noise.radius(0.9) is None
    assert noise.evidence(3, 100, 0.1) >= noise.evidence(3, 100, 0.2)


def test_a_procedure_that_ends_where_it_is_shown_or_hopeless():
    test = SmoothedRadius((0.5, 0.25)).under(Smoothing(Norm.L2, 0.25, 1e-9))
    check_procedure(test)
    assert test.method.radii == (0.25, 0.5)
    clean = test.certificate(Counts(400, 400))
    assert clean.shown == (0.25, 0.5)
    assert clean.radius > 0.5
    assert test.certificate(Counts(400, 330)).shown == ()
    assert test.certificate(Counts(400, 210)).radius is None
    assert test.decision(clean, 0.5).e_value >= 1000
    assert test.limit == test.certificate(Counts(150_000, 150_000)).radius


def test_what_no_trials_can_show_is_refused(model):
    refused(r"radius 2 cannot be shown with 150,000 trials .* at most 0\.97", study, model,
            SmoothedRadius((2.0,)))  # fmt: skip
    refused("a radius is a finite number from 0 on", SmoothedRadius, (-1.0,))
    refused("lies no other point of the grid", study, model, SmoothedRadius((0.0, 0.003)))
    refused("lies no other point of the grid", study, model, SmoothedRadius((), 0.05, 3))
    refused("within radius 3.* lies no other", study, model, noise=sf.perturb.GaussianGrid(1e-9),
            method=SmoothedRadius())  # fmt: skip
    assert study(model, SmoothedRadius((0.0, 1 / 255))).method.radii
    refused("steps of 1/255.*--grid", study, model, x=OFF)
    refused("rotation is none", study, model, noise=sf.perturb.Rotation(5.0))
    refused("too fine", sf.perturb.GaussianGrid, 1.0, grid=1e-9)
    refused("says nothing by class", study, model, by_class=True)
    refused("smooths nothing", study, model, noise=sf.perturb.GaussianGrid(0.0))
    refused("property 'topk'", study, model, property=sf.properties.TopK(2))
    rounded = sf.perturb.GaussianGrid(0.25, grid=1 / 1024, rounds=True)
    assert study(model, x=OFF, noise=rounded).spec.perturbation.options["rounds"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sigma": 0}, "must be a number above 0"),
        ({"shift": 1, "grid": 1 / 255}, "nothing is rounded"),
        ({"sigma": 0.25, "uniform": 0.5}, "give the noise"),
        ({"sigma": 0.25, "require": 0.5}, "one radius"),
        ({"sigma": 0.25, "radius": -1}, "must not be below 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(model, options, match):
    refused(match, sf.smooth, model, (X, Y), store=None, **options)


def test_accuracy_is_not_required_of_inputs_without_labels(model):
    refused("holds no labels", sf.smooth, model, X, sigma=0.25, radius=0.1, require=0.5)


def test_a_study_its_claims_its_verdicts_and_its_evidence(model, tmp_path):
    wrong = np.where(np.arange(len(Y)) == 0, (Y + 1) % 3, Y)
    inputs = sf.load_inputs(X, wrong)
    result = sf.Study(model, inputs, GAUSSIAN, SmoothedRadius((0.05, 0.1), 0.05, 3000)).run(**QUICK)
    details = result.details
    assert isinstance(details, Certificates)
    assert [row.radius for row in details.rows] == [0.05, 0.1]
    assert details.noise.norm == "L2"
    first, wrong_one = result.inputs[1].result, result.inputs[0].result
    assert wrong_one.trials > 0  # wrong when clean, and sampled all the same
    assert wrong_one.radius is None
    assert [c.about.of for c in result.claims] == [
        About.THESE, About.THESE, About.POPULATION, About.POPULATION, About.THESE,
    ]  # fmt: skip
    shown = details.rows[0].shown
    assert shown == sum(0.05 in row.result.shown for row in result.inputs) >= 4
    assert result.claim_about(result.inputs[1].id).value == first.radius
    evidence = tmp_path / "run.evidence.json"
    result.evidence(evidence)
    assert sf.check_evidence(evidence).exit_code == 0
    refused("one radius", result.require, 0.5)
    alone = sf.Study(model, inputs, GAUSSIAN, SmoothedRadius((0.05,), 0.05, 3000)).run(**QUICK)
    few, many = (
        alone.require(of_these=share, accept_clean_accuracy=True).verdicts[0].verdict
        for share in (1 / 12, 1.0)
    )
    assert (few, many) == (Verdict.PASS, Verdict.UNDECIDED)
    assert alone.require(0.05, accept_clean_accuracy=True).verdicts[0].about.of is About.POPULATION


def test_without_a_radius_all_trials_are_used_and_without_labels_the_clean_answer(model):
    result = sf.smooth(model, X, uniform=0.5, max_trials=300, store=None, **QUICK)
    assert {row.result.trials for row in result.inputs if row.result.radius is not None} == {300}
    assert result.claims[0].kind == "smoothed_radius"
    assert result.details.limit < 0.5
    assert "average certified L1 distance" in str(result.explain())


def test_the_vote_is_a_model(model):
    voted = sf.Smoothed(model, 0.25, votes=64)
    check_model(voted, X)
    shares = voted.predict(X)
    clear = shares.max(axis=1) > shares.min(axis=1)
    assert 4 <= clear.sum() < len(X)
    assert (shares[clear].argmax(axis=1) == Y[clear]).mean() >= 0.75
    assert np.allclose(shares[~clear], 1 / 3)
    assert np.array_equal(voted.predict(X[[3, 3]]), shares[[3, 3]])
    assert voted.signature.digest != sf.Smoothed(model, 0.5, votes=64).signature.digest
    result = sf.estimate(voted, (X, Y), "linf:2/255", precision=0.2, store=None, **QUICK)
    assert math.isclose(result.claims[0].clean, clear.sum(), abs_tol=3)
    refused("sigma must be a number above 0", sf.Smoothed, model, 0.0)
    refused("give the noise", sf.Smoothed, model)
    refused("votes must be 16", sf.Smoothed, model, 0.25, votes=3)


def test_a_vote_over_uniform_noise_or_shifts_is_the_one_that_is_certified(model):
    uniform = sf.Smoothed(model, uniform=0.1, votes=64)
    assert uniform.noise == sf.perturb.UniformGrid(0.1, rounds=True)
    assert uniform.in_python == model.in_python
    assert not hasattr(uniform, "caution")  # as the model, which has none
    served = SimpleNamespace(signature=model.signature, caution="it may change", class_names=("a",))
    voted = sf.Smoothed(served, 0.25)
    assert (voted.caution, voted.class_names) == (served.caution, served.class_names)
    refused("a shift moves images", sf.Smoothed, model, shift=1)
    bars = np.where(np.arange(64) // 32, -1, 1).astype(np.float32)

    def upper(x: np.ndarray) -> np.ndarray:
        difference = x.reshape(len(x), 64) @ bars
        return np.stack([difference, -difference], axis=1)

    image = sf.load_model(upper, shape=(1, 8, 8), bounds=(0, 1), scores="logits")
    x = np.random.default_rng(6).random((12, 1, 8, 8), dtype=np.float32)
    x[:8, :, 4:] *= 0.2
    shifted = sf.Smoothed(image, shift=0.5, votes=64)
    check_model(shifted, x)
    result = sf.smooth(image, x, shift=0.5, radius=1, max_trials=2000, store=None, **QUICK)
    kept = [row.id for row in result.inputs if row.result.shown]
    answers = shifted.predict(x)
    assert kept
    for row, shares in zip(result.inputs, answers, strict=True):
        assert row.id not in kept or shares.argmax() == row.predicted
    assert "every such shift of it within distance 1" in str(result.explain())


def test_where_nothing_is_certified_nothing_is_said_of_other_inputs(model):
    method = SmoothedRadius((0.5,), 0.05, 200)
    result = study(model, method).run(**QUICK)
    these, every, _ = result.claims
    assert these.shown == 0
    assert (every.interval, every.guarantee.error, every.is_open) == (UNIT, 0.05, False)
    verdict = result.require(0.5, accept_clean_accuracy=True).verdicts[0]
    assert verdict.verdict is Verdict.UNDECIDED
