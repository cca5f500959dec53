"""The journal of a large study: seconds to write and to replay, and bytes a row.

100,000 inputs with three entries each are written in batches, one transaction a batch, and read
again as a resumed run does. Without `--store` the store is an SQLite file in a temporary folder;
a database needs a new study each time: `--seed`.

    python benchmarks/store.py [--quick] [--store postgresql://user@host:5432/db] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from processor import print_processor

from surefoot.evidence import Counts
from surefoot.store import open_store
from surefoot.tasks import Subject, Task
from surefoot.testing.stores import example_spec

INPUTS, QUICK_INPUTS = 100_000, 5_000
ROUNDS = 3
"""Entries of each input: a method that asks in three stages."""
TRIALS = 64
"""Of one entry."""
TASKS = 128
"""Of one batch: 8,192 trials, the largest on a CPU."""


def batches(inputs: int) -> list[list[tuple[Task, Counts]]]:
    """What a run appends, batch by batch."""
    subjects = [Subject(f"{i:06d}", (i,)) for i in range(inputs)]
    answers = [
        (
            Task(subject, 0.1, TRIALS * part, TRIALS * (part + 1)),
            Counts(TRIALS, TRIALS - (i + part) % 5),
        )
        for part in range(ROUNDS)
        for i, subject in enumerate(subjects)
    ]
    return [answers[i : i + TASKS] for i in range(0, len(answers), TASKS)]


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and seconds of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> None:
    """Print the times, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds")
    parser.add_argument("--store", help="a store to write to")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print_processor()
    inputs = QUICK_INPUTS if options.quick else INPUTS
    work = batches(inputs)
    rows = sum(len(batch) for batch in work)
    digest = f"benchmark-{inputs}-{options.seed}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.db"
        where = options.store or str(file)
        with closing(open_store(where)) as store:
            store.begin(digest, example_spec(options.seed), None, {})
            journal = store.journal(digest)
            wrote = timed(lambda: [journal.append(batch) for batch in work])
        with closing(open_store(where)) as store:
            replayed = timed(store.journal(digest).replay)
        size = file.stat().st_size if file.exists() else 0
    print(f"{inputs:,} inputs, {rows:,} rows in {len(work):,} batches")
    for name, (clock, own) in {"write": wrote, "replay": replayed}.items():
        print(
            f"{name}: {clock:.2f} s ({own:.2f} s of the processor, {1e6 * own / rows:.1f} µs a row)"
        )
    if size:
        print(f"file: {size:,} bytes ({size / rows:.1f} a row)")
    result = {"inputs": inputs, "rows": rows, "write_s": round(wrote[0], 3)}
    result |= {"replay_s": round(replayed[0], 3), "replay_cpu_s": round(replayed[1], 3)}
    print(json.dumps(result | {"bytes": size, "bytes_per_row": round(size / rows, 1)}))


if __name__ == "__main__":
    main()
