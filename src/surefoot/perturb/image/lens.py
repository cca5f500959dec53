"""What lies on a lens or falls into it: condensation, dirt, stray light, vignetting."""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip_in_place
from surefoot.perturb._ops.colours import colour_like
from surefoot.perturb._ops.cover import cover_order, covered_share, fill_value, mix
from surefoot.perturb._ops.definition import NOTHING, Draw, Levels, Uniform, perturbation
from surefoot.perturb._ops.filters.matrices import gaussian_filter
from surefoot.perturb._ops.levels import level_per_row
from surefoot.perturb._ops.pixel_axes import (
    centred_axes,
    distance_to_points,
    level_array,
    squared_radius,
)
from surefoot.perturb._ops.random_fields import smooth_noise
from surefoot.subject.protocols import Array, Level, Stream, View

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
_MOST_SPOTS = 100
_FLARE_SIZE = 0.3
"""The distance at which stray light has fallen to 1/e, as a share of the longer edge."""


@perturbation
class Condensation:
    """Mist on the lens covers the share `level` of the area, in smooth patches at random places.

    Behind mist, the image is under a Gaussian filter of 4 % of the longer edge and mixed with 45 %
    of white. The rim of the patches is soft. A place that is covered at one level is covered at
    every higher one.
    """

    level: float | None = None
    kind: ClassVar[str] = "condensation"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the area")
    phrase: ClassVar[str] = "condensation: a share of {level} of the area behind mist"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which pixels are covered: where a smooth random field is lowest first."""
        cell = max(1.0, _MIST_PATCH * max(shape[1:]))
        return cover_order(smooth_noise(stream, n, (shape[1], shape[2]), cell))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix the image with mist."""
        blurred = gaussian_filter(x, float(_MIST_BLUR * max(x.shape[2:])))
        mist = blurred * (1 - _MIST_WHITE) + _MIST_WHITE * fill_value(1.0, bounds)
        return mix(x, covered_share(drawn, level, _MIST_RIM), mist, bounds)


@perturbation
class Dirt:
    """Spots of dirt on the lens cover the share `level` of the area.

    There are `spots` round spots (20 by default) at random places, each of its own size; all grow
    with the level until they cover everything. They are dark brown (its grey on grey images) with
    soft rims. A place that is covered at one level is covered at every higher one.
    """

    level: float | None = None
    spots: int = 20
    kind: ClassVar[str] = "dirt"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the area")

    def __post_init__(self) -> None:
        if not 1 <= self.spots <= _MOST_SPOTS or self.spots != int(self.spots):
            raise InvalidArgument(
                f"dirt: spots must be an integer from 1 to {_MOST_SPOTS}, got {self.spots}"
            )
        object.__setattr__(self, "spots", int(self.spots))

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
            down, right = distance_to_points(places[:, i], like)
            away = (down * down + right * right) / (sizes[:, i] * sizes[:, i])[:, None, None]
            nearest = away if nearest is None else xp.minimum(nearest, away)
        return cover_order(nearest)[:, None]

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix the image with the colour of dirt."""
        span = bounds or UNIT
        colour = colour_like(_DIRT_COLOUR, x) * span.width + span.low
        return mix(x, covered_share(drawn, level, _DIRT_RIM), colour, bounds)


@perturbation
class Flare:
    """Stray light: a bright spot at a uniformly random place adds white light around it.

    The level is the light at its centre, as a share of the range. It falls off as exp(-(d / r)²)
    with the distance d, where r is 30 % of the longer edge. What exceeds the highest value is cut
    off: the image is overexposed there.
    """

    level: float | None = None
    kind: ClassVar[str] = "flare"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "light added at the centre, share of the range")
    draw: ClassVar[Draw] = Uniform((2,))
    phrase: ClassVar[str] = "lens flare: light of {level} of the range around a random place"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add the light."""
        xp = array_namespace(x)
        down, right = distance_to_points(drawn, x)
        reach = _FLARE_SIZE * max(x.shape[2:])
        light = xp.exp((down * down + right * right) * (-1 / (reach * reach)))[:, None]
        return clip_in_place(
            x + light * (level_per_row(level, light) * (bounds or UNIT).width), bounds
        )


@perturbation
class Vignetting:
    """The image darkens towards its corners, which lose the share `level` of their light.

    At the distance r from the centre (1 at the corners) a pixel loses level · r². Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "vignetting"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the light lost at the corners")
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "vignetting: a share of {level} of the light lost at the corners"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Move each pixel towards the lowest value."""
        lost = squared_radius(*centred_axes(x)) * level_array(level, x)
        return mix(x, lost[:, None], (bounds or UNIT).low, bounds)
