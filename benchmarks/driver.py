"""One driver without a model: batches a second, and memory with 1 and with 1,000 workers.

Workers are simulated: they answer at once, so that what is timed is the driver alone. It takes
batches off the queue, submits them, journals what comes back and goes on with each input's method.
Batches hold one question or 128; the journal is in memory, in an SQLite file, and in `--store`
where one is named (a database needs a new study each time: `--seed`). `waiting` runs 2,000 batches
at a time, answered one by one, as 1,000 workers would; its memory is compared with that of one.

    python benchmarks/driver.py [--quick] [--store postgresql://user@host:5432/db] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from processor import processor_name
from tables import print_table

from surefoot.core.counts import Counts
from surefoot.core.procedure import Pinned
from surefoot.core.tasks import Subject, Task
from surefoot.engine.loop import measure
from surefoot.executors.pool import Inline
from surefoot.store import Journal, open_store
from surefoot.testing.conformance import example_spec

TARGET = 1_000
"""Batches a second with one question each, journalled in an SQLite file."""
LARGEST_GROWTH = 0.10
"""Of the driver's memory, from 1 worker to 1,000."""
INPUTS = 1_000
"""At least; and as many as batches that are under way, which each need an input of their own."""
TRIALS = 64
"""Of one question."""
QUESTIONS = 128
"""Of a large batch: 8,192 trials, the largest on a CPU."""
STAGES, QUICK_STAGES = 20, 5
"""Questions that the method of each input asks, one after the other."""
MANY = 1_000
"""Workers that are simulated."""
PAUSE_SECONDS = 0.0001
"""Between two answers of many workers: one batch comes back at a time, and thousands wait."""
LEVEL = 0.1


@dataclass(frozen=True)
class Stages:
    """Asks so many times for the same number of trials; concludes with their sum."""

    stages: int

    def steps(self) -> Generator[int, Counts, Counts]:
        """One stage after the other."""
        total = yield TRIALS
        for _ in range(self.stages - 1):
            total += yield TRIALS
        return total


class AtOnce:
    """A bench that needs no time: a trial in eight fails."""

    block = 1

    def answer(self, tasks: Sequence[Task]) -> list[Counts]:
        """Counts of each task."""
        return [Counts(task.stop - task.start, (task.stop - task.start) * 7 // 8) for task in tasks]


class OneByOne(Executor):
    """As many workers as one likes: a thread answers what they were given, in turn."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[..., Any], Any] | None] = (
            SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:  # noqa: ANN401
        """The answer, later."""
        future: Future[Any] = Future()
        self._waiting.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            future, fn, args = given
            future.set_result(fn(*args))
            time.sleep(PAUSE_SECONDS)


@dataclass(frozen=True)
class Rate:
    """Of one run: batches, and seconds by the clock and of the processor."""

    batches: int
    clock: float
    processor: float


def driven(
    journal: Journal, pool: Executor, stages: int, batch: int, in_flight: int, inputs: int
) -> Rate:
    """One run of so many inputs."""
    subjects = [Subject(f"{i:06d}", (i,)) for i in range(inputs)]
    clock, processor = time.perf_counter(), time.process_time()
    results = measure(
        Pinned(Stages(stages), LEVEL),
        AtOnce(),
        subjects,
        pool=pool,
        journal=journal,
        batch_size=batch * TRIALS,
        in_flight=in_flight,
    )
    taken = Rate(
        -(-inputs * stages // batch),
        time.perf_counter() - clock,
        time.process_time() - processor,
    )
    if {r.trials for r in results} != {stages * TRIALS}:
        raise SystemExit("trials were lost")
    return taken


@contextmanager
def new_journal(where: str | None, digest: str) -> Iterator[Any]:
    """The empty journal of a new run: in memory, in a file, or in a database."""
    with closing(open_store(where)) as store:
        store.begin(digest, example_spec(1), None, {})
        yield store.journal(digest)


def rows_of(kind: str, where: str | None, seed: int, stages: int) -> list[dict[str, Any]]:
    """The rates with one journal: one batch at a time, or those of many workers."""
    shapes = [("inline", 1, 1), ("inline", 1, QUESTIONS), ("waiting", 2 * MANY, 1)]
    rows = []
    for number, (pool_kind, in_flight, batch) in enumerate(shapes):
        pool = OneByOne() if pool_kind == "waiting" else Inline()
        digest = f"driver-{seed}-{stages}-{number}"
        with new_journal(where, digest) as journal, pool:
            rate = driven(
                journal,
                pool,
                stages * (5 if batch > 1 else 1),
                batch,
                in_flight,
                max(INPUTS, in_flight),
            )
        rows.append(
            {
                "journal": kind,
                "in_flight": in_flight,
                "questions_a_batch": batch,
                "batches_per_second": round(rate.batches / rate.clock),
                "per_cpu_second": round(rate.batches / rate.processor),
                "questions_per_second": round(rate.batches * batch / rate.clock),
            }
        )
    return rows


def peak_memory(workers: int) -> int:
    """Bytes that the driver of so many simulated workers has used at most, in a new process."""
    command = [sys.executable, __file__, "--memory-of", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def _print_memory(workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "run.db")
        with new_journal(file, "memory") as journal, OneByOne() as pool:
            driven(journal, pool, QUICK_STAGES, 1, 1 if workers == 1 else 2 * workers, 2 * MANY)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak if sys.platform == "darwin" else peak * 1024)


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds")
    parser.add_argument("--store", help="a database to write to, too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        _print_memory(options.memory_of)
        return
    stages = QUICK_STAGES if options.quick else STAGES
    with tempfile.TemporaryDirectory() as folder:
        places: dict[str, str | None] = {"memory": None, "SQLite": str(Path(folder) / "run.db")}
        if options.store:
            places["database"] = options.store
        rows = [row for k, w in places.items() for row in rows_of(k, w, options.seed, stages)]
    print(f"processor: {processor_name()}; {INPUTS:,} inputs")
    print_table(list(rows[0]), [[f"{v:,}" if isinstance(v, int) else v for v in row.values()]
                                for row in rows])  # fmt: skip
    one, many = peak_memory(1), peak_memory(MANY)
    growth = many / one - 1
    print(f"memory: {one / 2**20:.0f} MiB with 1 worker, {many / 2**20:.0f} with {MANY:,}")
    on_disk = next(r for r in rows if r["journal"] == "SQLite")
    result = {"batches_per_second": on_disk["batches_per_second"], "target": TARGET}
    result |= {"batches_per_cpu_second": on_disk["per_cpu_second"]}
    result |= {"memory_growth": round(growth, 3), "largest_growth": LARGEST_GROWTH}
    print(json.dumps({**result, "processor": processor_name(), "rows": rows}))


if __name__ == "__main__":
    main()
