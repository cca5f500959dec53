"""Properties of class scores: which label wins, and how confidently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import Array, Reference, Scores


@dataclass(frozen=True)
class SameLabel:
    """The label the model gives the clean input still wins."""

    kind: ClassVar[str] = "same"
    phrase: ClassVar[str] = "keep the label the model gives the clean input (a tie fails)"
    limit: ClassVar[float] = 0.0
    reference: ClassVar[Reference] = Reference.PREDICTED
    needs: ClassVar[Scores | None] = None
    provable: ClassVar[bool] = True

    def severity(self, scores: Array, labels: Array) -> Array:
        """Best rival minus reference; a tie fails."""
        return _lead_of_rivals(scores, labels)


@dataclass(frozen=True)
class TrueLabel:
    """The label in the data wins."""

    kind: ClassVar[str] = "true"
    phrase: ClassVar[str] = "get the true label (a tie fails)"
    limit: ClassVar[float] = 0.0
    reference: ClassVar[Reference] = Reference.TRUE
    needs: ClassVar[Scores | None] = None
    provable: ClassVar[bool] = True

    def severity(self, scores: Array, labels: Array) -> Array:
        """Best rival minus reference; a tie fails."""
        return _lead_of_rivals(scores, labels)


@dataclass(frozen=True)
class GivenLabel:
    """The model gives the label: a tie is for the first class, as proofs read it."""

    kind: ClassVar[str] = "label"
    phrase: ClassVar[str] = "get this label"
    limit: ClassVar[float] = 0.5
    reference: ClassVar[Reference] = Reference.PREDICTED
    needs: ClassVar[Scores | None] = None
    provable: ClassVar[bool] = True

    def severity(self, scores: Array, labels: Array) -> Array:
        """1 where another label is given."""
        xp = array_namespace(scores)
        return xp.astype(xp.argmax(scores, axis=1) != labels, scores.dtype)


@dataclass(frozen=True)
class TopK:
    """The label in the data is among the k best."""

    k: int = 5
    kind: ClassVar[str] = "topk"
    limit: ClassVar[float] = 0.0
    reference: ClassVar[Reference] = Reference.TRUE
    needs: ClassVar[Scores | None] = None
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or self.k < 1:
            raise InvalidArgument(f"topk.k must be an integer ≥ 1, got {self.k}")

    @property
    def phrase(self) -> str:
        """What holds."""
        return f"keep the true label among the {self.k} best"

    def severity(self, scores: Array, labels: Array) -> Array:
        """k-th best rival minus reference; a tie fails."""
        if self.k >= scores.shape[1]:
            raise InvalidArgument(
                f"topk.k must be less than the number of classes ({scores.shape[1]}), got "
                f"{self.k}: with that many every trial is kept"
            )
        return _rivals(scores, labels, self.k) - _own(scores, labels)


@dataclass(frozen=True)
class NoConfidentMistake:
    """No other label than the clean input's reaches the confidence `limit`."""

    limit: float = 0.6
    kind: ClassVar[str] = "confident"
    reference: ClassVar[Reference] = Reference.PREDICTED
    needs: ClassVar[Scores | None] = Scores.PROBABILITIES
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.5 <= self.limit <= 1:
            raise InvalidArgument(
                f"confident.limit must lie between 0.5 and 1, got {self.limit}: below 0.5 a "
                "wrong class can reach it without winning"
            )

    @property
    def phrase(self) -> str:
        """What holds."""
        return (
            "give no label other than that of the clean input a confidence of "
            f"{self.limit:g} or more"
        )

    def severity(self, scores: Array, labels: Array) -> Array:
        """Confidence of the best wrong class."""
        return _rivals(scores, labels, 1)


@dataclass(frozen=True)
class Confidence:
    """The model's confidence in the label of reference is above `least`."""

    least: float = 0.5
    of: str = "true"
    kind: ClassVar[str] = "confidence"
    needs: ClassVar[Scores | None] = Scores.PROBABILITIES
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.least <= 1:
            raise InvalidArgument(
                f"confidence.least must lie above 0 and at most 1, got {self.least}"
            )
        if self.of not in tuple(Reference):
            raise InvalidArgument(
                f"confidence.of must be {' or '.join(Reference)}, got {self.of!r}"
            )

    @property
    def phrase(self) -> str:
        """What holds."""
        label = "true label" if self.of == "true" else "label of the clean input"
        return f"give the {label} a confidence above {self.least:g}"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return 1 - self.least

    @property
    def reference(self) -> Reference:
        """Which label it is about."""
        return Reference(self.of)

    def severity(self, scores: Array, labels: Array) -> Array:
        """1 minus the confidence in the label."""
        return 1 - _own(scores, labels)


def _lead_of_rivals(scores: Array, labels: Array) -> Array:
    """The best score among the other classes minus that of the label.

    NumPy compares rows of many numbers faster than many rows of few: classes come first there.
    """
    if not isinstance(scores, np.ndarray) or not np.issubdtype(scores.dtype, np.floating):
        return _rivals(scores, labels, 1) - _own(scores, labels)
    by_class, rows = np.array(scores.T), np.arange(len(scores))
    own = by_class[labels, rows]
    by_class[labels, rows] = -np.inf
    return by_class.max(axis=0) - own


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
