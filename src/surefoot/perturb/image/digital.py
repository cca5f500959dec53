"""Images scaled down to fewer pixels and up again, both as with Pillow's BOX filter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import iadd
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import (
    PerRow,
    clip,
    clip_in_place,
    from_unit_range,
    level_per_row,
    levels_on_host,
    restore_level_zero,
    to_unit_range,
)
from surefoot.perturb._ops.definition import (
    Levels,
    OfImages,
    perturbation,
    published,
)
from surefoot.subject.protocols import Array, HostArray, Level, to_host

if TYPE_CHECKING:
    from PIL.Image import Image


_FADE_IN = 0.1
"""Pixels over which the loss of the first pixel is faded in."""
_SLACK = 1e-4
"""Pixels added before rounding down: 1 - 0.9 is computed slightly below 0.1."""


@dataclass(frozen=True)
class CellCount:
    """A number of cells along an axis, and the weight of the image with so many cells."""

    cells: int
    weight: float


def cell_counts(length: int, share: float) -> tuple[CellCount, ...]:
    """The whole part of share · length; within the last tenth of a pixel a mix with the length."""
    exact = min(max(share * length + _SLACK, 1.0), float(length))
    whole = (exact - length) / _FADE_IN + 1
    if whole <= 0:
        return (CellCount(int(exact), 1.0),)
    if whole >= 1:
        return (CellCount(length, 1.0),)
    return (CellCount(length - 1, 1 - whole), CellCount(length, whole))


@dataclass(frozen=True, eq=False)
class Cells:
    """The first pixel of each cell, how many pixels it has, and the cell that each pixel shows."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    of_pixel: NDArray[np.int64]


@lru_cache(maxsize=256)
def cells_along(length: int, cells: int) -> Cells:
    """The cells of an axis."""
    first, stop = _pixels_of_cell(np.arange(cells), length / cells)
    return Cells(first, stop - first, _cell_of_pixel(np.arange(length), cells / length))


