"""The share of inputs that are robust (Mu & Lim 2024, with their bounds corrected)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.population.requirement import SAMPLED, Evidence, at_least
from surefoot.results import (
    Decision,
    Estimate,
    Footing,
    Guarantee,
    Interval,
    Result,
    Undecided,
    Whole,
)
from surefoot.statistics.binomial_test import tail_above
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import betting
from surefoot.statistics.kappa import claim_of, upwards
from surefoot.statistics.multiplicity import shares


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
    kind: ClassVar[str] = "robust-share"
    quantity: ClassVar[str] = "the robust share"

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise InvalidArgument(f"error must lie between 0 and 1, got {self.error}")

    def conclude(self, local: Sequence[Result], error: float) -> Estimate | Undecided:
        """The share declared robust, with an interval for the share that is."""
        made = [r for r in local if isinstance(r, Decision)]
        trials = sum(r.trials for r in local)
        if not made:
            return Undecided("no input could be decided", trials)
        a = max(r.guarantee.error for r in made)
        n, robust = len(local), sum(r.holds for r in made)
        fragile = len(made) - robust
        low = (clopper_pearson(Counts(n, robust), error).low - a) / (1 - a)
        high = clopper_pearson(Counts(n, n - fragile), error).high / (1 - a)
        value = robust / n
        open_ = n - len(made)
        note = SAMPLED + (f"; {open_} of {n} inputs were undecided" if open_ else "")
        around = Interval(min(max(0.0, low), value), max(min(1.0, high), value))
        return Estimate(value, around, Guarantee(Footing.CONDITIONAL, error, (note,)), trials)

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """Nothing: each input has its own decision, and `all_robust` speaks of all of them."""
        return None

    def difference(
        self, first: Sequence[Result], second: Sequence[Result], error: float
    ) -> Interval:
        """How much larger the first share is: an interval from the same inputs decided twice."""
        a = max(_error(first), _error(second))
        low = 2 * betting((1 + _declared(first, True) - _not(second, False)) / 2, error).low - 1
        high = 2 * betting((1 + _not(first, False) - _declared(second, True)) / 2, error).high - 1
        return Interval(max(-1.0, (low - a) / (1 - a)), min(1.0, (high + a) / (1 - a)))

    def evidence(self, local: Sequence[Result], least: float) -> Evidence:
        """How surely the share is at least `least`, and how surely it is less.

        A share below `least` lets at most least(1 - a) + a be declared robust, one of at least
        `least` at most 1 - least(1 - a) fragile.
        """
        a, n = _error(local), len(local)
        robust, fragile = int(_declared(local, True).sum()), int(_declared(local, False).sum())
        return Evidence(
            tail_above(robust, n, least * (1 - a) + a) if least > 0 else 0.0,
            tail_above(fragile, n, 1 - least * (1 - a)),
        )

    def strongest(self, local: Sequence[Result], whole: Whole) -> tuple[Decision, ...]:
        """The largest share the evidence shows, and the smallest κ it shows for every input.

        For every input: the largest of their upper ends. Were it below the failure probability
        of the weakest input, that one's own upper end would be wrong.
        """
        found = at_least(whole, self.quantity)
        told = [r.counted for r in local if isinstance(r, Decision | Undecided)]
        known = [r for r in told if r is not None]
        if len(known) == len(local):
            kappa = upwards(max(1 - r.interval.low for r in known))
            promise = Guarantee(Footing.SOUND, max(r.guarantee.error for r in known))
            claim = f"for every input studied {claim_of(kappa)}"
            found += (Decision(claim, True, promise, sum(r.trials for r in local)),) * (kappa < 1)
        return found


def _declared(local: Sequence[Result], holds: bool) -> NDArray[np.float64]:
    return np.array([isinstance(r, Decision) and r.holds is holds for r in local], dtype=float)


def _not(local: Sequence[Result], holds: bool) -> NDArray[np.float64]:
    return 1.0 - _declared(local, holds)


def _error(local: Sequence[Result]) -> float:
    return max((r.guarantee.error for r in local if isinstance(r, Decision)), default=0.0)


def all_robust(local: Sequence[Result]) -> Decision | Undecided:
    """Whether every input studied has a failure probability of at most κ.

    Held if every input was declared robust: were one not, that one would be declared so with
    probability at most the error. Refuted if the evidence against one input is strong enough to
    have been looked for among all of them (Bonferroni).
    """
    made = [r for r in local if isinstance(r, Decision)]
    trials = sum(r.trials for r in local)
    if not made:
        return Undecided("no input could be decided", trials)
    error = max(r.guarantee.error for r in made)
    claim, promise = f"for every input studied {made[0].claim}", Guarantee(Footing.SOUND, error)
    fragile = [r for r in made if not r.holds]
    if len(made) == len(local) and not fragile:
        return Decision(claim, True, promise, trials)
    strongest = min((r.p_value for r in fragile if r.p_value is not None), default=1.0)
    if strongest <= shares(error, len(local)):
        return Decision(claim, False, promise, trials)
    return Undecided(
        f"of {len(local)} inputs {len(fragile)} were declared fragile and {len(local) - len(made)} "
        "stayed undecided, which shows neither that all are robust nor, with so many looked at, "
        "that one is not: a fixed size (--method exact-binomial --looks 1) weighs the weakest more",
        trials,
    )
