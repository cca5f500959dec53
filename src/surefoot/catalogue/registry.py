"""Perturbations and properties by name; how values are described and how people write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from surefoot import perturb
from surefoot.core.procedure import Needs
from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.models.python import import_object
from surefoot.perturb import Feature, OneHot
from surefoot.properties import OF_CLASSES, OF_OUTPUTS, Kept
from surefoot.records.options import refused
from surefoot.subject.protocols import Item, Perturbation, Property, Reference
from surefoot.system.text import level_words
from surefoot.system.user_code import describe_function

Definition = type[Any]
"""A class of the catalogue: its protocol, its kind, and fields of its own."""
Options = dict[str, Any]
"""Fields by their names, as JSON or text states them."""
PERTURBATIONS: dict[str, Definition] = {class_.kind: class_ for class_ in perturb.CATALOGUE}
"""The catalogue, by the name that a command line has for it."""
UNLISTED: dict[str, Definition] = {class_.kind: class_ for class_ in perturb.UNLISTED}
COMBINED: dict[str, Definition] = {
    **dict(zip(("random-level", "chain", "mixture"), perturb.COMBINED, strict=True)),
    **UNLISTED,
}
"""What a record may name beside the catalogue."""
PROPERTIES: dict[str, Definition] = {class_.kind: class_ for class_ in (*OF_CLASSES, *OF_OUTPUTS)}
_OTHER_WORDS = {"correct": "true", "accuracy": "true", "label": "true", "unchanged": "same"}
"""What people call a property who have not met its name."""
_WHOLE = ("k", "label", "ignore")
"""Options of properties that are whole numbers."""


def describe_perturbation(value: Perturbation) -> Options:
    """A perturbation as its kind and its fields, and so its parts."""
    return describe(value, PERTURBATIONS | COMBINED)


def describe(value: Any, known: dict[str, Definition]) -> Options:  # noqa: ANN401  a perturbation, property or method
    """A value as its kind and its fields; a class of the user's own by its full name."""
    own = getattr(value, "describe", None)
    if own is not None:
        fields_of_own: Options = own()
        return {"kind": value.kind, **fields_of_own}
    kind = next((name for name, class_ in known.items() if class_ is type(value)), None)
    if kind is None:
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"kind": kind, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}


def _plain(value: Any) -> Any:  # noqa: ANN401  any object
    """What JSON can hold; a perturbation within a perturbation by its kind."""
    if is_dataclass(value) and hasattr(value, "apply"):
        return describe(value, PERTURBATIONS | COMBINED)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if callable(value):
        return describe_function(value)
    return value.item() if hasattr(value, "item") else value


def number(text: str) -> float:
    """A number as a person writes it: 0.03, 3e-2 or 8/255."""
    if text.strip().endswith("%"):
        per_cent = number(text.rstrip(" %"))
        raise InvalidArgument(f"{text!r} is not a number: write {per_cent / 100:.12g}")
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


def _meaning(name: str) -> str:
    """What a property holds the model to, in a few words: the first line of its docstring."""
    line = (PROPERTIES[name].__doc__ or "").partition("\n")[0]
    return line[:1].lower() + line[1:].rstrip(".").replace("`", "")


def parse_property(text: str) -> Property:
    """A property as a person writes it: `same`, `topk:5`, `close:5%,of=true`, `@module:name`.

    KIND:VALUE, further options as ,name=value; @module:name is one of your own, or a function for
    `Kept`.
    """
    if text.startswith("@"):
        return _own_property(text[1:])
    kind, _, value = text.partition(":")
    if kind not in PROPERTIES:
        meant = _OTHER_WORDS.get(kind) or next(iter(get_close_matches(kind, PROPERTIES, n=1)), "")
        others = [name for name in PROPERTIES if name != meant]
        there = "choose one of " + "; ".join(f"{name} ({_meaning(name)})" for name in others)
        if meant:
            there = f"do you mean {meant} ({_meaning(meant)})? Others are {', '.join(others)}"
        raise InvalidArgument(
            f"there is no property {kind!r}: {there}; or write @module:name for one of your own"
        )
    names = [f.name for f in fields(PROPERTIES[kind])]
    if value and not names:
        raise InvalidArgument(f"{kind} takes no value, got {value!r}: leave it out")
    options = _property_options(kind, value, names) if value else {}
    parsed: Property = PROPERTIES[kind](**options)
    return parsed


