"""Name ↔ class, and the short form in which a command line writes them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.perturb import GaussianNoise, L1Noise, L2Noise, LinfNoise, UniformNoise
from surefoot.properties import NoConfidentMistake, SameLabel, TopK, TrueLabel
from surefoot.statistics import (
    BuSun,
    ExactBinomial,
    ExactSequential,
    FixedSize,
    KappaTest,
    NormalTail,
    Okamoto,
)
from surefoot.subject import Perturbation, Property

PERTURBATIONS: dict[str, type[Any]] = {
    p.kind: p for p in (LinfNoise, L2Noise, L1Noise, GaussianNoise, UniformNoise)
}
PROPERTIES: dict[str, type[Any]] = {
    p.kind: p for p in (SameLabel, TrueLabel, TopK, NoConfidentMistake)
}
PROCEDURES: dict[str, type[Any]] = {
    "exact-sequential": ExactSequential,
    "bu-sun": BuSun,
    "fixed-size": FixedSize,
    "okamoto": Okamoto,
}
TESTS: dict[str, type[Any]] = {"kappa-test": KappaTest, "exact-binomial": ExactBinomial}
TAILS: dict[str, type[Any]] = {"normal-tail": NormalTail}
METHODS: dict[str, type[Any]] = {**PROCEDURES, **TESTS, **TAILS}


def describe(value: Any, known: dict[str, type[Any]]) -> dict[str, Any]:  # noqa: ANN401
    """A value as its kind and its fields; a class of the user's own by its full name."""
    kind = next((name for name, made in known.items() if made is type(value)), None)
    if kind is None:
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
    fields_as_json: dict[str, Any] = json.loads(json.dumps(asdict(value)))
    return {"kind": kind, **fields_as_json}


def number(text: str) -> float:
    """A number as a person writes it: 0.03, 3e-2 or 8/255."""
    above, slash, below = text.strip().partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise InvalidArgument(f"{text!r} is no number: write 0.03 or 8/255") from None
    if not math.isfinite(value):
        raise InvalidArgument(f"{text!r} is no number to compute with: write 0.03 or 8/255")
    return value


def share(name: str, text: str) -> float:
    """A number between 0 and 1."""
    value = number(text)
    if not 0 <= value <= 1:
        raise InvalidArgument(f"{name} lies between 0 and 1, got {text}: write 0.99 for 99 %")
    return value


def parse_perturbation(text: str) -> Perturbation:
    """`linf:8/255` or `uniform:0.8,lowest=-0.5` as a perturbation."""
    kind, colon, rest = text.partition(":")
    if kind not in PERTURBATIONS:
        raise InvalidArgument(
            f"there is no perturbation {kind!r}: choose one of {', '.join(PERTURBATIONS)}, "
            "for example linf:8/255"
        )
    if not colon or not rest:
        raise InvalidArgument(f"{kind} needs a level: write {kind}:8/255 or {kind}:0.1")
    level, *others = rest.split(",")
    made = PERTURBATIONS[kind]
    options = {"level": number(level), **_options(kind, others, made)}
    found: Perturbation = made(**options)
    return found


def parse_property(text: str) -> Property:
    """`same`, `true`, `topk:5` or `confident:0.6` as a property."""
    kind, _, value = text.partition(":")
    if kind not in PROPERTIES:
        raise InvalidArgument(
            f"there is no property {kind!r}: choose one of {', '.join(PROPERTIES)}"
        )
    made = PROPERTIES[kind]
    names = [f.name for f in fields(made)]
    if value and not names:
        raise InvalidArgument(f"{kind} takes no value, got {value!r}")
    if not value:
        plain: Property = made()
        return plain
    amount = number(value)
    given: Property = made(int(amount) if amount.is_integer() and kind == "topk" else amount)
    return given


def _options(kind: str, pairs: list[str], made: type[Any]) -> dict[str, float]:
    names = [f.name for f in fields(made) if f.name != "level"]
    options: dict[str, float] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name.strip() not in names:
            allowed = f"it takes {', '.join(names)}" if names else "it takes the level only"
            raise InvalidArgument(f"{kind} has no option {pair!r}: {allowed}")
        options[name.strip()] = number(value)
    return options
