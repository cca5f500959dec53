"""Estimate a probability to a fixed width. The procedures ask for numbers of trials."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.procedure import Needs
from surefoot.results import Estimate, Footing, Guarantee, Interval
from surefoot.statistics.bounds import chernoff, clopper_pearson, fixed_size, okamoto
from surefoot.statistics.limits import check_error

Trials = Generator[int, Counts, Estimate]
_NARROWEST = 1e-6
"""Narrower widths need more than 10^11 trials."""
_MOST_EXACT = 3_000_000
"""Trials of the largest exact method: two minutes to prove its design, five seconds to size it."""


def check_width_and_error(width: float, error: float) -> None:
    """Refuse what no estimate can mean."""
    if not _NARROWEST <= width < 1:
        raise InvalidArgument(
            f"width must lie between 0 and 1, got {width}: try 0.02 (the least is {_NARROWEST:g})"
        )
    check_error(error)


def check_exact(width: float, error: float) -> None:
    """Refuse what exact methods would compute on for hours."""
    from scipy.special import ndtri

    check_width_and_error(width, error)
    spread = abs(float(ndtri(error / 2))) / 2
    if (spread / width) ** 2 > _MOST_EXACT:
        raise InvalidArgument(
            f"width {width} with error {error} is too narrow for an exact method: the least is "
            f"{spread / math.sqrt(_MOST_EXACT):.2g}, or use okamoto or bu-sun"
        )


def around(rate: float, width: float) -> Interval:
    """The values within `width` of the rate."""
    return Interval(max(0.0, rate - width), min(1.0, rate + width))


def _conclude(final: Counts, width: float, error: float, spent: int) -> Estimate:
    """The observed rate of a stage whose size was settled before it began: unbiased."""
    promise = Guarantee(Footing.SOUND, error)
    near = around(final.rate, width)
    return Estimate(final.rate, near, promise, spent + final.trials, final.rate, final.trials)


@dataclass(frozen=True)
class Okamoto:
    """As many trials as Hoeffding's bound asks for, whatever p is."""

    width: float
    error: float
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_width_and_error(self.width, self.error)

    def steps(self) -> Trials:
        """One question."""
        final = yield okamoto(self.width, self.error)
        return _conclude(final, self.width, self.error, spent=0)


@dataclass(frozen=True)
class FixedSize:
    """As few trials as one fixed number can be, whatever p is (exact binomial)."""

    width: float
    error: float
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_exact(self.width, self.error)

    def steps(self) -> Trials:
        """One question."""
        final = yield fixed_size(self.width, self.error)
        return _conclude(final, self.width, self.error, spent=0)


@dataclass(frozen=True)
class BuSun:
    """Few trials where p is near 0 or 1: pilot, bracket, then what the bracket calls for.

    Bu & Sun 2024, algorithms 1 and 2. The last stage uses fresh trials only: the proof needs it.
    """

    width: float
    error: float
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_width_and_error(self.width, self.error)

    def steps(self) -> Trials:
        """Three questions at most."""
        ceiling = okamoto(self.width, self.error)
        if self.width >= 1 / 3:
            final = yield ceiling
            return _conclude(final, self.width, self.error, spent=0)
        pilot = yield max(10, min(100, math.ceil(0.01 * ceiling)))
        best = _bracket_size(self, pilot)
        if best is None:
            final = yield ceiling
            return _conclude(final, self.width, self.error, spent=pilot.trials)
        bracket = yield best
        final = yield self._last(clopper_pearson(bracket, self._bracket_error))
        return _conclude(final, self.width, self.error, pilot.trials + bracket.trials)

    @property
    def _bracket_error(self) -> float:
        return 0.05 * self.error

    def _last(self, bracket: Interval) -> int:
        rest = (self.error - self._bracket_error) / (1 - self._bracket_error)
        return chernoff(bracket, self.width, rest)

    def _total(self, n: int, pilot: float) -> int:
        """Cost of bracketing with n trials, supposing they go as the pilot did."""
        supposed = Counts(n, round(n * pilot))
        return n + self._last(clopper_pearson(supposed, self._bracket_error))


@lru_cache(maxsize=4096)
def _bracket_size(method: BuSun, pilot: Counts) -> int | None:
    """The cheapest bracket if all goes on as the pilot did; None where none is worth its trials."""
    ceiling = okamoto(method.width, method.error)
    candidates = (math.ceil(percent * ceiling / 100) for percent in range(1, 21))
    cost, best = min((method._total(n, pilot.rate), n) for n in candidates)
    return best if cost < ceiling else None
