"""Numbers as a person types them on the command line."""

from __future__ import annotations

import math
import re

from surefoot.errors import InvalidArgument

_ERROR_DIGITS = 12
"""1 - 0.95 is 0.050000000000000044 in floating point; an error of 0.05 is what was meant."""

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+) ?([smh]?)")


def duration(name: str, text: str) -> float:
    """Seconds, from the value of the option `name`: 60, 90s, 10m or 1h."""
    written = _DURATION.fullmatch(text.strip())
    seconds = float(written[1]) * _SECONDS[written[2]] if written else 0.0
    if 0 < seconds < math.inf:
        return seconds
    raise InvalidArgument(
        f"{name} is a number of seconds above 0, got {text}: write 60, 90s or 10m"
    )


def number(name: str, text: str) -> float:
    """A number as a person writes it, the value of the option `name`."""
    from surefoot.study.registry import number as read

    try:
        return read(text)
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}: {error}") from None


def share(name: str, text: str) -> float:
    """A number between 0 and 1, the value of the option `name`."""
    value = number(name, text)
    if 0 <= value <= 1:
        return value
    way_out = f": write {value / 100:g} for {value:g} %" if 1 < value <= 100 else ""
    raise InvalidArgument(f"{name} must be between 0 and 1, got {text}{way_out}")


def error_from(confidence: str) -> float:
    """The allowed probability of being wrong, from the text of --confidence."""
    return round(1 - share("--confidence", confidence), _ERROR_DIGITS)


def number_list(name: str, text: str) -> tuple[float, ...]:
    """Comma-separated numbers, the value of the option `name`."""
    return tuple(number(name, part) for part in text.split(","))
