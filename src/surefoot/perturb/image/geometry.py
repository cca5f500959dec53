"""Geometric transforms of images: rotation, translation, zoom, shear, perspective.

Each one computes where every pixel comes from and interpolates there bilinearly, so the effect is
continuous in the level. Only `Perspective` is random. A negative level is the other direction.
`edge` says what lies outside of the image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.definition import (
    Directed,
    Levels,
    OfImages,
    OfSeverities,
    Table,
    Uniform,
    at_severity,
    perturbation,
    rows_around,
)
from surefoot.perturb._ops.matrices import filter_reach, mirrored_gaussian_filter
from surefoot.perturb._ops.pixels import centred_axes, level_array, pixel_axes
from surefoot.perturb._ops.warp import EDGES, warp, warp_projected
from surefoot.subject.protocols import Array, Level, Stream


@dataclass(frozen=True)
class Geometric(Directed):
    """What transforms share that say where each pixel comes from."""

    edge: str = field(default="mirror", metadata=EDGES)

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """The row and the column that each pixel comes from."""
        raise NotImplementedError

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Interpolate where the pixels come from."""
        return warp(x, *self.source(x, level_array(level, x)), self.edge, bounds)


@perturbation
class Rotation(Geometric):
    """Rotated about the centre by `level` degrees, counter-clockwise. Not random."""

    kind = "rotation"
    levels = Levels(180.0, "degrees")
    phrase = "rotation by {level} degrees about the centre"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Each pixel comes from where the opposite rotation brings it."""
        xp, angle = array_namespace(x), level * (math.pi / 180)
        cos, sin = xp.cos(angle), xp.sin(angle)
        down, right, middle, centre = centred_axes(x)
        ys = (cos * down + middle) + sin * right
        xs = (cos * right + centre) - sin * down
        return ys, xs


@perturbation
class TranslationX(Geometric):
    """Moved right by the share `level` of the width, also by parts of a pixel. Not random."""

    kind = "translate-x"
    levels = Levels(1.0, "share of the width")
    phrase = "translation to the right by {level} of the width"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Each pixel comes from further left."""
        down, right, middle, centre = centred_axes(x)
        return down + middle, (right + centre) - level * x.shape[3]


@perturbation
class TranslationY(Geometric):
    """Moved down by the share `level` of the height, also by parts of a pixel. Not random."""

    kind = "translate-y"
    levels = Levels(1.0, "share of the height")
    phrase = "translation downwards by {level} of the height"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Each pixel comes from further up."""
        down, right, middle, centre = centred_axes(x)
        return (down + middle) - level * x.shape[2], right + centre


@perturbation
class Zoom(Geometric):
    """Enlarged about the centre to 1 + `level` times the size; a negative level shrinks.

    Shrinking does not average pixels. A level below -0.9 means -0.9. Not random.
    """

    kind = "zoom"
    levels = Levels(9.0, "share of the size added")
    least = -0.9
    phrase = "zoom about the centre to 1 + {level} times the size"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Each pixel comes from nearer to the centre."""
        factor = array_namespace(x).clip(level + 1.0, 0.1)
        down, right, middle, centre = centred_axes(x)
        return down / factor + middle, right / factor + centre


@perturbation
class Shear(Geometric):
    """Vertical lines lean to the right by `level` degrees; the middle row stays. Not random."""

    kind = "shear"
    levels = Levels(80.0, "degrees")  # at 90 pixels move infinitely far
    phrase = "horizontal shear by {level} degrees"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Rows above the centre come from further left, rows below from further right."""
        slope = array_namespace(x).tan(level * (math.pi / 180))
        down, right, middle, centre = centred_axes(x)
        return down + middle, (right + centre) + slope * down


@perturbation
class Perspective(OfImages):
    """A random perspective: each corner moves inwards by two independent uniform amounts.

    Along an edge of the image a corner moves by up to `level` times half that edge. This is the
    distortion that Torchvision and Kornia call `distortion_scale`, without rounding the corners to
    pixels. Above a level of about 0.5 the corners can come to lie so that a part of the image is
    mirrored.
    """

    edge: str = field(default="mirror", metadata=EDGES)
    kind = "perspective"
    levels = Levels(1.0, "share of half an edge")
    draw = Uniform((4, 2))
    signed = True
    phrase = (
        "a random perspective: every corner moves inwards by uniform amounts of up to {level} "
        "of half the edges"
    )

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from where the inverse projection takes it."""
        tall, wide = max(x.shape[2] - 1, 1), max(x.shape[3] - 1, 1)
        across, along, weight = _projection(drawn * (0.5 * level_array(level, x)))
        down, right, middle, centre = centred_axes(x)
        down, right = down + middle, right + centre
        rows = (
            along[1] * down + along[2] * tall,
            across[1] * (wide / tall) * down,
            weight[1] / tall * down,
        )
        columns = (
            along[0] * (tall / wide) * right,
            across[0] * right + across[2] * wide,
            weight[0] / wide * right + weight[2],
        )
        stack = array_namespace(x).stack
        down, right = stack([r[..., 0] for r in rows], axis=1), stack([c[:, 0] for c in columns], 1)
        return warp_projected(x, down, right, self.edge, bounds)


