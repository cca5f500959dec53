"""Options of reading, as text that a person writes or as Python values: 0,1 or (0, 1)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from surefoot.catalogue.registry import number
from surefoot.errors import InvalidArgument


def numbers(value: Any) -> tuple[float, ...] | None:  # noqa: ANN401  what a user gives
    """Numbers with commas between them, or a sequence of numbers."""
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(number(part) for part in value.split(","))
    return tuple(float(part) for part in np.atleast_1d(np.asarray(value, dtype=float)))


def complement(share: float) -> float:
    """The rest of 1, of the decimal number that a person wrote: 0.1 of 0.9, not 0.09999999999…"""
    return float(1 - Decimal(repr(float(share))))


MOST_DIGITS = 18
"""Of a whole number: what 64 bits hold. Python refuses to read texts of thousands of digits."""


def texts(value: str | Sequence[Any] | None) -> list[str]:
    """Parts of a text with commas, or of a sequence."""
    if value is None:
        return []
    return value.split(",") if isinstance(value, str) else [str(part) for part in value]


def _integers(value: str | Sequence[Any], separator: str) -> list[int] | None:
    """Positive integers; None if one is not."""
    parts = value.lower().split(separator) if isinstance(value, str) else list(value)
    texts = [str(part).strip() for part in parts]
    plain = all(text.isdecimal() and len(text) <= MOST_DIGITS for text in texts)
    return [int(text) for text in texts] if plain else None


def shape(value: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """The shape of one input."""
    if value is None:
        return None
    parts = _integers(value, ",")
    if not parts or min(parts) < 1:
        raise InvalidArgument(
            f"shape (--shape) must be the shape of one input, as 1,28,28, got {value!r}"
        )
    return tuple(parts)


def size(value: str | Sequence[int] | None) -> tuple[int, int] | None:
    """Height and width."""
    if value is None:
        return None
    parts = _integers(value, "x")
    if parts is None or len(parts) != 2:
        raise InvalidArgument(f"size (--size) must be HEIGHTxWIDTH, as 224x224, got {value!r}")
    return parts[0], parts[1]
