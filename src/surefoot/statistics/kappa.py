"""Is the failure probability below κ? Decided as early as the evidence allows, without peeking.

The published rule (increase n until an exact test rejects, Mu & Lim 2024) looks at the data again
and again at full level; its error at p = κ is about .3 where .05 was promised. An e-value may be
looked at after every trial: under the hypothesis it is a supermartingale that starts at 1, so it
ever reaches 1/error with probability at most error (Ville).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.limits import between, check_fields, limit
from surefoot.core.procedure import Forecast, Needs
from surefoot.core.reasons import Why
from surefoot.core.results import Decision, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import ERROR, clopper_pearson, divergence

_BELOW = ((0.01, 0.73), (0.25, 0.05), (0.6, 0.10), (0.8, 0.08))
"""Below κ: p = κu, and the weight of each u; the rest of the weight lies evenly on (0, κ).

The first is near 0, where the failure rates of good classifiers are, and ends a clean run within
1.10 of the floor; a weight w costs ln(1/w) of evidence. Few points do better than a smooth
density from 0.1κ to 0.8κ (`benchmarks/kappa.py`); the even part serves rates nearer to κ.
"""
_ABOVE = ((1.22, 0.32), (1.7, 0.18), (3.0, 0.19), (7.0, 0.19))
"""Above κ: odds over those of κ, and their weights; the rest is spread over (κ, 1)."""
_TAIL = 0.4
"""There its density falls like p^-1.4, so that few trials refute 20κ."""
_ROUNDING = 1e-15
"""Times n ln n: three times the largest error measured against 40 digits, n up to 10^11."""
_SMALLEST_KAPPA, _MOST_TRIALS = 1e-9, 10**10
"""Within these, rounding stays far below the evidence that decides."""
_PRECISION = 1e-7
"""Relative distance up to which the κ reported may lie above the smallest one."""
_FIRST, _GROWTH, _CLEAN_GROWTH = 0.04, 0.04, 0.25
"""Trials to the next look: so many times 1/κ, or relative to those so far where these are more.
More looks cost time, fewer cost trials; where at most κ failed, a refutation is far off."""
_MOST_EVIDENCE = 690.0
"""Of a logarithm whose exponential is still a number."""
_CACHE_SIZE = 65_536
"""Results remembered by each function: many inputs share the same counts."""

Trials = Generator[int, Counts, Decision | Undecided]


def log_evidence_below(failed: int, trials: int, kappa: float) -> float:
    """log of the e-value against "p ≥ κ": the likelihood averaged over (0, κ), over that at κ.

    With p = κu it is the mean over u of u^failed ((1 - κu)/(1 - κ))^held, whatever κ is. For every
    u the second factor grows with κ and is at least 1, and u ≤ 1. So the e-value grows with κ and
    with the trials that hold, and falls with each trial that fails instead.
    """
    held = trials - failed
    points = [
        math.log(w) + failed * math.log(u) + held * (math.log1p(-kappa * u) - math.log1p(-kappa))
        for u, w in _BELOW
    ]
    even = _log_part(failed + 1.0, held + 1.0, kappa, below=True) - math.log(kappa)
    even += _log_rest(_BELOW) - _likelihood(failed, trials, kappa)
    return _log_sum(*points, even) - _rounding(trials)


def log_evidence_above(failed: int, trials: int, kappa: float) -> float:
    """log of the e-value against "p ≤ κ": the likelihood averaged over (κ, 1), over that at κ.

    Without a failure it is below 1, and not computed.
    """
    if failed == 0:
        return -math.inf
    part = _log_part(failed - _TAIL, trials - failed + 1.0, kappa, below=False)
    prior = math.log(math.expm1(-_TAIL * math.log(kappa)) / _TAIL)
    spread = part - prior - _likelihood(failed, trials, kappa)
    points = [
        # (1 - p)/(1 - κ) is 1/(1 - κ + κ·odds)
        math.log(w) + failed * math.log(odds) - trials * math.log1p(kappa * (odds - 1))
        for odds, w in _ABOVE
    ]
    return _log_sum(*points, _log_rest(_ABOVE) + spread) - _rounding(trials)


@lru_cache(maxsize=_CACHE_SIZE)
def log_evidence(failed: int, trials: int, kappa: float) -> float:
    """The one of the two on the side of κ the counts lie on; there the other is below 0."""
    below = failed <= kappa * trials
    return (log_evidence_below if below else log_evidence_above)(failed, trials, kappa)


def log_largest_ratio(failed: int, trials: int, kappa: float) -> float:
    """log of the likelihood at the observed rate, over that at κ; no e-value here exceeds it."""
    return trials * divergence(failed / trials, kappa)


def evidence_per_trial(counts: Counts, kappa: float) -> float:
    """How much log evidence a further trial is expected to bring, for a forecast; above 0.

    At the observed rate, which is uncertain: where it is κ itself, the true one is off by its
    standard error, and brings 1/(2 trials).
    """
    return divergence(1 - counts.rate, kappa) + 1 / (2 * counts.trials)


def _rounding(trials: int) -> float:
    """At least what rounding can add: logarithms of factorials carry an error of their size."""
    return _ROUNDING * trials * math.log(trials + 1)


def _likelihood(failed: int, trials: int, p: float) -> float:
    return failed * math.log(p) + (trials - failed) * math.log1p(-p)


def _log_part(a: float, b: float, kappa: float, *, below: bool) -> float:
    """log of ∫ p^(a-1) (1-p)^(b-1) dp over (0, κ) or (κ, 1); -inf where it underflows.

    An underflow makes the e-value smaller than it is: the test stays valid, and only waits. Numbers
    below the smallest normal one are rounded coarsely, also upwards, and count as underflow.
    """
    from scipy.special import betainc, betaincc, betaln

    part = float(betainc(a, b, kappa) if below else betaincc(a, b, kappa))
    return float(betaln(a, b)) + math.log(part) if part > sys.float_info.min else -math.inf


def _log_rest(points: tuple[tuple[float, float], ...]) -> float:
    """log of the weight that the points leave."""
    return math.log(1 - sum(weight for _, weight in points))


def _log_sum(*logs: float) -> float:
    """log of the sum of their exponentials; at least one of them is finite."""
    high = max(logs)
    return high + math.log(sum(math.exp(one - high) for one in logs))


@lru_cache(maxsize=_CACHE_SIZE)
def clean_trials(failed: int, kappa: float, error: float) -> int:
    """The number of trials at which p < κ is shown if no more than `failed` ever fail."""
    target = math.log(1 / error)
    low, high = failed, max(failed, 1)
    while log_evidence_below(failed, high, kappa) < target:
        low, high = high, 2 * high
    between = range(low + 1, high)
    return (
        low
        + 1
        + bisect_left(between, target, key=lambda trials: log_evidence_below(failed, trials, kappa))
    )


@lru_cache(maxsize=_CACHE_SIZE)
def supported(failed: int, trials: int, error: float) -> float:
    """The smallest κ for which the evidence shows p < κ; 1 if there is none.

    Valid at every moment and for the κ that the data choose: the e-value grows with κ, so a κ below
    the truth is named only if the e-value of the truth itself has reached 1/error.
    """
    target = math.log(1 / error)
    low = failed / trials
    high = min(1.0, 2 * max(low, 1 / trials))
    while high < 1 and log_evidence_below(failed, trials, high) < target:
        low, high = high, min(1.0, 2 * high)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        enough = log_evidence_below(failed, trials, middle) >= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def kappa_claim(kappa: float) -> str:
    """What is decided of an input, whatever counts as failed."""
    return f"trials fail with probability at most {kappa!r}"


_BUDGET = limit(
    lambda trials: 1 <= trials <= _MOST_TRIALS,
    f"lie between 1 and {_MOST_TRIALS:,}",
    "try 10000000",
    "{:,}",
)


@dataclass(frozen=True)
class _Deciding:
    """What tests share whether the failure probability is at most `kappa`."""

    kappa: float = field(
        metadata=between(
            0,
            1,
            f"try 0.001 (the least is {_SMALLEST_KAPPA:g}, which takes three billion trials to "
            "show)",
            least=_SMALLEST_KAPPA,
        )
    )
    error: float = field(metadata=ERROR)
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        """Refuse what no test can mean; and a budget of no trial or of more than can be weighed."""
        check_fields(self)

    def _bound(self, failed: int, trials: int) -> float:
        """The failure probability that the trials show not to be exceeded."""
        raise NotImplementedError

    def _tested(
        self, sizes: Sequence[int], share: float
    ) -> Generator[int, Counts, tuple[Counts, bool | None, float]]:
        """An exact test of either side at each size; the first tail of at most `share`, and whose.

        None where no test rejects.
        """
        counts = Counts(0, 0)
        for size in sizes:
            counts += yield size - counts.trials
            for holds, tail in ((True, tail_below), (False, tail_above)):
                if (p := tail(counts.failed, counts.trials, self.kappa)) <= share:
                    return counts, holds, p
        return counts, None, 1.0

    def _counted(self, counts: Counts) -> Estimate:
        """The observed rate, with the failure probability that is not exceeded."""
        bound = self._bound(counts.failed, counts.trials)
        around = Interval(max(0.0, 1 - bound), 1.0)
        return Estimate(counts.rate, around, Guarantee(Footing.SOUND, self.error), counts.trials)

    def _decide(
        self, counts: Counts, p_value: float, *, holds: bool, e_value: float | None = None
    ) -> Decision:
        claim = kappa_claim(self.kappa)
        promise, counted = Guarantee(Footing.SOUND, self.error), self._counted(counts)
        return Decision(
            claim, holds, promise, counts.trials, counts.kept, p_value, counted, e_value
        )

    def _undecided(self, counts: Counts) -> Undecided:
        """A budget that ended, with the strongest κ that the trials do show."""
        counted = self._counted(counts)
        shown = upwards(1 - counted.interval.low)
        reason = Why.KAPPA_OPEN.of(counts.failed, counts.trials, self.kappa, shown)
        return Undecided(reason, counts.trials, counted)


@dataclass(frozen=True)
class KappaTest(_Deciding):
    """Decide whether the failure probability is at most `kappa`; wrong with at most `error`.

    `extra_trials`: of all inputs together, for those declared fragile, relative to the trials that
    the decisions took (`population/family.py`).
    """

    max_trials: int = field(default=10_000_000, metadata=_BUDGET)
    extra_trials: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.extra_trials < math.inf:
            raise InvalidArgument(
                f"extra_trials is a number from 0 on, relative to the trials that the decisions "
                f"take, got {self.extra_trials}: try 0.5",
                option="extra_trials",
                value=self.extra_trials,
            )

    def steps(self) -> Trials:
        """Look often; the next look never lies beyond where a clean run would end.

        Evidence is weighed only where it can be enough: where the largest likelihood ratio is.
        """
        target = math.log(1 / self.error)
        counts = Counts(0, 0)
        while counts.trials < self.max_trials:
            counts += yield self._more(counts)
            failed = counts.failed
            if log_largest_ratio(failed, counts.trials, self.kappa) < target:
                continue
            if (evidence := log_evidence(failed, counts.trials, self.kappa)) >= target:
                return self.declare(counts, evidence, holds=failed <= self.kappa * counts.trials)
        return self._undecided(counts)

    def declare(self, counts: Counts, evidence: float, *, holds: bool) -> Decision:
        """The decision with the evidence that these trials give for it.

        One over an e-value is a p-value that stays valid whenever one stops.
        """
        e_value = math.exp(min(evidence, _MOST_EVIDENCE))
        return self._decide(counts, math.exp(-evidence), holds=holds, e_value=e_value)

    def further_trials(self, counts: Counts, evidence: float, target: float) -> float:
        """About how many more bring the evidence for more than κ to `target`, at the rate so far.

        0 where it is reached, or no trial is left.
        """
        room = self.max_trials - counts.trials
        if evidence >= target or room <= 0:
            return 0
        if counts.failed <= self.kappa * counts.trials or math.isinf(target):
            return math.inf
        needed = (target - evidence) / divergence(1 - counts.rate, self.kappa)
        return min(max(math.ceil(needed), math.ceil(_FIRST / self.kappa)), room)

    def forecast_from(self, counts: Counts) -> Forecast:
        """As many as show what the rate so far suggests; inputs near κ need many times more."""
        failed, trials = counts.failed, counts.trials
        if not failed:
            clean = clean_trials(0, self.kappa, self.error)
            return Forecast(min(clean, self.max_trials), self.max_trials)
        missing = math.log(1 / self.error) - log_evidence(failed, trials, self.kappa)
        further = missing / evidence_per_trial(counts, self.kappa)
        return Forecast(min(trials + math.ceil(further), self.max_trials), self.max_trials)

    def _more(self, counts: Counts) -> int:
        clean = clean_trials(counts.failed, self.kappa, self.error) - counts.trials
        over = counts.failed > self.kappa * counts.trials
        growth = (_GROWTH if over else _CLEAN_GROWTH) * counts.trials
        step = math.ceil(max(growth, _FIRST / self.kappa))
        return max(1, min(clean, step, self.max_trials - counts.trials))

    def _bound(self, failed: int, trials: int) -> float:
        return supported(failed, trials, self.error)


def upwards(kappa: float) -> float:
    """Three digits, never less."""
    unit = 10.0 ** (math.floor(math.log10(max(kappa, 1e-300))) - 2)
    return float(f"{min(1.0, math.ceil(kappa / unit) * unit):.3g}")


@dataclass(frozen=True)
class ExactBinomial(_Deciding):
    """Decide p ≤ kappa or p > kappa by exact tests at `looks` sizes that double up to `max_trials`.

    Look i may err with probability error/looks on each side, so that all of them together err
    with at most `error`; with one look it is the plain exact test of a fixed size.
    """

    max_trials: int = field(metadata=_BUDGET)
    looks: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.looks < 1 or self.max_trials < self.looks:
            raise InvalidArgument(
                f"looks must lie between 1 and max_trials ({self.max_trials}), got {self.looks}"
            )

    def sizes(self) -> list[int]:
        """How many trials there are at each look."""
        return sorted({math.ceil(self.max_trials / 2**i) for i in range(self.looks)})

    def forecast_from(self, counts: Counts) -> Forecast:
        """Up to the first look at which the rate so far would decide; the last without a trial."""
        sizes = self.sizes()
        return _look_that_decides(sizes, counts, self.kappa, self.error / len(sizes))

    def steps(self) -> Trials:
        """One question a look."""
        sizes = self.sizes()
        share = self.error / len(sizes)
        counts, holds, tail = yield from self._tested(sizes, share)
        if holds is None:
            return self._undecided(counts)
        return self._decide(counts, len(sizes) * tail, holds=holds)

    def _bound(self, failed: int, trials: int) -> float:
        """The upper ends of all looks hold together, so the one at which the run ends does."""
        share = self.error / len(self.sizes())
        return clopper_pearson(Counts(trials, failed), 2 * share).high


def _look_that_decides(sizes: list[int], counts: Counts, kappa: float, error: float) -> Forecast:
    """The first of these sizes at which the rate so far would decide, or the last."""
    if not counts.trials:
        return Forecast(sizes[-1], sizes[-1])
    enough = math.log(1 / error) / evidence_per_trial(counts, kappa)
    look = min(bisect_left(sizes, max(enough, counts.trials)), len(sizes) - 1)
    return Forecast(sizes[look], sizes[-1])


@dataclass(frozen=True)
class PublishedDoubling(_Deciding):
    """Mu & Lim's rule as published, at 1/kappa trials and twice as many each time: unsound.

    "We increase the sample size until it rejects either side of the tail" (section 2): an exact
    test at the whole `error`, made again and again. So each input stays undecided, and what the
    rule declares of it is the reason: no verdict can rest on it.
    """

    max_trials: int = field(metadata=_BUDGET)

    def sizes(self) -> list[int]:
        """How many trials there are at each look."""
        return doubling(round(1 / self.kappa), self.max_trials)

    @property
    def measured_error(self) -> float:
        """How often it declares an input robust whose failure probability is exactly kappa."""
        return falsely_robust(self.kappa, self.error, self.sizes())

    def forecast_from(self, counts: Counts) -> Forecast:
        """Up to the first look at which the rate so far would be declared; the last without one."""
        return _look_that_decides(self.sizes(), counts, self.kappa, self.error)

    def steps(self) -> Trials:
        """One question a look."""
        counts, holds, _ = yield from self._tested(self.sizes(), self.error)
        declared = Why.DECLARED_ROBUST if holds else Why.DECLARED_FRAGILE
        why = Why.DECLARED_NOTHING if holds is None else declared
        return Undecided(why.of(counts.failed, counts.trials, self.kappa), counts.trials)


def doubling(first: int, most: int) -> list[int]:
    """Looks at twice as many trials each time; one at `most` where that is less than `first`."""
    looks = [min(first, most)]
    while 2 * looks[-1] <= most:
        looks.append(2 * looks[-1])
    return looks


def falsely_robust(kappa: float, error: float, looks: Sequence[int]) -> float:
    """P(declared robust) of an input with failure probability exactly kappa.

    `looks` are the numbers of trials after which both tails are tested, each at `error`. A forward
    recursion over the number of failures; what is decided at a look leaves it.
    """
    from scipy.special import bdtr

    sizes = np.asarray(looks)
    few, many = (_quantiles(share, sizes, kappa) for share in (error, 1 - error))
    undecided, before, robust = np.ones(1), 0, 0.0
    # fewer failures than `low` reject that p is at least kappa, more than `high` that it is at most
    for n, low, high in zip(sizes.tolist(), few.tolist(), many.tolist(), strict=True):
        failures = np.arange(min(n - before, high) + 1)
        more = np.diff(bdtr(failures, n - before, kappa), prepend=0.0)
        undecided, before = np.convolve(undecided, more)[: high + 1], n
        robust += float(undecided[:low].sum())
        undecided[:low] = 0.0
    return robust


def _quantiles(share: float, sizes: NDArray[np.int64], kappa: float) -> NDArray[np.int64]:
    """The least k with P(at most k failures of n) ≥ share, for each n."""
    from scipy.special import bdtr, bdtrik

    near = np.ceil(np.maximum(bdtrik(share, sizes, kappa), 0)).astype(np.int64)
    lower = np.maximum(near - 1, 0)
    return np.asarray(np.where(bdtr(lower, sizes, kappa) >= share, lower, near))


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
