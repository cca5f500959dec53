"""What a reader is shown of an item before and after a perturbation: short, and safe to print."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.subject.items import is_image
from surefoot.system.text import escape_unprintable

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


def item_change(before: Any, after: Any) -> ItemChange:  # noqa: ANN401  any two items
    """What changed: the texts around the first difference, or which bytes differ."""
    if is_image(before) and is_image(after):
        return ItemChange(image=_png(before), perturbed=_png(after))
    if isinstance(before, bytes | bytearray) and isinstance(after, bytes | bytearray):
        return ItemChange(*_bytes_in_words(bytes(before), bytes(after)))
    whole, changed = [
        f"“{one}”" if isinstance(one, str) else _representation(one) for one in (before, after)
    ]
    first, second = shortened_pair(whole, changed, 2 * PAGE_WIDTH)
    return ItemChange(
        *shortened_pair(escape_unprintable(first), escape_unprintable(second), PAGE_WIDTH)
    )


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


def _first_difference(a: Any, b: Any) -> int:  # noqa: ANN401  two texts, or two bytes
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
        first = _first_difference(before, after)
        return f"{len(before):,} bytes", (
            f"{len(after):,} bytes ({words}); the first difference is at {first:,}"
        )
    a, b = (np.frombuffer(part, np.uint8) for part in (before, after))
    places = np.flatnonzero(a != b)
    listed = ", ".join(f"at {i:,}: {a[i]:02x} to {b[i]:02x}" for i in places[:_BYTES].tolist())
    rest = ", …" if len(places) > _BYTES else ""
    return f"{len(before):,} bytes", (
        f"{len(after):,} bytes; {len(places):,} differ" + (f" ({listed}{rest})" if listed else "")
    )


def _representation(item: Any) -> str:  # noqa: ANN401  any object
    try:
        return repr(item)
    except Exception:  # noqa: BLE001  an object may refuse in its own way
        return type(item).__name__


def _png(image: Any) -> str:  # noqa: ANN401  a Pillow image
    small = image.convert("RGB")
    small.thumbnail((_IMAGE_SIDE, _IMAGE_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")
