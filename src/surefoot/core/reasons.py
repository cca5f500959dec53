"""Why a claim is open, or what limits it: values without words, which `report/` has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum, auto


class Why(StrEnum):
    """Every reason there is. What its values are, its words say (`report/reasons.py`)."""

    STATED = auto()
    SEVERAL = auto()

    # Forecasts: what would decide an open question.
    LIKELY_DECIDES = auto()
    PRECISION_LIKELY_DECIDES = auto()
    MANY_MAY_DECIDE = auto()
    SMALLER_PRECISION_MAY_DECIDE = auto()
    NARROWER_MAY_DECIDE = auto()
    MORE_TIME_MAY_DECIDE = auto()
    TRIALS_NEEDED = auto()
    PROOFS_MAY_DECIDE = auto()
    NEW_RUN_AND_PROOFS_MAY_DECIDE = auto()

    # Trials of inputs, and what follows for a population.
    KAPPA_OPEN = auto()
    DECLARED_ROBUST = auto()
    DECLARED_FRAGILE = auto()
    DECLARED_NOTHING = auto()
    NO_TRIAL = auto()
    NO_ESTIMATE = auto()
    NOTHING_DECIDED = auto()
    FEW_TRIED = auto()
    CELL_OF_THESE = auto()
    SHARE_OF_THESE_OPEN = auto()
    EVIDENCE_OPEN = auto()
    CLASS_OPEN = auto()
    CLASSES_OPEN = auto()
    FAILURE_OPEN = auto()
    ACCURACY_OPEN = auto()
    NONE_RIGHT_WHEN_CLEAN = auto()
    OUT_OF_REACH = auto()
    MAY_BE_WORSE = auto()
    OTHER_INPUTS = auto()
    PRECISION_LATE = auto()
    DESIGN_LATE = auto()
    PRECISION_LIMITED = auto()
    FEW_MODELS = auto()
    EQUAL_VALUES = auto()

    # Answers to clean inputs that make every PASS meaningless.
    IMPLAUSIBLE = auto()
    ONE_CLASS_GIVEN = auto()
    LABELS_READ_OTHERWISE = auto()
    PREPARED_OTHERWISE = auto()
    LITTLE_SKILL = auto()
    CHANCE_EXPLAINS = auto()
    FEW_TO_DOUBT = auto()
    HARDLY_A_CHANGE = auto()
    HARDLY_A_RADIUS = auto()

    # Scores and their tails.
    EQUAL_SEVERITIES = auto()
    NOT_NORMAL = auto()
    NO_TAIL_FITTED = auto()
    SEVERITY_TIES = auto()
    CHAINS_STALLED = auto()
    LEVELS_STALLED = auto()
    CHAINS_REMEMBER = auto()
    RUNS_DISAGREE = auto()
    COUNT_DISAGREES = auto()
    RARE_INPUTS_OPEN = auto()

    # Critical radii and their quantiles.
    NO_BRACKETS = auto()
    NO_BRACKETS_TO_DECIDE = auto()
    RADIUS_OPEN = auto()
    RADIUS_OF_GROUPS_OPEN = auto()
    WITHIN_INTERVAL = auto()
    SUITE_OPEN = auto()
    BASELINE_RIGHT = auto()
    RADII_OPEN = auto()
    POINT_FAILED = auto()
    RADIUS_NOT_SHOWN = auto()
    CERTIFIED_OPEN = auto()
    INPUTS_CHOSEN = auto()
    QUANTILE_ZERO = auto()
    FEW_FOR_LOWER_END = auto()
    LOWER_END_ZERO = auto()
    FEW_FOR_UPPER_END = auto()
    NO_UPPER_END = auto()
    NOT_WITHIN = auto()
    GROUPS_LOWER_END_ZERO = auto()
    GROUPS_NO_UPPER_END = auto()
    POOLED_NO_LOWER_END = auto()
    POOLED_NO_UPPER_END = auto()

    # Log-normal radii.
    REJECTED = auto()
    NOT_REJECTED = auto()
    NOT_TESTED = auto()
    NEVER_REFUTED = auto()
    FEW_TO_TEST = auto()
    CONTRADICTED = auto()
    NOT_TESTABLE = auto()
    FEW_FOR_POSTERIOR = auto()
    ZERO_LEVELS = auto()
    ZERO_LEVEL = auto()
    NOTHING_REFUTED = auto()
    NO_LENGTH = auto()
    IMPOSSIBLE = auto()
    NO_MORE_INPUTS = auto()
    SHORT_ENOUGH = auto()
    UNDERFLOW = auto()
    INPUTS_USED = auto()
    RANDOM_ORDER = auto()
    STOPPED_TOO_SOON = auto()

    # Curves.
    NO_PROMISE = auto()
    SHARE_OPEN = auto()
    SHARES_OPEN = auto()
    NOT_LOCATED = auto()
    COMES_BACK = auto()
    INPUTS_COME_BACK = auto()
    CONFIDENCE_COMES_BACK = auto()
    RISES = auto()
    ASSUMED_INSTEAD = auto()
    NO_INTERVAL = auto()
    STOPPED_EARLY = auto()
    CURVATURE_CHECKED = auto()
    CURVATURE_NOT_CHECKED = auto()
    INTEGRAL_OPEN = auto()

    def of(self, *values: Value) -> Reason:
        """This reason with its values."""
        return Reason(self, values)


@dataclass(frozen=True)
class Reason:
    """A reason and its values; some of these are reasons themselves.

    None stands for an infinite number, which JSON does not know.
    """

    why: Why
    values: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        known = tuple(None if value == math.inf else value for value in self.values)
        object.__setattr__(self, "values", known)

    @property
    def parts(self) -> list[Reason]:
        """The reasons among its values."""
        return [value for value in self.values if isinstance(value, Reason)]


Value = int | float | str | None | Reason


def stated(reason: Reason | str | None) -> Reason | None:
    """A reason as a claim has it: text of a user's own procedure is kept as it is."""
    return (Why.STATED.of(reason) if reason else None) if isinstance(reason, str) else reason


def several(reasons: list[Reason]) -> Reason | None:
    """All of them as one; None for none."""
    return Why.SEVERAL.of(*reasons) if len(reasons) > 1 else next(iter(reasons), None)
