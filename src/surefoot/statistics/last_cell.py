"""The last cell of a grid at which something still holds, in few evaluations."""

from __future__ import annotations

from collections.abc import Callable

_FARTHEST = 30.0
"""Values beyond ± 30 count as that: a capital of e^30 says no more of where the zero lies."""


def last_cell(lacking: Callable[[float], float], halvings: int) -> float:
    """The largest multiple of 2^-halvings in [0, 1) at which `lacking` is not above 0.

    It rises with its argument; it is not evaluated at the ends 0 and 1. The result is that of so
    many halvings; Chandrupatla 1997 gets there by inverse quadratic interpolation in a third of
    the evaluations or fewer, and halves where that would not be safe.
    """
    cells = 1 << halvings
    new, other, share = 0, cells, 0.5  # the newest place, one with the other sign, the next between
    of_new, of_other = -_FARTHEST, _FARTHEST
    while abs(other - new) > 1:
        place = new + round(share * (other - new))
        place = min(max(place, min(new, other) + 1), max(new, other) - 1)
        value = min(max(lacking(place / cells), -_FARTHEST), _FARTHEST)
        if (value <= 0) == (of_new <= 0):
            third, of_third = new, of_new
        else:
            third, of_third, other, of_other = other, of_other, new, of_new
        new, of_new = place, value
        share = _next_share((new, other, third), (of_new, of_other, of_third))
    return (new if of_new <= 0 else other) / cells


def _next_share(places: tuple[int, int, int], values: tuple[float, float, float]) -> float:
    """How far from the first place to the second the zero lies, by the parabola through all three.

    One half where the three values are not as those of a monotone function near its zero.
    """
    (a, b, c), (u, v, w) = places, values
    xi, phi = (a - b) / (c - b), (u - v) / (w - v)
    if not (phi**2 < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    return u / (v - u) * w / (v - w) + (c - a) / (b - a) * u / (w - u) * v / (w - v)
