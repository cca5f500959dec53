"""From text to perturbations: `blur:2`, `linf:8/255`, `mine.py:halve:0.5`, `@module:name:0..1`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

from surefoot.catalogue.registry import PERTURBATIONS, Definition, Options, number, open_phrase
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.models.python import import_object
from surefoot.perturb import Chain, Mixture, NoPerturbation, RandomLevel, custom, load_features
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb._ops.definition import LONGEST_SMALL, Units
from surefoot.subject.protocols import Perturbation

_OWN = re.compile(
    r"\s*(?P<name>(?:.*\.py|@[A-Za-z_][\w.]*):[A-Za-z_][\w.]*)"
    r"(?::(?P<level>[^,]*))?(?:,(?P<options>.*))?\s*"
)
_JOINT = re.compile(r"\+(?=\s*(?:[A-Za-z@_]|\.{0,2}/|~/))")
"""A plus sign between two perturbations; not the one of 1e+2."""


@dataclass(frozen=True)
class OwnText:
    """A perturbation of the user's own as it is written: its Python name, and its level."""

    name: str
    level: str

    def at(self, level: str) -> str:
        """The same at another level."""
        return f"{self.name}:{level}"


def parts_of(text: str) -> list[str]:
    """The perturbations that are written one after the other, such as blur:1+jpeg:0.5."""
    return _JOINT.split(text)


def own_text(text: str) -> OwnText | None:
    """What a text says of one perturbation of the user's own; None where it is something else."""
    match = _OWN.fullmatch(text)
    if match is None or "|" in text or len(parts_of(text)) > 1:
        return None
    if match["options"]:
        raise InvalidArgument(
            f"{match['name']} takes the level only, got {match['options']!r}: let the function "
            "have its own defaults"
        )
    return OwnText(match["name"], (match["level"] or "").strip())


def own_perturbation(own: OwnText) -> Perturbation:
    """At one level, at a random one of a range, or at the level that it brings along."""
    value = _load(own.name)
    if not own.level:
        if getattr(value, "level", None) is None:
            raise InvalidArgument(f"{own.name} needs a level: write {own.at('0.1')}")
        return value
    low, dots, high = own.level.partition("..")
    if not dots:
        return _at_level(own, value, number(own.level))
    ends = number(low), number(high)
    if not 0 <= ends[0] < ends[1]:
        raise InvalidArgument(
            f"{own.at(own.level)}: a range runs from its lowest to its highest strength: write 0..1"
        )
    return RandomLevel(ends[1], _at_level(own, value, ends[1]), round(ends[0] / ends[1], 12))


def own_range(own: OwnText) -> tuple[Perturbation, Interval]:
    """With an open level, and the levels to go through: from 0 where only the highest is given."""
    value: Any = _load(own.name)
    low, dots, high = own.level.partition("..")
    if not own.level and value.level is None:
        raise InvalidArgument(f"{own.name} needs a range of levels: write {own.at('0..1')}")
    if dots:
        ends = number(low), number(high)
    else:
        ends = 0.0, number(own.level) if own.level else float(value.level)
    if not 0 <= ends[0] < ends[1]:
        raise InvalidArgument(
            f"{own.at(own.level)}: a range of levels goes from a lower to a higher one, at least "
            f"0: write {own.at('0..1')}"
        )
    return replace(value, level=None), Interval(*ends)


def explain_own(own: OwnText) -> str:
    """What it does: its phrase, and the docstring of its function."""
    value: Any = _load(own.name)
    text = inspect.getdoc(getattr(value, "function", value)) or ""
    return "\n\n".join(filter(None, [open_phrase(value.phrase), text]))


def _at_level(own: OwnText, value: Any, level: float) -> Perturbation:  # noqa: ANN401  of a function of the user
    if isinstance(value, RandomLevel) or not any(f.name == "level" for f in fields(value)):
        raise InvalidArgument(
            f"{own.name} has levels of its own: leave out {own.level}, or name the function "
            "that it is made of"
        )
    at_level: Perturbation = replace(value, level=level)
    return at_level


def _load(name: str) -> Perturbation:
    """What a Python name stands for: a perturbation, a class of perturbations, or a function."""
    value: Any = import_object(name.removeprefix("@"))
    if isinstance(value, type) and hasattr(value, "apply"):
        try:
            value = replace(value(level=0.0), level=None)
        except TypeError as error:
            raise InvalidArgument(
                f"{name} cannot be made from its level alone ({error}): name a value of it"
            ) from error
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


_SPREAD = re.compile(r"(\btable:[^,+|]*?)\s*sd\s*(?=[,+|]|$)")
"""A level in standard deviations of each column: table:0.1sd."""
_WRITTEN: Any = re.compile(r"([^:=,\s]*)(?:\s*[:=\s]\s*([^,]*))?(.*)", re.DOTALL)
"""A name, a level and options, also with an equal sign or a space for the colon."""
_EXAMPLE = (
    "for example linf:8/255 for numbers, typos:0.1 for texts; `surefoot perturb --list` "
    "(docs/catalogue.md) shows all"
)


