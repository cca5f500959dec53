"""Brackets for tests: of known critical levels, on a grid or by hand."""

import math

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from surefoot.core.results import Bracket, Footing, Guarantee, Interval

PROVED = Guarantee(Footing.SOUND, 0.0)


def bracket(low, high):
    return Bracket(Interval(float(low), float(high)), PROVED)


def brackets(lows, highs):
    return [bracket(low, high) for low, high in zip(lows, highs, strict=True)]


def points(values):
    return brackets(values, values)


def on_grid(values, step=0.002):
    """As a search on the levels step/2, 3 step/2, … leaves them."""
    below = np.floor(np.asarray(values) / step - 0.5)
    return [
        bracket(max(0.0, (k + 0.5) * step), (k + 1.5) * step) if k >= 0 else bracket(0, step / 2)
        for k in below.tolist()
    ]


def never_refuted(low):
    return bracket(low, math.inf)


def most_misses(runs, error):
    """The allowance of every promise here: more are rejected by a binomial test at level .001."""
    return int(binom.ppf(0.999, runs, error))


def as_found(rng, radii):
    """Brackets as real searches leave them: attacks are nearly tight and proofs are not.

    The radius lies at 73 to 99 % of the bracket, at 91 % in the mean; a radius of 0 is known, of a
    twentieth of the others nothing is proved, and another twentieth are never refuted.
    """
    radii = np.asarray(radii, dtype=float)
    n = len(radii)
    place = 0.73 + 0.26 * rng.beta(4.5, 2, n)
    wide = np.minimum(rng.choice([0.0, 0.002, 0.02, 0.05], n), radii / place)
    lows = np.maximum(radii - place * wide, 0.0)
    highs = radii + (1 - place) * wide
    kind = rng.random(n)
    lows = np.where(kind < 0.05, 0.0, lows)
    highs = np.where((kind > 0.95) & (radii > 0), math.inf, highs)
    return brackets(lows, highs)


def _weak(u):
    """A fifth of the inputs are close to 0, the others well away."""
    return np.where(u <= 0.2, 0.2 * u, 0.05 + 0.1 * np.maximum(u - 0.2, 0) ** 2)


WORLDS = {
    "log-normal": lambda u: np.exp(-3 + 0.6 * ndtri(u)),
    "square root": lambda u: 0.1 * np.sqrt(u),
    "a fifth weak": _weak,
    "a twentieth at zero": lambda u: np.where(u <= 0.05, 0.0, 0.02 + 0.1 * u),
    "a tenth at zero": lambda u: np.where(u <= 0.1, 0.0, 0.3 * u),
    "four levels": lambda u: np.ceil(4 * np.asarray(u)) * 0.01,
}
"""The critical radius that a share u of the population does not exceed: the quantile itself."""
