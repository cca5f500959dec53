"""What ASAP was compared with: levels spread evenly, at random, or as an integrator likes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Reading
from surefoot.curves.published.geometry import exact_points, linear_crossings, share_above
from surefoot.curves.request import check_size, check_span, check_thresholds, stopped_early
from surefoot.errors import InvalidArgument

_PROMISE = Guarantee(Footing.NONE, 1.0, ("no bound on the error is known",))
_RULE = 21
"""Levels that quad's rule, Gauss and Kronrod's, takes for one part of the range."""
_TOLERANCE = 1.49e-8
"""The error that quad allows by default, as a share of the range and of the integral."""
Steps = Generator[Ask, Counts, Curve]
Rates = Mapping[float, float]


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
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level, in an order that leaves no part of the range out."""
        levels = np.linspace(self.low, self.high, self.levels).tolist()
        order = sorted(range(self.levels), key=lambda i: f"{i:017b}"[::-1])
        return _share_of_levels(self, [levels[i] for i in order])


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
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self)

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level, in the order of the draw."""
        draw = np.random.default_rng(self.seed).uniform(self.low, self.high, self.levels)
        return _share_of_levels(self, list(dict.fromkeys(draw.tolist())))


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
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self)
        if self._parts() < 1:
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
        rates: dict[float, float] = {}
        integrals: dict[float, float] = {}
        notes: list[str] = []
        try:
            for threshold in self.thresholds:
                while threshold not in integrals:
                    try:
                        integrals[threshold] = self._integral(rates, threshold, notes)
                    except _MissingLevel as missing:
                        (level,) = missing.args
                        rates[level] = (yield Ask(level, self.size)).rate
        except TimeUp:
            notes.append(stopped_early(len(rates)))
            for threshold in self.thresholds:
                integrals.setdefault(threshold, self._by_lines(rates, threshold))
        return _curve(self, rates, integrals, notes)

    def _parts(self) -> int:
        """Into how many parts the range may be cut: each cut takes two rules more."""
        return (self.levels // len(self.thresholds) + _RULE) // (2 * _RULE)

    def _integral(self, rates: Rates, threshold: float, notes: list[str]) -> float:
        from scipy.integrate import quad

        def indicator(level: float) -> float:
            if level not in rates:
                raise _MissingLevel(level)
            return float(rates[level] >= threshold)

        limits = {"epsabs": _TOLERANCE * (self.high - self.low), "epsrel": _TOLERANCE}
        whole, error, _, *warning = quad(
            indicator, self.low, self.high, limit=self._parts(), full_output=1, **limits
        )
        # with a single part quad warns whatever its error is
        if warning and error > max(limits["epsabs"], _TOLERANCE * abs(whole)):
            notes.append(f"the integral for {threshold:g} had not settled when its levels ran out")
        return min(max(float(whole) / (self.high - self.low), 0.0), 1.0)

    def _by_lines(self, rates: Rates, threshold: float) -> float:
        """The share above of straight lines between the levels, flat towards the ends."""
        if not rates:
            return 0.0
        ends = {self.low: rates[min(rates)], self.high: rates[max(rates)]}
        lines = exact_points({**rates, **ends}, self.size)
        return share_above(lines, threshold) / (self.high - self.low)


class _MissingLevel(Exception):
    """A level that the integrator asks for and that was not evaluated yet."""


_Comparator = UniformCurve | RandomCurve | QuadCurve


def _check(method: _Comparator) -> None:
    check_span(method.low, method.high)
    check_thresholds(method.thresholds)
    if not 2 <= method.levels <= 100_000:
        raise InvalidArgument(f"levels: from 2 to 100,000 of them, got {method.levels}: try 41")


def _share_of_levels(method: UniformCurve | RandomCurve, levels: Sequence[float]) -> Steps:
    check_size(method.size)
    rates: dict[float, float] = {}
    notes = []
    try:
        for level in levels:
            rates[level] = (yield Ask(level, method.size)).rate
    except TimeUp:
        notes.append(stopped_early(len(rates)))
    above = {t: sum(rate >= t for rate in rates.values()) for t in method.thresholds}
    return _curve(method, rates, {t: n / max(len(rates), 1) for t, n in above.items()}, notes)


def _curve(
    method: _Comparator, rates: Rates, values: Mapping[float, float], notes: Sequence[str]
) -> Curve:
    points = exact_points(rates, method.size)
    readings = tuple(
        Reading(t, values[t], UNIT, linear_crossings(points, points, t, t), _PROMISE)
        for t in method.thresholds
    )
    span, exact = Interval(method.low, method.high), Guarantee(Footing.SOUND, 0.0)
    trials = method.size * len(points)
    return Curve(span, method.size, points, readings, exact, trials, tuple(notes))
