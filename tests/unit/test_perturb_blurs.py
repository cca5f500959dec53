"""Blurs against SciPy and the published definitions: Gaussian, lens, motion, zoom, glass."""

import math

import numpy as np
import pytest
from scipy import ndimage

from surefoot.perturb._ops.convolution import convolve
from surefoot.perturb.image.blur import (
    DefocusBlur,
    GaussianBlur,
    GlassBlur,
    MotionBlur,
    ZoomBlur,
    gather_pixels,
    origins_after_swaps,
    swap_partners,
)
from tests.unit.test_perturb_images import UNIT, drawn_for, perturbed, scene


@pytest.mark.parametrize("deviation", [0.05, 0.4, 1.0, 2.7, 6.0, 30.0])
@pytest.mark.parametrize("shape", [(32, 32), (13, 90), (2, 1)])
def test_a_gaussian_blur_is_that_of_scipy_with_the_edge_continued(deviation, shape):
    """What `skimage.filters.gaussian(mode="nearest", truncate=4)` calls."""
    x = np.random.default_rng(2).random((2, 3, *shape), dtype=np.float32)
    expected = ndimage.gaussian_filter(
        x.astype(np.float64), (0, 0, deviation, deviation), mode="nearest", truncate=4.0
    )
    np.testing.assert_allclose(perturbed(GaussianBlur(deviation), x), expected, atol=1e-6)


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 7), (9, 9), (21, 41)])
def test_convolution_is_that_of_scipy_with_mirrored_edges(torch, size):
    rng = np.random.default_rng(3)
    x = rng.random((4, 3, 9, 13), dtype=np.float32)
    kernels = rng.random((4, *size), dtype=np.float32)
    kernels /= kernels.sum(axis=(1, 2), keepdims=True)
    expected = [
        [ndimage.convolve(c.astype(np.float64), k, mode="mirror") for c in image]
        for image, k in zip(x, kernels, strict=True)
    ]
    out = convolve(x, kernels)
    np.testing.assert_allclose(out, expected, atol=1e-6)
    theirs = convolve(torch.from_numpy(x), torch.from_numpy(kernels)).numpy()
    np.testing.assert_allclose(theirs, out, atol=1e-6)
    np.testing.assert_allclose(convolve(x[:1], kernels)[0], out[0], atol=1e-6)
    np.testing.assert_allclose(convolve(x, kernels[:1])[0], out[0], atol=1e-6)


DISKS = {
    "small": [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)],
    "large": [(3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)],
}


def published_disk(radius, deviation):
    """A 0/1 disk, normalised, under a Gaussian of 3 or 5 taps with mirrored edges."""
    reach, taps = (8, 1) if radius <= 8 else (int(radius), 2)
    i = np.arange(-reach, reach + 1)
    disk = ((i[:, None] ** 2 + i**2) <= radius**2).astype(np.float64)
    soft = np.exp(-0.5 * (np.arange(-taps, taps + 1) / deviation) ** 2)
    soft /= soft.sum()
    smooth = ndimage.correlate1d(disk / disk.sum(), soft, axis=0, mode="mirror")
    return ndimage.correlate1d(smooth, soft, axis=1, mode="mirror")


@pytest.mark.parametrize("size", DISKS)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_a_lens_out_of_focus_is_the_published_disk(size, severity):
    """Within 1e-6 up to radius 6; at 8 and 10 the published kernel sums to 1.01, ours to 1."""
    x = scene(2, (3, 40, 40))
    kernel = published_disk(*DISKS[size][severity - 1])
    excess = kernel.sum() - 1
    assert excess < 0.02
    expected = ndimage.convolve(x.astype(np.float64), kernel[None, None], mode="mirror")
    out = perturbed(DefocusBlur(float(severity), size=size), x, bounds=None)
    np.testing.assert_allclose(out, expected, atol=1e-6 + 1.2 * excess)


LINES = {
    "small": [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)],
    "large": [(10, 3), (15, 5), (15, 8), (15, 12), (20, 15)],
}


