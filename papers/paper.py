"""A paper, and its tables and figures: what each shows, what it takes, which function makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surefoot.errors import InvalidArgument

_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}


@dataclass(frozen=True)
class Part:
    """A table or a figure.

    `function`: the module and the function that make it, "papers.asap.table_1:make". It
    takes a `Request` and returns an `Exhibit`. `options` are those that it reads, with the values
    of the paper; `quick` are the values that take seconds on the embedded networks. `needs` is what
    it is made from: models and data, brackets, or nothing.
    """

    name: str
    title: str
    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ("models", "data")


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, what it says in one sentence, and its tables and figures."""

    name: str
    authors: str
    title: str
    published: str
    summary: str
    parts: tuple[Part, ...]

    def part(self, table: str | int | None = None, figure: str | int | None = None) -> Part:
        """The table or the figure of this number; Roman numerals are read too."""
        kind, number = ("table", table) if table is not None else ("figure", figure)
        text = str(number).strip().lower()
        wanted = f"{kind} {_ROMAN.get(text, text)}"
        for part in self.parts:
            if part.name == wanted:
                return part
        known = ", ".join(part.name for part in self.parts)
        raise InvalidArgument(f"{self.name} has no {wanted}: it has {known}; choose one of them")
