"""What the catalogue holds, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from surefoot.perturb import Feature
from surefoot.results import Interval
from surefoot.study.registry import PERTURBATIONS

_UNIT = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Entry:
    """One perturbation of the catalogue."""

    kind: str
    of: str
    levels: str
    severities: str
    options: str
    about: str
    definition: str


def entries() -> list[Entry]:
    """Every registered perturbation, in order."""
    return [_entry(kind, made) for kind, made in PERTURBATIONS.items()]


def _entry(kind: str, made: type[Any]) -> Entry:
    example = made(level=0.0, **_needed(made))
    options = [f.name for f in fields(made) if f.name != "level"]
    return Entry(
        kind=kind,
        of={"values": "any", "image": "images", "series": "signals"}[str(example.view)],
        levels=_span(example),
        severities=_severities(getattr(made, "presets", None)),
        options=", ".join(options),
        about=(made.__doc__ or "").splitlines()[0],
        definition=" ".join((made.__doc__ or "").split()),
    )


def _needed(made: type[Any]) -> dict[str, Any]:
    """What an example needs besides its level."""
    named = any(f.name == "features" for f in fields(made))
    return {"features": (Feature("value", noise=1.0),)} if named else {}


def _span(example: Any) -> str:  # noqa: ANN401  any of the catalogue
    """The levels that mean something; below 0 where there is a direction."""
    high = example.levels(_UNIT).high
    if not math.isfinite(high):
        return "any" if getattr(example, "signed", False) else "0 and above"
    low = getattr(example, "least", -high) if getattr(example, "signed", False) else 0.0
    return f"{low:g} to {high:g}"


def _severities(presets: dict[str, tuple[float, ...]] | None) -> str:
    if presets is None:
        return ""
    small, large = (" ".join(f"{v:.3g}" for v in presets[size]) for size in ("small", "large"))
    return small if small == large else f"{small}; {large}"
