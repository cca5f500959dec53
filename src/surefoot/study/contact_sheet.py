"""A contact sheet: one image under a perturbation, levels across, samples down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import UNIT
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import Perturbation, View
from surefoot.system.text import level_words

if TYPE_CHECKING:
    from PIL.Image import Image

_GAP = 6
"""Pixels between the images."""
_MOST_SIDE = 512
"""Pixels of the longer side of an image on the sheet: six of them are wider than any screen."""


def samples(
    image: NDArray[np.float32],
    perturbation: Perturbation,
    levels: Sequence[float],
    n: int,
    seed: int,
) -> Iterator[NDArray[np.float32]]:
    """Level by level one sample after the other, of the same n draws at every level."""
    if perturbation.view is View.SERIES:
        raise InvalidArgument(
            f"{perturbation.kind} is for signals: it cannot be shown on an image"
            "; choose one for images (`surefoot perturb --list`)"
        )
    x = image[None].astype(np.float32)
    source = stream(seed, "sheet", perturbation.kind, 0, x)
    drawn = perturbation.draw(source, n, x.shape[1:])
    for level in levels:
        for j in range(n):
            yield perturbation.apply(x, draw_rows(drawn, j, j + 1), level, UNIT)[0]


def sheet(
    image: NDArray[np.float32],
    perturbation: Perturbation,
    levels: Sequence[float],
    n: int = 4,
    seed: int = 1,
    height: int = 112,
) -> Image:
    """The sheet: every image about `height` pixels high, and each level above its column.

    Larger images keep their size, up to 512 pixels on a side.
    """
    from PIL import Image, ImageDraw, ImageFont

    perturbed = samples(image, perturbation, levels, n, seed)
    scale: float = max(1, round(height / image.shape[1]))
    if max(image.shape[1:]) > _MOST_SIDE:
        scale = _MOST_SIDE / max(image.shape[1:])
    high, wide = (max(1, round(side * scale)) for side in image.shape[1:])
    way = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    letters = max(12, wide // 9)
    head = letters + 2 * _GAP
    size = (len(levels) * (wide + _GAP) + _GAP, head + n * (high + _GAP))
    canvas = Image.new("RGB", size, "white")
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(letters)
    for i, level in enumerate(levels):
        left = _GAP + i * (wide + _GAP)
        words = level_words(level)
        short = words if len(words) < 7 else f"{level:.3g}"
        pen.text((left, _GAP // 2), short, fill="black", font=font)
        for j in range(n):
            tile = _tile(next(perturbed)).resize((wide, high), way)
            canvas.paste(tile, (left, head + j * (high + _GAP)))
    return canvas


def _tile(image: NDArray[np.float32]) -> Any:  # noqa: ANN401  an image of Pillow
    from PIL import Image

    pixels = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    layers = pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)
    return Image.fromarray(layers).convert("RGB")
