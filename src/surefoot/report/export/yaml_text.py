"""Plain data as YAML that every parser reads back as it was, of YAML 1.1 and of 1.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.system.text import escape

_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters, which no encoding can write."""


def yaml_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Mappings, lists, texts, numbers and None; keys are plain words."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> list[str]:  # noqa: ANN401  plain data
    """A mapping or a list, one entry a line."""
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            nested = _is_block(item)
            lines.append(f"{key}:" if nested else f"{key}: {_scalar(item)}")
            lines += [f"  {line}" for line in _lines(item)] if nested else []
        return lines
    for item in value:
        own = _lines(item) if _is_block(item) else [_scalar(item)]
        lines += [f"{'- ' if first == 0 else '  '}{line}" for first, line in enumerate(own)]
    return lines


def _is_block(value: Any) -> bool:  # noqa: ANN401  plain data
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


def _scalar(value: Any) -> str:  # noqa: ANN401  plain data
    match value:
        case str():
            return f'"{"".join(map(_character, value))}"'
        case float():
            return _number(value)
        case Mapping() | Sequence():
            return "{}" if isinstance(value, Mapping) else "[]"
        case _:
            return "null" if value is None else str(value).lower()


def _number(value: float) -> str:
    """To its last digit; YAML 1.1 takes 1e-09 for text and 1.0e-09 for a number."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}" if e else text


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if ord(character) in _SURROGATES:
        return f"\\{escape(character)}"
    return character if character.isprintable() else escape(character)
