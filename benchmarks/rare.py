"""Failures too rare to count: how often splitting covers the truth, what it costs, beside RoMA.

Linear models under Gaussian noise and in the corner of a cube under L∞ noise, whose failure
probability is known; a decoy, whose failures lie elsewhere than most of what is severe (the limit
that notices it was chosen with such a one); failures hidden behind rarer ones; and a
network of 784 inputs whose failure probability is counted. Worlds in numbers go through the
procedure of the product with a fast bench; the network through the whole study.

    python benchmarks/rare.py [--quick] [--runs 400] [--device cuda] [--count 100000000]

With --quick 40 runs of each world, and 200,000 counted trials of the network.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from processor import print_processor
from scipy.special import ndtri
from scipy.stats import beta, binom
from tables import print_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.claims.rare_worlds import RareWorld, corner, decoy, hidden, linear, run_together

import surefoot as sf
from surefoot.core.results import RareFailure
from surefoot.core.tasks import Task
from surefoot.subject.protocols import Model

FAILING = (1e-3, 1e-6, 1e-9, 1e-12)
LEAST_COVERED, MOST_TRIALS = 0.93, 100_000
METHOD = sf.methods.Splitting()
TOGETHER = 40
"""Runs of a world at once: their particles fill the arrays, and memory stays small."""
LEVEL = 0.2
"""Of the noise on the network's inputs, at which some of its failures can be counted."""


@dataclass(frozen=True)
class Row:
    """One world: how often its interval covers, what it takes, and by how much RoMA errs."""

    world: str
    failing: float
    covers: float
    undecided: int
    trials: float
    width: float
    roma: float


def measured(name: str, world: RareWorld, runs: int) -> Row:
    """Many runs in a world of numbers."""
    results = [
        one
        for seed in range(0, runs, TOGETHER)
        for one in run_together(
            world, [METHOD.under(1.0)] * min(TOGETHER, runs - seed), 10_000 + seed
        )
    ]
    known = [one for one in results if isinstance(one, RareFailure)]
    covered = sum(world.failing in one.interval for one in known)
    return Row(
        name,
        world.failing,
        covered / max(1, len(known)),
        runs - len(known),
        float(np.mean([one.trials for one in results])),
        median(math.sqrt(one.interval.high / max(one.interval.low, 1e-300)) for one in known),
        median(_off(one, world.failing) for one in known),
    )


def _off(one: RareFailure, truth: float) -> float:
    """Powers of ten by which RoMA's extrapolation is too high."""
    return one.fit.log10_failure - math.log10(truth) if one.fit is not None else math.nan


def decoys(runs: int) -> dict[str, float]:
    """Shares of the runs that were undecided, and that stated too small a probability.

    Of a decoy that ends below the limit; and of failures that hide behind rarer ones.
    """
    figures = {}
    for name, world in (("decoy", decoy()), ("hidden", hidden())):
        results = run_together(world, [METHOD.under(1.0)] * runs, 7)
        known = [one for one in results if isinstance(one, RareFailure)]
        figures[f"said_when_{name}"] = 1 - len(known) / runs
        small = sum(one.interval.high < world.failing for one in known)
        figures[f"too_small_when_{name}"] = small / runs
    return figures


Weights = tuple[np.ndarray, np.ndarray]


def network(seed: int = 1) -> tuple[Weights, np.ndarray]:
    """Two layers of random weights, 784 inputs, and a point whose margin is a few deviations."""
    random = np.random.default_rng(seed)
    first = random.normal(size=(784, 64)) / 28
    second = random.normal(size=(64, 2)) / 8
    return (first.astype(np.float32), second.astype(np.float32)), random.random(784)


