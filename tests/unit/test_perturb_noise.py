"""Noise on single values against its laws."""

import math

import numpy as np
import pytest
from scipy.stats import norm, poisson

from surefoot.engine.streams import stream
from surefoot.perturb.image.sensor import (
    ImpulseNoise,
    ShotNoise,
    SpeckleNoise,
    normal_quantile,
    poisson_quantile,
)
from tests.unit.test_perturb_pixels import UNIT, image, perturbed

# Noise


def test_normal_quantiles_are_right_on_the_whole_grid():
    u = np.arange(0, 2**24, 37, dtype=np.int64) / 2**24
    u = np.append(u, 1 - 2.0**-24)
    found = normal_quantile(u.astype(np.float32))
    np.testing.assert_allclose(found, norm.ppf(u + 2.0**-25), atol=3e-6)


@pytest.mark.parametrize(
    ("rate", "allowed"),
    [
        (0.0, 0),
        (0.03, 5e-7),
        (1.0, 5e-7),
        (4.0, 5e-7),
        (7.9, 5e-7),
        (8.0, 2.5e-4),
        (20.0, 4e-5),
        (60.0, 1e-5),
        (500.0, 1e-5),
    ],
)
def test_photon_counts_follow_the_poisson_law(rate, allowed):
    """Total variation between the law of the counts and Poisson's, over a fine grid of u."""
    u = (np.arange(2**20) / 2**20).astype(np.float32)[:, None]
    counts = poisson_quantile(np.full((1, 1), rate, np.float32), u)[:, 0].astype(np.int64)
    law = np.bincount(counts) / len(counts)
    exact = poisson.pmf(np.arange(len(law)), float(np.float32(rate)))
    assert np.abs(law - exact).sum() / 2 <= allowed + len(law) / 2**20
    assert (np.diff(counts) >= 0).all()


@pytest.mark.parametrize("c", [500, 60, 5, 3])
def test_shot_noise_is_a_count_of_photons(c):
    """Poisson(x · c) / c: quantiles by SciPy; at most 1 value in 1,000 off, and by one photon."""
    x = image(4)
    noise = ShotNoise(1 / math.sqrt(c))
    drawn = noise.draw(stream(1, "s", "shot", 0, x), 4, x.shape[1:])
    counts = poisson.ppf(drawn.astype(float) + 2.0**-25, x.astype(float) * c)
    exact = np.clip(counts / c, 0, 1)
    off = np.abs(noise.apply(x, drawn, noise.level, UNIT) - exact)
    assert (off > 1e-5).mean() < 1e-3
    assert off.max() < 1.01 / c


def test_impulse_noise_hits_the_stated_share_and_keeps_what_it_hit():
    x = np.full((16, 3, 32, 32), 0.4, np.float32)
    weak, strong = (perturbed(ImpulseNoise(level), x) for level in (0.1, 0.3))
    for out, level in ((weak, 0.1), (strong, 0.3)):
        spread = 4 * math.sqrt(level / 2 / x.size)
        assert abs((out == 0).mean() - level / 2) < spread
        assert abs((out == 1).mean() - level / 2) < spread
        assert np.isin(out, np.array([0, 0.4, 1], np.float32)).all()
    assert (strong[weak != x] == weak[weak != x]).all()


def test_impulse_noise_of_level_one_leaves_nothing():
    assert np.isin(perturbed(ImpulseNoise(1.0), image()), (0, 1)).all()


def test_speckle_noise_is_proportional_to_the_value():
    x = np.tile(np.array([0.0, 0.1, 0.4], np.float32), (20000, 1))
    z = perturbed(SpeckleNoise(0.2), x, bounds=None) - x
    np.testing.assert_allclose(z.std(axis=0), [0, 0.02, 0.08], rtol=0.03)
