"""What a page says of one output: the name of its class, or the property's words for it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.core.tasks import Task
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.inputs.arrays import channels_last
from surefoot.subject.protocols import Array, to_host

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

Box = Sequence[float]
"""x and y of a corner, then of the opposite one, in pixels."""
MOST_SIDE = 1024
"""Pixels of the longer side of an image on a page: a screen shows no more of one among several."""
_BOX_COLOUR = (214, 39, 40)
"""Red, which few images hold in thin straight lines."""


_MASK_COLOURS = (
    (214, 39, 40), (31, 119, 180), (44, 160, 44), (255, 191, 0), (148, 103, 189), (23, 190, 207),
    (227, 119, 194), (140, 86, 75), (188, 189, 34),
)  # fmt: skip
"""Of the classes 1, 2, 3 … of a mask, and then from the first again; class 0 is left as it is."""
_MOST_TIED = 3
"""Classes of a tie that are named."""
_MASK_OPACITY = 128
"""Of 255: the image stays visible under its mask."""


@dataclass(frozen=True)
class Shown:
    """One output in words, and what of it is drawn into its image: boxes, the class of each pixel.

    A mask may have fewer pixels than the image.
    """

    words: str
    boxes: tuple[Box, ...] = ()
    mask: NDArray[np.int64] | None = None


def shown_output(bench: SamplingBench[Any], x: Array, task: Task) -> Shown:
    """What the model gives for the one input in `x`."""
    output = bench.outputs(x, [task])[0]
    if bench.model.signature.classes:
        return Shown(winning_class(np.asarray(output), bench.inputs.class_name))
    return _in_words(bench, output)


def winning_class(scores: NDArray[Any], class_name: Callable[[int], str]) -> str:
    """The class with the highest score; of several with the same, that they are tied."""
    highest = np.flatnonzero(scores == scores.max())
    names = [class_name(int(label)) for label in highest[:_MOST_TIED]]
    if len(highest) == 1:
        return names[0]
    return f"tie of {', '.join(names)}{', …' * (len(highest) > _MOST_TIED)}"


def shown_clean(bench: SamplingBench[Any], row: int) -> Shown:
    """What the model gives for a clean input."""
    task = Task(bench.inputs.subjects()[row], 0.0, 0, 1)
    return shown_output(bench, bench.model.place(bench.inputs.x[row : row + 1].copy()), task)


def true_output(bench: SamplingBench[Any], row: int) -> str:
    """The class or the output that the data state for an input; empty where they do not."""
    inputs = bench.inputs
    if inputs.targets and not bench.model.signature.classes:
        return _in_words(bench, inputs.targets[row]).words
    return "" if inputs.labels is None else inputs.class_name(int(inputs.labels[row]))


def _in_words(bench: SamplingBench[Any], output: Any) -> Shown:  # noqa: ANN401  an output or a target
    prop: Any = bench.prop
    boxes: Callable[[Any], Sequence[Box]] = getattr(prop, "boxes_to_draw", lambda _: ())
    mask: Callable[[Any], NDArray[np.int64] | None] = getattr(prop, "mask_to_draw", lambda _: None)
    return Shown(prop.words(output), tuple(boxes(output)), mask(output))


def png(
    x: NDArray[np.floating],
    frame: tuple[int, ...],
    values: Interval,
    output: Shown | None = None,
    most_side: int | None = None,
) -> str:
    """The input as a base64 PNG, `values` from black to white, with the output drawn into it.

    An image with more than `most_side` pixels on a side is shrunk.
    """
    from PIL import Image

    shaped = np.asarray(x).reshape(frame)
    if len(frame) == 3:
        shaped = shaped if channels_last(frame) else np.moveaxis(shaped, 0, -1)
        shaped = shaped[:, :, 0] if shaped.shape[-1] == 1 else shaped
    pixels = np.empty(shaped.shape, dtype=np.uint8)
    for line, row in zip(pixels, shaped, strict=True):  # in float64 all would take eight times this
        grey = (row.astype(np.float64) - values.low) / max(values.width, 1e-12) * 255
        line[...] = np.clip(np.rint(grey), 0, 255)
    image = Image.fromarray(pixels)
    if output is not None:
        image = _with_output(image, output)
    if most_side is not None and max(image.size) > most_side:
        image.thumbnail((most_side, most_side), Image.Resampling.BOX)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _with_output(image: PillowImage, output: Shown) -> PillowImage:
    """The image, with the mask and the boxes of an output drawn into it."""
    from PIL import Image, ImageDraw

    if output.mask is not None:
        colours = np.array(_MASK_COLOURS, dtype=np.uint8)[(output.mask - 1) % len(_MASK_COLOURS)]
        cover = np.where(output.mask > 0, _MASK_OPACITY, 0).astype(np.uint8)
        paint, where = (
            Image.fromarray(pixels).resize(image.size, Image.Resampling.NEAREST)
            for pixels in (colours, cover)
        )
        image = Image.composite(paint, image.convert("RGB"), where)
    if output.boxes:
        image = image.convert("RGB")
        pen = ImageDraw.Draw(image)
        for left, top, right, bottom in output.boxes:
            corners = [min(left, right), min(top, bottom), max(left, right), max(top, bottom)]
            pen.rectangle(corners, outline=_BOX_COLOUR)
    return image


def host_row(x: Array) -> NDArray[np.floating]:
    """The one input in `x`, in main memory."""
    row: NDArray[np.floating] = to_host(x)[0]
    return row
