"""What ASAP was compared with: levels spread evenly, at random, or as an integrator likes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.procedure import Ask
from surefoot.results import Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.search.reading import crossings
from surefoot.search.segments import check_span, check_thresholds

_PROMISE = Guarantee(Footing.NONE, 1.0, "no bound on the error is known")
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
    curves: ClassVar[bool] = True
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level."""
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
    curves: ClassVar[bool] = True
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level."""
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
    curves: ClassVar[bool] = True
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.thresholds, self.levels)

    @property
    def forecast(self) -> int:
        """Trials that it may take."""
        return self.levels * self.size // 2

    def steps(self) -> Steps:
        """Integrate again and again, each time as far as the levels known allow."""
        known: dict[float, Counts] = {}
        found: dict[float, float] = {}
        for threshold in self.thresholds:
            while True:
                try:
                    found[threshold] = self._integral(known, threshold)
                    break
                except _Missing as missing:
                    if len(known) >= self.levels:
                        break  # what the paper calls a timeout: the share of what was seen
                    known[missing.level] = yield Ask(missing.level, self.size)
        rest = _share(known)
        return _curve(
            self.low, self.high, self.thresholds, self.size, known, lambda t: found.get(t, rest(t))
        )

    def _integral(self, known: Mapping[float, Counts], threshold: float) -> float:
        from scipy.integrate import IntegrationWarning, quad

        def indicator(level: float) -> float:
            if level not in known:
                raise _Missing(level)
            return float(known[level].rate >= threshold)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IntegrationWarning)
            whole = float(quad(indicator, self.low, self.high, limit=max(1, self.levels // 21))[0])
        return min(max(whole / (self.high - self.low), 0.0), 1.0)


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
    return Curve(Interval(low, high), size, points, readings, exact, size * len(points))
