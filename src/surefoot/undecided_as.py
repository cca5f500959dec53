"""What a test framework, which has no word for it, does with a requirement that is undecided."""

from __future__ import annotations

from typing import Literal, get_args

UndecidedAs = Literal["fail", "skip", "pass"]
UNDECIDED_CHOICES: tuple[UndecidedAs, ...] = get_args(UndecidedAs)
"""The same words for pytest, for JUnit and for a single assertion; the first is the default."""
