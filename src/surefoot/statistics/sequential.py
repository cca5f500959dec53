"""The default of `surefoot estimate`: stop as soon as the width is reached, provably."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from surefoot.evidence import Counts
from surefoot.procedure import Needs
from surefoot.results import Estimate, Footing, Guarantee
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