def counted(count: int, device: str, power: float) -> dict[str, float]:
    """The network by splitting and by counting, at a limit that some 10^power reach."""
    weights, x = network()
    x32 = x.astype(np.float32)
    limit = _limit(weights, x32, power)
    model, inputs = _model(weights, limit, device), sf.load_inputs(x32[None])
    noise, same = sf.perturb.GaussianNoise(LEVEL), sf.properties.SameLabel()
    begun = time.perf_counter()
    study = sf.Study(model, inputs, noise, METHOD, same, seed=3)
    [row] = study.run(workers=1, batch=4096).inputs
    seconds = time.perf_counter() - begun
    other = replace(study, method=sf.methods.FixedSize(0.1, 0.1), seed=99)
    failed = _count(other, count)
    low = float(beta.ppf(0.025, failed, count - failed + 1)) if failed else 0.0
    high = float(beta.ppf(0.975, failed + 1, count - failed))
    found: Any = row.result
    print(f"network: {failed:,} of {count:,} counted ({low:.2e} to {high:.2e}); splitting "
          f"{found.interval if isinstance(found, RareFailure) else found.reason} with "
          f"{found.trials:,} trials in {seconds:.1f} s")  # fmt: skip
    agrees = isinstance(found, RareFailure) and found.interval.low <= high <= 1e300
    agrees = agrees and found.interval.high >= low
    roma = _off(found, failed / count) if isinstance(found, RareFailure) and failed else math.nan
    return {
        "network_failed": failed,
        "network_agrees": float(agrees),
        "network_trials": found.trials,
        "network_roma_off": roma,
    }


def _limit(weights: Weights, x: np.ndarray, power: float) -> float:
    """The margin that a normal distribution fitted to 20,000 trials puts at that probability."""
    noise = np.random.default_rng(2).normal(size=(20_000, 784)).astype(np.float32) * LEVEL
    scores = np.maximum((x + noise) @ weights[0], 0) @ weights[1]
    margin = scores[:, 1] - scores[:, 0]
    return float(margin.mean() - ndtri(10.0**power) * margin.std())


def _model(weights: Weights, limit: float, device: str) -> Model:
    """Class 0 until the margin of class 1 passes the limit."""
    if device == "cpu":

        def scores(batch: np.ndarray) -> np.ndarray:
            out = np.maximum(batch.reshape(len(batch), -1) @ weights[0], 0) @ weights[1]
            out[:, 0] += limit
            return out

        return sf.load_model(scores, shape=(784,), scores="logits")
    import torch

    layers = torch.nn.Sequential(
        torch.nn.Linear(784, 64, bias=False), torch.nn.ReLU(), torch.nn.Linear(64, 2)
    )
    with torch.no_grad():
        layers[0].weight.copy_(torch.from_numpy(weights[0].T))
        layers[2].weight.copy_(torch.from_numpy(weights[1].T))
        layers[2].bias.copy_(torch.tensor([limit, 0.0]))
    return sf.load_model(layers.eval(), shape=(784,), scores="logits", device=device)


def _count(study: sf.Study, count: int) -> int:
    """Failures of so many ordinary trials, of another seed."""
    bench, [subject] = study.bench(), study.fitted.subjects()
    failed, step = 0, 1 << 17
    for start in range(0, count, step):
        task = Task(subject, LEVEL, start, min(start + step, count))
        [counts] = bench.answer([task])
        failed += counts.trials - counts.kept
    return failed


def main() -> None:
    """Print the table, and the figures as the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=2_000_000)
    given = parser.parse_args()
    print_processor()
    runs = 40 if given.quick else given.runs
    count = 200_000 if given.quick else given.count
    rows = []
    for failing in (1e-6, 1e-9) if given.quick else FAILING:
        rows.append(measured("Gaussian", linear(failing), runs))
        rows.append(measured("L∞ corner", corner(failing, 8 if failing < 1e-4 else 4), runs))
        print_table(
            ("world", "truth", "covers", "undecided", "trials", "half-width", "RoMA off by"),
            [
                (r.world, f"{r.failing:g}", f"{r.covers:.3f}", r.undecided, f"{r.trials:,.0f}",
                 f"× {r.width:.2f}", f"10^{r.roma:+.1f}")
                for r in rows[-2:]
            ],
        )  # fmt: skip
    at_1e9 = [row for row in rows if row.failing == 1e-9]
    figures = {
        "covers": min(row.covers for row in rows),
        "runs": runs,
        "evaluations_1e9": max(row.trials for row in at_1e9),
        "half_width_1e9": max(row.width for row in at_1e9),
        "roma_off_most": max(abs(row.roma) for row in rows),
        **decoys(10 if given.quick else 100),
        **counted(count, given.device, -4.0 if count < 10_000_000 else -6.0),
    }
    # of few runs as many as chance allows at 95 %
    least = binom.ppf(0.001, runs, 0.95) / runs if given.quick else LEAST_COVERED
    figures["met"] = bool(
        figures["covers"] >= least
        and figures["evaluations_1e9"] <= MOST_TRIALS
        and figures["half_width_1e9"] <= 2
        and figures["network_agrees"]
    )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
