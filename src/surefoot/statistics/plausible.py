"""Whether predictions have anything to do with labels, and changes with grey levels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Classes = NDArray[np.int64]

LEAST_SKILL = 0.25
"""Part of the way from guessing to perfect below which a model is hardly better than a guess."""
ERROR = 0.01
"""Probability of calling a model of this skill a guess; and the level of the permutation test."""
_ROUNDS = 999
"""Permutations: with eleven at least as good, p is above the level."""
_KEYS = 2**20
"""Random numbers drawn at a time."""
_RATES = 64
"""Exponents tried for Chernoff's bound; each gives a bound, and more hardly a smaller one."""
_HALVINGS = 60
"""Of the logarithm of a multiplier: to the precision of a float."""
_LARGEST_EXPONENT = 700.0
"""Beyond this an exponential is no float; a smaller one leaves the bound valid."""


_PIXEL_SPAN = 100
"""Range of images from which on they are pixels of 0 to 255 or more, not of 0 to 1."""
_GREY_LEVEL = 0.9 / 255
"""Part of that range that any change is meant to be: one grey level, of which uniform noise stays
a little short. Of a range of more than 255 it is one unit, as sensors of 16 bits have it."""


def below_grey_level(change: float, span: float) -> bool:
    """Whether images of this range are pixels of 0 to 255, and the change is less than a level."""
    return span >= _PIXEL_SPAN and change < _GREY_LEVEL * min(span, 255)


def balanced_skill(labels: Classes, predicted: Classes) -> float:
    """(Balanced accuracy - 1/K) / (1 - 1/K): 0 for guessing, 1 for perfect.

    Averaged over the classes that have a label; K counts the classes among labels and predictions:
    a model that answers with others too could guess among more, so that a smaller part is chance.
    """
    sizes, right, number = _by_class(labels, predicted)
    return float((np.mean(right / sizes) - 1 / number) / (1 - 1 / number)) if number > 1 else 1.0


def skill_is_small(labels: Classes, predicted: Classes) -> bool:
    """Whether the 99 % upper limit of the balanced skill is below `LEAST_SKILL`.

    Chernoff's bound of a weighted sum: each input adds 1 / (classes · size of its class), and
    inputs are right independently, each class with a probability of its own. For every exponent the
    bound is taken at the worst probabilities whose mean has just that skill (the logarithm is
    concave in them, so that one multiplier finds them); the smallest of the bounds holds too. Of a
    model with at least that skill it is true with probability `ERROR` at most, however many
    classes there are and however uneven they are.
    """
    sizes, right, number = _by_class(labels, predicted)
    if number < 2:
        return False
    least, seen = 1 / number + LEAST_SKILL * (1 - 1 / number), float(np.mean(right / sizes))
    if seen >= least:
        return False
    classes = len(sizes)
    rates = np.geomspace(0.05, 50, _RATES)[:, None] * classes**2 / np.sum(1 / sizes)
    steps = np.minimum(rates / (classes * sizes), _LARGEST_EXPONENT)
    gone = -np.expm1(-steps)
    # Between these multipliers the worst probabilities rise from 0 to 1, all of them.
    low = np.log(sizes * gone).min(axis=1, keepdims=True)
    high = np.log(sizes * np.expm1(steps)).max(axis=1, keepdims=True)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        worst = np.clip(1 / gone - sizes / np.exp(middle), 0, 1)
        above = worst.mean(axis=1, keepdims=True) > least
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    # The lower one: a mean that is no larger makes the bound no smaller.
    worst = np.clip(1 / gone - sizes / np.exp(low), 0, 1)
    logs = rates[:, 0] * seen + np.sum(sizes * np.log1p(-worst * gone), axis=1)
    return bool(logs.min() <= math.log(ERROR))


def _by_class(labels: Classes, predicted: Classes) -> tuple[Classes, Classes, int]:
    """The inputs of each class with a label, how many are right, and how many classes there are."""
    known, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    right = np.bincount(place[labels == predicted], minlength=len(known))
    return sizes, right, len(np.union1d(known, predicted))


def permutation_p(labels: Classes, predicted: Classes) -> float | None:
    """How often predictions in random order hit as many labels.

    None where they hit more than on average, but so few labels differ that no order could be rare.

    The one-sided permutation test, by 999 orders from a stream that is the same everywhere. Where
    the hits are far beyond their mean, Cantelli's inequality gives a larger p without any.
    """
    from scipy.special import gammaln

    n, hits = len(labels), int((labels == predicted).sum())
    known, counts = np.unique(labels, return_counts=True)
    given = np.array([(predicted == one).sum() for one in known])
    both = counts * given
    mean = both.sum() / n
    possible = gammaln(counts + 1).sum() - gammaln(n + 1) <= math.log(ERROR)
    if hits > mean and not possible:
        return None  # even if all were right
    spread = (both.sum() - (both * (counts + given)).sum() / n + mean**2) / (n - 1)
    if hits > mean and spread <= ERROR / (1 - ERROR) * (hits - mean) ** 2:
        return float(spread / (spread + (hits - mean) ** 2))
    bits, reached, done = np.random.Philox(key=0), 0, 0
    while done < _ROUNDS and 1 + reached <= ERROR * (1 + _ROUNDS):
        rounds = min(_ROUNDS - done, max(1, _KEYS // n))
        order = np.argsort(bits.random_raw(rounds * n).reshape(rounds, n), axis=1, kind="stable")
        reached += int(((predicted[order] == labels).sum(axis=1) >= hits).sum())
        done += rounds
    return (1 + reached) / (1 + done)
