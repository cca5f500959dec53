"""Where batches run: `concurrent.futures.Executor` is the interface."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor

from surefoot.errors import InvalidArgument
from surefoot.executors.inline import Inline

__all__ = ["Inline", "cores", "open_pool"]


def cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(workers: int) -> Executor:
    """An executor: inline for one worker, else threads (inference releases the GIL)."""
    if workers < 1:
        raise InvalidArgument(f"workers must be an integer ≥ 1, got {workers}")
    return Inline() if workers == 1 else ThreadPoolExecutor(workers, thread_name_prefix="worker")
