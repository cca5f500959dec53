"""How big a batch is, and what goes into one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.tasks import Task

SMALLEST, LARGEST = 8, 8192
LARGEST_ON_DEVICE = 131_072
_LONG_ENOUGH = 0.1
_NEAR, _FAR_OFF = 0.97, 0.6
_TIMES = 3


def fill(queue: deque[Task], size: int, block: int) -> list[Task]:
    """Take up to `size` trials off the queue, of as many subjects as it takes.

    A task that does not fit whole is split, at the end of a block of random numbers if one is
    within reach, so that no block is drawn twice.
    """
    if size < 1:
        raise InvalidArgument(f"a batch must hold at least one trial, got {size}")
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


def best_size(run: Callable[[int], object], largest: int = LARGEST) -> int:
    """The batch size to use: the largest that is about as fast as the fastest.

    Sizes double as long as they stay within reach of the best rate and take no more than a
    moment; a large batch spreads the cost of bookkeeping, a long one would lose more when killed.
    """
    rates: dict[int, float] = {}
    size = SMALLEST
    while size <= largest:
        try:
            took = min(_timed(run, size) for _ in range(_TIMES))
        except OutOfMemory:
            break
        rates[size] = size / took
        if took > _LONG_ENOUGH or rates[size] < _FAR_OFF * max(rates.values()):
            break
        size *= 2
    # on a busy machine one slow reading must not decide: the fastest of three does
    good = [n for n, rate in rates.items() if rate >= _NEAR * max(rates.values())]
    return max(good, default=1)


def _timed(run: Callable[[int], object], size: int) -> float:
    begun = time.perf_counter()
    run(size)
    return time.perf_counter() - begun
