"""Finite sets of inputs whose curve is a step function that is known exactly.

Levels are shares of a range from 0 to 1. An input is described by its turns: the levels at which it
goes from right to wrong or back. A turn below 0 belongs to an input that is wrong at first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

TINY = 1e-9
AT_FIRST = -1.0
"""The turn of an input that is wrong from the lowest level on."""


def follow(shape: Sequence[tuple[float, float]], size: int) -> list[list[float]]:
    """Inputs right where their rank is below straight lines through these points.

    A level that comes twice is a jump; at it the later accuracy holds.
    """
    turns: list[list[float]] = [[] for _ in range(size)]
    for i, row in enumerate(turns):
        rank = (i + 0.5) / size
        right = True
        if rank >= shape[0][1]:
            row.append(AT_FIRST)
            right = False
        for (a, first), (b, last) in pairwise(shape):
            if right != (rank < last):
                row.append(a + (b - a) * (rank - first) / (last - first))
                right = not right
    return turns


@dataclass(frozen=True, eq=False)
class StepCurve:
    """The turns of all inputs, and where the clean level lies."""

    turns: tuple[tuple[float, ...], ...]
    clean: float = 0.0

    @classmethod
    def of(cls, turns: Sequence[Sequence[float]], clean: float = 0.0) -> StepCurve:
        """Inputs with these turns."""
        return cls(tuple(tuple(sorted(row)) for row in turns), clean)

    @property
    def size(self) -> int:
        """The number of inputs."""
        return len(self.turns)

    @cached_property
    def padded(self) -> np.ndarray:
        """The turns, a row an input, with infinity behind them."""
        rows = np.full((self.size, max(1, *map(len, self.turns))), np.inf)
        for row, turns in zip(rows, self.turns, strict=True):
            row[: len(turns)] = turns
        return rows

    def right_at(self, share: float) -> np.ndarray:
        """Which inputs are right, as 0 and 1."""
        return (np.count_nonzero(self.padded <= share, axis=1) % 2 == 0) * 1.0

    @cached_property
    def edges(self) -> np.ndarray:
        """Where something changes, the ends of the range and the clean level."""
        inside = self.padded[(self.padded > 0) & (self.padded < 1)]
        return np.unique(np.concatenate([[0.0, self.clean, 1.0], inside]))

    @cached_property
    def kept(self) -> np.ndarray:
        """How many are right from each edge up to the next."""
        return np.array([int(self.right_at(edge).sum()) for edge in self.edges[:-1]])

    def share_at_least(self, threshold: float) -> float:
        """On which share of the range the accuracy is at or above the threshold."""
        enough = self.kept >= threshold * self.size - TINY
        return float(np.diff(self.edges)[enough].sum())

    def sides(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Edges and steps on each side of the clean level, outwards."""
        at = int(np.searchsorted(self.edges, self.clean))
        up = self.edges[at:] - self.clean, self.kept[at:]
        down = (self.clean - self.edges[: at + 1])[::-1], self.kept[:at][::-1]
        return [side for side in (up, down) if len(side[1])]

    def rise(self) -> float:
        """The most by which a stronger level raises the accuracy."""
        return (
            max(float((kept - np.minimum.accumulate(kept)).max()) for _, kept in self.sides())
            / self.size
        )

    def stays_at_least(self, threshold: float) -> float:
        """On which share of the range, around the clean level, it stays at the threshold."""
        enough, share = threshold * self.size - TINY, 0.0
        for edges, kept in self.sides():
            below = np.flatnonzero(kept < enough)
            share += float(edges[below[0]] if len(below) else edges[-1])
        return share

    def crosses_once(self, threshold: float) -> bool:
        """Whether it never comes back above the threshold, outwards from the clean level."""
        enough = math.ceil(threshold * self.size - TINY)
        return all(not np.any(np.diff((kept >= enough) * 1) > 0) for _, kept in self.sides())

    def falls_for_good(self) -> bool:
        """Whether each input, once wrong, is wrong at all stronger levels."""
        for side in (self.edges[self.edges >= self.clean], self.edges[self.edges <= self.clean]):
            outwards = sorted(side, key=lambda share: abs(share - self.clean))
            right = np.array([self.right_at(share) for share in outwards])
            if np.any(np.diff(right, axis=0) > 0):
                return False
        return True
