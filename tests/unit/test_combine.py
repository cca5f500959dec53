"""Random strengths, chains and mixtures: built from parts, and conforming like any other."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb import Chain, GaussianNoise, LinfNoise, Mixture, RandomLevel, Rotation
from surefoot.perturb.signal import Gain
from surefoot.subject.protocols import View
from surefoot.testing import check_image_perturbation, check_perturbation

UNIT = Interval(0.0, 1.0)
WIDE = RandomLevel(20.0, Rotation(20.0), lowest=-1.0)
COMBINED = [
    RandomLevel(0.1, LinfNoise(0.1), lowest=0.2),
    RandomLevel(0.1, GaussianNoise(0.1), law="normal"),
    RandomLevel(0.1, LinfNoise(0.1), lowest=0.1, law="log-uniform"),
    Chain((LinfNoise(0.1), GaussianNoise(0.05))),
    Mixture((LinfNoise(0.1), GaussianNoise(0.05)), weights=(3.0, 1.0)),
]


@pytest.mark.parametrize("perturbation", COMBINED, ids=lambda m: m.phrase[:30])
@pytest.mark.parametrize("shape", [(6,), (3, 8, 8)])
def test_what_is_built_from_parts_conforms(perturbation, shape):
    check_perturbation(perturbation, shape)


@pytest.mark.parametrize(
    "perturbation", [WIDE, Chain((WIDE, LinfNoise(0.1))), Mixture((WIDE, LinfNoise(0.1)))]
)
def test_images_conform_too(perturbation):
    check_image_perturbation(perturbation)


def strengths(perturbation, n=4000):
    """How far each of n rows moved: noise of one value whose draw is known."""

    class Probe(LinfNoise):
        signed = True

        def apply(self, x, drawn, level, bounds):
            return np.asarray(level)

    probe = RandomLevel(
        perturbation.level, Probe(perturbation.level), perturbation.lowest, perturbation.law
    )
    x = np.zeros((1, 1), np.float32)
    drawn = probe.draw(stream(1, "s", probe.kind, 0, x), n, (1,))
    return probe.apply(x, drawn, perturbation.level, None)


def test_a_uniform_strength_is_uniform_between_its_ends():
    drawn_levels = strengths(RandomLevel(20.0, Rotation(20.0), lowest=-1.0))
    assert kstest(drawn_levels, "uniform", args=(-20, 40)).pvalue > 0.001
    above = strengths(RandomLevel(2.0, LinfNoise(2.0), lowest=0.5))
    assert kstest(above, "uniform", args=(1, 1)).pvalue > 0.001


def test_a_log_uniform_strength_is_uniform_in_its_logarithm():
    drawn_levels = np.log(
        strengths(RandomLevel(1.0, LinfNoise(1.0), lowest=0.01, law="log-uniform"))
    )
    assert kstest(drawn_levels, "uniform", args=(math.log(0.01), -math.log(0.01))).pvalue > 0.001


def test_a_normal_strength_has_the_level_as_its_deviation():
    drawn_levels = strengths(RandomLevel(0.3, LinfNoise(0.3), law="normal"))
    assert kstest(drawn_levels / 0.3, "norm").pvalue > 0.001


def test_a_range_scales_with_the_level():
    x = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    drawn = WIDE.draw(stream(1, "s", WIDE.kind, 0, x), 4, x.shape[1:])
    half = WIDE.apply(x, drawn, 10.0, UNIT)
    inner = Rotation(20.0).apply(x, drawn[1], 10.0 * (2 * drawn[0] - 1), UNIT)
    np.testing.assert_allclose(half, inner, atol=1e-6)


def test_a_chain_is_its_parts_one_after_the_other():
    perturbation = Chain((LinfNoise(0.1), GaussianNoise(0.05)))
    x = np.random.default_rng(0).random((5, 6), dtype=np.float32)
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 5, (6,))
    first = LinfNoise(0.1).apply(x, drawn[0], 0.1, UNIT)
    both = GaussianNoise(0.05).apply(first, drawn[1], 0.05, UNIT)
    np.testing.assert_array_equal(perturbation.apply(x, drawn, 1.0, UNIT), both)


def test_a_mixture_takes_each_part_as_often_as_its_weight_says():
    perturbation = Mixture((LinfNoise(0.0), LinfNoise(1.0)), weights=(1.0, 3.0))
    x = np.full((1, 4), 0.5, np.float32)
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 4000, (4,))
    moved = (perturbation.apply(x, drawn, 1.0, None) != 0.5).any(axis=1)
    assert abs(moved.mean() - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 4000)


@pytest.mark.parametrize("perturbation", [*COMBINED, WIDE])
def test_numpy_and_torch_agree(torch, perturbation):
    x = np.random.default_rng(0).random((6, 3, 8, 8), dtype=np.float32)
    tensor = torch.from_numpy(x)
    ours = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 6, x.shape[1:])
    theirs = perturbation.draw(stream(1, "s", perturbation.kind, 0, tensor), 6, x.shape[1:])
    a = perturbation.apply(x, ours, perturbation.level, UNIT)
    b = perturbation.apply(tensor, theirs, perturbation.level, UNIT)
    np.testing.assert_allclose(b.numpy(), a, atol=1e-4)


def test_words_tell_the_law_and_the_parts():
    assert "uniformly between -{level} and {level}" in WIDE.phrase
    chain = Chain((LinfNoise(8 / 255), GaussianNoise(0.05)))
    assert chain.phrase.startswith("first noise drawn uniformly from the L∞ ball of radius 8/255")
    assert "75 %:" in Mixture((LinfNoise(0.1), WIDE), weights=(3, 1)).phrase
    assert Chain((LinfNoise(0.1), WIDE)).view is View.IMAGE


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RandomLevel(1.0, LinfNoise(1.0), lowest=-1.0), "from 0 to below 1"),
        (lambda: RandomLevel(1.0, Rotation(1.0), lowest=1.0), "from -1 to below 1"),
        (
            lambda: RandomLevel(1.0, LinfNoise(1.0), law="cauchy"),
            "law must be one of .* got 'cauchy'",
        ),
        (lambda: RandomLevel(1.0, LinfNoise(1.0), law="log-uniform"), "above 0"),
        (lambda: Chain(()), "at least one perturbation"),
        (lambda: Chain((Rotation(1.0), Gain(1.0))), "cannot be combined"),
        (lambda: Mixture((LinfNoise(0.1),), weights=(1, 2)), "each of the 1 parts, got 2 weights"),
        (lambda: Mixture((LinfNoise(0.1),), weights=(0,)), "above 0"),
        (lambda: Chain((LinfNoise(0.1),), level=-1), r"level must be in \[0, 1\]"),
    ],
)
def test_what_makes_no_sense_is_refused(make, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        make()
