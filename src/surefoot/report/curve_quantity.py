"""What a robustness curve is of, against what, and the quantities that are read off it."""

from __future__ import annotations

import re

from surefoot.core.claims import CurveQuantity, Height
from surefoot.core.results import Interval
from surefoot.records.spec import PartSpec, StudySpec

_HEIGHTS = {"true": Height.ACCURACY, "confidence": Height.CONFIDENCE, "same": Height.LABELS_KEPT}
_JOINED = {"chain": " + ", "mixture": " or "}
_UNIT = re.compile(r"\bs (degrees|pixels|dB)\b")
"""The unit after the level, in what a perturbation says of itself."""


def curve_quantity(property_kind: str) -> Height:
    """The height of the curve."""
    return _HEIGHTS.get(property_kind, Height.INPUTS_KEPT)


def perturbation_name(perturbation: PartSpec) -> str:
    """What the levels are of; of several perturbations, all of them."""
    parts = perturbation.options.get("parts")
    if perturbation.kind in _JOINED and parts:
        return _JOINED[perturbation.kind].join(_part_name(part) for part in parts)
    return _part_name({"kind": perturbation.kind, **perturbation.options})


def _part_name(part: dict[str, object]) -> str:
    inner = part.get("inner")
    return f"random {_part_name(inner)}" if isinstance(inner, dict) else str(part["kind"])


def unit_of_levels(perturbation: PartSpec, words: str) -> str:
    """The unit of its levels, if `words` say one; empty of several perturbations."""
    unit = _UNIT.search(words)
    return unit[1] if unit and perturbation_name(perturbation) == perturbation.kind else ""


def levels_name(study: StudySpec) -> str:
    """The perturbation, and the unit of its levels: rotation in degrees."""
    unit = unit_of_levels(study.perturbation, study.words.perturbation)
    return perturbation_name(study.perturbation) + (f" in {unit}" if unit else "")


def quantity_of(study: StudySpec, span: Interval, *, is_share: bool) -> CurveQuantity:
    """What is read off the curve of a study: the robustness of ASAP is a share of the levels."""
    return CurveQuantity(
        curve_quantity(study.property.kind),
        perturbation_name(study.perturbation),
        unit_of_levels(study.perturbation, study.words.perturbation),
        span,
        is_share,
    )
