"""What inputs that were not looked at are supposed to be, for the search alone and for guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from surefoot.search.seen import Seen, Values

_BEND = 0.15
"""How far off a mean may be because inputs do not change evenly between two levels, for each."""


@dataclass(frozen=True, eq=False)
class End:
    """A level at which the value of every input is known, or supposed."""

    level: float
    values: Values
    unseen: float = 0.0
    """What inputs that are only supposed may well add to the mean."""

    @classmethod
    def of(cls, seen: Seen) -> Self:
        """A level at which all inputs were looked at."""
        return cls(seen.level, seen.values)

    @property
    def mean(self) -> float:
        """Over all inputs."""
        return float(self.values.mean()) + self.unseen


@dataclass(frozen=True, eq=False)
class Supposed:
    """Values of all inputs at a level, known or drawn from where they are."""

    values: Values
    doubt: float
    """How far the mean may be from that of all inputs, as a standard deviation."""

    @property
    def mean(self) -> float:
        """Over all inputs."""
        return float(self.values.mean())


def supposed(seen: Sequence[Seen]) -> dict[float, Supposed]:
    """Every level, if there is one at which all inputs are known.

    An input that was not looked at is supposed to be as at the nearest levels at which it was: the
    same if they agree, and else to change somewhere between them, which leaves a doubt; and so
    does one that is known on one side only.
    """
    if len(seen) < 3 or not any(s.whole for s in seen):
        return {}
    levels = np.array([s.level for s in seen])
    values = np.array([s.values for s in seen])
    found = between(levels, values)
    known = ~np.isnan(values)
    both = np.logical_or.accumulate(known) & np.logical_or.accumulate(known[::-1])[::-1]
    vague = np.count_nonzero(~known & ((found > 0) & (found < 1) | ~both), axis=1)
    doubts = np.hypot(np.sqrt(vague) / 2, _BEND * vague) / values.shape[1]
    rows = zip(found, doubts.tolist(), strict=True)
    return {level: Supposed(*row) for level, row in zip(levels.tolist(), rows, strict=True)}


def between(levels: Values, values: Values) -> Values:
    """What is not known, a row a level, drawn from the nearest rows in which it is."""
    places, last = np.arange(len(levels))[:, None], len(levels) - 1
    known = ~np.isnan(values)
    left = np.maximum.accumulate(np.where(known, places, -1))
    right = np.minimum.accumulate(np.where(known, places, last + 1)[::-1])[::-1]
    left, right = np.where(left < 0, right, left), np.where(right > last, left, right)
    apart = levels[right] - levels[left]
    weight = (levels[:, None] - levels[left]) / np.where(apart > 0, apart, 1)
    before, after = (np.take_along_axis(values, which, 0) for which in (left, right))
    return np.asarray(before + weight * (after - before))


def beside(known: Sequence[Seen], target: float, against: float) -> list[End]:
    """Levels at which every input is known, or supposed by the nearest level at which all are.

    Next to a level at which the mean is below the target, inputs that hold there are supposed to
    hold still; next to one above, those that fail to fail still. So only the others need a look.
    For every input that went with the curve, `against` of those not looked at went against it.
    """
    found = {s.level: End.of(s) for s in known if s.whole}
    if not found:
        return []
    whole = list(found)
    for seen in sorted(known, key=lambda s: min(abs(s.level - level) for level in whole)):
        nearest = min(found.values(), key=lambda end: abs(end.level - seen.level))
        upper = nearest.mean >= target
        if not seen.whole and (nearest.values[~seen.known] != upper).all():
            values = np.where(seen.known, seen.values, nearest.values)
            moved = float(values.mean() - nearest.values.mean())
            found[seen.level] = End(seen.level, values, nearest.unseen - against * moved)
    return [found[level] for level in sorted(found)]


def within(ends: tuple[End, End], known: Sequence[Seen], loose: float) -> list[End]:
    """The ends, and levels in between at which all but a few inputs are known, or alike on both
    sides of them.

    A few: this share of those that differ between the two ends.
    """
    left, right = ends
    inside = [s for s in known if left.level < s.level < right.level]
    levels = np.array([left.level, *(s.level for s in inside), right.level])
    values = between(levels, np.array([left.values, *(s.values for s in inside), right.values]))
    differ = np.count_nonzero(left.values != right.values)
    vague = np.count_nonzero((values > 0) & (values < 1), axis=1)
    drop = right.values.mean() - left.values.mean()
    found = [left]
    for seen, row, count in zip(inside, values[1:-1], vague[1:-1], strict=True):
        if count <= loose * differ:
            share = (row.mean() - left.values.mean()) / drop if drop else 0.5
            unseen = left.unseen + min(max(share, 0.0), 1.0) * (right.unseen - left.unseen)
            found.append(End(seen.level, row, 0.0 if seen.whole else unseen))
    return [*found, right]
