"""The share of inputs that are robust (Mu & Lim 2024, with their bounds corrected)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import Continues, Sampling
from surefoot.core.reasons import Why
from surefoot.core.results import Decision, Estimate, Guarantee, Interval, Result, Undecided
from surefoot.population import groups
from surefoot.population.groups import Sampled, averages, distinct, is_grouped, members_of
from surefoot.population.mean import counted
from surefoot.statistics.bounds import check_error
from surefoot.statistics.counted import Side, Sides, Tested
from surefoot.statistics.kappa import tail_above, upwards
from surefoot.statistics.paired import Pairing, lower_difference

_ROUNDING = 1e-12
"""Relative: two probabilities closer than this count as equal."""
_SHARE_OF_NUMBER = 0.5
"""Share of the error that the number of fragile declarations may spend; the rest is for strong
evidence against few inputs. Half of it costs ln 2 of evidence."""


@dataclass(frozen=True)
class RobustShare:
    """The share of the population whose failure probability is at most κ.

    With a the error of each decision: of the robust inputs at most a share a is declared fragile,
    of the fragile ones at most a share a is declared robust. So P(robust) lies between
    (P(declared robust) - a)/(1 - a) and (1 - P(declared fragile))/(1 - a). Both probabilities are
    themselves estimated from the inputs; Clopper-Pearson ends stand in for them. An undecided
    input is declared neither. (The lower end printed in the paper has 1 + a for 1 - a.)
    """

    error: float
    sampling: Sampling = Sampling.INDEPENDENT
    classes: tuple[int, ...] = ()
    """The class of each input, in order; of a stratified sample, for differences."""
    inputs: str = ""
    """Names the inputs, for the draw of one trial of each group."""
    kind: ClassVar[str] = "robust-share"
    quantity: ClassVar[str] = "the robust share"
    continues: ClassVar[Continues] = Continues.ONCE

    def __post_init__(self) -> None:
        check_error(self.error)

    def conclude(self, local: Sequence[Sampled], error: float) -> Estimate | Undecided:
        """The share declared robust, with an interval for the share that is."""
        decisions = [r for r in members_of(local) if isinstance(r, Decision)]
        trials = sum(r.trials for r in local)
        if not decisions:
            return Undecided(Why.NOTHING_DECIDED.of(), trials)
        a = max(r.guarantee.error for r in decisions)
        declared = self._sides(local).interval(error)
        low, high = (declared.low - a) / (1 - a), declared.high / (1 - a)
        value = float(_declared(local, True).mean())
        around = Interval(min(max(0.0, low), value), max(min(1.0, high), value))
        assumed = groups.assumptions_of_sample(self.sampling, local)
        return Estimate(value, around, Guarantee.given(error, assumed), trials)

    def _sides(self, local: Sequence[Sampled]) -> Sides:
        """Inputs that are declared robust, and those that are not declared fragile."""
        robust, fragile = _declared(local, True), _declared(local, False)
        unequal = self.sampling is Sampling.STRATIFIED
        single = not is_grouped(local)
        up, down = (
            Side(v, single=single, unequal=unequal, inputs=self.inputs) for v in (robust, fragile)
        )
        return Sides(up, down)

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """Nothing: each input has its own decision, and `all_robust` speaks of all of them."""
        return None

    def difference(
        self, first: Sequence[Sampled], second: Sequence[Sampled], error: float
    ) -> Interval:
        """How much larger the first share is: an interval from the same inputs decided twice."""
        a = max(_decision_error(first), _decision_error(second))
        pairing = Pairing.of(
            len(first),
            self.inputs,
            single=not is_grouped(first),
            stratified=self.sampling is Sampling.STRATIFIED,
            classes=self.classes,
        )
        robust, other = _declared(first, True), _declared(second, True)
        maybe, other_maybe = (1.0 - _declared(local, False) for local in (first, second))
        low = lower_difference(robust, other_maybe, error / 2, pairing)
        high = -lower_difference(other, maybe, error / 2, pairing)
        return Interval(max(-1.0, (low - a) / (1 - a)), min(1.0, (high + a) / (1 - a)))

    def tested(self, local: Sequence[Sampled], least: float) -> Tested:
        """The requirement that the share is at least `least`, as a test of both answers.

        A share below `least` lets at most least(1 - a) + a be declared robust, one of at least
        `least` at most 1 - least(1 - a) fragile.
        """
        a = _decision_error(local)
        met = least * (1 - a)
        return Tested(self._sides(local), least, met + a, met, self.error)


def every_input_at_most(local: Sequence[Result]) -> Estimate | None:
    """A failure probability that no input studied exceeds, as an estimate whose high end it is.

    The largest of their own upper ends: were it below the failure probability of the weakest
    input, that one's own end would be wrong. So no more than the error of one input is spent.
    """
    known = [r.counted if isinstance(r, Decision) else counted(r) for r in local]
    estimates = [r for r in known if isinstance(r, Estimate)]
    if not estimates or len(estimates) < len(local):
        return None
    bound = upwards(max(1 - r.interval.low for r in estimates))
    promise = Guarantee.sound(max(r.guarantee.error for r in estimates))
    return Estimate(bound, Interval(0.0, bound), promise, sum(r.trials for r in local))


def _declared(local: Sequence[Sampled], holds: bool) -> NDArray[np.float64]:
    """1 for an input that was declared so, else 0; of a group, the share of its inputs."""
    return averages(local, lambda r: float(isinstance(r, Decision) and r.holds is holds))


def _decision_error(local: Sequence[Sampled]) -> float:
    decisions = (r for r in members_of(distinct(local)) if isinstance(r, Decision))
    return max((r.guarantee.error for r in decisions), default=0.0)


def all_robust(local: Sequence[Result]) -> Decision | Undecided:
    """Whether every input studied has a failure probability of at most κ.

    Held if every input was declared robust: were one not, that one would be declared so with
    probability at most the error. Refuted if `fragile_at_least` says that one is fragile.
    """
    decisions = [r for r in local if isinstance(r, Decision)]
    trials = sum(r.trials for r in local)
    if not decisions:
        return Undecided(Why.NOTHING_DECIDED.of(), trials)
    return robust_of_these(local, 1.0, _decision_error(local))


def robust_of_these(
    local: Sequence[Result], least: float, error: float, wrong: int = 0
) -> Decision | Undecided:
    """Whether a share of at least `least` of the inputs studied have a failure probability ≤ κ.

    `wrong` more inputs have none, as is known without trials: they count in the share. Of the n
    others, with m inputs required to be robust and a the error of each decision: were fewer robust,
    at least f = n - m + 1 would be fragile, and of these no more than Binomial(f, a) be declared
    robust. Held if so many were declared robust that this happens with at most `error`; for all
    inputs that is every one of them, at a ≤ error. Refuted if `fragile_at_least` says that f are
    fragile. Only one of the two can be wrong, so each may spend the whole error.
    """
    n, trials = len(local), sum(r.trials for r in local)
    decisions = [r for r in local if isinstance(r, Decision)]
    every = n + wrong
    a, m = _decision_error(local), math.ceil(least * every - _ROUNDING * every)
    claim, promise = f"{m} of {every} inputs studied are robust", Guarantee.sound(error)
    if m > n:
        return Decision(claim, False, promise, trials)
    if not decisions:
        return Undecided(Why.NOTHING_DECIDED.of(), trials)
    f = n - m + 1
    robust = sum(r.holds for r in decisions)
    if m == 0 or _too_many_robust(robust - (n - f), f, a, error):
        return Decision(claim, True, promise, trials)
    if fragile_at_least(local, error) >= f:
        return Decision(claim, False, promise, trials)
    # what either verdict would take
    enough = next((k for k in range(1, f + 1) if _too_many_robust(k, f, a, error)), None)
    passing = None if enough is None else n - f + enough
    failing = refutation_limits(m, a, error).number + n - m + wrong
    known = robust, every, len(decisions) - robust + wrong
    reason = Why.SHARE_OF_THESE_OPEN.of(*known, passing, failing if failing <= every else None)
    return Undecided(reason, trials)


def _too_many_robust(wrongly: int, fragile: int, a: float, error: float) -> bool:
    """Whether so many of the fragile inputs are declared robust with at most `error`."""
    return wrongly > 0 and tail_above(wrongly, fragile, a) <= error * (1 + _ROUNDING)


def fragile_at_least(local: Sequence[Result], error: float) -> int:
    """How many of these inputs at least truly fail with a probability above κ."""
    return _true_declarations(local, False, error)


def robust_at_least(local: Sequence[Result], error: float) -> int:
    """How many of these inputs at least truly fail with a probability of at most κ."""
    return _true_declarations(local, True, error)


def _true_declarations(local: Sequence[Result], holds: bool, error: float) -> int:
    """A lower bound, wrong with at most `error`, of how many inputs are what they were declared.

    The smallest m that is not rejected, where m is rejected if, without the m declarations of
    strongest evidence, those that remain would be too many or too strong together for n - m
    inputs of the other kind (`refutation_limits`). Let M be the truth. If the bound exceeds M,
    then M was rejected. Declarations of the M inputs that are of this kind may be anything; leaving
    out the M strongest leaves e-values that are, in order, no larger than those of the n - M
    inputs of the other kind. So these, too, were rejected, which they are with probability at most
    `error`. An undecided input is declared neither, now or later.
    """
    a, n = _decision_error(local), len(local)
    declared = (r for r in local if isinstance(r, Decision) and r.holds is holds)
    e_values = sorted(_e_value(r) for r in declared)
    sums = np.cumsum(e_values)
    for m in range(len(e_values)):
        remaining = len(e_values) - m
        limits = refutation_limits(n - m, a, error)
        if remaining < limits.number and sums[remaining - 1] < limits.total:
            return m
    return len(e_values)


def _e_value(decided: Decision) -> float:
    """Its own; or one that a p-value p makes: 1/(2√p), whose mean is 1 where p is uniform.

    Without either the decision counts as one among many alone.
    """
    if decided.e_value is not None or decided.p_value is None:
        return decided.e_value or 0.0
    return math.inf if decided.p_value == 0 else 1 / (2 * math.sqrt(decided.p_value))


@dataclass(frozen=True)
class RefutationLimits:
    """What n declarations must bring to show that one is right: so many, or such a sum of
    e-values."""

    number: int
    total: float


@lru_cache(maxsize=4096)
def refutation_limits(n: int, a: float, error: float) -> RefutationLimits:
    """The limits for n inputs of which each is wrongly declared with at most a, independently.

    If every declaration is wrong, their number is at most Binomial(n, a), which may spend one half
    of the error; the mean of n e-values is an e-value, and reaches 2/error with at most the other
    half (Markov; Ville where trials go on). One input with 2n/error is enough, or several that
    have it together. Where one declaration is enough for the whole error, as with one input, it
    spends all of it.
    """
    if tail_above(1, n, a) <= error * (1 + _ROUNDING):
        return RefutationLimits(1, math.inf)
    most = _SHARE_OF_NUMBER * error
    number = next((c for c in range(1, n + 1) if tail_above(c, n, a) <= most), n + 1)
    return RefutationLimits(number, n / ((1 - _SHARE_OF_NUMBER) * error))
