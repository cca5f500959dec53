"""Items: inputs that are no arrays of numbers, such as text, bytes, tuples, dicts and images.

What names an item, how it is copied, and what a reader is shown of it.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import HostArray, Item
from surefoot.system.text import escape_unprintable
from surefoot.system.user_code import describe_value

ItemDigest = Callable[[Item], bytes | str]
"""A function of the user that names an item of a kind that is not known here."""
_IMMUTABLE = (str, bytes, int, float, complex, bool, type(None))
_KINDS = "text, bytes, numbers, lists, tuples, dicts, arrays, dataclasses and Pillow images"


def as_item_array(items: Sequence[Item]) -> HostArray:
    """The items as an array of objects of shape (n,), whatever they hold."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def is_image(item: Item) -> bool:
    """Whether it is a Pillow image; without importing Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(item, module.Image)


def copy_item(item: Item) -> Item:
    """The same item, which a function may write into without changing anyone else's."""
    if isinstance(item, _IMMUTABLE):
        return item
    if is_image(item):
        return item.copy()
    return copy.deepcopy(item)


def item_digest(item: Item, own: ItemDigest | None = None) -> str:
    """A name for exactly this item: the same in every process, and another for another item.

    Dicts are named in their order. `own` names items of other kinds.
    """
    if own is not None:
        name = own(item)
        if not isinstance(name, str | bytes):
            raise InvalidArgument(
                f"digest must return text or bytes that name the item, got {type(name).__name__}"
            )
        raw = name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
        return _hash(b"own", raw)
    try:
        return _digest(item)
    except RecursionError:
        raise InvalidArgument(
            f"an item that is {type(item).__name__} holds itself or is nested too deeply to be "
            "named: pass digest=, a function that returns text or bytes naming an item"
        ) from None


def same_item(a: Item, b: Item, own: ItemDigest | None = None) -> bool:
    """Whether two items are the same, type and all."""
    return a is b or item_digest(a, own) == item_digest(b, own)


def _hash(tag: bytes, *parts: bytes) -> str:
    """A digest of the parts: their lengths go in, so that no two lists of parts are alike."""
    whole = hashlib.sha256(tag)
    for part in parts:
        whole.update(b"\0%d\0" % len(part))
        whole.update(part)
    return whole.hexdigest()


def _digest(item: Item) -> str:
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


def _children(items: Item) -> list[bytes]:
    return [_digest(part).encode() for part in items]


def kind_of_items(first: Item) -> str:
    """What items such as this one are, in a word."""
    if isinstance(first, str):
        return "text"
    if isinstance(first, bytes | bytearray):
        return "bytes"
    return "images" if is_image(first) else f"items ({type(first).__name__})"


PAGE_WIDTH = 240
"""Characters of a text on a page: three lines of a card."""
TERMINAL_WIDTH = 40
"""Characters of a text in a column of a terminal: two of them fit beside the other columns."""
_LEAD_SHARE = 4
"""A window begins a quarter of its width before the first difference, so that it has a context."""
_BYTES = 6
"""Differing bytes that are listed."""
_IMAGE_SIDE = 224
"""Pixels of the longer side of an image on a page."""


@dataclass(frozen=True)
class ItemChange:
    """An item before and after: in words, and for a Pillow image as base64 PNG instead."""

    before: str = ""
    after: str = ""
    image: str = ""
    perturbed: str = ""


def item_change(before: Item, after: Item) -> ItemChange:
    """What changed: the texts around the first difference, or which bytes differ."""
    if is_image(before) and is_image(after):
        return ItemChange(image=_png(before), perturbed=_png(after))
    if isinstance(before, bytes | bytearray) and isinstance(after, bytes | bytearray):
        return ItemChange(*_bytes_in_words(bytes(before), bytes(after)))
    whole, changed = [
        f"“{one}”" if isinstance(one, str) else _representation(one) for one in (before, after)
    ]
    first, second = map(escape_unprintable, shortened_pair(whole, changed, 2 * PAGE_WIDTH))
    return ItemChange(*shortened_pair(first, second, PAGE_WIDTH))


