"""Inputs from arrays: values and labels checked, pixels scaled, ids assigned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.images import Shape, Size
from surefoot.inputs.labels import ClassNames, Data, GivenLabels, Labels, Targets, read_labels
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.items import ItemDigest, on_host
from surefoot.subject.pixels import LEAST_BYTES, LazyRows, scaled, whole_rows
from surefoot.subject.protocols import LARGEST_NUMBER, HostArray
from surefoot.system.memory_limits import pieces

_ROUNDING = 1e-3
"""Of a column's spread: less than this may be lost to single precision, or values run together."""
_COMPUTED = 1e-12
"""Of a column's size: values that differ by less are one value, computed in different ways."""
_SAMPLE = 1_000_000
"""Values of an array, or of a chunk of its columns, that are looked at: a hundredth of a second."""


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """How data are read: what `load_inputs` was given, whatever the format.

    A reader puts in what the data themselves say (labels, ids) and passes it on. `size` (height,
    width) and `shape` of one input of the model: see `stack_images`. `length` of sounds in seconds.
    `first`: at most so many rows of a dataset. `targets`: the true outputs of a model without
    classes; True: what the data hold as labels. `group_column` of a table is no feature.
    """

    class_names: ClassNames
    labels: GivenLabels = None
    targets: Targets = None
    ids: Sequence[str] | None = None
    scale: float | None = None
    size: Size = None
    shape: Shape = None
    length: float | None = None
    label_pattern: str | None = None
    first: int | None = None
    group_column: str = ""
    read_as: str | None = None
    digest: ItemDigest | None = None

    def with_true_outputs(self) -> ReadOptions:
        """The labels as targets, where they are meant as such."""
        return replace(self, labels=None, targets=self.labels) if self.targets is True else self


def labelled_inputs(
    x: HostArray,
    source: str,
    options: ReadOptions,
    reading: str,
    features: tuple[Feature, ...] = (),
) -> Inputs:
    """Inputs with their labels, targets and ids; without ids they are numbered."""
    known = options.labels
    if known is not None and not isinstance(known, Labels):
        known = read_labels(known, source, options.class_names)
    digits = len(str(max(len(x) - 1, 1)))
    numbers = (f"{i:0{digits}d}" for i in range(len(x)))
    return Inputs(
        x=x,
        labels=None if known is None else known.numbers,
        ids=tuple(numbers if options.ids is None else map(str, options.ids)),
        source=source,
        class_names=options.class_names.names if known is None else known.names,
        frame=image_frame(x.shape[1:]),
        reading="; ".join(filter(None, [reading, known.reading if known else ""])),
        targets=() if options.targets is None else _targets(options.targets, source),
        features=features,
        digest_item=options.digest,
    )


def rounded_away(cells: NDArray[np.float64], column: NDArray[np.float32]) -> int | None:
    """The place of the number that loses most, where too much is lost; else None.

    The median stands beside the largest error, since one far value hides the spread of the others.
    """
    low, high = float(cells.min()), float(cells.max())
    if high - low <= _COMPUTED * max(abs(low), abs(high)):
        return None
    lost = np.abs(column - cells)
    if not lost.any():
        return None
    quarter, three = np.quantile(cells, [0.25, 0.75])
    if lost.max() > _ROUNDING * cells.std() or (
        three > quarter and np.median(lost) > _ROUNDING * (three - quarter)
    ):
        return int(np.argmax(lost))
    return None


def coarse_words(number: float, within: str) -> str:
    """That a number is held too coarsely, and what to do; `within`: what it is a part of."""
    return (
        f"single precision holds {number:.15g} as {float(np.float32(number)):.15g}, too coarse for "
        f"the differences within {within}: subtract an offset in the data and in the model"
    )


