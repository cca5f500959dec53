"""The work of a run, and threads for several devices: each keeps a bench of its own device."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue

from surefoot.core.tasks import Answers, AnyBench, Task
from surefoot.errors import ModelFailed, WorkerFailed
from surefoot.executors.worker import BatchPool, Values, answers_alike, self_check

_MOST_CHARACTERS = 200
"""Of what a library says about a device that failed: one line of a terminal or two."""


@dataclass(frozen=True, eq=False)
class DeviceBench:
    """A bench whose model is on this device."""

    device: str
    bench: AnyBench
    opening: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answer(self, tasks: Sequence[Task]) -> Answers:
        """The evidence of each task."""
        with self._errors():
            return self.bench.answer(tasks)

    def self_check(self) -> list[Values]:
        """The answers to a few fixed questions."""
        with self._errors():
            return self_check(self.bench)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """An error names the device."""
        try:
            yield
        except ModelFailed as error:
            raise ModelFailed(f"{error} (on {self.device})") from error
        except RuntimeError as error:  # as PyTorch raises what a GPU reports
            text = " ".join(str(error).split())[:_MOST_CHARACTERS]
            raise WorkerFailed(
                f"{self.device} failed ({text}): run the command again, on other devices (--device)"
            ) from error


@dataclass(frozen=True, eq=False)
class Work:
    """The bench that answers, how many work on it, and why threads would not help (`in_python`).

    `on_device`: the model is on a GPU, which processes cannot share. `devices`: a bench for each
    device, where there are several. `requested`: the user chose the number of workers.
    """

    bench: AnyBench
    workers: int
    in_python: str = ""
    on_device: bool = False
    devices: Sequence[DeviceBench] = ()
    requested: bool = True


class Devices(BatchPool):
    """An executor whose threads are shared out evenly among devices, one after the other.

    The first batch of a device is answered alone, as inputs are put there with it; before it, the
    device answers a few questions, which the first one answered too.
    """

    def __init__(self, benches: Sequence[DeviceBench], workers: int) -> None:
        self._free: SimpleQueue[DeviceBench] = SimpleQueue()
        for i in range(workers):
            self._free.put(benches[i % len(benches)])
        self._first, self._expected = benches[0], benches[0].self_check()
        self._ready = {benches[0]}
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")

    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """By whichever device is free first."""
        return self._threads.submit(self._answer, tasks)

    def _answer(self, tasks: Sequence[Task]) -> Answers:
        if not hasattr(self._own, "bench"):
            self._own.bench = self._free.get_nowait()
        own: DeviceBench = self._own.bench
        if own not in self._ready:
            with own.opening:
                if own not in self._ready:
                    if not answers_alike(own.self_check(), self._expected):
                        first = self._first.device
                        raise WorkerFailed(
                            "the model or the perturbation answers otherwise on "
                            f"{own.device} than on {first}: use one of them (--device {first})"
                        )
                    answers = own.answer(tasks)
                    self._ready.add(own)
                    return answers
        return own.answer(tasks)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Threads finish their batch, also after an error."""
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)
