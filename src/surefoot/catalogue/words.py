"""What is applied to an input, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from surefoot.catalogue.registry import COMBINED, PERTURBATIONS
from surefoot.core.procedure import Needs
from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb import Feature, OneHot
from surefoot.subject.protocols import Perturbation
from surefoot.system.text import level_words


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