def refuse_rounded_array(values: HostArray, ids: tuple[str, ...], source: str) -> None:
    """Refuse an array of finite numbers whose differences single precision would lose.

    Columns are compared within themselves where an input is a row of numbers, as in a table; of
    other inputs all values are compared. What is in single precision already is the user's choice.
    """
    if np.can_cast(values.dtype, np.float32):
        return
    if values.ndim > 2:
        flat = values.reshape(-1)
        step = -(-flat.size // _SAMPLE)
        cells = flat[::step].astype(np.float64)
        place = rounded_away(cells, cells.astype(np.float32))
        if place is not None:
            name = ids[place * step // (values.size // len(values))]
            _refuse(source, name, "", float(cells[place]))
        return
    for number in _suspects(values):
        cells = values[:, number].astype(np.float64)
        row = rounded_away(cells, cells.astype(np.float32))
        if row is not None:
            _refuse(source, ids[row], f", value {number + 1}", float(cells[row]))


def _refuse(source: str, name: str, value: str, number: float) -> None:
    within = "its column" if value else "the array"
    raise InvalidArgument(
        f"{source}, input {name}{value}: {coarse_words(number, within)}, or convert the array to "
        "float32 yourself if that loses nothing that matters"
    )


def _suspects(values: HostArray) -> list[int]:
    """Columns whose spread is small for the size of their numbers, by a sample of rows."""
    some = values[:: -(-values.size // _SAMPLE)].astype(np.float64)
    low, high = (end.astype(np.float64) for end in (values.min(axis=0), values.max(axis=0)))
    largest = np.maximum(high, -low) * np.finfo(np.float32).eps
    spread = np.quantile(some, 0.75, axis=0) - np.quantile(some, 0.25, axis=0)
    narrow = (largest > _ROUNDING * some.std(axis=0)) | (
        (spread > 0) & (largest > _ROUNDING * spread)
    )
    return [int(number) for number in np.flatnonzero(narrow)]


def from_arrays(x: Data, source: str, options: ReadOptions) -> Inputs:
    """Inputs from arrays. uint8 values are divided by 255 unless `scale` says otherwise."""
    rows = x if isinstance(x, LazyRows) else None
    values = _real_numbers(np.zeros((1,) * len(x.shape), np.uint8) if rows else x, source)
    usual = 255.0 if values.dtype == np.uint8 else 1.0
    divisor = usual if options.scale is None else options.scale
    if not 1 / LARGEST_NUMBER <= divisor <= LARGEST_NUMBER:
        raise InvalidArgument(
            f"scale must be a finite number above 0 that float32 holds, got {divisor}: values are "
            "divided by it; pass 255 for pixels"
        )
    large = values.dtype == np.uint8 and 4 * values.size > LEAST_BYTES
    if rows is not None or large:
        points = scaled(rows or whole_rows(values.copy()), divisor)
        return labelled_inputs(points, source, options, reading_of(divisor))
    with np.errstate(over="ignore"):
        points = values.astype(np.float32)
    if divisor != 1:
        points /= np.float32(divisor)  # in place: a second copy would double the memory
    inputs = labelled_inputs(points, source, options, reading_of(divisor))
    finite = [
        np.isfinite(points[rows].reshape(rows.stop - rows.start, -1)).all(axis=1)
        for rows in pieces(len(inputs), inputs.row_bytes)
    ]
    bad = ~np.concatenate(finite)
    if bad.any():
        raise InvalidArgument(
            f"{inputs.source}: {int(bad.sum())} inputs hold NaN or infinite values, the first is "
            f"{inputs.ids[int(np.argmax(bad))]}: correct them or leave them out"
        )
    refuse_rounded_array(values, inputs.ids, source)
    return inputs


def reading_of(divisor: float) -> str:
    """What was done to the values, for the record."""
    return f"values divided by {divisor:g}" if divisor != 1 else "values as stored"


def _real_numbers(x: Data, source: str) -> NDArray[Data]:
    """An array of real numbers whose first axis counts inputs; anything else is refused."""
    refuse_masked([x], source)
    one_shape, way_out = "inputs must all have one shape", "give each the same number of values"
    with refusing(f"{source}: {one_shape}", way_out, ValueError):
        values = np.asarray(x)
    if not any(np.issubdtype(values.dtype, kind) for kind in (np.integer, np.floating)):
        raise InvalidArgument(
            f"{source}: inputs must be real numbers, got {values.dtype}: convert them to float"
        )
    if values.ndim < 2:
        raise InvalidArgument(
            f"{source}: inputs have shape {values.shape}: the first axis counts the inputs, the "
            "others are one input; give inputs of one number as x[:, None]"
        )
    if values.size == 0:
        raise InvalidArgument(
            f"{source} holds no inputs: the array has shape {values.shape}; give at least one"
        )
    return values


def refuse_masked(values: Sequence[Any], source: str) -> None:
    """Refuse arrays with masked entries: what lies under a mask is no value."""
    if any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in values):
        raise InvalidArgument(
            f"{source}: some values are masked: fill them in (x.filled(0), for example), or leave "
            "those inputs out"
        )


def _targets(values: Targets, source: str) -> tuple[Targets, ...]:
    """One true output an input; of an array each row is one."""
    values = on_host(values)
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
        raise InvalidArgument(
            f"{source}: targets must be a list or an array with one true output for each input, "
            f"got {type(values).__name__}"
        )
    if len(values) == 0:
        raise InvalidArgument(f"{source}: targets are empty: give one for each input")
    return tuple(values)


def image_frame(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape if one input can be drawn as an image, else empty."""
    flat = len(shape) == 2
    coloured = len(shape) == 3 and (shape[0] in (1, 3) or shape[-1] in (1, 3))
    return shape if (flat or coloured) and min(sorted(shape)[-2:]) >= 4 else ()


def channels_last(frame: tuple[int, ...]) -> bool:
    """Whether an image's last axis is its colour."""
    return len(frame) == 3 and frame[-1] in (1, 3)


def fit(inputs: Inputs, shape: tuple[int, ...]) -> Inputs:
    """The same points as the model wants them: channels moved, added or dropped, or flattened."""
    have = inputs.x.shape[1:]
    if have == shape:
        return inputs
    if inputs.holds_items or shape == ():
        takes = f"arrays of shape {shape}" if shape else "a list of items"
        raise InvalidArgument(
            f"the model takes {takes}, but {inputs.source} holds {inputs.content}: load a function "
            "of a list of items with examples=inputs, and one of arrays with shape=(…)"
        )
    squeezed = tuple(n for n in shape if n != 1)
    if squeezed == tuple(n for n in have if n != 1):
        x = inputs.x.reshape(len(inputs), *shape)
        return replace(inputs, x=x, frame=image_frame(shape), axes=())
    if len(have) == 3 and len(shape) == 3:
        last_to_first = (have[2], have[0], have[1]) == shape and have[2] in (1, 3, 4)
        first_to_last = (have[1], have[2], have[0]) == shape and have[0] in (1, 3, 4)
        if last_to_first or first_to_last:
            axes = (2, 0, 1) if last_to_first else (1, 2, 0)
            x = inputs.x.transpose(0, *(a + 1 for a in axes))
            x = np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x
            whole = tuple(inputs.axes[a] for a in axes) if inputs.axes else axes
            moved = () if whole == (0, 1, 2) else whole
            return replace(inputs, x=x, frame=image_frame(shape), axes=moved)
    one_way = len(squeezed) == 1 or len(have) == 1
    if one_way and math.prod(have) == math.prod(shape):
        frame = inputs.frame if len(squeezed) == 1 else image_frame(shape)
        return replace(inputs, x=inputs.x.reshape(len(inputs), *shape), frame=frame, axes=())
    raise InvalidArgument(
        f"the model takes inputs of shape {shape}, but {inputs.source} holds {have}: "
        "resize or rearrange the data (arrays are taken as they are; files of images are resized)"
    )
