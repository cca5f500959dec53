"""Properties of labels: one class an input, or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.properties.outputs import (
    CLEAN,
    Compared,
    all_but,
    check_share,
    few_words,
    rows_of,
    target_arrays,
    threshold_in,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, HostArray, Item, Reference, Scores


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

    k: int = 5
    kind = "topk"
    limit = 0.0
    reference = Reference.TRUE
    provable = False

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or self.k < 1:
            raise InvalidArgument(f"topk.k must be an integer ≥ 1, got {self.k}")

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


@dataclass(frozen=True)
class NoConfidentMistake(_OfLabels):
    """No other label than the clean input's reaches the confidence `limit`."""

    limit: float = 0.6
    kind = "confident"
    reference = Reference.PREDICTED
    needs = Scores.PROBABILITIES
    provable = False

    def __post_init__(self) -> None:
        if not 0.5 <= self.limit <= 1:
            raise InvalidArgument(
                f"confident.limit must lie between 0.5 and 1, got {self.limit}: below 0.5 a "
                "wrong class can reach it without winning"
            )

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

    least: float = 0.5
    of: str = "true"
    kind = "confidence"
    needs: ClassVar[Scores | None] = Scores.PROBABILITIES

    def __post_init__(self) -> None:
        check_share("confidence.least", self.least)
        self.check_reference()

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

    threshold: float = 0.5
    share: float = 1.0
    of: str = "predicted"
    kind = "labels"
    needs: ClassVar[Scores | None] = Scores.VALUES

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InvalidArgument(f"labels.threshold must be finite, got {self.threshold}")
        check_share("labels.share", self.share)
        self.check_reference()

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
