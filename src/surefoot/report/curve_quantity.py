"""What a robustness curve is of, against what, and the quantities that are read off it."""

from __future__ import annotations

import re

from surefoot.core.assumptions import CurveShape
from surefoot.core.claims import CurveQuantity, Height
from surefoot.core.results import Interval, Reading
from surefoot.records.spec import PartSpec, StudySpec
from surefoot.system.text import level_words

_HEIGHTS = {"true": Height.ACCURACY, "confidence": Height.CONFIDENCE, "same": Height.LABELS_KEPT}
_JOINED = {"chain": " + ", "mixture": " or "}
_UNIT = re.compile(r"\bs (degrees|pixels|dB)\b")
"""The unit after the level, in what a perturbation says of itself."""
_UNIT_AFTER = re.compile(r"\d (degrees|pixels|dB)\b")
"""The same where the level is a number."""


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


def perturbation_at_level(study: StudySpec) -> str:
    """The perturbation with its level, in a few words: blur 1.3 pixels, rotation -10 to 10 degrees.

    Several together have levels of their own, which the words of the study name.
    """
    part, options = study.perturbation, study.perturbation.options
    name, level = perturbation_name(part), part.number("level")
    if level is None or options.get("parts"):
        return name
    inner, lowest = options.get("inner"), part.number("lowest") or 0.0
    span = level_words(level)
    if isinstance(inner, dict) and options.get("law") == "uniform":
        name, span = _part_name(inner), f"{lowest * level:g} to {span}"
    found = _UNIT_AFTER.search(study.words.perturbation)
    unit = "" if found is None else f" {found[1].rstrip('s') if span == '1' else found[1]}"
    return f"{name} {span}{unit}"


def quantity_of(
    study: StudySpec, span: Interval, *readings: Reading, is_share: bool
) -> CurveQuantity:
    """What is read off the curve of a study: the robustness of ASAP is a share of the levels.

    After a contradiction an interval holds for both kinds of shares.
    """
    assumed = [one for reading in readings for one in reading.guarantee.assumptions]
    shapes = [one for one in assumed if isinstance(one, CurveShape)]
    around = any(one.shape == "bounded-rise" and not one.contradicted for one in shapes)
    return CurveQuantity(
        curve_quantity(study.property.kind),
        perturbation_name(study.perturbation),
        unit_of_levels(study.perturbation, study.words.perturbation),
        span,
        is_share,
        around_clean=is_share and around,
    )
