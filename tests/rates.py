"""Runs of which few may be false, and no more of them than decide whether too many are."""

from collections.abc import Iterator

from scipy.special import bdtrc

LEVEL = 0.001
"""Too many are so many that they would come this rarely at the stated error."""


class Runs:
    """The seeds 0, 1, … of `runs` runs; whoever does a run adds to `false` if it is.

    They end with the first run after which no other could change whether `too_often` holds.
    """

    def __init__(self, runs: int, error: float) -> None:
        self.runs, self.false = runs, 0
        self.too_many = next(k for k in range(1, runs + 2) if bdtrc(k - 1, runs, error) < LEVEL)

    def __iter__(self) -> Iterator[int]:
        for seed in range(self.runs):
            yield seed
            if self.too_often or self.false + self.runs - 1 - seed < self.too_many:
                return

    @property
    def too_often(self) -> bool:
        """Whether so many false ones reject the error."""
        return self.false >= self.too_many
