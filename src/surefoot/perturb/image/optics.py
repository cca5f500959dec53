"""Optics that are not corrected: lens distortion, chromatic aberration, white balance."""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import clip_in_place, copy_rows
from surefoot.perturb._ops.definition import NOTHING, Choices, Draw, Levels, perturbation
from surefoot.perturb._ops.edges import EDGES
from surefoot.perturb._ops.pixel_axes import centred_axes, level_array, squared_radius
from surefoot.perturb._ops.warp import warp
from surefoot.subject.protocols import Array, Level, View


@perturbation
class LensDistortion:
    """Barrel distortion: straight lines bow outwards; a negative level is pincushion distortion.

    A pixel at the distance r from the centre (1 at the corners) shows what was at r · (1 + level ·
    r²): the level is how far outside of the image the corners look, as a share of half the
    diagonal. `edge` says what lies there. Not random.
    """

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "lens-distortion"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(0.3, "share of half the diagonal")
    # Below -1/3 two pixels would show the same place.
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "barrel distortion by {level} of half the diagonal at the corners"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Each pixel comes from further out."""
        down, right, middle, centre = centred_axes(x)
        further = squared_radius(down, right, middle, centre) * level_array(level, x)
        ys = (down + middle) + down * further
        xs = (right + centre) + right * further
        return warp(x, ys, xs, self.edge, bounds)


@perturbation
class ChromaticAberration:
    """Red is enlarged about the centre to 1 + `level` times the size, blue shrunk to 1 - `level`.

    So edges have coloured fringes that widen towards the corners. A negative level exchanges the
    two. `edge` says what lies outside of the image. Needs three channels. Not random.
    """

    level: float | None = None
    edge: str = "mirror"
    kind: ClassVar[str] = "chromatic-aberration"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(0.2, "share of the size")
    needs_channels: ClassVar[int] = 3
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = EDGES
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = (
        "chromatic aberration: red enlarged and blue shrunk by {level} of the size"
    )

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Red comes from nearer to the centre, blue from further out."""
        down, right, middle, centre = centred_axes(x)
        strength = level_array(level, x)

        def resized(channel: int, factor: Array) -> Array:
            ys, xs = down / factor + middle, right / factor + centre
            return warp(x[:, channel : channel + 1], ys, xs, self.edge, bounds)

        red, blue = resized(0, 1 + strength), resized(2, 1 - strength)
        return array_namespace(x).concat([red, copy_rows(x[:, 1:2], len(red)), blue], axis=1)


@perturbation
class WhiteBalance:
    """A wrong white balance: red gains the share `level` of its value, blue loses it.

    A negative level makes the image bluish instead of reddish. Needs three channels. Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "white-balance"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of red gained and of blue lost")
    needs_channels: ClassVar[int] = 3
    draw: ClassVar[Draw] = NOTHING
    signed: ClassVar[bool] = True
    phrase: ClassVar[str] = "white balance: red raised and blue lowered by a share of {level}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale the height of red and blue above the lowest value."""
        low, share = (bounds or UNIT).low, level_array(level, x)
        balanced = copy_rows(x, max(len(x), len(share)))
        balanced[:, 0] += (x[:, 0] - low) * share
        balanced[:, 2] -= (x[:, 2] - low) * share
        return clip_in_place(balanced, bounds)
