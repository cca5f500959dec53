"""How large a batch is, and which tasks go into it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument, OutOfMemory

SMALLEST_BATCH = 8
"""Trials of the first batch that is timed, unless inputs are large."""
LARGEST_BATCH = 8192
"""Trials of the largest batch on a CPU."""
SMALLEST_GPU_BATCH = 256
"""Trials of the first batch that is timed on a GPU: smaller ones take it as long."""
LARGEST_GPU_BATCH = 131_072
"""Trials of the largest batch on a GPU, which small batches do not keep busy."""
_ENOUGH_SECONDS = 0.1
"""Seconds of a batch beyond which no larger one is tried: a killed run loses a whole batch."""
_NEARLY_BEST = 0.93
"""Part of the best rate at which a larger batch is preferred: repeated timings on a shared machine
differ as much, and what a batch costs besides its trials is not timed."""
_HOPELESS = 0.6
"""Part of the best rate below which larger batches are not tried: timing noise is smaller."""
_REPEATS = 3
"""Timings of each size. The fastest counts, so that one slow reading does not decide."""
_LONG_SECONDS = 0.03
"""Seconds of a batch that need no third timing: a slow reading is a small part of them."""


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
        if task.rows > room:
            end = (task.start + room) // block * block
            if end <= task.start:
                if batch:
                    queue.appendleft(task)
                    break
                end = task.start + room
            queue.appendleft(replace(task, start=end))
            task = replace(task, stop=end)
        batch.append(task)
        room -= task.rows
    return batch


def fastest_batch_size(
    run: Callable[[int], object], largest: int = LARGEST_BATCH, smallest: int = SMALLEST_BATCH
) -> int:
    """The largest batch size that is about as fast per trial as the fastest.

    `run` runs a batch of the given size. Sizes double until a batch takes too long, does not fit
    into memory, or is much slower per trial than the best. They begin with `smallest`, or with
    less where that is too much, or `largest` is small because inputs are large.
    """
    if largest == 1:
        return 1
    rates: dict[int, float] = {}
    size = max(1, min(smallest, largest // SMALLEST_BATCH))
    while size <= largest:
        try:
            seconds = _seconds(run, size)
            fastest = bool(rates) and size / seconds >= max(rates.values())
            if fastest and seconds >= _LONG_SECONDS:
                pass  # known by one timing, since the first run of a size is its slowest
            elif size > SMALLEST_BATCH or not _is_slow(run, size, seconds):
                seconds = min(seconds, _seconds(run, size))
            if seconds < _LONG_SECONDS:
                seconds = min(seconds, *(_seconds(run, size) for _ in range(_REPEATS - 2)))
        except OutOfMemory:
            break
        rates[size] = size / seconds
        if seconds > _ENOUGH_SECONDS or rates[size] < _HOPELESS * max(rates.values()):
            break
        size *= 2
    if len(rates) <= 1 and smallest > SMALLEST_BATCH:  # too large a beginning
        return fastest_batch_size(run, min(largest, smallest))
    nearly_best = [n for n, rate in rates.items() if rate >= _NEARLY_BEST * max(rates.values())]
    return max(nearly_best, default=1)


def _is_slow(run: Callable[[int], object], size: int, seconds: float) -> bool:
    """Whether the smallest batch takes long enough for certain: one trial by itself says so too.

    Then no rate is needed, and a network that takes long for each trial is not run in vain.
    """
    return seconds > 2 * _ENOUGH_SECONDS and _seconds(run, 1) > _ENOUGH_SECONDS / size


def _seconds(run: Callable[[int], object], size: int) -> float:
    start = time.perf_counter()
    run(size)
    return time.perf_counter() - start
