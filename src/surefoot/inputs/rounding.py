"""Numbers that single precision, which models are given, would round away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument

_ROUNDING = 1e-3
"""Of a column's spread: less than this may be lost to single precision, or values run together."""
_COMPUTED = 1e-12
"""Of a column's size: values that differ by less are one value, computed in different ways."""
_SAMPLE = 1_000_000
"""Values of an array, or of a chunk of its columns, that are looked at: a hundredth of a second."""


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


def refuse_rounded_array(values: NDArray[Any], ids: tuple[str, ...], source: str) -> None:
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


def _suspects(values: NDArray[Any]) -> list[int]:
    """Columns whose spread is small for the size of their numbers, by a sample of rows."""
    some = values[:: -(-values.size // _SAMPLE)].astype(np.float64)
    low, high = (end.astype(np.float64) for end in (values.min(axis=0), values.max(axis=0)))
    largest = np.maximum(high, -low) * np.finfo(np.float32).eps
    spread = np.quantile(some, 0.75, axis=0) - np.quantile(some, 0.25, axis=0)
    narrow = (largest > _ROUNDING * some.std(axis=0)) | (
        (spread > 0) & (largest > _ROUNDING * spread)
    )
    return [int(number) for number in np.flatnonzero(narrow)]
