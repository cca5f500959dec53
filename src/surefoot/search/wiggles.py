"""How far a curve may climb back where single inputs come and go, told or expected."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from surefoot.search.oneway import backtrack
from surefoot.search.seen import Seen, Values

_EXPECTED, _DOUBT = 4, 10
"""How many inputs wiggles are expected to take at most; and for how many moves not to believe what
the few inputs of the scan show."""
_BESIDE = 2
"""Levels of the scan on either side of a crossing that show it."""


def slack_of(seen: Sequence[Seen], thresholds: Sequence[float], near: float) -> int:
    """How many inputs the curve may climb back where it crosses a threshold.

    By those that went the other way from one level to the next, between and around two levels,
    fully known and at most `near` apart, on different sides of it; the widest such pair tells the
    most. Without one, the narrowest. Where none did so there, but some do elsewhere on the segment,
    one is taken to have been missed.
    """
    full = {s.level for s in seen if s.full(thresholds)}
    pairs = [
        (a, b)
        for a, b in combinations([s for s in seen if s.terms.counts], 2)
        if not full.isdisjoint((a.level, b.level))
        and any({a.side(t), b.side(t)} == {True, False} for t in thresholds)
    ]
    close = [pair for pair in pairs if _distance(pair) <= near]
    chosen = max(close, key=_distance) if close else min(pairs, key=_distance, default=None)
    if chosen is None:
        return 0
    middle = (chosen[0].level + chosen[1].level) / 2
    low = min(chosen[0].level, middle - near / 2)
    high = max(chosen[1].level, middle + near / 2)
    moves = _moves([s.values for s in seen if low <= s.level <= high])
    if min(moves) == 0 and _flickers([s.values for s in seen]):
        return backtrack(max(moves), 1)
    return backtrack(max(moves), min(moves))


def expected(seen: Sequence[Seen], thresholds: Sequence[float], slack: int) -> int:
    """The slack where it can be told: there are levels on both sides, one of them well known.

    Else what those lead to expect that were looked at, of which too few may come and go.
    """
    told = any(
        {True, False} <= {s.side(t) for s in seen} and any(s.full((t,)) for s in seen)
        for t in thresholds
    )
    if told:
        return slack
    scanned = _moves([s.values[: s.terms.few] for s in seen if s.first])
    every = _moves([s.values for s in seen])
    return min(max(backtrack(max(m), min(m)) for m in (scanned, every)), _EXPECTED)


def against(scanned: Sequence[Seen], above: Sequence[bool]) -> float:
    """How many inputs go against the curve for each one that goes with it, where it crosses.

    As the few inputs of the scan show it, with some disbelief.
    """
    at = next((i for i, (a, b) in enumerate(pairwise(above)) if a != b), len(above) // 2)
    near = scanned[max(0, at - _BESIDE) : at + _BESIDE + 2]
    moves = _moves([s.values[: s.terms.few] for s in near])
    return min(moves) / (max(moves) + _DOUBT)


def _moves(rows: Sequence[Values]) -> tuple[int, int]:
    """How often an input got worse, and better, from a level to the next at which it is known."""
    down, up = (sum(counts) for counts in zip((0, 0), *_steps(rows), strict=True))
    return down, up


def _flickers(rows: Sequence[Values]) -> bool:
    """Whether some got worse and some better at one and the same step."""
    return any(down and up for down, up in _steps(rows))


def _steps(rows: Sequence[Values]) -> list[tuple[int, int]]:
    last, found = rows[0].copy(), []
    for row in rows[1:]:
        found.append((int(np.count_nonzero(row < last)), int(np.count_nonzero(row > last))))
        np.copyto(last, row, where=~np.isnan(row))
    return found


def _distance(pair: tuple[Seen, Seen]) -> float:
    return pair[1].level - pair[0].level
