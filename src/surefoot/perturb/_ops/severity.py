"""Published severities as a continuous level from 0 to 5 (Hendrycks & Dietterich 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from surefoot.perturb._ops.definition import Choices, Levels, Presets
from surefoot.perturb._ops.levels import Floats, levels_on_host
from surefoot.subject.protocols import Level

HIGHEST = 5.0
SEVERITIES = Levels(HIGHEST, "severity")
PRESETS: Presets = {
    "small": (1.0, 2.0, 3.0, 4.0, 5.0),
    "large": (1.0, 2.0, 3.0, 4.0, 5.0),
}
SIZES: Choices = {"size": ("", "small", "large")}
"""Constants of CIFAR-C (small) or ImageNet-C (large); empty: by the size of the image."""
LONGEST_SMALL = 64
"""Pixels along the longer edge of the largest image that counts as small (CIFAR-C has 32)."""

Table = tuple[tuple[float, ...], ...]
"""The parameters at severity 0 (no effect), 1, …, 5."""


def is_small(size: str, shape: tuple[int, ...]) -> bool:
    """Whether to use the constants for small images: as `size` says, else by the longer edge."""
    return size == "small" if size else max(shape[-2:]) <= LONGEST_SMALL


def at_severity(level: Level, table: Table) -> list[Any]:
    """The parameters at this severity, linear between the published ones.

    Plain numbers for one level; arrays (n, 1, 1, 1), beside the levels, for a level for each row.
    """
    if isinstance(level, int | float):
        return [float(parameter[0]) for parameter in at_severity_on_host(level, table)]
    below, above, share = rows_around(level, table)
    mixed = below + (above - below) * share
    return [mixed[:, i][:, None, None, None] for i in range(len(table[0]))]


def at_severity_on_host(level: Level, table: Table) -> tuple[Floats, ...]:
    """The parameters at each of these severities, as NumPy arrays of float64."""
    severities = np.arange(len(table))
    levels = levels_on_host(level)
    return tuple(np.interp(levels, severities, column) for column in zip(*table, strict=True))


def rows_around(levels: Any, table: Table) -> tuple[Any, Any, Any]:  # noqa: ANN401  a number, or one for each row
    """The rows of the table before and after each level, and how far it is between them."""
    xp = array_namespace(levels)
    knots = xp.asarray(table, dtype=xp.float32, device=levels.device)
    severities = xp.clip(xp.astype(levels, xp.float32), 0.0, HIGHEST)
    low = xp.clip(xp.astype(xp.floor(severities), xp.int64), 0, len(table) - 2)
    share = (severities - xp.astype(low, xp.float32))[:, None]
    return xp.take(knots, low, axis=0), xp.take(knots, low + 1, axis=0), share
