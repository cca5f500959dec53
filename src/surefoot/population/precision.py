"""A mean to a stated precision: of these inputs, and of the population."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import About, Sampling
from surefoot.core.counts import Counts
from surefoot.core.limits import between, check_fields, limit
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import UNIT, Estimate, Guarantee, Interval
from surefoot.population.groups import assumptions_of_sample
from surefoot.statistics.bounds import clopper_pearson, fixed_size
from surefoot.statistics.counted import Sides, unequal_error
from surefoot.statistics.designs import SMALLEST_PROVED
from surefoot.statistics.fixed_width import design_for
from surefoot.statistics.paired import ONE_TRIAL
from surefoot.statistics.stratified_mean import MeanBounds, Round, allocate, guesses

Asks = Generator[tuple[Ask, ...], list[Counts], "PrecisionResult"]
_SMALLEST_WIDTH = 0.004
"""Below this a sequential design takes minutes to prove."""
_MOST_INPUTS = 2**40
"""Beyond this a forecast of inputs says no more: nobody has as many."""


@dataclass(frozen=True)
class PrecisionResult:
    """A mean of failure probabilities, and the trials of each input that had some.

    `first` is the first trial of each such input alone, where it is known. `note` says why the mean
    is not known to the precision, where it is not. `part` is what a cell of a suite adds to the
    mean over all cells. `bounds` are those of rounds, which hold whenever one stops, at any error;
    `once` counts the first trials where each input had one, whatever they said. Where there is
    neither, single trials were taken until the design said stop.
    """

    failure: Estimate
    counts: Mapping[int, Counts]
    first: Mapping[int, Counts]
    note: Reason | None = None
    part: MeanBounds | None = None
    bounds: MeanBounds | None = None
    once: Counts | None = None


_PRECISION = limit(
    lambda precision: 0 < precision < 0.5,
    "lie between 0 and 0.5",
    "it is half the width of the interval for the mean, try 0.02",
    "{:g}",
)


@dataclass(frozen=True)
class OfPrecision:
    """What methods share that make a mean known to a half-width, wrong with at most `error`."""

    precision: float = field(metadata=_PRECISION)
    error: float = field(metadata=between(0, 1, "try 0.05"))
    needs: ClassVar[Needs] = Needs.MEAN
    evidence: ClassVar[type[Counts]] = Counts

    def __post_init__(self) -> None:
        check_fields(self)


def design_fits(precision: float, error: float, size: int) -> bool:
    """Whether the exact sequential design has at most `size` trials, whatever they say."""
    if error < SMALLEST_PROVED or precision < _SMALLEST_WIDTH:
        return False
    if fixed_size(precision, error) > size:
        return False
    return design_for(precision, error).looks[-1] <= size


class Tally:
    """Trials and failures of each input so far, and its first trial."""

    def __init__(self, size: int) -> None:
        self.trials = np.zeros(size, dtype=np.int64)
        self.failed = np.zeros(size, dtype=np.int64)
        self._first_trials = self._first_failed = self.trials
        self.first_look = Counts(0, 0)

    def ask(
        self, level: float, subjects: NDArray[np.int64], units: NDArray[np.int64]
    ) -> Generator[tuple[Ask, ...], list[Counts], NDArray[np.int64]]:
        """Ask for so many more trials of these inputs; how many failed, of all inputs."""
        failed = trials = np.zeros(len(self.trials), dtype=np.int64)
        if len(subjects):
            pairs = zip(subjects.tolist(), units.tolist(), strict=True)
            answers = yield tuple(Ask(level, number, subject=one) for one, number in pairs)
            trials, failed = trials.copy(), failed.copy()
            np.add.at(trials, subjects, units)
            np.add.at(failed, subjects, [counts.failed for counts in answers])
        if not self.trials.any() and trials.max(initial=0) == 1:
            self._first_trials, self._first_failed = trials, failed
        self.trials, self.failed = self.trials + trials, self.failed + failed
        return failed

    def ask_design(
        self, level: float, precision: float, guarantee: Guarantee, places: NDArray[np.int64]
    ) -> Asks:
        """Single trials of the inputs at these places, one after the other, until it stops."""
        design, kept = design_for(precision, guarantee.error), 0
        for look, (before, now) in enumerate(pairwise((0, *design.looks))):
            # one by one, so that a finer precision finds them whatever its looks are
            failed = yield from self.ask(
                level, places[before:now], np.ones_like(places[before:now])
            )
            kept += now - before - int(failed.sum())
            self.first_look = self.first_look if look else Counts(now, kept)
            if look + 1 == len(design.looks) or design.stops(look, kept):
                break
        rate = 1 - kept / now
        around = Interval(max(0.0, rate - precision), min(1.0, rate + precision))
        return self.result(float(self.failed.sum() / self.trials.sum()), around, guarantee)

    def result(
        self, failure: float, around: Interval, guarantee: Guarantee, note: Reason | None = None
    ) -> PrecisionResult:
        """The mean with what was counted."""
        estimate = Estimate(failure, around, guarantee, int(self.trials.sum()))
        return PrecisionResult(
            estimate,
            _counts(self.trials, self.failed),
            _counts(self._first_trials, self._first_failed),
            note,
        )


def _with_round(
    bounds: MeanBounds, done: Round, failed: NDArray[np.int64], *, mirror: bool
) -> MeanBounds:
    """With one more round, whose failures are trials that were kept where it is mirrored."""
    side = (bounds.mirrored() if mirror else bounds).after(done, failed)
    return side.mirrored() if mirror else side


def _counts(trials: NDArray[np.int64], failed: NDArray[np.int64]) -> dict[int, Counts]:
    tried = np.flatnonzero(trials)
    kept = trials[tried] - failed[tried]
    counts = map(Counts, trials[tried].tolist(), kept.tolist())
    return dict(zip(tried.tolist(), counts, strict=True))


_FIRST_GUESS = 0.1
"""Failure probability guessed of every input before its first trial."""
_FIRST_SHARE = 0.2
"""The first round has at most this many trials times log(2/error)/precision, which is the least
that can suffice."""
_FIRST_PART, _FIRST_PART_OF_MANY = 0.5, 0.05
"""Or as many as inputs, where they are at most this part of all that are forecast."""
_MANY = 500
"""Inputs from which on single trials of some may be enough, and one of each too many."""
_MOST_PICKED = 4
"""Trials an input up to which single trials of inputs picked at random are no more than rounds:
simulated, 0.5 to 0.9 as many; at 8 as many where inputs differ much."""
_FIRST_COST = 0.05
"""Part of log(2/error) that the first round may cost at worst, where its guess is wrong."""
_STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
"""Precisions on the way to a finer one, so that a run begins with the trials of a coarser one."""
_GROWTH = 1.5
"""Each round brings the trials to this many times those before: guesses improve from round to
round, and more rounds than that save nothing (24,200 trials at 1.3, 25,300 at 2.5 on the demo)."""
_LAST = 0.6
"""A round of more than this part of what is still needed takes all of it."""
_SPARE = 1.03
"""The last round has a little more than is expected to be needed, to make another one rare."""


@lru_cache(maxsize=64)
def expected_trials(size: int, precision: float, error: float, rate: float) -> int:
    """If every input fails so often; the cells of a suite ask for the same."""
    return math.ceil(allocate(np.full(size, rate), MeanBounds(size), precision, error).total)


@dataclass(frozen=True)
class SetMean(OfPrecision):
    """Take trials of those inputs that make the mean uncertain, until it is known to `precision`.

    Rounds of trials: each is allocated by what the rounds before say, and the interval
    (`statistics/stratified_mean.py`) holds after each of them, so that stopping is free. They go
    from one of a few precisions to the next, down to this one; each has an interval of its own,
    with weights that are best for it. Where
    there are many inputs for the trials of the exact sequential design, each trial is one of an
    input picked at random, with replacement, and the design says when to stop. `size`, `seed`,
    `level` and `fresh` (whether the perturbation draws) are set by the study.
    """

    size: int = 0
    seed: int = 0
    level: float = 0.0
    fresh: bool = True
    about: ClassVar[About] = About.THESE
    concludes_early: ClassVar[bool] = True

    @property
    def forecast(self) -> int:
        """Trials expected if every input fails as often as guessed first."""
        if not self.size or not self.fresh:
            return self.size
        return expected_trials(self.size, self.precision, self.error, _FIRST_GUESS)

    def steps(self) -> Asks:
        """Rounds until the interval is narrow enough, or the time is up."""
        return (yield from self.rounds(0))

    def rounds(self, cells: int) -> Asks:
        """The same as one of so many cells of a suite, with its part in the mean over all.

        Every cell gives that mean the same weight. An interval of width 2 `precision` has at least
        the weight log(2/error) / (2 precision), so that no cell stops before it. Of many cells the
        stakes are smaller, as chance cancels: twice the square root of their number is the best
        where half the weight of a round is chance.
        """
        tally = Tally(self.size)
        if not self.fresh:
            yield from tally.ask(self.level, np.arange(self.size), np.ones_like(tally.trials))
            mean = float(tally.failed.mean())  # itself: every trial of an input is the same
            return tally.result(mean, Interval(mean, mean), Guarantee.sound())
        picked = _MOST_PICKED * self.size if self.size >= _MANY else self.size
        if design_fits(self.precision, self.error, picked):
            return (yield from self._picked(tally, cells))
        number, part = 0, MeanBounds(self.size)
        factor = min(1.0, 2 / math.sqrt(cells)) if cells else 0.0
        most = factor * math.log(2 / self.error) / (2 * self.precision)
        steps = (*(step for step in _STEPS if step > self.precision), self.precision)
        known = dict.fromkeys(steps, part)
        try:
            while known[self.precision].interval(self.error).width > 2 * self.precision:
                step = next(s for s in steps if known[s].interval(self.error).width > 2 * s)
                guess = np.full(self.size, _FIRST_GUESS)
                if tally.trials.any():
                    guess = guesses(tally.failed, tally.trials)
                mirror = float(guess.mean()) > 0.5
                side = known[step].mirrored() if mirror else known[step]
                guess, done = 1 - guess if mirror else guess, int(tally.trials.sum())
                now = self._next_round(side, guess, done, step)
                trials = np.where(self._taking_part(now.inclusion, number), now.trials, 0)
                some = np.flatnonzero(trials)
                failed = yield from tally.ask(self.level, some, trials[some])
                failed = trials - failed if mirror else failed
                for later in steps[steps.index(step) :]:
                    best = now.best_for(later, step)
                    known[later] = _with_round(known[later], best, failed, mirror=mirror)
                # settled before the round, so that the product stays a supermartingale
                if (weight := min(factor * best.weight, most - part.weight)) > 0:
                    part = _with_round(part, replace(best, weight=weight), failed, mirror=mirror)
                number += 1
        except TimeUp:
            pass
        complete = bool(cells) and math.isclose(part.weight, most, rel_tol=1e-9)
        own = known[self.precision]
        return replace(self._conclude(own, tally), part=part if complete else None)

    def _next_round(
        self, bounds: MeanBounds, guess: NDArray[np.float64], done: int, precision: float
    ) -> Round:
        """What is still needed by the guesses of now, or a part of it."""
        if done:
            needed = allocate(guess, bounds, precision, self.error)
            part = (_GROWTH - 1) * done / needed.total
            part = part if part <= _LAST else _SPARE
            weight, trials = needed.weight * part, needed.trials * part
        else:
            price = math.log(2 / self.error)
            few = _FIRST_SHARE * price / precision
            # one trial of each says most of the population, whose claim counts first trials alone
            part = _FIRST_PART_OF_MANY if self.size >= _MANY else _FIRST_PART
            if self.size <= part * self.forecast:
                few = max(few, self.size)
            trials = np.full(self.size, min(1.0, few / self.size))
            weight = math.sqrt(2 * _FIRST_COST * price * float(trials.sum()))
        whole = np.maximum(1, np.rint(trials)).astype(np.int64)
        return Round(weight, whole, np.minimum(1.0, trials), guess).bounded()

    def _taking_part(self, inclusion: NDArray[np.float64], number: int) -> NDArray[np.bool_]:
        """Which inputs take part in a round: drawn anew for each, by the seed and its number."""
        if bool((inclusion >= 1).all()):
            return np.ones(self.size, dtype=np.bool_)
        rng = np.random.default_rng([self.seed, number])
        taking: NDArray[np.bool_] = rng.random(self.size) < inclusion
        return taking

    def _conclude(self, bounds: MeanBounds, tally: Tally) -> PrecisionResult:
        around = bounds.interval(self.error)
        value = bounds.value(self.error) if bounds.weight else 0.5
        late = around.width > 2 * self.precision
        note = Why.PRECISION_LATE.of(around.width / 2) if late else None
        result = tally.result(value, around, Guarantee.sound(self.error), note)
        return replace(result, bounds=bounds)

    def _picked(self, tally: Tally, cells: int) -> Asks:
        """Single trials of inputs picked at random: each fails with the mean probability.

        Those before the first look, whose number is settled, are the part in the mean over cells.
        """
        rng = np.random.default_rng(self.seed)
        last = design_for(self.precision, self.error).looks[-1]
        places = rng.integers(0, self.size, max(self.size, last))
        guarantee = Guarantee.sound(self.error)
        try:
            result = yield from tally.ask_design(self.level, self.precision, guarantee, places)
        except TimeUp:
            result = tally.result(0.5, UNIT, guarantee, Why.DESIGN_LATE.of())
        look = tally.first_look
        if not cells or not look.trials:
            return result
        stake = min(1.0, math.sqrt(8 * math.log(2 / self.error) / (cells * look.trials)))
        once, half = np.array([look.trials]), np.array([0.5])
        done = Round(stake * look.trials, once, np.ones(1), half)
        part = MeanBounds(1).after(done, once - look.kept)
        return replace(result, part=replace(part, size=self.size))


_MORE_TRIALS = 4
"""Trials of each input grow by this factor."""
_MOST_TRIALS = 64
"""Trials of each input beyond which their own chance is a sixty-fourth: nothing left to gain."""
_LEAST_WITHIN = 0.1
"""Part of the variance that must lie within inputs for more trials of them to be worth it."""


@dataclass(frozen=True)
class PopulationMean(OfPrecision):
    """One trial of each input, in random order, until the mean is known to `precision`.

    Each such trial fails with the population's mean probability, so that all of them are one
    sample of yes and no. Where there are inputs enough, the exact sequential design says when to
    stop. Otherwise every input has one trial and Clopper-Pearson holds; then more trials each,
    while a good part of the variance lies within the inputs. `betting` needs neither the number
    nor the order of values, and its capital as the trials of each input grow is a martingale in
    reverse, so it holds at every number of them (Doob). `size`, `level`, `fresh`, `sampling` and
    `by_class` are set by the study, which also puts the inputs in random order. By class, every
    input has its trial, and the classes have half of the error.
    """

    size: int = 0
    level: float = 0.0
    fresh: bool = True
    sampling: Sampling = Sampling.INDEPENDENT
    by_class: bool = False
    about: ClassVar[About] = About.POPULATION

    @property
    def forecast(self) -> int:
        """One trial of each input, or as many as are enough for any probability."""
        return fixed_size(self.precision, self.error) if self._enough_inputs else self.size

    @property
    def _enough_inputs(self) -> bool:
        """Whether the sequential design can be run to its end, whatever the trials say."""
        independent = self.sampling is Sampling.INDEPENDENT and not self.by_class
        return independent and design_fits(self.precision, self.error, self.size)

    def steps(self) -> Asks:
        """Ask for single trials of more inputs, then for more trials of the same ones."""
        tally = Tally(self.size)
        if self._enough_inputs:
            places, promise = np.arange(self.size), self._guarantee
            return (yield from tally.ask_design(self.level, self.precision, promise, places))
        every = np.arange(self.size)
        failed = yield from tally.ask(self.level, every, np.ones_like(every))
        several, unequal = self.fresh and self.size > 1, self.sampling is not Sampling.INDEPENDENT
        first = Counts(self.size, int(failed.sum()))
        error = self.error / 2 if self.by_class else self.error
        spent = ONE_TRIAL * error if several else error
        around = clopper_pearson(first, unequal_error(spent) if unequal else spent)
        while several and around.width > 2 * self.precision and _worth_more(tally):
            more = (_MORE_TRIALS - 1) * tally.trials
            yield from tally.ask(self.level, every, more)
            rates = tally.failed / tally.trials
            around = Sides.of_counts(first, rates, unequal=unequal).interval(error)
        mean = float((tally.failed / tally.trials).mean())
        value = min(max(mean, around.low), around.high)
        note = None
        if around.width > 2 * self.precision:
            reached = around.width / 2
            by_width = math.ceil(self.size * (reached / self.precision) ** 2)
            needed = min(by_width, inputs_needed(value, self.precision, spent))
            note = Why.PRECISION_LIMITED.of(self.size, reached, needed)
        result = tally.result(value, around, self._guarantee, note)
        return replace(result, once=Counts(self.size, self.size - first.kept))

    @property
    def _guarantee(self) -> Guarantee:
        return Guarantee.given(self.error, assumptions_of_sample(self.sampling, ()))


def _worth_more(tally: Tally) -> bool:
    """Whether the variance of the inputs' rates is to a good part that of their trials."""
    n = int(tally.trials[0])
    if n >= _MOST_TRIALS:
        return False
    if n == 1:
        return bool(0 < tally.failed.sum() < len(tally.failed))
    rates = tally.failed / n
    within = float((rates * (1 - rates)).mean()) / (n - 1)
    return within > _LEAST_WITHIN * float(rates.var())


def inputs_needed(failure: float, precision: float, error: float) -> int:
    """About how many inputs, with one trial each, make the mean known to `precision`.

    A forecast: Clopper-Pearson at the expected number of failures.
    """
    low, high = 1, 2
    while _half_width(failure, high, error) > precision:
        low, high = high, 2 * high
        if high > _MOST_INPUTS:
            return _MOST_INPUTS
    while high - low > max(1, low // 1000):  # to a part in a thousand
        middle = (low + high) // 2
        enough = _half_width(failure, middle, error) <= precision
        low, high = (low, middle) if enough else (middle, high)
    return high


def likely_width(precision: float, error: float, size: int, failure: float) -> float:
    """Of the interval of `PopulationMean`, if so many trials fail: a forecast, without trials
    beyond the first."""
    if design_fits(precision, error, size):
        return 2 * precision
    return 2 * _half_width(failure, size, ONE_TRIAL * error)


def _half_width(failure: float, size: int, error: float) -> float:
    failed = min(size, math.ceil(failure * size))
    return clopper_pearson(Counts(size, size - failed), error).width / 2
