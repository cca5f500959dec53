"""Perturbations and properties by name; how values are described and how people write them."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from surefoot import perturb
from surefoot.errors import InvalidArgument
from surefoot.properties import Confidence, NoConfidentMistake, SameLabel, TopK, TrueLabel
from surefoot.subject import Property, Reference

PERTURBATIONS: dict[str, type[Any]] = {
    class_.kind: class_
    for group in (
        perturb.VALUES,
        perturb.BLURS,
        perturb.WEATHER,
        perturb.DIGITAL,
        perturb.GEOMETRY,
        perturb.OCCLUSION,
        perturb.SIGNALS,
        perturb.TABLES,
    )
    for class_ in group
}
"""The catalogue, by the name that a command line has for it."""
_COMBINED: dict[str, type[Any]] = dict(
    zip(("random-level", "chain", "mixture"), perturb.COMBINED, strict=True)
)
PROPERTIES: dict[str, type[Any]] = {
    class_.kind: class_ for class_ in (SameLabel, TrueLabel, TopK, NoConfidentMistake, Confidence)
}


def describe_perturbation(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """A perturbation as its kind and its fields, and so its parts."""
    return describe(value, PERTURBATIONS | _COMBINED)


def describe(value: Any, known: dict[str, type[Any]]) -> dict[str, Any]:  # noqa: ANN401
    """A value as its kind and its fields; a class of the user's own by its full name."""
    own = getattr(value, "describe", None)
    if own is not None:
        fields_of_own: dict[str, Any] = own()
        return {"kind": value.kind, **fields_of_own}
    kind = next((name for name, class_ in known.items() if class_ is type(value)), None)
    if kind is None:
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"kind": kind, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}


def _plain(value: Any) -> Any:  # noqa: ANN401
    """What JSON can hold; a perturbation within a perturbation by its kind."""
    if is_dataclass(value) and hasattr(value, "apply"):
        return describe(value, PERTURBATIONS | _COMBINED)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") else value


def number(text: str) -> float:
    """A number as a person writes it: 0.03, 3e-2 or 8/255."""
    above, slash, below = text.strip().partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise InvalidArgument(
            f"{text!r} is not a number: write it as 0.03 or 8/255 (5 % is 0.05)"
        ) from None
    if not math.isfinite(value):
        raise InvalidArgument(f"{text!r} is not a finite number: write it as 0.03 or 8/255")
    return value


def parse_property(text: str) -> Property:
    """`same`, `true`, `topk:5`, `confident:0.6` or `confidence:0.5` as a property."""
    kind, _, value = text.partition(":")
    if kind not in PROPERTIES:
        raise InvalidArgument(
            f"there is no property {kind!r}: choose one of {', '.join(PROPERTIES)}"
        )
    class_ = PROPERTIES[kind]
    names = [f.name for f in fields(class_)]
    if value and not names:
        raise InvalidArgument(f"{kind} takes no value, got {value!r}")
    if not value:
        default: Property = class_()
        return default
    if kind == "confidence" and value in tuple(Reference):
        confidence: Property = class_(of=value)
        return confidence
    amount = number(value)
    parsed: Property = class_(int(amount) if amount.is_integer() and kind == "topk" else amount)
    return parsed
