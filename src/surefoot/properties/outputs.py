"""Properties of an output beside its reference: labels, how close it is, what a function says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.limits import check_fields, limit, whole
from surefoot.errors import InvalidArgument
from surefoot.subject.items import on_host, split_numbers
from surefoot.subject.protocols import Array, HostArray, Item, Outputs, Reference, Scores
from surefoot.system.user_code import describe_function, named_errors

_MOST_VALUES = 6
"""Values of an output that are written out: more do not fit beside an image."""
_SHARE_ROUNDING = 1e-12
"""What a mean of overlaps may lose in double precision; less than one pixel in any mask."""
CLEAN = "the clean input"
ROUNDING_SHARE = 0.01
"""Part of a stated limit that the rounding of an output may explain: more would hide failures."""


def at_most(value: float) -> float:
    """The limit of a severity that may be `value` itself, but nothing above it."""
    return math.nextafter(value, math.inf)


def all_but(share: float) -> float:
    """The limit of a share that is lost, where `share` itself may be what is left."""
    return 1 - share + _SHARE_ROUNDING


def _target_array(target: Item, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """The true output of one input, as an array of this shape."""
    values = np.asarray(on_host(target))
    if values.dtype.kind not in "fiub":
        raise InvalidArgument(
            f"the target of input {name} is {target!r}: numbers are needed; give an array of them"
        )
    if values.size == math.prod(shape) == 1:
        values = values.reshape(shape)
    if values.shape != shape:
        raise InvalidArgument(
            f"the target of input {name} has shape {values.shape}, and the output of the model "
            f"{shape}: give targets in the shape of the output"
        )
    if not np.isfinite(values).all():
        raise InvalidArgument(f"the target of input {name} holds NaN or infinity: leave it out")
    return values.astype(np.float64)


def target_arrays(
    targets: Sequence[Item], shape: tuple[int, ...], names: Sequence[str]
) -> NDArray[np.float64]:
    """The true outputs of all inputs, each of this shape."""
    pairs = zip(targets, names, strict=True)
    return np.stack([_target_array(target, shape, name) for target, name in pairs])


def rows_of(array: Array) -> Array:
    """All values of each input in one row, in double precision."""
    xp = array_namespace(array)
    return xp.reshape(xp.astype(array, xp.float64), (array.shape[0], -1))


def relative_rounding(array: Array) -> float:
    """Part of a number that is lost at most where it is rounded to the type of the array."""
    xp = array_namespace(array)
    rounded = xp.isdtype(array.dtype, "real floating")
    epsilon = float(xp.finfo(array.dtype).eps) if rounded else 0.0
    return max(epsilon, float(np.finfo(np.float64).eps)) / 2


def threshold_in(array: Array, threshold: float) -> float:
    """The number nearest to a threshold in the type of the array, so that 0.7 is at least 0.7.

    The threshold itself where that type holds none within `ROUNDING_SHARE` of it.
    """
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "real floating"):
        return threshold
    if abs(threshold) > float(xp.finfo(array.dtype).max):
        return threshold
    nearest = float(xp.asarray(threshold, dtype=array.dtype))
    return nearest if abs(nearest - threshold) <= ROUNDING_SHARE * abs(threshold) else threshold


def few_words(values: Sequence[Item]) -> str:
    """The first values, the rest as three dots."""
    texts = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values[:_MOST_VALUES]]
    return ", ".join(texts) + (", …" if len(values) > _MOST_VALUES else "")


SHARE = limit(lambda share: 0 < share <= 1, "lie above 0 and at most 1")
FINITE = limit(math.isfinite, "be finite")
OF = limit(tuple(Reference).__contains__, f"be {' or '.join(Reference)}", shown="{!r}")
_NOT_NEGATIVE = limit(lambda number: 0 <= number < math.inf, "be a finite number ≥ 0")


class Compared:
    """What properties share that compare with the output for the clean input, or with the target.

    Which of the two is their field `of`.
    """

    of: str
    kind: ClassVar[str]
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        own: Any = self
        check_fields(own, f"{self.kind}.")

    @property
    def reference(self) -> Reference:
        """Which output it is about."""
        return Reference(self.of)


@dataclass(frozen=True)
class Close(Compared):
    """Every value of the output is at most `tolerance` away from its reference.

    With `share` in its place at most that share of the reference: 0.05 is 5 %. The reference is
    the output for the clean input, or with `of="true"` the target in the data.
    """

    tolerance: float | None = field(default=None, metadata=_NOT_NEGATIVE)
    share: float | None = field(default=None, metadata=_NOT_NEGATIVE)
    of: str = field(default="predicted", metadata=OF)
    kind = "close"
    needs: ClassVar[Scores | None] = Scores.VALUES

    def __post_init__(self) -> None:
        if (self.tolerance is None) == (self.share is None):
            raise InvalidArgument(
                "close needs one tolerance: give a distance, close:0.5 (Close(0.5)), or a share of "
                "the output, close:5% (Close(share=0.05))"
            )
        super().__post_init__()

    @property
    def phrase(self) -> str:
        """What holds."""
        within = f"{self.tolerance:g}" if self.share is None else f"{100 * self.share:g} %"
        truth = "the true value" if self.of == "true" else f"its value for {CLEAN}"
        return f"keep the output within {within} of {truth}"

    @property
    def limit(self) -> float:
        """The severity at which it fails: the next number above the tolerance."""
        return at_most((self.tolerance if self.share is None else self.share) or 0.0)

    def references(
        self, outputs: HostArray, targets: Sequence[Item], names: Sequence[str]
    ) -> NDArray[np.float64]:
        """The clean outputs or the targets; a share of 0 is refused."""
        values = outputs.astype(np.float64)
        if targets:
            values = target_arrays(targets, outputs.shape[1:], names)
        zero = (values == 0).reshape(len(values), -1).any(axis=1)
        if self.share is not None and zero.any():
            what = "target" if targets else "clean output"
            raise InvalidArgument(
                f"the {what} of input {names[int(np.argmax(zero))]} holds a 0, and a share of 0 is "
                "no tolerance: state a distance, such as close:0.5"
            )
        return values

    def severity(self, outputs: Array, references: Array) -> Array:
        """The largest distance over all values, or the largest share.

        Beyond the tolerance what rounding in the type of the outputs explains does not count, as
        far as that is at most `ROUNDING_SHARE` of the tolerance.
        """
        xp = array_namespace(outputs)
        given, expected = rows_of(outputs), rows_of(references)
        unit = xp.ones_like(expected) if self.share is None else xp.abs(expected)
        stated = (self.tolerance if self.share is None else self.share) or 0.0
        distance, allowed = xp.abs(given - expected), stated * unit
        rounding = relative_rounding(outputs) * (xp.abs(given) + xp.abs(expected))
        most = allowed + xp.minimum(rounding, ROUNDING_SHARE * allowed)
        moved = distance / unit
        return xp.max(xp.where((moved > stated) & (distance <= most), stated, moved), axis=1)

    def words(self, output: Item) -> str:
        """The values."""
        return few_words(np.asarray(on_host(output), dtype=np.float64).reshape(-1).tolist())


_BETWEEN = 0.5
"""The limit of a severity that is 0 or 1."""
_MOST_TEXT = 60
"""Characters of an output or an error that are shown: what fits on a line."""


@dataclass(frozen=True)
class Kept(Compared):
    """What a function of two outputs says: `function(reference, output)`, each of one input.

    The reference is the output for the clean input, or with `of="true"` the target in the data.
    Without `below` the function returns True where the output is kept; with it a number that is
    higher the worse the output is, and the output is kept while the number is below it. The same
    outputs must get the same answer.
    """

    function: Callable[[Item, Item], Item]
    name: str = ""
    below: float | None = field(default=None, metadata=limit(math.isfinite, "be a finite number"))
    of: str = field(default="predicted", metadata=OF)
    kind = "kept"
    needs: ClassVar[Scores | None] = Scores.OBJECTS

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"kept.function must be a function of two outputs, got {self.function!r}"
            )
        super().__post_init__()
        if not self.name:
            own = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", own)

    @property
    def phrase(self) -> str:
        """What holds."""
        against = "true output" if self.of == "true" else "output for the clean input"
        below = "" if self.below is None else f", below {self.below:g}"
        return f"pass {self.name}, against the {against}{below}"

    @property
    def yes_or_no(self) -> bool:
        """Whether the function gives no number."""
        return self.below is None

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return _BETWEEN if self.below is None else self.below

    def describe(self) -> dict[str, Any]:
        """Its fields, the function by its name, its source and its settings."""
        function = describe_function(self.function)
        return {"function": function, "name": self.name, "below": self.below, "of": self.of}

    def references(
        self, outputs: Outputs, targets: Sequence[Item], names: Sequence[str]
    ) -> list[Item]:
        """The clean outputs or the targets, one by one."""
        return list(targets) if targets else list(outputs)

    def severity(self, outputs: Outputs, references: list[Item]) -> NDArray[np.float64]:
        """0 where it is kept and 1 where it is not, or the number."""
        pairs = zip(references, on_host(outputs), strict=True)
        return np.array([self._one(one, output) for one, output in pairs], dtype=np.float64)

    def _one(self, reference: Item, output: Item) -> float:
        with named_errors(self.name):
            answer = self.function(reference, output)
        answer = answer.item() if hasattr(answer, "item") and np.size(answer) == 1 else answer
        if self.below is None:
            if isinstance(answer, bool):
                return 0.0 if answer else 1.0
            raise InvalidArgument(
                f"{self.name} must return True or False, got {answer!r}: for a number state its "
                "limit, Kept(function, below=0.5)"
            )
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            raise InvalidArgument(
                f"{self.name} must return a number, got {answer!r}: leave out below for True or "
                "False"
            )
        if not math.isfinite(answer):
            raise InvalidArgument(f"{self.name} must return a finite number, got {answer}")
        return float(answer)

    def words(self, output: Item) -> str:
        """The object where it is short, else the first of its numbers."""
        text = " ".join(str(output).split())
        if len(text) <= _MOST_TEXT:
            return text
        numbers = split_numbers(output)[1].tolist()
        return f"{type(output).__name__} of {few_words(numbers)}" if numbers else text[:_MOST_TEXT]


class _OfLabels:
    """What properties share of the scores of any kind that a label gets."""

    needs: ClassVar[Scores | None] = None
    provable: ClassVar[bool] = True

    @property
    def rank(self) -> int:
        """Which of the rivals must stay behind: 1 is the best."""
        return 1

    def margin(self, logits: Array, labels: Array, target: Array | None) -> tuple[Array, Array]:
        """The leads of the label over the `rank` best rivals that it still has, summed.

        Where it has none: the largest of these differences. A target takes the place of one.
        """
        xp = array_namespace(logits)
        classes = xp.arange(logits.shape[1], device=device(logits))[None, :]
        own = classes == labels[:, None]
        others = xp.where(own, -xp.inf, logits)
        if target is not None:
            others = xp.where(classes == target[:, None], xp.inf, others)
        if self.rank == 1:
            least = xp.max(others, axis=1)[:, None]
        else:
            least = xp.sort(others, axis=1)[:, -self.rank][:, None]
        lead = xp.where(others >= least, _own(logits, labels)[:, None] - logits, -xp.inf)
        worst = xp.max(lead, axis=1)
        total = xp.sum(xp.clip(lead, 0.0), axis=1)
        counted = xp.astype((lead > 0) | (lead == xp.clip(worst, max=0.0)[:, None]), logits.dtype)
        slope = xp.where(own, xp.sum(counted, axis=1)[:, None], -counted)
        return xp.where(worst > 0, total, worst), slope


class _Wins(_OfLabels):
    """What properties share that hold where a label has the highest score."""

    limit = 0.0

    def severity(self, scores: Array, labels: Array) -> Array:
        """Best rival minus reference; a tie fails.

        NumPy compares rows of many numbers faster than many rows of few: classes come first there.
        """
        if not isinstance(scores, np.ndarray) or not np.issubdtype(scores.dtype, np.floating):
            return _rivals(scores, labels, 1) - _own(scores, labels)
        by_class, rows = np.array(scores.T), np.arange(len(scores))
        own = by_class[labels, rows]
        by_class[labels, rows] = -np.inf
        return by_class.max(axis=0) - own


@dataclass(frozen=True)
class SameLabel(_Wins):
    """The label the model gives the clean input still wins."""

    kind = "same"
    phrase = "keep the label the model gives the clean input (a tie fails)"
    reference = Reference.PREDICTED


@dataclass(frozen=True)
class TrueLabel(_Wins):
    """The label in the data wins."""

    kind = "true"
    phrase = "get the true label (a tie fails)"
    reference = Reference.TRUE


@dataclass(frozen=True)
class GivenLabel(_OfLabels):
    """The model gives the label: a tie is for the first class, as proofs read it."""

    kind = "label"
    phrase = "get this label"
    limit = 0.5
    reference = Reference.PREDICTED

    def severity(self, scores: Array, labels: Array) -> Array:
        """1 where another label is given."""
        xp = array_namespace(scores)
        return xp.astype(xp.argmax(scores, axis=1) != labels, scores.dtype)


@dataclass(frozen=True)
class TopK(_OfLabels):
    """The label in the data is among the k best."""

    k: int = field(default=5, metadata=whole(1))
    kind = "topk"
    limit = 0.0
    reference = Reference.TRUE
    provable = False

    def __post_init__(self) -> None:
        check_fields(self, "topk.")

    @property
    def phrase(self) -> str:
        """What holds."""
        return f"keep the true label among the {self.k} best"

    @property
    def rank(self) -> int:
        """Which of the rivals must stay behind."""
        return self.k

    def severity(self, scores: Array, labels: Array) -> Array:
        """k-th best rival minus reference; a tie fails."""
        if self.k >= scores.shape[1]:
            raise InvalidArgument(
                f"topk.k must be less than the number of classes ({scores.shape[1]}), got "
                f"{self.k}: with that many every trial is kept"
            )
        return _rivals(scores, labels, self.k) - _own(scores, labels)


_CONFIDENCE = limit(
    lambda share: 0.5 <= share <= 1,
    "lie between 0.5 and 1",
    "below 0.5 a wrong class can reach it without winning",
)


@dataclass(frozen=True)
class NoConfidentMistake(_OfLabels):
    """No other label than the clean input's reaches the confidence `limit`."""

    limit: float = field(default=0.6, metadata=_CONFIDENCE)
    kind = "confident"
    reference = Reference.PREDICTED
    needs = Scores.PROBABILITIES
    provable = False

    def __post_init__(self) -> None:
        check_fields(self, "confident.")

    @property
    def phrase(self) -> str:
        """What holds."""
        other = "give no label other than that of the clean input"
        return f"{other} a confidence of {self.limit:g} or more"

    def margin(self, logits: Array, labels: Array, target: Array | None) -> tuple[Array, Array]:
        """How far the odds of the best wrong class, or of the target, are from those of the limit.

        In logarithms: confidences near 0 or 1 have no slope to follow.
        """
        xp = array_namespace(logits)
        classes = xp.arange(logits.shape[1], device=device(logits))[None, :]
        others = xp.where(classes == labels[:, None], -xp.inf, logits)
        rival = xp.argmax(others, axis=1) if target is None else target
        rest = xp.where(classes == rival[:, None], -xp.inf, logits)
        top = xp.max(rest, axis=1)
        shares = xp.exp(rest - top[:, None])
        total = xp.sum(shares, axis=1)
        slope = shares / total[:, None] - xp.astype(classes == rival[:, None], logits.dtype)
        limit = min(self.limit, 1 - 2.0**-24)  # float32 rounds higher confidences to 1
        odds = math.log(limit / (1 - limit))
        return odds + top + xp.log(total) - _own(logits, rival), slope

    def severity(self, scores: Array, labels: Array) -> Array:
        """Confidence of the best wrong class."""
        return _rivals(scores, labels, 1)


