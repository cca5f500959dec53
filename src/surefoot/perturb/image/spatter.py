"""Water and mud on the lens, after Hendrycks & Dietterich 2019."""

from __future__ import annotations

from typing import Any, ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.perturb._ops.colours import colour_like
from surefoot.perturb._ops.definition import (
    Choices,
    Draw,
    Each,
    Levels,
    Normal,
    Presets,
    perturbation,
)
from surefoot.perturb._ops.droplets import droplet_shading
from surefoot.perturb._ops.filters.matrices import gaussian_filter
from surefoot.perturb._ops.scaling import from_unit_range, to_unit_range
from surefoot.perturb._ops.severity import PRESETS, SEVERITIES, SIZES, Table, at_severity, is_small
from surefoot.subject.protocols import Array, Level, View

_PALE_TURQUOISE = (175 / 255, 238 / 255, 238 / 255)
_MUD_BROWN = (63 / 255, 42 / 255, 20 / 255)

# Mean and deviation of the liquid, sigma of its filter, threshold, strength, share of mud. Water is
# up to severity 3, mud from 4; elsewhere each table repeats its own nearest row.
_WATER_SMALL: Table = (
    (0.62, 0.1, 0.7, 0.7, 0.0, 0),
    (0.62, 0.1, 0.7, 0.7, 0.5, 0),
    (0.65, 0.1, 0.8, 0.7, 0.5, 0),
    (0.65, 0.3, 1.0, 0.69, 0.5, 0),
    (0.65, 0.3, 1.0, 0.69, 0.5, 1),
    (0.65, 0.3, 1.0, 0.69, 0.5, 1),
)
_MUD_SMALL: Table = (*(((0.65, 0.1, 0.7, 0.69, 0.6),) * 5), (0.65, 0.1, 0.5, 0.68, 0.6))
_WATER_LARGE: Table = (
    (0.65, 0.3, 4, 0.69, 0.0, 0),
    (0.65, 0.3, 4, 0.69, 0.6, 0),
    (0.65, 0.3, 3, 0.68, 0.6, 0),
    (0.65, 0.3, 2, 0.68, 0.5, 0),
    (0.65, 0.3, 2, 0.68, 0.5, 1),
    (0.65, 0.3, 2, 0.68, 0.5, 1),
)
_MUD_LARGE: Table = (*(((0.65, 0.3, 1, 0.65, 1.5),) * 5), (0.67, 0.4, 1, 0.65, 1.5))
_LEAST_MUD = 0.8
"""The published share of cover below which there is no mud."""


@perturbation
class Spatter:
    """Drops of water up to severity 3, mud from severity 4; between them one fades into the other.

    Both are normal noise under a Gaussian filter, cut off at a threshold. Mud is as published:
    where the filtered mask is at least 0.8, brown covers the image by that share. Water adds pale
    turquoise where drops reflect light; `droplet_shading` states the departures. Grey images get
    the grey of the colours. Below severity 1 the water fades. Level and size as for `Fog`.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "spatter"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    draw: ClassVar[Draw] = Normal(Each.PIXEL)
    choices: ClassVar[Choices] = SIZES
    phrase: ClassVar[str] = "spatter of severity {level} of 5 (water up to 3, mud from 4)"
    presets: ClassVar[Presets] = PRESETS

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add water, cover with mud, or mix the two."""
        small = is_small(self.size, tuple(x.shape[1:]))
        *water, muddy = at_severity(level, _WATER_SMALL if small else _WATER_LARGE)
        mud = at_severity(level, _MUD_SMALL if small else _MUD_LARGE)
        unit = to_unit_range(x, bounds)
        one_level = isinstance(muddy, int | float)
        if one_level and muddy == 0:
            return from_unit_range(_add_water(unit, drawn, water), bounds)
        if one_level and muddy == 1:
            return from_unit_range(_cover_with_mud(unit, drawn, mud), bounds)
        wet, dirty = _add_water(unit, drawn, water), _cover_with_mud(unit, drawn, mud)
        # Water may be brighter than white: it is clipped before it is mixed.
        wet = array_namespace(x).clip(wet, None, 1.0)
        return from_unit_range(wet + (dirty - wet) * muddy, bounds)


def _add_water(x: Array, layer: Array, water: list[Any]) -> Array:
    """The image plus pale turquoise where the drops shine."""
    xp = array_namespace(x)
    mean, spread, sigma, threshold, strength = water
    liquid = _gaussian(layer, sigma) * spread
    liquid += mean
    liquid *= liquid >= threshold
    liquid = xp.floor(xp.clip(liquid * 255, 0, 255))
    shine = liquid * droplet_shading(xp.astype(liquid, xp.int16))
    most = xp.max(shine, axis=(2, 3), keepdims=True)
    shine *= strength / xp.clip(most, 1.0, None)
    return x + shine * colour_like(_PALE_TURQUOISE, x)


def _cover_with_mud(x: Array, layer: Array, mud: list[Any]) -> Array:
    """The image under brown where the mud is thick."""
    xp = array_namespace(x)
    mean, spread, sigma, threshold, softness = mud
    liquid = _gaussian(layer, sigma) * spread
    liquid += mean
    cover = _gaussian(xp.astype(liquid > threshold, xp.float32), softness)
    cover *= cover >= _LEAST_MUD
    covered = (colour_like(_MUD_BROWN, x) - x) * cover
    covered += x
    return covered


def _gaussian(x: Array, sigma: Any) -> Array:  # noqa: ANN401  a number, or one for each row
    """Under a Gaussian filter of this deviation: a number, or an array (n, 1, 1, 1)."""
    if isinstance(sigma, int | float):
        return gaussian_filter(x, float(sigma))
    return gaussian_filter(x, array_namespace(x).reshape(sigma, (-1,)))
