"""What is on the lens of a camera, a cracked lens, and how a lens bends lines and colours."""

from __future__ import annotations

import math
from dataclasses import field

from array_api_compat import array_namespace

from surefoot.core.limits import count
from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops import pixels
from surefoot.perturb._ops.arrays import clip_in_place, copy_rows, level_per_row, restore_level_zero
from surefoot.perturb._ops.definition import (
    Directed,
    Levels,
    OfImages,
    Uniform,
    perturbation,
)
from surefoot.perturb._ops.matrices import gaussian_filter
from surefoot.perturb._ops.random_fields import smooth_noise
from surefoot.perturb._ops.warp import warp
from surefoot.perturb.image.geometry import Geometric
from surefoot.subject.protocols import Array, Drawn, Level, Stream

_MIST_PATCH = 0.2
"""The size of patches of mist, as a share of the longer edge."""
_MIST_BLUR = 0.04
"""The deviation of the blur behind mist, as a share of the longer edge: shapes stay, edges go."""
_MIST_WHITE, _MIST_RIM = 0.45, 0.8
"""How far mist is white rather than the blurred image, and how soft its rim is."""
_DIRT_COLOUR, _DIRT_RIM = (0.16, 0.12, 0.08), 0.35
"""Dark brown, and how soft the rim of a spot is: what is on a lens is out of focus."""
_SMALLEST_SPOT = 0.3
"""The size of the smallest spots, as a share of the largest."""
_FLARE_SIZE = 0.3
"""The distance at which stray light has fallen to 1/e, as a share of the longer edge."""


@perturbation
class Condensation(OfImages):
    """Mist on the lens covers the share `level` of the area, in smooth patches at random places.

    Behind mist, the image is under a Gaussian filter of 4 % of the longer edge and mixed with 45 %
    of white. The rim of the patches is soft. A place that is covered at one level is covered at
    every higher one.
    """

    kind = "condensation"
    levels = Levels(1.0, "share of the area")
    phrase = "condensation: a share of {level} of the area behind mist"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which pixels are covered: where a smooth random field is lowest first."""
        cell = max(1.0, _MIST_PATCH * max(shape[1:]))
        return pixels.cover_order(smooth_noise(stream, n, (shape[1], shape[2]), cell))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix the image with mist."""
        blurred = gaussian_filter(x, float(_MIST_BLUR * max(x.shape[2:])))
        mist = blurred * (1 - _MIST_WHITE) + _MIST_WHITE * pixels.fill_value(1.0, bounds)
        return pixels.mix(x, pixels.covered_share(drawn, level, _MIST_RIM), mist, bounds)


@perturbation
class Dirt(OfImages):
    """Spots of dirt on the lens cover the share `level` of the area.

    There are `spots` round spots (20 by default) at random places, each of its own size; all grow
    with the level until they cover everything. They are dark brown (its grey on grey images) with
    soft rims. A place that is covered at one level is covered at every higher one.
    """

    spots: int = field(default=20, metadata=count(100))
    kind = "dirt"
    levels = Levels(1.0, "share of the area")

    @property
    def phrase(self) -> str:
        """What it does."""
        count = f"{self.spots} spot" + "s" * (self.spots > 1)
        return f"{count} of dirt on the lens, which cover a share of {{level}} of the area"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which pixels are covered: those nearest to a spot, for its size, first."""
        places = stream.uniform((n, self.spots, 2))
        sizes = _SMALLEST_SPOT + (1 - _SMALLEST_SPOT) * stream.uniform((n, self.spots))
        xp = array_namespace(places)
        like = xp.empty((1, *shape), dtype=xp.float32, device=places.device)
        nearest = None
        for i in range(self.spots):
            down, right = pixels.distance_to_points(places[:, i], like)
            away = (down * down + right * right) / (sizes[:, i] * sizes[:, i])[:, None, None]
            nearest = away if nearest is None else xp.minimum(nearest, away)
        return pixels.cover_order(nearest)[:, None]

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix the image with the colour of dirt."""
        span = bounds or UNIT
        colour = pixels.colour_like(_DIRT_COLOUR, x) * span.width + span.low
        return pixels.mix(x, pixels.covered_share(drawn, level, _DIRT_RIM), colour, bounds)


