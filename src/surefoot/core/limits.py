"""What the fields of a specification may hold: said where a field is, refused in one form.

A field says it in its metadata, as in `draws: int = field(default=1000, metadata=whole(20))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


@dataclass(frozen=True)
class _Limit:
    """Which values may be: `words` follow "must", `way_out` the value, written as `shown` says.

    A value is kept as `read` makes it.
    """

    holds: Callable[[Any], bool]
    words: str
    way_out: str = ""
    shown: str = "{}"
    read: Callable[[Any], Any] | None = None


Limit = Mapping[str, _Limit]


def limit(
    holds: Callable[[Any], bool],
    words: str,
    way_out: str = "",
    shown: str = "{}",
    read: Callable[[Any], Any] | None = None,
) -> Limit:
    """Values of which this holds, each kept as `read` makes it."""
    return {"limit": _Limit(holds, words, way_out, shown, read)}


def whole(least: int, way_out: str = "") -> Limit:
    """Integers from `least` on."""
    words = f"be an integer ≥ {least}"
    return limit(lambda n: isinstance(n, Integral) and int(n) >= least, words, way_out)


def count(most: int) -> Limit:
    """Numbers without a fraction from 1 to `most`, as integers."""
    words = f"be an integer from 1 to {most}"
    return limit(lambda n: 1 <= n <= most and n == int(n), words, read=int)


def between(low: float, high: float, way_out: str = "", *, least: float | None = None) -> Limit:
    """Numbers above `low`, or from `least` on, and below `high`."""
    first = math.nextafter(low, high) if least is None else least
    return limit(lambda x: first <= x < high, f"lie between {low:g} and {high:g}", way_out)


def one_of(*choices: str) -> Limit:
    """These words."""
    known = ", ".join(word or "empty" for word in choices)
    return limit(choices.__contains__, f"be one of {known}", shown="{!r}")


def check_value(name: str, value: T, limited: Limit, option: str = "") -> T:
    """The value as it is kept, where it may be."""
    own = limited["limit"]
    if not own.holds(value):
        way_out = own.way_out and f": {own.way_out}"
        text = f"{name} must {own.words}, got {own.shown.format(value)}{way_out}"
        raise InvalidArgument(text, option=option, value=value if option else None)
    kept: T = value if own.read is None else own.read(value)
    return kept


def check_fields(value: DataclassInstance, before: str = "") -> None:
    """Refuse a field beyond its limit, `before` its name; one that may be None is not limited."""
    for own in fields(value):
        given = getattr(value, own.name)
        if "limit" in own.metadata and not (given is None and own.default is None):
            kept = check_value(before + own.name, given, own.metadata, own.name)
            object.__setattr__(value, own.name, kept)
