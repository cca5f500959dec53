"""Every kind of claim in worlds whose truth is known: how often is it false, and how wide is it?

    python benchmarks/claims.py [--runs 1000] [--quick] [--processes 2] [--kind mean_population]

Each run is a whole study. A kind is false too often when a one-sided binomial test at level .001
rejects the stated error in one of its worlds. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from processor import print_processor  # noqa: E402
from scipy.stats import binomtest  # noqa: E402
from tests.claims.every_world import WORLDS  # noqa: E402
from tests.claims.worlds import Outcome, add_up  # noqa: E402

from surefoot.core.claims import KINDS  # noqa: E402

LEVEL = 0.001
_EVERY = [world for worlds in WORLDS.values() for world in worlds]
FIRST = 1_000_000
"""The first seed: tests use those from 0 on."""


def some(index: int, seeds: range) -> Outcome:
    """The outcomes of one world for these seeds."""
    return add_up([_EVERY[index].run(seed) for seed in seeds])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="30 runs of each world")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kind", help="only worlds of this kind")
    options = parser.parse_args()
    print_processor()
    runs = 30 if options.quick else options.runs
    chosen = [i for i, w in enumerate(_EVERY) if options.kind in (None, w.kind)]
    size = max(1, runs // (4 * options.processes))
    begun = time.perf_counter()
    print(f"{'kind':<20} {'world':<42} {'error':>6} {'claims':>7} {'false':>7} {'share':>6} "
          f"{'undecided':>9} {'median width':>12}  seconds")  # fmt: skip
    false_kinds: set[str] = set()
    with ProcessPoolExecutor(options.processes) as pool:
        for index in chosen:
            at = time.perf_counter()
            starts = range(FIRST, FIRST + runs, size)
            seeds = [range(s, min(s + size, FIRST + runs)) for s in starts]
            whole = add_up(list(pool.map(some, [index] * len(seeds), seeds)))
            world = _EVERY[index]
            if rejected(whole, world.error):
                false_kinds.add(world.kind)
            width = f"{statistics.median(whole.widths):.4g}" if whole.widths else ""
            print(f"{world.kind:<20} {world.name:<42} {world.error:>6g} {whole.claims:>7,} "
                  f"{whole.false:>7,} {whole.false / whole.claims:>6.3f} "
                  f"{whole.undecided / whole.claims:>9.3f} {width:>12}  "
                  f"{time.perf_counter() - at:.0f}", flush=True)  # fmt: skip
    print(f"\n{runs} runs of each world, seeds from {FIRST:,}; "
          f"{time.perf_counter() - begun:.0f} s")  # fmt: skip
    kinds = len({_EVERY[i].kind for i in chosen})
    figures = {
        "false_kinds": len(false_kinds),
        "kinds": kinds,
        "all_kinds": len(KINDS),
        "runs": runs,
    }
    print(json.dumps({**figures, "which": sorted(false_kinds)}))


def rejected(outcome: Outcome, error: float) -> bool:
    """Whether so many false claims reject the stated error."""
    if error == 0:
        return outcome.false > 0
    return bool(binomtest(outcome.false, outcome.claims, error, "greater").pvalue < LEVEL)


if __name__ == "__main__":
    main()
