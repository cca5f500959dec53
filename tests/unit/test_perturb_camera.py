"""Failures of sensors, lenses and optics against their definitions, written out plainly."""

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from surefoot.engine.streams import stream
from surefoot.perturb import (
    Banding,
    Bayer,
    BrokenLens,
    ChromaticAberration,
    Condensation,
    DeadLines,
    DeadPixels,
    Dirt,
    Flare,
    LensDistortion,
    Vignetting,
    WhiteBalance,
)
from tests.unit.test_perturb_images import UNIT, drawn_for, perturbed

COLOUR = (3, 24, 20)


def images(n, shape=COLOUR, seed=0):
    """Smooth images that use most of [0, 1]."""
    noise = np.random.default_rng(seed).random((n, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, 0, 2, 2))
    return ((smooth - smooth.min()) / (smooth.max() - smooth.min())).astype(np.float32)


@pytest.mark.parametrize(("count", "fill"), [(0, 0.0), (1, 0.0), (17, 1.0), (480, 0.3)])
def test_so_many_pixels_are_dead_and_the_others_stay(count, fill):
    x = images(5) * 0.2 + 0.5
    out = perturbed(DeadPixels(count / 480, fill), x)
    dead = (out != x).any(axis=1)
    assert (dead.sum(axis=(1, 2)) == count).all()
    assert np.allclose(out.transpose(0, 2, 3, 1)[dead], fill, atol=1e-6)


def test_what_is_left_of_a_pixel_fades_one_in_and_dead_pixels_stay_dead():
    x = np.ones((3, 1, 5, 4), dtype=np.float32)
    made = DeadPixels(0.3)
    drawn = drawn_for(made, x)
    before = x
    for level in (0.0, 0.02, 0.05, 0.33, 0.4):
        out = made.apply(x, drawn, level, UNIT)
        assert (1 - out).sum(axis=(1, 2, 3)) == pytest.approx(level * 20, abs=1e-5)
        assert (out <= before).all()
        before = out


@pytest.mark.parametrize(("lines", "axis"), [("rows", 3), ("columns", 2)])
def test_whole_lines_are_dead(lines, axis):
    x = images(4) * 0.5 + 0.4
    out = perturbed(DeadLines(0.25, lines, 0.1), x)
    dead = np.isclose(out, 0.1).all(axis=(1, axis))
    assert (dead.sum(axis=1) == dead.shape[1] / 4).all()
    kept = np.broadcast_to(~np.expand_dims(dead, (1, axis)), x.shape)
    assert np.array_equal(out[kept], x[kept])


@pytest.mark.parametrize(("lines", "axis"), [("rows", 3), ("columns", 2)])
def test_bands_move_whole_lines_by_uniform_amounts(lines, axis):
    x = images(50)
    moved = perturbed(Banding(0.2, lines), x, bounds=None) - x
    amounts = np.take(moved[:, 0], 0, axis=axis - 1)
    expected = np.expand_dims(amounts, (1, axis)) * np.ones(x.shape)
    np.testing.assert_allclose(moved, expected, atol=1e-6)
    assert -0.2 <= amounts.min() < -0.19 and 0.19 < amounts.max() <= 0.2
    assert abs(amounts.mean()) < 4.5 * 0.2 / math.sqrt(3 * amounts.size)


def test_a_mosaic_keeps_one_colour_of_each_pixel():
    x = images(2)
    out = perturbed(Bayer(0.75), x)
    for y, i in itertools.product(range(24), range(20)):
        own = {(0, 0): 0, (1, 1): 2}.get((y % 2, i % 2), 1)
        for channel in range(3):
            share = 1.0 if channel == own else 0.25
            np.testing.assert_allclose(
                out[:, channel, y, i], share * x[:, channel, y, i], rtol=1e-5
            )


def test_mist_is_a_blur_mixed_with_white_on_its_share_of_the_area():
    x = images(3)
    blurred = ndimage.gaussian_filter(x, (0, 0, 0.04 * 24, 0.04 * 24), mode="nearest")
    mist = 0.55 * blurred + 0.45
    np.testing.assert_allclose(perturbed(Condensation(1.0), x), mist, atol=1e-5)
    half = perturbed(Condensation(0.5), x)
    covered = ((half - x) / (mist - x))[:, 0]
    assert np.abs(covered.mean(axis=(1, 2)) - 0.5).max() < 0.01
    assert np.abs(np.diff(covered, axis=1)).mean() < 0.08  # patches, not single pixels


@pytest.mark.parametrize("spots", [1, 20])
def test_dirt_covers_its_share_nearest_to_the_spots_first(spots):
    x = np.ones((6, *COLOUR), dtype=np.float32)
    made = Dirt(0.2, spots)
    order = drawn_for(made, x)
    source = stream(1, "s", "dirt", 0, x)
    places, sizes = source.uniform((6, spots, 2)), 0.3 + 0.7 * source.uniform((6, spots))
    rows, columns = np.mgrid[:24, :20] + 0.5
    for i in range(6):
        away = np.min(
            [
                np.hypot(rows - y * 24, columns - c * 20) / size
                for (y, c), size in zip(places[i], sizes[i], strict=True)
            ],
            axis=0,
        )
        expected = (np.argsort(np.argsort(away.ravel())) + 0.5) / 480
        assert np.abs(order[i].ravel() - expected).max() < 0.01
    brown = np.array([0.16, 0.12, 0.08])[:, None, None]
    covered = (1 - made.apply(x, order, 0.2, UNIT)) / (1 - brown)
    np.testing.assert_allclose(covered.mean(axis=(2, 3)), 0.2, atol=1e-3)
    np.testing.assert_allclose(covered[:, 0], covered[:, 2], atol=1e-5)


