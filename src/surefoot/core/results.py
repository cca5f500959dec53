"""What a procedure concludes. Frozen, and never without its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Self

from surefoot.core.assumptions import Assumption, Jointly
from surefoot.core.reasons import Reason, stated
from surefoot.errors import InvalidArgument

LEAST_PROBABILITY = 1e-300
"""Smaller probabilities are stated as "below" this one: floating point ends a little further down,
and a probability above 0 must not be stated as 0."""


def complement(share: float) -> float:
    """The rest of 1, of the decimal number that a person wrote: 0.1 of 0.9, not 0.09999999999…"""
    return float(1 - Decimal(repr(float(share))))


@dataclass(frozen=True)
class Histogram:
    """Counts in bins of equal width from `low` to `high`."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class NormalFit:
    """A normal distribution fitted to the scores of one input after a transform.

    `power` is the transform's λ, None where it has none; `shift` what was added to the scores
    before it. `limit` is the limit after the same transform, `z` its distance from the mean in
    deviations. `log10_failure` is the logarithm of the probability beyond the limit, which does not
    underflow. `statistic` is Anderson and Darling's, corrected for the number of trials, and
    `p_value` that of normality; where `p_is_bound`, it is smaller than `p_value`. `accepted`:
    normality was not rejected at `level`. `scores`: a histogram of the transformed scores, kept
    for a few inputs.
    """

    transform: str
    power: float | None
    mean: float
    deviation: float
    limit: float
    z: float
    log10_failure: float
    statistic: float
    p_value: float
    p_is_bound: bool
    level: float
    accepted: bool
    shift: float = 0.0
    scores: Histogram | None = None


class Footing(StrEnum):
    """What a stated error rate rests on."""

    SOUND = "sound"
    CONDITIONAL = "conditional"
    NONE = "none"


@dataclass(frozen=True)
class Guarantee:
    """The promise that comes with a number: wrong with probability at most `error`.

    `assumptions` are all that it needs; `jointly` names the claims that share the same error.
    """

    footing: Footing
    error: float
    assumptions: tuple[Assumption, ...] = ()
    jointly: Jointly | None = None

    @classmethod
    def sound(cls, error: float = 0.0, jointly: Jointly | None = None) -> Self:
        """One that takes nothing for granted; without an error, what is counted or proved."""
        return cls(Footing.SOUND, error, (), jointly)

    @classmethod
    def given(
        cls, error: float, assumptions: tuple[Assumption, ...], jointly: Jointly | None = None
    ) -> Self:
        """One that holds if these assumptions do."""
        return cls(Footing.CONDITIONAL, error, assumptions, jointly)


def exceeds(value: float, most: float) -> bool:
    """Whether a sum of parts is larger than it may be, by more than the rounding of such sums."""
    return value > most * (1 + 1e-9)


