"""Worlds of radii beside the quantile: robust accuracy, severity, means, groups of a file."""

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

import surefoot as sf
from tests.claims.levels import RADII, SLOW
from tests.claims.parts import line_inputs, radius_study
from tests.claims.worlds import Outcome, any_false, missed, of_kind, world
from tests.quantiles import as_found

COLUMNS = ("network", "split", "image", "lower", "upper", "runtime_s", "label", "training")
TOP = 0.4
"""The largest radius of these worlds."""
ATOM = 0.1
"""The share of inputs that fail when clean."""


def uniform_radii(rng: np.random.Generator, n: int, top: float = TOP) -> Any:
    """A tenth is 0, the others are uniform: a share of .9 (1 - r / top) exceeds r."""
    return np.where(rng.random(n) < ATOM, 0.0, rng.uniform(0.0, top, n))


def rows_of(rng: np.random.Generator, radii: Any, **columns: str) -> list[dict[str, Any]]:
    """Brackets of these radii as real searches leave them, a row each."""
    blank = {"network": "net", "split": "test", "runtime_s": "", "label": "", "training": ""}
    return [
        {**blank, "image": i, "lower": b.low, "upper": b.high, **columns}
        for i, b in enumerate(as_found(rng, radii))
    ]


def published(rows: Sequence[dict[str, Any]], **options: Any) -> sf.Result:
    """What `surefoot brackets` makes of these rows."""
    path = Path(mkdtemp()) / "radii.csv"
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return sf.brackets(path, **{"quantile": 0.5, "error": 0.1, **options})


@world("robust_accuracy_population", "uniform radii with an atom at 0, two radii together", 0.1)
def _robust_population(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 61])
    result = published(rows_of(rng, uniform_radii(rng, 30)), at=(0.0, 0.2))
    at_zero, further = of_kind(result.claims, "robust_accuracy_population")
    truths = ((at_zero, 1 - ATOM), (further, (1 - ATOM) * 0.5))
    return any_false([missed(claim, truth) for claim, truth in truths])


@lru_cache(maxsize=32)
def _line_result(seed: int) -> tuple[sf.Result, Any]:
    """Brackets of known radii, and the radii; two worlds of a seed share the study."""
    rng = np.random.default_rng([seed, 63])
    inputs = line_inputs(np.concatenate([RADII, rng.uniform(0.0, 0.45, 2)]))
    method = sf.methods.CriticalLevel(0.05, 2.0, quantile=0.5, error=0.1, samples=0)
    truths = np.maximum(inputs.x[:, 0].astype(float) - 0.5, 0.0)
    return radius_study(method, inputs, seed).run(**SLOW), truths


@world("mean_radius", "distances to a line", 0.0)
def _mean_radius(seed: int) -> Outcome:
    result, truths = _line_result(seed)
    return missed(of_kind(result.claims, "mean_radius")[0], float(truths.mean()))


@world("severity", "distances to a line", 0.0)
def _severity(seed: int) -> Outcome:
    result, truths = _line_result(seed)
    refuted = np.array([row.result.high <= 0.15 for row in result.inputs])
    claim = of_kind(result.at_radius(0.15).claims, "severity")[0]
    return missed(claim, float(truths[refuted].mean()))


@world("mean_radius_population", "uniform radii with an atom at 0, some never refuted", 0.1)
def _mean_population(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 64])
    result = published(rows_of(rng, uniform_radii(rng, 30)), ceiling=0.3)
    truth = (1 - ATOM) * (0.75 * 0.15 + 0.25 * 0.3)  # radii beyond .3 count as .3
    return missed(of_kind(result.claims, "mean_radius_population")[0], truth)


@world("mean_radius_population", "two radii, rarely the large one", 0.1)
def _rare_large(seed: int) -> Outcome:
    """A sample that has none of the large ones must leave room for them."""
    rng = np.random.default_rng([seed, 65])
    radii = np.where(rng.random(20) < 0.05, 0.4, 0.01)
    result = published(rows_of(rng, radii), ceiling=0.4)
    truth = 0.05 * 0.4 + 0.95 * 0.01
    return missed(of_kind(result.claims, "mean_radius_population")[0], truth)


def _two_splits(seed: int) -> sf.Result:
    rng = np.random.default_rng([seed, 66])
    rows = rows_of(rng, rng.uniform(0.0, 0.4, 21), split="test")
    rows += rows_of(rng, rng.uniform(0.0, 0.2, 64), split="train")
    return published(rows, by="split")


@world("radius_quantile", "two splits, together", 0.1)
def _splits(seed: int) -> Outcome:
    test, train = of_kind(_two_splits(seed).claims, "radius_quantile")
    return any_false([missed(test, 0.2), missed(train, 0.1)])


@world("quantile_difference", "two splits of other distributions", 0.1)
def _difference_of_splits(seed: int) -> Outcome:
    (difference,) = of_kind(_two_splits(seed).claims, "quantile_difference")
    return missed(difference, 0.1)


@world("quantile_difference", "radii near the ends of their brackets, splits of other sizes", 0.1)
def _difference_at_the_ends(seed: int) -> Outcome:
    """Known to the last digit, so that no bracket leaves room."""
    rng = np.random.default_rng([seed, 69])
    rows = [
        {**row, "lower": r, "upper": r}
        for split, n in (("test", 60), ("train", 90))
        for r in [rng.uniform(0.0, 0.4, n)]
        for row, r in zip(rows_of(rng, r, split=split), r, strict=True)
    ]
    (difference,) = of_kind(published(rows, by="split").claims, "quantile_difference")
    return missed(difference, 0.0)


@world("radius_quantile", "networks of a training on the same inputs, with their difference", 0.1)
def _trainings(seed: int) -> Outcome:
    """Radii uniform up to .4 and half of them: .3 of the pairs lie below .08."""
    rng = np.random.default_rng([seed, 67])
    radii = rng.uniform(0.0, 0.4, 40)
    rows = rows_of(rng, radii, network="a", training="one")
    rows += rows_of(rng, radii / 2, network="b", training="one")
    rows += rows_of(rng, radii, network="c", training="other")
    result = published(rows, by="training", quantile=0.3)
    one, other = of_kind(result.claims, "radius_quantile")
    (difference,) = of_kind(result.claims, "quantile_difference")
    truths = ((one, 0.08), (other, 0.12), (difference, -0.04))
    return any_false([missed(claim, truth) for claim, truth in truths])


@world("radius_quantile", "three labels of a file and all of them, together", 0.1)
def _labels(seed: int) -> Outcome:
    """Half of all lie below 0.6/7: a third of x/0.1 + x/0.2 + x/0.4."""
    rng = np.random.default_rng([seed, 68])
    tops = {"0": 0.1, "1": 0.2, "2": 0.4}
    rows = [r for k, top in tops.items() for r in rows_of(rng, rng.uniform(0, top, 15), label=k)]
    rows = [{**row, "image": i} for i, row in enumerate(rows)]
    result = published(rows, by="label")
    truths = {"": 0.6 / 7, **{label: top / 2 for label, top in tops.items()}}
    claims = of_kind(result.claims, "radius_quantile")
    return any_false([missed(c, truths[c.about.name]) for c in claims])
