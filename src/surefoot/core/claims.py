"""Every statement that the product makes. Words, tables, JSON and exit codes come from these."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from surefoot.core.results import Guarantee, Interval
from surefoot.errors import InvalidArgument


class About(StrEnum):
    """What a claim is about."""

    INPUT = "one input"
    CLASS = "one class"
    THESE = "these inputs"
    POPULATION = "the population"


class Sampling(StrEnum):
    """How the inputs came from the population that a claim is about."""

    INDEPENDENT = "independent"
    STRATIFIED = "stratified by class"
    GROUPED = "groups of inputs"


class Randomness(StrEnum):
    """What was random about the perturbations."""

    FRESH = "fresh perturbations"
    FIXED = "fixed draws"
    NOTHING = "nothing"


class Verdict(StrEnum):
    """What a requirement came to: PASS needs evidence for it, FAIL evidence against it.

    Everything else is UNDECIDED, and `Claim.reason` says why.
    """

    PASS = "PASS"  # noqa: S105  a verdict, no password
    FAIL = "FAIL"
    UNDECIDED = "UNDECIDED"


class Continues(StrEnum):
    """Whether more trials or inputs may be added and the claim be read again."""

    ONCE = "once"
    ANYTIME = "anytime"


@dataclass(frozen=True)
class Scope:
    """What a claim is about: `name` is an input's id or a class, `inputs` how many were studied.

    Of a population `name` is what it consists of, where that is not single inputs.

    `sampling` says how the inputs came from the population, where the claim is about one. `groups`
    is the number of groups where these were sampled and not single inputs: then the quantity is
    the average over groups of the average within a group. `predicted`: the classes are those that
    the model predicts when clean, since the inputs have no labels. `only` is a clause that narrows
    the population, or the class, to inputs that a model answers in some way.
    """

    of: About
    inputs: int
    name: str = ""
    sampling: Sampling | None = None
    groups: int = 0
    predicted: bool = False
    only: str = ""


@dataclass(frozen=True)
class Claim:
    """One statement, with all that it needs to be read and checked.

    `kind` is a key of `KINDS`. `quantity` is the noun phrase that `value` and `interval` are of;
    `limit` is the number that defines it (κ, a threshold, a share, a radius). A claim that answers
    a requirement has the required number in `requirement` and a `verdict`; `reason` says why it is
    undecided or what it rests on. `names` are the models or classes it speaks of, in order. `seed`
    names the draws, where these are fixed.
    """

    kind: str
    about: Scope
    random: Randomness
    quantity: str
    guarantee: Guarantee
    continues: Continues
    value: float | None = None
    interval: Interval | None = None
    limit: float | None = None
    requirement: float | None = None
    verdict: Verdict | None = None
    names: tuple[str, ...] = ()
    reason: str = ""
    trials: int = 0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidArgument(
                f"there is no kind of claim {self.kind!r}: choose one of {', '.join(KINDS)}"
            )
        if self.verdict is Verdict.UNDECIDED and not self.reason:
            raise InvalidArgument(f"{self.kind}: an undecided claim says why: give its reason")
        if self.value is not None and math.isnan(self.value):
            raise InvalidArgument(
                f"{self.kind}: {self.quantity} has no value: give a number, or None"
            )


MODEL_UNCHANGED = "the model behind the address did not change during the run"
"""What every claim about a model behind an address takes for granted."""

KINDS: dict[str, str] = {
    "failure": "the failure probability of one input",
    "kappa": "whether one input fails with probability at most κ",
    "radius": "the certified radius of one input",
    "worst": "the failure probability of the input that failed most often in this run",
    "tail": "an extrapolated failure probability, beside the count",
    "mean_set": "the mean failure probability of these inputs",
    "count_kappa": "how many of these inputs fail with a probability above κ",
    "all_kappa": "whether every one of these inputs, or a share, fails with probability at most κ",
    "curve_set": "up to which level these inputs keep an accuracy",
    "robust_accuracy": "how many of these inputs are proved and refuted at a radius",
    "severity": "the mean critical radius of those of these inputs that are refuted at a radius",
    "mean_radius": "the mean critical radius of these inputs",
    "mean_population": "the mean failure probability of the population",
    "share_kappa": "the share of the population that fails with probability at most κ",
    "radius_quantile": "a quantile of the critical radius in the population",
    "robust_accuracy_population": "the share of the population that is robust at a radius",
    "mean_radius_population": "the mean critical radius of the population, up to a ceiling",
    "curve_population": "up to which level the population keeps an accuracy",
    "case_failure": "how often cases fail in the population, of a test that was run elsewhere",
    "cases_failed": "how many of these cases failed in a test that was run elsewhere",
    "case_difference": "how much more often cases fail in one file of outcomes than in another",
    "difference": "how much more often one model fails than another",
    "best": "which model may be the most robust",
    "not_worse": "whether a model fails at most so much more often than the others",
    "curve_not_worse": "whether a model keeps an accuracy at nearly as many levels as another",
    "radius_not_worse": "whether the mean radius of these inputs is nearly that of another model",
    "quantile_difference": "how much larger one model's quantile of the critical radius is",
    "classes": "which classes differ",
}
"""All kinds of claims. Each has a world with a known truth in `tests/claims/`."""


UndecidedAs = Literal["fail", "skip", "pass"]
"""What a test framework, which has no word for it, does with an undecided requirement."""

UNDECIDED_CHOICES: tuple[UndecidedAs, ...] = get_args(UndecidedAs)
"""The same words for pytest, for JUnit and for a single assertion; the first is the default."""