def _property_options(kind: str, text: str, names: list[str]) -> Options:
    """The first value by its place, all others by their names."""
    first, *others = (part.strip() for part in text.split(","))
    if "=" not in first:
        name = "of" if first in tuple(Reference) and "of" in names else names[0]
        if first.endswith("%") and "share" in names:
            name = "share"
        first = f"{name}={first}"
    options: Options = {}
    for pair in (first, *others):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in names:
            raise InvalidArgument(
                f"{kind} has no option {pair!r}: it takes {', '.join(names)}; use one of them"
            )
        if name in options:
            raise InvalidArgument(f"{kind} has {name} twice: {text}; give it once")
        options[name] = value if name == "of" else _amount(kind, name, value)
    return options


def _amount(kind: str, name: str, text: str) -> float | int:
    """A number, or a percentage of a share; a whole number where one is needed."""
    if text.endswith("%") and name == "share":
        return number(text[:-1]) / 100
    amount = number(text)
    if name not in _WHOLE:
        return amount
    if not amount.is_integer():
        raise InvalidArgument(f"{kind}.{name} must be an integer, got {text}")
    return int(amount)


def _own_property(text: str) -> Property:
    """A property of the user's own, or a function of two outputs, from an importable module."""
    value: Any = import_object(text)
    if hasattr(value, "severity") and not isinstance(value, type):
        own: Property = value
        return own
    if callable(value) and not isinstance(value, type):
        return Kept(value)
    raise InvalidArgument(
        f"@{text} is {type(value).__name__}: give a property, or a function of two outputs (see "
        "sf.properties.Kept)"
    )


