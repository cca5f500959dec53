"""Compiled searches and proofs, where the layers are matrices and the ball is a box.

`multipliers.c` proposes multipliers in float32 and proves with them in float64, in a quarter of the
time that NumPy takes for the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.subject.protocols import Array
from surefoot.verify.ball import Box

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Arguments = tuple[tuple[Any, ...], tuple[NDArray[Any], ...]]
"""Of a compiled function, and the arrays that its pointers point to."""
_PANEL = 8
"""Columns of a matrix that lie side by side, as `multipliers.c` has it."""
UNKNOWN = -2
"""In place of a neuron that no search has chosen."""
LOWER_LINE_WEIGHT = 0.05
"""What is lost on a neuron's lower line, whose slope is searched, counts so much beside what is
lost on its chord, for certain. Chosen by hand; only the time depends on it."""
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
    def arguments(self) -> Arguments:
        """Where all of it is, and all that: matrices both ways, eight columns side by side."""
        both = [_panels(m) for m in self.matrices], [_panels(m.T) for m in self.matrices]
        pointers, kept = _pointers(self.places, *both, self.bias, self.slope)
        return (len(self.bias), *(a.ctypes.data for a in self.sizes), *pointers), kept

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
) -> tuple[Single, Single, Single, NDArray[np.intp]]:
    """The best α and β met in so many steps, their bounds, and the neurons that lose the most.

    Nodes that time left out have the bound −∞ and no such neuron.
    """
    count, columns = nodes.alpha.shape
    alpha, beta = np.array(nodes.alpha, np.float32, order="C"), np.zeros((count, columns), "f")
    sign = np.zeros_like(beta) if nodes.sign is None else single(nodes.sign)
    if nodes.beta is not None:
        beta[...] = nodes.beta
    rows, constant, best = single(nodes.rows), single(nodes.constant), np.full(count, -np.inf, "f")
    lines, column = [single(line) for line in nodes.lines], np.full(count, UNKNOWN, np.intp)
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
        found = alpha[part], beta[part], best[part], column[part]
        arrays = rows[part], constant[part], *own, sign[part], *found
        done = packed.library.search_multipliers(
            *arguments,
            len(best[part]),
            columns,
            step,
            *(a.ctypes.data for a in arrays),
            steps,
            *rates,
            enough,
            LOWER_LINE_WEIGHT,
        )
        if not done:
            raise MemoryError
    return alpha, beta, best, column


@dataclass(frozen=True)
class NewtonSteps:
    """How many, what each is multiplied by, and what a slope of 0 is replaced by."""

    count: int
    caution: float
    tiny: float


def radii_compiled(
    library: ctypes.CDLL, box: Box, a: Array, c: Array, start: Array, newton: NewtonSteps
) -> Double:
    """The radii up to which rows a·x + c are positive; see `proved_radius`."""
    radii = np.array(start, np.float64)
    if a.shape != (len(radii), len(box.x)) or c.shape != radii.shape:
        raise ValueError(f"slopes of {a.shape} do not fit {len(radii)} radii of {box.x.shape}")
    rows = [np.ascontiguousarray(part, np.float64) for part in (a, c)]
    about, kept = _about(box, newton)
    if not library.prove_radii(*a.shape, *_places(rows), *about, radii.ctypes.data):
        raise MemoryError
    del kept
    return radii


@dataclass(frozen=True, eq=False)
class PackedBounds:
    """Hidden layers of a box and margins in float64 as `multipliers.c` reads them, to prove with.

    `matrices`, `sizes` and `errors` have one array for each layer, `slope` has one of all columns.
    """

    packed: PackedLayers
    box: Box
    matrices: tuple[Double, ...]
    bias: tuple[Double, ...]
    decided: tuple[Double, ...]
    sizes: tuple[Double, ...]
    errors: tuple[Double, ...]
    rows: Double
    offsets: Double
    slope: Double
    lost: tuple[float, float]

    @cached_property
    def arguments(self) -> Arguments:
        """Where the layers are, and all that is there."""
        panels = [_panels(matrix) for matrix in self.matrices]
        others = self.bias, self.decided, self.sizes, self.errors
        pointers, kept = _pointers(self.packed.places, panels, *others)
        sizes = self.packed.sizes
        return (len(self.bias), *_places(sizes), *pointers, *self.lost), kept

    def prove(
        self, row: NDArray[np.intp], columns: Sequence[Array], start: Array, newton: NewtonSteps
    ) -> tuple[Double, Double, Double]:
        """Radii from those known, minima over the box, and what rounding here takes from them.

        `columns`: ends of the neurons, α, β and sides.
        """
        radii, count, wide = np.array(start, np.float64), len(row), len(self.slope)
        floors, rounding = np.empty(count), np.empty(count)
        kinds = (*[np.float32] * 4, np.int8)
        arrays = [np.ascontiguousarray(a, kind) for a, kind in zip(columns, kinds, strict=True)]
        row = np.ascontiguousarray(row, np.intp)
        fit = {a.shape for a in arrays} == {(count, wide)} and radii.shape == (count,)
        if not fit or (count and not 0 <= row.min() <= row.max() < len(self.rows)):
            raise ValueError(f"{count} nodes do not fit {wide} columns and {len(self.rows)} rows")
        (arguments, _), (about, kept) = self.arguments, _about(self.box, newton)
        known = row, self.rows, self.offsets, self.slope, *arrays, radii, floors, rounding
        library = self.packed.library
        if not library.prove_nodes(*arguments, *about, count, wide, *_places(known)):
            raise MemoryError
        del kept
        return radii, floors, rounding


def _about(box: Box, newton: NewtonSteps) -> Arguments:
    """A box and Newton's steps as `multipliers.c` has them."""
    ends = box.x, box.x - box.low, box.high - box.x, box.unit
    inputs = tuple(np.array(np.broadcast_to(part, box.x.shape), np.float64) for part in ends)
    how = box.radius, newton.count, newton.caution, newton.tiny
    return (*_places(inputs), *how), inputs


def _places(arrays: Iterable[NDArray[Any]]) -> tuple[int, ...]:
    return tuple(a.ctypes.data for a in arrays)


def _pointers(*lists: Sequence[NDArray[Any]]) -> Arguments:
    """Lists of pointers to arrays, one array for each layer; and the arrays."""
    pointers = tuple((ctypes.c_void_p * len(part))(*_places(part)) for part in lists)
    return pointers, tuple(a for part in lists for a in part)


def single(a: Array) -> Single:
    """In float32, one row after the other."""
    return np.ascontiguousarray(a, np.float32)


def _panels(matrix: NDArray[Any]) -> NDArray[Any]:
    """Eight columns side by side, row after row; then the next eight."""
    rows, columns = matrix.shape
    wide = np.zeros((rows, -(-columns // _PANEL) * _PANEL), matrix.dtype)
    wide[:, :columns] = matrix
    return np.ascontiguousarray(wide.reshape(rows, -1, _PANEL).transpose(1, 0, 2))