def test_a_flare_adds_light_that_falls_off():
    x = images(3)
    made = Flare(0.7)
    drawn = drawn_for(made, x)
    out = made.apply(x, drawn, 0.7, None)
    rows, columns = np.mgrid[:24, :20] + 0.5
    for i, (y, c) in enumerate(drawn):
        squared = (rows - y * 24) ** 2 + (columns - c * 20) ** 2
        expected = x[i] + 0.7 * np.exp(-squared / (0.3 * 24) ** 2)
        np.testing.assert_allclose(out[i], expected, atol=1e-5)


def squared_radius(height, width):
    rows, columns = np.mgrid[:height, :width]
    middle, centre = (height - 1) / 2, (width - 1) / 2
    return ((rows - middle) ** 2 + (columns - centre) ** 2) / (middle**2 + centre**2)


def test_corners_lose_the_stated_light_and_the_centre_none():
    x = images(2, (3, 9, 13))
    out = perturbed(Vignetting(0.6), x)
    np.testing.assert_allclose(out, x * (1 - 0.6 * squared_radius(9, 13)), atol=1e-6)
    np.testing.assert_allclose(out[..., 0, 0], 0.4 * x[..., 0, 0], atol=1e-6)
    assert np.array_equal(out[..., 4, 6], x[..., 4, 6])


def resampled(x, ys, xs):
    """Each channel of (channels, height, width) at these rows and columns, edges mirrored."""
    return np.stack([ndimage.map_coordinates(c, [ys, xs], order=1, mode="mirror") for c in x])


@pytest.mark.parametrize("level", [0.3, -0.3])
def test_a_lens_shows_what_is_further_out_by_the_square_of_the_distance(level):
    x = images(2)
    drawn = np.zeros((2, 0), dtype=np.float32)
    out = LensDistortion().apply(x, drawn, level, UNIT)
    rows, columns = np.mgrid[:24, :20]
    factor = 1 + level * squared_radius(24, 20)
    ys, xs = (rows - 11.5) * factor + 11.5, (columns - 9.5) * factor + 9.5
    np.testing.assert_allclose(out, [resampled(each, ys, xs) for each in x], atol=2e-5)


def test_red_is_enlarged_and_blue_shrunk():
    x = images(2)
    out = perturbed(ChromaticAberration(0.1), x)
    rows, columns = np.mgrid[:24, :20]
    for channel, factor in ((0, 1.1), (1, 1.0), (2, 0.9)):
        ys, xs = (rows - 11.5) / factor + 11.5, (columns - 9.5) / factor + 9.5
        for i in range(2):
            expected = resampled(x[i, channel : channel + 1], ys, xs)[0]
            np.testing.assert_allclose(out[i, channel], expected, atol=2e-5)


def test_white_balance_raises_red_and_lowers_blue():
    x = images(2)
    gains = np.array([1.4, 1.0, 0.6])[:, None, None]
    np.testing.assert_allclose(perturbed(WhiteBalance(0.4), x), np.clip(x * gains, 0, 1), atol=1e-6)
    bluish = WhiteBalance().apply(x, np.zeros((2, 0), np.float32), -0.4, UNIT)
    np.testing.assert_allclose(bluish, np.clip(x * gains[::-1], 0, 1), atol=1e-6)


def broken(x, impact, numbers, level):
    """One image behind a broken lens, pixel by pixel."""
    height, width = x.shape[1:]
    cracks, long = numbers.shape[1], math.hypot(height, width)
    angles = [2 * math.pi * (i + numbers[0, i]) / cracks - math.pi for i in range(cracks)]
    ys, xs, line, grey = (np.zeros((height, width)) for _ in range(4))
    for y, i in itertools.product(range(height), range(width)):
        down, right = y + 0.5 - impact[0] * height, i + 0.5 - impact[1] * width
        near = max(0.0, 1 - math.hypot(down, right) / (level * long))
        angle = math.atan2(down, right)
        shard = sum(angle >= a for a in angles) - 1  # -1: the last one
        size, towards = numbers[3, shard] * 0.06 * long, 2 * math.pi * numbers[2, shard]
        ys[y, i] = y + near * size * math.sin(towards)
        xs[y, i] = i + near * size * math.cos(towards)
        for k, a in enumerate(angles):
            ahead = down * math.sin(a) + right * math.cos(a)
            beside = abs(down * math.cos(a) - right * math.sin(a))
            apart = beside if ahead > 0 else math.hypot(down, right)
            covered = min(max(0.5 * near * max(1, long / 150) + 0.5 - apart, 0), 1)
            if covered > line[y, i]:
                line[y, i], grey[y, i] = covered, numbers[1, k]
        line[y, i] *= min(4 * near, 1)
    return resampled(x, ys, xs) * (1 - line) + line * grey


@pytest.mark.parametrize("level", [0.25, 1.0])
def test_a_broken_lens_has_cracks_and_shards(level):
    made, x = BrokenLens(level, cracks=5), images(3)
    impacts, numbers = drawn_for(made, x)
    out = made.apply(x, (impacts, numbers), level, UNIT)
    for i in range(3):
        expected = broken(x[i], impacts[i], numbers[i].astype(float), level)
        assert np.mean(np.abs(out[i] - expected) > 1e-4) <= 0.005
    rows, columns = np.mgrid[:24, :20] + 0.5
    away = [np.hypot(rows - y * 24, columns - c * 20) for y, c in impacts]
    beyond = np.broadcast_to((np.array(away) > level * math.hypot(24, 20))[:, None], x.shape)
    assert np.array_equal(out[beyond], x[beyond])
