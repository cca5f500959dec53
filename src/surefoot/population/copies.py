"""Inputs or cases that are copies of another one: several of them say no more than one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST_EFFECT = 1.05
"""Design effect worth a note: an interval that takes copies for independent draws is then too
narrow by 2.5 %."""


@dataclass(frozen=True)
class Copies:
    """How many there are, and how many of them are copies.

    `effect` is Kish's design effect: the sum of squared sizes of the sets of copies, over all.
    """

    number: int
    copies: int
    effect: float
    of_groups: bool = False

    @property
    def narrows(self) -> bool:
        """Whether an interval that takes copies for independent draws is noticeably too narrow."""
        return self.effect >= _LEAST_EFFECT


def copies(contents: Sequence[str], groups: Sequence[str] = ()) -> Copies:
    """Which contents occur again; within a group, which counts as one draw, they may."""
    of_groups = any(groups)
    distinct = list(dict.fromkeys(zip(contents, groups, strict=True))) if of_groups else []
    sizes = Counter(content for content, _ in distinct) if of_groups else Counter(contents)
    number = sum(sizes.values())
    effect = sum(size**2 for size in sizes.values()) / max(1, number)
    return Copies(number, number - len(sizes), effect, of_groups)


def copies_note(found: Copies, noun: str) -> str:
    """In words; `noun` is what they are: an input, or a case."""
    where = "one in another group, counted once a group" if found.of_groups else "another one"
    are = "is a copy" if found.copies == 1 else "are copies"
    return (
        f"{found.copies:,} of {found.number:,} {noun}s {are} of {where}: if they were copied and "
        f"not drawn anew, intervals about all such {noun}s are too narrow; leave copies out"
    )
