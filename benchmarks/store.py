"""The journal of a large study: seconds to write and to replay, bytes a row, seconds to resume.

100,000 inputs with three entries each are written in batches, one transaction a batch, and read
again as a resumed run does. Without `--store` the store is an SQLite file in a temporary folder;
a database needs a new study each time: `--seed`. `resume_seconds` is the processor time of a whole
study of as many inputs that was killed just before its last answer: replay, every method begun
anew and answered, the population, the record. It was 31 s; the target is 24.

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

import numpy as np
from processor import print_processor

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.core.tasks import Subject, Task
from surefoot.store import open_store
from surefoot.testing.conformance import example_spec

INPUTS, QUICK_INPUTS = 100_000, 5_000
ROUNDS = 3
"""Entries of each input: a method that asks in three stages."""
TRIALS = 64
"""Of one entry."""
TASKS = 128
"""Of one batch: 8,192 trials, the largest on a CPU."""
RESUME_TARGET = 24.0
"""Seconds of the processor for 100,000 inputs."""


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


def scores(x: np.ndarray) -> np.ndarray:
    """Two classes, at once."""
    total = x.sum(axis=1)
    return np.stack([total, 2.0 - total], axis=1)


def large_study(inputs: int) -> sf.Study:
    """Four values an input; a method that asks two or three times, about 150 trials in all."""
    x = np.random.default_rng(1).uniform(0, 1, (inputs, 4)).astype(np.float32)
    model = sf.load_model(scores, shape=(4,), bounds=(0, 1))
    return sf.Study(model, sf.load_inputs(x), sf.perturb.LinfNoise(0.1), sf.methods.BuSun(0.1, 0.1))


def almost_whole(study: sf.Study) -> list[tuple[Task, Counts]]:
    """Answers to all questions of a study but the last, stage after stage; drawn, not measured."""
    rng = np.random.default_rng(2)
    stages: list[list[tuple[Task, Counts]]] = [[], [], []]
    for subject, p in zip(
        study.fitted.subjects(), rng.beta(0.3, 3, len(study.inputs)), strict=True
    ):
        session, start = Session(study.method), 0
        for stage in stages:
            if (n := session.question) is None:
                break
            counts = Counts(n, n - int(rng.binomial(n, p)))
            stage.append((Task(subject, study.level, start, start + n), counts))
            session.tell(counts)
            start += n
    return [answer for stage in stages for answer in stage][:-1]


def resumed(inputs: int, file: Path) -> tuple[float, float]:
    """Seconds on the clock and of the processor to resume a study that lacks one answer."""
    study = large_study(inputs)
    answers = almost_whole(study)
    with closing(open_store(str(file))) as store:
        store.begin(study.digest, study.spec, None, {})
        journal = store.journal(study.digest)
        for i in range(0, len(answers), TASKS):
            journal.append(answers[i : i + TASKS])
    again = large_study(inputs)
    return timed(lambda: again.run(str(file)))


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
        whole = resumed(inputs, Path(folder) / "resume.db")
    print(f"{inputs:,} inputs, {rows:,} rows in {len(work):,} batches")
    for name, (clock, own) in {"write": wrote, "replay": replayed}.items():
        print(
            f"{name}: {clock:.2f} s ({own:.2f} s of the processor, {1e6 * own / rows:.1f} µs a row)"
        )
    print(f"resume of a whole study: {whole[0]:.2f} s ({whole[1]:.2f} s of the processor)")
    if size:
        print(f"file: {size:,} bytes ({size / rows:.1f} a row)")
    result = {"inputs": inputs, "rows": rows, "write_s": round(wrote[0], 3)}
    result |= {"replay_s": round(replayed[0], 3), "replay_cpu_s": round(replayed[1], 3)}
    result |= {"resume_seconds": round(whole[1], 2), "resume_target": RESUME_TARGET}
    print(json.dumps(result | {"bytes": size, "bytes_per_row": round(size / rows, 1)}))


if __name__ == "__main__":
    main()
