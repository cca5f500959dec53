"""Images pulled out of shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.perturb._ops.levels import copy_rows, is_zero
from surefoot.perturb._ops.linear import BandMatrix, band_matrix, multiply_axes
from surefoot.perturb._ops.severity import (
    LONGEST_SMALL,
    PRESETS,
    SEVERITIES,
    check_severity,
    is_small,
)
from surefoot.perturb._ops.warp import warp
from surefoot.results import Interval
from surefoot.subject import Array, Level, Stream, View

_TRUNCATE = 3.0
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
"""At severities 0 to 5: how far the field pulls, how smooth it is, how far the corners move."""


@dataclass(frozen=True)
class Elastic:
    """A random affine change, then every pixel pulled aside by a smooth random field.

    Hendrycks & Dietterich 2019, in the order of their published code. Three points, a third of the
    shorter edge from the centre, move by uniform amounts in ±corners, and the image with them
    (edges mirrored, edge pixel once). Then each pixel shows what lies at an offset of pull times a
    field of uniform numbers in ±1 under a Gaussian of deviation `smooth`, cut off at three
    deviations (edges mirrored, edge pixel twice). Both steps are bilinear. Lengths are in pixels,
    as published, whatever the size of the image; `size` "small" is for CIFAR-C, "large" for
    ImageNet-C, and by default the longer edge decides (up to 64 pixels: small).

    The level is the severity, 0 to 5. At 1, 2, 3, 4 and 5 the three strengths are the published
    ones; between them they change linearly. From 0 to 1 pull and corners grow from nothing while
    `smooth` keeps its value of severity 1, since a field without pull has no smoothness. (Small
    images have no pull at severity 1, so `smooth` is already that of severity 2 there.) The
    published strengths do not grow in step: the affine change fades while the field becomes finer
    and stronger, and a large image changes most at severity 2. So a higher level is another
    kind of distortion rather than always more of it.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "elastic"
    view: ClassVar[View] = View.IMAGE
    phrase: ClassVar[str] = "an elastic distortion of severity {level}"
    presets: ClassVar[dict[str, tuple[float, ...]]] = PRESETS

    def __post_init__(self) -> None:
        check_severity(self.kind, self.level, self.size)

    def levels(self, bounds: Interval | None) -> Interval:
        """Severities."""
        return SEVERITIES

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Moves of three points (across, down), and a field of offsets across and one down."""
        return stream.uniform((n, 3, 2)), stream.uniform((n, 2, *shape[1:]))

    def apply(
        self, x: Array, drawn: tuple[Array, Array], level: Level, bounds: Interval | None
    ) -> Array:
        """First the affine change, then the field."""
        points, noise = drawn
        if is_zero(level):
            return copy_rows(x, len(points))
        table = _STRENGTHS["small" if is_small(self.size, tuple(x.shape)) else "large"]
        strengths, reach = _strengths(level, x, table)
        pull, smooth, corners = strengths[:, 0], strengths[:, 1], strengths[:, 2]
        moved = warp(x, *_affine_coordinates(points, corners, x), "mirror", bounds)
        if reach == 0:
            return moved
        noise = noise * 2
        noise -= 1
        fields = mirrored_gaussian_filter(noise, smooth, int(reach))
        fields *= pull[..., None]
        rows, columns = _pixel_coordinates(x)
        xs, ys = fields[:, 0], fields[:, 1]
        xs += columns
        ys += rows
        return warp(moved, ys, xs, "symmetric", bounds)


def _strengths(
    level: Level, x: Array, table: tuple[tuple[float, float, float], ...]
) -> tuple[Array, float]:
    """Pull, smoothness and move of the points at this level, (n or 1, 3, 1, 1); and the reach.

    The reach is how far the Gaussian of any row goes; 0 when it is known that nothing pulls.
    """
    xp = array_namespace(x)
    if isinstance(level, int | float):
        mixed = [float(np.interp(level, range(6), column)) for column in zip(*table, strict=True)]
        found = xp.asarray([mixed], dtype=x.dtype, device=device(x))
        return found[:, :, None, None], _TRUNCATE * mixed[1] + 0.5 if mixed[0] else 0.0
    known = xp.asarray(table, dtype=x.dtype, device=device(x))
    lower = xp.clip(xp.floor(level), 0, 4)
    share = xp.astype(level - lower, x.dtype)[:, None]
    index = xp.astype(lower, xp.int64)
    under, over = xp.take(known, index, axis=0), xp.take(known, index + 1, axis=0)
    found = under * (1 - share) + over * share
    return found[:, :, None, None], _TRUNCATE * max(row[1] for row in table) + 0.5


def _affine_coordinates(points: Array, corners: Array, x: Array) -> tuple[Array, Array]:
    """Rows and columns each pixel comes from when three points have moved.

    The points are right and below the middle, right and above, left and above. Where they come to
    lie on one line the change cannot be undone: it then stops just short of that.
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


