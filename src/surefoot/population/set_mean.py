"""The mean failure probability of these inputs, to a stated precision, with few trials."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import About
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs, TimeUp
from surefoot.core.results import UNIT, Footing, Guarantee, Interval
from surefoot.population.precision import Asks, PrecisionResult, Tally, check_precision, design_fits
from surefoot.statistics.stratified_mean import MeanBounds, Round, allocate, guesses

_FIRST_GUESS = 0.1
"""Failure probability guessed of every input before its first trial."""
_FIRST_SHARE = 0.2
"""The first round has at most this many trials times log(2/error)/precision, which is the least
that can suffice."""
_FIRST_COST = 0.05
"""Part of log(2/error) that the first round may cost at worst, where its guess is wrong."""
_GROWTH = 1.5
"""Each round brings the trials to this many times those before: guesses improve from round to
round, and more rounds than that save nothing (24,200 trials at 1.3, 25,300 at 2.5 on the demo)."""
_LAST = 0.6
"""A round of more than this part of what is still needed takes all of it."""
_SPARE = 1.03
"""The last round has a little more than is expected to be needed, to make another one rare."""


@dataclass(frozen=True)
class SetMean:
    """Take trials of those inputs that make the mean uncertain, until it is known to `precision`.

    Rounds of trials: each is allocated by what the rounds before say, and the interval
    (`statistics/stratified_mean.py`) holds after each of them, so that stopping is free. Where
    there are more inputs than the exact sequential design has trials, each trial is one of an input
    picked at random, with replacement, and the design says when to stop. `size`, `seed`, `level`
    and `fresh` (whether the perturbation draws) are set by the study.
    """

    precision: float
    error: float
    size: int = 0
    seed: int = 0
    level: float = 0.0
    fresh: bool = True
    needs: ClassVar[Needs] = Needs.MEAN
    evidence: ClassVar[type[Counts]] = Counts
    about: ClassVar[About] = About.THESE
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_precision(self.precision, self.error)

    @property
    def forecast(self) -> int:
        """Trials expected if every input fails as often as guessed first."""
        if not self.size:
            return 0
        guess = np.full(self.size, _FIRST_GUESS)
        return math.ceil(allocate(guess, MeanBounds(self.size), self.precision, self.error).total)

    def steps(self) -> Asks:
        """Rounds until the interval is narrow enough, or the time is up."""
        tally = Tally(self.size)
        if not self.fresh:
            yield from tally.ask(self.level, np.ones(self.size, dtype=np.int64))
            return self._settled(tally)
        if design_fits(self.precision, self.error, self.size):
            return (yield from self._picked(tally))
        bounds, number = MeanBounds(self.size), 0
        try:
            while bounds.interval(self.error).width > 2 * self.precision:
                guess = self._guess(tally)
                mirror = float(guess.mean()) > 0.5
                side = bounds.mirrored() if mirror else bounds
                now = self._next_round(
                    side, 1 - guess if mirror else guess, int(tally.trials.sum())
                )
                trials = np.where(self._taking_part(now.inclusion, number), now.trials, 0)
                failed = yield from tally.ask(self.level, trials)
                side = side.after(now, trials - failed if mirror else failed)
                bounds, number = side.mirrored() if mirror else side, number + 1
        except TimeUp:
            pass
        return self._conclude(bounds, tally)

    def _guess(self, tally: Tally) -> NDArray[np.float64]:
        if not tally.trials.any():
            return np.full(self.size, _FIRST_GUESS)
        return guesses(tally.failed, tally.trials)

    def _next_round(self, bounds: MeanBounds, guess: NDArray[np.float64], done: int) -> Round:
        """What is still needed by the guesses of now, or a part of it."""
        if done:
            needed = allocate(guess, bounds, self.precision, self.error)
            part = (_GROWTH - 1) * done / needed.total
            part = part if part <= _LAST else _SPARE
            weight, trials = needed.weight * part, needed.trials * part
        else:
            price = math.log(2 / self.error)
            few = _FIRST_SHARE * price / self.precision
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
        note = f"the time was up at ± {around.width / 2:.2g}; more time narrows it" if late else ""
        result = tally.result(value, around, Guarantee(Footing.SOUND, self.error), note)
        return replace(result, anytime=True)

    def _picked(self, tally: Tally) -> Asks:
        """Single trials of inputs picked at random: each fails with the mean probability."""
        rng = np.random.default_rng(self.seed)
        places = rng.integers(0, self.size, self.size)
        guarantee = Guarantee(Footing.SOUND, self.error)
        try:
            around = yield from tally.ask_design(self.level, self.precision, self.error, places)
        except TimeUp:
            return tally.result(
                0.5, UNIT, guarantee, "the time was up before the design ended: give it more"
            )
        rate = float(tally.failed.sum() / tally.trials.sum())
        return tally.result(rate, around, guarantee)

    def _settled(self, tally: Tally) -> PrecisionResult:
        """The mean itself, where every trial of an input is the same."""
        mean = float(tally.failed.mean())
        return tally.result(mean, Interval(mean, mean), Guarantee(Footing.SOUND, 0.0))
