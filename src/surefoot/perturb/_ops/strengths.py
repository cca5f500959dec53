"""Strengths between the published severities, and how a perturbed batch is finished."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.perturb._ops.levels import clip, copy_rows, restore_level_zero
from surefoot.results import Interval
from surefoot.subject import Array, Level, Stream

Floats = NDArray[np.float64]
Table = Sequence[tuple[float, ...]]


def levels_on_host(level: Level) -> Floats:
    """One level, or one a row, as NumPy numbers."""
    if isinstance(level, int | float):
        return np.asarray([level], dtype=np.float64)
    found = level if isinstance(level, np.ndarray) else level.detach().cpu().numpy()
    return found.astype(np.float64)


def at_severities_on_host(levels: Floats, table: Table) -> tuple[Floats, ...]:
    """Each parameter at these severities: linear between the rows of the table, 0 the first."""
    at = np.arange(len(table))
    return tuple(np.interp(levels, at, column) for column in zip(*table, strict=True))


def nothing(stream: Stream, n: int) -> Array:
    """n rows of no numbers, for what has nothing random."""
    return stream.uniform((n, 0))


def finish(y: Array, x: Array, n: int, level: Level, bounds: Interval | None) -> Array:
    """n rows within the bounds; rows at level 0 as they were."""
    y = restore_level_zero(clip(y, bounds), x, level)
    return y if len(y) == n else copy_rows(y, n)
