"""Narrower intervals of a quantile of critical radii: how often are they right?

The thesis of Kielhöfer proposes a mixture model, or a normal distribution after a transform, in
place of the log-normal. Both are measured here on the published brackets as population, sampled
with replacement: the power of the transform is chosen on the networks marked "tuned", coverage is
reported on the others. A bracket counts as its middle; an interval is right if it touches the
bracket of the quantile of the population, which is generous.

    python benchmarks/quantile_families.py --data DIR [--quick]

* transform: x^power is normal (power 0: the logarithm); the exact interval of a normal quantile.
* mixture: two log-normals by maximum likelihood (EM), percentiles of a parametric bootstrap.
* ranks: `ShortestRanks`, which assumes no distribution.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from prerequisites import need_folder
from processor import print_processor
from quantile import CEILING, TUNED, populations
from tables import print_table

from surefoot.inputs import read_brackets
from surefoot.statistics.ranks import shortest

SHARE = ERROR = 0.05
SIZES = (30, 100, 300)
POWERS = (-0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
STEPS, BOOTSTRAP = 40, 100
"""Steps of EM, and resamples of the bootstrap."""
Ends = tuple[np.ndarray, np.ndarray]


def normal_ends(x: np.ndarray, power: float) -> Ends:
    """The exact interval of the quantile of each row, if its powers are normal."""
    from scipy.stats import nct, norm

    n = x.shape[1]
    y = np.log(x) if power == 0 else x**power * math.copysign(1, power)
    shift = norm.ppf(SHARE) * math.sqrt(n)
    low, high = (nct.ppf(p, n - 1, shift) / math.sqrt(n) for p in (ERROR / 2, 1 - ERROR / 2))
    ends = [y.mean(axis=1) + k * y.std(axis=1, ddof=1) for k in (low, high)]
    if power == 0:
        return np.exp(ends[0]), np.exp(ends[1])
    back = [np.maximum(e * math.copysign(1, power), 1e-12) ** (1 / power) for e in ends]
    return back[0], back[1]


def mixture(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and spreads of two normals for each row, by EM from the two halves."""
    order = np.sort(y, axis=1)
    half = y.shape[1] // 2
    means = np.stack([order[:, :half].mean(axis=1), order[:, half:].mean(axis=1)], axis=1)
    floor = 0.1 * y.std(axis=1, keepdims=True) + 1e-6
    spreads, weights = np.repeat(y.std(axis=1, keepdims=True), 2, axis=1), np.full(means.shape, 0.5)
    for _ in range(STEPS):
        z = (y[:, :, None] - means[:, None]) / spreads[:, None]
        mass = weights[:, None] / spreads[:, None] * np.exp(-0.5 * np.minimum(z * z, 1000))
        part = mass / np.maximum(mass.sum(axis=2, keepdims=True), 1e-300)
        total = np.maximum(part.sum(axis=1), 1e-9)
        weights = total / total.sum(axis=1, keepdims=True)
        means = (part * y[:, :, None]).sum(axis=1) / total
        var = (part * (y[:, :, None] - means[:, None]) ** 2).sum(axis=1) / total
        spreads = np.maximum(np.sqrt(var), floor)
    return weights, means, spreads


def mixture_quantile(fit: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """The quantile of each fitted mixture, by bisection."""
    from scipy.special import ndtr

    weights, means, spreads = fit
    low = (means - 8 * spreads).min(axis=1)
    high = (means + 8 * spreads).max(axis=1)
    for _ in range(40):
        middle = (low + high) / 2
        below = (weights * ndtr((middle[:, None] - means) / spreads)).sum(axis=1) < SHARE
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def mixture_ends(x: np.ndarray, rng: np.random.Generator) -> Ends:
    """Percentiles of the quantile over resamples of each fitted mixture."""
    runs, n = x.shape
    weights, means, spreads = mixture(np.log(x))
    quantiles = np.empty((BOOTSTRAP, runs))
    for b in range(BOOTSTRAP):
        second = (rng.random((runs, n)) >= weights[:, :1]).astype(int)
        rows = np.arange(runs)[:, None]
        drawn = rng.normal(means[rows, second], spreads[rows, second])
        quantiles[b] = mixture_quantile(mixture(drawn))
    low, high = np.exp(np.quantile(quantiles, (ERROR / 2, 1 - ERROR / 2), axis=0))
    return low, high


def rank_ends(lows: np.ndarray, highs: np.ndarray) -> Ends:
    """The shortest ranks of each row."""
    ranks = shortest(lows.shape[1], SHARE, ERROR)
    low = np.sort(lows)[:, ranks.low - 1] if ranks.low else np.zeros(len(lows))
    return low, np.sort(highs)[:, ranks.high - 1]


def right(ends: Ends, truth: tuple[float, float]) -> float:
    """The share of intervals that touch the bracket of the quantile."""
    return float(np.mean((ends[0] <= truth[1]) & (truth[0] <= ends[1])))


def main() -> None:
    """Choose the power on the tuned networks; the lowest and the mean coverage on the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="with critical_epsilon.csv")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    args = parser.parse_args()
    print_processor()
    data = need_folder(args.data, "--data", "critical_epsilon.csv")
    runs = 40 if args.quick else 200
    everything = populations(read_brackets(data / "critical_epsilon.csv"))
    lines, figures = [], {}
    for n in SIZES:
        rates: dict[str, dict[tuple[str, ...], float]] = {}
        for key, local in everything.items():
            rng = np.random.default_rng(17)
            lows = np.array([b.low for b in local])
            highs = np.minimum([b.high for b in local], CEILING)
            at = math.ceil(SHARE * len(local) - 1e-9) - 1
            truth = float(np.sort(lows)[at]), float(np.sort(highs)[at])
            drawn = rng.integers(0, len(local), (runs, n))
            x = np.maximum((lows + highs)[drawn] / 2, 1e-4)
            methods = {f"power {p:g}": normal_ends(x, p) for p in POWERS}
            methods["mixture"] = mixture_ends(x, rng) if n < 300 else methods["power 0"]
            methods["ranks"] = rank_ends(lows[drawn], highs[drawn])
            for name, ends in methods.items():
                if not (name == "mixture" and n == 300):
                    rates.setdefault(name, {})[key] = right(ends, truth)
        tuned = {m: np.mean([r for k, r in of.items() if k[0] in TUNED]) for m, of in rates.items()}
        best = max((m for m in rates if m.startswith("power")), key=lambda m: tuned[m])
        for name, of in rates.items():
            held = [r for k, r in of.items() if k[0] not in TUNED]
            chosen = "chosen" if name == best else ""
            cells = [f"{tuned[name]:.3f}", f"{np.mean(held):.3f}", f"{min(held):.3f}"]
            lines.append([str(n), name, chosen, *cells])
            if name in (best, "power 0", "mixture", "ranks"):
                kind = "transform" if name == best else name
                figures[f"{kind} {n}"] = [round(float(np.mean(held)), 3), round(min(held), 3)]
    print_table(["inputs", "family", "", "tuned, mean", "held out, mean", "lowest"], lines)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