def numbers(
    name: str, value: str | Sequence[float] | float | None, example: str
) -> tuple[float, ...] | None:
    """Numbers with commas between them, or a sequence of numbers: of the option `name`."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return tuple(number(part) for part in value.split(","))
        except InvalidArgument:
            raise refused(
                name,
                value,
                f"must be numbers with commas between them, such as {example}, got {value!r}",
            ) from None
    return tuple(float(part) for part in np.atleast_1d(np.asarray(value, dtype=float)))


MOST_DIGITS = 18
"""Of a whole number: what 64 bits hold. Python refuses to read texts of thousands of digits."""


def texts(value: str | Sequence[Item] | None) -> list[str]:
    """Parts of a text with commas, or of a sequence."""
    if value is None:
        return []
    return value.split(",") if isinstance(value, str) else [str(part) for part in value]


def _integers(value: str | Sequence[Item], separator: str) -> list[int] | None:
    """Positive integers; None if one is not."""
    parts = value.lower().split(separator) if isinstance(value, str) else list(value)
    texts = [str(part).strip() for part in parts]
    plain = all(text.isdecimal() and len(text) <= MOST_DIGITS for text in texts)
    return [int(text) for text in texts] if plain else None


def shape(value: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """The shape of one input."""
    if value is None:
        return None
    parts = _integers(value, ",")
    if not parts or min(parts) < 1:
        raise InvalidArgument(
            f"shape (--shape) must be the shape of one input, as 1,28,28, got {value!r}"
        )
    return tuple(parts)


def size(value: str | Sequence[int] | None) -> tuple[int, int] | None:
    """Height and width."""
    if value is None:
        return None
    parts = _integers(value, "x")
    if parts is None or len(parts) != 2:
        raise InvalidArgument(f"size (--size) must be HEIGHTxWIDTH, as 224x224, got {value!r}")
    return parts[0], parts[1]


def open_phrase(phrase: str) -> str:
    """What a perturbation does, where its level is left open."""
    return f"{phrase.replace('{level}', 's')}; s is the level"


def perturbation_words(
    perturbation: Perturbation, bounds: Interval | None, needs: Needs, *, whole_numbers: bool
) -> str:
    """What is sampled, exactly: the distribution, its parameters, clipping and rounding."""
    if needs in (Needs.REGION, Needs.RADII):
        within = "" if bounds is None else f" inside [{bounds.low:g}, {bounds.high:g}]"
        level = perturbation.level
        radius = "" if level is None else f" of radius {level_words(level)}"
        return f"any point of the {getattr(perturbation, 'ball', '')} ball{radius}{within}"
    open_ = perturbation.level is None and "{level}" in perturbation.phrase
    symbol = "s" if perturbation.level is None else level_words(perturbation.level)
    bounds = bounds if getattr(perturbation, "clip", True) else None
    clip = "" if bounds is None else f", then clipped to [{bounds.low:g}, {bounds.high:g}]"
    clip += ", then rounded to whole numbers" if whole_numbers else ""
    clip += "; s is the level" if open_ else ""
    return perturbation.phrase.replace("{level}", symbol) + clip


_INPUTS = {"values": "any", "image": "images", "series": "signals", "text": "texts"}
_COLOUR = "colour images"


@dataclass(frozen=True)
class Entry:
    """One perturbation of the catalogue."""

    kind: str
    of: str
    levels: str
    unit: str
    severities: str
    options: str
    about: str
    definition: str


def entries() -> list[Entry]:
    """Every registered perturbation, in order."""
    listed = []
    for kind, definition in PERTURBATIONS.items():
        options = [f.name for f in fields(definition) if f.name != "level"]
        needed = {"features": (Feature("value", noise=1.0),)} if "features" in options else {}
        example = definition(level=0.0, **needed)
        entry = Entry(
            kind=kind,
            of=_COLOUR if hasattr(definition, "needs_channels") else _INPUTS[str(example.view)],
            levels=_level_range(example),
            unit=example.levels.unit,
            severities=_severities(getattr(definition, "presets", None)),
            options=", ".join(options),
            about=(definition.__doc__ or "").splitlines()[0],
            definition=" ".join((definition.__doc__ or "").split()),
        )
        listed.append(entry)
    return listed


def _level_range(example: Perturbation) -> str:
    """The levels that mean something; below 0 where there is a direction."""
    high = example.levels(UNIT).high
    if high != example.levels(None).high:
        return "0 to the width of the bounds, if any"
    if not math.isfinite(high):
        return "any" if getattr(example, "signed", False) else "0 and above"
    low = getattr(example, "least", -high) if getattr(example, "signed", False) else 0.0
    return f"{low:g} to {high:g}"


def _severities(presets: dict[str, tuple[float, ...]] | None) -> str:
    if presets is None:
        return ""
    small, large = (" ".join(f"{v:.3g}" for v in presets[size]) for size in ("small", "large"))
    return small if small == large else f"{small}; {large}"


def perturbation_of(kind: str, options: Mapping[str, Any]) -> Perturbation:
    """A perturbation of the catalogue, and its parts, from what a record says of it."""
    catalogue = PERTURBATIONS | COMBINED
    if kind not in catalogue:
        raise InvalidArgument(f"{kind} is not in the catalogue: run the study again in Python")
    values = {name: _value(value) for name, value in options.items()}
    perturbation: Perturbation = catalogue[kind](**values)
    return perturbation


def _value(value: Any) -> Any:  # noqa: ANN401  what JSON holds
    if isinstance(value, list):
        return tuple(map(_value, value))
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        return perturbation_of(value["kind"], {n: v for n, v in value.items() if n != "kind"})
    fields = {name: _value(part) for name, part in value.items()}
    return OneHot(**fields) if "names" in fields else Feature(**fields)
