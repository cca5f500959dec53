"""Whether a model answers clean inputs as their labels say: labels, preparation, skill."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.core.reasons import Reason, Why
from surefoot.engine.input_check import WAY_OUT
from surefoot.engine.outputs import clean_outputs, labels_of
from surefoot.errors import ModelFailed
from surefoot.inputs.arrays import channels_last
from surefoot.models.load_options import CONSTANTS, Normalise, named_normalisation
from surefoot.statistics.bounds import mcnemar
from surefoot.statistics.plausible import (
    ERROR,
    Classes,
    balanced_skill,
    permutation_p,
    skill_is_small,
)
from surefoot.subject.inputs import Classified
from surefoot.subject.protocols import HostArray, Model
from surefoot.system.memory_limits import rows_together

_LEAST_GAIN = 0.10
"""Accuracy that another reading of the labels must add before a PASS is doubted."""
_LEAST_PREPARED_GAIN = 0.05
"""The same of another preparation of the images: fewer are tried, and none is fitted."""
_RELABELLING_ERROR = 0.001
"""Probability of doubting labels as shifted or permuted where no other reading is better."""
_PREPARATION_ERROR = 0.005
"""The same of another preparation of the images, shared over those tried."""
_TRIED = 64
"""Inputs that are prepared otherwise: one batch of each preparation."""
_MOST_TRIED = 512
"""Inputs of a preparation with which more of the first ones are right, but not surely."""
_SCREENED = 4
"""Wrong inputs that are prepared first, of ImageNet's size: 40 ms a row on one core. Of smaller
images as many values, since the fewer they are, the more often a better preparation is missed."""
_SCREENED_VALUES = _SCREENED * 3 * 224 * 224
_HALVES = "0.5/0.5"
"""The third common normalisation: values from -1 to 1."""
_LEAST_INPUTS = 30
"""Inputs below which little skill, or chance, takes no PASS away."""
_PIXELS_ABOVE = 2.0
"""Images with larger values are read as pixels from 0 to 255."""
_MOST_PIXEL = 255
"""The largest value of a pixel."""
_MOST_CLASSES = 1000
"""Classes beyond which the best permutation is not searched: it would take seconds."""
_LISTED = 20
"""Classes that are written out in a command; more are better given in a file."""


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
) -> Reason | None:
    """Why a PASS would mean nothing, by the labels and what the model predicts; None if it may.

    `texts` are the labels by number as the data write them, which class names in another order
    number anew; empty: as the number itself. None: the data hold numbers.

    One class for all inputs, though the labels have several. Shifted or permuted: another reading
    of the labels adds at least 10 points of accuracy, and a one-sided McNemar test rejects that it
    adds none (error .001 over all readings tried). Little skill, or predictions that random order
    explains: of fewer than 30 inputs only a remark (`FEW_TO_DOUBT`).
    """
    several = len(np.unique(labels)) > 1
    if several and len(np.unique(predicted)) == 1:
        return Why.ONE_CLASS_GIVEN.of(len(np.unique(labels)))
    better, other = shifted(labels, predicted, classes), permuted(labels, predicted)
    if better is None or (other is not None and other.accuracy > better.accuracy + _LEAST_GAIN / 2):
        better = other  # a shift is the simpler explanation where it explains as much
    if better is not None:
        way_out = better.way_out(classes, texts)
        return Why.LABELS_READ_OTHERWISE.of(
            better.accuracy, better.description, better.question, way_out
        )
    doubt = None
    if skill_is_small(labels, predicted):
        doubt = Why.LITTLE_SKILL.of(balanced_skill(labels, predicted))
    elif several and (p := permutation_p(labels, predicted)) is not None and p > ERROR:
        doubt = Why.CHANCE_EXPLAINS.of(p)
    return Why.FEW_TO_DOUBT.of(doubt) if doubt and len(labels) < _LEAST_INPUTS else doubt


def right_share(cure: Reason) -> float:
    """Of another reading of the labels, or another preparation: which share it puts right."""
    if cure.why is Why.LABELS_READ_OTHERWISE:
        return cast("float", cure.values[0])
    _, hits, _, tried = cast("tuple[str, int, int, int]", cure.values)
    return hits / tried


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
    p_value = mcnemar(gained, lost)
    if accuracy < same.sum() / n + _LEAST_GAIN or p_value > _RELABELLING_ERROR / 4 / classes:
        return None
    by, word = ((1, "higher"), (-1, "lower"))[which]
    which_labels = "every label" if labels.min() >= start else f"the labels from {start} on"
    read_as = {k: k + by if k >= max(start, -by) else k for k in np.unique(labels).tolist()}
    reading = f"{which_labels} read as one {word}"
    return Relabelling(reading, accuracy, "are the labels shifted?", read_as)


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
    # the way to the best one is long: not gone where even the best of each half would not do
    most = sum(_most_renamed(labels[half], predicted[half]) for half in (second, ~second))
    if most < right.sum() + _LEAST_GAIN * n:
        return None
    for tested in (second, ~second):
        renaming = _best_renaming(labels[~tested], predicted[~tested], rows, columns)
        fits = renaming[np.searchsorted(rows, labels[tested])] == predicted[tested]
        hits += int(fits.sum())
        gained = int((fits & ~right[tested]).sum())
        lost = int((right[tested] & ~fits).sum())
        p_value = min(p_value, mcnemar(gained, lost))
    if hits < right.sum() + _LEAST_GAIN * n or p_value > _RELABELLING_ERROR / 4:
        return None
    best = _best_renaming(labels, predicted, rows, columns)
    changes = [f"{k} as {j}" for k, j in zip(rows, best, strict=True) if k != j]
    examples = ", ".join(changes[:3]) + (", …" if len(changes) > 3 else "")
    question = "are the classes in another order?"
    read_as = dict(zip(rows.tolist(), best.tolist(), strict=True))
    return Relabelling(f"the labels renamed ({examples})", hits / n, question, read_as)


def _most_renamed(labels: Classes, predicted: Classes) -> int:
    """No one-to-one renaming hits more: each label has one class, and each class one label."""
    (rows, row), (columns, column) = (
        np.unique(v, return_inverse=True) for v in (labels, predicted)
    )
    counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(counts, (row, column), 1)
    return int(min(counts.max(axis=i, initial=0).sum() for i in (0, 1)))  # none of one input


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


def most_tried(row_bytes: int) -> int:
    """Inputs that are prepared otherwise at most: of large ones as many as memory has room for."""
    return min(_MOST_TRIED, rows_together(row_bytes))


def preparation_doubt(
    clean: Classified, frame: tuple[int, ...], model: Model, *, table: bool = False
) -> Reason | None:
    """The common preparation of images with which far more get their true label; None for none.

    Of rows that may hold pixels, the scale alone; `table`: their columns have names.

    Inputs from all over the rows at hand are tried with each: at least 5 points more, and a
    one-sided McNemar test rejects that there are none. Where more are right, but not surely, more
    inputs are tried (error .005, shared over the preparations and the two tests of each). One with
    which hardly any wrong input becomes right is not tried on others. Nothing is tried where so
    many are right that 5 points cannot be gained.
    """
    given = len(clean.x)
    labels, right = clean.labels[:given], clean.right[:given]
    if right.mean() > 1 - _LEAST_PREPARED_GAIN or len(np.unique(labels)) < 2:
        return None  # of one class a preparation that always answers it would look best
    if not frame and not _pixels_in_rows(clean.x, model, table):
        return None
    tried, wrong = list(_preparations(clean.x, frame, model)), np.flatnonzero(~right)
    few = _spread(wrong, min(_TRIED, max(_SCREENED, _SCREENED_VALUES // clean.x[0].size)))
    most = min(given, most_tried(clean.x[0].nbytes))
    sizes = sorted({min(_TRIED, most), most})
    tests = [(few, len(wrong) / given, 0.0)]  # the first decides nothing: a slow model sees few
    level = _PREPARATION_ERROR / max(1, len(tried)) / len(sizes)
    tests += [(_spread(np.arange(given), size), 1.0, level) for size in sizes]
    found: list[tuple[float, str, int, int, int]] = []
    for name, prepare in tried:
        for rows, part, error in tests:
            answers, before = _answers(model, prepare(clean.x[rows])), right[rows]
            hits = answers == labels[rows]
            gained, lost = int((hits & ~before).sum()), int((before & ~hits).sum())
            gain = part * (gained - lost) / len(rows)
            if gain < _LEAST_PREPARED_GAIN / 2 or (error and len(np.unique(answers)) < 2):
                break
            if gain >= _LEAST_PREPARED_GAIN and mcnemar(gained, lost) <= error:
                found.append((gain, name, int(hits.sum()), int(before.sum()), len(rows)))
                break
    best = max(found, key=lambda one: one[0], default=None)
    return None if best is None else Why.PREPARED_OTHERWISE.of(*best[1:])


def _pixels_in_rows(x: HostArray, model: Model, table: bool) -> bool:
    """Whether rows of numbers have one scale, that of pixels: by their bounds, or all are whole.

    Named columns each have a scale of their own, unless bounds for all of them say otherwise.
    """
    if x.ndim != 2 or x.dtype == object:
        return False
    bounds = model.signature.bounds
    if bounds is not None and (bounds.low, bounds.high) == (0, _MOST_PIXEL):
        return True
    return not table and bool(((x >= 0) & (x <= _MOST_PIXEL) & (x == np.floor(x))).all())


def _spread(rows: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    """At most so many of these, from all over them."""
    return rows[np.linspace(0, len(rows) - 1, min(number, len(rows))).astype(np.intp)]


def _answers(model: Model, x: HostArray) -> Classes:
    """The class that each gets; -1 for a tie, and where the model refuses what it is given."""
    try:
        outputs = clean_outputs(model, np.ascontiguousarray(x, dtype=np.float32))
    except ModelFailed:
        return np.full(len(x), -1)
    labels, alone = labels_of(np.asarray(outputs))
    return np.where(alone, labels, -1)


def _preparations(
    x: HostArray, frame: tuple[int, ...], model: Model
) -> Iterator[tuple[str, Callable[[HostArray], HostArray]]]:
    """What makes of images such as these what the model is given instead, by its name.

    Of rows that are no image, `frame` is empty.
    """
    axis = 0 if len(frame) < 3 else 3 if channels_last(frame) else 1
    channels = frame[axis - 1] if axis else 1

    def other_layout(x: HostArray) -> HostArray:
        images = x.reshape(len(x), *frame)
        end = 1 if axis == 3 else -1
        moved = np.moveaxis(images, axis, end)  # as a flat row: in the other order
        if x.shape[1:] == frame:  # as if the other layout had been read as this one
            moved = np.moveaxis(images.reshape(moved.shape), end, axis)
        return moved.reshape(x.shape)

    if channels > 1:
        yield "bgr", lambda x: np.flip(x.reshape(len(x), *frame), axis).reshape(x.shape)
        yield "layout", other_layout
    if model.signature.whole_numbers:
        return
    pixels = max(float(x.max()), -float(x.min())) > _PIXELS_ABOVE
    yield ("over-255", lambda x: x / 255) if pixels else ("times-255", lambda x: x * 255)
    if not frame:
        return
    known: Normalise = getattr(model, "normalise", Normalise())
    over, scale = ("over-255 ", 255) if pixels else ("", 1)
    negative = float(x.min()) < 0  # no image is: it may have been normalised already
    for name in (*CONSTANTS, _HALVES):
        given = named_normalisation(name)
        fits = len(given.mean) == 1 or (channels == len(given.mean) and x.shape[1:] == frame)
        if given != known and fits:
            yield f"{over}{name}", _normalised(known, given, scale)
        if negative and fits and known.is_identity:
            yield f"undo:{name}", given.before
    if negative and not known.is_identity:
        yield "normalised", known.before


def _normalised(known: Normalise, given: Normalise, scale: int) -> Callable[[HostArray], HostArray]:
    """What the model normalises, as it is known to, to what another normalisation gives."""
    return lambda x: known.before(given(x / scale))
