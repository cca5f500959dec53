"""What ASAP was compared with: levels spread evenly, at random, or as an integrator likes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.procedure import Ask, Needs
from surefoot.results import Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.search.reading import crossings
from surefoot.search.segments import check_size, check_span, check_thresholds

_PROMISE = Guarantee(Footing.NONE, 1.0, ("no bound on the error is known",))
_RULE = 21
"""Levels that quad's rule, Gauss and Kronrod's, takes for one part of the range."""
Steps = Generator[Ask, Counts, Curve]


@dataclass(frozen=True)
class UniformCurve:
    """So many levels, evenly spread, the ends among them; the share of those at or above."""

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    levels: int = 41
    size: int = 0
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level."""
        check_size(self.size)
        known: dict[float, Counts] = {}
        for level in np.linspace(self.low, self.high, self.levels).tolist():
            known[level] = yield Ask(level, self.size)
        return _curve(self.low, self.high, self.thresholds, self.size, known, _share(known))


@dataclass(frozen=True)
class RandomCurve:
    """So many levels, uniformly at random by `seed`; the share of those at or above."""

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    levels: int = 41
    seed: int = 1
    size: int = 0
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level."""
        check_size(self.size)
        drawn = np.random.default_rng(self.seed).uniform(self.low, self.high, self.levels)
        known: dict[float, Counts] = {}
        for level in np.unique(drawn).tolist():
            known[level] = yield Ask(level, self.size)
        return _curve(self.low, self.high, self.thresholds, self.size, known, _share(known))


@dataclass(frozen=True)
class QuadCurve:
    """`scipy.integrate.quad` on the indicator, with at most so many levels for all thresholds."""

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    levels: int = 1024
    size: int = 0
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)
        if self._cuts() < 1:
            raise InvalidArgument(
                f"levels: quad needs {_RULE} of them for every threshold, got {self.levels} for "
                f"{len(self.thresholds)}"
            )

    @property
    def forecast(self) -> int:
        """Trials that it may take."""
        return self.levels * self.size // 2

    def steps(self) -> Steps:
        """Integrate again and again, each time as far as the levels known allow."""
        check_size(self.size)
        known: dict[float, Counts] = {}
        found: dict[float, float] = {}
        notes: list[str] = []
        for threshold in self.thresholds:
            while threshold not in found:
                try:
                    found[threshold] = self._integral(known, threshold, notes)
                except _Missing as missing:
                    known[missing.level] = yield Ask(missing.level, self.size)
        return _curve(
            self.low, self.high, self.thresholds, self.size, known, found.__getitem__, tuple(notes)
        )

    def _cuts(self) -> int:
        """Into how many parts the range may be cut: each cut takes two rules more."""
        return (self.levels // len(self.thresholds) + _RULE) // (2 * _RULE)

    def _integral(self, known: Mapping[float, Counts], threshold: float, notes: list[str]) -> float:
        from scipy.integrate import quad

        def indicator(level: float) -> float:
            if level not in known:
                raise _Missing(level)
            return float(known[level].rate >= threshold)

        whole, *told = quad(indicator, self.low, self.high, limit=self._cuts(), full_output=1)
        if len(told) > 2:  # a word of warning: what the paper calls a timeout
            notes.append(f"the integral for {threshold:g} had not settled when its levels ran out")
        return min(max(float(whole) / (self.high - self.low), 0.0), 1.0)


class _Missing(Exception):
    """A level that the integrator wants and nobody has looked at."""

    def __init__(self, level: float) -> None:
        super().__init__(level)
        self.level = level


def _check(low: float, high: float, thresholds: tuple[float, ...], levels: int) -> None:
    check_span(low, high)
    check_thresholds(thresholds)
    if not 2 <= levels <= 100_000:
        raise InvalidArgument(f"levels: between 2 and 100,000 of them, got {levels}")


def _share(known: Mapping[float, Counts]) -> Callable[[float], float]:
    return lambda threshold: sum(c.rate >= threshold for c in known.values()) / len(known)


def _curve(
    low: float,
    high: float,
    thresholds: tuple[float, ...],
    size: int,
    known: Mapping[float, Counts],
    value: Callable[[float], float],
    notes: tuple[str, ...] = (),
) -> Curve:
    points = tuple(
        Point(level, size, rate := known[level].rate, Interval(rate, rate))
        for level in sorted(known)
    )
    readings = tuple(
        Reading(t, value(t), Interval(0.0, 1.0), crossings(points, points, t, t), _PROMISE)
        for t in thresholds
    )
    exact = Guarantee(Footing.SOUND, 0.0)
    return Curve(Interval(low, high), size, points, readings, exact, size * len(points), notes)
