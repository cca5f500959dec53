"""Numbers, perturbations and properties as a person gives them: as text or as Python values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InvalidArgument
from surefoot.records.options import option_name, refused, refused_value

if TYPE_CHECKING:
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Perturbation, Property

Given = Any
"""What a person gives for an option, of whatever kind, until it is read."""
AnyModel = Any
"""A path, an address, a module, an estimator, a function, or a loaded model; or several."""
AnyData = Any
"""A path, `(x, y)`, an array, a dataset, or loaded inputs."""
AnyPerturbation = Any
"""The text of a perturbation, an object of `sf.perturb`, or one of the user's own."""
AnyMethod = Any
"""A frozen dataclass with `needs` and `steps`, of whatever fields: `catalogue.methods` has ours."""
Number = float | str
"""A number, or its text: 0.03, "3e-2", "8/255"."""
Numbers = float | str | Sequence[float]
"""One number or several: 0.8, (0.8, 0.6), "0.8,0.6"."""
ClassShares = Number | Mapping[str | int, float]
"""One number for every class, or a number for each class named."""
_ERROR_DIGITS = 12
"""1 - 0.95 is 0.050000000000000044 in floating point; an error of 0.05 is what was meant."""
_CLASS_SHARES = "write one number for all, or stop=0.99,parking=0.9"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+) ?([smh]?)")


def as_number(name: str, value: Number) -> float:
    """The value of the option `name`."""
    from surefoot.catalogue.registry import number

    if isinstance(value, str):
        try:
            return number(value)
        except InvalidArgument as error:
            raise InvalidArgument(
                f"{option_name(name)}: {error}", option=name, value=value
            ) from None
    try:
        plain = float(value)
    except (TypeError, ValueError):
        plain = math.nan
    if not math.isfinite(plain) or isinstance(value, bool):
        raise refused(name, value, f"must be a finite number, got {value!r}")
    return plain


def as_numbers(name: str, value: Given) -> tuple[float, ...]:
    """One number or several, as text with commas or as a sequence."""
    if isinstance(value, str):
        return tuple(as_number(name, part) for part in value.split(","))
    if hasattr(value, "__iter__"):
        return tuple(one for part in value for one in as_numbers(name, part))
    return (as_number(name, value),)


def share(name: str, given: Number) -> float:
    """A number between 0 and 1, the value of the option `name`."""
    value = as_number(name, given)
    if 0 <= value <= 1:
        return value
    way_out = f": write {value / 100:g} for {value:g} %" if 1 < value <= 100 else ""
    raise refused(name, given, f"must be between 0 and 1, got {given}{way_out}")


def class_shares(name: str, given: Given) -> float | dict[str, float]:
    """A share for every class, or one for each class named: "stop=0.99,parking=0.9".

    A name may have commas and equal signs in it: what stands after the last one is the number.
    """
    if isinstance(given, Mapping):
        return {str(key): share(name, value) for key, value in given.items()}
    if not isinstance(given, str) or "=" not in given:
        return share(name, given)
    shares: dict[str, float] = {}
    class_name = ""
    for part in given.split(","):
        before, equal, value = part.rpartition("=")
        if not equal:
            class_name += f"{part},"
            continue
        key = f"{class_name}{before}".strip()
        if not key or key in shares:
            problem = f"names {key} twice" if key else f"has no class before ={value}"
            raise refused_value(name, given, f"{problem}: {_CLASS_SHARES}")
        shares[key], class_name = share(name, value.strip()), ""
    if class_name:
        raise refused_value(
            name, given, f"has no number for {class_name[:-1].strip()}: {_CLASS_SHARES}"
        )
    return shares


def error_from(confidence: Number) -> float:
    """The allowed probability of being wrong, from a confidence."""
    given = share("confidence", confidence)
    error = round(1 - given, _ERROR_DIGITS)
    if not 0 < error < 1:
        raise refused(
            "confidence", confidence, f"must lie between 0 and 1, got {confidence}: try 0.95"
        )
    return error


def duration(name: str, given: Number) -> float:
    """Seconds, from the value of the option `name`: 60, 90s, 10m or 1h."""
    if isinstance(given, str):
        written = _DURATION.fullmatch(given.strip())
        seconds = float(written[1]) * _SECONDS[written[2]] if written else 0.0
    else:
        seconds = as_number(name, given)
    if 0 < seconds < math.inf:
        return seconds
    raise refused(name, given, f"is a number of seconds above 0, got {given}: write 60, 90s or 10m")


def as_perturbation(value: Given, frame: tuple[int, ...] = ()) -> Perturbation:
    """The perturbation itself, or the one of this text."""
    from surefoot.catalogue.parse import parse_perturbation

    if isinstance(value, str):
        return parse_perturbation(value, frame)
    if hasattr(value, "apply") and hasattr(value, "draw"):
        perturbation: Perturbation = value
        return perturbation
    raise InvalidArgument(
        f"{value!r} is no perturbation: write it as 'linf:8/255', or pass an object of sf.perturb; "
        "a function of your own as sf.perturb.custom(function, level=0.1)"
    )


def as_property(value: Given) -> Property:
    """The property itself, or the one of this text."""
    from surefoot.catalogue.registry import parse_property

    if isinstance(value, str):
        return parse_property(value)
    if hasattr(value, "needs") and hasattr(value, "reference"):
        kept_if: Property = value
        return kept_if
    raise InvalidArgument(
        f"{value!r} is no property: write it as 'true', or pass an object of sf.properties"
    )


def property_for(given: Given, inputs: Inputs) -> Given:
    """The one given, or what labels allow: the true label, else the one of the clean input."""
    return ("same" if inputs.labels is None else "true") if given is None else given


def is_plain(value: Given) -> bool:
    """Whether it can be written down and read again: text, numbers, and lists of them."""
    if isinstance(value, list | tuple):
        return all(is_plain(part) for part in value)
    if isinstance(value, Mapping):
        return all(is_plain(part) for part in (*value.keys(), *value.values()))
    return value is None or isinstance(value, str | int | float | Path)
