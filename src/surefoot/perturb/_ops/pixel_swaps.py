"""Swaps of neighbouring pixels, one after the other."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from numpy.typing import NDArray

from surefoot.subject.protocols import Array

Ints = NDArray[np.int64]


def swap_partners(chance: Array, gate: Array, share: Any, reach: Any) -> Array:  # noqa: ANN401  a number, or one for each row
    """(n, rounds, height, width): the pixel that each one swaps with, as a flat index.

    A pixel swaps where its `gate` (n, 1, height, width) is below `share`; its own reach is `reach`
    rounded down, or up where its gate is below the fraction. Its partner is drawn uniformly from
    the offsets -reach … reach - 1 along both axes by its `chance`, as published. Pixels too near
    to an edge do not swap. Share and reach are numbers or arrays (n, rounds or 1, 1, 1).
    """
    xp = array_namespace(chance)
    height, width = chance.shape[-2:]
    place = device(chance)
    whole = reach // 1
    far = whole if _is_number(reach) and reach == whole else whole + (gate < reach - whole)
    side = 2 * far
    cell = xp.floor(chance * (side * side))
    down = xp.floor(cell * (1 / side))
    cell += down * (width - side) - far * (width + 1)
    row = xp.arange(height, dtype=chance.dtype, device=place)[:, None]
    column = xp.arange(width, dtype=chance.dtype, device=place)
    going = (row > far) & (row <= height - far) & (column > far) & (column <= width - far)
    if not (_is_number(share) and share >= 1):
        going = going & (gate < share)
    cell *= going
    own = xp.reshape(xp.arange(height * width, device=place), (height, width))
    return own + xp.astype(cell, xp.int64)


def _is_number(value: Any) -> bool:  # noqa: ANN401  any object
    return isinstance(value, int | float)


def origins_after_swaps(goals: Array, reach: int) -> Array:
    """(n, height, width): where each pixel comes from after every pixel swapped in turn.

    In every round, from the last pixel to the first, row by row, a pixel swaps with the one that
    `goals` (n, rounds, height, width) names, at most `reach` rows or columns up and left and less
    than that down and right. The result is exactly that of the sequence: pixels 2 · `reach`
    columns apart in neighbouring rows cannot meet, so a whole slanted line of pixels swaps at
    once, in all images.
    """
    xp = array_namespace(goals)
    if is_torch_array(goals) and device(goals).type == "cpu":
        return xp.from_numpy(origins_after_swaps(goals.numpy(), reach))
    n, rounds, height, width = goals.shape
    size, place = height * width, device(goals)
    order, ranks, cuts = _lines(height, width, 2 * reach)
    in_order, rank = xp.asarray(order, device=place), xp.asarray(ranks, device=place)
    # Pixels in the order of their lines, the images innermost: a line is a plain slice.
    turned = xp.permute_dims(xp.reshape(goals, (n, rounds, size)), (1, 2, 0))
    towards = xp.take(rank * n, xp.reshape(xp.take(turned, in_order, axis=1), (-1,)), axis=0)
    towards = xp.reshape(towards, (rounds, size, n))
    towards += xp.arange(n, device=place)
    flat = xp.reshape(xp.broadcast_to(in_order[:, None], (size, n)) + 0, (-1,))
    for all_goals in xp.reshape(towards, (rounds, -1)):
        for begin, end in pairwise(cuts):
            line = slice(begin * n, end * n)
            goal = all_goals[line]
            leaving = flat[line] + 0
            flat[line] = flat[goal]
            flat[goal] = leaving
    origins = xp.take(xp.reshape(flat, (size, n)), rank, axis=0)
    return xp.reshape(xp.permute_dims(origins, (1, 0)), (n, height, width))


@lru_cache(maxsize=16)
def _lines(height: int, width: int, slant: int) -> tuple[Ints, Ints, tuple[int, ...]]:
    """Pixels in the order of their lines, the rank of each pixel there, and where lines begin.

    From the last pixel to the first, each row `slant` columns behind the row below it.
    """
    row, column = np.divmod(np.arange(height * width), width)
    time = slant * (height - 1 - row) + width - 1 - column
    order = np.argsort(time, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    cuts = np.flatnonzero(np.diff(time[order], prepend=-1, append=-1))
    return order, ranks, tuple(cuts.tolist())


def gather_pixels(x: Array, origins: Array) -> Array:
    """Images (n or 1, channels, height, width) with the pixels of every channel from `origins`."""
    xp = array_namespace(x)
    n, height, width = origins.shape
    rows, channels = x.shape[:2]
    size = height * width
    starts = xp.reshape(xp.arange(rows * channels, device=device(x)), (rows, channels, 1)) * size
    index = starts + xp.reshape(origins, (n, 1, size))
    values = xp.take(xp.reshape(x, (-1,)), xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(values, (n, channels, height, width))
