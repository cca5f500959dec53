"""A study of a file as the one command that repeats it: who has no study file can type it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from surefoot.gate.study_options import StudyCommand
from surefoot.store.locations import public_location

_SEPARATORS = {"size": "x"}
"""Between the parts of a list; a comma else."""


def shell_command(command: StudyCommand, values: Mapping[str, Any]) -> str:
    """The command with every option that is not its default, as a shell takes it."""
    words = ["surefoot", command.name]
    for name in ("model", "data"):
        words += _texts(values[name])
    subjects = [name for name in command.subjects if name not in ("model", "data")]
    for name in subjects:
        words += [word for text in _texts(values[name]) for word in _option(name, text)]
    for name, parameter in command.parameters.items():
        value = values.get(name)
        if name not in values or value is None or value == parameter.default:
            continue
        if isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
            continue
        several = isinstance(value, list) and parameter.option and parameter.option.repeats
        parts = value if several else [value]
        words += [word for part in parts for word in _option(name, _text(name, part))]
    return shlex.join(public_location(word) for word in words)


def _option(name: str, text: str) -> list[str]:
    """The option with its value; joined where that could be taken for an option itself."""
    flag = f"--{name.replace('_', '-')}"
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _texts(value: Any) -> list[str]:  # noqa: ANN401  one subject or several
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _text(name: str, value: Any) -> str:  # noqa: ANN401  what a file of TOML holds
    """The value as it is typed: lists with commas, tables as name=value."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(name, one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return _SEPARATORS.get(name, ",").join(_text(name, one) for one in value)
    return repr(value) if isinstance(value, float) else str(value)
