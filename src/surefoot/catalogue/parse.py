"""From text to perturbations: `blur:2`, `linf:8/255`, `mine.py:halve:0.5`, `@module:name:0..1`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from surefoot.catalogue.registry import PERTURBATIONS, Options, number, open_phrase
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument, refusing
from surefoot.models.python import import_object
from surefoot.perturb import Chain, Mixture, NoPerturbation, RandomLevel, custom, load_features
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb._ops.definition import LONGEST_SMALL, Presets, Units
from surefoot.subject.protocols import Perturbation

Frame = tuple[int, ...]
"""The shape of an image; empty where inputs are none."""
_OWN = re.compile(
    r"\s*(?P<name>(?:.*\.py|@[A-Za-z_][\w.]*):[A-Za-z_][\w.]*)"
    r"(?::(?P<level>[^,]*))?(?:,(?P<options>.*))?\s*"
)
_JOINT = re.compile(r"\+(?=\s*(?:[A-Za-z@_]|\.{0,2}/|~/))")
"""A plus sign between two perturbations; not the one of 1e+2."""
_SPREAD = re.compile(r"(\btable:[^,+|]*?)\s*sd\s*(?=[,+|]|$)")
"""A level in standard deviations of each column: table:0.1sd."""
_TRIED: Any = re.compile(r"([^:=,\s]*)(?:\s*[:=\s]\s*([^,]*))?(.*)", re.DOTALL)
"""A name, a level and options, also with an equal sign or a space for the colon."""
_EXAMPLE = (
    "for example linf:8/255 for numbers, typos:0.1 for texts; `surefoot perturb --list` "
    "(docs/catalogue.md) shows all"
)


@dataclass(frozen=True)
class Written:
    """One perturbation as it is written: its name, its level or range of levels, its options.

    `own`: it is one of the user's own, and the name its Python name.
    """

    name: str
    level: str
    options: str = ""
    own: bool = False

    @cached_property
    def definition(self) -> Any:  # noqa: ANN401  of the catalogue a class, else a value
        """What the name stands for; None where the catalogue has no such name."""
        return _load(self.name) if self.own else PERTURBATIONS.get(self.name)

    @property
    def signed(self) -> bool:
        """Whether it has a direction, so that levels may be below 0."""
        return bool(getattr(self.definition, "signed", False))

    @property
    def presets(self) -> Presets | None:
        """Levels of published severities, where there are any."""
        return getattr(self.definition, "presets", None)

    @property
    def example(self) -> str:
        """A level to try."""
        return "20dB" if hasattr(self.definition, "read_level") else "0.1"

    def at(self, level: str) -> str:
        """The same at another level."""
        return f"{self.name}:{level}{self.options}"

    def write(self, level: float) -> str:
        """A level as text that is read back to exactly this one."""
        return str(getattr(self.definition, "write_level", repr)(level))

    def read(self, text: str, frame: Frame | None = None) -> float:
        """A number, with a unit where it has two; with a frame also a published severity.

        Severities run from s1 to s5; those between, such as s2.5, are interpolated.
        """
        text = text.strip()
        if hasattr(self.definition, "read_level"):
            return float(self.definition.read_level(text))
        if frame is not None and re.match(r"s\d", text):
            if self.presets is None:
                raise InvalidArgument(
                    f"{self.name} has no published severities: give its level, {self.name}:0.1"
                )
            severity = number(text[1:])
            if not 0 <= severity <= 5:
                raise InvalidArgument(
                    f"published severities run from s1 to s5, got {text}: write {self.name}:s3"
                )
            small = bool(frame) and max(frame) <= LONGEST_SMALL
            levels = (0.0, *self.presets["small" if small else "large"])
            below = min(int(severity), 4)
            return levels[below] + (severity - below) * (levels[below + 1] - levels[below])
        units: Units = getattr(self.definition, "units", {})
        unit = next((unit for unit in units if text.endswith(unit)), None)
        return number(text) if unit is None else units[unit](number(text.removesuffix(unit)))

    def ends(self, frame: Frame) -> tuple[float, float] | None:
        """The lowest and the highest level of a range; None where one level is written."""
        low, dots, high = self.level.partition("..")
        return (self.read(low, frame), self.read(high, frame)) if dots else None

    def make(self, level: float) -> Perturbation:
        """The perturbation at this level, with its options."""
        made: Perturbation
        if not self.own:
            made = self.definition(level=level, **self._options())
        elif self.level and (
            isinstance(self.definition, RandomLevel)
            or not any(f.name == "level" for f in fields(self.definition))
        ):
            raise InvalidArgument(
                f"{self.name} has levels of its own: leave out {self.level}, or name the function "
                "that it is made of"
            )
        else:
            made = replace(self.definition, level=level)
        return made

    def _options(self) -> Options:
        known = {f.name: str(f.type) for f in fields(self.definition) if f.name != "level"}
        options: Options = {}
        for pair in self.options.split(",")[1:]:
            name, equals, value = (part.strip() for part in pair.partition("="))
            if not equals or name not in known:
                allowed = f"it takes {', '.join(known)}; use one" if known else "leave it out"
                raise InvalidArgument(f"{self.name} has no option {pair!r}: {allowed}")
            if name == "features":
                options[name] = load_features(value)
            else:
                options[name] = value if known[name].startswith("str") else number(value)
        if self.name == "table" and not {"features", "relative_to"} & set(options):
            raise InvalidArgument(
                "table needs its features: write table:0.1sd for a tenth of the standard deviation "
                "of each column, or table:1,features=features.toml"
            )
        return options


def own_text(text: str) -> Written | None:
    """What a text says of one perturbation of the user's own; None where it is something else."""
    match = _OWN.fullmatch(text)
    if match is None or _is_combined(text):
        return None
    if match["options"]:
        raise InvalidArgument(
            f"{match['name']} takes the level only, got {match['options']!r}: let the function "
            "have its own defaults"
        )
    return Written(match["name"], (match["level"] or "").strip(), own=True)