def _pixels_of_cell(cell: HostArray, scale: PerRow) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first pixel of a cell and the one after its last; a pixel belongs where its middle is.

    In the order of Pillow's computation, which decides where a middle lies on an edge.
    """
    centre = (cell + 0.5) * scale
    support = 0.5 * scale
    first = np.floor(centre - support + 0.5)
    stop = np.floor(centre + support + 0.5)
    first += (first - centre + 0.5) * (1 / scale) <= -0.5
    stop -= (stop - 1 - centre + 0.5) * (1 / scale) > 0.5
    return first.astype(np.int64), stop.astype(np.int64)


def _cell_of_pixel(pixel: HostArray, scale: PerRow) -> NDArray[np.int64]:
    """The cell that a pixel shows: where its middle lies."""
    cell: NDArray[np.int64] = np.floor((pixel + 0.5) * scale).astype(np.int64)
    return cell


def pixelate(x: Array, share: float, bounds: Interval | None) -> Array:
    """Images scaled down to this share of their pixels along each edge, and up again."""
    (rows, *mixed_rows), (columns, *mixed_columns) = (cell_counts(n, share) for n in x.shape[2:])
    if mixed_rows or mixed_columns:
        return clip(_mixed(x, share), bounds)
    tall, wide = cells_along(x.shape[2], rows.cells), cells_along(x.shape[3], columns.cells)
    low = clip(_cell_means(_cell_means(x, tall, axis=2), wide, axis=3), bounds)
    return _take(_widened(low, wide), tall.of_pixel, axis=2)


def _widened(x: Array, cells: Cells) -> Array:
    """Each cell along the last axis as often as it has pixels."""
    count = int(cells.counts.max())
    equal = count == cells.counts.min() and count * len(cells.counts) == len(cells.of_pixel)
    if not (equal and isinstance(x, np.ndarray)):
        return _take(x, cells.of_pixel, axis=3)
    whole = np.empty((*x.shape[:3], len(cells.of_pixel)), x.dtype)
    for k in range(count):
        whole[..., k::count] = x
    return whole


def _mixed(x: Array, share: float, axis: int = 2) -> Array:
    """Where the loss of the first pixel is faded in: along this axis and those after it."""
    if axis == x.ndim:
        return x
    parts = []
    for count in cell_counts(x.shape[axis], share):
        cells = cells_along(x.shape[axis], count.cells)
        low = _mixed(_cell_means(x, cells, axis), share, axis + 1)
        part = _take(low, cells.of_pixel, axis)
        if count.weight != 1:
            part *= count.weight
        parts.append(part)
    return reduce(iadd, parts)


def _cell_means(x: Array, cells: Cells, axis: int) -> Array:
    """The mean of each cell; pixels that only some cells have get weight 0 in the others."""
    fewest, most = int(cells.counts.min()), int(cells.counts.max())
    if 1 < fewest == most and most * len(cells.starts) == x.shape[axis]:
        # All cells have the same number of pixels: slices are faster than indices.
        parts = [x[:, :, k::most] if axis == 2 else x[:, :, :, k::most] for k in range(most)]
        total = reduce(iadd, parts[2:], parts[0] + parts[1])
        total *= float(np.float32(1 / most))
        return total
    total = _take(x, cells.starts, axis)
    for step in range(1, fewest):
        total += _take(x, cells.starts + step, axis)
    for step in range(fewest, most):
        more = _take(x, np.minimum(cells.starts + step, x.shape[axis] - 1), axis)
        more *= _broadcast_along((cells.counts > step).astype(np.float32), x, axis)
        total += more
    if most > 1:
        total *= _broadcast_along((1 / cells.counts).astype(np.float32), x, axis)
    return total


def _take(x: Array, indices: NDArray[np.int64], axis: int) -> Array:
    """These indices of an axis. Along the last one Torch is faster with `gather` than `take`."""
    xp = array_namespace(x)
    chosen = xp.asarray(indices, device=x.device)
    if axis == 3 and not isinstance(x, np.ndarray):
        return x.gather(3, chosen.expand(*x.shape[:3], len(indices)))
    return xp.take(x, chosen, axis=axis)


def _broadcast_along(values: NDArray[np.float32], x: Array, axis: int) -> Array:
    """One number for each index of this axis, shaped to multiply images."""
    xp = array_namespace(x)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    return xp.reshape(xp.asarray(values, device=x.device), tuple(shape))


def cell_matrices(length: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """(n, length, length): for each share the matrix that pixelates along one axis."""
    exact = np.clip(shares * length + _SLACK, 1, length)
    whole = np.clip((exact - length) / _FADE_IN + 1, 0, 1)[:, None, None]
    fewer = np.minimum(np.floor(exact).astype(np.int64), max(length - 1, 1))
    pixels = np.arange(length)
    cell = _cell_of_pixel(pixels, (fewer / length)[:, None])
    first, stop = _pixels_of_cell(cell, (length / fewer)[:, None])
    inside = (pixels >= first[:, :, None]) & (pixels < stop[:, :, None])
    of_cells = np.where(inside, 1 / (stop - first)[:, :, None], 0.0)
    mixed = (1 - whole) * of_cells + whole * np.eye(length)
    return mixed.astype(np.float32)


Box = tuple[int, int, int, int]
_FADED_IN = 0.01
"""The level from which on the image is the decoded one: quality 99."""

_CODE_BYTES = 65_536
"""Bytes of code that an encoder writes at once, as in Pillow's `tobytes`."""