def parse_perturbation(text: str, frame: tuple[int, ...] = ()) -> Perturbation:
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
        parts = [_one(part.strip(), frame) for part in parts_of(choice)]
        choices.append(parts[0] if len(parts) == 1 else Chain(tuple(parts)))
    return choices[0] if len(choices) == 1 else Mixture(tuple(choices))


def _with_spread(text: str) -> str:
    """table:0.1sd as the option it stands for."""
    return _SPREAD.sub(r"\1,relative_to=sd", text)


def parse_range(
    text: str, frame: tuple[int, ...] = (), bounds: Interval | None = None
) -> tuple[Perturbation, Interval]:
    """A perturbation and the range of levels to go through.

    KIND:LOW..HIGH, KIND:HIGH (from 0), KIND (from 0 to the strongest published severity, or to the
    strongest that means something); further options as ,name=value. A+B from nothing at level 0 to
    both as stated at level 1; a range in it begins at 0. The perturbation's own level is open.
    """
    text = _with_spread(text)
    if (own := own_text(text)) is not None:
        return own_range(own)
    if "|" in text or len(parts_of(text)) > 1:
        combined: Any = parse_perturbation(_from_nothing(text), frame)
        return replace(combined, level=None), Interval(0.0, level_of(combined))
    kind, _, rest = text.partition(":")
    level, comma, options = rest.partition(",")
    if kind not in PERTURBATIONS:
        raise _unknown(text)
    if not level:
        level = _whole_range(kind, frame, bounds)
    low, dots, high = level.partition("..")
    if not dots:
        low, high = _text(kind, 0.0).partition(":")[2], level
    ends = [_level(kind, part.strip(), PERTURBATIONS[kind], frame) for part in (low, high)]
    why = ""
    if not ends[0] < ends[1]:
        why = "a range of levels goes from a lower to a higher one"
    elif ends[0] < 0 and not getattr(PERTURBATIONS[kind], "signed", False):
        why = f"{kind} has no direction, levels begin at 0"
    if why:
        raise InvalidArgument(f"{text}: {why}: write {_text(kind, 0.0)}..{_example(kind)}")
    strongest = max(abs(ends[0]), ends[1])
    perturbation: Any = parse_perturbation(f"{_text(kind, strongest)}{comma}{options}", frame)
    return replace(perturbation, level=None), Interval(*ends)


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


def _whole_range(kind: str, frame: tuple[int, ...], bounds: Interval | None) -> str:
    """Up to the strongest level there is, where that is known."""
    class_ = PERTURBATIONS.get(kind)
    if class_ is not None and getattr(class_, "presets", None) is not None:
        return "s5"
    example = parse_perturbation(_text(kind, 0.0), frame).levels(bounds)
    if not math.isfinite(example.high):
        raise InvalidArgument(
            f"{kind} needs a range of levels: write {_text(kind, 0.0)}..{_example(kind)}"
        )
    return repr(example.high)


def _one(text: str, frame: tuple[int, ...]) -> Perturbation:
    if (own := own_text(text)) is not None:
        return own_perturbation(own)
    kind, colon, rest = text.partition(":")
    if kind not in PERTURBATIONS:
        raise _unknown(text)
    class_ = PERTURBATIONS[kind]
    if not colon or not rest:
        presets = getattr(class_, "presets", None)
        example = f"{kind}:{_example(kind)}"
        if presets is not None:
            example = f"{kind}:{presets['small'][2]:.3g}, or {kind}:s3 for a published severity"
        raise InvalidArgument(f"{kind} needs a level: write {example}")
    level, *pairs = rest.split(",")
    options = _options(kind, pairs, class_)
    if kind == "table" and not {"features", "relative_to"} & set(options):
        raise InvalidArgument(
            f"{kind} needs its features: write {kind}:0.1sd for a tenth of the standard deviation "
            f"of each column, or {kind}:1,features=features.toml"
        )
    if ".." in level:
        low, high = (_level(kind, part.strip(), class_, frame) for part in level.split("..", 1))
        if not abs(low) <= high or high <= 0 or low == high:
            raise InvalidArgument(
                f"{kind}:{level}: a range runs from its lowest to its highest strength: write 0..2 "
                "or -10..10"
            )
        return RandomLevel(high, class_(level=high, **options), round(low / high, 12))
    strength = _level(kind, level, class_, frame)
    if strength < 0 and getattr(class_, "signed", False):
        raise InvalidArgument(
            f"{text}: a level below 0 is written in a range: write {kind}:{level}..{-strength:g}"
        )
    perturbation: Perturbation = class_(level=strength, **options)
    return perturbation


