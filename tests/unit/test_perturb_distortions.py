"""Perspective and elastic changes against their formulas and the published definition."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from surefoot.perturb.image.geometry import (
    Elastic,
    Perspective,
)
from tests.unit.test_perturb_geometry import UNIT, drawn_for, images, sampled


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


def test_elastic_goes_by_the_size_of_the_image():
    made = Elastic(2.0)
    for edge, size in ((64, "small"), (65, "large")):
        x = images(1, 1, 20, edge)
        told = Elastic(2.0, size).apply(x, drawn_for(made, x), 2.0, UNIT)
        assert np.array_equal(made.apply(x, drawn_for(made, x), 2.0, UNIT), told)
