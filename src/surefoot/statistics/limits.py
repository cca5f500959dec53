"""How small an error may be stated: down to where double precision still keeps it."""

from __future__ import annotations

from surefoot.errors import InvalidArgument

SMALLEST_ERROR = 1e-12
"""Tails, their inverses and e-values are right to a part in 10^6 of this and of anything larger."""


def check_error(error: float) -> None:
    """Refuse an error that is no probability, or too small to be kept in double precision."""
    if not SMALLEST_ERROR <= error < 1:
        raise InvalidArgument(
            f"error must lie between 0 and 1, got {error}: it is 1 - confidence, try 0.05 "
            f"(the least that double precision keeps is {SMALLEST_ERROR:g})"
        )
