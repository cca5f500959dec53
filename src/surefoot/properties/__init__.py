"""When an output counts as kept."""

from surefoot.properties.boxes_kept import BoxesKept
from surefoot.properties.closeness import Close
from surefoot.properties.kept import Kept
from surefoot.properties.labels import (
    Confidence,
    GivenLabel,
    NoConfidentMistake,
    SameLabel,
    TopK,
    TrueLabel,
)
from surefoot.properties.labels_kept import LabelsKept
from surefoot.properties.masks import MaskIoU, PixelsKept

__all__ = [
    "BoxesKept",
    "Close",
    "Confidence",
    "GivenLabel",
    "Kept",
    "LabelsKept",
    "MaskIoU",
    "NoConfidentMistake",
    "PixelsKept",
    "SameLabel",
    "TopK",
    "TrueLabel",
]
