"""Linear maps of layers: matrices, convolutions kept as convolutions, and what is made of both.

Every map takes (…, n) to (…, m) by `forward`, and (…, m) to (…, n) by its transpose, `back`, in the
arrays that it is given, NumPy's or PyTorch's. `converted` changes its numbers: to their absolute
values, another precision, another device. `terms` limits the terms of any sum of either direction,
one after the other; `work` counts the multiplications of one row; `total` is no less than the sum
of the absolute entries of any of its factors' products. `block` gives the columns that some rows
depend on and the map of those alone; `groups` are rows that depend on nearly the same columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from array_api_compat import device, is_numpy_array
from numpy.typing import NDArray

from surefoot.graph.onnx_file import WindowLayout
from surefoot.subject.protocols import Array, array_namespace

Convert = Callable[[Array], Array]
Index = NDArray[np.intp]

_PIECE_VALUES = 1 << 18
"""Values of the windows laid side by side at once on a processor, 1 MiB in float32: they stay in
its cache. Chosen by hand; results do not depend on it, only the time."""
_DEVICE_VALUES = 1 << 28
"""The same on another device, whose memory is the limit."""
_GROUP_ROWS = 32
"""Rows of a group at least: fewer do not fill a matrix product, more depend on more columns. Chosen
by hand; only the time depends on it."""


def _by_columns(h: Array) -> bool:
    """Whether rows are laid out one column after the other: so is the result then."""
    return isinstance(h, np.ndarray) and h.ndim == 2 and h.flags.fnc


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def terms(self) -> int:
        """See the module."""
        return max(self.shape)

    @property
    def work(self) -> int:
        """See the module."""
        return prod(self.shape)

    @cached_property
    def total(self) -> float:
        """See the module."""
        return float(abs(self.matrix).sum())

    @cached_property
    def sizes(self) -> Dense:
        """Of the absolute values: every input asks for them."""
        return Dense(abs(self.matrix))

    def forward(self, h: Array) -> Array:
        """The map."""
        return (self.matrix @ h.T).T if _by_columns(h) else h @ self.matrix.T

    def back(self, z: Array) -> Array:
        """Its transpose."""
        return (self.matrix.T @ z.T).T if _by_columns(z) else z @ self.matrix

    def converted(self, change: Convert) -> Dense:
        """The map with other numbers."""
        return Dense(change(self.matrix))

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        return np.arange(self.shape[1]), Dense(self.matrix[rows])

    def groups(self) -> list[Index]:
        """See the module."""
        return [np.arange(self.shape[0])]


@dataclass(frozen=True, eq=False)
class Convolution:
    """A convolution of (channels, *space); `kernel` is (groups, outputs, inputs·window) of each."""

    kernel: Array
    window: tuple[int, ...]
    layout: WindowLayout
    taken: tuple[int, ...]

    @cached_property
    def space(self) -> tuple[int, ...]:
        """Where windows are laid."""
        given = zip(
            self._padded, self.window, self.layout.strides, self.layout.dilations, strict=True
        )
        return tuple((size - (k - 1) * d - 1) // s + 1 for size, k, s, d in given)

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        groups, outputs, _ = self.kernel.shape
        return groups * outputs * prod(self.space), prod(self.taken)

    @property
    def terms(self) -> int:
        """See the module."""
        _, outputs, inputs = self.kernel.shape
        return int(max(inputs, outputs * prod(self.window)))

    @property
    def work(self) -> int:
        """See the module."""
        return int(prod(self.kernel.shape)) * prod(self.space)

    @property
    def total(self) -> float:
        """See the module."""
        return float(abs(self.kernel).sum()) * prod(self.space)

    def forward(self, h: Array) -> Array:
        """The map: the values under each window side by side, then one product."""
        return self._in_pieces(h, self._forward)

    def back(self, z: Array) -> Array:
        """Its transpose: one product, then every window's values added where they lie."""
        return self._in_pieces(z, self._back)

    def converted(self, change: Convert) -> Convolution:
        """The map with other numbers."""
        return replace(self, kernel=change(self.kernel))

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        groups, outputs, inputs = self.kernel.shape
        channel, place = np.divmod(rows, prod(self.space))
        group = channel // outputs
        start = group * (self.taken[0] // groups)
        offsets = np.array(list(product(*map(range, self.window))))
        steps, gaps = self.layout.strides, self.layout.dilations
        where = np.stack(np.unravel_index(place, self.space), 1)[:, None] * steps + offsets * gaps
        where -= [before for before, _ in self.layout.pads]
        inside = np.all((where >= 0) & (where < np.array(self.taken[1:])), axis=2)
        flat = np.ravel_multi_index(tuple(np.moveaxis(where, 2, 0)), self.taken[1:], mode="clip")
        channels = start[:, None] + np.arange(self.taken[0] // groups)
        column = channels[:, :, None] * prod(self.taken[1:]) + flat[:, None]
        valid = np.broadcast_to(inside[:, None], column.shape).reshape(len(rows), inputs)
        row, entry = np.nonzero(valid)
        used, at = np.unique(column.reshape(len(rows), inputs)[row, entry], return_inverse=True)
        matrix = np.zeros((len(rows), len(used)), self.kernel.dtype)
        matrix[row, at] = self.kernel[group, channel % outputs][row, entry]
        return used, Dense(matrix)

    def groups(self) -> list[Index]:
        """Tiles of the space, all channels of each."""
        outputs = self.shape[0] // prod(self.space)
        edge = 1
        while outputs * edge ** len(self.space) < _GROUP_ROWS:
            edge += 1
        rows = np.arange(self.shape[0]).reshape(outputs, *self.space)
        starts = product(*(range(0, size, edge) for size in self.space))
        tiles = (tuple(slice(a, a + edge) for a in start) for start in starts)
        return [np.sort(rows[(slice(None), *tile)].reshape(-1)) for tile in tiles]

    # Rows stand in the last axis of all that follows: then every slice of the space has long
    # runs of neighbours, and one product serves all rows.
    def _forward(self, h: Array) -> Array:
        xp, (groups, _, inputs) = array_namespace(h), self.kernel.shape
        whole = xp.reshape(h.T, (*self.taken, len(h)))
        if any(map(any, self.layout.pads)):
            inside, whole = whole, self._zeros(h)
            whole[self._inside] = inside
        shape = (self.taken[0], len(self._places), *self.space, len(h))
        windows = xp.empty(shape, dtype=h.dtype, device=device(h))
        for k, place in enumerate(self._places):
            windows[:, k] = whole[place]
        columns = prod(self.space) * len(h)
        sums = self.kernel @ xp.reshape(windows, (groups, inputs, columns))
        return xp.reshape(sums, (self.shape[0], len(h))).T

    def _back(self, z: Array) -> Array:
        xp, (groups, outputs, _) = array_namespace(z), self.kernel.shape
        columns = prod(self.space) * len(z)
        rows = xp.reshape(z.T, (groups, outputs, columns))
        windows = xp.matrix_transpose(self.kernel) @ rows
        windows = xp.reshape(windows, (self.taken[0], len(self._places), *self.space, len(z)))
        whole = self._zeros(z)
        for k, place in enumerate(self._places):
            whole[place] += windows[:, k]
        return xp.reshape(whole[self._inside], (self.shape[1], len(z))).T

    def _in_pieces(self, h: Array, change: Convert) -> Array:
        xp, flat = array_namespace(h), h.reshape(-1, h.shape[-1])
        most = _PIECE_VALUES if is_numpy_array(h) else _DEVICE_VALUES
        each = self.taken[0] * len(self._places) * prod(self.space)
        piece = max(1, most // max(1, each))
        if _by_columns(h) and 0 < len(h) <= piece:
            return change(h)
        parts = [change(flat[i : i + piece]) for i in range(0, len(flat), piece)]
        if _by_columns(h) and parts:
            return xp.concat([part.T for part in parts], axis=1).T
        out = xp.concat(parts) if parts else change(flat)  # also makes rows contiguous again
        return out.reshape(*h.shape[:-1], out.shape[-1])

    def _zeros(self, like: Array) -> Array:
        shape = (self.taken[0], *self._padded, len(like))
        return array_namespace(like).zeros(shape, dtype=like.dtype, device=device(like))

    @cached_property
    def _padded(self) -> tuple[int, ...]:
        return tuple(
            size + sum(pads) for size, pads in zip(self.taken[1:], self.layout.pads, strict=True)
        )

    @cached_property
    def _inside(self) -> tuple[Any, ...]:
        """Where the values stand among the padding."""
        pads = zip(self.taken[1:], self.layout.pads, strict=True)
        return (slice(None), *(slice(p, p + size) for size, (p, _) in pads))

    @cached_property
    def _places(self) -> list[tuple[Any, ...]]:
        """For each place in the window, where it lies in the padded space."""
        steps = list(zip(self.space, self.layout.strides, self.layout.dilations, strict=True))
        return [
            (
                slice(None),
                *(
                    slice(o * d, o * d + (n - 1) * s + 1, s)
                    for o, (n, s, d) in zip(offset, steps, strict=True)
                ),
            )
            for offset in product(*map(range, self.window))
        ]


def convolution(
    weights: Array, layout: WindowLayout, groups: int, taken: tuple[int, ...]
) -> Convolution:
    """By the weights (outputs, inputs of a group, *window) of ONNX."""
    kernel = weights.reshape(groups, len(weights) // groups, -1)
    return Convolution(kernel, tuple(weights.shape[2:]), layout, taken)


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Every value times its own number."""

    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        return len(self.scale), len(self.scale)

    @property
    def terms(self) -> int:
        """See the module."""
        return 1

    @property
    def work(self) -> int:
        """See the module."""
        return len(self.scale)

    @property
    def total(self) -> float:
        """See the module."""
        return float(abs(self.scale).sum())

    def forward(self, h: Array) -> Array:
        """The map."""
        return h * self.scale

    back = forward

    def converted(self, change: Convert) -> Diagonal:
        """The map with other numbers."""
        return Diagonal(change(self.scale))

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        return rows, Diagonal(self.scale[rows])

    def groups(self) -> list[Index]:
        """See the module."""
        return _pieces(len(self.scale))


@dataclass(frozen=True, eq=False)
class Selection:
    """Some of `width` values, in any order, also several times."""

    index: Any
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        return len(self.index), self.width

    @property
    def terms(self) -> int:
        """See the module."""
        return 1 if self.once else len(self.index)

    @property
    def work(self) -> int:
        """See the module."""
        return len(self.index)

    @property
    def total(self) -> float:
        """See the module."""
        return float(len(self.index))

    def forward(self, h: Array) -> Array:
        """The map."""
        return h[..., self._span or self.index]

    def back(self, z: Array) -> Array:
        """Its transpose."""
        xp = array_namespace(z)
        out = xp.zeros((*z.shape[:-1], self.width), dtype=z.dtype, device=device(z))
        if self.once:
            out[..., self._span or self.index] = z
        elif is_numpy_array(z):
            np.add.at(np.moveaxis(out, -1, 0), self.index, np.moveaxis(z, -1, 0))
        else:
            out.index_add_(-1, xp.asarray(self.index, device=device(z)), z)
        return out

    def converted(self, change: Convert) -> Selection:
        """The map itself: it has no numbers."""
        return self

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        used, at = np.unique(self.index[rows], return_inverse=True)
        return used, Selection(at, len(used))

    def groups(self) -> list[Index]:
        """See the module."""
        return _pieces(len(self.index))

    @cached_property
    def identity(self) -> bool:
        """Whether nothing is changed."""
        return self._span == slice(0, self.width)

    @cached_property
    def once(self) -> bool:
        """Whether no value is taken twice."""
        return len(np.unique(self.index)) == len(self.index)

    @cached_property
    def _span(self) -> slice | None:
        """The same as a slice, where it is one."""
        if not len(self.index) or (np.diff(self.index) != 1).any():
            return None
        return slice(int(self.index[0]), int(self.index[-1]) + 1)


@dataclass(frozen=True, eq=False)
class Product:
    """Maps one after the other."""

    maps: tuple[LinearMap, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        return self.maps[-1].shape[0], self.maps[0].shape[1]

    @property
    def terms(self) -> int:
        """See the module."""
        return sum(one.terms for one in self.maps)

    @property
    def work(self) -> int:
        """See the module."""
        return sum(one.work for one in self.maps)

    @property
    def total(self) -> float:
        """See the module."""
        return prod(max(1.0, one.total) for one in self.maps)

    def forward(self, h: Array) -> Array:
        """The map."""
        for one in self.maps:
            h = one.forward(h)
        return h

    def back(self, z: Array) -> Array:
        """Its transpose."""
        for one in self.maps[::-1]:
            z = one.back(z)
        return z

    def converted(self, change: Convert) -> Product:
        """The map with other numbers."""
        return Product(tuple(one.converted(change) for one in self.maps))

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        parts: list[LinearMap] = []
        for one in self.maps[::-1]:
            rows, part = one.block(rows)
            parts.append(part)
        return rows, Product(tuple(parts[::-1]))

    def groups(self) -> list[Index]:
        """See the module."""
        return self.maps[-1].groups()


@dataclass(frozen=True, eq=False)
class Several:
    """Maps of the same values: their sum, or, `stacked`, their values one after the other."""

    maps: tuple[LinearMap, ...]
    stacked: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Values given and taken."""
        rows = [one.shape[0] for one in self.maps]
        return sum(rows) if self.stacked else rows[0], self.maps[0].shape[1]

    @property
    def terms(self) -> int:
        """See the module."""
        return max(one.terms for one in self.maps) + len(self.maps)

    @property
    def work(self) -> int:
        """See the module."""
        return sum(one.work for one in self.maps)

    @property
    def total(self) -> float:
        """See the module."""
        return sum(max(1.0, one.total) for one in self.maps)

    def forward(self, h: Array) -> Array:
        """The map."""
        parts = [one.forward(h) for one in self.maps]
        return (
            array_namespace(h).concat(parts, axis=-1) if self.stacked else sum(parts[1:], parts[0])
        )

    def back(self, z: Array) -> Array:
        """Its transpose."""
        start, out = 0, 0.0
        for one in self.maps:
            stop = start + one.shape[0]
            out = out + one.back(z[..., start:stop] if self.stacked else z)
            start = stop
        return out

    def converted(self, change: Convert) -> Several:
        """The map with other numbers."""
        return replace(self, maps=tuple(one.converted(change) for one in self.maps))

    def block(self, rows: Index) -> tuple[Index, LinearMap]:
        """See the module."""
        parts = [(one, rows) for one in self.maps]
        if self.stacked:
            ends = np.cumsum([one.shape[0] for one in self.maps])
            cuts = np.split(rows, np.searchsorted(rows, ends[:-1]))
            starts = [0, *ends[:-1]]
            rows_of = zip(self.maps, cuts, starts, strict=True)
            parts = [(one, part - start) for one, part, start in rows_of if len(part)]
        blocks = [one.block(part) for one, part in parts]
        used = np.unique(np.concatenate([columns for columns, _ in blocks]))
        maps = (composed(Selection(np.searchsorted(used, c), len(used)), one) for c, one in blocks)
        return used, Several(tuple(maps), self.stacked)

    def groups(self) -> list[Index]:
        """See the module."""
        if not self.stacked:
            return self.maps[0].groups()
        starts = np.cumsum([0, *(one.shape[0] for one in self.maps[:-1])])
        pairs = zip(starts, self.maps, strict=True)
        return [start + group for start, one in pairs for group in one.groups()]


LinearMap = Dense | Convolution | Diagonal | Selection | Product | Several


def _pieces(count: int) -> list[Index]:
    every = np.arange(count)
    return [every[i : i + _GROUP_ROWS] for i in range(0, count, _GROUP_ROWS)]


def groups_after(linear: LinearMap, before: list[Index]) -> list[Index]:
    """The groups of a map whose columns have these: rows that pick columns stay together."""
    if isinstance(linear, Several) and linear.stacked:
        starts = np.cumsum([0, *(one.shape[0] for one in linear.maps[:-1])])
        pairs = zip(starts, linear.maps, strict=True)
        return [start + group for start, one in pairs for group in groups_after(one, before)]
    first = _first_columns(linear)
    if first is None or not before:
        return linear.groups()
    place = np.zeros(linear.shape[1], np.intp)
    for i, group in enumerate(before):
        place[group] = i
    order = np.argsort(place[first], kind="stable")
    cuts = np.flatnonzero(np.diff(place[first][order])) + 1
    return np.split(order, cuts)


def _first_columns(linear: LinearMap) -> Index | None:
    """A column that each row depends on, where it depends on few."""
    match linear:
        case Selection(index):
            return np.asarray(index)
        case Diagonal(scale):
            return np.arange(len(scale))
        case Several(maps):
            return _first_columns(maps[0])
        case Product(maps):
            columns = np.arange(linear.shape[0])
            for first in map(_first_columns, maps[::-1]):
                if first is None:
                    return None
                columns = first[columns]
            return columns
    return None


def identity(width: int) -> Selection:
    """The map that changes nothing."""
    return Selection(np.arange(width), width)


def absolute(linear: LinearMap) -> LinearMap:
    """The map of the absolute values of its numbers: no entry is smaller."""
    return linear.sizes if isinstance(linear, Dense) else linear.converted(abs)


def dense_rows(linear: LinearMap, index: Any) -> Array:  # noqa: ANN401  whatever indexes an array
    """Some rows as a matrix in NumPy's float64, rounded where the map is a product."""
    if isinstance(linear, Dense):
        return linear.matrix[index]
    places = np.arange(linear.shape[0])[index]
    unit = np.zeros((len(places), linear.shape[0]))
    unit[np.arange(len(places)), places] = 1.0
    return linear.back(unit)


def composed(first: LinearMap, second: LinearMap) -> LinearMap:  # noqa: PLR0911  one a case
    """The second after the first, as one map where that is not larger."""
    if isinstance(first, Product):
        last = composed(first.maps[-1], second)
        return Product((*first.maps[:-1], *(last.maps if isinstance(last, Product) else (last,))))
    match first, second:
        case Selection(), _ if first.identity:
            return second
        case _, Selection() if second.identity:
            return first
        case Diagonal(scale), Dense(matrix):
            return Dense(matrix * scale)
        case Dense(matrix), Diagonal(scale):
            return Dense(scale[:, None] * matrix)
        case Diagonal(before), Diagonal(after):
            return Diagonal(before * after)
        case Selection(index, width), Selection(after):
            return Selection(index[after], width)
        case Selection(index, width), Dense(matrix) if len(index) == width == len(set(index)):
            return Dense(matrix[:, np.argsort(index)])
        case Convolution(kernel), Diagonal(scale):
            by_channel = scale.reshape(*kernel.shape[:2], -1)
            if (by_channel == by_channel[..., :1]).all():
                return replace(first, kernel=kernel * by_channel[..., :1])
        case Diagonal(scale), Convolution(kernel, window):
            by_channel = scale.reshape(len(kernel), -1, prod(second.taken[1:]))
            if (by_channel == by_channel[..., :1]).all():
                by_input = by_channel[:, None, :, 0]
                each = array_namespace(scale).repeat(by_input, prod(window), axis=2)
                return replace(second, kernel=kernel * each)
    return Product((first, second))