def _written(text: str) -> Written:
    """What a text says of one perturbation, whether there is one of this name or not."""
    if (own := own_text(text)) is not None:
        return own
    head, comma, options = _with_spread(text).partition(",")
    name, _, level = head.partition(":")
    return Written(name, level.strip(), comma + options)


def _known(text: str) -> Written:
    """The same; a name that stands for nothing is refused, with the one that is meant."""
    one = _written(text)
    if one.definition is not None:
        return one
    kind, level, options = _TRIED.fullmatch(text).groups("")
    near = next(iter(get_close_matches(kind, PERTURBATIONS, n=1)), "")
    level = level or Written(near, "").example * (kind == near)
    meant = f"{near}{':' * bool(level)}{level}{options}"
    way_out = f"do you mean {meant}?" if near else f"choose one that exists, {_EXAMPLE}"
    raise InvalidArgument(f"there is no perturbation {text.partition(':')[0]!r}: {way_out}")


def _is_combined(text: str) -> bool:
    return "|" in text or _JOINT.search(text) is not None


def _with_spread(text: str) -> str:
    """table:0.1sd as the option it stands for."""
    return _SPREAD.sub(r"\1,relative_to=sd", text)


def _load(name: str) -> Perturbation:
    """What a Python name stands for: a perturbation, a class of perturbations, or a function."""
    value: Any = import_object(name.removeprefix("@"))
    if isinstance(value, type) and hasattr(value, "apply"):
        what = f"{name} cannot be made from its level alone"
        with refusing(what, "name a value of it", TypeError):
            value = replace(value(level=0.0), level=None)
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


def explain_own(own: Written) -> str:
    """What it does: its phrase, and the docstring of its function."""
    value = own.definition
    text = inspect.getdoc(getattr(value, "function", value)) or ""
    return "\n\n".join(filter(None, [open_phrase(value.phrase), text]))


def parse_perturbation(text: str, frame: Frame = ()) -> Perturbation:
    """The perturbation of this text; `frame` tells which published severities an image has.

    KIND:LEVEL, KIND:LOW..HIGH (drawn uniformly each time), KIND:s3 (a published severity), further
    options as ,name=value; A+B one after the other; A|B one of them each time; mine.py:f:0.1 or
    @module:f:0.1 a function of your own. table:0.1sd is in standard deviations of each column. none
    is for data that are perturbed already.
    """
    if text.strip() == NoPerturbation.kind:
        return NoPerturbation()
    choices: list[Perturbation] = []
    for choice in _with_spread(text).split("|"):
        if choice.strip().endswith("+"):
            raise InvalidArgument(f"{choice!r} ends with +: write what comes after it")
        parts = [_one(part.strip(), frame) for part in _JOINT.split(choice)]
        choices.append(parts[0] if len(parts) == 1 else Chain(tuple(parts)))
    return choices[0] if len(choices) == 1 else Mixture(tuple(choices))


def _one(text: str, frame: Frame) -> Perturbation:
    one = _known(text)
    if not one.level:
        return _at_its_own_level(one)
    if (ends := one.ends(frame)) is not None:
        low, high = ends
        lowest = -high if one.signed else 0.0
        if not lowest <= low < high or high <= 0:
            example = "0..2 or -10..10" if one.signed else "0..1"
            raise InvalidArgument(
                f"{text}: a range runs from its lowest to its highest strength: write {example}"
            )
        return RandomLevel(high, one.make(high), round(low / high, 12))
    strength = one.read(one.level, frame)
    if strength < 0 and one.signed:
        way_out = one.at(f"{one.level}..{-strength:g}")
        raise InvalidArgument(f"{text}: a level below 0 is written in a range: write {way_out}")
    return one.make(strength)


