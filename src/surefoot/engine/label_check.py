"""Whether labels and predictions fit together, or look shifted, renamed or guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

Classes = NDArray[np.int64]

_GAIN = 0.10
"""Accuracy that another reading of the labels must add before it is worth a question."""
_SHIFTED_ERROR = 0.001
"""Probability of the question about shifted or renamed labels where no other reading is better."""
_GUESS_ERROR = 0.01
"""Probability of the remark on guessing for a model halfway between guessing and perfect."""
_WEAK = 0.25
"""Part of the way from guessing to perfect that a model should have gone."""
_MOST_CLASSES = 1000
"""Beyond this the best renaming is not searched: its confusion matrix takes seconds."""
WAY_OUT = "give class numbers from 0, or the class names in the model's order (--class-names)"


@dataclass(frozen=True)
class Relabelling:
    """Another reading of the labels: which label is read as what, the accuracy, and a question."""

    words: str
    accuracy: float
    question: str


def label_doubt(labels: Classes, predicted: Classes, classes: int) -> str:
    """What is doubtful about the labels, as the end of a sentence on the accuracy; or nothing.

    Shifted or renamed: another reading of the labels adds at least 10 points of accuracy, and a
    one-sided McNemar test rejects that it adds none (error .001 over all readings tried). Guessed:
    binomial tests at level .01 against the better of guessing at random and always answering the
    most frequent class. A model halfway between that and perfect is doubted with probability .01 at
    most, however few the inputs.
    """
    better, other = shifted(labels, predicted, classes), renamed(labels, predicted)
    if better is None or (other is not None and other.accuracy > better.accuracy + _GAIN / 2):
        better = other  # a shift is the simpler word, where it explains as much
    if better is None or guessed(round(better.accuracy * len(labels)), labels, classes):
        return guessed(int((labels == predicted).sum()), labels, classes)
    return (
        f"; with {better.words} it would be {_percent(better.accuracy)}: {better.question} "
        f"Then {WAY_OUT}"
    )


def names_doubt(named: int, classes: int) -> str:
    """Where the data name more or fewer classes than the model has, names lead to wrong numbers."""
    if named in (0, classes):
        return ""
    return (
        f"; the data name {named} classes and the model has {classes}: give the name of each, in "
        "the model's order (--class-names)"
    )


def shifted(labels: Classes, predicted: Classes, classes: int) -> Relabelling | None:
    """The labels from some class on read as one higher or one lower, if that is far better.

    No two labels are read as one: lower is tried only where the class below holds no input.
    """
    n, step = len(labels), predicted - labels
    same, up, down = (
        np.bincount(labels[step == by], minlength=classes).astype(np.int64) for by in (0, 1, -1)
    )
    if same.sum() > (1 - _GAIN) * n:
        return None
    before = np.cumsum(same) - same
    lost = same.sum() - before
    gained = np.stack([np.cumsum(moved[::-1])[::-1] for moved in (up, down)])
    free = np.bincount(labels + 1, minlength=classes + 1)[:classes] == 0
    hits = np.where([np.ones(classes, bool), free], before + gained, -1)
    which, start = np.unravel_index(int(np.argmax(hits)), hits.shape)
    won, gone = int(gained[which, start]), int(lost[start])
    accuracy = float(hits[which, start] / n)
    if accuracy < same.sum() / n + _GAIN or _no_better(won, gone) > _SHIFTED_ERROR / 4 / classes:
        return None
    by, word = ((1, "higher"), (-1, "lower"))[which]
    moved = [k for k in np.unique(labels).tolist() if k >= max(start, -by)]
    who = "every label" if labels.min() >= start else f"the labels from {start} on"
    some = ", ".join(f"{k} as {k + by}" for k in moved[:2]) + (", …" if len(moved) > 2 else "")
    return Relabelling(f"{who} read as one {word} ({some})", accuracy, "are the labels shifted?")


def renamed(labels: Classes, predicted: Classes) -> Relabelling | None:
    """The best one-to-one renaming of the labels, if it is far better than none.

    Found on one half of the inputs and judged on the other, and the other way round, so that a
    renaming that merely fits the noise is not believed.
    """
    n, right = len(labels), labels == predicted
    rows, columns = np.unique(labels), np.union1d(labels, predicted)
    if right.sum() > (1 - _GAIN) * n or len(columns) > _MOST_CLASSES:
        return None
    second = np.random.default_rng(0).permutation(n) % 2 == 1
    hits, least = 0, 1.0
    for judged in (second, ~second):
        found = _best(labels[~judged], predicted[~judged], rows, columns)
        fits = found[np.searchsorted(rows, labels[judged])] == predicted[judged]
        hits += int(fits.sum())
        won, gone = int((fits & ~right[judged]).sum()), int((right[judged] & ~fits).sum())
        least = min(least, _no_better(won, gone))
    if hits < right.sum() + _GAIN * n or least > _SHIFTED_ERROR / 4:
        return None
    best = _best(labels, predicted, rows, columns)
    moved = [f"{k} as {j}" for k, j in zip(rows, best, strict=True) if k != j]
    some = ", ".join(moved[:3]) + (", …" if len(moved) > 3 else "")
    question = "are the classes in another order?"
    return Relabelling(f"the labels renamed ({some})", hits / n, question)


def _best(labels: Classes, predicted: Classes, rows: Classes, columns: Classes) -> Classes:
    """The class that each of `rows` is read as; its own where nothing speaks against it."""
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((len(rows), len(columns)))
    at = np.searchsorted(rows, labels), np.searchsorted(columns, predicted)
    np.add.at(counts, at, 1.0)
    counts += (rows[:, None] == columns) / (len(rows) + 1)
    _, chosen = linear_sum_assignment(counts, maximize=True)
    found: Classes = columns[chosen]
    return found


def _no_better(won: int, gone: int) -> float:
    """P-value of winning so many of the inputs that change sides, if winning is no likelier."""
    return float(bdtr(gone, won + gone, 0.5))


def guessed(hits: int, labels: Classes, classes: int) -> str:
    """What a guess has over these answers; nothing if they are clearly better, or too few."""
    n, frequent = len(labels), np.bincount(labels).max() / len(labels)
    guess = f"guessing ({_percent(1 / classes)})"
    chance = 1 / classes
    if chance < frequent < 1:
        guess = f"always answering the most frequent class ({_percent(frequent)})"
        chance = frequent
    check = "check scaling, layout and labels"
    by_chance = 1 - float(bdtr(hits - 1, n, chance)) if hits else 1.0
    if by_chance > _GUESS_ERROR and bdtr(hits, n, (1 + chance) / 2) <= _GUESS_ERROR:
        return f", no better than {guess}: {check}"
    if bdtr(hits, n, chance + _WEAK * (1 - chance)) <= _GUESS_ERROR:
        return f", hardly better than {guess}: {check}"
    return ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
