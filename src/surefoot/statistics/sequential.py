"""The default of `surefoot estimate`: stop as soon as the width is reached, provably."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.procedure import Forecast, Needs
from surefoot.core.results import Estimate, Footing, Guarantee
from surefoot.statistics.designs import Design
from surefoot.statistics.fixed_width import Trials, around
from surefoot.statistics.library import check_design, design_for


@dataclass(frozen=True)
class ExactSequential:
    """Look at planned numbers of trials and stop at the first where the estimate is near enough.

    The probability of a miss is proved to be at most `error` for every p (`statistics/proof.py`).
    """

    width: float
    error: float
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_design(self.width, self.error)

    @property
    def design(self) -> Design:
        """When to look and when to stop, and what is proved of it."""
        return design_for(self.width, self.error)

    def forecast_from(self, counts: Counts) -> Forecast:
        """Up to the look where inputs with the rate so far stop; the last one without any trial."""
        design = self.design
        if not counts.trials:
            return Forecast(design.looks[-1], design.looks[-1])
        near = (counts.kept + design.pseudo) / (counts.trials + 2 * design.pseudo)
        enough = near * (1 - near) * (design.z / design.width) ** 2
        look = min(bisect_left(design.looks, enough), len(design.looks) - 1)
        return Forecast(max(design.looks[look], counts.trials), design.looks[-1])

    def steps(self) -> Trials:
        """One question a look. The rate at the first look, whose size is fixed, is unbiased."""
        design = self.design
        counts = yield design.looks[0]
        first = counts.rate
        for look, (before, now) in enumerate(pairwise(design.looks)):
            if design.stops(look, counts.kept):
                break
            counts += yield now - before
        near = around(counts.rate, self.width)
        promise = Guarantee(Footing.SOUND, self.error)
        return Estimate(counts.rate, near, promise, counts.trials, first, design.looks[0])
