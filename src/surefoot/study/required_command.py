"""The command that gives a result with a verdict on what was required of it later."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from surefoot.records.record import Requirements

_OPTIONS = {
    "least": "--require",
    "of_these": "--require-these",
    "of_each_class": "--require-each",
}
"""Of a command, and of `surefoot export`."""


def required_command(command: str, required: Requirements) -> str:
    """The command of a run, with this in place of what it required; empty where there is none.

    One that shows a stored run requires nothing, and a shell names no model of several.
    """
    asked = {name: value for name, value in vars(required).items() if value is not None}
    if command.startswith("sf."):
        return f"{command}.require({', '.join(f'{name}={v!r}' for name, v in asked.items())})"
    shown = command.startswith("surefoot show ")
    if not command.startswith("surefoot ") or shown or required.not_worse is not None:
        return ""
    try:
        words = _without_requirements(shlex.split(command))
    except ValueError:  # an evidence file may call anything a command
        return ""
    return shlex.join(
        [*words, *(word for name, v in asked.items() for word in (_OPTIONS[name], _text(v)))]
    )


def _without_requirements(words: list[str]) -> list[str]:
    """An option and its value are two words, or one with an equal sign between them."""
    kept, is_value = [], False
    for word in words:
        option, equal, _ = word.partition("=")
        required = option in _OPTIONS.values() and not is_value
        if not required and not is_value:
            kept.append(word)
        is_value = required and not equal
    return kept


def _text(value: float | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={number!r}" for name, number in value.items())
    return repr(value)
