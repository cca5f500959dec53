"""Inputs to look at: those that fail most, one at growing levels, and how outputs are shown."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Sampled
from surefoot.core.results import (
    Decision,
    Estimate,
    Extrapolation,
    InputResult,
    Interval,
    Undecided,
)
from surefoot.core.tasks import Subject, Task
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import OutOfMemory
from surefoot.inputs.arrays import channels_last
from surefoot.perturb.table_columns import Column
from surefoot.perturb.table_columns import Feature as ColumnNoise
from surefoot.records.input_table import tried_rows
from surefoot.records.record import Change, Example, Frame, InputRow, Strip
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.items import item_change
from surefoot.subject.protocols import Array, Item, OutputProperty, Perturbation, to_host
from surefoot.system.memory_limits import pieces

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage


def changed_features(
    inputs: Inputs, perturbation: Perturbation, row: int, after: NDArray[np.floating], most: int
) -> tuple[Change, ...]:
    """Columns that changed, at most so many: categories first, then by the spread of the column."""
    before = inputs.x[row]
    stated = _stated(perturbation)
    spread = inputs.x.std(axis=0, dtype=np.float64)
    moved = np.abs(after.astype(np.float64) - before) / np.where(spread > 0, spread, 1)
    for place, feature in enumerate(inputs.features):
        if _names(feature, stated.get(feature.name)) and moved[place] > 0:
            moved[place] = np.inf
    order = np.argsort(-moved, kind="stable")[:most]
    return tuple(
        _change(inputs.features[i], stated.get(inputs.features[i].name), before[i], after[i])
        for i in order.tolist()
        if moved[i] > 0
    )


def _stated(perturbation: Perturbation) -> dict[str, ColumnNoise]:
    """What the perturbation says of each column, and so its parts."""
    inner: Perturbation | None = getattr(perturbation, "inner", None)
    parts = (*getattr(perturbation, "parts", ()), *filter(None, [inner]))
    stated = {name: column for part in parts for name, column in _stated(part).items()}
    own: tuple[Column, ...] = getattr(perturbation, "features", ())
    return stated | {c.name: c for c in own if isinstance(c, ColumnNoise)}


def _names(feature: Feature, stated: ColumnNoise | None) -> dict[float, str]:
    """The name of each code; empty for a number."""
    if feature.categories:
        return {float(i): str(name) for i, name in enumerate(feature.categories)}
    if stated is not None and stated.values:
        texts = stated.categories or tuple(f"{value:g}" for value in stated.values)
        return dict(zip(stated.values, texts, strict=True))
    return {}


def _change(
    feature: Feature, stated: ColumnNoise | None, before: np.floating, after: np.floating
) -> Change:
    names = _names(feature, stated)
    values = float(before), float(after)
    texts = tuple(names.get(value, "") for value in values)
    return Change(
        feature.name,
        *values,
        unit=feature.unit or (stated.unit if stated is not None else ""),
        names=texts if all(texts) else (),
    )


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
_PIXELS_AT_ONCE = 65_536
"""Of an image that are worked on together: 512 KiB of memory."""
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


def shown_output(bench: SamplingBench[Sampled], x: Array, task: Task) -> Shown:
    """What the model gives for the one input in `x`."""
    output = bench.outputs(x, [task])[0]
    if bench.model.signature.classes:
        return Shown(winning_class(np.asarray(output), bench.inputs.class_name))
    return _in_words(bench, output)


def winning_class(scores: NDArray[np.floating], class_name: Callable[[int], str]) -> str:
    """The class with the highest score; of several with the same, that they are tied."""
    highest = np.flatnonzero(scores == scores.max())
    names = [class_name(int(label)) for label in highest[:_MOST_TIED]]
    if len(highest) == 1:
        return names[0]
    return f"tie of {', '.join(names)}{', …' * (len(highest) > _MOST_TIED)}"


def true_output(bench: SamplingBench[Sampled], row: int) -> str:
    """The class or the output that the data state for an input; empty where they do not."""
    inputs = bench.inputs
    if inputs.targets and not bench.model.signature.classes:
        return _in_words(bench, inputs.targets[row]).words
    return "" if inputs.labels is None else inputs.class_name(int(inputs.labels[row]))


def _in_words(bench: SamplingBench[Sampled], output: Item) -> Shown:
    prop = cast("OutputProperty", bench.prop)  # the model has no classes
    boxes: Callable[[Item], Sequence[Box]] = getattr(prop, "boxes_to_draw", lambda _: ())
    mask: Callable[[Item], NDArray[np.int64] | None] = getattr(prop, "mask_to_draw", lambda _: None)
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
    lines = max(1, _PIXELS_AT_ONCE // shaped[0].size)
    for i in range(0, len(shaped), lines):  # in float64 all would take eight times this
        rows = shaped[i : i + lines].astype(np.float64)
        grey = (rows - values.low) / max(values.width, 1e-12) * 255
        pixels[i : i + lines] = np.clip(np.rint(grey), 0, 255)
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


MOST_EXAMPLES = 8
"""Inputs on the page: a reader sees them at a glance."""
_FIRST = 4
"""Trials of an example that are run first, to find one that failed; then as many as before."""
_CHANGES = 6
"""Changed values listed for an input that is not an image."""


def failed_examples(
    bench: SamplingBench[Sampled],
    inputs: Sequence[InputRow],
    level: float,
    batch_size: int,
    failed_first: Container[str] = (),
) -> tuple[Example, ...]:
    """At most eight inputs, those first that are known to fail most often; ties in order of ids.

    Of inputs whose first trial is known to have failed none is run to find one.

    What is known is the lower end of the interval; the estimate decides where these are equal. One
    trial says next to nothing: inputs that had no more are examples only where no other failed.
    An input that is wrong already when clean shows nothing about perturbations: it is no example.
    """
    failing = [
        (_most_kept(row.result), rate, row.id, row.result)
        for row in tried_rows(inputs)
        if row.right_when_clean and (rate := kept_share(row.result)) is not None and rate < 1
    ]
    several = [one for one in failing if not getattr(one[3], "from_one_trial", False)]
    weakest = sorted(several or failing, key=lambda one: one[:3])[:MOST_EXAMPLES]
    examples = []
    for _, rate, name, result in weakest:
        subject = Subject(name, (bench.inputs.ids.index(name),))
        search = partial(_first_failure, bench, subject, level, result.trials, batch_size)
        trial = 0 if name in failed_first else search()
        if trial is None:
            continue
        task = Task(subject, level, trial, trial + 1)
        examples.append(example_of(bench, task, 1 - rate, bench.perturbed(task)))
    return tuple(examples)


def example_of(bench: SamplingBench[Sampled], task: Task, failure: float, x: Array) -> Example:
    """One trial of an input, which became `x`, with what the model gives before and after."""
    row = task.subject.rows[0]
    failed = shown_output(bench, x, task)
    place = bench.model.place(bench.inputs.x[row : row + 1].copy())
    clean = shown_output(bench, place, Task(task.subject, 0.0, 0, 1))
    words = true_output(bench, row), clean.words, failed.words
    example = Example(task.subject.name, task.start, failure, *words)
    return _with_appearance(example, bench, row, host_row(x), clean, failed)


def kept_share(result: InputResult) -> float | None:
    """The share of trials kept, for results that show how often the input fails."""
    match result:
        case Estimate(value=value):
            return value
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case Decision(holds=False, kept=int(kept), trials=trials):
            return kept / trials
        case _:
            return None


def _most_kept(result: InputResult) -> float:
    """The upper end of what is known of the share kept; the share itself without an interval."""
    counted = result if isinstance(result, Estimate) else getattr(result, "counted", None)
    return kept_share(result) or 0.0 if counted is None else float(counted.interval.high)


def _first_failure(
    bench: SamplingBench[Sampled], subject: Subject, level: float, trials: int, batch_size: int
) -> int | None:
    """The first trial that failed: of an input that fails often one of the first."""
    start = 0
    while start < trials:
        task = Task(subject, level, start, min(start + min(batch_size, start + _FIRST), trials))
        try:
            failed = np.flatnonzero(bench.severities([task]) >= bench.prop.limit)
        except (OutOfMemory, MemoryError):
            if batch_size == 1:
                raise
            batch_size //= 2
            continue
        if len(failed):
            return start + int(failed[0])
        start = task.stop
    return None


def _with_appearance(
    example: Example,
    bench: SamplingBench[Sampled],
    row: int,
    after: Item,
    clean: Shown,
    failed: Shown,
) -> Example:
    before, frame = bench.inputs.x[row], bench.inputs.frame
    if bench.inputs.holds_items:
        return replace(example, **asdict(item_change(before, after)))
    if frame:
        values = bench.model.signature.bounds or Interval(float(before.min()), float(before.max()))
        image = png(before, frame, values, clean, MOST_SIDE)
        return replace(example, image=image, perturbed=png(after, frame, values, failed, MOST_SIDE))
    if bench.inputs.features and before.ndim == 1:
        changes = changed_features(bench.inputs, bench.perturbation, row, after, _CHANGES)
    else:
        largest = np.argsort(-np.abs(after - before).reshape(-1), kind="stable")[:_CHANGES]
        pairs = zip(before.reshape(-1)[largest], after.reshape(-1)[largest], strict=True)
        changes = tuple(
            Change(f"value {i}", float(a), float(b))
            for i, (a, b) in zip(largest, pairs, strict=True)
        )
    return replace(example, changes=changes)


_FRAMES = 7
"""Levels that are shown: as many images as fit side by side on a page."""
_CANDIDATES = 64
"""Inputs of which the clearest is chosen: enough to find one, and a single batch at each level."""


def strip(bench: SamplingBench[Sampled], subject: Subject, span: Interval) -> Strip | None:
    """Of the inputs of the first trials, the one that shows most clearly where it begins to fail.

    It is kept when clean, changes between kept and failed seldom, and fails at about half of the
    levels. None where inputs are not images, or where no input changes.
    """
    inputs = bench.inputs
    if not inputs.frame:
        return None
    levels = np.linspace(span.low, span.high, _FRAMES).tolist()
    candidates = min(_CANDIDATES, len(subject.rows))
    kept = np.stack([_kept(bench, subject, level, candidates) for level in levels])
    start = int(np.argmin(np.abs(levels)))
    changes = np.count_nonzero(kept[1:] != kept[:-1], axis=0)
    imbalance = np.abs(kept.sum(axis=0) - _FRAMES / 2)
    clarity = np.where(kept[start] & (changes > 0), -(2 * changes + imbalance), -np.inf)
    chosen = int(np.argmax(clarity))
    if clarity[chosen] == -np.inf:
        return None
    row = int(bench.rows_of_task(Task(subject, span.low, chosen, chosen + 1))[0])
    frames = tuple(
        _frame(bench, subject, level, chosen, bool(kept[i, chosen]))
        for i, level in enumerate(levels)
    )
    return Strip(inputs.ids[row], true_output(bench, row), frames)


def _kept(
    bench: SamplingBench[Sampled], subject: Subject, level: float, candidates: int
) -> NDArray[np.bool_]:
    """Which of the first trials are kept at this level."""
    severities = [
        bench.severities([Task(subject, level, trials.start, trials.stop)])
        for trials in pieces(candidates, bench.inputs.row_bytes)
    ]
    return np.concatenate(severities) < bench.prop.limit


def _frame(
    bench: SamplingBench[Sampled], subject: Subject, level: float, trial: int, kept: bool
) -> Frame:
    task = Task(subject, level, trial, trial + 1)
    x = bench.perturbed(task)
    perturbed = host_row(x)
    values = bench.model.signature.bounds or Interval(
        float(perturbed.min()), float(perturbed.max())
    )
    shown = shown_output(bench, x, task)
    image = png(perturbed, bench.inputs.frame, values, shown, MOST_SIDE)
    return Frame(level, image, shown.words, kept)
