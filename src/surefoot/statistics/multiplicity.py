"""How many claims share one error."""

from __future__ import annotations

from surefoot.errors import InvalidArgument


def shares(error: float, claims: int) -> float:
    """The error each of `claims` may spend so that all hold together (Bonferroni)."""
    if claims < 1:
        raise InvalidArgument(f"an error can be shared by one claim or more, got {claims}")
    return error / claims
