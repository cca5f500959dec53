"""Turned, moved, enlarged, slanted and distorted images, against SciPy, Pillow and formulas."""

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from surefoot.core.results import Interval
from surefoot.perturb._ops.warp import Edge, warp
from surefoot.perturb.image.geometry import (
    Elastic,
    Perspective,
    Rotation,
    Shear,
    TranslationX,
    TranslationY,
    Zoom,
)
from tests.unit.test_perturb_images import UNIT, drawn_for, kinds

SCIPY = {
    "mirror": "mirror",
    "symmetric": "reflect",
    "nearest": "nearest",
    "black": "grid-constant",
}
DIRECTED = [Rotation(12.0), TranslationX(0.15), TranslationY(0.15), Zoom(0.3), Shear(10.0)]


def images(n, channels, height, width, seed=0):
    return np.random.default_rng(seed).random((n, channels, height, width), dtype=np.float32)


def sampled(image, ys, xs, edge, fill=0.0):
    """By SciPy, in double precision."""
    at = np.stack(np.broadcast_arrays(ys, xs))
    planes = [
        map_coordinates(plane.astype(float), at, order=1, mode=SCIPY[edge], cval=fill)
        for plane in image
    ]
    return np.stack(planes)


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("reach", [1.0, 10.0])
def test_warping_is_bilinear_and_continues_the_image_as_it_says(edge, reach):
    """Against SciPy, near the image and several images away."""
    x = images(4, 3, 9, 13)
    rng = np.random.default_rng(1)
    ys = (9 * reach * (rng.random((4, 7, 5)) - 0.5) + 4).astype(np.float32)
    xs = (13 * reach * (rng.random((4, 7, 5)) - 0.5) + 6).astype(np.float32)
    found = warp(x, ys, xs, edge, Interval(-0.5, 1.5))
    apart = warp(x, ys[:, :, :1], xs[:, :1], edge, Interval(-0.5, 1.5))
    for row in range(4):
        truth = sampled(x[row], ys[row], xs[row], edge, -0.5)
        np.testing.assert_allclose(found[row], truth, atol=2e-5)
        truth = sampled(x[row], ys[row, :, :1], xs[row, :1], edge, -0.5)
        np.testing.assert_allclose(apart[row], truth, atol=2e-5)


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("shape", [(3, 32, 32), (3, 9, 13), (1, 224, 200), (3, 1, 6), (1, 5, 1)])
def test_a_image_sampled_at_its_own_pixels_is_itself_value_for_value(edge, place, shape):
    x = images(5, *shape)
    j, i = np.mgrid[: shape[1], : shape[2]].astype(np.float32)
    whole = warp(place(x), place(j[None]), place(i[None]), edge, UNIT)
    apart = warp(place(x), place(j[None, :, :1]), place(i[None, :1]), edge, UNIT)
    assert np.array_equal(whole, x)
    assert np.array_equal(apart, x)


