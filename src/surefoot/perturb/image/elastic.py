"""Elastic distortion of images."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.definition import Choices, Levels, Presets, perturbation
from surefoot.perturb._ops.filters.mirrored_gaussian import filter_reach, mirrored_gaussian_filter
from surefoot.perturb._ops.severity import (
    PRESETS,
    SEVERITIES,
    SIZES,
    at_severity,
    is_small,
    rows_around,
)
from surefoot.perturb._ops.warp import warp
from surefoot.subject.protocols import Array, Level, Stream, View

_STRENGTHS = {
    "small": (
        (0.0, 32 * 0.2, 0.0),
        (0.0, 32 * 0.2, 32 * 0.08),
        (32 * 0.05, 32 * 0.2, 32 * 0.07),
        (32 * 0.08, 32 * 0.06, 32 * 0.06),
        (32 * 0.1, 32 * 0.04, 32 * 0.05),
        (32 * 0.1, 32 * 0.03, 32 * 0.03),
    ),
    "large": (
        (0.0, 244 * 0.7, 0.0),
        (244 * 2.0, 244 * 0.7, 244 * 0.1),
        (244 * 2.0, 244 * 0.08, 244 * 0.2),
        (244 * 0.05, 244 * 0.01, 244 * 0.02),
        (244 * 0.07, 244 * 0.01, 244 * 0.02),
        (244 * 0.12, 244 * 0.01, 244 * 0.02),
    ),
}
"""At severities 0 to 5, in pixels: pull and smoothness of the field, move of the corners."""


@perturbation
class Elastic:
    """A random affine transform, then every pixel displaced by a smooth random field.

    Hendrycks & Dietterich 2019, `elastic_transform`, in the order of their code. Three points, a
    third of the shorter edge from the centre, move by uniform amounts in ±corners, and the image
    with them (edges mirrored, edge pixel once). Then each pixel shows what lies at an offset of
    `pull` times a field of uniform numbers in ±1 under a Gaussian of deviation `smooth`, cut off
    at three deviations (edges mirrored, edge pixel twice). Both steps are bilinear. Lengths are in
    pixels, as published, whatever the size of the image; `size` "small" is for CIFAR-C, "large"
    for ImageNet-C, and by default the longer edge decides (up to 64 pixels: small).

    The level is the severity, 0 to 5. At whole severities the three parameters are the published
    ones; between them they are linear. From 0 to 1 pull and corners grow from 0 while `smooth`
    keeps its value of severity 1. (Small images have no pull at severity 1, so `smooth` is already
    that of severity 2 there.) The published parameters do not grow together: the affine transform
    fades while the field becomes finer and stronger, and a large image changes most at severity 2.
    So a higher level is a different distortion rather than always a stronger one.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "elastic"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    choices: ClassVar[Choices] = SIZES
    phrase: ClassVar[str] = "elastic distortion of severity {level} of 5"
    presets: ClassVar[Presets] = PRESETS

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Moves of three points (across, down), and a field of offsets across and one down."""
        return stream.uniform((n, 3, 2)), stream.uniform((n, 2, *shape[1:]))

    def apply(
        self, x: Array, drawn: tuple[Array, Array], level: Level, bounds: Interval | None
    ) -> Array:
        """First the affine transform, then the field."""
        points, noise = drawn
        table = _STRENGTHS["small" if is_small(self.size, tuple(x.shape)) else "large"]
        strengths, reach = _strengths(level, x, table)
        pull, smooth, corners = strengths[:, 0], strengths[:, 1], strengths[:, 2]
        moved = warp(x, *_affine_coordinates(points, corners, x), "mirror", bounds)
        if reach == 0:
            return moved
        noise = noise * 2
        noise -= 1
        fields = mirrored_gaussian_filter(noise, smooth, reach)
        fields *= pull[..., None]
        rows, columns = _pixel_coordinates(x)
        xs, ys = fields[:, 0], fields[:, 1]
        xs += columns
        ys += rows
        return warp(moved, ys, xs, "symmetric", bounds)


def _strengths(
    level: Level, x: Array, table: tuple[tuple[float, float, float], ...]
) -> tuple[Array, int]:
    """Pull, smoothness and corners at this level, (n or 1, 3, 1, 1); and the filter's reach.

    The reach is that of the widest Gaussian of any row; 0 where there is no pull.
    """
    if isinstance(level, int | float):
        mixed = at_severity(level, table)
        strengths = place_like(np.asarray([mixed], dtype=np.float32), x)
        return strengths[:, :, None, None], filter_reach(mixed[1]) if mixed[0] else 0
    below, above, share = rows_around(level, table)
    strengths = (
        below * (1 - share) + above * share
    )  # rounds unlike `at_severity`: results stay the same
    return strengths[:, :, None, None], filter_reach(max(row[1] for row in table))


def _affine_coordinates(points: Array, corners: Array, x: Array) -> tuple[Array, Array]:
    """The row and column that each pixel comes from when three points have moved.

    The points are right and below the middle, right and above, left and above. Where they come to
    lie on one line the transform cannot be inverted: it then stops just short of that.
    """
    xp, (height, width) = array_namespace(x), x.shape[2:]
    reach = 2.0 * max(min(height, width) // 3, 1)
    x_of, y_of = width // 2 + reach / 2, height // 2 - reach / 2
    by = ((points * 2 - 1) * corners)[..., None, None]
    below, corner, left = by[:, 0], by[:, 1], by[:, 2]
    ax, ay = below[:, 0] - corner[:, 0], below[:, 1] - corner[:, 1] + reach
    bx, by = left[:, 0] - corner[:, 0] - reach, left[:, 1] - corner[:, 1]
    area = ax * by - ay * bx
    least = xp.full_like(area, 1e-3 * reach * reach)
    area = xp.where(xp.abs(area) < least, least, area)
    rows, columns = _pixel_coordinates(x)
    rows, columns = (rows - y_of) - corner[:, 1], (columns - x_of) - corner[:, 0]
    ys = (rows * (-reach * bx / area) + y_of) + columns * (reach * by / area)
    xs = (columns * (reach * ay / area) + x_of) - rows * (reach * ax / area)
    return ys, xs


def _pixel_coordinates(x: Array) -> tuple[Array, Array]:
    """Rows (1, height, 1) and columns (1, 1, width) of the pixels."""
    xp = array_namespace(x)
    rows = xp.arange(x.shape[2], dtype=x.dtype, device=device(x))
    columns = xp.arange(x.shape[3], dtype=x.dtype, device=device(x))
    return rows[None, :, None], columns[None, None, :]
