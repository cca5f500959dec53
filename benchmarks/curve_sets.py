"""Worlds in which a curve is known exactly, and which assumptions it meets in each.

A world is a finite set of inputs, each with the levels at which it turns from right to wrong or
back; what is random is where its dips, steps and flickers lie (one of PLACEMENTS sets) and the
order in which the inputs are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from curve_cases import Answer, Floats
from curve_steps import (
    GRID,
    StepCurve,
    bend_of,
    crosses_once,
    inputs_fall_once,
    right_at,
    rise_assumed,
    rise_of,
    rows_of,
    turns_of,
)

Points = tuple[Floats, Floats]
"""Levels, as shares of the range, and accuracies: straight lines between, jumps allowed."""
PLACEMENTS = 8
RISE, ONE, MONOTONE, CURVATURE = "bounded-rise", "one-crossing", "monotone", "curvature:128"
ASSUMPTIONS = (RISE, ONE, MONOTONE, CURVATURE)
DEFAULT = RISE
_BASE = 0.85
"""The accuracy around a dip; the threshold is 0.8."""


@dataclass(frozen=True)
class World:
    """A kind of finite set; `clean` is a share of the range from `low` to `high`."""

    turns: Callable[[np.random.Generator, int], Floats]
    size: int = 500
    threshold: float = 0.8
    low: float = 0.0
    high: float = 1.0
    clean: float = 0.0
    shape: Points | None = None
    """The curve that the inputs follow, where it is one."""


@dataclass(frozen=True, eq=False)
class Placed:
    """One set of a world: its inputs and its exact curve."""

    turns: Floats
    curve: StepCurve

    def answers(self, world: World, order: np.ndarray) -> Answer:
        """The inputs in this order."""
        turns, span = self.turns[order], world.high - world.low

        def answer(level: float, start: int, units: int) -> np.ndarray:
            return right_at(turns[start : start + units], (level - world.low) / span)

        return answer


def points(*pairs: tuple[float, float]) -> Points:
    """Straight lines through these."""
    levels, accuracies = zip(*pairs, strict=True)
    return np.array(levels), np.array(accuracies)


def smooth(accuracy: Callable[[Floats], Floats]) -> Points:
    """A smooth curve by many points."""
    levels = np.linspace(0, 1, GRID + 1)
    return levels, accuracy(levels)


def evenly_spread(size: int) -> Floats:
    """Ranks of as many inputs."""
    return (np.arange(size) + 0.5) / size


def fixed(
    shape: Points, size: int = 500, low: float = 0, high: float = 1, clean: float = 0
) -> World:
    """Inputs that follow one shape by their ranks."""

    def turns(_: np.random.Generator, size: int) -> Floats:
        return turns_of(*shape, evenly_spread(size))

    return World(turns, size, low=low, high=high, clean=clean, shape=shape)


def box(width: float, depth: float) -> World:
    """Flat, then down and up again at one level each, and a fall at the end."""

    def turns(rng: np.random.Generator, size: int) -> Floats:
        a = rng.uniform(0.1, 0.85 - width)
        b, low = a + width, _BASE - depth
        return turns_of(
            *points((0, _BASE), (a, _BASE), (a, low), (b, low), (b, _BASE), (0.9, _BASE), (1, 0.5)),
            evenly_spread(size),
        )

    return World(turns)


def hollow(width: float, depth: float) -> World:
    """Flat, with a dip in the form of a cosine."""

    def turns(rng: np.random.Generator, size: int) -> Floats:
        a = rng.uniform(0.1, 0.85 - width)

        def accuracy(x: Floats) -> Floats:
            inside = np.clip((x - a) / width, 0, 1)
            return _BASE - depth / 2 * (1 - np.cos(2 * math.pi * inside))

        return turns_of(*smooth(accuracy), evenly_spread(size))

    return World(turns)


def stairs(*heights: float) -> World:
    """From one accuracy to the next at one level each."""

    def turns(rng: np.random.Generator, size: int) -> Floats:
        steps = np.sort(rng.uniform(0.05, 0.95, len(heights) - 1))
        levels = np.concatenate([[0.0], np.repeat(steps, 2), [1.0]])
        return turns_of(levels, np.repeat(heights, 2), evenly_spread(size))

    return World(turns)


def flicker(shape: Points, times: float, length: float, size: int) -> World:
    """A shape by ranks; inputs change for so long, so many times each, anywhere, on their own."""

    def turns(rng: np.random.Generator, size: int) -> Floats:
        steady = turns_of(*shape, evenly_spread(size))
        inputs, places = np.nonzero(np.isfinite(steady))
        chosen = np.repeat(np.arange(size), rng.poisson(times, size))
        begin = rng.uniform(0, 1 - length, len(chosen))
        return rows_of(
            np.concatenate([inputs, chosen, chosen]),
            np.concatenate([steady[inputs, places], begin, begin + length]),
            size,
        )

    return World(turns, size)


def swapping(shape: Points, pairs: int) -> World:
    """A falling shape by ranks; pairs of inputs exchange their outcomes for a while."""

    def turns(rng: np.random.Generator, size: int) -> Floats:
        critical = turns_of(*shape, evenly_spread(size))[:, 0]
        order = np.argsort(critical)
        chosen = rng.permutation(size // 2)[:pairs]
        weak, strong = order[chosen], order[chosen + size // 2]
        gap = critical[strong] - np.maximum(critical[weak], 0)
        begin = np.maximum(critical[weak], 0) + gap * rng.uniform(0.1, 0.5, pairs)
        end = begin + gap * 0.4
        inputs = np.concatenate([np.arange(size), weak, strong, weak, strong])
        return rows_of(inputs, np.concatenate([critical, begin, begin, end, end]), size)

    return World(turns)


def plateau(above: float) -> Points:
    """A fall to the threshold, or so far above it, a long rest there, and a fall."""
    rest = 0.8 + above
    return points((0, 0.95), (0.2, 0.9), (0.3, rest), (0.6, rest), (0.7, 0.5), (1, 0.3))


BELL = smooth(lambda x: 0.95 * np.exp(-((x / 0.9) ** 2)))
EARLY = smooth(lambda x: 0.3 + 0.65 * np.exp(-((x / 0.12) ** 2)))
FLAT = smooth(lambda x: 0.86 - 0.12 * x**2)
TWO_SIDED = smooth(
    lambda x: 0.2 + 0.74 * np.exp(-(((x - 0.5) / np.where(x < 0.5, 0.3, 0.45)) ** 2))
)
OFF_CENTRE = smooth(lambda x: 0.1 + 0.83 * np.exp(-(((x - 0.3) / 0.4) ** 2)))
TWO_FALLS = points(
    (0, 0.92), (0.2, 0.9), (0.3, 0.7), (0.4, 0.7), (0.5, 0.87), (0.7, 0.86), (0.9, 0.5), (1, 0.4)
)
ONE_SIDE_DIPS = points(
    (0, 0.6), (0.2, 0.85), (0.5, 0.92), (0.66, 0.88), (0.66, 0.72), (0.76, 0.72), (0.76, 0.86),
    (0.9, 0.84), (1, 0.7),
)  # fmt: skip

WORLDS: dict[str, World] = {
    **{f"dip of {w:.0%}, {d:g} deep": box(w, d) for w in (0.01, 0.02, 0.05, 0.1, 0.2)
       for d in (0.06, 0.1, 0.15)},
    "round dip of 4%, 0.06 deep": hollow(0.04, 0.06),
    "round dip of 20%, 0.06 deep": hollow(0.2, 0.06),
    "two falls": fixed(TWO_FALLS),
    "rise": fixed(points((0, 0.7), (0.3, 0.72), (0.6, 0.9), (1, 0.93))),
    "plateau at the threshold, 200": fixed(plateau(0), size=200),
    "plateau one input above, 200": fixed(plateau(1 / 200), size=200),
    "plateau one input below, 200": fixed(plateau(-1 / 200), size=200),
    "plateau at the threshold, 1000": fixed(plateau(0), size=1000),
    "plateau one input below, 1000": fixed(plateau(-1 / 1000), size=1000),
    "always above": fixed(points((0, 0.85), (1, 0.83))),
    "always below": fixed(points((0, 0.75), (1, 0.5))),
    "step": stairs(0.9, 0.6),
    "cliffs": stairs(0.95, 0.88, 0.82, 0.7, 0.4),
    "steep fall": fixed(points((0, 0.9), (0.37, 0.88), (0.38, 0.5), (1, 0.4))),
    "bell": fixed(BELL, size=1000),
    "early": fixed(EARLY, size=1000),
    "flat": fixed(FLAT, size=1000),
    "bell, 200": fixed(BELL, size=200),
    "two-sided": fixed(TWO_SIDED, low=-1, high=1, clean=0.5),
    "two-sided, off centre": fixed(OFF_CENTRE, low=-0.3, high=0.7, clean=0.3),
    "two-sided, dip on one side": fixed(ONE_SIDE_DIPS, low=-1, high=1, clean=0.5),
    "inputs that flicker a little": flicker(FLAT, 0.4, 0.006, 1000),
    "inputs that flicker much": flicker(BELL, 4, 0.02, 200),
    "pairs of inputs that swap": swapping(BELL, 40),
}  # fmt: skip
_ALL, _STEPS = frozenset(ASSUMPTIONS), frozenset({RISE, ONE, MONOTONE})
_NONE = frozenset[str]()
MEETS: dict[str, frozenset[str]] = {
    **dict.fromkeys([name for name in WORLDS if name.startswith("dip of")], _NONE),
    "round dip of 4%, 0.06 deep": _NONE,
    "round dip of 20%, 0.06 deep": _NONE,
    "two falls": _NONE,
    "rise": _NONE,
    **dict.fromkeys([name for name in WORLDS if name.startswith("plateau")], _STEPS),
    **dict.fromkeys(["step", "cliffs", "steep fall"], _STEPS),
    **dict.fromkeys(["always above", "always below"], _ALL),
    **dict.fromkeys(["bell", "early", "flat", "bell, 200"], _ALL),
    **dict.fromkeys(["two-sided", "two-sided, off centre"], _ALL),
    "two-sided, dip on one side": _NONE,
    "inputs that flicker a little": _NONE,
    "inputs that flicker much": _NONE,
    "pairs of inputs that swap": _STEPS - {MONOTONE},
}
"""Which assumptions the curve of a world meets; `check_worlds` holds it to the exact curves."""

TO_BE_NOTICED, NARROW = 0.1, ("dip of 1%", "dip of 2%")
"""A rise of so much over a twentieth of the range is to be noticed; in these it is narrower."""


@cache
def placed(name: str, placement: int) -> Placed:
    """One of the sets of a world."""
    world = WORLDS[name]
    turns = world.turns(np.random.default_rng([7, placement]), world.size)
    return Placed(turns, StepCurve.of(turns))


def met(world: World, one: Placed) -> frozenset[str]:
    """The assumptions that this set meets: exactly, but for the curvature.

    No step function meets that; it counts as met where the smooth curve behind it does.
    """
    checks = {
        RISE: rise_of(one.curve, world.clean) <= rise_assumed(world.size) + 1e-12,
        ONE: crosses_once(one.curve, world.threshold, world.clean),
        MONOTONE: inputs_fall_once(one.turns, world.clean),
        CURVATURE: world.shape is not None
        and bend_of(*world.shape) <= float(CURVATURE.partition(":")[2]),
    }
    return frozenset(name for name, true in checks.items() if true)


def check_worlds() -> None:
    """Hold the table to every set of every world."""
    assert MEETS.keys() == WORLDS.keys()
    for name, world in WORLDS.items():
        for placement in range(PLACEMENTS):
            actual = met(world, placed(name, placement))
            assert actual == MEETS[name], f"{name} meets {sorted(actual)}: correct MEETS"