def published_motion(x, radius, deviation, angle, order):
    """Weights of a one-sided Gaussian at 2 · radius + 1 points along the angle, edges mirrored.

    Order 1 reads between the pixels; order 0 the nearest pixel, as ImageMagick does.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-0.5 * (steps / deviation) ** 2)
    weights /= weights.sum()
    row, column = np.mgrid[: x.shape[-2], : x.shape[-1]].astype(np.float64)
    total = np.zeros(x.shape)
    for step, weight in zip(steps, weights, strict=True):
        at = [row + step * math.sin(angle), column + step * math.cos(angle)]
        for image in np.ndindex(x.shape[:2]):
            total[image] += weight * ndimage.map_coordinates(
                x[image].astype(np.float64), at, order=order, mode="mirror"
            )
    return total


@pytest.mark.parametrize("size", LINES)
@pytest.mark.parametrize("severity", [1, 3, 5])
@pytest.mark.parametrize("degrees", [-45.0, -12.0, 0.0, 31.0])
def test_motion_is_the_published_line(size, severity, degrees):
    """Within 2e-6 of points read between the pixels; not far from the nearest pixels."""
    x = scene(1, (3, 48, 48))
    radius, deviation = LINES[size][severity - 1]
    out = perturbed(MotionBlur(float(severity), angle=degrees, size=size), x, bounds=None)
    angle = math.radians(degrees)
    np.testing.assert_allclose(
        out, published_motion(x, radius, deviation, angle, order=1), atol=2e-6
    )
    nearest = published_motion(x, radius, deviation, angle, order=0)
    assert np.abs(out - nearest).mean() < 0.5 * np.abs(out - x).mean()


def test_random_motion_has_angles_evenly_within_45_degrees():
    made, x = MotionBlur(5.0), scene(1, (3, 24, 24))
    drawn = np.linspace(0, 1, 9, dtype=np.float32)
    out = made.apply(x, drawn, 5.0, None)
    for row, degrees in zip(out, np.linspace(-45, 45, 9), strict=True):
        fixed = MotionBlur(5.0, angle=float(degrees)).apply(x, drawn[:1], 5.0, None)[0]
        np.testing.assert_allclose(row, fixed, atol=1e-5)


def published_zooms(x, factors):
    """(x + the sum of its enlargements) / (count + 1), each read off linearly about the centre."""
    height, width = x.shape[-2:]
    row, column = np.mgrid[:height, :width].astype(np.float64)
    total = x.astype(np.float64)
    for z in factors:
        at = [
            (height - 1) / 2 * (1 - 1 / z) + row / z,
            (width - 1) / 2 * (1 - 1 / z) + column / z,
        ]
        for image in np.ndindex(x.shape[:2]):
            total[image] += ndimage.map_coordinates(
                x[image].astype(np.float64), at, order=1, mode="nearest"
            )
    return total / (len(factors) + 1)


@pytest.mark.parametrize("shape", [(32, 32), (21, 30), (70, 90)])
@pytest.mark.parametrize(("count", "step"), [(7, 0.01), (26, 0.01), (11, 0.03)])
def test_a_zoom_blur_is_the_mean_of_the_published_enlargements(shape, count, step):
    x = np.random.default_rng(6).random((2, 1, *shape), dtype=np.float32)
    made = ZoomBlur(step * (count - 1), step=step)
    expected = published_zooms(x, 1 + step * np.arange(count))
    np.testing.assert_allclose(perturbed(made, x), expected, atol=2e-6)
    each = perturbed(made, x, np.full(2, made.level, dtype=np.float32))
    np.testing.assert_allclose(each, expected, atol=1e-5)


def test_zoom_presets_are_the_last_published_enlargements():
    """As `numpy.arange` gives them, which sometimes takes in the end."""
    ends = {
        "small": [(1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)],
        "large": [(1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)],
    }
    for size, given in ends.items():
        last = [np.arange(1, end, step)[-1] - 1 for end, step in given]
        np.testing.assert_allclose(ZoomBlur.presets[size], last, atol=1e-9)


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


def test_glass_is_a_blur_before_and_after_the_swaps():
    """Severity 4 of small images: deviation 0.25, two rounds within one pixel."""
    x, made = scene(2), GlassBlur(4.0)
    drawn = drawn_for(made, x, 2)
    goals = swap_partners(drawn[:, 1:3], drawn[:, :1], 1.0, 1.0)
    soft = ndimage.gaussian_filter(x, (0, 0, 0.25, 0.25), mode="nearest")
    mixed = [
        f[:, in_turn(g).reshape(-1)].reshape(3, 32, 32)
        for f, g in zip(soft.reshape(2, 3, -1), goals, strict=True)
    ]
    expected = ndimage.gaussian_filter(np.array(mixed), (0, 0, 0.25, 0.25), mode="nearest")
    np.testing.assert_allclose(made.apply(x, drawn, 4.0, UNIT), expected, atol=2e-6)
