"""Perturbations of the user's own on the command line: `mine.py:halve:0.5`, `@module:name:0..1`."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, replace
from typing import Any

from surefoot.catalogue.registry import number
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.models.python import import_object
from surefoot.perturb import RandomLevel, custom
from surefoot.subject.protocols import Perturbation

_OWN = re.compile(
    r"\s*(?P<name>(?:.*\.py|@[A-Za-z_][\w.]*):[A-Za-z_][\w.]*)"
    r"(?::(?P<level>[^,]*))?(?:,(?P<options>.*))?\s*"
)
_JOINT = re.compile(r"\+(?=\s*(?:[A-Za-z@_]|\.{0,2}/|~/))")
"""A plus sign between two perturbations; not the one of 1e+2."""


@dataclass(frozen=True)
class OwnText:
    """A perturbation of the user's own as it is written: its Python name, and its level."""

    name: str
    level: str

    def at(self, level: str) -> str:
        """The same at another level."""
        return f"{self.name}:{level}"


def parts_of(text: str) -> list[str]:
    """The perturbations that are written one after the other, such as blur:1+jpeg:0.5."""
    return _JOINT.split(text)


def own_text(text: str) -> OwnText | None:
    """What a text says of one perturbation of the user's own; None where it is something else."""
    match = _OWN.fullmatch(text)
    if match is None or "|" in text or len(parts_of(text)) > 1:
        return None
    if match["options"]:
        raise InvalidArgument(
            f"{match['name']} takes the level only, got {match['options']!r}: let the function "
            "have its own defaults"
        )
    return OwnText(match["name"], (match["level"] or "").strip())


def own_perturbation(own: OwnText) -> Perturbation:
    """At one level, at a random one of a range, or at the level that it brings along."""
    value = _load(own.name)
    if not own.level:
        if getattr(value, "level", None) is None:
            raise InvalidArgument(f"{own.name} needs a level: write {own.at('0.1')}")
        return value
    low, dots, high = own.level.partition("..")
    if not dots:
        return _at_level(own, value, number(own.level))
    ends = number(low), number(high)
    if not 0 <= ends[0] < ends[1]:
        raise InvalidArgument(
            f"{own.at(own.level)}: a range runs from its lowest to its highest strength: write 0..1"
        )
    return RandomLevel(ends[1], _at_level(own, value, ends[1]), round(ends[0] / ends[1], 12))


def own_range(own: OwnText) -> tuple[Perturbation, Interval]:
    """With an open level, and the levels to go through: from 0 where only the highest is given."""
    value: Any = _load(own.name)
    low, dots, high = own.level.partition("..")
    if not own.level and value.level is None:
        raise InvalidArgument(f"{own.name} needs a range of levels: write {own.at('0..1')}")
    if dots:
        ends = number(low), number(high)
    else:
        ends = 0.0, number(own.level) if own.level else float(value.level)
    if not 0 <= ends[0] < ends[1]:
        raise InvalidArgument(
            f"{own.at(own.level)}: a range of levels goes from a lower to a higher one, at least "
            f"0: write {own.at('0..1')}"
        )
    return replace(value, level=None), Interval(*ends)


def explain_own(own: OwnText) -> str:
    """What it does: its phrase, and the docstring of its function."""
    value: Any = _load(own.name)
    text = inspect.getdoc(getattr(value, "function", value)) or ""
    return "\n\n".join(filter(None, [value.phrase.replace("{level}", "s"), text]))


def _at_level(own: OwnText, value: Any, level: float) -> Perturbation:  # noqa: ANN401  of a function of the user
    if isinstance(value, RandomLevel) or not any(f.name == "level" for f in fields(value)):
        raise InvalidArgument(
            f"{own.name} has levels of its own: leave out {own.level}, or name the function "
            "that it is made of"
        )
    at_level: Perturbation = replace(value, level=level)
    return at_level


def _load(name: str) -> Perturbation:
    """What a Python name stands for: a perturbation, a class of perturbations, or a function."""
    value: Any = import_object(name.removeprefix("@"))
    if isinstance(value, type) and hasattr(value, "apply"):
        try:
            value = replace(value(level=0.0), level=None)
        except TypeError as error:
            raise InvalidArgument(
                f"{name} cannot be made from its level alone ({error}): name a value of it"
            ) from error
    if hasattr(value, "apply") and hasattr(value, "draw"):
        perturbation: Perturbation = value
        return perturbation
    if not callable(value) or isinstance(value, type):
        raise InvalidArgument(
            f"{name} is {type(value).__name__}, not a perturbation: name a function of "
            "(x, rng, level), or a value as sf.perturb.custom makes it"
        )
    own: Perturbation = custom(value)
    return own
