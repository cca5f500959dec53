"""Geometric transforms of images: rotation, translation, zoom, shear, perspective.

Each one computes where every pixel comes from and interpolates there bilinearly, so the effect is
continuous in the level. Only `Perspective` is random. A negative level is the other direction.
`edge` says what lies outside of the image.
"""

from __future__ import annotations

import math
from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.perturb._ops.definition import NOTHING, Choices, Draw, Levels, Uniform, perturbation
from surefoot.perturb._ops.edges import EDGES
from surefoot.perturb._ops.pixel_axes import centred_axes, level_array
from surefoot.perturb._ops.warp import warp, warp_projected
from surefoot.subject.protocols import Array, Level, View


@perturbation
class Rotation:
    """Rotated about the centre by `level` degrees, counter-clockwise. Not random."""

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "rotation"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(180.0, "degrees")
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "rotation by {level} degrees about the centre"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from where the opposite rotation brings it."""
        xp, angle = array_namespace(x), level_array(level, x) * (math.pi / 180)
        cos, sin = xp.cos(angle), xp.sin(angle)
        down, right, middle, centre = centred_axes(x)
        ys = (cos * down + middle) + sin * right
        xs = (cos * right + centre) - sin * down
        return warp(x, ys, xs, self.edge, bounds)


@perturbation
class TranslationX:
    """Moved right by the share `level` of the width, also by parts of a pixel. Not random."""

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "translate-x"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the width")
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "translation to the right by {level} of the width"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from further left."""
        down, right, middle, centre = centred_axes(x)
        xs = (right + centre) - level_array(level, x) * x.shape[3]
        return warp(x, down + middle, xs, self.edge, bounds)


@perturbation
class TranslationY:
    """Moved down by the share `level` of the height, also by parts of a pixel. Not random."""

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "translate-y"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the height")
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "translation downwards by {level} of the height"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from further up."""
        down, right, middle, centre = centred_axes(x)
        ys = (down + middle) - level_array(level, x) * x.shape[2]
        return warp(x, ys, right + centre, self.edge, bounds)


@perturbation
class Zoom:
    """Enlarged about the centre to 1 + `level` times the size; a negative level shrinks.

    Shrinking does not average pixels. A level below -0.9 means -0.9. Not random.
    """

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "zoom"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(9.0, "share of the size added")
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    least: ClassVar[float] = -0.9
    phrase: ClassVar[str] = "zoom about the centre to 1 + {level} times the size"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from nearer to the centre."""
        factor = array_namespace(x).clip(level_array(level, x) + 1.0, 0.1)
        down, right, middle, centre = centred_axes(x)
        ys, xs = down / factor + middle, right / factor + centre
        return warp(x, ys, xs, self.edge, bounds)


@perturbation
class Shear:
    """Vertical lines lean to the right by `level` degrees; the middle row stays. Not random."""

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "shear"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(80.0, "degrees")  # at 90 pixels move infinitely far
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "horizontal shear by {level} degrees"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Rows above the centre come from further left, rows below from further right."""
        slope = array_namespace(x).tan(level_array(level, x) * (math.pi / 180))
        down, right, middle, centre = centred_axes(x)
        xs = (right + centre) + slope * down
        return warp(x, down + middle, xs, self.edge, bounds)


@perturbation
class Perspective:
    """A random perspective: each corner moves inwards by two independent uniform amounts.

    Along an edge of the image a corner moves by up to `level` times half that edge. This is the
    distortion that Torchvision and Kornia call `distortion_scale`, without rounding the corners to
    pixels. Above a level of about 0.5 the corners can come to lie so that a part of the image is
    mirrored.
    """

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "perspective"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of half an edge")
    draw: ClassVar[Draw] = Uniform((4, 2))
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = (
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
        return warp_projected(
            x,
            stack([row[..., 0] for row in rows], axis=1),
            stack([column[:, 0] for column in columns], axis=1),
            self.edge,
            bounds,
        )


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
