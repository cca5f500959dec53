"""The cells of a suite: a mean for each, and the mean over all of them from the same trials.

Every cell has random numbers of its own, so that the trials of different cells are independent
given the inputs. `docs/decisions/suite.md` has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import About
from surefoot.core.counts import Counts
from surefoot.core.limits import check_fields, whole
from surefoot.core.procedure import Needs
from surefoot.core.results import Guarantee, Interval, exceeds
from surefoot.population.precision import Asks, OfPrecision, SetMean, Tally, expected_trials
from surefoot.statistics.bounds import ERROR, clopper_pearson
from surefoot.statistics.counted import unequal_error
from surefoot.statistics.stratified_mean import MeanBounds

_CELLS = whole(1, "so many share it")


@dataclass(frozen=True)
class CellMean(OfPrecision):
    """`SetMean` as one of so many `cells` of a suite whose trials are random.

    The last four are set by the study.
    """

    cells: int = field(metadata=_CELLS)
    size: int = 0
    seed: int = 0
    level: float = 0.0
    fresh: bool = True
    about: ClassVar[About] = About.THESE
    concludes_early: ClassVar[bool] = True

    @property
    def _alone(self) -> SetMean:
        return SetMean(
            self.precision, self.error, self.size, self.seed, self.level, fresh=self.fresh
        )

    @property
    def forecast(self) -> int:
        """Trials expected if every input fails as often as guessed first."""
        return self._alone.forecast if self.fresh else self.size

    def forecast_at(self, differing: float) -> int:
        """The same, if so many pairs of trials of one input differ in their outcome."""
        rate = (1 - math.sqrt(max(0.0, 1 - 2 * differing))) / 2
        wanted = (self.size, self.precision, self.error, rate)
        return expected_trials(*wanted) if self.fresh else self.size

    def steps(self) -> Asks:
        """As of a mean by itself."""
        return (yield from self._alone.rounds(self.cells))


@dataclass(frozen=True)
class CellPasses:
    """The same number of trials of every input, settled beforehand: so many passes over the data.

    A sum of independent trials of unequal probabilities strays no further than a binomial one of
    the same mean (Hoeffding 1956, theorem 4). The last three are set by the study.
    """

    passes: int = field(metadata=whole(1))
    error: float = field(metadata=ERROR)
    cells: int = field(metadata=_CELLS)
    size: int = 0
    level: float = 0.0
    fresh: bool = True
    needs: ClassVar[Needs] = Needs.MEAN
    evidence: ClassVar[type[Counts]] = Counts
    about: ClassVar[About] = About.THESE

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def forecast(self) -> int:
        """All of them: their number is settled."""
        return self.size * (self.passes if self.fresh else 1)

    def steps(self) -> Asks:
        """One question."""
        tally = Tally(self.size)
        each = self.passes if self.fresh else 1
        yield from tally.ask(self.level, np.arange(self.size), np.full(self.size, each))
        mean = float(tally.failed.sum() / tally.trials.sum())
        if not self.fresh:
            return tally.result(mean, Interval(mean, mean), Guarantee.sound())
        counts = Counts(int(tally.trials.sum()), int(tally.failed.sum()))
        around = clopper_pearson(counts, unequal_error(self.error))
        return tally.result(mean, around, Guarantee.sound(self.error))


@dataclass(frozen=True)
class Cell:
    """What is known of one cell: its failure probability, and its part in the mean over all.

    The part is None where the cell has no trials of its own random numbers, as one that was counted
    exactly (`exact`), or one that was stopped early.
    """

    failure: Interval
    part: MeanBounds | Counts | None
    exact: bool


def mean_of_cells(cells: Sequence[Cell], error: float) -> Interval:
    """The mean failure probability over all cells, where the intervals of the cells hold together.

    The average of the intervals holds whenever these do and costs nothing. The interval from the
    trials of all cells takes `error` and is far narrower where there are many. Both hold together.
    """
    number, ends = len(cells), [cell.failure for cell in cells]
    low = math.fsum(one.low for one in ends) / number
    high = math.fsum(one.high for one in ends) / number
    drawn = [cell for cell in cells if not cell.exact]
    own = _over_drawn([cell.part for cell in drawn], error)
    if own is not None:
        counted = math.fsum(cell.failure.low for cell in cells if cell.exact)
        low = max(low, (counted + len(drawn) * own.low) / number)
        high = min(high, (counted + len(drawn) * own.high) / number)
    return Interval(low, max(low, high))


def _over_drawn(parts: Sequence[MeanBounds | Counts | None], error: float) -> Interval | None:
    """Over the cells that draw: each with the same weight or number of trials; else None."""
    counts = [part for part in parts if isinstance(part, Counts)]
    bounds = [part for part in parts if isinstance(part, MeanBounds)]
    if counts and len(counts) == len(parts) and len({one.trials for one in counts}) == 1:
        failed = sum(one.failed for one in counts)
        trials = sum(one.trials for one in counts)
        return clopper_pearson(Counts(trials, failed), unequal_error(error))
    weights = [one.weight for one in bounds]
    if not bounds or len(bounds) < len(parts) or exceeds(max(weights), min(weights)):
        return None
    upper, lower = (math.fsum(getattr(one, end) for one in bounds) for end in ("upper", "lower"))
    return MeanBounds(len(bounds), math.fsum(weights), upper, lower).interval(error)


@dataclass(frozen=True)
class CellOutlook:
    """What a later run may show of the mean over cells, by normal distributions: no claim.

    The limit is `away` from what was seen, which strays from the truth by `spread`; an end of the
    interval will lie up to `reach` from what is seen then, with as many trials as now.
    """

    away: float
    spread: float
    reach: float

    def chance(self, growth: float) -> float:
        """That so many times as many trials decide, those seen among them."""
        from scipy.special import ndtr

        spread = max(self.spread * math.sqrt(1 - 1 / growth), 1e-12)
        reach = self.reach / math.sqrt(growth)
        return float(ndtr((self.away - reach) / spread) + ndtr(-(self.away + reach) / spread))


def outlook_of_cells(
    cells: Sequence[Cell], most: float, error: float, within: float, precision: float
) -> CellOutlook | None:
    """Of the requirement that the mean failure probability is at most `most`, at this error.

    `within` is the variance of a trial of one input, averaged over inputs and cells, which counts
    where all inputs have the same number of trials; `precision` that of a cell, where they do not.
    None where the trials of all cells are not taken together.
    """
    drawn = [cell for cell in cells if not cell.exact]
    parts = [cell.part for cell in drawn]
    own = _over_drawn(parts, 2 * error)
    if own is None:
        return None
    counted = math.fsum(cell.failure.low for cell in cells if cell.exact)
    limit = (most * len(cells) - counted) / len(drawn)
    counts = [part for part in parts if isinstance(part, Counts)]
    bounds = [part for part in parts if isinstance(part, MeanBounds)]
    if counts:
        trials = sum(one.trials for one in counts)
        mean = 1 - sum(one.kept for one in counts) / trials
        spread, reach = math.sqrt(within / trials), max(own.high - mean, mean - own.low)
        one_more = 1 / trials
    else:
        weight, spent = (math.fsum(getattr(b, of) for b in bounds) for of in ("weight", "spent"))
        mean = math.fsum(one.centre for one in bounds) / weight
        # a trial of weight c costs about c²/2 times its variance
        spread = math.sqrt(2 * spent) / weight
        # in the end the rounds of a cell cost half of its precision, as `rounds` stakes them
        spent = max(spent, min(1.0, 2 / math.sqrt(len(drawn))) * precision * weight / 2)
        reach, one_more = (spent - math.log(error)) / weight, 1 / weight
    # where nothing failed so far, the next trial may: what was seen is never all
    return CellOutlook(abs(limit - mean), math.hypot(spread, one_more), reach)


def outlook_of_sample(
    kept: Sequence[Mapping[str, float]], least: float, around: Interval
) -> CellOutlook:
    """Of the requirement that the mean over a population is at least `least`.

    `kept` is the share of each input by its name, cell by cell; `around` what these show at the
    error of the next run. Cells have inputs in common: what one adds to the mean is summed over the
    cells before it is squared.
    """
    added, mean = dict[str, float](), 0.0
    for cell in kept:
        own = math.fsum(cell.values()) / len(cell)
        mean += own / len(kept)
        for name, value in cell.items():
            added[name] = added.get(name, 0.0) + (value - own) / len(cell) / len(kept)
    # where nothing failed so far, the next input may
    spread = math.hypot(*added.values(), 1 / len(added))
    return CellOutlook(abs(least - mean), spread, max(around.high - mean, mean - around.low))


_MULTIPLIERS = np.concatenate([[0.0], np.geomspace(0.25, 4.0, 33)])
"""Of what is added for each total, in units of what it is worth in the middle of the intervals."""


def mean_ratio(
    above: Sequence[Interval], below: Sequence[Interval], total: Interval, total_below: Interval
) -> Interval:
    """The mean of the ratios above/below, if each lies in its interval and both sums in theirs.

    Lagrange: whatever the multipliers a and b are, mean ratio ≤ Σ max(x/y − a x + b y) + a max Σx −
    b min Σy over the intervals, with the ratios x/y divided by their number; the same with min. The
    totals are known better than their parts, so that this is far narrower than the mean of the
    ratios of ends (a = b = 0). All of `below` is above 0.
    """
    number, x = len(above), np.array([[one.low, one.high] for one in above])
    y = np.array([[one.low, one.high] for one in below])
    middle = y.mean(axis=1)
    worth = float((1 / middle).mean()), float((x.mean(axis=1) / middle**2).mean())
    a, b = (m[..., None] for m in np.meshgrid(*(w / number * _MULTIPLIERS for w in worth)))

    def cost(of: int, at: NDArray[np.float64]) -> NDArray[np.float64]:
        ends: NDArray[np.float64] = x[:, of] / at / number - a * x[:, of] + b * at
        return ends

    most = np.max([cost(i, y[:, j]) for i in (0, 1) for j in (0, 1)], axis=0).sum(axis=-1)
    most = most + a[..., 0] * total.high - b[..., 0] * total_below.low
    least = []
    for i in (0, 1):  # convex in y: least where its slope is 0, or at an end
        with np.errstate(divide="ignore"):
            flat = np.where(b > 0, np.sqrt(x[:, i] / number / np.where(b > 0, b, 1.0)), np.inf)
        least.append(cost(i, np.clip(flat, y[:, 0], y[:, 1])))
    low = np.min(least, axis=0).sum(axis=-1) + a[..., 0] * total.low - b[..., 0] * total_below.high
    return Interval(float(low.max()), max(float(low.max()), float(most.min())))