@dataclass(frozen=True)
class Interval:
    """A closed interval."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InvalidArgument(f"an interval needs low <= high, got {self.low} and {self.high}")

    def __contains__(self, value: float) -> bool:
        """Whether the value lies in it, ends included."""
        return self.low <= value <= self.high

    def __neg__(self) -> Interval:
        """Of the opposite number; a zero stays without a sign."""
        return Interval(0.0 - self.high, 0.0 - self.low)

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low


UNIT = Interval(0.0, 1.0)
NO_GUARANTEE = Guarantee(Footing.NONE, 1.0)


@dataclass(frozen=True)
class Estimate:
    """The probability that the property holds, with an interval for it.

    `unbiased` is an estimate from `unbiased_from` of the same trials whose expectation is exactly
    the truth, where the method has one; a population combines these without adding up the widths.
    """

    value: float
    interval: Interval
    guarantee: Guarantee
    trials: int
    unbiased: float | None = None
    unbiased_from: int | None = None

    @property
    def from_one_trial(self) -> bool:
        """Whether all that is known is one trial, which another one may contradict."""
        return self.trials == 1 and self.guarantee.error > 0


@dataclass(frozen=True)
class Decision:
    """Whether a claim holds.

    `p_value`: evidence this strong for the decision would come with at most this probability if
    the opposite were true; for deciding on many claims at once. `counted` is what the same trials
    say of the probability itself. `e_value`, where there is one: the evidence now, whose mean were
    at most 1 if the opposite were true, whenever one stops.
    """

    claim: str
    holds: bool
    guarantee: Guarantee
    trials: int
    kept: int | None = None
    p_value: float | None = None
    counted: Estimate | None = None
    e_value: float | None = None


@dataclass(frozen=True)
class Extrapolation:
    """A probability read off a fitted distribution, beyond what was seen: footing NONE.

    `failure` is 1 - value without the rounding; 1e-300 where it is below that. `counted` is what
    the trials themselves say; `contradicted` when the value lies outside it. `fits` has one entry
    for each transform that was tried; the last is the one that was used.
    """

    value: float
    failure: float
    z: float
    fit: str
    normality: float
    counted: Estimate
    contradicted: bool
    guarantee: Guarantee
    trials: int
    fits: tuple[NormalFit, ...] = ()


@dataclass(frozen=True)
class Undecided:
    """The procedure ended without a claim. A result, not an error.

    A procedure of a user's own gives its `reason` as text. `counted` is what the trials do say,
    where the procedure can tell; `fits` are the normal distributions that did not fit.
    """

    reason: Reason | str
    trials: int = 0
    counted: Estimate | None = None
    fits: tuple[NormalFit, ...] = ()

    @property
    def because(self) -> Reason | None:
        """The reason as a claim has it."""
        return stated(self.reason)


@dataclass(frozen=True)
class ExtrapolatedMean:
    """Extrapolations of several inputs, averaged: RoMA's categorical robustness. Footing NONE.

    `value`, `failure` and `variance` are over the `fitted` ones of all `inputs`; `counted` is the
    mean that the trials themselves show, over all of them.
    """

    value: float
    failure: float
    variance: float | None
    fitted: int
    inputs: int
    contradicted: int
    counted: Estimate | Undecided
    guarantee: Guarantee
    trials: int

    @property
    def completeness(self) -> float:
        """The share of inputs whose tail could be fitted; the average leaves out the others."""
        return self.fitted / self.inputs


@dataclass(frozen=True)
class Point:
    """A curve at one level: over the trials run there, and between which bounds it lies."""

    level: float
    trials: int
    value: float
    interval: Interval


@dataclass(frozen=True)
class Crossing:
    """Where a curve meets a threshold; the best guess, and between which levels."""

    level: float
    interval: Interval
    falls: bool


@dataclass(frozen=True)
class Reading:
    """The share of the range on which a curve is at or above a threshold: its robustness.

    `guarantee` is about the interval; the value alone has none.
    """

    threshold: float
    value: float
    interval: Interval
    crossings: tuple[Crossing, ...]
    guarantee: Guarantee


@dataclass(frozen=True)
class Between:
    """What a curve can do between two neighbouring levels, if what its readings assume is true."""

    low: float
    high: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Curve:
    """Accuracy, or mean confidence, against the level.

    The intervals of all points hold together with `guarantee`. `size` is the number of inputs
    behind it, `notes` what was noticed on the way. `between` is what the curve can do between the
    points, in rising order. `contradiction` says what in the data contradicts the assumption that
    was chosen, and what is assumed instead.
    """

    span: Interval
    size: int
    points: tuple[Point, ...]
    readings: tuple[Reading, ...]
    guarantee: Guarantee
    trials: int
    notes: tuple[Reason | str, ...] = ()
    between: tuple[Between, ...] = ()
    contradiction: Reason | str | None = None


@dataclass(frozen=True)
class PointsDrawn:
    """Points within a radius of an input, and how many of them failed.

    `near_ties`: searched for where the label is nearly another, instead of drawn evenly.
    """

    radius: float
    trials: int
    failed: int
    near_ties: bool = False


@dataclass(frozen=True)
class Bracket:
    """The critical level of one input: the property holds up to `low`, and breaks at `high`.

    `interval.low` is proved (0 where nothing is), `interval.high` refuted by an example (infinite
    where nothing is). `reason` says why the search ended, `trials` how many nodes it took.
    `seconds` is None where a file of others does not say them. `witness` is the counterexample,
    float64 values as base64; `discarded` counts those that the model itself did not confirm.
    `sampled` are points drawn within what is proved, and beyond what is refuted.
    """

    interval: Interval
    guarantee: Guarantee
    reason: str = ""
    trials: int = 0
    seconds: float | None = None
    discarded: int = 0
    witness: str = ""
    sampled: tuple[PointsDrawn, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.interval.low < math.inf:
            raise InvalidArgument(
                f"a proved level is a finite number of at least 0, got {self.interval.low}: give 0 "
                "or more"
            )

    @property
    def low(self) -> float:
        """Proved: no perturbation up to here changes anything."""
        return self.interval.low

    @property
    def high(self) -> float:
        """Refuted: a perturbation of this level does."""
        return self.interval.high

    @property
    def contradicted(self) -> bool:
        """Whether a point failed where it was proved that none can."""
        return any(s.failed and s.radius <= self.low for s in self.sampled)


@dataclass(frozen=True)
class Certificate:
    """Up to which radius a smoothed model is shown to keep the class of one input.

    `radius` is None where the class is not even shown to be the most frequent one at the input
    itself. `shown` are those of the given radii that are. `kept` of the trials gave the class.
    """

    radius: float | None
    shown: tuple[float, ...]
    kept: int
    trials: int
    guarantee: Guarantee

    @property
    def value(self) -> float:
        """The share of the trials that gave the class."""
        return self.kept / self.trials if self.trials else 0.0


@dataclass(frozen=True)
class LevelReached:
    """A severity, and the probability of perturbations above it as splitting has it."""

    severity: float
    probability: float


@dataclass(frozen=True, slots=True)
class Particle:
    """A perturbation by its name: the trial that drew it, and the chains that moved it since.

    Of each chain the number of its first step, which steps were accepted, and its scale.
    """

    trial: int
    chains: tuple[tuple[int, str, float], ...] = ()


@dataclass(frozen=True)
class SplittingRun:
    """One of the independent runs of splitting: its moves, and some levels that it left behind.

    `ancestors` of its first particles have descendants among the last. `found` is a failure, by
    its name; None where the run was left before all particles had failed.
    """

    moves: int
    ancestors: int
    levels: tuple[LevelReached, ...]
    found: Particle | None


@dataclass(frozen=True)
class RareFailure:
    """A failure probability too small to count, from the number of moves that splitting took.

    It holds if chains forget where they began. `failure` is None where the input was left before
    all particles had failed: then only the upper end of the interval says something. `walkers` are
    the particles of all runs, `accepted` the share of steps, `memory` the correlation of ranks
    between where chains began and ended. `counted` is what ordinary trials say without any
    assumption, `fit` what RoMA fits to their severities.
    """

    failure: float | None
    interval: Interval
    guarantee: Guarantee
    trials: int
    moves: int
    walkers: int
    accepted: float
    memory: float
    runs: tuple[SplittingRun, ...]
    counted: Estimate
    fit: NormalFit | None
    limit: float

    @property
    def value(self) -> float:
        """The share of perturbations that are kept, at least where it was left."""
        return 1 - (self.interval.high if self.failure is None else self.failure)


@dataclass(frozen=True)
class Quantile:
    """The critical level that a share of `share` of the population does not exceed.

    `interval.high` may be infinite. `fit` says how well a fitted distribution goes with the data,
    where there is one; `note` what else a reader must know, such as a lower end of 0.
    """

    share: float
    value: float
    interval: Interval
    guarantee: Guarantee
    inputs: int
    fit: Reason | None = None
    note: Reason | None = None


Result = Estimate | Decision | Extrapolation | Undecided
InputResult = Estimate | Decision | Extrapolation | Bracket | Certificate | RareFailure | Undecided
Whole = Estimate | ExtrapolatedMean | Undecided
