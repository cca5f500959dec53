"""Take inputs until the quantile is known to a given width."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surefoot.core.results import Bracket, Footing, Guarantee, Interval, Quantile
from surefoot.errors import InvalidArgument
from surefoot.population.quantile import SortedEnds, assumptions_of, sample_quantile
from surefoot.statistics.ranks import Ranks, at_every_look, check_share, fewest


@dataclass(frozen=True)
class QuantileWithin:
    """Take growing numbers of inputs; stop at the first that tells the quantile to ± `within`.

    The intervals at all these numbers hold together with probability 1 - `error`, whatever the
    distribution and whenever it stops (`statistics/ranks.py`). Narrower brackets stop it sooner;
    an interval that is still wider after `max_inputs` inputs is given as it is, and noted.
    """

    within: float
    share: float = 0.05
    error: float = 0.05
    max_inputs: int = 2000
    growth: float = 1.3

    def __post_init__(self) -> None:
        check_share(self.share, self.error)
        if not self.within > 0:
            raise InvalidArgument(f"within must be more than 0, got {self.within}: try 0.005")
        if self.max_inputs < 1 or not self.growth > 1:
            raise InvalidArgument(
                f"max_inputs must be at least 1 and growth more than 1, got {self.max_inputs} "
                f"and {self.growth}: try 2000 and 1.3"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of inputs it may stop at: the first can bound the quantile from below."""
        first = fewest(self.share, self.error / 10)
        sizes = [min(first, self.max_inputs)]
        while sizes[-1] < self.max_inputs:
            sizes.append(min(self.max_inputs, math.ceil(sizes[-1] * self.growth)))
        return tuple(sizes)

    @property
    def ranks(self) -> tuple[Ranks, ...]:
        """Which sorted levels enclose the quantile at each of these numbers."""
        return at_every_look(self.sizes, self.share, self.error)

    def steps(self) -> Generator[int, Sequence[Bracket], Quantile]:
        """Ask for more inputs, get their brackets in order, conclude."""
        local: list[Bracket] = []
        for ranks, (before, now) in zip(self.ranks, pairwise((0, *self.sizes)), strict=True):
            local += yield now - before
            quantile = self.conclude(local, ranks)
            if not quantile.note:
                break
        return quantile

    def conclude(self, local: Sequence[Bracket], ranks: Ranks) -> Quantile:
        """What so many inputs tell, with a note where it is not enough."""
        ends = SortedEnds.of(local)
        around = Interval(ends.at(ranks.low).low, ends.at(ranks.high).high)
        promise = Guarantee(Footing.CONDITIONAL, self.error, assumptions_of(local))
        if around.width <= 2 * self.within:
            value, note = (around.low + around.high) / 2, ""
        else:
            value = min(max(sample_quantile(ends, self.share), around.low), around.high)
            note = f"{len(local)} inputs were not enough for ± {self.within:g}"
        return Quantile(self.share, value, around, promise, len(local), note=note)
