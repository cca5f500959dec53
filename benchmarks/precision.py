"""A mean to a stated precision: trials against one width for every input, and against an oracle.

On the demo (300 images, noise of 32/255, confidence 99 %). `trials_saved`: trials that an interval
of width 0.02 for each input takes, over those after which `PopulationMean` gives a population
interval at least as narrow as the 0.0855 that these lead to. `over_oracle`: trials of `SetMean` to
a width of 0.0038 over those of the same interval if every failure probability were known before,
to guess and to allocate. `over_neyman`: over Neyman's allocation with the normal approximation,
which knows every probability and promises nothing at finite numbers. `over_oracle_coarse`: of
thousands of inputs, over the better of two that know the truth: single trials of random inputs by
the normal approximation, and the oracle after one trial of each input. (No method comes near the
oracle itself where inputs always or never fail: of 4,000 of them, 400 that always fail, it takes
929 trials to ± 0.01, as it knows which; the normal approximation without replacement takes 2,400.)
Probabilities are taken from
1,000 trials of each image with another seed. Other worlds are printed as well.

    python benchmarks/precision.py [--runs 20]
"""

from __future__ import annotations

import argparse
import json
import math
from importlib.resources import files
from typing import Any

import numpy as np
from processor import print_processor

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.population.precision import SetMean
from surefoot.statistics.stratified_mean import MeanBounds, allocate

ERROR = 0.01
BEFORE_TRIALS, BEFORE_WIDTH = 201_583, 0.0855
"""Trials of `estimate --each 0.02` on the demo, and its population interval."""
SET_WIDTH = 0.0038
PRECISIONS = (0.05, 0.02, 0.01, 0.005)
Z = 2.5758
"""Normal quantile of a two-sided error of 1 %."""


def demo(method: Any, seed: int) -> sf.Result:  # noqa: ANN401
    """A study of the demo."""
    data = files("surefoot") / "data"
    model = sf.load_model(str(data / "fashion_cnn.onnx"), bounds=(0, 1))
    inputs = sf.load_inputs(str(data / "fashion_test.npz"))
    noise = sf.parse_perturbation("linf:32/255")
    return sf.Study(model, inputs, noise, method, seed=seed).run()


def oracle(p: np.ndarray, precision: float) -> float:
    """Trials of the same interval, allocated and guessed with every probability known."""
    return allocate(p, MeanBounds(len(p)), precision, ERROR).total


def neyman(p: np.ndarray, precision: float) -> float:
    """Trials of Neyman's allocation by the normal approximation."""
    return float((Z * np.sqrt(p * (1 - p)).mean() / precision) ** 2)


def simulated(p: np.ndarray, precision: float, seed: int) -> tuple[int, bool]:
    """Trials on inputs of these probabilities, and whether the interval holds the mean."""
    rng = np.random.default_rng([seed, 77])
    session = Session(SetMean(precision, ERROR, len(p), seed))
    while session.question is not None:
        asks = session.question
        failed = rng.binomial([a.units for a in asks], p[[a.subject for a in asks]])
        session.tell(
            [Counts(a.units, a.units - k) for a, k in zip(asks, failed.tolist(), strict=True)]
        )
    mean = session.result.failure
    return mean.trials, float(p.mean()) in mean.interval


def main() -> None:
    """Print all figures; the last line is JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20)
    runs = options.parse_args().runs
    print_processor()
    print("confidence 99 %")

    known = demo(sf.methods.FixedSize(width=0.041, error=ERROR), seed=1000)
    p = np.array([1 - row.result.value for row in known.record.inputs])
    print(f"demo: mean failure {p.mean():.4f}, {int((p == 0).sum())} of {len(p)} never failed")

    half = BEFORE_WIDTH / 2
    people = [demo(sf.methods.PopulationMean(half, ERROR), seed) for seed in range(1, 6)]
    widths = [r.claims[0].interval.width for r in people]
    most = max(r.record.trials for r in people)
    print(
        f"population: {most} trials at most in {len(people)} seeds, width {min(widths):.4f} to "
        f"{max(widths):.4f} (needed {BEFORE_WIDTH}); a width for each input took {BEFORE_TRIALS:,}"
    )
    half = SET_WIDTH / 2
    real = [demo(sf.methods.SetMean(half, ERROR), seed).record.trials for seed in range(1, 6)]
    best, least = oracle(p, half), neyman(p, half)
    print(
        f"these inputs to ± {half:g}: {min(real):,} to {max(real):,} trials in {len(real)} seeds; "
        f"oracle {best:,.0f}; Neyman with the normal approximation {least:,.0f}"
    )
    worlds = {
        "demo": p,
        "all 0.3": np.full(300, 0.3),
        "all 0": np.zeros(300),
        "all 0.97": np.full(300, 0.97),
        "0 and 1": (np.arange(300) < 30) * 1.0,
        "beta(.05,.5), 2,000": np.random.default_rng(1).beta(0.05, 0.5, 2000),
        "demo, 10,000": np.random.default_rng(2).choice(p, 10_000),
        "all 0, 4,000": np.zeros(4000),
        "0 and 1, 4,000": (np.arange(4000) < 400) * 1.0,
    }
    false, coarse = 0, 0.0
    for name, world in worlds.items():
        for precision in PRECISIONS:
            done = [simulated(world, precision, seed) for seed in range(runs)]
            false += sum(not holds for _, holds in done)
            trials, single = np.mean([n for n, _ in done]), Z**2 * world.mean() * (1 - world.mean())
            known, single = oracle(world, precision), single / precision**2
            # one cannot know an input before its first trial, nor know more than the mean without
            reachable = max(known, min(single, len(world) + known))
            if len(world) >= 2000:
                coarse = max(coarse, trials / reachable)
            print(
                f"  {name:20} ± {precision:<6} {trials:>10,.0f} trials; over the oracle "
                f"{trials / max(known, 1):5.2f}; single trials of random inputs (normal) "
                f"{single:,.0f}; over the better of both {trials / reachable:5.2f}"
            )
    print(f"false intervals in these worlds: {false} of {len(worlds) * len(PRECISIONS) * runs}")
    print(
        json.dumps(
            {
                "trials_saved": round(BEFORE_TRIALS / most, 1),
                "population_width": round(max(widths), 4),
                "over_oracle": round(float(np.mean(real)) / best, 2),
                "over_oracle_coarse": round(coarse, 2),
                "over_neyman": round(float(np.mean(real)) / least, 2),
                "false_intervals": false,
                "false_allowed": math.ceil(ERROR * len(worlds) * len(PRECISIONS) * runs),
            }
        )
    )


if __name__ == "__main__":
    main()
