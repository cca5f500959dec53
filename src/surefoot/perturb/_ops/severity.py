"""Published severities as a continuous level from 0 to 5, and the colours they paint with."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.levels import check_level
from surefoot.results import Interval
from surefoot.subject import Array, Level

HIGHEST = 5.0
SEVERITIES = Interval(0.0, HIGHEST)
PRESETS: dict[str, tuple[float, ...]] = {
    "small": (1.0, 2.0, 3.0, 4.0, 5.0),
    "large": (1.0, 2.0, 3.0, 4.0, 5.0),
}
LONGEST_SMALL = 64

Table = tuple[tuple[float, ...], ...]
"""The parameters at severity 0 (no effect), 1, …, 5."""


def check_severity(kind: str, level: float | None, size: str) -> None:
    """Refuse a level that is no severity and a size that has no constants."""
    check_level(kind, level)
    if level is not None and level > HIGHEST:
        raise InvalidArgument(f"{kind}: the level is a severity from 0 to 5, got {level}")
    if size not in ("", "small", "large"):
        raise InvalidArgument(
            f"{kind}: size is small (CIFAR-C) or large (ImageNet-C), or empty to go by the "
            f"image, got {size!r}"
        )


def is_small(size: str, shape: tuple[int, ...]) -> bool:
    """Whether the constants for small images hold: as told, or for edges of at most 64."""
    return size == "small" if size else max(shape[-2:]) <= LONGEST_SMALL


def at_severity(level: Level, table: Table) -> list[Any]:
    """The parameters at this severity, linear between the published ones.

    Plain numbers for one level; arrays (n, 1, 1, 1) for a level each row.
    """
    if isinstance(level, int | float):
        low = min(max(math.floor(level), 0), len(table) - 2)
        share = min(level, HIGHEST) - low
        return [a + (b - a) * share for a, b in zip(table[low], table[low + 1], strict=True)]
    xp = array_namespace(level)
    knots = xp.asarray(table, dtype=xp.float32, device=level.device)
    given = xp.clip(xp.astype(level, xp.float32), 0.0, HIGHEST)
    low = xp.clip(xp.astype(xp.floor(given), xp.int64), 0, len(table) - 2)
    share = (given - xp.astype(low, xp.float32))[:, None]
    below, above = xp.take(knots, low, axis=0), xp.take(knots, low + 1, axis=0)
    mixed = below + (above - below) * share
    return [mixed[:, i][:, None, None, None] for i in range(len(table[0]))]


def luminance(x: Array) -> Array:
    """The grey of an image (n, 1, height, width), by the weights of ITU-R BT.601."""
    if x.shape[1] == 1:
        return x
    return 0.299 * x[:, 0:1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:3]


def colour_like(colour: tuple[float, float, float], like: Array) -> Array:
    """A colour as it adds to images such as `like`: (1, channels, 1, 1), its grey where grey."""
    xp = array_namespace(like)
    red, green, blue = colour
    shades = (0.299 * red + 0.587 * green + 0.114 * blue,) if like.shape[1] == 1 else colour
    return xp.asarray(shades, dtype=xp.float32, device=like.device)[None, :, None, None]
