"""Images behind glass: swaps as in the published loop."""

import math

import numpy as np
import pytest
from scipy import ndimage

from surefoot.perturb.image.blur import GlassBlur, gather_pixels, origins_after_swaps, swap_partners
from tests.unit.test_perturb_blurs import UNIT, draws, scene


def in_turn(goals):
    """Where each pixel comes from, one swap after the other: the definition."""
    rounds, height, width = goals.shape
    places = np.arange(height * width)
    for goal in goals.reshape(rounds, -1):
        for p in range(height * width - 1, -1, -1):
            places[p], places[goal[p]] = places[goal[p]], places[p]
    return places.reshape(height, width)


@pytest.mark.parametrize("shape", [(12, 12), (9, 20), (23, 8), (1, 6), (5, 3)])
@pytest.mark.parametrize("reach", [1, 2, 3, 4])
def test_swaps_at_once_are_the_swaps_in_turn(torch, shape, reach):
    rng = np.random.default_rng(7)
    chance = rng.random((3, 2, *shape), dtype=np.float32)
    goals = swap_partners(chance, chance[:, :1], 0.8, float(reach))
    out = origins_after_swaps(goals, reach)
    np.testing.assert_array_equal(out, [in_turn(each) for each in goals])
    theirs = origins_after_swaps(torch.from_numpy(goals), reach)
    np.testing.assert_array_equal(theirs.numpy(), out)
    x = rng.random((3, 2, *shape), dtype=np.float32)
    flat = x.reshape(3, 2, -1)
    expected = [f[:, o.reshape(-1)].reshape(2, *shape) for f, o in zip(flat, out, strict=True)]
    np.testing.assert_array_equal(gather_pixels(x, out), expected)


def offsets(origins):
    height, width = origins.shape[-2:]
    own = np.arange(height * width).reshape(height, width)
    return origins // width - own // width, origins % width - own % width


@pytest.mark.parametrize("reach", [1, 2, 4])
def test_pixels_are_displaced_as_in_the_published_loop(reach):
    """Histograms of the displacement differ by at most 2 % of the pixels in all (seeded)."""
    size, rng = 40, np.random.default_rng(8)
    published = []
    for _ in range(6):
        places = np.arange(size * size).reshape(size, size)
        for h in range(size - reach, reach, -1):
            for w in range(size - reach, reach, -1):
                down, across = rng.integers(-reach, reach, 2)
                a, b = (h, w), (h + down, w + across)
                places[a], places[b] = places[b], places[a]
        published.append(places)
    chance = rng.random((60, 1, size, size), dtype=np.float32)
    ours = origins_after_swaps(swap_partners(chance, chance, 1.0, float(reach)), reach)
    bins = np.arange(-12.5, 13)
    for theirs, mine in zip(offsets(np.array(published)), offsets(ours), strict=True):
        a = np.histogram(np.clip(theirs, -12, 12), bins)[0] / theirs.size
        b = np.histogram(np.clip(mine, -12, 12), bins)[0] / mine.size
        assert np.abs(a - b).sum() / 2 < 0.02


def test_partners_are_spread_evenly_over_the_published_offsets():
    chance = np.random.default_rng(9).random((40, 1, 30, 30), dtype=np.float32)
    goals = swap_partners(chance, chance, 1.0, 3.0)
    own = np.arange(900).reshape(30, 30)
    inner = np.s_[..., 4:28, 4:28]
    down = (goals // 30 - own // 30)[inner]
    across = (goals % 30 - own % 30)[inner]
    counts = np.histogram2d(down.ravel(), across.ravel(), np.arange(-3.5, 3.5))[0]
    assert counts.sum() == down.size
    expected = down.size / 36
    assert ((counts - expected) ** 2 / expected).sum() < 35 + 5 * math.sqrt(70)
    outer = np.ones((30, 30), dtype=bool)
    outer[4:28, 4:28] = False
    assert (goals == own)[..., outer].all()


def test_pixels_that_swap_at_a_low_level_swap_at_every_higher_one():
    rng = np.random.default_rng(10)
    chance, gate = rng.random((2, 4, 1, 20, 20), dtype=np.float32)
    own = np.arange(400).reshape(20, 20)
    low, high = swap_partners(chance, gate, 0.3, 1.0), swap_partners(chance, gate, 0.7, 1.0)
    assert (high[low != own] == low[low != own]).all()
    share = (low != own)[..., 2:, 2:].mean()
    assert share == pytest.approx(0.3 * 3 / 4, abs=0.04)


def test_glass_is_a_blur_before_and_after_the_swaps():
    """Severity 4 of small images: deviation 0.25, two rounds within one pixel."""
    x, made = scene(2), GlassBlur(4.0)
    drawn = draws(made, x, 2)
    goals = swap_partners(drawn[:, 1:3], drawn[:, :1], 1.0, 1.0)
    soft = ndimage.gaussian_filter(x, (0, 0, 0.25, 0.25), mode="nearest")
    mixed = [
        f[:, in_turn(g).reshape(-1)].reshape(3, 32, 32)
        for f, g in zip(soft.reshape(2, 3, -1), goals, strict=True)
    ]
    expected = ndimage.gaussian_filter(np.array(mixed), (0, 0, 0.25, 0.25), mode="nearest")
    np.testing.assert_allclose(made.apply(x, drawn, 4.0, UNIT), expected, atol=2e-6)
