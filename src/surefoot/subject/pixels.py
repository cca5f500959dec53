"""Images in eight bits: read when first needed, and scaled when they are taken."""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from surefoot.system.memory_limits import pieces

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]
LEAST_BYTES = 2**26
"""Of arrays in single precision: smaller ones are kept so, which saves the time of scaling."""
MOST_MEMORY_BYTES = 2**30
"""Of images in eight bits: more are kept in a file, of which the system has in memory what it can.
"""


def bytes_held(values: int) -> int:
    """Of memory for so many values of images."""
    as_array = 4 * values
    return as_array if as_array <= LEAST_BYTES else min(values, MOST_MEMORY_BYTES)


_AT_ONCE = 16
"""Arrays as large as the bytes taken, at most, that a pass over all images has at a time."""


class LazyRows:
    """Rows of bytes, each read when it is first needed, and then kept.

    `read` gives those at the given places. What was read stays as it was, whatever becomes of its
    file.
    """

    def __init__(
        self, shape: tuple[int, ...], read: Callable[[Places], Bytes], values: Bytes | None = None
    ) -> None:
        self.shape, self._read, self._values = shape, read, values
        self._known = np.full(shape[0], values is not None)
        self._lock = threading.Lock()

    def take(self, rows: Places) -> Bytes:
        """The rows at these places, in their order."""
        with self._lock:
            if self._values is None:
                self._values = _room(self.shape)
            missing = np.unique(rows[~self._known[rows]])
            for some in pieces(len(missing), _AT_ONCE * math.prod(self.shape[1:])):
                self._values[missing[some]] = self._read(missing[some])
                self._known[missing[some]] = True
            return np.asarray(self._values[rows])

    def subset(self, rows: Places) -> LazyRows:
        """Those at these places alone; none of them is read yet."""
        read = self._read
        return LazyRows((len(rows), *self.shape[1:]), lambda some: read(rows[some]))

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process all rows are there."""
        return whole_rows, (self.take(np.arange(self.shape[0])),)


def whole_rows(values: Bytes) -> LazyRows:
    """Rows that are in memory already."""
    return LazyRows(values.shape, lambda rows: values[rows], values)


def _room(shape: tuple[int, ...]) -> Bytes:
    """For all rows; memory is used as they are written. A file of the system for many."""
    if math.prod(shape) <= MOST_MEMORY_BYTES:
        return np.empty(shape, dtype=np.uint8)
    with tempfile.TemporaryFile() as file:  # gone with the last use of the array
        return np.memmap(file, np.uint8, "w+", shape=shape)


class Pixels(NDArrayOperatorsMixin):
    """Images as an array of float32 that is not there: bytes, divided by a number when taken.

    What it does not have itself it does as the whole array would.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        rows: LazyRows,
        divisor: float,
        row_shape: tuple[int, ...] | None = None,
        moves: tuple[tuple[str, tuple[int, ...]], ...] = (),
    ) -> None:
        self._rows, self._divisor, self._moves = rows, divisor, moves
        own = rows.shape[1:] if row_shape is None else row_shape
        self.shape: tuple[int, ...] = (rows.shape[0], *own)

    @property
    def ndim(self) -> int:
        """Axes, that of the images included."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """All values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """As the array would have them."""
        return self.dtype.itemsize * self.size

    def __len__(self) -> int:
        """How many images."""
        return self.shape[0]

    def __getitem__(self, key: Any) -> NDArray[np.float32]:  # noqa: ANN401  as NumPy takes it
        """Images, as NumPy would give them."""
        first, *others = key if isinstance(key, tuple) else (key,)
        rows = np.arange(len(self))[first]
        taken = self._scaled(np.atleast_1d(rows))
        one = taken[0] if np.ndim(rows) == 0 else taken
        index = (*others,) if np.ndim(rows) == 0 else (slice(None), *others)
        return one[index] if others else one

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """One image after the other."""
        return (self[i] for i in range(len(self)))

    def subset(self, rows: Sequence[int]) -> Pixels | NDArray[np.float32]:
        """The images at these places alone; few are an array."""
        places = np.asarray(rows, dtype=np.intp)
        shape, moves = self.shape[1:], self._moves
        chosen = Pixels(self._rows.subset(places), self._divisor, shape, moves)
        return chosen if chosen.nbytes > LEAST_BYTES else np.asarray(chosen)

    def transpose(self, *axes: int) -> Pixels:
        """With the axes of an image in another order."""
        shape = tuple(self.shape[a] for a in axes[1:])
        return Pixels(self._rows, self._divisor, shape, (*self._moves, ("transpose", axes)))

    def reshape(self, *shape: int) -> Any:  # noqa: ANN401  such images, or the array
        """With another shape of an image."""
        if shape[0] != len(self) or math.prod(shape) != self.size:
            return np.asarray(self).reshape(*shape)
        return Pixels(self._rows, self._divisor, shape[1:], (*self._moves, ("reshape", shape[1:])))

    def min(self, axis: int | None = None) -> Any:  # noqa: ANN401  a number, or an array
        """The smallest value."""
        return self._end(np.min, axis)

    def max(self, axis: int | None = None) -> Any:  # noqa: ANN401  a number, or an array
        """The largest value."""
        return self._end(np.max, axis)

    def _end(self, end: Callable[..., Any], axis: int | None) -> Any:  # noqa: ANN401
        """Of the bytes, which scaling keeps in their order."""
        rows = np.arange(len(self))
        row_bytes = _AT_ONCE * self.size // len(self)
        some = [end(self._rows.take(rows[p]), axis=0) for p in pieces(len(self), row_bytes)]
        row = self._ready(end(np.stack(some), axis=0)[None])[0]
        return row if axis == 0 else end(row)

    def _scaled(self, rows: Places) -> NDArray[np.float32]:
        return self._ready(self._rows.take(rows))

    def _ready(self, taken: Bytes) -> NDArray[np.float32]:
        values = taken.astype(np.float32)
        if self._divisor != 1:
            values /= np.float32(self._divisor)
        for kind, by in self._moves:
            moved = values.transpose(by) if kind == "transpose" else values.reshape(len(taken), *by)
            values = np.ascontiguousarray(moved)
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        """All of it in single precision."""
        whole = self._scaled(np.arange(len(self)))
        return whole if dtype is None else whole.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:  # noqa: ANN401
        """As on the whole array."""
        arrays = [np.asarray(one) if isinstance(one, Pixels) else one for one in given]
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  of an array
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def scaled(rows: LazyRows, divisor: float) -> NDArray[np.float32]:
    """Bytes divided by a number: an array, or where it were large, pixels that act as one."""
    pixels = Pixels(rows, divisor)
    return (
        cast("NDArray[np.float32]", pixels) if pixels.nbytes > LEAST_BYTES else np.asarray(pixels)
    )
