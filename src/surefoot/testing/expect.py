"""One way to say what was expected."""

from __future__ import annotations


def expect(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with a sentence."""
    if not holds:
        raise AssertionError(otherwise)
