"""What running recorded trials again came to, in sentences; and what a forger could still do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.core.counts import Answer, Counts, Outcomes, Proof, Severities
from surefoot.evidence.statement import Evidence
from surefoot.recheck.draw_trials import ALTERED, NOTICED, TrialDraw, catch_probability
from surefoot.region.attack_method import BROKEN
from surefoot.study.run import environment

_SHARES = (0.01, 0.05, 0.2)
"""Altered shares whose probability to be noticed is printed."""


@dataclass(frozen=True)
class Wording:
    """What is run again, in words: trials, or the inputs that an attack searched."""

    noun: str
    unit: str
    doing: str
    again: str
    altered: str
    nothing: str


TRIALS = Wording(
    "recorded trials", "trials", "running", "run again", "trials",
    "Alter no trial: all of them were run again.",
)  # fmt: skip
ATTACKED = Wording(
    "attacked inputs", "attacked inputs", "attacking", "attacked again", "outcomes of the attack",
    "Alter no outcome of the attack: all inputs were attacked again.",
)  # fmt: skip


@dataclass(frozen=True)
class Sampled:
    """A draw from some runs, and of each run by name how many trials it has and how many failed."""

    draw: TrialDraw[tuple[str, str]]
    wording: Wording
    trials: Mapping[str, int]
    failed: Mapping[str, int]

    @property
    def everything(self) -> bool:
        """Whether every row is run again: as asked for, or because each holds a drawn trial."""
        return self.draw.trials == self.draw.total

    @property
    def number(self) -> str:
        """How many are run again."""
        total = f"{self.draw.total:,} {self.wording.noun}"
        return f"all {total}" if self.everything else f"{self.draw.trials:,} of {total}"

    @property
    def of_runs(self) -> str:
        """Of which runs of a comparison they are; empty where there is only one run."""
        if len(self.trials) == 1:
            [name] = self.trials
            return f" of {name}" if name else ""
        own = dict.fromkeys(self.trials, 0)
        for (run, _), rows in self.draw.rows.items():
            own[run] += sum(entry.stop - entry.start for entry in rows)
        parts = ", ".join(f"{n:,} of {self.trials[run]:,} of {run}" for run, n in own.items())
        return f" ({parts})"

    @property
    def compared(self) -> str:
        """What is compared one by one: a trial, or a row of several with its count."""
        rows = self.draw.number_of_rows
        return f"{rows:,} {self.wording.unit if rows == self.draw.trials else 'rows'}"

    @property
    def why_these(self) -> str:
        """Which trials were drawn, and why others are run again with them."""
        draw = self.draw
        if self.everything:
            return "every one of them"
        drawn = f"{draw.drawn:,} drawn at random (seed {draw.seed})"
        if draw.trials == draw.drawn:
            return drawn
        rows = f"{draw.number_of_rows:,} of {draw.total_rows:,}"
        several = "a row of the journal holds several trials and is run again whole"
        return f"{drawn}; {several}, here {rows}"

    @property
    def chances(self) -> str:
        """How likely altered shares of some sizes would have been noticed, exactly."""
        if self.everything:
            return ""
        draw = self.draw
        chances = ", ".join(
            f"{floor_percent(draw.catch(share))} if {_percent(share)}" for share in _SHARES
        )
        words = (
            f"Altered {self.wording.altered} would be noticed with probability {chances} of them "
            "were altered."
        )
        if len(self.trials) > 1:
            least = min(
                catch_probability(draw.total, math.ceil(ALTERED * n), draw.drawn)
                for n in self.trials.values()
            )
            words += (
                f" Where one run alone was altered, {_percent(ALTERED)} of its own are noticed "
                f"with probability {floor_percent(least)} or more."
            )
        if draw.catch(ALTERED) < NOTICED:
            more = math.ceil(1000 * draw.enough) / 1000
            words += f" --share {more:g} notices {_percent(ALTERED)} with {_percent(NOTICED)}."
        return words

    @property
    def forger(self) -> str:
        """What is left to a forger, and where the probabilities come from."""
        if self.everything:
            return self.wording.nothing
        draw = self.draw
        return (
            f"Alter so few {self.wording.altered} that none was drawn: the probabilities above are "
            f"1 - C(N - M, n)/C(N, n) with n = {draw.drawn:,} draws and M altered of "
            f"N = {draw.total:,}, or more, however the altered ones lie among the rows. "
            f"{self._worth}"
        )

    @property
    def _worth(self) -> str:
        """What altered trials can do to what the file says of them."""
        draw, unit = self.draw, self.wording.unit
        altered = math.ceil(ALTERED * draw.total)
        share = f"{_percent(ALTERED)} of the {unit} are {altered:,}"
        if len(self.trials) > 1:
            most = max(100 * min(1, altered / n) for n in self.trials.values())
            points = math.ceil(10 * most - 1e-9) / 10
            return (
                f"{share}: so many altered in one run alone move its share of failed {unit} by up "
                f"to {points:g} points."
            )
        [failed] = self.failed.values()
        most = min(failed + altered, draw.total)
        return (
            f"{share}: if so many failures were hidden, truly {most:,} of {draw.total:,} {unit} "
            f"failed, and not {failed:,} as the file says."
        )

    @property
    def sample(self) -> str:
        """What was run again, for the last line."""
        draw, unit, again = self.draw, self.wording.unit, self.wording.again
        if self.everything:
            return f"all {draw.total:,} {unit} were {again} and came out as it says"
        return (
            f"the {draw.trials:,} of {draw.total:,} {unit} that were {again} came out as it says "
            f"({_percent(ALTERED)} altered would be noticed with probability "
            f"{floor_percent(draw.catch(ALTERED))})"
        )


def failures_of(evidence: Answer) -> int:
    """How many trials of a row failed, or whether an attack broke its input."""
    match evidence:
        case Counts():
            return evidence.trials - evidence.kept
        case Outcomes():
            return evidence.marks.count("0")
        case Severities():
            return sum(value >= evidence.limit for value in evidence.values)
        case Proof():
            return int(evidence.reason in BROKEN)
        case _:
            return 0


def outcome_words(evidence: Answer) -> str:
    """What a row of a journal says."""
    match evidence:
        case Counts():
            return f"{failures_of(evidence):,} of {evidence.trials:,} failed"
        case Outcomes():
            return f"{failures_of(evidence):,} of {len(evidence.marks):,} failed"
        case Severities():
            return f"severity {evidence.values[0]:.6g}"
        case Proof():
            return f"{evidence.reason}"
        case _:
            return "other evidence"


def floor_percent(chance: float) -> str:
    """A probability in percent, never rounded up."""
    if chance > 0.999:
        return "above 99.9 %"
    return f"{math.floor(chance * 1000 + 1e-9) / 10:g} %"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def why_else(evidence: Evidence) -> str:
    """What else than a forger can cause a few differences."""
    here, there = environment(), evidence.record.environment
    names = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    versions = ", ".join(
        f"{name} {here.get(name, 'none')} instead of {there.get(name, 'none')}"
        for name in sorted(names)
    )
    innocent = "In a near tie another processor, number of threads or library can decide otherwise"
    if versions:
        return f"{innocent}; here is {versions}: check it once more with the versions of the run."
    return f"{innocent}; the versions here are those of the run."
