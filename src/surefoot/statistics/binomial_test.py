"""The exact binomial test at planned looks, its error spent over them: Mu & Lim made sound."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.procedure import Forecast, Needs
from surefoot.core.results import Decision, Estimate, Footing, Guarantee
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.kappa import (
    Trials,
    check_budget,
    check_kappa,
    claim_of,
    estimate_below,
    evidence_per_trial,
    not_decided,
)


@dataclass(frozen=True)
class ExactBinomial:
    """Decide p ≤ kappa or p > kappa by exact tests at `looks` sizes that double up to `max_trials`.

    Look i may err with probability error/looks on each side, so that all of them together err
    with at most `error`; with one look it is the plain exact test of a fixed size.
    """

    kappa: float
    error: float
    max_trials: int
    looks: int = 8
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_kappa(self.kappa, self.error)
        check_budget(self.max_trials)
        if self.looks < 1 or self.max_trials < self.looks:
            raise InvalidArgument(
                f"looks must lie between 1 and max_trials ({self.max_trials}), got {self.looks}"
            )

    def sizes(self) -> list[int]:
        """How many trials there are at each look."""
        return list(_halvings(self.max_trials, self.looks))

    def forecast_from(self, counts: Counts) -> Forecast:
        """Up to the first look at which the rate so far would decide; the last without a trial."""
        sizes = self.sizes()
        if not counts.trials:
            return Forecast(sizes[-1], sizes[-1])
        target = math.log(len(sizes) / self.error)
        enough = target / evidence_per_trial(counts, self.kappa)
        look = min(bisect_left(sizes, max(enough, counts.trials)), len(sizes) - 1)
        return Forecast(sizes[look], sizes[-1])

    def steps(self) -> Trials:
        """One question a look."""
        sizes = self.sizes()
        share = self.error / len(sizes)
        counts = Counts(0, 0)
        for size in sizes:
            counts += yield size - counts.trials
            failed = counts.trials - counts.kept
            if (tail := tail_below(failed, counts.trials, self.kappa)) <= share:
                return self._decide(counts, len(sizes) * tail, holds=True)
            if (tail := tail_above(failed, counts.trials, self.kappa)) <= share:
                return self._decide(counts, len(sizes) * tail, holds=False)
        return not_decided(counts, self.kappa, self._counted(counts))

    def _decide(self, counts: Counts, p_value: float, *, holds: bool) -> Decision:
        promise = Guarantee(Footing.SOUND, self.error)
        return Decision(
            claim_of(self.kappa),
            holds,
            promise,
            counts.trials,
            counts.kept,
            p_value,
            self._counted(counts),
        )

    def _counted(self, counts: Counts) -> Estimate:
        """The upper ends of all looks hold together, so the one at which the run ends does."""
        bound = _most(counts.trials - counts.kept, counts.trials, self.error / len(self.sizes()))
        return estimate_below(counts, bound, self.error)


@lru_cache(maxsize=65_536)
def _most(failed: int, trials: int, error: float) -> float:
    """The largest failure probability that the counts leave possible; each side at `error`."""
    return clopper_pearson(Counts(trials, failed), 2 * error).high


@lru_cache(maxsize=64)
def _halvings(most: int, looks: int) -> tuple[int, ...]:
    return tuple(sorted({math.ceil(most / 2**i) for i in range(looks)}))


@lru_cache(maxsize=65_536)
def tail_below(failed: int, trials: int, kappa: float) -> float:
    """P(at most `failed` of `trials` fail) when each fails with probability κ."""
    from scipy.special import betaincc

    return 1.0 if failed >= trials else float(betaincc(failed + 1, trials - failed, kappa))


@lru_cache(maxsize=65_536)
def tail_above(failed: int, trials: int, kappa: float) -> float:
    """P(at least `failed` of `trials` fail) when each fails with probability κ."""
    from scipy.special import betainc

    return 1.0 if failed == 0 else float(betainc(failed, trials - failed + 1, kappa))


def clean_size(kappa: float, error: float) -> int:
    """Trials without a failure that show p ≤ κ in one look: ⌈ln error / ln(1 - κ)⌉."""
    return math.ceil(math.log(error) / math.log1p(-kappa))