def _at_its_own_level(one: Written) -> Perturbation:
    """One of the user's own may bring its level along."""
    if one.own and getattr(one.definition, "level", None) is not None:
        perturbation: Perturbation = one.definition
        return perturbation
    example = one.at(one.example)
    if one.presets is not None:
        level = f"{one.presets['small'][2]:.3g}"
        example = f"{one.at(level)}, or {one.at('s3')} for a published severity"
    raise InvalidArgument(f"{one.name} needs a level: write {example}")


def parse_range(
    text: str, frame: Frame = (), bounds: Interval | None = None
) -> tuple[Perturbation, Interval]:
    """A perturbation and the range of levels to go through.

    KIND:LOW..HIGH, KIND:HIGH (from 0), KIND (from 0 to the strongest published severity, or to the
    strongest that means something); further options as ,name=value. A+B from nothing at level 0 to
    both as stated at level 1; a range in it begins at 0. The perturbation's own level is open.
    """
    text = _with_spread(text)
    if _is_combined(text):
        combined: Any = parse_perturbation(_from_nothing(text), frame)
        return replace(combined, level=None), Interval(0.0, level_of(combined))
    one = _known(text)
    low, high = one.ends(frame) or (0.0, _strongest(one, frame, bounds))
    why = ""
    if not low < high:
        why = "a range of levels goes from a lower to a higher one"
    elif low < 0 and not one.signed:
        why = f"{one.name} has no direction, levels begin at 0"
    if why:
        raise InvalidArgument(f"{text}: {why}: write {_range_example(one)}")
    perturbation: Any = one.make(max(abs(low), high))
    return replace(perturbation, level=None), Interval(low, high)


def refuse_one_level(text: str) -> None:
    """Refuse KIND:LEVEL of a curve: elsewhere that is this level alone."""
    text = _with_spread(text)
    if _is_combined(text):
        return
    one = _known(text)
    if one.level and ".." not in one.level:
        ends = [one.write(0.0).removesuffix(".0"), one.level]
        low, high = reversed(ends) if one.level.startswith("-") else ends
        raise InvalidArgument(
            f"{text} is one level, and a curve needs a range: write {one.name}:{low}..{high}"
        )


def _strongest(one: Written, frame: Frame, bounds: Interval | None) -> float:
    """The level that is written; else the strongest there is, where that is known."""
    if one.level:
        return one.read(one.level, frame)
    if one.presets is not None:
        return one.read("s5", frame)
    given = one.definition.level if one.own else one.make(0.0).levels(bounds).high
    if given is None or not math.isfinite(given):
        raise InvalidArgument(f"{one.name} needs a range of levels: write {_range_example(one)}")
    return float(given)


def _range_example(one: Written) -> str:
    return f"{one.name}:{one.write(0.0)}..{'1' if one.own else one.example}"


def _from_nothing(text: str) -> str:
    """Every part of a sequence by its highest level: blur:0..2+jpeg:0.5 is blur:2+jpeg:0.5."""

    def beginning(range_: re.Match[str]) -> str:
        if number(range_[1]) == 0:
            return ":"
        raise InvalidArgument(
            f"{text}: in a sequence every part goes from nothing to its level, all together: give "
            "the highest level alone, such as blur:2+jpeg:0.5"
        )

    return re.sub(r":\s*([^:,+|]+?)\s*\.\.\s*", beginning, text)


def written_level(text: str) -> str:
    """The level, or range of levels, that the text of a single perturbation gives; else nothing."""
    return _written(text).level


def level_reader(text: str) -> Callable[[str], float]:
    """What reads a level of this perturbation: a number, or a number with a unit (20dB)."""
    return _written(text).read


def at_level(text: str, level: float) -> str:
    """The same text at another level, for a single perturbation; other options stay.

    Of a range only the proportion of its ends stays.
    """
    if _is_combined(text):
        raise InvalidArgument(
            f"levels are for one perturbation, not for {text!r}: give one, such as blur:0..2"
        )
    one = _written(text)
    low, dots, high = one.level.partition("..")
    if not dots:
        return one.at(one.write(level))
    if hasattr(one.definition, "read_level"):
        raise InvalidArgument(
            f"{text!r} with several levels: leave out the range, --perturb {one.name}"
        )
    if number(high) == 0:
        raise InvalidArgument(f"{text!r} has no strength to scale: write a range such as 0..1")
    return one.at(f"{number(low) / number(high) * level!r}..{level!r}")
