"""Segmentation: pixels keep their class, or masks overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.properties.outputs import (
    CLEAN,
    Compared,
    all_but,
    check_share,
    target_arrays,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, HostArray, Item, Scores

_MOST_CLASSES = 3
"""Classes of a mask that are written out, the largest first."""


class _OfMasks(Compared):
    """What properties of masks share; pixels of class `ignore` do not count."""

    ignore: int | None
    needs: ClassVar[Scores | None] = Scores.VALUES

    def references(
        self, outputs: HostArray, targets: Sequence[Item], names: Sequence[str]
    ) -> HostArray:
        """One mask for each input."""
        masks = _masks(outputs)
        if targets:
            masks = target_arrays(targets, masks.shape[1:], names)
        if self.ignore is not None:
            empty = (masks == self.ignore).reshape(len(masks), -1).all(axis=1)
            if empty.any():
                raise InvalidArgument(
                    f"input {names[int(np.argmax(empty))]} has no pixel but of class "
                    f"{self.ignore}, which is ignored: leave the input out"
                )
        whole: HostArray = masks.astype(np.int64)
        odd = (whole != masks).reshape(len(masks), -1).any(axis=1)
        if odd.any():
            raise InvalidArgument(
                f"the mask of input {names[int(np.argmax(odd))]} holds a fraction: give a class "
                "number for each pixel"
            )
        few = whole.min() >= 0 and whole.max() <= np.iinfo(np.uint8).max
        return whole.astype(np.uint8) if few else whole

    def words(self, output: Item) -> str:
        """The largest classes, by their share of the pixels."""
        mask = self.mask_to_draw(output)
        labels, counts = np.unique(mask, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        parts = [f"class {labels[i]} {100 * counts[i] / mask.size:.3g} %" for i in order]
        return ", ".join(parts) + (", …" if len(labels) > _MOST_CLASSES else "")

    def mask_to_draw(self, output: Item) -> NDArray[np.int64]:
        """The class of each pixel."""
        values = np.asarray(on_host(output))
        mask: HostArray = values.argmax(axis=0) if values.ndim == 3 else values
        return mask.astype(np.int64)


@dataclass(frozen=True)
class PixelsKept(_OfMasks):
    """At least this share of the pixels keep their class.

    The reference is the mask of the clean input, or with `of="true"` the target in the data; there
    pixels of class `ignore` do not count.
    """

    share: float = 0.95
    of: str = "predicted"
    ignore: int | None = None
    kind = "pixels"

    def __post_init__(self) -> None:
        check_share("pixels.share", self.share)
        self.check_reference()

    @property
    def phrase(self) -> str:
        """What holds."""
        truth = "get the true class" if self.of == "true" else f"keep the class of {CLEAN}"
        return f"{truth} in at least {100 * self.share:g} % of the pixels"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return all_but(self.share)

    def severity(self, outputs: Array, references: Array) -> Array:
        """The share of the pixels that have another class."""
        xp = array_namespace(outputs)
        counted, masks = _counted(references, self.ignore), _masks(outputs)
        kept = _number((masks == references) & counted)
        return 1 - kept / xp.astype(_number(counted), xp.float64)


@dataclass(frozen=True)
class MaskIoU(_OfMasks):
    """The mask overlaps the one of reference with an intersection over union of at least `least`.

    The mean over the classes that are in either mask; with `label` that class alone, which counts
    as kept where neither mask has it. References as in `PixelsKept`.
    """

    least: float = 0.8
    label: int | None = None
    of: str = "predicted"
    ignore: int | None = None
    kind = "iou"

    def __post_init__(self) -> None:
        check_share("iou.least", self.least)
        self.check_reference()

    @property
    def phrase(self) -> str:
        """What holds."""
        mean = "a mean IoU" if self.label is None else f"an IoU of class {self.label}"
        truth = "the true mask" if self.of == "true" else f"the mask of {CLEAN}"
        return f"get a mask with {mean} of at least {self.least:g} with {truth}"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return all_but(self.least)

    def severity(self, outputs: Array, references: Array) -> Array:
        """1 minus the intersection over union."""
        xp = array_namespace(outputs)
        counted, masks = _counted(references, self.ignore), _masks(outputs)
        there = [int(c) for m in (masks, references) for c in array_namespace(m).unique_values(m)]
        classes = {*there} if self.label is None else {self.label}
        total, present = 0.0, 0.0
        for label in sorted(classes):
            own, other = (masks == label) & counted, (references == label) & counted
            union = xp.astype(_number(own | other), xp.float64)
            total = total + _number(own & other) / xp.where(union > 0, union, 1.0)
            present = present + xp.astype(union > 0, xp.float64)
        any_class = present > 0
        return 1 - xp.where(any_class, total / xp.where(any_class, present, 1.0), 1.0)


def _masks(outputs: Array) -> Array:
    """(n, height, width) of classes, from those or from (n, classes, height, width) of scores."""
    xp = array_namespace(outputs)
    if outputs.ndim == 4 and outputs.shape[1] > 1:
        return xp.argmax(outputs, axis=1)
    if outputs.ndim != 3:
        raise ModelFailed(
            f"the output has shape {tuple(outputs.shape)}: a segmentation gives scores (n, classes "
            "≥ 2, height, width) or class numbers (n, height, width); let the model return one of "
            "them"
        )
    whole = xp.isdtype(outputs.dtype, "integral") or bool(xp.all(outputs == xp.floor(outputs)))
    if not whole or bool(xp.any(outputs < 0)):
        raise ModelFailed(
            "an output (n, height, width) holds class numbers, and these are not whole or below "
            "0: give scores with an axis of classes, (n, classes, height, width)"
        )
    return outputs


def _counted(references: Array, ignore: int | None) -> Array:
    """Which pixels count."""
    xp = array_namespace(references)
    return xp.ones_like(references, dtype=xp.bool) if ignore is None else references != ignore


def _number(pixels: Array) -> Array:
    """How many pixels of each mask are true."""
    xp = array_namespace(pixels)
    return xp.sum(xp.reshape(xp.astype(pixels, xp.int64), (pixels.shape[0], -1)), axis=1)
