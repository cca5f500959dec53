"""The settings of Bu & Sun's method, for every command that takes it."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.commands.option import option
from surefoot.commands.values import Number, Numbers


@dataclass(frozen=True)
class BuSunOptions:
    """The two settings of Bu & Sun's method."""

    pilot_error: Number | None = option(
        None,
        "For bu-sun: the part of the error that the interval of its second stage may use "
        "(default: a twentieth of the error).",
    )
    candidates: Numbers | None = option(
        None,
        "For bu-sun: sizes of its second stage to choose from, as shares of Okamoto's number "
        "(default: 0.01,0.02,…,0.2).",
    )
