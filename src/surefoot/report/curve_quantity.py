"""What a robustness curve is of, against what, and the quantities that are read off it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from surefoot.core.results import Interval
from surefoot.records.spec import PartSpec, StudySpec

_QUANTITIES = {
    "true": "accuracy",
    "confidence": "mean confidence",
    "same": "share of labels kept",
}
_JOINED = {"chain": " + ", "mixture": " or "}
_QUANTITY = re.compile(
    r"(?:level up to which(?:, from (?P<start>\S+) on,)?"
    r"|share of the levels (?P<span>from \S+ to \S+) at which) "
    r"the (?P<height>.+?)(?: under (?P<perturbation>.+?)(?: in (?P<unit>degrees|pixels|dB))?)? is "
    r"at least"
)
_UNIT = re.compile(r"\bs (degrees|pixels|dB)\b")
"""The unit after the level, in what a perturbation says of itself."""


def curve_quantity(property_kind: str) -> str:
    """The noun phrase for the height of the curve."""
    return _QUANTITIES.get(property_kind, "share of inputs kept")


def perturbation_name(perturbation: PartSpec) -> str:
    """What the levels are of; of several perturbations, all of them."""
    parts = perturbation.options.get("parts")
    if perturbation.kind in _JOINED and parts:
        return _JOINED[perturbation.kind].join(_part_name(part) for part in parts)
    return _part_name({"kind": perturbation.kind, **perturbation.options})


def levels_name(perturbation: PartSpec, words: str) -> str:
    """The perturbation, and the unit of its levels if `words` say one: rotation in degrees."""
    name, unit = perturbation_name(perturbation), _UNIT.search(words)
    return f"{name} in {unit[1]}" if unit and name == perturbation.kind else name


def _part_name(part: dict[str, object]) -> str:
    inner = part.get("inner")
    return f"random {_part_name(inner)}" if isinstance(inner, dict) else str(part["kind"])


def level_quantity(height: str, perturbation: str, span: Interval) -> str:
    """The quantity of a curve that falls through its threshold once.

    Levels below the range are not evaluated, so that it names a lowest level that is not 0.
    """
    start = "" if span.low == 0 else f", from {span.low:g} on,"
    return f"level up to which{start} the {height} under {perturbation} is at least"


def share_quantity(height: str, perturbation: str, span: Interval) -> str:
    """The quantity of a curve's robustness, as ASAP defines it."""
    levels = f"share of the levels from {span.low:g} to {span.high:g}"
    return f"{levels} at which the {height} under {perturbation} is at least"


def robustness_quantity(study: StudySpec, span: Interval) -> str:
    """The same of the curve that a study measures."""
    name = levels_name(study.perturbation, study.words.perturbation)
    return share_quantity(curve_quantity(study.property.kind), name, span)


@dataclass(frozen=True)
class CurveQuantity:
    """A quantity of a curve in its parts; `span` is empty where it is a level.

    `start` is the lowest level of such a range, empty where that is 0.
    """

    height: str
    perturbation: str
    span: str
    unit: str = ""
    start: str = ""

    @classmethod
    def read(cls, text: str) -> CurveQuantity:
        """From the quantity of a claim."""
        parts = _QUANTITY.fullmatch(text)
        if parts is None:
            return cls("accuracy", "", "")
        names = ("height", "perturbation", "span", "unit", "start")
        return cls(*(parts[name] or "" for name in names))

    @property
    def levels(self) -> str:
        """All of them, as a noun phrase."""
        of = f" of {self.perturbation}" if self.perturbation else ""
        unit = f" {self.unit}" if self.span and self.unit else ""
        return f"levels{of} {self.span}".rstrip() + unit

    def at(self, level: str) -> str:
        """One level, or several, with the name of the perturbation."""
        if not self.perturbation or " " in self.perturbation:
            of = f" of {self.perturbation}" if self.perturbation else ""
            return f"level {level}{of}"
        return f"{self.perturbation} {level} {self.unit}".rstrip()

    def up_to(self, level: str) -> str:
        """From the lowest level of the range, which need not be named where it is 0."""
        if self.start:
            return f"from {self.at(f'{self.start} up to {level}')}"
        return f"up to {self.at(level)}"
