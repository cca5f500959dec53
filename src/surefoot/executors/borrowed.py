"""An executor of the caller's own: it is given what can be sent, and left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import cached_property, partial
from typing import Any, ParamSpec, TypeVar

from surefoot.errors import WorkerFailed
from surefoot.executors import worker
from surefoot.executors.sending import Package, pack

T = TypeVar("T")
P = ParamSpec("P")


class Sent:
    """`bench.answer` as it is; pickled, each process opens a bench of its own."""

    def __init__(self, bench: Any) -> None:  # noqa: ANN401  any bench
        self._bench = bench

    @cached_property
    def _package(self) -> Package:
        return pack(self._bench)

    def __call__(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """The evidence of each task."""
        answers: Sequence[Any] = self._bench.answer(tasks)
        return answers

    def __reduce__(self) -> tuple[Any, ...]:
        """The package goes along with every batch; a process opens it once."""
        return partial, (worker.answer_package, self._package)


class Borrowed(Executor):
    """Submits to an executor that somebody else opened and will close."""

    def __init__(self, executor: Executor, bench: Any) -> None:  # noqa: ANN401  any bench
        self._executor, self._answer = executor, Sent(bench)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The answer to a batch."""
        answer: Any = self._answer
        try:
            return self._executor.submit(answer, *args)
        except BrokenExecutor as error:
            raise WorkerFailed(
                f"the executor {type(self._executor).__name__} is broken ({error}): pass a new one"
            ) from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: it is not ours."""
