"""When an output counts as kept."""

from surefoot.properties.detection import BoxesKept, MaskIoU, PixelsKept
from surefoot.properties.outputs import (
    Close,
    Confidence,
    GivenLabel,
    Kept,
    LabelsKept,
    NoConfidentMistake,
    SameLabel,
    TopK,
    TrueLabel,
)

OF_CLASSES = (SameLabel, TrueLabel, TopK, NoConfidentMistake, Confidence)
"""Of class scores, for the registry of names."""
OF_OUTPUTS = (Close, PixelsKept, MaskIoU, BoxesKept, LabelsKept)
"""Of values and objects."""

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
