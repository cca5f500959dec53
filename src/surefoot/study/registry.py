"""Name ↔ class, and the short form in which a command line writes them."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from surefoot import perturb
from surefoot.errors import InvalidArgument
from surefoot.population import CriticalQuantile
from surefoot.properties import Confidence, NoConfidentMistake, SameLabel, TopK, TrueLabel
from surefoot.search import (
    AdaptiveCurve,
    Attack,
    CriticalLevel,
    QuadCurve,
    RandomCurve,
    SequentialCurve,
    UniformCurve,
)
from surefoot.statistics import (
    BuSun,
    ExactBinomial,
    ExactSequential,
    FixedSize,
    KappaTest,
    NormalTail,
    Okamoto,
)
from surefoot.subject import Property, Reference

CATALOGUE: tuple[type[Any], ...] = (
    *perturb.VALUES,
    *perturb.BLURS,
    *perturb.WEATHER,
    *perturb.DIGITAL,
    *perturb.GEOMETRY,
    *perturb.COVERING,
    *perturb.SIGNALS,
    perturb.TableNoise,
)
PERTURBATIONS: dict[str, type[Any]] = {p.kind: p for p in CATALOGUE}
_KINDS: dict[str, type[Any]] = {
    **PERTURBATIONS,
    "spread": perturb.Spread,
    "chain": perturb.Chain,
    "mixture": perturb.Mixture,
}
PROPERTIES: dict[str, type[Any]] = {
    p.kind: p for p in (SameLabel, TrueLabel, TopK, NoConfidentMistake, Confidence)
}
PROCEDURES: dict[str, type[Any]] = {
    "exact-sequential": ExactSequential,
    "bu-sun": BuSun,
    "fixed-size": FixedSize,
    "okamoto": Okamoto,
}
TESTS: dict[str, type[Any]] = {"kappa-test": KappaTest, "exact-binomial": ExactBinomial}
TAILS: dict[str, type[Any]] = {"normal-tail": NormalTail}
CURVES: dict[str, type[Any]] = {
    "sequential": SequentialCurve,
    "asap": AdaptiveCurve,
    "uniform": UniformCurve,
    "random": RandomCurve,
    "quad": QuadCurve,
}
METHODS: dict[str, type[Any]] = {
    **PROCEDURES,
    **TESTS,
    **TAILS,
    **{f"{name}-curve": made for name, made in CURVES.items()},
    "attack": Attack,
    "critical-level": CriticalLevel,
    "critical-quantile": CriticalQuantile,
}


def describe_perturbation(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """A perturbation as its kind and its fields, and so its parts."""
    return describe(value, _KINDS)


def describe(value: Any, known: dict[str, type[Any]]) -> dict[str, Any]:  # noqa: ANN401
    """A value as its kind and its fields; a class of the user's own by its full name."""
    own = getattr(value, "describe", None)
    if own is not None:
        told: dict[str, Any] = own()
        return {"kind": value.kind, **told}
    kind = next((name for name, made in known.items() if made is type(value)), None)
    if kind is None:
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"kind": kind, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}


def _plain(value: Any) -> Any:  # noqa: ANN401
    """What JSON can hold; a perturbation within a perturbation by its kind."""
    if is_dataclass(value) and hasattr(value, "apply"):
        return describe(value, _KINDS)
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
        raise InvalidArgument(f"{text!r} is no number: write 0.03 or 8/255") from None
    if not math.isfinite(value):
        raise InvalidArgument(f"{text!r} is no number to compute with: write 0.03 or 8/255")
    return value


def parse_property(text: str) -> Property:
    """`same`, `true`, `topk:5`, `confident:0.6` or `confidence:0.5` as a property."""
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
    if kind == "confidence" and value in tuple(Reference):
        of: Property = made(of=value)
        return of
    amount = number(value)
    given: Property = made(int(amount) if amount.is_integer() and kind == "topk" else amount)
    return given
