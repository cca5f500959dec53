"""Text: escapes for control characters, levels as they were stated, names that repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Json = Any
"""What JSON holds, of which nothing is known before it is checked."""
_CONTROLS = re.compile(
    "[^\t\n\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
"""All but tab and line break of the controls, embeddings and isolates of right-to-left text, halves
of a surrogate pair, and U+FFFE and U+FFFF."""


def escape_controls(text: str) -> str:
    """The text with such characters as escapes, its lines and tabs as they are."""
    return _CONTROLS.sub(lambda match: escape(match[0]), text)


def escape_unprintable(text: str) -> str:
    """The text on one line: every character that does not print as an escape, line breaks too."""
    return "".join(c if c.isprintable() else escape(c) for c in text)


def escape_all_controls(values: Json) -> Json:
    """The same dictionaries and lists with every text in them so written, names of fields too."""
    if isinstance(values, str):
        return escape_controls(values)
    if isinstance(values, dict):
        return {escape_all_controls(name): escape_all_controls(v) for name, v in values.items()}
    if isinstance(values, list | tuple):
        return [escape_all_controls(value) for value in values]
    return values


def escape(character: str) -> str:
    r"""A character as `\n`, `\x1b`, `\u202e` or `\U0001fffe`, as Python and YAML read it."""
    return character.encode("unicode_escape").decode("ascii")


def first_again(names: Sequence[str]) -> int | None:
    """The place of the first name that stands there for the second time; None: all differ."""
    places: dict[str, int] = {}
    return next((i for i, name in enumerate(names) if places.setdefault(name, i) != i), None)


def apart(*values: float) -> tuple[str, ...]:
    """Each with three digits, or as many more as tell different ones apart; no exponent from 1,000
    on."""
    texts = tuple(map(str, values))
    for digits in range(3, 17):
        short = (f"{v:.{digits}g}" if abs(v) < 10**digits else f"{v:.0f}" for v in values)
        if len(set(texts := tuple(short))) == len(set(values)):
            break
    return texts


def level_words(level: float) -> str:
    """A level as its user would write it: 8/255 rather than 0.0313725."""
    short = f"{level:.6g}"
    of_255 = level * 255
    if len(short) > 5 and abs(of_255 - round(of_255)) < 1e-9:
        return f"{round(of_255)}/255"
    return short