def _projection(moves: Array) -> tuple[tuple[Array, Array, Array], ...]:
    """The projection that brings the moved corners back to those of the unit square.

    Three rows of a 3 × 3 matrix, up to a common factor; each entry is of shape (n, 1, 1). Heckbert
    1989, section 2.2.3, gives the projection from the square to the corners; this is its adjugate.
    """
    at = moves[..., None, None]
    x0, x1, x2, x3 = at[:, 0, 0], 1 - at[:, 1, 0], 1 - at[:, 2, 0], at[:, 3, 0]
    y0, y1, y2, y3 = at[:, 0, 1], at[:, 1, 1], 1 - at[:, 2, 1], 1 - at[:, 3, 1]
    px, py = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    ux, uy, vx, vy = x1 - x2, y1 - y2, x3 - x2, y3 - y2
    i = ux * vy - vx * uy
    g, h = px * vy - vx * py, ux * py - px * uy
    a, b, c = i * (x1 - x0) + g * x1, i * (x3 - x0) + h * x3, i * x0
    d, e, f = i * (y1 - y0) + g * y1, i * (y3 - y0) + h * y3, i * y0
    return (
        (e * i - f * h, c * h - b * i, b * f - c * e),
        (f * g - d * i, a * i - c * g, c * d - a * f),
        (d * h - e * g, b * g - a * h, a * e - b * d),
    )


def _in_pixels(edge: int, *shares: tuple[float, float, float]) -> Table:
    return tuple(tuple(edge * share for share in row) for row in shares)


# At severities 0 to 5: pull and smoothness of the field, move of the corners. Published as shares
# of an edge of 32 or 244 pixels, and used as so many pixels whatever the size of the image.
_ELASTIC_SMALL = _in_pixels(
    32, (0, 0.2, 0), (0, 0.2, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05),
    (0.1, 0.03, 0.03),
)  # fmt: skip
_ELASTIC_LARGE = _in_pixels(
    244, (0, 0.7, 0), (2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02),
    (0.12, 0.01, 0.02),
)  # fmt: skip


@perturbation
class Elastic(OfSeverities):
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

    kind = "elastic"
    phrase = "elastic distortion of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Moves of three points (across, down), and a field of offsets across and one down."""
        return stream.uniform((n, 3, 2)), stream.uniform((n, 2, *shape[1:]))

    def apply(
        self, x: Array, drawn: tuple[Array, Array], level: Level, bounds: Interval | None
    ) -> Array:
        """First the affine transform, then the field."""
        points, noise = drawn
        strengths, reach = _strengths(level, x, self.table(x.shape, _ELASTIC_SMALL, _ELASTIC_LARGE))
        pull, smooth, corners = strengths[:, 0], strengths[:, 1], strengths[:, 2]
        moved = warp(x, *_affine_coordinates(points, corners, x), "mirror", bounds)
        if reach == 0:
            return moved
        fields = mirrored_gaussian_filter(noise * 2 - 1, smooth, reach)
        fields *= pull[..., None]
        rows, columns = pixel_axes(x)
        return warp(moved, fields[:, 1] + rows, fields[:, 0] + columns, "symmetric", bounds)


def _strengths(level: Level, x: Array, table: Table) -> tuple[Array, int]:
    """Pull, smoothness and corners at this level, (n or 1, 3, 1, 1); and the filter's reach.

    The reach is that of the widest Gaussian of any row; 0 where there is no pull.
    """
    if isinstance(level, int | float):
        mixed = at_severity(level, table)
        strengths = place_like(np.asarray([mixed], dtype=np.float32), x)
        return strengths[:, :, None, None], filter_reach(mixed[1]) if mixed[0] else 0
    below, above, share = rows_around(level, table)
    # Rounds unlike `at_severity`, and stays so: another order would change the last bit of results.
    strengths = below * (1 - share) + above * share
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
    rows, columns = pixel_axes(x)
    rows, columns = (rows - y_of) - corner[:, 1], (columns - x_of) - corner[:, 0]
    ys = (rows * (-reach * bx / area) + y_of) + columns * (reach * by / area)
    xs = (columns * (reach * ay / area) + x_of) - rows * (reach * ax / area)
    return ys, xs
