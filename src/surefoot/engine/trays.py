"""How big a batch is, and what goes into one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.subject import Task

SMALLEST, LARGEST = 8, 8192
_LONG_ENOUGH = 0.15
_WORTH_IT = 1.04


def fill(queue: deque[Task], size: int, block: int) -> list[Task]:
    """Take up to `size` trials off the queue, of as many subjects as it takes.

    A task that does not fit whole is split, at the end of a block of random numbers if one is
    within reach, so that no block is drawn twice.
    """
    if size < 1:
        raise InvalidArgument(f"a tray must hold at least one trial, got {size}")
    load: list[Task] = []
    room = size
    while queue and room:
        task = queue.popleft()
        if task.units > room:
            end = (task.start + room) // block * block
            if end <= task.start:
                if load:
                    queue.appendleft(task)
                    break
                end = task.start + room
            queue.appendleft(replace(task, start=end))
            task = replace(task, stop=end)
        load.append(task)
        room -= task.units
    return load


def best_size(run: Callable[[int], object]) -> int:
    """The tray size at which the model is fastest; doubling stops where it no longer pays."""
    best, rate, size = SMALLEST, 0.0, SMALLEST
    while size <= LARGEST:
        try:
            run(size)
            begun = time.perf_counter()
            run(size)
        except OutOfMemory:
            break
        took = time.perf_counter() - begun
        if size / took > rate * _WORTH_IT:
            best, rate = size, size / took
        elif size >= 4 * best:
            break
        if took > _LONG_ENOUGH:
            break
        size *= 2
    return best
