"""Between two levels at which every input is known, only the inputs that differ matter much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def supposed(seen: Sequence[Seen]) -> dict[float, float]:
    """Means, between the first and the last level at which all inputs are known.

    An input that was not looked at is supposed to be as at the nearest levels at which it was: the
    same if they agree, and else to change somewhere between them.
    """
    whole = [i for i, s in enumerate(seen) if s.whole]
    inside = seen[whole[0] : whole[-1] + 1] if whole else []
    if len(inside) < 3:
        return {}
    levels, values = np.array([s.level for s in inside]), np.array([s.values for s in inside])
    places = np.arange(len(inside))[:, None]
    known = ~np.isnan(values)
    left = np.maximum.accumulate(np.where(known, places, 0))
    right = np.minimum.accumulate(np.where(known, places, len(inside) - 1)[::-1])[::-1]
    apart = levels[right] - levels[left]
    weight = (levels[:, None] - levels[left]) / np.where(apart > 0, apart, 1)
    before, after = (np.take_along_axis(values, which, 0) for which in (left, right))
    means = (before + weight * (after - before)).mean(axis=1)
    return dict(zip(levels.tolist(), means.tolist(), strict=True))


def _next(left: End, right: End, between: Mapping[float, Seen]) -> End | None:
    """A level in between at which every input is known, or alike on both sides of it."""
    alike = np.where(left[1] == right[1], left[1], np.nan)
    for level, seen in between.items():
        if left[0] < level < right[0]:
            supposed = np.where(np.isnan(seen.values), alike, seen.values)
            if not np.isnan(supposed).any():
                return level, supposed
    return None
