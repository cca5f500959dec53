"""How large a batch is, and which tasks go into it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument, OutOfMemory


@dataclass(frozen=True)
class Sizes:
    """Trials of the batches that are timed: the smallest and largest, and the step between two.

    `seconds`: at the best rate so far none is tried that would take longer.
    """

    smallest: int
    largest: int
    growth: int
    seconds: float


ON_CPU = Sizes(8, 8192, 2, 0.2)
ON_GPU = Sizes(128, 131_072, 4, 0.8)
"""Smaller batches take a GPU as long, each size has its libraries choose code for every layer
anew, and better code may come late: ResNet-18 took 0.12 s for 32,768 trials, 0.14 s for 131,072."""
_ENOUGH_SECONDS = 0.2
"""Seconds of a batch beyond which a smaller one is preferred: a killed run loses a whole batch."""
_NEARLY_BEST = 0.93
"""Part of the best rate at which a larger batch is preferred: repeated timings on a shared machine
differ as much, and what a batch costs besides its trials is not timed."""
_HOPELESS = 0.6
"""Part of the best rate below which larger batches are not tried: timing noise is smaller."""
_REPEATS = 3
"""Timings of each size. The fastest counts, so that one slow reading does not decide."""
_LONG_SECONDS = 0.03
"""Seconds of a batch that need no third timing: a slow reading is a small part of them."""
_SECONDS_A_SHARER = 2e-5
"""What a batch costs besides for each other worker: they wait for Python's lock several times, and
sixteen of them lose 0.3 ms of every batch."""


MOST_GROWTH = 64
"""Times the size at which a model is fastest, up to which batches grow on a processor: there the
bench works through them piece by piece."""


def take_batch(queue: deque[Task], size: int, block: int) -> list[Task]:
    """Take up to `size` trials off the queue, from as many subjects as necessary.

    A task that does not fit is split. The cut is at the end of a block of random numbers where
    possible, so that no block is drawn twice.
    """
    if size < 1:
        raise InvalidArgument(f"batch size must be an integer ≥ 1, got {size}")
    batch: list[Task] = []
    room = size
    while queue and room:
        task = queue.popleft()
        if task.alone:
            if batch:
                queue.appendleft(task)
                break
            return [task]
        if (rows := task.rows) > room:
            end = (task.start + room) // block * block
            if end <= task.start:
                if batch:
                    queue.appendleft(task)
                    break
                end = task.start + room
            queue.appendleft(replace(task, start=end))
            task, rows = replace(task, stop=end), end - task.start
        batch.append(task)
        room -= rows
    return batch


def fastest_batch_size(
    run: Callable[[int], object],
    sizes: Sizes = ON_CPU,
    largest: int | None = None,
    workers: int = 1,
) -> int:
    """The largest short batch that is about as fast per trial as the fastest, for so many workers.

    `run` runs a batch of the given size. Sizes grow until a batch would take too long, does not fit
    into memory, or is much slower per trial than the best. They begin with less where that is too
    much, or `largest` is small because inputs are large.
    """
    largest = min(sizes.largest, largest or sizes.largest)
    if largest == 1:
        return 1
    rates: dict[int, float] = {}
    size = first = max(1, min(sizes.smallest, largest // ON_CPU.smallest))
    while size <= largest and size <= sizes.seconds * max(rates.values(), default=math.inf):
        try:
            seconds = _seconds(run, size)
            fastest = bool(rates) and size / seconds >= max(rates.values())
            long = seconds >= (_LONG_SECONDS if fastest else _ENOUGH_SECONDS)
            if long and size > first:
                pass  # known by one timing, since the first run of a size is its slowest
            elif size > ON_CPU.smallest or not _is_slow(run, size, seconds):
                seconds = min(seconds, _seconds(run, size))
            if seconds < _LONG_SECONDS:
                seconds = min(seconds, *(_seconds(run, size) for _ in range(_REPEATS - 2)))
        except OutOfMemory:
            break
        rates[size] = size / (seconds + _SECONDS_A_SHARER * (workers - 1))
        if rates[size] < _HOPELESS * max(rates.values()):
            break
        size *= sizes.growth
    if sizes is not ON_CPU and first > sizes.seconds * rates.get(first, 0):  # too large a beginning
        return fastest_batch_size(run, ON_CPU, first, workers)
    nearly_best = [n for n, rate in rates.items() if rate >= _NEARLY_BEST * max(rates.values())]
    short = [n for n in nearly_best if n <= _ENOUGH_SECONDS * rates[n]]
    return max(short, default=min(nearly_best, default=1))


def _is_slow(run: Callable[[int], object], size: int, seconds: float) -> bool:
    """Whether the smallest batch takes long enough for certain: one trial by itself says so too.

    Then no rate is needed, and a network that takes long for each trial is not run in vain.
    """
    return seconds > _ENOUGH_SECONDS and _seconds(run, 1) > _ENOUGH_SECONDS / 2 / size


def _seconds(run: Callable[[int], object], size: int) -> float:
    start = time.perf_counter()
    run(size)
    return time.perf_counter() - start
