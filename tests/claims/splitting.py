"""Worlds of splitting through the whole study: failure probabilities that are known exactly."""

import math

import numpy as np
from scipy.special import ndtri

import surefoot as sf
from tests.claims.parts import QUICK
from tests.claims.worlds import Outcome, add_up, missed, of_kind, world

DIMENSIONS = 6
SMALL = sf.methods.Splitting(particles=25, runs=2, error=0.1)


def linear_model(weight: np.ndarray, limit: float = 0.0):
    """Class 1 where the weighted sum is above the limit."""

    def scores(batch: np.ndarray) -> np.ndarray:
        margin = batch.astype(np.float64) @ weight - limit
        return np.stack([-margin / 2, margin / 2], axis=1)

    return sf.load_model(scores, shape=(len(weight),), scores="logits")


def gaussian_study(failing: np.ndarray, seed: int, method=SMALL) -> sf.Study:
    """Inputs that fail under Gaussian noise of 0.1 with these probabilities."""
    weight = np.full(DIMENSIONS, 1 / math.sqrt(DIMENSIONS))
    x = -np.outer(ndtri(failing) * 0.1, weight).astype(np.float32)
    noise = sf.perturb.GaussianNoise(0.1)
    same = sf.properties.SameLabel()
    return sf.Study(linear_model(weight), sf.load_inputs(x), noise, method, same, seed=seed)


def corner_study(failing: float, seed: int, method=SMALL) -> sf.Study:
    """One input in the middle of a cube, which fails in a corner of this volume."""
    reach = 2 * (failing * math.factorial(DIMENSIONS)) ** (1 / DIMENSIONS)
    model = linear_model(np.ones(DIMENSIONS), DIMENSIONS - reach)
    inputs = sf.load_inputs(np.zeros((1, DIMENSIONS), np.float32))
    noise, same = sf.perturb.LinfNoise(1.0), sf.properties.SameLabel()
    return sf.Study(model, inputs, noise, method, same, seed=seed)


@world("rare_failure", "linear models under Gaussian noise", 0.1)
def _gaussian(seed: int) -> Outcome:
    failing = np.array([3e-3, 1e-6])
    result = gaussian_study(failing, seed).run(**QUICK)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return add_up([missed(c, p) for c, p in zip(claims, failing, strict=True)])


@world("rare_failure", "a linear model under L∞ noise", 0.1)
def _corner(seed: int) -> Outcome:
    result = corner_study(1e-5, seed).run(**QUICK)
    return missed(of_kind(result.claims, "rare_failure")[0], 1e-5)


@world("rare_failure", "the mean of inputs that contribute unequally", 0.1)
def _mean(seed: int) -> Outcome:
    failing = np.array([1e-4, 1e-5, 1e-12])
    method = sf.methods.Splitting(particles=25, runs=2, error=0.1, about="these")
    result = gaussian_study(failing, seed, method).run(**QUICK)
    return missed(of_kind(result.claims, "rare_failure")[0], float(failing.mean()))