@perturbation
class Pixelate(OfImages):
    """The image is scaled down to 1 - level of its pixels along each edge and up again.

    Hendrycks & Dietterich 2019, `pixelate`: Pillow's BOX filter down and up, so that each pixel
    shows the mean of its cell. The number of cells along an edge is the whole part of
    (1 - level) · pixels, so the level acts in steps. Only the first step, up to a tenth of a
    pixel, is faded in, so that little changes near level 0. Values are not rounded to 8 bits, as
    they would be in a file. Not random.
    """

    kind = "pixelate"
    levels = Levels(1.0, "share of the pixels along an edge")
    phrase = "pixelation: a share of {level} fewer pixels along each edge"
    presets = published((0.95, 0.9, 0.85, 0.75, 0.65), (0.6, 0.5, 0.4, 0.3, 0.25), lambda c: 1 - c)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Every pixel becomes the mean of its cell."""
        if isinstance(level, int | float):
            return pixelate(x, 1 - level, bounds)
        xp = array_namespace(x)
        share = 1 - levels_on_host(level)
        down, across = (
            xp.asarray(cell_matrices(length, share), device=x.device)[:, None, :, :]
            for length in x.shape[2:]
        )
        return clip(xp.matmul(xp.matmul(down, x), xp.matrix_transpose(across)), bounds)


@perturbation
class JPEG(OfImages):
    """Encoded as JPEG of quality 100 · (1 - level) and decoded again.

    Hendrycks & Dietterich 2019, `jpeg_compression`: Pillow's encoder with its default settings,
    which halve the resolution of colours; values are first rounded to 8 bits. The quality is the
    nearest whole number from 1 to 99. Quality 100 would lose colours too, so levels below 0.01
    mix the image with its copy of quality 99 instead, and level 0 is no compression at all. Works
    image by image in main memory, wherever the arrays are. Not random.
    """

    kind = "jpeg"
    levels = Levels(0.99, "1 - quality / 100")
    phrase = "JPEG compression of quality 100 · (1 - {level})"
    presets = published((80, 65, 58, 50, 40), (25, 18, 15, 10, 7), lambda q: 1 - q / 100)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Encode and decode each image."""
        shares = np.clip(to_host(to_unit_range(x, bounds)), 0, 1)
        shares *= 255
        whole = np.rint(shares, out=shares).astype(np.uint8)
        if isinstance(level, int | float):
            each = [level] * len(x)
        else:
            each = to_host(level).tolist()
            whole = np.broadcast_to(whole, (len(each), *whole.shape[1:]))
        qualities = [min(max(round(100 * (1 - one)), 1), 99) for one in each]
        stored = _encode_and_decode_all(whole, qualities)
        back = array_namespace(x).asarray(stored, device=x.device)
        if bounds != UNIT:
            back = from_unit_range(back, bounds)
        if min(each) >= _FADED_IN:
            return back
        share: PerRow = level_per_row(level, x) / _FADED_IN
        mixed = restore_level_zero(clip_in_place(x + (back - x) * share, bounds), x, level)
        if isinstance(level, int | float):
            return mixed
        return array_namespace(x).where(share < 1, mixed, back)


def _encode_and_decode_all(images: NDArray[np.uint8], qualities: list[int]) -> NDArray[np.float32]:
    """8-bit images (n, channels, height, width), encoded and decoded, as values in [0, 1].

    They enter and leave Pillow as one long strip, which is faster than one by one.
    """
    from PIL import Image

    n, channels, height, width = images.shape
    mode, order = ("L", "L") if channels == 1 else ("RGB", "RGB;L")
    lines, size = images.transpose(0, 2, 1, 3), (width, n * height)
    strip = Image.frombytes(mode, size, lines.tobytes(), "raw", order)
    for i, quality in enumerate(qualities):
        _encode_and_decode(strip, (0, i * height, width, (i + 1) * height), quality)
    whole = np.frombuffer(strip.tobytes("raw", order), dtype=np.uint8).reshape(lines.shape)
    shares_read: NDArray[np.float32] = whole.transpose(0, 2, 1, 3).astype(np.float32, order="C")
    shares_read /= 255
    return shares_read


def _encode_and_decode(strip: Image, box: Box, quality: int) -> None:
    """The part of the strip within the box is replaced by its decoded code, without a file."""
    from PIL import Image

    codecs = _codecs_within(strip, box, quality)
    if codecs is None:
        part, mode = strip.crop(box), strip.mode
        code = part.tobytes("jpeg", mode, quality)
        strip.paste(Image.frombytes(mode, part.size, code, "jpeg", mode, ""), box)
        return
    encoder, decoder = codecs
    code, status = b"", 0
    while not status:
        _, status, more = encoder.encode(max(_CODE_BYTES, 4 * strip.width))
        code += more
    rest, problem = decoder.decode(code)
    if status < 0 or rest >= 0 or problem:
        raise OSError(f"Pillow cannot encode and decode the image as JPEG of quality {quality}")


def _codecs_within(strip: Image, box: Box, quality: int) -> tuple[Any, Any] | None:
    """Pillow's encoder and decoder at work within the strip; None where it has no such way.

    These are what `tobytes` and `frombytes` call. Without a copy of the part and an image around it
    a small one takes two thirds of the time.
    """
    from PIL import Image

    mode = strip.mode
    try:
        encoder = Image._getencoder(mode, "jpeg", (mode, quality))
        decoder = Image._getdecoder(mode, "jpeg", (mode, ""))
        encoder.setimage(strip.im, box)
        decoder.setimage(strip.im, box)
    except (AttributeError, TypeError):
        return None
    return encoder, decoder
