"""A perturbation shown on an image or a text: which one, which levels, and the sheet of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.parse import own_text, parse_perturbation
from surefoot.core.results import UNIT
from surefoot.engine.devices import draw_rows
from surefoot.engine.input_check import refuse_unsuited
from surefoot.engine.sampling_bench import to_view
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs
from surefoot.inputs.images import image_files, read_opened
from surefoot.perturb._ops.arrays import level_of
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
    if perturbation.view in (View.SERIES, View.TEXT):
        of = "signals" if perturbation.view is View.SERIES else "texts"
        raise InvalidArgument(
            f"{perturbation.kind} is for {of}: it cannot be shown on an image"
            "; choose one for images (`surefoot perturb --list`)"
        )
    x = image[None].astype(np.float32)
    source = stream(seed, "sheet", perturbation.kind, 0, x)
    drawn = perturbation.draw(source, n, x.shape[1:])
    for level in levels:
        for j in range(n):
            yield perturbation.apply(x, draw_rows(drawn, j, j + 1), level, UNIT)[0]


def text_samples(
    path: str, perturbation: Perturbation, levels: Sequence[float], n: int, seed: int
) -> list[tuple[float, str]]:
    """The first text of a file at each level, of the same n draws; at level 0 once."""
    inputs = load_inputs(path).subset([0])
    refuse_unsuited(inputs, perturbation, None)
    x = inputs.x
    drawn = perturbation.draw(stream(seed, "sheet", perturbation.kind, 0, x), n, ())
    each = ((level, n if level else 1) for level in levels)
    return [
        (level, perturbation.apply(x, draw_rows(drawn, j, j + 1), level, None)[0])
        for level, rows in each
        for j in range(rows)
    ]


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
            pixels = np.clip(np.rint(next(perturbed) * 255), 0, 255).astype(np.uint8)
            layers = pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)
            tile = Image.fromarray(layers).convert("RGB").resize((wide, high), way)
            canvas.paste(tile, (left, head + j * (high + _GAP)))
    return canvas


_STEPS = 5
"""Levels above 0 on a sheet: as many as there are published severities."""


def contact_sheet(
    image: str | Path | NDArray[np.float32],
    perturbation: str | Perturbation,
    levels: Sequence[float] | None = None,
    samples: int = 4,
    seed: int = 1,
) -> Image:
    """One image under a perturbation, levels across, samples down; `save` it as a file.

    `image`: a file, or an array of channels × height × width from 0 to 1. `perturbation`: a value,
    or text such as "rotation:30"; text without a level, "fog", shows the published severities.
    """
    pixels = read_image(image) if isinstance(image, str | Path) else image
    chosen, columns = perturbation_and_levels(perturbation, pixels.shape[1:], levels)
    return sheet(pixels, chosen, columns, samples, seed)


def read_image(path: str | Path) -> NDArray[np.float32]:
    """An image file, or the first image of .npz or .npy, as channels × height × width in 0 to 1."""
    if Path(path).suffix.lower() in (".npz", ".npy"):
        inputs = load_inputs(str(path))
        if not inputs.frame:
            raise InvalidArgument(
                f"{path} holds no images but rows of shape {inputs.x.shape[1:]}: give an image file"
            )
        first: NDArray[np.float32] = to_view(inputs.x[:1], inputs, View.IMAGE)[0]
        if first.min() < 0 or first.max() > 1:
            raise InvalidArgument(
                f"{path} holds values from {first.min():g} to {first.max():g}: save images in "
                "0 to 1"
            )
        return np.ascontiguousarray(first)
    if not Path(path).is_file():  # opening a pipe would wait for ever
        raise InvalidArgument(f"there is no image file {path}: check the path")
    (image,) = image_files([Path(path)])
    pixels = read_opened(image, lambda opened: np.asarray(opened.convert("RGB"), dtype=np.float32))
    pixels = pixels / np.float32(255)
    return np.ascontiguousarray(np.moveaxis(pixels, -1, 0))


def perturbation_and_levels(
    perturbation: str | Perturbation, frame: tuple[int, ...], levels: Sequence[float] | None = None
) -> tuple[Perturbation, list[float]]:
    """The perturbation and the levels of the columns, 0 first where they are not given."""
    own = own_text(perturbation) if isinstance(perturbation, str) else None
    if own is not None and levels and not own.level:
        return parse_perturbation(own.at(repr(max(levels))), frame), list(levels)
    if isinstance(perturbation, str) and ":" not in perturbation:
        if levels:
            strongest = parse_perturbation(f"{perturbation}:{max(levels)!r}", frame)
            return strongest, list(levels)
        severities: list[Any] = [
            parse_perturbation(f"{perturbation}:s{i}", frame) for i in range(1, _STEPS + 1)
        ]
        return severities[-1], [0.0, *(one.level for one in severities)]
    chosen = (
        parse_perturbation(perturbation, frame) if isinstance(perturbation, str) else perturbation
    )
    if levels:
        return chosen, list(levels)
    return chosen, [level_of(chosen) * i / _STEPS for i in range(_STEPS + 1)]
