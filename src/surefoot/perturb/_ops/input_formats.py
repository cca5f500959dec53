"""The values in which a function of the user takes one input, and returns it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from surefoot.core.results import Interval
from surefoot.subject.protocols import to_host


class InputFormat(StrEnum):
    """In which values a function takes an input, and returns it."""

    MODEL = "model"
    """float32, as the model takes them."""
    UNIT = "unit"
    """float32 in [0, 1]."""
    BYTES = "bytes"
    """uint8 from 0 to 255: smaller differences are lost."""
    PILLOW = "pillow"
    """A Pillow image of 256 levels."""


def to_format(row: NDArray[np.float32], input_format: InputFormat, bounds: Interval) -> Any:  # noqa: ANN401  an image of a library
    """A copy of the row in this format."""
    if input_format is InputFormat.MODEL:
        return np.array(row, dtype=np.float32, order="C")
    unit = np.ascontiguousarray((row - np.float32(bounds.low)) / np.float32(bounds.width))
    if input_format is InputFormat.UNIT:
        return unit
    pixels = np.clip(np.round(unit * 255), 0, 255).astype(np.uint8)
    if input_format is InputFormat.BYTES:
        return pixels
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1))


def as_array(out: Any) -> Any:  # noqa: ANN401  an image of a library
    """What a function returned, as an array in main memory with channels first."""
    if isinstance(out, Image.Image):
        image = np.asarray(out)
        return image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)
    return to_host(out) if hasattr(out, "detach") else out


def from_format(
    result: NDArray[Any], input_format: InputFormat, bounds: Interval
) -> NDArray[np.float32]:
    """The values as the model takes them."""
    values = np.asarray(result).astype(np.float32)
    if input_format is InputFormat.MODEL:
        return values
    if input_format is not InputFormat.UNIT or result.dtype == np.uint8:
        values /= np.float32(255)
    values *= np.float32(bounds.width)
    values += np.float32(bounds.low)
    return values
