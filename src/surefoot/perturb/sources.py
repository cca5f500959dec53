"""What a function of the user's own is, in words that a digest can hold."""

from __future__ import annotations

import functools
import hashlib
import inspect
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

_DEPTH = 4
_PLACE = re.compile(r" at 0x[0-9a-fA-F]+")


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Qualified name, sha256 of the source (empty where there is none), and settings.

    Settings are what the source does not show: default and enclosed values, the arguments of a
    partial function, the attributes of an object.
    """
    own: Callable[[], dict[str, str]] | None = getattr(function, "describe", None)
    if own is not None and not isinstance(function, type):
        return own()
    if isinstance(function, functools.partial):
        inner = described(function.func)
        given = settings({"args": function.args, "keywords": function.keywords})
        return {**inner, "settings": f"{inner['settings']} {given}".strip()}
    subject: Any = function if inspect.isroutine(function) else type(function)
    try:
        source = hashlib.sha256(inspect.getsource(subject).encode()).hexdigest()
    except (OSError, TypeError):
        source = ""
    name = f"{getattr(subject, '__module__', None)}:{getattr(subject, '__qualname__', subject)}"
    return {"name": name, "sha256": source, "settings": _settings_of(function)}


def _settings_of(function: Callable[..., Any]) -> str:
    if not inspect.isroutine(function):
        return settings(function)
    plain = inspect.unwrap(function)
    cells = getattr(plain, "__closure__", None) or ()
    names = getattr(getattr(plain, "__code__", None), "co_freevars", ())
    held = {
        "defaults": getattr(plain, "__defaults__", None),
        "keywords": getattr(plain, "__kwdefaults__", None),
        "enclosed": dict(zip(names, map(content, cells), strict=False)),
        "self": getattr(function, "__self__", None) if inspect.ismethod(function) else None,
    }
    known = {name: value for name, value in held.items() if value}
    return settings(known) if known else ""


def content(cell: Any) -> Any:  # noqa: ANN401
    """What a function encloses there."""
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return None


def settings(value: Any, depth: int = _DEPTH) -> str:  # noqa: ANN401
    """A value in words, without where it lies in memory; arrays by their digest."""
    match value:
        case np.ndarray():
            held = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            words = f"array {value.shape} {value.dtype} {held}"
        case np.random.Generator() | np.random.RandomState() | random.Random():
            words = type(value).__name__  # not its state, which moves on
        case dict() if depth:
            words = ", ".join(f"{k}: {settings(v, depth - 1)}" for k, v in value.items())
            words = f"{{{words}}}"
        case list() | tuple() if depth:
            words = f"[{', '.join(settings(v, depth - 1) for v in value)}]"
        case _ if inspect.isroutine(value) or isinstance(value, type):
            words = f"{value.__module__}:{value.__qualname__}"
        case _ if depth and _says_nothing(value):
            words = f"{type(value).__qualname__}{settings(vars(value), depth)}"
        case _:
            words = _PLACE.sub("", repr(value))
    return words


def _says_nothing(value: Any) -> bool:  # noqa: ANN401
    """Whether an object with attributes prints as its place in memory only."""
    printed: Any = type(value).__repr__
    return printed is object.__repr__ and bool(getattr(value, "__dict__", None))
