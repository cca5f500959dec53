"""Regular expressions that cannot take for ever on a name."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from surefoot.errors import InvalidArgument, refusing

_LONGEST = 500
"""Characters of a pattern."""
_MOST_WAYS = 10_000_000
"""Ways to divide one name among the parts of a pattern, at most: about a second."""
_ONE_CHARACTER = {"LITERAL", "NOT_LITERAL", "ANY", "IN", "RANGE", "CATEGORY"}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


@dataclass(frozen=True)
class BoundedPattern:
    """A pattern of the user; `title` is what an error calls it, `way_out` how to write one.

    Python's matcher may try every way to divide a name among the repeats of a pattern, so a repeat
    of a repeat or of a choice is refused, and the others may only be so many for the length of a
    name.
    """

    text: str
    title: str
    way_out: str

    def __post_init__(self) -> None:
        _ = self.compiled, self._freedom

    def search(self, name: str) -> re.Match[str] | None:
        """Where it first matches within a name."""
        self._check_length(name, anywhere=True)
        return self.compiled.search(name)

    def fullmatch(self, name: str) -> re.Match[str] | None:
        """Whether it matches the whole name."""
        self._check_length(name, anywhere=False)
        return self.compiled.fullmatch(name)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """As `re` has it."""
        if len(self.text) > _LONGEST:
            raise InvalidArgument(
                f"a {self.title} has at most {_LONGEST} characters, got {len(self.text)}"
                ": shorten it"
            )
        what = f"{self.title} {self.text!r} is no regular expression"
        with refusing(what, self.way_out, re.error, OverflowError, RecursionError):
            return re.compile(self.text)

    @cached_property
    def _freedom(self) -> _Freedom:
        parts = list(re._parser.parse(self.text))  # type: ignore[attr-defined]
        begins = bool(parts) and str(parts[0][1]).startswith("AT_BEGINNING")
        try:
            return replace(_freedom(parts), begins=begins)
        except ValueError as error:
            raise InvalidArgument(
                f"{self.title} {self.text!r} holds {error}, which can take for ever on some "
                f"names: {self.way_out}"
            ) from None

    def _check_length(self, name: str, *, anywhere: bool) -> None:
        """Refuse too many ways to match; where it may begin `anywhere`, that is one repeat more."""
        length, free = len(name), self._freedom
        repeats = free.repeats + int(anywhere and not free.begins)
        if math.comb(length + repeats, repeats) * free.choices > _MOST_WAYS:
            raise InvalidArgument(
                f"{self.title} {self.text!r} has {free.repeats} repeats, too many for the "
                f"{length} characters of {name}: write a pattern with fewer *, +, ? and |"
            )


@dataclass(frozen=True)
class _Freedom:
    """Repeats of variable length, and in how many ways the choices can be taken.

    `begins`: it can only match from the beginning of a name.
    """

    repeats: int = 0
    choices: int = 1
    begins: bool = False

    def then(self, other: _Freedom) -> _Freedom:
        return _Freedom(self.repeats + other.repeats, self.choices * other.choices)


def _freedom(parts: Any) -> _Freedom:  # noqa: ANN401  a parsed pattern, as `re` has it
    """Of a sequence of parts; ValueError names what is not allowed."""
    total = _Freedom()
    for operator, value in parts:
        name = str(operator)
        if name in _ONE_CHARACTER or name == "AT":
            continue
        if name == "SUBPATTERN":
            total = total.then(_freedom(value[-1]))
        elif name == "BRANCH":
            each = [_freedom(choice) for choice in value[1]]
            total = total.then(_Freedom(max(e.repeats for e in each), sum(e.choices for e in each)))
        elif name not in _REPEATS:
            raise ValueError(f"a part of the kind {name.lower().replace('_', ' ')}")
        elif int(value[1]) == 1:  # at most once
            total = total.then(_freedom(value[2])).then(_Freedom(0, 1 if value[0] else 2))
        elif all(str(part) in _ONE_CHARACTER for part, _ in _flat(value[2])):
            total = total.then(_Freedom(int(value[0] != value[1])))
        else:
            raise ValueError("a repeat of a repeat or of a choice")
    return total


def _flat(parts: Any) -> list[Any]:  # noqa: ANN401  parts of a parsed pattern
    """The parts of a sequence, those in groups too."""
    flat: list[Any] = []
    for operator, value in parts:
        flat += _flat(value[-1]) if str(operator) == "SUBPATTERN" else [(operator, value)]
    return flat
