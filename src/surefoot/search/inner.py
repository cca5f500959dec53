"""Between two levels at which every input is known, only the inputs that differ matter much."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from surefoot.results import Interval
from surefoot.search.seen import Seen, Values
from surefoot.search.segments import Segment

End = tuple[float, Values]


def inner(
    part: Segment,
    ends: tuple[Seen, Seen],
    between: Mapping[float, Seen],
    target: float,
    narrow: float,
    proof: tuple[bool, ...],
) -> list[tuple[float, NDArray[np.intp] | None]]:
    """Which inputs to look at, at which levels: to find the crossing, then to make it certain.

    Inputs that are alike at both ends are supposed, for the search alone, to be the same in
    between. Once the crossing is caught closely enough, all inputs (None) are looked at: beside it
    where the mean reaches the target, where it does not, or both, as `proof` says. So what is
    concluded rests on no supposition.
    """
    left, right = ((end.level, end.values) for end in ends)
    upper = bool(left[1].mean() >= target)
    while (found := _next(left, right, between)) is not None:
        if bool(found[1].mean() >= target) == upper:
            left = found
        else:
            right = found
    at = part.nearest((left[0] + right[0]) / 2, Interval(left[0], right[0]))
    if right[0] - left[0] > narrow and at is not None:
        return [(at, np.flatnonzero(left[1] != right[1]))]
    beside = [end for end, side in ((left, upper), (right, not upper)) if side in proof]
    return [(level, None) for level, _ in beside if level in between and not between[level].whole]


def supposed(seen: Seen, before: Seen, after: Seen) -> float:
    """The mean at a level if inputs that were not looked at are as before and after it."""
    rest = np.where(np.isnan(seen.values), (before.values + after.values) / 2, seen.values)
    return float(rest.mean())


def _next(left: End, right: End, between: Mapping[float, Seen]) -> End | None:
    """A level in between at which every input is known, or alike on both sides of it."""
    alike = np.where(left[1] == right[1], left[1], np.nan)
    for level, seen in between.items():
        if left[0] < level < right[0]:
            supposed = np.where(np.isnan(seen.values), alike, seen.values)
            if not np.isnan(supposed).any():
                return level, supposed
    return None
