"""Effects of digital storage: coarse pixels and compression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import clip, clip_in_place
from surefoot.perturb._ops.box_pixelate import cell_matrices, pixelate
from surefoot.perturb._ops.definition import NOTHING, Draw, Levels, Presets, perturbation
from surefoot.perturb._ops.levels import level_per_row, levels_on_host, restore_level_zero
from surefoot.perturb._ops.scaling import from_unit_range, to_unit_range
from surefoot.subject.protocols import Array, Level, View, to_host

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[int, int, int, int]
_FADED_IN = 0.01
"""The level from which on the image is the decoded one: quality 99."""

_CODE_BYTES = 65_536
"""Bytes of code that an encoder writes at once, as in Pillow's `tobytes`."""


@perturbation
class Pixelate:
    """The image is scaled down to 1 - level of its pixels along each edge and up again.

    Hendrycks & Dietterich 2019, `pixelate`: Pillow's BOX filter down and up, so that each pixel
    shows the mean of its cell. The number of cells along an edge is the whole part of
    (1 - level) · pixels, so the level acts in steps. Only the first step, up to a tenth of a
    pixel, is faded in, so that little changes near level 0. Values are not rounded to 8 bits, as
    they would be in a file. Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "pixelate"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the pixels along an edge")
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "pixelation: a share of {level} fewer pixels along each edge"
    presets: ClassVar[Presets] = {
        "small": tuple(1 - c for c in (0.95, 0.9, 0.85, 0.75, 0.65)),
        "large": tuple(1 - c for c in (0.6, 0.5, 0.4, 0.3, 0.25)),
    }

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
        coarse = xp.matmul(xp.matmul(down, x), xp.matrix_transpose(across))
        return clip(coarse, bounds)


@perturbation
class JPEG:
    """Encoded as JPEG of quality 100 · (1 - level) and decoded again.

    Hendrycks & Dietterich 2019, `jpeg_compression`: Pillow's encoder with its default settings,
    which halve the resolution of colours; values are first rounded to 8 bits. The quality is the
    nearest whole number from 1 to 99. Quality 100 would lose colours too, so levels below 0.01
    mix the image with its copy of quality 99 instead, and level 0 is no compression at all. Works
    image by image in main memory, wherever the arrays are. Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "jpeg"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(0.99, "1 - quality / 100")
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "JPEG compression of quality 100 · (1 - {level})"
    presets: ClassVar[Presets] = {
        "small": tuple(1 - q / 100 for q in (80, 65, 58, 50, 40)),
        "large": tuple(1 - q / 100 for q in (25, 18, 15, 10, 7)),
    }

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Encode and decode each image."""
        whole = _to_uint8(to_host(to_unit_range(x, bounds)))
        if isinstance(level, int | float):
            each = [level] * len(x)
        else:
            each = to_host(level).tolist()
            whole = np.broadcast_to(whole, (len(each), *whole.shape[1:]))
        stored = _encode_and_decode_all(whole, [_quality(one) for one in each])
        back = array_namespace(x).asarray(stored, device=x.device)
        if bounds != UNIT:
            back = from_unit_range(back, bounds)
        if min(each) < _FADED_IN:
            back = _fade_in(back, x, level, bounds)
        return back


def _fade_in(stored: Array, x: Array, level: Level, bounds: Interval | None) -> Array:
    """A mix of the image and the decoded one below level 0.01; from there on the decoded one."""
    share: Any = level_per_row(level, x) / _FADED_IN
    mixed = restore_level_zero(clip_in_place(x + (stored - x) * share, bounds), x, level)
    if isinstance(level, int | float):
        return mixed
    return array_namespace(x).where(share < 1, mixed, stored)


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


def _to_uint8(x: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Values clipped to [0, 1], as the nearest whole numbers from 0 to 255."""
    whole = np.clip(x, 0, 1)
    whole *= 255
    return np.rint(whole, out=whole).astype(np.uint8)


def _quality(level: float) -> int:
    return min(max(round(100 * (1 - level)), 1), 99)


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