@perturbation
class Flare(OfImages):
    """Stray light: a bright spot at a uniformly random place adds white light around it.

    The level is the light at its centre, as a share of the range. It falls off as exp(-(d / r)²)
    with the distance d, where r is 30 % of the longer edge. What exceeds the highest value is cut
    off: the image is overexposed there.
    """

    kind = "flare"
    levels = Levels(1.0, "light added at the centre, share of the range")
    draw = Uniform((2,))
    phrase = "lens flare: light of {level} of the range around a random place"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add the light."""
        xp = array_namespace(x)
        down, right = pixels.distance_to_points(drawn, x)
        reach = _FLARE_SIZE * max(x.shape[2:])
        light = xp.exp((down * down + right * right) * (-1 / (reach * reach)))[:, None]
        brightest = level_per_row(level, light) * (bounds or UNIT).width
        return clip_in_place(x + light * brightest, bounds)


@perturbation
class Vignetting(OfImages):
    """The image darkens towards its corners, which lose the share `level` of their light.

    At the distance r from the centre (1 at the corners) a pixel loses level · r². Not random.
    """

    kind = "vignetting"
    levels = Levels(1.0, "share of the light lost at the corners")
    phrase = "vignetting: a share of {level} of the light lost at the corners"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Move each pixel towards the lowest value."""
        lost = pixels.squared_radius(*pixels.centred_axes(x)) * pixels.level_array(level, x)
        return pixels.mix(x, lost[:, None], (bounds or UNIT).low, bounds)


_FARTHEST = 0.06
"""How far a shard can move the image, as a share of the diagonal."""
_THICKNESS = 1 / 150
"""The thickness of a crack at the impact, as a share of the diagonal; at least a pixel."""
_FADING = 0.25
"""The last part of a crack, over which it fades out, as a share of its length."""
_SHORTEST = 1e-6
"""Pixels that the shortest crack has, instead of a division by 0."""


@perturbation
class BrokenLens(OfImages):
    """Cracks run from a random point of the lens; between two of them, a shard shifts the image.

    The cracks, `cracks` in number (9 by default) and at random angles, reach as far as `level`
    times the diagonal: everywhere at level 1. Each is a line of its own grey that thins out towards
    its end. Each shard shifts the image in its own direction, at the impact by up to 6 % of the
    diagonal and less towards the ends of the cracks. Beyond them the image stays as it is.
    """

    cracks: int = field(default=9, metadata=count(50))
    kind = "broken-lens"
    levels = Levels(1.0, "length of the cracks, share of the diagonal")

    @property
    def phrase(self) -> str:
        """What it does."""
        count = f"{self.cracks} crack" + "s" * (self.cracks > 1)
        return f"a broken lens: {count} of up to {{level}} of the diagonal from a random point"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """The impact; for each crack its angle and its grey; for each shard its shift."""
        return stream.uniform((n, 2)), stream.uniform((n, 4, self.cracks))

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Shift the shards, then draw the cracks."""
        xp = array_namespace(x)
        down, right = pixels.distance_to_points(drawn[0], x)
        away = xp.sqrt(down * down + right * right)
        reach = xp.clip(pixels.level_array(level, x) * pixels.diagonal(x), _SHORTEST, None)
        near = xp.clip(1 - away / reach, 0.0, None)
        turn = (xp.atan2(down, right) * (0.5 / math.pi) + 0.5) * self.cracks
        moved = self._shift_shards(x, turn, near, drawn[1])
        cracked = self._draw_cracks(moved, (turn, away, near), drawn[1], bounds)
        return restore_level_zero(cracked, x, level)

    def _shift_shards(self, x: Array, turn: Array, near: Array, numbers: Array) -> Array:
        """Every pixel from where its shard moved it; `turn` counts the cracks passed."""
        xp = array_namespace(x)
        angle, size = (
            numbers[:, 2] * (2 * math.pi),
            numbers[:, 3] * (_FARTHEST * pixels.diagonal(x)),
        )
        moves = (size * xp.sin(angle), size * xp.cos(angle))
        # The shard before the first crack is the one after the last.
        shifts = [xp.zeros_like(turn) + move[:, -1, None, None] for move in moves]
        for i in range(self.cracks):
            passed = turn >= numbers[:, 0, i, None, None] + i
            for axis, move in enumerate(moves):
                shifts[axis] += passed * (move[:, i] - move[:, i - 1])[:, None, None]
        rows, columns = pixels.pixel_axes(x)
        return warp(x, rows + shifts[0] * near, columns + shifts[1] * near, "mirror", None)

    def _draw_cracks(
        self, x: Array, places: tuple[Array, Array, Array], numbers: Array, bounds: Interval | None
    ) -> Array:
        """A line along every crack, where the pixels are near enough to the impact."""
        xp, span, (turn, away, near) = array_namespace(x), bounds or UNIT, places
        half = near * (0.5 * max(1.0, _THICKNESS * pixels.diagonal(x)))
        fading = xp.clip(near * (1 / _FADING), None, 1.0)
        drawn_over, grey = xp.zeros_like(turn), xp.zeros_like(turn)
        for i in range(self.cracks):
            apart = xp.abs(turn - (numbers[:, 0, i, None, None] + i))
            apart = xp.minimum(apart, self.cracks - apart) * (2 * math.pi / self.cracks)
            beside = away * xp.sin(xp.clip(apart, None, math.pi / 2))
            line = xp.clip(half + 0.5 - beside, 0.0, 1.0)
            grey = xp.where(line > drawn_over, numbers[:, 1, i, None, None], grey)
            drawn_over = xp.maximum(drawn_over, line)
        drawn_over *= fading
        shade = grey * span.width + span.low
        return pixels.mix(x, drawn_over[:, None], shade[:, None], bounds)


@perturbation
class LensDistortion(Geometric):
    """Barrel distortion: straight lines bow outwards; a negative level is pincushion distortion.

    A pixel at the distance r from the centre (1 at the corners) shows what was at r · (1 + level ·
    r²): the level is how far outside of the image the corners look, as a share of half the
    diagonal. `edge` says what lies there. Not random.
    """

    kind = "lens-distortion"
    levels = Levels(0.3, "share of half the diagonal")
    # Below -1/3 two pixels would show the same place.
    phrase = "barrel distortion by {level} of half the diagonal at the corners"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Each pixel comes from further out."""
        down, right, middle, centre = pixels.centred_axes(x)
        further = pixels.squared_radius(down, right, middle, centre) * level
        return (down + middle) + down * further, (right + centre) + right * further


