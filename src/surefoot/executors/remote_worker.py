"""A worker in another process or on another machine, as `Dispatch` knows it."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future
from typing import Any, Protocol


class WorkerLost(BrokenExecutor):
    """A worker, its process or its machine has ended."""


class Worker(Protocol):
    """Somewhere else, with a bench of its own."""

    @property
    def placed(self) -> Future[Any]:
        """Done once it has a process."""
        ...

    @property
    def opened(self) -> Future[Any]:
        """Done once it has its bench; the exception says why it has none."""
        ...

    def answer(self, tasks: Any) -> Future[Any]:  # noqa: ANN401  tasks of any bench
        """The evidence of each task; `WorkerLost` where nobody will answer."""
        ...

    def end(self) -> None:
        """End it, whatever it does."""
        ...
