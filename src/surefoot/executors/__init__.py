"""Where batches run: `concurrent.futures.Executor` is the interface."""

from __future__ import annotations

from surefoot.executors.devices import Work
from surefoot.executors.pool import (
    EXECUTORS,
    AnyExecutor,
    Inline,
    WorkerNote,
    check_executor,
    cores,
    open_pool,
    open_work,
    warn_of_fallback,
)
from surefoot.executors.ray_connection import Ray, one_cluster

__all__ = [
    "EXECUTORS",
    "AnyExecutor",
    "Inline",
    "Ray",
    "Work",
    "WorkerNote",
    "check_executor",
    "cores",
    "one_cluster",
    "open_pool",
    "open_work",
    "warn_of_fallback",
]
