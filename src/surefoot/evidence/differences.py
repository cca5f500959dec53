"""Where two values that JSON can hold differ, exactly or up to rounding."""

from __future__ import annotations

import math
from typing import Any

_ROUNDING = 1e-6
"""Relative: another processor or version of a library may differ by 1e-12, and by 1e-7 where two
numbers near 1 are subtracted. What is printed has four digits."""
_SMALLEST = 1e-15
"""Absolute: the rounding of numbers near 1."""


def first_difference(
    one: Any,  # noqa: ANN401  what JSON can hold
    other: Any,  # noqa: ANN401  what JSON can hold
    *,
    exactly: bool = False,
    path: str = "",
) -> str | None:
    """The name of the first part that differs; None where nothing does."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return _joined(path, str(min(one.keys() ^ other.keys()))[:80])
        pairs = ((str(name), one[name], other[name]) for name in one)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return path or "the length"
        if exactly and one == other and _same_types(one, other):
            return None
        pairs = ((str(i), a, b) for i, (a, b) in enumerate(zip(one, other, strict=True)))
    else:
        return None if _same(one, other, exactly) else path or "the value"
    for name, a, b in pairs:
        different = first_difference(a, b, exactly=exactly, path=_joined(path, name))
        if different is not None:
            return different
    return None


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _same_types(one: list[Any], other: list[Any]) -> bool:
    """Whether two equal lists hold no value that counts as another: 1 is no true."""
    scalars = (str, int, float, bool, type(None))
    return all(type(a) in scalars for a in one) and list(map(type, one)) == list(map(type, other))


def _same(one: Any, other: Any, exactly: bool) -> bool:  # noqa: ANN401  what JSON can hold
    if _is_number(one) and _is_number(other):
        if exactly or (isinstance(one, int) and isinstance(other, int)):
            return bool(one == other)
        return math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_SMALLEST)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:  # noqa: ANN401  NumPy's float64 is a float too
    return isinstance(value, int | float) and not isinstance(value, bool)
