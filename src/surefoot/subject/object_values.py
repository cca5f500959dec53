"""Python objects as numbers and the structure around them: to compare them, and to name them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.system.function_source import describe_value

_DEPTH = 8
"""Objects within objects that are looked into; deeper ones are described in words."""
_DIGITS = 5
"""Significant digits of a number that rounding between batches leaves alone."""


def on_host(value: Any) -> Any:  # noqa: ANN401  any object
    """The object with every tensor in it as a NumPy array."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return np.asarray(value.detach().cpu())
    if isinstance(value, dict):
        return {key: on_host(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(on_host(part) for part in value)
    return value


def split_numbers(value: Any, depth: int = _DEPTH) -> tuple[str, NDArray[np.float64]]:  # noqa: ANN401  any object
    """What the object is made of, and all numbers in it in one row."""
    structure: list[str] = []
    numbers: list[NDArray[np.float64]] = []
    _split(value, depth, structure, numbers)
    return " ".join(structure), np.concatenate(numbers) if numbers else np.zeros(0)


def _split(
    value: Any,  # noqa: ANN401  any object
    depth: int,
    structure: list[str],
    numbers: list[NDArray[np.float64]],
) -> None:
    value = on_host(value)
    if isinstance(value, bool | int | float | np.generic | np.ndarray):
        array = np.asarray(value)
        if np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_:
            structure.append(f"{array.shape}")
            numbers.append(array.astype(np.float64).reshape(-1))
            return
    parts = _parts(value)
    if parts is None or depth == 0:
        structure.append(describe_value(value))
        return
    structure.append(f"{type(value).__qualname__}[{len(parts)}]")
    for name, part in parts.items():
        structure.append(name)
        _split(part, depth - 1, structure, numbers)


def _parts(value: Any) -> dict[str, Any] | None:  # noqa: ANN401  any object
    """The named parts of an object; None where it has none."""
    if isinstance(value, Mapping):
        return {str(key): value[key] for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return {str(i): part for i, part in enumerate(value)}
    if all(hasattr(value, name) for name in ("boxes", "labels", "scores")):
        return {name: getattr(value, name) for name in ("boxes", "labels", "scores")}
    attributes = getattr(value, "__dict__", None)
    return dict(attributes) if attributes and not isinstance(value, type) else None


def digest_of_object(value: Any, digits: int = _DIGITS) -> str:  # noqa: ANN401  any object
    """A name for the object that does not depend on where it lies in memory.

    Numbers count to so many significant digits, so that another batch gives the same name.
    """
    structure, numbers = split_numbers(value)
    rounded = _significant(numbers, digits) + 0.0  # no negative zero
    return hashlib.sha256(structure.encode() + b"\0" + rounded.tobytes()).hexdigest()


def _significant(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """The numbers rounded to so many significant digits."""
    size = np.abs(numbers)
    usual = np.isfinite(size) & (size > np.finfo(np.float64).tiny)
    exponent = np.floor(np.log10(np.where(usual, size, 1.0)))
    scale = 10.0 ** np.clip(digits - 1 - exponent, -300, 300)
    rounded: NDArray[np.float64] = np.where(usual, np.round(numbers * scale) / scale, numbers)
    return rounded
