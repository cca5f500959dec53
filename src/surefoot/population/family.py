"""κ-tests of many inputs as one family: the fragile ones go on until all inputs together decide."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask, Session
from surefoot.core.results import Decision, InputResult
from surefoot.population.share import refutation_limits
from surefoot.statistics.kappa import KappaTest, clean_trials, log_evidence_above

Asks = Generator[tuple[Ask, ...], list[Counts], list[InputResult]]


@dataclass(frozen=True)
class KappaFamily:
    """The κ-test of each input, then more trials of those declared fragile; a result for each.

    The test of one input stops at an e-value of 1/error; n inputs together are refuted by a sum of
    e-values, n times as large. Under the hypothesis each e-value is a supermartingale in its own
    trials, which are independent of those of other inputs; which input is tried next depends on
    the past alone. So their sum is one as well, and may be read whenever one likes, whatever chose
    the inputs that went on. It takes the evidence of now: of an input that went on and turned out
    weaker the stronger evidence of before does not count.

    `known`: of each input its result where that is known before any trial, else None.
    """

    test: KappaTest
    level: float
    known: tuple[InputResult | None, ...]
    evidence: ClassVar[type[Counts]] = Counts

    @property
    def forecast(self) -> int:
        """Trials expected if no trial fails."""
        each = min(clean_trials(0, self.test.kappa, self.test.error), self.test.max_trials)
        return each * self.known.count(None)

    def steps(self) -> Asks:
        """All tests side by side, then the fragile inputs, those that need fewest trials first."""
        tests = {i: Session(self.test) for i, one in enumerate(self.known) if one is None}
        asking = tests
        while asking := {i: one for i, one in asking.items() if one.question is not None}:
            answers = yield self._asks({i: one.question or 0 for i, one in asking.items()})
            for one, counts in zip(asking.values(), answers, strict=True):
                one.tell(counts)
        results = {i: one.result for i, one in tests.items()}
        left = int(self.test.extra_trials * sum(one.trials for one in results.values()))
        fragile = {
            i: one for i, one in results.items() if isinstance(one, Decision) and not one.holds
        }
        while more := self._further(fragile, len(tests), left):
            for (i, units), counts in zip(more.items(), (yield self._asks(more)), strict=True):
                fragile[i], left = self._again(fragile[i], counts), left - units
        results.update(fragile)
        return [results[i] if one is None else one for i, one in enumerate(self.known)]

    def _asks(self, units: dict[int, int]) -> tuple[Ask, ...]:
        return tuple(Ask(self.level, number, subject=i) for i, number in units.items())

    def _further(self, fragile: dict[int, Decision], inputs: int, left: int) -> dict[int, int]:
        """Trials of the next round, of inputs whose evidence may be had within what is left."""
        if not fragile:
            return {}
        target = math.log(refutation_limits(inputs, self.test.error, self.test.error).total)
        needed = sorted(
            (self.test.further_trials(_counts(one), self._evidence(_counts(one)), target), i)
            for i, one in fragile.items()
        )
        chosen: dict[int, int] = {}
        for units, i in needed:
            if units > left:
                break
            if units:
                chosen[i], left = int(units), left - int(units)
        return chosen

    def _again(self, before: Decision, counts: Counts) -> Decision:
        """Declared as before, with the evidence of all trials."""
        total = _counts(before) + counts
        return self.test.declare(total, self._evidence(total), holds=False)

    def _evidence(self, counts: Counts) -> float:
        return log_evidence_above(counts.failed, counts.trials, self.test.kappa)


def _counts(decided: Decision) -> Counts:
    return Counts(decided.trials, decided.kept or 0)
