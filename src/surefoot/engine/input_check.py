"""Refuse inputs and labels of which no result would mean anything: cheap, no forward pass."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import channels_last
from surefoot.perturb._ops.definition import refuse_other_channels
from surefoot.perturb.text import OfTexts
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import kind_of_items
from surefoot.subject.protocols import Model, Perturbation, View

Classes = NDArray[np.int64]

_LEAST_GAIN = 0.10
"""Accuracy that another reading of the labels must add before the user is asked about it."""
_RELABELLING_ERROR = 0.001
"""Probability of asking about shifted or permuted labels where no other reading is better."""
_GUESS_ERROR = 0.01
"""Probability of calling a model a guess that is halfway between guessing and perfect."""
_LEAST_SKILL = 0.25
"""Part of the way from guessing to perfect below which a model is hardly better than a guess."""
_MOST_CLASSES = 1000
"""Classes beyond which the best permutation is not searched: it would take seconds."""
_LISTED = 20
"""Classes that are written out in a command; more are better given in a file."""
WAY_OUT = (
    "number the classes from 0, or pass their names in the model's order (class_names=, "
    "--class-names)"
)


@dataclass(frozen=True)
class Relabelling:
    """Another reading of the labels: which label is read as what, its accuracy, and a question."""

    description: str
    accuracy: float
    question: str
    read_as: dict[int, int]

    def way_out(self, classes: int, texts: Sequence[str] | None) -> str:
        """What to do if the question is answered with yes; `texts` as in `label_doubt`."""
        label_of = {read: label for label, read in self.read_as.items()}
        if sorted(label_of) != list(range(classes)) or len(self.read_as) < classes:
            return WAY_OUT
        order = [label_of[k] for k in range(classes)]
        if texts is None:
            numbers = ", ".join(str(self.read_as[k]) for k in range(classes))
            return f"renumber them: y = np.array([{numbers}])[y]" if classes <= _LISTED else WAY_OUT
        names = [texts[k] if texts else str(k) for k in order]
        if classes > _LISTED or any("," in name for name in names):
            return WAY_OUT
        names_given = shlex.quote(",".join(names))
        return f"pass their names in the model's order: --class-names {names_given} (class_names=)"


def label_doubt(
    labels: Classes, predicted: Classes, classes: int, texts: Sequence[str] | None = None
) -> str:
    """A doubt about the labels, to follow a sentence about the accuracy; empty if there is none.

    `texts` are the labels by number as the data write them, which class names in another order
    number anew; empty: as the number itself. None: the data hold numbers.

    Shifted or permuted: another reading of the labels adds at least 10 points of accuracy, and a
    one-sided McNemar test rejects that it adds none (error .001 over all readings tried). Guessed:
    binomial tests at level .01 against the better of guessing at random and always answering the
    most frequent class. A model halfway between that and perfect is doubted with probability .01 at
    most, however few the inputs.
    """
    better, other = shifted(labels, predicted, classes), permuted(labels, predicted)
    if better is None or (other is not None and other.accuracy > better.accuracy + _LEAST_GAIN / 2):
        better = other  # a shift is the simpler explanation where it explains as much
    if better is None or guessed(round(better.accuracy * len(labels)), labels, classes):
        return guessed(int((labels == predicted).sum()), labels, classes)
    return (
        f"; with {better.description} it would be {_percent(better.accuracy)}: {better.question} "
        f"Then {better.way_out(classes, texts)}"
    )


def names_doubt(named: int, classes: int) -> str:
    """What is wrong where data and model have different numbers of classes; empty if nothing."""
    if named in (0, classes):
        return ""
    return (
        f"the data name {named} classes and the model has {classes}: pass all class names in the "
        "model's order (class_names=, --class-names), or leave the labels out (--labels none)"
    )


def shifted(labels: Classes, predicted: Classes, classes: int) -> Relabelling | None:
    """The labels from some class on read as one higher or one lower, if that is much better.

    Two labels are never read as one: lower is tried only where the class below has no input.
    """
    n, step = len(labels), predicted - labels
    same, up, down = (
        np.bincount(labels[step == by], minlength=classes).astype(np.int64) for by in (0, 1, -1)
    )
    if same.sum() > (1 - _LEAST_GAIN) * n:
        return None
    before = np.cumsum(same) - same
    lost_from = same.sum() - before
    gained_from = np.stack([np.cumsum(moved[::-1])[::-1] for moved in (up, down)])
    free = np.bincount(labels + 1, minlength=classes + 1)[:classes] == 0
    hits = np.where([np.ones(classes, bool), free], before + gained_from, -1)
    which, start = np.unravel_index(int(np.argmax(hits)), hits.shape)
    gained, lost = int(gained_from[which, start]), int(lost_from[start])
    accuracy = float(hits[which, start] / n)
    p_value = _mcnemar(gained, lost)
    if accuracy < same.sum() / n + _LEAST_GAIN or p_value > _RELABELLING_ERROR / 4 / classes:
        return None
    by, word = ((1, "higher"), (-1, "lower"))[which]
    affected = [k for k in np.unique(labels).tolist() if k >= max(start, -by)]
    which_labels = "every label" if labels.min() >= start else f"the labels from {start} on"
    examples = ", ".join(f"{k} as {k + by}" for k in affected[:2])
    examples += ", …" if len(affected) > 2 else ""
    read_as = {k: k + by if k in affected else k for k in np.unique(labels).tolist()}
    description = f"{which_labels} read as one {word} ({examples})"
    return Relabelling(description, accuracy, "are the labels shifted?", read_as)


def permuted(labels: Classes, predicted: Classes) -> Relabelling | None:
    """The best one-to-one renaming of the labels, if it is much better than none.

    It is fitted on one half of the inputs and tested on the other, and the other way round, so that
    a renaming that merely fits the noise is not believed.
    """
    n, right = len(labels), labels == predicted
    rows, columns = np.unique(labels), np.union1d(labels, predicted)
    if right.sum() > (1 - _LEAST_GAIN) * n or len(columns) > _MOST_CLASSES:
        return None
    second = np.random.default_rng(0).permutation(n) % 2 == 1
    hits, p_value = 0, 1.0
    for tested in (second, ~second):
        renaming = _best_renaming(labels[~tested], predicted[~tested], rows, columns)
        fits = renaming[np.searchsorted(rows, labels[tested])] == predicted[tested]
        hits += int(fits.sum())
        gained = int((fits & ~right[tested]).sum())
        lost = int((right[tested] & ~fits).sum())
        p_value = min(p_value, _mcnemar(gained, lost))
    if hits < right.sum() + _LEAST_GAIN * n or p_value > _RELABELLING_ERROR / 4:
        return None
    best = _best_renaming(labels, predicted, rows, columns)
    changes = [f"{k} as {j}" for k, j in zip(rows, best, strict=True) if k != j]
    examples = ", ".join(changes[:3]) + (", …" if len(changes) > 3 else "")
    question = "are the classes in another order?"
    read_as = dict(zip(rows.tolist(), best.tolist(), strict=True))
    return Relabelling(f"the labels renamed ({examples})", hits / n, question, read_as)


def _best_renaming(labels: Classes, predicted: Classes, rows: Classes, columns: Classes) -> Classes:
    """The class that each label of `rows` is read as; its own unless another fits better."""
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((len(rows), len(columns)))
    cells = np.searchsorted(rows, labels), np.searchsorted(columns, predicted)
    np.add.at(counts, cells, 1.0)
    counts += (rows[:, None] == columns) / (len(rows) + 1)
    _, chosen = linear_sum_assignment(counts, maximize=True)
    renaming: Classes = columns[chosen]
    return renaming


def _mcnemar(gained: int, lost: int) -> float:
    """One-sided p-value: a reading that is no better gains this many more inputs than it loses."""
    return float(bdtr(lost, gained + lost, 0.5))


def guessed(hits: int, labels: Classes, classes: int) -> str:
    """A remark where the model is hardly better than a guess; empty if it is, or inputs are few."""
    n, frequent = len(labels), np.bincount(labels).max() / len(labels)
    guess = f"guessing ({_percent(1 / classes)})"
    chance = 1 / classes
    if chance < frequent < 1:
        guess = f"always answering the most frequent class ({_percent(frequent)})"
        chance = frequent
    advice = "check scaling, layout and labels"
    by_chance = 1 - float(bdtr(hits - 1, n, chance)) if hits else 1.0
    if by_chance > _GUESS_ERROR and bdtr(hits, n, (1 + chance) / 2) <= _GUESS_ERROR:
        return f", no better than {guess}: {advice}"
    if bdtr(hits, n, chance + _LEAST_SKILL * (1 - chance)) <= _GUESS_ERROR:
        return f", hardly better than {guess}: {advice}"
    return ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def refuse_bad_inputs(inputs: Inputs, model: Model, perturbation: Perturbation) -> None:
    """Raise if values, labels or level are outside what model and perturbation take."""
    signature, names = model.signature, inputs.class_names
    bounds, classes = signature.bounds, signature.classes
    if bounds is not None and not inputs.holds_items:
        low, high = inputs.x.min(), inputs.x.max()
        if low < bounds.low or high > bounds.high:
            raise InvalidArgument(
                f"values of {inputs.source} must lie within the bounds [{bounds.low:g}, "
                f"{bounds.high:g}], got {low:g} to {high:g}: scale the data (scale=, --scale) or "
                "pass other bounds (bounds=, --bounds)"
            )
    if inputs.labels is not None and not classes:
        raise InvalidArgument(
            f"{inputs.source} holds class labels, but the model has no classes: pass what its "
            "output should be as targets=…, or leave the labels out"
        )
    if inputs.labels is not None and inputs.labels.max() >= classes:
        raise InvalidArgument(
            f"{inputs.source} holds label {inputs.labels.max()}, but the model has "
            f"{classes} classes (0 to {classes - 1}): {WAY_OUT}"
        )
    fitted: tuple[str, ...] = getattr(model, "class_names", ())
    if inputs.labels is not None and names != fitted and set(names) & set(fitted):
        raise InvalidArgument(
            f"the estimator was fitted with the classes {', '.join(fitted)}, but {inputs.source} "
            f"numbers its labels {', '.join(names)}: pass class_names=list(estimator.classes_) to "
            "load_inputs"
        )
    if classes and len(names) not in (0, classes):  # they cannot be in the model's order
        some = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise InvalidArgument(
            f"{inputs.source} has names of {len(names)} classes ({some}), but the model has "
            f"{classes}: pass one name for each of its outputs, in their order (--class-names "
            "names.txt, class_names=), or leave the labels out (--labels none)"
        )
    refuse_unsuited(inputs, perturbation, bounds)


def refuse_unsuited(inputs: Inputs, perturbation: Perturbation, bounds: Interval | None) -> None:
    """Refuse what a perturbation or a part of it is not for: images, signals, items, levels."""
    kind, shape = perturbation.kind, inputs.x.shape[1:]
    inner: Perturbation | None = getattr(perturbation, "inner", None)
    parts: tuple[Perturbation, ...] = getattr(perturbation, "parts", ())
    combined = hasattr(perturbation, "parts") or hasattr(perturbation, "inner")
    if isinstance(perturbation, OfTexts):
        _refuse_texts(inputs, perturbation)
    elif inputs.holds_items:
        if not combined and not getattr(perturbation, "takes_items", False):
            of_texts = "one of texts such as typos:0.05, or " if inputs.content == "text" else ""
            raise InvalidArgument(
                f"{kind} is for arrays of numbers, but {inputs.source} holds {inputs.content}: "
                f"give {of_texts}a function of (item, rng, level), as in "
                "sf.perturb.custom(f, 0.1) or --perturb mine.py:f:0.1"
            )
    elif perturbation.view is View.IMAGE:
        frame = inputs.frame
        if not frame:
            raise InvalidArgument(
                f"{kind} needs images, but one input of {inputs.source} has shape "
                f"{shape}: use images, or choose a perturbation of values such as linf"
            )
        channels = 1 if len(frame) < 3 else frame[-1] if channels_last(frame) else frame[0]
        refuse_other_channels(perturbation, channels)
    elif perturbation.view is View.SERIES and len(shape) > 2:
        raise InvalidArgument(
            f"{kind} needs signals of shape (length,) or (channels, length), but one "
            f"input of {inputs.source} has shape {shape}: choose a perturbation of values such as "
            "linf"
        )
    for part in (*parts, *filter(None, [inner])):
        refuse_unsuited(inputs, part, bounds)
    levels, level = perturbation.levels(bounds), perturbation.level
    if level is not None and level not in levels:
        hint = f" (did you mean {level:g}/255?)" if level >= 1 else ""
        raise InvalidArgument(
            f"{kind}: level must lie within [{levels.low:g}, {levels.high:g}] for "
            f"these bounds, got {level:g}{hint}"
        )


def _refuse_texts(inputs: Inputs, perturbation: OfTexts) -> None:
    """Refuse inputs that are no texts, texts without words, and texts none of which can change."""
    kind = perturbation.kind
    others = (kind_of_items(item) for item in inputs.x if not isinstance(item, str))
    found = next(others, "") if inputs.holds_items else inputs.content
    if found:
        raise InvalidArgument(
            f"{kind} is for texts, but {inputs.source} holds {found}: choose another perturbation "
            "(`surefoot perturb --list`), or read the data as text"
        )
    blank = next((i for i, text in enumerate(inputs.x) if not text.strip()), None)
    if blank is not None:
        empty = "only spaces" if inputs.x[blank] else "empty"
        raise InvalidArgument(
            f"{inputs.source}: the text of input {inputs.ids[blank]} is {empty}, and {kind} cannot "
            "change it: leave the input out"
        )
    if not any(map(perturbation.can_change, inputs.x)):
        raise InvalidArgument(
            f"{kind} can change none of the {len(inputs):,} texts of {inputs.source}: choose "
            "another perturbation (`surefoot perturb --list`)"
        )
