"""Worlds of a model and an earlier one: curves, radii, and runs on other inputs.

Of even seeds the model is worse by exactly the margin, of odd ones by slightly more.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.conclude.not_worse import not_worse_than
from surefoot.records.record import EarlierModel
from surefoot.subject.inputs import Inputs
from tests.claims.curves import curve_of
from tests.claims.parts import (
    QUICK,
    Shift,
    line_inputs,
    noise_study,
    normal_inputs,
    radius_study,
    sign_model,
)
from tests.claims.worlds import Outcome, judged, world

ERROR = 0.1
Runs = tuple[sf.Study, sf.Study]
Split = Callable[[Inputs], tuple[Inputs, Inputs]]
"""The inputs of the model and those of the earlier one."""


def verdict(studies: Runs, margin: float, seed: int) -> Outcome:
    """The model of the first study against that of the second."""
    new, old = (study.run(**QUICK).record for study in studies)
    of = EarlierModel(old.digest, ("new", "old"), margin, ERROR)
    (claim,) = not_worse_than(new, old, of, accepted=True)
    return judged(claim, holds=seed % 2 == 0)


def apart(inputs: Inputs, first: int, common: int) -> tuple[Inputs, Inputs]:
    """Two samples of one population, of which some inputs are in both."""
    return inputs.subset(range(first)), inputs.subset(range(first - common, len(inputs)))


def shift_runs(critical: np.ndarray, methods: tuple[Any, Any], seed: int, split: Split) -> Runs:
    """Input i of either model is right below its critical level."""
    every = sf.load_inputs(critical.T.astype(np.float32), np.ones(critical.shape[1], int))
    true = sf.properties.TrueLabel()
    new, old = (
        sf.Study(sign_model(i), inputs, Shift(), methods[i], property=true, seed=seed + 1000 * i)
        for i, inputs in enumerate(split(every))
    )
    return new, old


@world("curve_not_worse", "on the same inputs, at the margin", ERROR)
def _curves(seed: int) -> Outcome:
    """The earlier curve has another order of inputs, resolution and error; they add up to 0.1."""
    later = np.random.default_rng([seed, 61]).uniform(0.2, 1.0, 80)
    critical = np.stack([later - (0.1 if seed % 2 == 0 else 0.104), later])
    method = replace(curve_of(0.7, assume="monotone"), error=0.07)
    coarse = replace(method, resolution=0.02, error=0.03)
    return verdict(shift_runs(critical, (method, coarse), seed, lambda x: (x, x)), 0.1, seed)


@world("curve_not_worse", "of the population, on other inputs", ERROR)
def _curves_elsewhere(seed: int) -> Outcome:
    """Accuracy is 0.7 at 0.3 of the largest critical level, which is 1 for the earlier model.

    Inputs that are easy for one are hard for the other. The earlier sample is the larger one.
    """
    easy = np.random.default_rng([seed, 63]).random(320)
    largest = 1 - (0.15 if seed % 2 == 0 else 0.155) / 0.3
    critical = np.stack([largest * (1 - easy), easy])
    method = replace(curve_of(0.7, scope="population", assume="monotone"), error=ERROR / 2)
    return verdict(
        shift_runs(critical, (method, method), seed, lambda x: apart(x, 40, 20)), 0.15, seed
    )


def noise_runs(failing: np.ndarray, seed: int, split: Split, trials: Any) -> Runs:
    """Every input fails with its own probability under either model."""
    every = normal_inputs(*failing)
    new, old = (
        noise_study(failing[i], trials, seed, inputs=one, model=sign_model(i), by_class=False)
        for i, one in enumerate(split(every))
    )
    return new, old


@world("not_worse", "on other inputs, at the margin", ERROR)
def _elsewhere(seed: int) -> Outcome:
    """Inputs always fail or never; those that fail under one model do not under the other.

    The earlier sample is much the larger one: there a union bound loses least.
    """
    hard = np.random.default_rng([seed, 65]).random(320)
    more = 0.2 if seed % 2 == 0 else 0.21
    failing = np.stack([hard > 1 - (0.1 + more), hard < 0.1]).astype(float)
    method = sf.methods.FixedSize(0.45, 0.2)
    return verdict(noise_runs(failing, seed, lambda x: apart(x, 40, 20), method), 0.2, seed)


@world("not_worse", "on more inputs than before, at the margin", ERROR)
def _extended(seed: int) -> Outcome:
    """The earlier run has the first 20 of 30 inputs: on those the two are compared in pairs."""
    base = np.random.default_rng([seed, 67]).beta(1, 5, (2, 30)) * 0.6
    base[0] += 0.1 if seed % 2 == 0 else 0.11
    method = sf.methods.FixedSize(0.35, 0.1)
    runs = noise_runs(base, seed, lambda x: (x, x.subset(range(20))), method)
    return verdict(runs, 0.1, seed)


@world("radius_not_worse", "a little on either side of the margin", 0.0)
def _radii(seed: int) -> Outcome:
    """Brackets are proofs, so no verdict is false; even seeds are just within the margin."""
    rng = np.random.default_rng([seed, 69])
    radii = rng.uniform(-0.05, 0.4, 6)
    smaller = rng.permutation(radii) * (0.81 if seed % 2 == 0 else 0.79)
    inputs = line_inputs(smaller, radii)
    truth = np.maximum(inputs.x.astype(float) - 0.5, 0.0).mean(axis=0)
    holds = bool(truth[0] >= 0.8 * truth[1])
    method = sf.methods.CriticalLevel(10.0 ** -(1 + seed % 3), 2.0, samples=0)
    new, old = (radius_study(method, inputs, seed, i).run(workers=1).record for i in range(2))
    of = EarlierModel(old.digest, ("new", "old"), 0.2, ERROR)
    (claim,) = not_worse_than(new, old, of, accepted=True)
    return judged(claim, holds=holds)