def mirrored_gaussian_filter(fields: Array, deviation: Array, reach: int) -> Array:
    """Fields (n, 2, height, width) under a Gaussian for each row, edges mirrored (pixel twice).

    A product of matrices along each axis, a block at a time: most of a matrix is zero when the
    Gaussian does not reach far.
    """
    xp, (height, width) = array_namespace(fields), fields.shape[2:]
    if len(deviation) == 1 and (isinstance(fields, np.ndarray) or fields.device.type == "cpu"):
        one = float(deviation[0, 0, 0])
        return multiply_axes(
            fields, _band_matrix(one, height, reach), _band_matrix(one, width, reach)
        )
    down = _mirrored_gaussian_matrices(deviation, height, reach)
    across = down if width == height else _mirrored_gaussian_matrices(deviation, width, reach)
    parts = [
        xp.matmul(down[:, :, block, near], fields[:, :, near, :])
        for block, near in _blocks_within_reach(height, reach)
    ]
    tall = parts[0] if len(parts) == 1 else xp.concat(parts, axis=2)
    parts = [
        xp.matmul(tall[:, :, :, near], across[:, :, near, block])
        for block, near in _blocks_within_reach(width, reach)
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=3)


@lru_cache(maxsize=64)
def _band_matrix(deviation: float, size: int, reach: int) -> BandMatrix:
    """The matrix of one deviation, kept for the next call."""
    return band_matrix(
        _mirrored_gaussian_matrices(np.full((1, 1, 1), deviation, dtype=np.float32), size, reach)[
            :, 0
        ]
    )


def _blocks_within_reach(size: int, reach: int) -> list[tuple[slice, slice]]:
    """Cuts of an axis, each with the cut that lies within reach of it."""
    step = 16 if size <= LONGEST_SMALL else 32
    step = size if 2 * reach + step >= size else step
    return [
        (slice(at, at + step), slice(max(at - reach, 0), at + step + reach))
        for at in range(0, size, step)
    ]


def _mirrored_gaussian_matrices(deviation: Array, size: int, reach: int) -> Array:
    """Symmetric matrices (n, 1, size, size) that smooth one axis; no Gaussian exceeds the reach.

    In a mirror a row of pixels repeats after twice its length, so the kernel is first summed over
    all its repetitions.
    """
    xp, period = array_namespace(deviation), 2 * size
    turns = math.ceil(reach / period)
    at = xp.arange(-turns * period, (turns + 1) * period, device=device(deviation))
    at = xp.astype(at, deviation.dtype)
    inside = xp.abs(at) <= xp.floor(_TRUNCATE * deviation + 0.5)
    weights = xp.exp(at * at / (-2 * deviation * deviation)) * xp.astype(inside, deviation.dtype)
    kernel = xp.sum(xp.reshape(weights, (len(deviation), -1, period)), axis=1)
    kernel = kernel / xp.sum(kernel, axis=1, keepdims=True)
    here = xp.arange(size, device=device(deviation))
    straight, mirrored = here[None, :] - here[:, None], -1 - here[None, :] - here[:, None]
    matrix = xp.take(kernel, xp.reshape(straight % period, (-1,)), axis=1)
    matrix = matrix + xp.take(kernel, xp.reshape(mirrored % period, (-1,)), axis=1)
    return xp.reshape(matrix, (len(deviation), 1, size, size))


def _pixel_coordinates(x: Array) -> tuple[Array, Array]:
    """Rows (1, height, 1) and columns (1, 1, width) of the pixels."""
    xp = array_namespace(x)
    rows = xp.arange(x.shape[2], dtype=x.dtype, device=device(x))
    columns = xp.arange(x.shape[3], dtype=x.dtype, device=device(x))
    return rows[None, :, None], columns[None, None, :]
