"""Names from files and data as text that cannot change the document it is put into."""

from __future__ import annotations

import re
import unicodedata

from surefoot.system.text import escape

_MARKDOWN = re.compile(r"[\\`*_\[\]|~#$]")
"""Characters that begin something in Markdown, wherever they stand in a line."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
"""Characters of HTML, which Markdown lets through."""
_LINK = re.compile(r"(?<=:)//|(?<=\bwww)\.", re.IGNORECASE)
"""Where a bare address would become a link."""
_LINE_START = re.compile(r"^(\s*)([-+=]|\d+[.)](?=\s|$))")
"""A list, a heading or a rule, at the beginning of a line."""
_TICKS = re.compile("`+")


def visible(text: str) -> str:
    """The text on one line; a character that is not printed is written as an escape.

    So two names that differ stay different, and none turns the writing direction around.
    """
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs" or character in "\n\t":
        return " "
    return escape(character)


def markdown(text: str) -> str:
    """The text as Markdown that shows it: no markup, no HTML, no link, one line, one cell."""
    safe = _MARKDOWN.sub(r"\\\g<0>", visible(text))
    for character, entity in _ENTITIES.items():
        safe = safe.replace(character, entity)
    safe = _LINK.sub(lambda match: "".join(f"&#{ord(c)};" for c in match[0]), safe)
    return _LINE_START.sub(lambda match: f"{match[1]}{_escaped_start(match[2])}", safe)


def _escaped_start(start: str) -> str:
    return f"{start[:-1]}\\{start[-1]}"


def code_block(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any in it; its lines stay."""
    lines = [visible(line) for line in text.split("\n")]
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])
