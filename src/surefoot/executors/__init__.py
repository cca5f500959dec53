"""Where batches run: `concurrent.futures.Executor` is the interface."""

from __future__ import annotations

from surefoot.executors.inline import Inline
from surefoot.executors.pool import (
    EXECUTORS,
    AnyExecutor,
    Work,
    WorkerNote,
    check_executor,
    cores,
    open_pool,
    open_work,
    warn_of_fallback,
)
from surefoot.executors.ray_connection import one_cluster
from surefoot.executors.ray_options import Ray

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