def _unknown(text: str) -> InvalidArgument:
    """What is no perturbation, with the one that is meant: its level and options stay."""
    kind, level, options = _WRITTEN.fullmatch(text).groups("")
    near = next(iter(get_close_matches(kind, PERTURBATIONS, n=1)), "")
    level = level or _example(near) * (kind == near)
    meant = f"{near}{':' * bool(level)}{level}{options}"
    way_out = f"do you mean {meant}?" if near else f"choose one that exists, {_EXAMPLE}"
    return InvalidArgument(f"there is no perturbation {text.partition(':')[0]!r}: {way_out}")


def _level(kind: str, text: str, class_: Definition, frame: tuple[int, ...]) -> float:
    """A number, with a unit where the perturbation has two, or a published severity."""
    if hasattr(class_, "read_level"):
        with_unit: float = class_.read_level(text)
        return with_unit
    if re.match(r"s\d", text):
        # A published severity from s1 to s5, also s2.5: levels between are interpolated.
        presets = getattr(class_, "presets", None)
        if presets is None:
            raise InvalidArgument(f"{kind} has no published severities: give its level, {kind}:0.1")
        severity = number(text[1:])
        if not 0 <= severity <= 5:
            raise InvalidArgument(
                f"published severities run from s1 to s5, got {text}: write {kind}:s3"
            )
        small = bool(frame) and max(frame) <= LONGEST_SMALL
        levels: tuple[float, ...] = (0.0, *presets["small" if small else "large"])
        below = min(int(severity), 4)
        return levels[below] + (severity - below) * (levels[below + 1] - levels[below])
    return _number_with_unit(class_, text)


def _number_with_unit(class_: Definition | None, text: str) -> float:
    """A number, or one with a unit that the perturbation has besides its own: shot:20photons."""
    units: Units = getattr(class_, "units", {})
    for unit, level_of_number in units.items():
        if text.strip().endswith(unit):
            return level_of_number(number(text.strip().removesuffix(unit)))
    return number(text)


def _text(kind: str, level: float) -> str:
    """A perturbation and its level, as text that is read back to exactly this level."""
    write = getattr(PERTURBATIONS.get(kind), "write_level", repr)
    return f"{kind}:{write(level)}"


def _example(kind: str) -> str:
    return "20dB" if hasattr(PERTURBATIONS.get(kind), "read_level") else "0.1"


def _options(kind: str, pairs: list[str], class_: Definition) -> Options:
    known = {f.name: str(f.type) for f in fields(class_) if f.name != "level"}
    options: Options = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in known:
            allowed = f"it takes {', '.join(known)}; use one" if known else "leave it out"
            raise InvalidArgument(f"{kind} has no option {pair!r}: {allowed}")
        if name == "features":
            options[name] = load_features(value)
        else:
            options[name] = value if known[name].startswith("str") else number(value)
    return options


def written_level(text: str) -> str:
    """The level, or range of levels, that the text of a single perturbation gives; else nothing."""
    if (own := own_text(text)) is not None:
        return own.level
    return _with_spread(text).partition(":")[2].partition(",")[0].strip()


def level_reader(text: str) -> Callable[[str], float]:
    """What reads a level of this perturbation: a number, or a number with a unit (20dB)."""
    class_ = PERTURBATIONS.get(re.split("[:,]", text)[0])
    read: Callable[[str], float] = getattr(class_, "read_level", partial(_number_with_unit, class_))
    return read


def at_level(text: str, level: float) -> str:
    """The same text at another level, for a single perturbation; other options stay.

    Of a range only the proportion of its ends stays.
    """
    text = _with_spread(text)
    if (own := own_text(text)) is not None:
        return own.at(_scaled(own.level, level, text))
    if ":" not in text:
        text = text.replace(",", ":,", 1)  # options without a level: rotation,edge=black
    kind, _, rest = text.partition(":")
    if "|" in text or len(parts_of(text)) > 1:
        raise InvalidArgument(
            f"levels are for one perturbation, not for {text!r}: give one, such as blur:0..2"
        )
    written, comma, options = rest.partition(",")
    if ".." not in written:
        return f"{_text(kind, level)}{comma}{options}"
    if hasattr(PERTURBATIONS.get(kind), "read_level"):
        raise InvalidArgument(
            f"{text!r} with several levels: leave out the range, --perturb {kind}"
        )
    return f"{kind}:{_scaled(written, level, text)}{comma}{options}"


def _scaled(written: str, level: float, text: str) -> str:
    """The level, or the range with this level at its upper end."""
    low, dots, high = written.partition("..")
    if not dots:
        return repr(level)
    if number(high) == 0:
        raise InvalidArgument(f"{text!r} has no strength to scale: write a range such as 0..1")
    return f"{number(low) / number(high) * level!r}..{level!r}"
