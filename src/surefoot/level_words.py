"""A level or a radius that was stated, in the form in which it was: the same everywhere."""

from __future__ import annotations


def level_words(level: float) -> str:
    """A level as its user would write it: 8/255 rather than 0.0313725."""
    short = f"{level:.6g}"
    of_255 = level * 255
    if len(short) > 5 and abs(of_255 - round(of_255)) < 1e-9:
        return f"{round(of_255)}/255"
    return short
