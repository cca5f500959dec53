"""Items: inputs that are no arrays of numbers, such as text, bytes, tuples, dicts and images.

What names an item, how it is copied, and what a reader is shown of it.
"""

from __future__ import annotations

import copy
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument

ItemDigest = Callable[[Any], bytes | str]
"""A function of the user that names an item of a kind that is not known here."""
_IMMUTABLE = (str, bytes, int, float, complex, bool, type(None))
_KINDS = "text, bytes, numbers, lists, tuples, dicts, arrays, dataclasses and Pillow images"


def as_item_array(items: Sequence[Any]) -> NDArray[Any]:
    """The items as an array of objects of shape (n,), whatever they hold."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def is_image(item: Any) -> bool:  # noqa: ANN401  any object
    """Whether it is a Pillow image; without importing Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(item, module.Image)


def copy_item(item: Any) -> Any:  # noqa: ANN401  any object
    """The same item, which a function may write into without changing anyone else's."""
    if isinstance(item, _IMMUTABLE):
        return item
    if is_image(item):
        return item.copy()
    return copy.deepcopy(item)


def item_digest(item: Any, own: ItemDigest | None = None) -> str:  # noqa: ANN401  any object
    """A name for exactly this item: the same in every process, and another for another item.

    Dicts are named in their order. `own` names items of other kinds.
    """
    if own is not None:
        name = own(item)
        if not isinstance(name, str | bytes):
            raise InvalidArgument(
                f"digest must return text or bytes that name the item, got {type(name).__name__}"
            )
        return _hash(
            b"own", name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
        )
    try:
        return _digest(item)
    except RecursionError:
        raise InvalidArgument(
            f"an item that is {type(item).__name__} holds itself or is nested too deeply to be "
            "named: pass digest=, a function that returns text or bytes naming an item"
        ) from None


def same_item(a: Any, b: Any, own: ItemDigest | None = None) -> bool:  # noqa: ANN401  any object
    """Whether two items are the same, type and all."""
    return a is b or item_digest(a, own) == item_digest(b, own)


def _hash(tag: bytes, *parts: bytes) -> str:
    """A digest of the parts: their lengths go in, so that no two lists of parts are alike."""
    whole = hashlib.sha256(tag)
    for part in parts:
        whole.update(b"\0%d\0" % len(part))
        whole.update(part)
    return whole.hexdigest()


def _digest(item: Any) -> str:  # noqa: ANN401  any object
    match item:
        case np.ndarray() if item.dtype.hasobject:
            name = _hash(b"array", *_children([item.shape, *item.reshape(-1)]))
        case np.ndarray():
            head = f"{item.dtype.str} {item.shape}".encode()
            name = _hash(b"array", head, np.ascontiguousarray(item).tobytes())
        case str():
            name = _hash(b"text", str(item).encode("utf-8", "surrogatepass"))
        case bytes() | bytearray():
            name = _hash(type(item).__name__.encode(), bytes(item))
        case np.generic():
            name = _hash(b"scalar", item.dtype.str.encode(), item.tobytes())
        case None | bool() | int() | float() | complex():
            name = _hash(b"number", type(item).__name__.encode(), repr(item).encode())
        case list() | tuple():
            name = _hash(type(item).__name__.encode(), *_children(item))
        case set() | frozenset():
            name = _hash(type(item).__name__.encode(), *sorted(_children(item)))
        case dict():
            name = _hash(b"dict", *_children([part for pair in item.items() for part in pair]))
        case _ if is_image(item):
            colours = repr(item.getpalette() if item.mode == "P" else None).encode()
            name = _hash(b"image", f"{item.mode} {item.size}".encode(), item.tobytes(), colours)
        case _ if is_dataclass(item) and not isinstance(item, type):
            values = [getattr(item, f.name) for f in fields(item)]
            name = _hash(b"dataclass", type(item).__qualname__.encode(), *_children(values))
        case _:
            raise InvalidArgument(
                f"an item is {type(item).__name__}, which has no name that stays the same: items "
                f"are {_KINDS}; for others pass digest=, a function that returns text or bytes "
                "naming an item"
            )
    return name


def _children(items: Any) -> list[bytes]:  # noqa: ANN401  anything to iterate over
    return [_digest(part).encode() for part in items]


def kind_of_items(first: Any) -> str:  # noqa: ANN401  any object
    """What items such as this one are, in a word."""
    if isinstance(first, str):
        return "text"
    if isinstance(first, bytes | bytearray):
        return "bytes"
    return "images" if is_image(first) else f"items ({type(first).__name__})"
