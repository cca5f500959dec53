"""Images of files and datasets as one array: of one size, and all grey or all in colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, refusing
from surefoot.subject.pixels import LazyRows, bytes_held
from surefoot.subject.protocols import HostArray
from surefoot.system.memory_limits import refuse_too_large

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # none that starts a program
MOST_BYTES = 16 * 2**30
"""Bytes of all inputs: more would not fit into the memory of most machines."""
Size = tuple[int, int] | None
Shape = Sequence[int | None] | None
"""Of one input of the model; None for a length that it leaves open."""


@dataclass(frozen=True)
class ImageSource:
    """One image: its name, and how it is opened."""

    name: str
    open: Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, eq=False)
class Stacked:
    """Images or sounds as one array, and what was done to them."""

    values: HostArray | LazyRows
    reading: str


@dataclass(frozen=True)
class _Header:
    size: tuple[int, int]
    grey: bool


def image_files(files: Sequence[Path]) -> list[ImageSource]:
    """Files as images."""
    from PIL import Image

    return [ImageSource(str(f), partial(Image.open, f, formats=_FORMATS)) for f in files]


def images_in_memory(images: Sequence[Any], source: str) -> list[ImageSource]:
    """Images of Pillow, named by their place."""
    return [
        ImageSource(f"{source}, index {i}", partial(nullcontext, image))
        for i, image in enumerate(images)
    ]


def stack_images(images: Sequence[ImageSource], source: str, size: Size, shape: Shape) -> Stacked:
    """All images as one array (n, height, width) or (n, height, width, 3).

    `size` is (height, width); without it the size is that of the model's `shape`, or the one that
    all images have. Images of another size are resized, bilinearly and without keeping their
    proportions. Where the model takes one channel, images in colour are turned grey; where it
    takes three, or some images have colour, grey ones are repeated in three channels.
    """
    if size is not None and min(size) < 1:
        raise InvalidArgument(f"size must be (height, width) in pixels, both ≥ 1, got {size}")
    headers = [read_opened(image, _header) for image in images]
    of_model = frame_of(shape)
    target = size or of_model.size or _common_size(images, headers)
    grey = all(h.grey for h in headers) if of_model.channels is None else of_model.channels == 1
    values = math.prod(target) * (1 if grey else 3)
    lengths = () if shape is None else tuple(shape)
    of_shape = math.prod(n for n in lengths if n is not None)
    if size is not None and of_model.size is not None and of_shape != values:
        raise InvalidArgument(
            f"the model takes inputs of shape {lengths}, and --size {size[0]}x{size[1]} makes "
            "images of another size: leave it out (size=), or give the size of the model"
        )
    whole, way_out = len(images) * values, "give a part of it, or a smaller --size (size=)"
    if whole > MOST_BYTES:
        raise InvalidArgument(
            f"{source} unpacks to {whole / 2**30:.0f} GiB, more than {MOST_BYTES // 2**30}: "
            f"{way_out}"
        )
    refuse_too_large(source, bytes_held(whole), way_out)

    row_shape = (*target, *(() if grey else (3,)))

    def read(places: NDArray[np.intp]) -> NDArray[np.uint8]:
        rows = np.empty((len(places), *row_shape), dtype=np.uint8)
        for row, place in zip(rows, places.tolist(), strict=True):
            row[...] = read_opened(images[place], lambda opened: _values(opened, target, grey))
        return rows

    rows = LazyRows((len(images), *row_shape), read)
    return Stacked(rows, _reading(headers, target, grey))


@dataclass(frozen=True)
class ImageFrame:
    """What a model says of its images: (height, width) and channels, as far as it does."""

    size: Size = None
    channels: int | None = None


def frame_of(shape: Shape) -> ImageFrame:
    """The images that a model of this input shape takes; nothing where it takes no images."""
    lengths = () if shape is None else tuple(shape)
    channels: int | None = 1
    if len(lengths) == 3 and lengths[0] in (1, 3):
        channels, lengths = lengths[0], lengths[1:]
    elif len(lengths) == 3 and lengths[2] in (1, 3):
        channels, lengths = lengths[2], lengths[:2]
    if len(lengths) != 2:
        return ImageFrame()
    height, width = lengths
    return ImageFrame(None if height is None or width is None else (height, width), channels)


def read_opened(image: ImageSource, get: Callable[[Any], Any]) -> Any:  # noqa: ANN401  an image of Pillow
    """What `get` makes of an image; one that cannot be read is refused."""
    from PIL import Image

    what, way_out = f"{image.name} cannot be read as an image", "save it again, or leave it out"
    errors = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)
    with refusing(what, way_out, *errors), image.open() as opened:
        return get(opened)


def _header(opened: Any) -> _Header:  # noqa: ANN401  an image of Pillow
    if opened.mode.startswith(("I", "F")):
        raise ValueError(
            f"it has more than 8 bits a pixel, {opened.mode}, which would be cut off: save it with "
            "8 bits, or give the values as .npz"
        )
    return _Header((opened.height, opened.width), opened.mode in ("1", "L"))


def _values(opened: Any, target: tuple[int, int], grey: bool) -> NDArray[np.uint8]:  # noqa: ANN401  an image of Pillow
    from PIL import Image

    plain = opened.convert("L" if opened.mode in ("1", "L") else "RGB")
    if grey and plain.mode != "L":
        plain = plain.convert("L")
    if (plain.height, plain.width) != target:
        plain = plain.resize((target[1], target[0]), Image.Resampling.BILINEAR)
    values = np.asarray(plain, dtype=np.uint8)
    return values if grey or values.ndim == 3 else values[:, :, None]


def _common_size(images: Sequence[ImageSource], headers: Sequence[_Header]) -> tuple[int, int]:
    first = headers[0].size
    other = next((i for i, header in enumerate(headers) if header.size != first), None)
    if other is not None:
        raise InvalidArgument(
            f"{images[other].name} is {headers[other].size} but {images[0].name} is {first}: all "
            "images need one size, which this model does not say: pass --size HEIGHTxWIDTH "
            "(size=(height, width))"
        )
    return first


def _reading(headers: Sequence[_Header], target: tuple[int, int], grey: bool) -> str:
    n, words = len(headers), []
    resized = sum(header.size != target for header in headers)
    if resized:
        words.append(
            f"{resized} of {n} images resized to {target[0]} × {target[1]} pixels (bilinear, "
            "proportions not kept)"
        )
    other = sum(header.grey != grey for header in headers)
    if other:
        turned = "images in colour turned grey" if grey else "grey images repeated in 3 channels"
        words.append(f"{other} of {n} {turned}")
    return "; ".join(words)
