"""An interval for the mean of many failure probabilities, each with trials of its own number.

A trial that fails with probability r is given a weight c. Whatever guess e of r was made before it,
`exp(c r - s y + a)` has expectation at most 1, where y is 1 for a failure, s = -log(1 - u),
u = c / (1 + c e) and a = -log(1 - e u) - c e: the logarithm of E[exp(-s y)] = 1 - u r is concave in
r and lies below its tangent at e. The product over all trials is a supermartingale. If the weights
of every input add up to the same share of W, the sum of all c r is W times the mean, and by Ville's
inequality the mean is at most (log(1/error) + sum of s y - a) / W, whenever one stops. The lower
end is the same with 1 + v r in place of 1 - u r. `docs/proofs.md` has the derivation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_LARGEST_STAKE = 0.97
"""c times the larger of e and 1 - e stays below this: at 1 one trial could end all."""
_WEIGHTS = np.geomspace(1e-4, 0.96, 160)
"""Weights of a trial among which an allocation chooses: 6 % apart."""
_INVERSE = 1 / _WEIGHTS
_TOTALS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.35, 2.75, 3.3, 4.0)
"""Total weights that an allocation tries, in units of log(2/error) / precision. 1 is enough where
nothing is left to chance; most often about 2; more where chance has cost much already."""
_HALVINGS = 45
"""Of the range of prices, on a logarithmic scale: 1e-6 to 1e14 to within a part in a million."""
_GRID = np.concatenate(
    [[0, 1e-4, 3e-4, 1e-3, 2e-3, 4e-3, 7e-3], np.linspace(0.01, 0.99, 50),
     [0.993, 0.996, 0.998, 0.999, 0.9997, 0.9999, 1]]
)  # fmt: skip
"""Failure probabilities that the inputs may have, for guesses: fine where most inputs are."""
_FIT_STEPS = 60
"""Steps of the fit to all inputs; the guesses change little after twenty."""


@dataclass(frozen=True, eq=False)
class Round:
    """Trials that were settled together: how many of each input, and the guess of its failures.

    An input takes part with the chance `inclusion`, drawn beforehand; one that does not counts as
    one trial that did not fail. `weight` is what all inputs together add to the total.
    """

    weight: float
    trials: Whole
    inclusion: Floats
    guess: Floats

    def bounded(self) -> Round:
        """The same with a weight that no single trial can make too large."""
        e = self.guess * self.inclusion
        most = _LARGEST_STAKE / np.maximum(e, 1 - e) * self.trials * self.inclusion
        return replace(self, weight=min(self.weight, float(most.min()) * len(self.trials)))

    def best_for(self, finer: float, coarser: float) -> Round:
        """With the weight that gains most on the way to a finer precision than it was made for.

        A round gains `finer` times its weight, less what chance costs if the guesses are true.
        """
        weights = self.weight * np.geomspace(finer / coarser, 1, 8)
        e = self.guess * self.inclusion
        c = np.multiply.outer(weights, 1 / (len(e) * self.trials * self.inclusion))
        gains = finer * weights - _cost(c, e) @ self.trials
        return replace(self, weight=float(weights[np.argmax(gains)]))


@dataclass(frozen=True)
class MeanBounds:
    """What all rounds so far say of the mean of `size` failure probabilities."""

    size: int
    weight: float = 0.0
    upper: float = 0.0
    lower: float = 0.0
    centre: float = 0.0

    def after(self, done: Round, failed: Whole) -> MeanBounds:
        """With the failures of one more round."""
        e, n = done.guess * done.inclusion, done.trials
        c = done.weight / (self.size * n * done.inclusion)
        s, a = _upper(c, e)
        t, b = _lower(c, e)
        mean = float((failed / (n * done.inclusion)).mean())
        return MeanBounds(
            self.size,
            self.weight + done.weight,
            self.upper + float((s * failed - n * a).sum()),
            self.lower + float((t * failed - n * b).sum()),
            self.centre + done.weight * mean,
        )

    def mirrored(self) -> MeanBounds:
        """The same of one minus the mean: of being kept, where this is of failing."""
        w = self.weight
        return MeanBounds(self.size, w, w - self.lower, w - self.upper, w - self.centre)

    def interval(self, error: float) -> Interval:
        """For the mean failure probability; wrong with probability at most `error`, anytime."""
        if not self.weight:
            return Interval(0.0, 1.0)
        price = math.log(2 / error)
        low = min(1.0, max(0.0, (self.lower - price) / self.weight))
        return Interval(low, max(low, min(1.0, (self.upper + price) / self.weight)))

    def value(self, error: float) -> float:
        """The estimate: the mean over the rounds by weight, within the interval."""
        around = self.interval(error)
        return min(max(self.centre / max(self.weight, 1e-300), around.low), around.high)

    @property
    def spent(self) -> float:
        """What chance has cost so far: half the distance of the two sums."""
        return (self.upper - self.lower) / 2


@dataclass(frozen=True, eq=False)
class Allocation:
    """Trials of each input, possibly below 1, that are expected to suffice, and their weight."""

    weight: float
    trials: Floats

    @property
    def total(self) -> float:
        """All trials."""
        return float(self.trials.sum())


def allocate(guess: Floats, bounds: MeanBounds, precision: float, error: float) -> Allocation:
    """The fewest trials after which the half-width is expected to be `precision`.

    If the guesses were true, each trial of weight c at a guess e costs `_cost(c, e)`. For a total
    weight the weights of the trials are chosen at one price for all inputs, as Neyman's allocation
    does; inputs that are guessed alike are treated alike.
    """
    values, kind = np.unique(guess, return_inverse=True)
    counts = np.bincount(kind.reshape(-1)).astype(np.float64)
    price, best = math.log(2 / error), None
    for factor in _TOTALS:
        weight = factor * price / precision
        chance = precision * (bounds.weight + weight) - price - bounds.spent
        if chance <= 0:
            continue
        chosen = _weights(values, counts, weight / bounds.size, chance)
        if chosen is None:
            continue
        trials = weight / bounds.size / chosen
        total = float(trials @ counts)
        if best is not None and total >= best[0]:
            break  # from here on it only grows, in each of 732 allocations that were looked at
        best = (total, weight, trials)
    if best is None:  # chance has cost more than any of these weights can make good
        weight = 2 * (price + bounds.spent) / precision
        return Allocation(weight, np.full(len(guess), weight / bounds.size / _WEIGHTS[0]))
    return Allocation(best[1], best[2][kind.reshape(-1)])


def _weights(values: Floats, counts: Floats, share: float, chance: float) -> Floats | None:
    """The weight of a trial for each guess, at the least number of trials; None if none will do."""
    inclusion = np.minimum(1.0, share / _WEIGHTS)
    e = np.multiply.outer(values, inclusion)
    allowed = _WEIGHTS * np.maximum(e, 1 - e) < _LARGEST_STAKE
    cost = np.where(allowed, _cost(np.where(allowed, _WEIGHTS, 0.5), e), np.inf)
    cost = share * cost / (_WEIGHTS * inclusion)
    rows, low, high = np.arange(len(values)), 1e-6, 1e14
    first, last = 0, len(_WEIGHTS)
    dear, cheap = np.zeros(len(values), np.intp), np.full(len(values), last - 1)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        chosen = first + np.argmin(_INVERSE[first:last] + middle * cost[:, first:last], axis=1)
        if float(cost[rows, chosen] @ counts) > chance:  # a higher price, so smaller weights
            low, cheap, last = middle, chosen, int(chosen.max()) + 1
        else:
            high, dear, first = middle, chosen, int(chosen.min())
        if int((cheap - dear).sum()) == 1:  # one step apart: no price between has another choice
            break
    chosen = first + np.argmin(_INVERSE[first:last] + high * cost[:, first:last], axis=1)
    if float(cost[rows, chosen] @ counts) > chance:
        return None
    weights: Floats = _WEIGHTS[chosen]
    return weights


def guesses(failed: Whole, trials: Whole) -> Floats:
    """A guess of each input's failure probability from its own trials and those of all others.

    The mean under a distribution on a grid that is fitted to all inputs (empirical Bayes). Only
    the number of trials depends on how good the guesses are, never whether the interval is true.
    """
    pairs, kind, counts = np.unique(
        np.stack([failed, trials], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    tiny = np.finfo(np.float64).tiny
    kept = pairs[:, 1:] - pairs[:, :1]
    logs = pairs[:, :1] * np.log(_GRID + tiny) + kept * np.log(1 - _GRID + tiny)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = counts * (pairs[:, 1] > 0)  # the fit of many that were not tried would be slow
    prior = np.full(len(_GRID), 1 / len(_GRID))
    for step in range(_FIT_STEPS + 1):
        posterior = likelihood * prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        if step < _FIT_STEPS:
            prior = weights @ posterior + 0.5 / len(_GRID)
            prior /= prior.sum()
    means: Floats = (posterior @ _GRID)[kind.reshape(-1)]
    return means


def _upper(c: Floats, e: Floats) -> tuple[Floats, Floats]:
    """s and a of the upper end."""
    u = c / (1 + c * e)
    return -np.log1p(-u), -np.log1p(-e * u) - c * e


def _lower(c: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The same of the lower end, where E[exp(s y)] = 1 + v r."""
    v = c / (1 - c * e)
    return np.log1p(v), np.log1p(e * v) - c * e


def _cost(c: Floats, e: Floats) -> Floats:
    """What chance costs in one trial, if its guess is true: about c² e (1 - e) / 2."""
    (s, a), (t, b) = _upper(c, e), _lower(c, e)
    cost: Floats = ((s - t) * e - (a - b)) / 2
    return cost