@dataclass(frozen=True)
class Confidence(Compared):
    """The model's confidence in the label of reference is above `least`."""

    least: float = field(default=0.5, metadata=SHARE)
    of: str = field(default="true", metadata=OF)
    kind = "confidence"
    needs: ClassVar[Scores | None] = Scores.PROBABILITIES

    @property
    def phrase(self) -> str:
        """What holds."""
        label = "true label" if self.of == "true" else "label of the clean input"
        return f"give the {label} a confidence above {self.least:g}"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return 1 - self.least

    def severity(self, scores: Array, labels: Array) -> Array:
        """1 minus the confidence in the label."""
        return 1 - _own(scores, labels)


def _own(scores: Array, labels: Array) -> Array:
    xp = array_namespace(scores)
    return xp.take_along_axis(scores, labels[:, None], axis=1)[:, 0]


def _rivals(scores: Array, labels: Array, rank: int) -> Array:
    """The rank-th best score among the other classes."""
    xp = array_namespace(scores)
    classes = xp.arange(scores.shape[1], device=device(scores))
    others = xp.where(classes[None, :] == labels[:, None], -xp.inf, scores)
    if rank == 1:
        return xp.max(others, axis=1)
    return xp.sort(others, axis=1)[:, -rank]


@dataclass(frozen=True)
class LabelsKept(Compared):
    """At least a `share` of the labels, by default all, keep their decision.

    A label is given where its score is at least `threshold`. The decisions of reference are those
    for the clean input, or with `of="true"` the targets in the data, 0 or 1 for each label.
    """

    threshold: float = field(default=0.5, metadata=FINITE)
    share: float = field(default=1.0, metadata=SHARE)
    of: str = field(default="predicted", metadata=OF)
    kind = "labels"
    needs: ClassVar[Scores | None] = Scores.VALUES

    @property
    def phrase(self) -> str:
        """What holds."""
        part = f"at least {100 * self.share:g} % of the labels"
        some = "every label" if self.share == 1 else part
        truth = "get the true decision" if self.of == "true" else f"keep the decision of {CLEAN}"
        return f"{truth} about {some} (given at {self.threshold:g} or more)"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return 0.0 if self.share == 1 else all_but(self.share)

    def references(
        self, outputs: HostArray, targets: Sequence[Item], names: Sequence[str]
    ) -> NDArray[np.uint8]:
        """1 for each label that is given, else 0."""
        if not targets:
            return self._given(outputs).astype(np.uint8)
        rows = target_arrays(targets, outputs.shape[1:], names)
        for row, name in zip(rows, names, strict=True):
            other = row[~np.isin(row, (0, 1))]
            if other.size:
                raise InvalidArgument(
                    f"the target of input {name} holds {other[0]:g}: give 0 or 1 for each label"
                )
        return rows.astype(np.uint8)

    def severity(self, outputs: Array, references: Array) -> Array:
        """How far the worst label is beyond the threshold, or the share that does not keep it."""
        xp = array_namespace(outputs)
        above = rows_of(outputs) - threshold_in(outputs, self.threshold)
        given = rows_of(references) == 1
        if self.share < 1:
            kept = xp.astype((above >= 0) == given, xp.float64)
            return 1 - xp.mean(kept, axis=1)
        lost = xp.where(above == 0, -xp.finfo(xp.float64).smallest_normal, -above)
        return xp.max(xp.where(given, lost, above), axis=1)

    def words(self, output: Item) -> str:
        """The labels that are given."""
        given = np.flatnonzero(self._given(np.asarray(on_host(output)))).tolist()
        return f"labels {few_words(given)}" if given else "no label"

    def _given(self, scores: HostArray) -> NDArray[np.bool_]:
        given: NDArray[np.bool_] = scores.astype(np.float64) >= threshold_in(scores, self.threshold)
        return given
