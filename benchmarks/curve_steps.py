"""The exact curve of a finite set of inputs: a step function, and what it is assumed to meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from curve_cases import Floats, Right

GRID = 1024
"""Cells on which a width forced by the assumption, and the bend of a shape, are computed."""
TINY = 1e-9
BEFORE = -1.0
"""The turn of an input that is wrong from the lowest level on."""


def turns_of(levels: Floats, accuracies: Floats, ranks: Floats) -> Floats:
    """Where each input goes from right to wrong or back, a row an input, padded with infinity.

    An input is right where its rank is below the curve: straight lines through these points, with
    a jump where a level comes twice. An input is right at a level if an even number of its turns
    are at or below it.
    """
    below = ranks[:, None] < accuracies
    inputs, segments = np.nonzero(below[:, 1:] != below[:, :-1])
    fall = accuracies[segments] - accuracies[segments + 1]
    part = (accuracies[segments] - ranks[inputs]) / fall
    where = levels[segments] + part * (levels[segments + 1] - levels[segments])
    started_wrong = np.flatnonzero(~below[:, 0])
    inputs = np.concatenate([started_wrong, inputs])
    where = np.concatenate([np.full(len(started_wrong), BEFORE), where])
    return rows_of(inputs, where, len(ranks))


def rows_of(inputs: np.ndarray, where: Floats, size: int) -> Floats:
    """Turns by input, each row in rising order."""
    order = np.lexsort((where, inputs))
    inputs, where = inputs[order], where[order]
    counts = np.bincount(inputs, minlength=size)
    rows = np.full((size, max(1, counts.max(initial=0))), np.inf)
    places = np.arange(len(inputs)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows[inputs, places] = where
    return rows


def right_at(turns: Floats, share: float) -> Right:
    """Which of these inputs are right."""
    return np.asarray(np.count_nonzero(turns <= share, axis=1) % 2 == 0)


@dataclass(frozen=True, eq=False)
class StepCurve:
    """`kept[j]` of the inputs are right from `edges[j]` up to `edges[j + 1]`, 0 to 1 in all."""

    edges: Floats
    kept: np.ndarray
    size: int

    @classmethod
    def of(cls, turns: Floats) -> Self:
        """Of inputs with these turns."""
        change = np.where(np.arange(turns.shape[1]) % 2 == 0, -1, 1)
        inside = (turns > 0) & (turns < 1)
        edges, place = np.unique(turns[inside], return_inverse=True)
        steps = np.zeros(len(edges), np.int64)
        np.add.at(steps, place, np.broadcast_to(change, turns.shape)[inside])
        first = int(np.count_nonzero(right_at(turns, 0.0)))
        kept = first + np.concatenate([[0], np.cumsum(steps)])
        return cls(np.concatenate([[0.0], edges, [1.0]]), kept, len(turns))

    def at(self, shares: Floats) -> np.ndarray:
        """How many are right at these shares of the range."""
        place = np.searchsorted(self.edges, shares, "right") - 1
        return np.asarray(self.kept[np.clip(place, 0, len(self.kept) - 1)])

    def share_at_least(self, threshold: float) -> float:
        """On which share of the range the accuracy is at or above the threshold."""
        above = self.kept >= threshold * self.size - TINY
        return float(np.diff(self.edges)[above].sum())

    def stays_at_least(self, threshold: float, clean: float) -> float:
        """On which share of the range, around the clean level, it stays at the threshold."""
        share = 0.0
        for edges, kept in self.sides(clean):
            below = np.flatnonzero(kept < threshold * self.size - TINY)
            share += float(edges[below[0]] if len(below) else edges[-1])
        return share

    def sides(self, clean: float) -> tuple[tuple[Floats, np.ndarray], ...]:
        """Edges and steps on either side of the clean level, outward from it."""
        left, right = self.edges < clean, self.edges > clean
        at_clean = self.at(np.array([clean]))
        up = np.concatenate([[clean], self.edges[right]])
        down = np.concatenate([[clean], self.edges[left][::-1]])
        return tuple(
            (edges, values)
            for edges, values in (
                (up - clean, np.concatenate([at_clean, self.kept[right[:-1]]])),
                (clean - down, self.kept[left[:-1]][::-1]),
            )
            if len(edges) > 1
        )


def rise_of(curve: StepCurve, clean: float) -> float:
    """The most by which a stronger level raises the accuracy."""
    sides = (kept for _, kept in curve.sides(clean))
    return max(float((kept - np.minimum.accumulate(kept)).max()) for kept in sides) / curve.size


def rise_assumed(size: int) -> float:
    """By default."""
    return max(0.005, 2 / size)


def crosses_once(curve: StepCurve, threshold: float, clean: float) -> bool:
    """Whether it never comes back above the threshold, outward from the clean level."""
    enough = threshold * curve.size - TINY
    return all(
        not np.any(np.diff((values >= enough).astype(int)) > 0) for _, values in curve.sides(clean)
    )


def inputs_fall_once(turns: Floats, clean: float) -> bool:
    """Whether every input, once wrong, is wrong at all stronger levels."""
    right = right_at(turns, clean)
    outward = ((turns > clean) & (turns < 1)).sum(axis=1)
    inward = ((turns > 0) & (turns <= clean)).sum(axis=1)
    limit = right.astype(int)
    return bool(np.all(outward <= limit) and np.all(inward <= limit))


def bend_of(levels: Floats, accuracies: Floats) -> float:
    """The largest divided second difference: within parabolas of so much between any two levels."""
    values = np.interp(np.linspace(0, 1, GRID + 1), levels, accuracies)
    return float(np.abs(np.diff(values, 2)).max()) * GRID**2 / 2


def forced_width(curve: StepCurve, threshold: float, assumption: str, clean: float) -> float:
    """The width that is left with all inputs at 1,025 levels, by the assumption alone."""
    shares = np.union1d(np.linspace(0, 1, GRID + 1), [clean])
    kept, lengths = curve.at(shares), np.diff(shares)
    name, _, amount = assumption.partition(":")
    spare = np.zeros(len(lengths))
    if name == "curvature":
        spare += float(amount) * lengths**2 / 4
    enough = threshold * curve.size - TINY
    if name == "bounded-rise":
        return _width_of_a_rise(curve, enough, clean)
    above = np.minimum(kept[1:], kept[:-1]) - spare * curve.size >= enough
    below = np.maximum(kept[1:], kept[:-1]) + spare * curve.size < enough
    return math.fsum(lengths[~above & ~below])


def _width_of_a_rise(curve: StepCurve, enough: float, clean: float) -> float:
    """From the last level that is high enough for all before it to the first below."""
    width, spare = 0.0, rise_assumed(curve.size) * curve.size
    for edges, kept in curve.sides(clean):
        above, below = np.flatnonzero(kept >= enough + spare), np.flatnonzero(kept < enough)
        inner = edges[above[-1] + 1] if len(above) else 0.0
        width += max((edges[below[0]] if len(below) else edges[-1]) - inner, 0.0)
    return width
