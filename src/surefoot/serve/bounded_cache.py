"""Values that take long to make, the last used ones kept up to a total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class BoundedCache(Generic[V]):
    """The last used values up to a total of `most`, by what `size_of` says; made one at a time.

    One at a time: two readers of the same page wait for one value, and many pages at once cannot
    take all of the memory.
    """

    def __init__(self, most: int, size_of: Callable[[V], int]) -> None:
        self._most, self._size_of = most, size_of
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._size, self._lock = 0, threading.Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of this key, made where it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            value = make()
            size = self._size_of(value)
            if size <= self._most:
                self._values[key] = value
                self._size += size
                while self._size > self._most:
                    _, dropped = self._values.popitem(last=False)
                    self._size -= self._size_of(dropped)
            return value
