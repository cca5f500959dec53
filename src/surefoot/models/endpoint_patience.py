"""How long a server of models is waited for."""

from __future__ import annotations

import os
from dataclasses import dataclass

from surefoot.errors import InvalidArgument

TIMEOUT_VARIABLE = "SUREFOOT_TIMEOUT"
"""The environment variable with the seconds that one request may take."""


@dataclass(frozen=True)
class Patience:
    """How long a request is tried: each try, how many of them, and all of them together.

    The first pause is doubled after each try; a server that says Retry-After is given that.
    """

    timeout_seconds: float = 60.0
    tries: int = 8
    total_seconds: float = 120.0
    first_pause_seconds: float = 0.25


FIRST_CONTACT_TRIES = 3
"""Tries of the first request: a wrong address should be said at once."""


def patience_of_user() -> Patience:
    """The usual one, with the timeout that the environment states."""
    text = os.environ.get(TIMEOUT_VARIABLE)
    if text is None:
        return Patience()
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidArgument(f"{TIMEOUT_VARIABLE} must be seconds above 0, got {text!r}")
    return Patience(seconds, total_seconds=max(Patience.total_seconds, 2 * seconds))
