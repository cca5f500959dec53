"""The mean failure probability of these inputs, to a stated precision, with few trials."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.claims import About
from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.procedure import Ask, Needs, TimeUp
from surefoot.results import Estimate, Footing, Guarantee, Interval
from surefoot.statistics.stratified_mean import MeanBounds, Round, allocate, guesses

Asks = Generator[tuple[Ask, ...], list[Counts], "PrecisionResult"]
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
class PrecisionResult:
    """A mean of failure probabilities, and the trials of each input behind it.

    `first` is the first trial of each input alone, where it had one. `note` says why the mean is
    not known to the precision, where it is not.
    """

    failure: Estimate
    counts: tuple[Counts, ...]
    first: tuple[Counts, ...]
    note: str = ""


def check_precision(precision: float, error: float) -> None:
    """Refuse a half-width or an error that is none."""
    if not 0 < precision < 0.5:
        raise InvalidArgument(
            f"precision must lie between 0 and 0.5, got {precision:g}: it is how far the mean may "
            "be from the truth, try 0.02"
        )
    if not 0 < error < 1:
        raise InvalidArgument(f"error must lie between 0 and 1, got {error}: try 0.05")


@dataclass(frozen=True)
class SetMean:
    """Take trials of those inputs that make the mean uncertain, until it is known to `precision`.

    Rounds of trials: each is allocated by what the rounds before say, and the interval
    (`statistics/stratified_mean.py`) holds after each of them, so that stopping is free. `size`,
    `seed`, `level` and `fresh` (whether the perturbation draws) are set by the study.
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
        note = f"the time was up at ± {around.width / 2:.2g}" if late else ""
        return tally.result(value, around, Guarantee(Footing.SOUND, self.error), note)

    def _settled(self, tally: Tally) -> PrecisionResult:
        """The mean itself, where every trial of an input is the same."""
        mean = float(tally.failed.mean())
        return tally.result(mean, Interval(mean, mean), Guarantee(Footing.SOUND, 0.0))


class Tally:
    """Trials and failures of each input so far, and its first trial."""

    def __init__(self, size: int) -> None:
        self.trials = np.zeros(size, dtype=np.int64)
        self.failed = np.zeros(size, dtype=np.int64)
        self._first_trials = self._first_failed = self.trials

    def ask(
        self, level: float, trials: NDArray[np.int64]
    ) -> Generator[tuple[Ask, ...], list[Counts], NDArray[np.int64]]:
        """Ask for so many more trials of each input; how many failed."""
        some = np.flatnonzero(trials)
        failed = np.zeros(len(trials), dtype=np.int64)
        if len(some):
            asks = tuple(Ask(level, int(trials[i]), subject=int(i)) for i in some)
            answers = yield asks
            failed[some] = [counts.trials - counts.kept for counts in answers]
        if not self.trials.any() and trials.max(initial=0) == 1:
            self._first_trials, self._first_failed = trials, failed
        self.trials, self.failed = self.trials + trials, self.failed + failed
        return failed

    def result(
        self, failure: float, around: Interval, guarantee: Guarantee, note: str = ""
    ) -> PrecisionResult:
        """The mean with what was counted."""
        estimate = Estimate(failure, around, guarantee, int(self.trials.sum()))
        return PrecisionResult(
            estimate,
            _counts(self.trials, self.failed),
            _counts(self._first_trials, self._first_failed),
            note,
        )


def _counts(trials: NDArray[np.int64], failed: NDArray[np.int64]) -> tuple[Counts, ...]:
    return tuple(map(Counts, trials.tolist(), (trials - failed).tolist()))
