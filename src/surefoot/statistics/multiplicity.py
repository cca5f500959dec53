"""How many claims share one error."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.errors import InvalidArgument


def shares(error: float, claims: int) -> float:
    """The error each of `claims` may spend so that all hold together (Bonferroni)."""
    if claims < 1:
        raise InvalidArgument(f"claims must be an integer ≥ 1, got {claims}")
    return error / claims


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Each p-value adjusted for all of them (Holm 1979).

    Deciding on every claim whose adjusted p-value is at most the error is wrong about any of them
    with probability at most that error, however the claims depend on each other.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise InvalidArgument(f"p-values lie between 0 and 1, got {list(p_values)}")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return tuple(adjusted)