def shortened_pair(before: str, after: str, width: int) -> tuple[str, str]:
    """The same part of both, around their first difference; … where something is left out."""
    longer = max(len(before), len(after))
    start = min(_first_difference(before, after) - width // _LEAD_SHARE, longer - width)
    start = max(0, start)
    first, second = (
        ("…" if start else "")
        + text[start : start + width]
        + ("…" if len(text) > start + width else "")
        for text in (before, after)
    )
    return first, second


Parts = list[tuple[str, bool]]
"""A text in parts, and whether each of them differs from the other text."""


def parts_that_differ(before: str, after: str) -> tuple[Parts, Parts]:
    """Both texts, as `item_change` shows them, with what differs; other words are one part each."""
    shown = before, after
    if not all(text.startswith(("“", "…")) for text in shown):  # only texts are in quotation marks
        return [(before, False)], [(after, False)]
    cut = [text.endswith("…") for text in shown]
    bare = [text.removesuffix("…") for text in shown]
    start = _first_difference(*bare)  # in a text of repetitions a match might begin anywhere
    bare = [text[start:] for text in bare]
    matcher = SequenceMatcher(None, bare[0], bare[1], autojunk=False)
    parts: tuple[Parts, Parts] = [(before[:start], False)], [(after[:start], False)]
    for kind, a, b, c, d in matcher.get_opcodes():
        # behind an insertion another part of the text is cut off, which is no change
        cut_off = (cut[0] and b == len(bare[0])) or (cut[1] and d == len(bare[1]))
        for own, text, span in zip(parts, bare, (slice(a, b), slice(c, d)), strict=True):
            own.append((text[span], kind != "equal" and not cut_off))
    for own, is_cut in zip(parts, cut, strict=True):
        own.append(("…" if is_cut else "", False))
    first, second = ([part for part in own if part[0]] for own in parts)
    return first, second


def _first_difference(a: Item, b: Item) -> int:
    """Where two sequences differ first; the length of the shorter where one begins the other."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _bytes_in_words(before: bytes, after: bytes) -> tuple[str, str]:
    if len(before) != len(after):
        more = len(after) - len(before)
        words = f"{abs(more):,} {'more' if more > 0 else 'fewer'}"
        first = f"the first difference is at {_first_difference(before, after):,}"
        return f"{len(before):,} bytes", f"{len(after):,} bytes ({words}); {first}"
    a, b = (np.frombuffer(part, np.uint8) for part in (before, after))
    places = np.flatnonzero(a != b)
    listed = ", ".join(f"at {i:,}: {a[i]:02x} to {b[i]:02x}" for i in places[:_BYTES].tolist())
    which = f" ({listed}{', …' if len(places) > _BYTES else ''})" if listed else ""
    return f"{len(before):,} bytes", f"{len(after):,} bytes; {len(places):,} differ{which}"


def _representation(item: Item) -> str:
    try:
        return repr(item)
    except Exception:  # noqa: BLE001  an object may refuse in its own way
        return type(item).__name__


def _png(image: Item) -> str:
    small = image.convert("RGB")
    small.thumbnail((_IMAGE_SIDE, _IMAGE_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


_DEPTH = 8
"""Objects within objects that are looked into; deeper ones are described in words."""
_DIGITS = 5
"""Significant digits of a number that rounding between batches leaves alone."""


def on_host(value: Item) -> Item:
    """The object with every tensor in it as a NumPy array."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return np.asarray(value.detach().cpu())
    if isinstance(value, dict):
        return {key: on_host(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(on_host(part) for part in value)
    return value


def split_numbers(value: Item, depth: int = _DEPTH) -> tuple[str, NDArray[np.float64]]:
    """What the object is made of, and all numbers in it in one row."""
    structure: list[str] = []
    numbers: list[NDArray[np.float64]] = []
    _split(value, depth, structure, numbers)
    return " ".join(structure), np.concatenate(numbers) if numbers else np.zeros(0)


def _split(
    value: Item, depth: int, structure: list[str], numbers: list[NDArray[np.float64]]
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


def _parts(value: Item) -> dict[str, Item] | None:
    """The named parts of an object; None where it has none."""
    if isinstance(value, Mapping):
        return {str(key): value[key] for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return {str(i): part for i, part in enumerate(value)}
    if all(hasattr(value, name) for name in ("boxes", "labels", "scores")):
        return {name: getattr(value, name) for name in ("boxes", "labels", "scores")}
    attributes = getattr(value, "__dict__", None)
    return dict(attributes) if attributes and not isinstance(value, type) else None


def digest_of_object(value: Item, digits: int = _DIGITS) -> str:
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
