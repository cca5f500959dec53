"""Which recorded trials a second party runs again: drawn by its own seed, after the file was made.

Trials are drawn, not rows: a row of the journal that holds many trials is drawn so much more often,
and nobody gains by putting altered trials into rows of another size.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.tasks import Entry
from surefoot.errors import InvalidArgument
from surefoot.evidence.packed import NEW_COPY

MOST_DRAWN = 5_000_000
"""Trials drawn one by one: more need gigabytes, and by then every altered share is noticed."""

ALTERED, NOTICED = 0.05, 0.95
"""What a check that is to be relied on notices, and with which probability: some 60 draws."""
SHARE = 0.01
"""Of the trials that are run again, where nothing else is said: minutes for hours of a run."""
MOST_TRIALS = 10**15
"""Of a journal: a million trials a second for thirty years."""

_Sizes = tuple[NDArray[np.float64], NDArray[np.int64]]
"""The sizes that rows have, and how many rows have each."""
K = TypeVar("K", bound=Hashable)
"""What names the subject of some rows: its id, or a run and the id."""


@dataclass(frozen=True)
class TrialDraw(Generic[K]):
    """Trials drawn at random without replacement, and the rows to run again because of them.

    A row whose journal holds a count alone is run again wholly; where the journal holds every
    trial, the drawn ones are rows of their own. `total` counts all trials of the journal,
    `total_rows` its rows; `drawn` the trials drawn. With a share of `enough` who altered `ALTERED`
    of the trials is noticed with probability `NOTICED`.
    """

    seed: int
    total: int
    total_rows: int
    drawn: int
    rows: Mapping[K, tuple[Entry, ...]]
    enough: float

    @property
    def number_of_rows(self) -> int:
        """Rows that are run again."""
        return sum(map(len, self.rows.values()))

    @property
    def trials(self) -> int:
        """Trials that are run again: all of those rows."""
        return sum(entry.stop - entry.start for own in self.rows.values() for entry in own)

    def catch(self, share: float) -> float:
        """The probability that a trial is drawn from rows that hold this share of all trials."""
        return catch_probability(self.total, math.ceil(share * self.total), self.drawn)


def catch_probability(total: int, altered: int, drawn: int) -> float:
    """Of `drawn` from `total` without replacement at least one is among the `altered`.

    1 - C(total - altered, drawn) / C(total, drawn), hypergeometric.
    """
    if altered <= 0:
        return 0.0
    if altered + drawn > total:
        return 1.0
    few, many = sorted((altered, drawn))  # C(N-a, d)/C(N, d) = C(N-d, a)/C(N, a)
    left = np.arange(few, dtype=np.float64)
    return float(-np.expm1(np.log1p(-many / (total - left)).sum()))


def draw_trials(
    entries: Mapping[K, Sequence[Entry]], share: float | None, seed: int
) -> TrialDraw[K]:
    """Trials of one journal or several: so many that about this share of all is run again.

    At least one. Without a share: so many that about `SHARE` is run again, and no fewer than notice
    `ALTERED` of the trials with probability `NOTICED`.
    """
    rows = [(name, entry) for name, own in entries.items() for entry in own]
    if not rows:
        raise InvalidArgument(
            "the journal of this file is empty: no trial can be run again; let the run end, and "
            "write it again"
        )
    sizes = [entry.stop - entry.start for _, entry in rows]  # exact, however many they claim
    total = sum(sizes)
    single = all(isinstance(entry.evidence, Outcomes | Severities) for _, entry in rows)
    if total > MOST_TRIALS:
        raise InvalidArgument(
            f"the journal of this file claims {total:,} trials, more than {MOST_TRIALS:,}: nobody "
            f"ran them; {NEW_COPY}"
        )
    kinds = np.unique(np.array(sizes, dtype=np.float64), return_counts=True)
    number = _number_to_draw(kinds, total, SHARE if share is None else share, single)
    if share is None:
        number = max(number, draws_for(total))
    if number == total:
        every = {name: tuple(own) for name, own in entries.items()}
        return TrialDraw(seed, total, len(rows), total, every, 1.0)
    if number > MOST_DRAWN:
        part = SHARE if share is None else share
        raise InvalidArgument(
            f"a share of {part:g} of {total:,} trials is {number:,} draws, more than "
            f"{MOST_DRAWN:,}: pass a smaller share (--share {part / 100:g}), or 1 for all"
        )
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    places = np.array(sorted(random.Random(seed).sample(range(total), number)), dtype=np.int64)  # noqa: S311  it draws no secret
    at = np.searchsorted(ends, places, side="right")
    drawn: dict[K, list[Entry]] = {}
    if single:
        offsets = places - (ends - np.array(sizes))[at]
        for row, offset in zip(at.tolist(), offsets.tolist(), strict=True):
            name, entry = rows[row]
            drawn.setdefault(name, []).append(_one_trial(entry, offset))
    else:
        for row in np.unique(at).tolist():
            name, entry = rows[row]
            drawn.setdefault(name, []).append(entry)
    chosen = {name: tuple(own) for name, own in drawn.items()}
    # The share that asks for so many draws: that of the trials run again, in the mean.
    enough = draws_for(total) if single else _expected_trials(kinds, total, draws_for(total))
    return TrialDraw(seed, total, len(rows), number, chosen, min(1.0, enough / total))


def _one_trial(entry: Entry, offset: int) -> Entry:
    """One trial of a row whose journal holds every one."""
    start, evidence = entry.start + offset, entry.evidence
    match evidence:
        case Outcomes(marks=marks):
            return Entry(entry.level, start, start + 1, Outcomes(marks[offset]))
        case Severities(values=values, limit=limit):
            part = Severities((values[offset],), limit)
            return Entry(entry.level, start, start + 1, part)
    raise TypeError(type(evidence))


def _number_to_draw(kinds: _Sizes, total: int, share: float, single: bool) -> int:
    """Draws after which, in the mean, at most this share of all trials is run again.

    It depends on the sizes of rows alone, never on what is drawn: so the probability to notice is
    exactly hypergeometric.
    """
    if share == 1:
        return total
    if single:
        return max(1, math.ceil(share * total))
    low, high = 1, total
    while high - low > 0:
        middle = (low + high + 1) // 2
        if _expected_trials(kinds, total, middle) <= share * total:
            low = middle
        else:
            high = middle - 1
    return low


def draws_for(total: int) -> int:
    """Draws, at most all, that notice `ALTERED` of the trials with probability `NOTICED`."""
    altered, low, high = math.ceil(ALTERED * total), 1, total
    while low < high:
        middle = (low + high) // 2
        if catch_probability(total, altered, middle) >= NOTICED:
            high = middle
        else:
            low = middle + 1
    return low


def _expected_trials(kinds: _Sizes, number: int, drawn: int) -> float:
    """Trials of rows that hold at least one of `drawn` trials, in the mean."""
    from scipy.special import gammaln

    (sizes, repeats), total = kinds, float(number)
    rest = total - sizes - drawn
    logs = (
        gammaln(total - sizes + 1)
        - gammaln(np.maximum(rest, 0) + 1)
        - gammaln(total + 1)
        + gammaln(total - drawn + 1)
    )
    missed = np.where(rest >= 0, np.exp(np.minimum(logs, 0.0)), 0.0)
    return float((repeats * sizes * (1 - missed)).sum())
