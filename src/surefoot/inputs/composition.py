"""Can the first inputs of the data pass for a random choice of them, by their classes?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

_ERROR = 0.001
"""Probability of a doubt, by each of two tests, where the data are in random order."""


def composition_doubt(
    labels: NDArray[np.int64], first: int, unit: str, class_name: Callable[[int], str]
) -> str:
    """Why the first of these are no random choice of all; empty if they may be one.

    By class: either a class has more or fewer among them than a random choice would give it
    (hypergeometric tails, shared over the classes), or all data are in the order of their classes
    and the first leave some out.
    """
    classes, counts = np.unique(labels, return_counts=True)
    taken = np.array([(labels[:first] == one).sum() for one in classes])
    missing = int((taken == 0).sum())
    if first >= len(labels) or len(classes) == 1:
        return ""
    improbable = _improbable(taken, counts, first)
    if improbable.min() > _ERROR and not (missing and _in_class_order(labels, counts)):
        return ""
    if missing == len(classes) - 1:
        found = f"are all of class {class_name(int(labels[0]))}, and the data have"
        found += f" {len(classes)} classes"
    elif missing:
        found = f"are of {len(classes) - missing} of the {len(classes)} classes of the data"
    else:
        odd = int(improbable.argmin())
        found = (
            f"hold {taken[odd]} of class {class_name(int(classes[odd]))}, where a random choice "
            f"would hold about {first * counts[odd] / len(labels):.0f}"
        )
    return (
        f"the first {first} {unit} {found}: no random sample of the data; use random={first} "
        f"(--random {first}), or name the classes that you mean (classes=, --classes)"
    )


def _improbable(
    taken: NDArray[np.intp], counts: NDArray[np.intp], first: int
) -> NDArray[np.float64]:
    """For each class the hypergeometric tail beyond its number, times the number of tails."""
    total = int(counts.sum())
    tails = []
    for seen, count in zip(taken.tolist(), counts.tolist(), strict=True):
        k = np.arange(max(0, first - (total - count)), min(count, first) + 1)
        ways = _log_choose(count, k) + _log_choose(total - count, first - k)
        chance = np.exp(ways - _log_choose(total, np.array(first)))
        tails.append(min(chance[k <= seen].sum(), chance[k >= seen].sum()))
    return 2 * len(counts) * np.array(tails)


def _log_choose(n: int, k: NDArray[np.intp]) -> NDArray[np.float64]:
    ways: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways


def _in_class_order(labels: NDArray[np.int64], counts: NDArray[np.intp]) -> bool:
    """Whether each class is in one piece, which a random order would hardly give."""
    pieces = 1 + int((labels[1:] != labels[:-1]).sum())
    log_chance = gammaln(len(counts) + 1) + gammaln(counts + 1).sum() - gammaln(len(labels) + 1)
    return pieces == len(counts) and bool(log_chance < np.log(_ERROR))