@perturbation
class ChromaticAberration(Geometric):
    """Red is enlarged about the centre to 1 + `level` times the size, blue shrunk to 1 - `level`.

    So edges have coloured fringes that widen towards the corners. A negative level exchanges the
    two. `edge` says what lies outside of the image. Needs three channels. Not random.
    """

    kind = "chromatic-aberration"
    levels = Levels(0.2, "share of the size")
    needs_channels = 3
    phrase = "chromatic aberration: red enlarged and blue shrunk by {level} of the size"

    def source(self, x: Array, level: Array) -> tuple[Array, Array]:
        """Of a channel that is enlarged to 1 + level times the size."""
        down, right, middle, centre = pixels.centred_axes(x)
        factor = 1 + level
        return down / factor + middle, right / factor + centre

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Red comes from nearer to the centre, blue from further out."""
        size = pixels.level_array(level, x)
        red = warp(x[:, :1], *self.source(x, size), self.edge, bounds)
        blue = warp(x[:, 2:], *self.source(x, -size), self.edge, bounds)
        return array_namespace(x).concat([red, copy_rows(x[:, 1:2], len(red)), blue], axis=1)


@perturbation
class WhiteBalance(Directed):
    """A wrong white balance: red gains the share `level` of its value, blue loses it.

    A negative level makes the image bluish instead of reddish. Needs three channels. Not random.
    """

    kind = "white-balance"
    levels = Levels(1.0, "share of red gained and of blue lost")
    needs_channels = 3
    phrase = "white balance: red raised and blue lowered by a share of {level}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale the height of red and blue above the lowest value."""
        low, share = (bounds or UNIT).low, pixels.level_array(level, x)
        balanced = copy_rows(x, max(len(x), len(share)))
        balanced[:, 0] += (x[:, 0] - low) * share
        balanced[:, 2] -= (x[:, 2] - low) * share
        return clip_in_place(balanced, bounds)
