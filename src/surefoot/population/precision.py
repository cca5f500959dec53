"""What both methods for a mean to a precision share: the tally of each input, the exact design."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask
from surefoot.core.results import Estimate, Guarantee, Interval
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import fixed_size
from surefoot.statistics.library import design_for
from surefoot.statistics.proof import SMALLEST_PROVED

Asks = Generator[tuple[Ask, ...], list[Counts], "PrecisionResult"]
_SMALLEST_WIDTH = 0.004
"""Below this a sequential design takes minutes to prove."""


@dataclass(frozen=True)
class PrecisionResult:
    """A mean of failure probabilities, and the trials of each input behind it.

    `first` is the first trial of each input alone, where it had one. `note` says why the mean is
    not known to the precision, where it is not. `anytime`: more trials may be added and the mean be
    read again.
    """

    failure: Estimate
    counts: tuple[Counts, ...]
    first: tuple[Counts, ...]
    note: str = ""
    anytime: bool = False


def check_precision(precision: float, error: float) -> None:
    """Refuse a half-width or an error that is none."""
    if not 0 < precision < 0.5:
        raise InvalidArgument(
            f"precision must lie between 0 and 0.5, got {precision:g}: it is half the width of "
            "the interval for the mean, try 0.02"
        )
    if not 0 < error < 1:
        raise InvalidArgument(f"error must lie between 0 and 1, got {error}: try 0.05")


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

    def ask_design(
        self, level: float, precision: float, error: float, places: NDArray[np.int64]
    ) -> Generator[tuple[Ask, ...], list[Counts], Interval]:
        """Single trials of the inputs at these places, one after the other, until it stops."""
        design, kept = design_for(precision, error), 0
        for look, (before, now) in enumerate(pairwise((0, *design.looks))):
            trials = np.bincount(places[before:now], minlength=len(self.trials))
            failed = yield from self.ask(level, trials)
            kept += now - before - int(failed.sum())
            if look + 1 == len(design.looks) or design.stops(look, kept):
                break
        rate = 1 - kept / now
        return Interval(max(0.0, rate - precision), min(1.0, rate + precision))

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
