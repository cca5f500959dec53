"""Compiled searches of multipliers, where the layers are matrices and the ball is a box.

`multipliers.c` proposes in float32 what NumPy would, in a third of the time: what it proposes is
bounded in float64 after.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.subject.protocols import Array
from surefoot.verify.ball import Box

Single = NDArray[np.float32]
_PANEL = 8
"""Columns of a matrix that lie side by side, as `multipliers.c` has it."""
_CALL_WORK = 2e9
"""Multiplications of one call, some hundredths of a second, so that the clock is read between. Only
how exactly a limit in seconds is kept depends on it."""


@dataclass(frozen=True, eq=False)
class PackedLayers:
    """Hidden layers as `multipliers.c` reads them; see there."""

    library: ctypes.CDLL
    matrices: tuple[Single, ...]
    bias: tuple[Single, ...]
    slope: tuple[Single, ...]
    places: tuple[NDArray[np.intp], ...]

    @cached_property
    def sizes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The number of inputs and of each layer's neurons; of the undecided ones."""
        widths = [self.matrices[0].shape[1], *map(len, self.matrices)]
        return np.array(widths, np.intp), np.array([*map(len, self.places)], np.intp)

    @cached_property
    def arguments(self) -> tuple[tuple[Any, ...], tuple[NDArray[Any], ...]]:
        """Where all of it is, and all that: matrices both ways, eight columns side by side."""
        depth = len(self.matrices)
        panels = ([_panels(m) for m in self.matrices], [_panels(m.T) for m in self.matrices])
        lists: list[Sequence[NDArray[Any]]] = [self.places, *panels, self.bias, self.slope]
        pointers = [(ctypes.c_void_p * depth)(*(a.ctypes.data for a in part)) for part in lists]
        kept = (*self.sizes, *(a for part in lists for a in part))
        return (depth, *(a.ctypes.data for a in self.sizes), *pointers), kept

    @cached_property
    def work(self) -> int:
        """Multiplications of one pass."""
        return sum(matrix.size for matrix in self.matrices)


@dataclass(frozen=True, eq=False)
class SearchedNodes:
    """One row of the margin for each node, `lines` about its neurons, and multipliers."""

    rows: Array
    constant: Array
    lines: Sequence[Array]
    sign: Array | None
    alpha: Array
    beta: Array | None


def search_compiled(
    packed: PackedLayers,
    nodes: SearchedNodes,
    steps: int,
    rates: tuple[float, float] = (0.0, 0.0),
    enough: float = np.inf,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Single, Single, Single]:
    """The best α and β met in so many steps, and their bounds; nodes that time left out: −∞."""
    count, columns = nodes.alpha.shape
    alpha, beta = np.array(nodes.alpha, np.float32, order="C"), np.zeros((count, columns), "f")
    sign = np.zeros_like(beta) if nodes.sign is None else single(nodes.sign)
    if nodes.beta is not None:
        beta[...] = nodes.beta
    rows, constant, best = single(nodes.rows), single(nodes.constant), np.full(count, -np.inf, "f")
    lines = [single(line) for line in nodes.lines]
    (arguments, _), (sizes, undecided) = packed.arguments, packed.sizes
    step = 0 if all(len(line) == 1 for line in lines) else columns
    known = {a.shape for a in (alpha, beta, sign, *(lines if step else ()))}
    fit = known == {(count, undecided.sum())} and {a.shape[1] for a in lines} == {columns}
    if not fit or len(lines) != 4 or (*rows.shape, len(constant)) != (count, sizes[-1], count):
        raise ValueError(f"nodes of {known} and {rows.shape} do not fit layers of {sizes}")
    piece = max(_PANEL, int(_CALL_WORK / (2 * packed.work * (steps + 1))))
    for first in range(0, count, piece):
        if first and expired():
            break
        part = slice(first, first + piece)
        own = [line[part] if step else line for line in lines]
        arrays = rows[part], constant[part], *own, sign[part], alpha[part], beta[part], best[part]
        done = packed.library.search_multipliers(
            *arguments,
            len(best[part]),
            columns,
            step,
            *(a.ctypes.data for a in arrays),
            steps,
            *rates,
            enough,
        )
        if not done:
            raise MemoryError
    return alpha, beta, best


@dataclass(frozen=True)
class NewtonSteps:
    """How many, what each is multiplied by, and what a slope of 0 is replaced by."""

    count: int
    caution: float
    tiny: float


def radii_compiled(
    library: ctypes.CDLL, box: Box, a: Array, c: Array, start: Array, newton: NewtonSteps
) -> NDArray[np.float64]:
    """The radii up to which rows a·x + c are positive; see `proved_radius`."""
    radii = np.array(start, np.float64)
    if a.shape != (len(radii), len(box.x)) or c.shape != radii.shape:
        raise ValueError(f"slopes of {a.shape} do not fit {len(radii)} radii of {box.x.shape}")
    rows = [np.ascontiguousarray(part, np.float64) for part in (a, c)]
    ends = box.x, box.x - box.low, box.high - box.x, box.unit
    inputs = [np.array(np.broadcast_to(part, box.x.shape), np.float64) for part in ends]
    places = (part.ctypes.data for part in (*rows, *inputs))
    how = box.radius, newton.count, newton.caution, newton.tiny
    if not library.prove_radii(*a.shape, *places, *how, radii.ctypes.data):
        raise MemoryError
    return radii


def single(a: Array) -> Single:
    """In float32, one row after the other."""
    return np.ascontiguousarray(a, np.float32)


def _panels(matrix: Array) -> Single:
    """Eight columns side by side, row after row; then the next eight."""
    rows, columns = matrix.shape
    wide = np.zeros((rows, -(-columns // _PANEL) * _PANEL), np.float32)
    wide[:, :columns] = matrix
    return np.ascontiguousarray(wide.reshape(rows, -1, _PANEL).transpose(1, 0, 2))
