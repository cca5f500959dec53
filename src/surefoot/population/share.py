"""The share of inputs that are robust (Mu & Lim 2024, with their bounds corrected)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.population.mean import SAMPLED
from surefoot.results import Decision, Estimate, Footing, Guarantee, Interval, Result, Undecided
from surefoot.statistics.bounds import clopper_pearson
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
        return Estimate(value, around, Guarantee(Footing.CONDITIONAL, error, note), trials)


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
        "that one is not",
        trials,
    )
