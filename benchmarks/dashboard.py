"""Seconds until the dashboard lists a store of 200 runs and 100,000 inputs; the target is one.

The store is written first: one study is run, and its record, journal and claims are stored 200
times under names of their own, 500 inputs each; with `--large` one run has 100,000 inputs instead.
Then `surefoot serve` opens the store: `first_seconds` is the first page after it has said its
address, `next_seconds` every later one.

    python benchmarks/dashboard.py [--quick] [--large] [--store postgresql://user@host:5432/db]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from prerequisites import need_package
from processor import print_processor

import surefoot as sf
from surefoot.core.tasks import Subject, Task
from surefoot.records.record import Source
from surefoot.store import open_store

RUNS, QUICK_RUNS = 200, 20
INPUTS = 100_000
"""In all runs together."""
TARGET = 1.0
"""Seconds for the first page."""
PAGES = 5
"""Pages that are read after the first."""


def scores(x: np.ndarray) -> np.ndarray:
    """Two classes, at once."""
    total = x.sum(axis=1)
    return np.stack([total, 2.0 - total], axis=1)


def run_study(inputs: int) -> tuple[sf.Result, sf.Study]:
    """A study of so many inputs of four values."""
    x = np.random.default_rng(1).uniform(0, 1, (inputs, 4)).astype(np.float32)
    model = sf.load_model(scores, shape=(4,), bounds=(0, 1))
    labels = scores(x).argmax(axis=1)
    made = sf.Study(
        model,
        sf.load_inputs(x, labels),
        sf.perturb.LinfNoise(0.1),
        sf.methods.BuSun(0.2, 0.2),
        by_class=True,
    )
    return made.run(), made


def write_store(where: str, sizes: list[int]) -> None:
    """Store a run of each size, the record of one study under many names."""
    studies = {size: run_study(size) for size in set(sizes)}
    with closing(open_store(where)) as store:
        for i, size in enumerate(sizes):
            result, study = studies[size]
            digest, spec = f"{i:064x}", replace(study.spec, seed=i)
            source = Source(f"models/net_{i}.onnx", "test.npz", {}, f"surefoot estimate net_{i}")
            store.begin(digest, spec, source, {})
            if result.journal is not None:
                entries = result.journal.replay()
                answers = [
                    (Task(Subject(name, (0,)), e.level, e.start, e.stop), e.evidence)
                    for name, own in entries.items()
                    for e in own
                ]
                store.journal(digest).append(answers)
            store.finish(replace(result.record, digest=digest, spec=spec, source=source))


def read_list(where: str) -> tuple[float, float, float]:
    """Seconds until a server says its address, of its first page, and of a later one."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "surefoot", "serve", "--store", where, "--port", "0",
               "--no-token"]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        ready, times = time.perf_counter() - begun, []
        for page in range(1 + PAGES):
            started = time.perf_counter()
            with urlopen(f"{address}?page={page % 2 + 1}") as answer:  # noqa: S310  our own server
                assert b"data-run" in answer.read()
            times.append(time.perf_counter() - started)
    finally:
        server.terminate()
        server.wait()
    return ready, times[0], sum(times[1:]) / PAGES


def main() -> None:
    """Print the times, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds")
    parser.add_argument("--large", action="store_true", help="one run has all the inputs")
    parser.add_argument("--store", help="an empty database to write to")
    options = parser.parse_args()
    need_package("starlette")
    print_processor()
    runs = QUICK_RUNS if options.quick else RUNS
    each = INPUTS // RUNS
    sizes = [each] * runs
    if options.large:
        sizes = [INPUTS if not options.quick else 10 * each, *[2] * (runs - 1)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        where = options.store or str(file)
        write_store(where, sizes)
        size = file.stat().st_size if file.exists() else 0
        ready, first, later = read_list(where)
    print(f"{runs} runs, {sum(sizes):,} inputs, {size / 1e6:.0f} MB; ready after {ready:.1f} s")
    print(f"first page {first:.2f} s, later ones {later:.3f} s")
    figures = {"runs": runs, "inputs": sum(sizes), "first_seconds": round(first, 3)}
    print(json.dumps(figures | {"next_seconds": round(later, 3), "target": TARGET}))


if __name__ == "__main__":
    main()