@pytest.mark.parametrize(("n", "edge"), [(130, 28), (3, 224)])
def test_a_warped_row_does_not_depend_on_how_many_are_warped_with_it(n, edge):
    """More images than are worked on together, and images of which parts are."""
    x = images(n, 2, edge, edge)
    shape = (2, n, edge, edge)
    ys, xs = 2 * edge * np.random.default_rng(2).random(shape, dtype=np.float32) - edge / 2
    together = warp(x, ys, xs, "mirror", UNIT)
    for row in {0, 1, n // 2, n - 1}:
        one = slice(row, row + 1)
        assert np.array_equal(warp(x[one], ys[one], xs[one], "mirror", UNIT)[0], together[row])
        assert np.array_equal(warp(x[one], ys, xs, "mirror", UNIT)[row], together[row])


def came_from(made, level, height, width):
    """Rows and columns each pixel comes from, pixel by pixel, from the definition in words."""
    ys, xs = np.empty((2, height, width))
    for j in range(height):
        for i in range(width):
            right, up = i - (width - 1) / 2, (height - 1) / 2 - j
            match made.kind:
                case "rotation":
                    turned = (right + 1j * up) * np.exp(-1j * math.radians(level))
                    right, up = turned.real, turned.imag
                case "translate-x":
                    right -= level * width
                case "translate-y":
                    up += level * height
                case "zoom":
                    right, up = right / (1 + level), up / (1 + level)
                case "shear":
                    right -= up * math.tan(math.radians(level))
            ys[j, i], xs[j, i] = (height - 1) / 2 - up, (width - 1) / 2 + right
    return ys, xs


@kinds(DIRECTED)
@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("sign", [1, -1])
def test_directed_changes_are_what_they_say_in_both_directions(made, edge, sign):
    x, level = images(2, 3, 11, 17), sign * made.level
    found = type(made)(made.level, edge).apply(x, drawn_for(made, x), level, UNIT)
    for row in range(2):
        truth = sampled(x[row], *came_from(made, level, 11, 17), edge)
        np.testing.assert_allclose(found[row], truth, atol=2e-5)


def test_a_quarter_turn_is_counter_clockwise():
    x = images(1, 3, 8, 8)
    found = Rotation(90.0).apply(x, drawn_for(Rotation(90.0), x), 90.0, UNIT)
    np.testing.assert_allclose(found, np.rot90(x, axes=(2, 3)), atol=1e-5)


def test_black_is_the_lowest_value():
    x = images(1, 1, 8, 8)
    made = TranslationX(1.0, "black")
    assert np.all(made.apply(x, drawn_for(made, x), 1.0, Interval(-1.0, 1.0)) == -1)


@pytest.mark.parametrize("level", [0.1, 0.5])
def test_a_perspective_brings_the_corners_where_they_were_drawn(level):
    """Against the eight linear equations of a projection, solved for each trial."""
    x, made = images(20, 3, 9, 13), Perspective(level)
    moves = drawn_for(made, x)
    found = made.apply(x, moves, level, UNIT)
    corners = np.array([(0, 0), (12, 0), (12, 8), (0, 8)], float)
    inwards = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (6, 4)
    j, i = np.mgrid[:9, :13].astype(float)
    for row in range(20):
        ends = corners + moves[row] * inwards * level
        equations, right = [], []
        for (u, v), (s, t) in zip(ends, corners, strict=True):
            equations += [(u, v, 1, 0, 0, 0, -s * u, -s * v), (0, 0, 0, u, v, 1, -t * u, -t * v)]
            right += [s, t]
        a, b, c, d, e, f, g, h = np.linalg.solve(equations, right)
        under = g * i + h * j + 1
        truth = sampled(x[row], (d * i + e * j + f) / under, (a * i + b * j + c) / under, "mirror")
        np.testing.assert_allclose(found[row], truth, atol=1e-3)


SMALL = [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)]
LARGE = [(2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)]


def published_elastic(image, points, noise, strengths):
    """Hendrycks & Dietterich 2019, appendix and code, with SciPy; the draws are given."""
    alpha, sigma, affine = strengths
    height, width = image.shape[1:]
    middle, square = np.array([width // 2, height // 2]), min(height, width) // 3
    before = middle + square * np.array([[1, 1], [1, -1], [-1, -1]])
    after = before + affine * (2.0 * points - 1)
    back = np.linalg.solve(np.c_[after, np.ones(3)], before)
    j, i = np.mgrid[:height, :width].astype(float)
    xs, ys = np.moveaxis(np.stack([i, j, np.ones_like(i)], axis=-1) @ back, -1, 0)
    moved = sampled(image, ys, xs, "mirror")
    if alpha == 0:
        return moved
    dx, dy = (
        gaussian_filter(2.0 * field - 1, sigma, mode="reflect", truncate=3) * alpha
        for field in noise
    )
    return sampled(moved, j + dy, i + dx, "symmetric")


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("size", "shape"), [("small", (3, 32, 32)), ("large", (1, 120, 96))])
def test_elastic_is_the_published_one_at_every_severity(severity, size, shape):
    """Within 2e-3: a step across a sharp pixel magnifies the rounding of its coordinate.

    The large strengths at severity 2 can turn three points into a line; those are left out.
    """
    unit, shares = (32, SMALL) if size == "small" else (244, LARGE)
    strengths = tuple(unit * share for share in shares[severity - 1])
    x, made = images(3, *shape), Elastic(float(severity), size)
    points, noise = drawn_for(made, x)
    points = 0.5 + 0.4 * (points - 0.5) if (size, severity) == ("large", 2) else points
    found = made.apply(x, (points, noise), float(severity), UNIT)
    for row in range(3):
        truth = published_elastic(x[row], points[row], noise[row], strengths)
        np.testing.assert_allclose(found[row], truth, atol=2e-3)
