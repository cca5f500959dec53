"""Every statement that the product makes. Words, tables, JSON and exit codes come from these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, dataclass_transform, get_args

from surefoot.core.reasons import Reason
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument

LINF = "L∞"
"""The norm of a radius where nothing else is said."""


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

    Everything else is UNDECIDED, and the reason of the claim says why.
    """

    PASS = "PASS"  # noqa: S105  a verdict, no password
    FAIL = "FAIL"
    UNDECIDED = "UNDECIDED"


class Continues(StrEnum):
    """Whether more trials or inputs may be added and the claim be read again."""

    ONCE = "once"
    LADDER = "ladder"
    """Each later run of the same study spends the next, smaller share of the error."""
    ANYTIME = "anytime"


class Height(StrEnum):
    """What the height of a curve is: the mean over the inputs at a level."""

    ACCURACY = "accuracy"
    CONFIDENCE = "mean confidence"
    LABELS_KEPT = "share of labels kept"
    INPUTS_KEPT = "share of inputs kept"


class Outcomes(StrEnum):
    """What is counted of cases: those that fail, or their trials where some case has several."""

    CASES = "cases"
    TRIALS = "trials"


class CleanFault(StrEnum):
    """What is the matter with an input before anything is perturbed."""

    FAILS = "fails"
    WRONG_LABEL = "wrong label"


@dataclass(frozen=True)
class Scope:
    """What a claim is about: `name` is an input's id or a class, `inputs` how many were studied.

    `sampling` says how the inputs came from the population, where the claim is about one. `groups`
    is the number of groups where these were sampled and not single inputs: then the quantity is
    the average over groups of the average within a group. `networks` are those that were pooled:
    then the population is of pairs of an input and one of them. `predicted`: the classes are those
    that the model predicts when clean, since the inputs have no labels. `only` is a clause that
    narrows the population, or the class, to inputs that a model answers in some way.
    """

    of: About
    inputs: int
    name: str = ""
    sampling: Sampling | None = None
    groups: int = 0
    networks: int = 0
    predicted: bool = False
    only: str = ""

    @property
    def is_every_class(self) -> bool:
        """Whether it is all classes, each by itself."""
        return self.of is About.CLASS and not self.name


@dataclass(frozen=True)
class Said:
    """What every claim carries: about what it is, what was random, what is promised.

    `names` are the models, files or classes that it speaks of, in order. `reason` says why it is
    undecided, or what limits it. `kept` is what a trial that does not fail is, where
    it has a name: right, or with the label of the clean input. `confident`: a trial fails where
    another label than the clean input's has this confidence or more.
    """

    about: Scope
    random: Randomness
    guarantee: Guarantee
    continues: Continues
    trials: int = 0
    names: tuple[str, ...] = ()
    reason: Reason | None = None
    kept: Height | None = None
    confident: float | None = None


@dataclass(frozen=True)
class Requirement:
    """The number that was required and what it came to; None: each class has its own number."""

    number: float | None
    verdict: Verdict


@dataclass(frozen=True)
class CurveQuantity:
    """What is read off a curve: a share of the levels of `span`, or the level up to which it holds.

    `perturbation` is the name of what the levels are of, `unit` theirs where they have one.
    `around_clean`: a share is that of the levels around the clean one up to which it holds, on
    both sides; else of all levels at which it does.
    """

    height: Height
    perturbation: str
    unit: str
    span: Interval
    is_share: bool
    around_clean: bool = False


KINDS: dict[str, type[Claim]] = {}
"""All kinds of claims by the name that JSON has; each has a world in the tests."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True)
class Claim:
    """One statement, with all that it needs to be read and checked: one of `KINDS`.

    Each kind is a frozen dataclass with fields of its own; `kind` is its name in JSON, a key of
    `KINDS`. What all share is in `said`, and readable from the claim.
    """

    if TYPE_CHECKING:
        kind: ClassVar[str]
    said: Said

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:  # a field too, the first of its own, so that JSON has it
            cls.kind, KINDS[kind] = kind, cls
            cls.__annotations__ = {"kind": Literal[kind], **cls.__annotations__}
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        if self.verdict is Verdict.UNDECIDED and not self.reason:
            raise InvalidArgument(f"{self.kind}: an undecided claim says why: give its reason")
        if self.value is not None and math.isnan(self.value):
            raise InvalidArgument(f"{self.kind}: it has no value: give a number, or None")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:  # noqa: ANN401  pydantic's
        """JSON says by its kind which claim it is."""
        if cls is not Claim:
            return handler(source)
        choices = {kind: handler.generate_schema(one) for kind, one in KINDS.items()}
        return {"type": "tagged-union", "discriminator": "kind", "choices": choices}

    def saying(self, **changes: Any) -> Self:  # noqa: ANN401  fields of what is said
        """The same claim with another promise, scope, reason or other names."""
        return replace(self, said=replace(self.said, **changes))

    @property
    def about(self) -> Scope:
        """What it is about."""
        return self.said.about

    @property
    def random(self) -> Randomness:
        """What was random about the perturbations."""
        return self.said.random

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.said.guarantee

    @property
    def continues(self) -> Continues:
        """Whether it may be read again after more trials or inputs."""
        return self.said.continues

    @property
    def trials(self) -> int:
        """Those that it rests on."""
        return self.said.trials

    @property
    def names(self) -> tuple[str, ...]:
        """The models, files or classes that it speaks of."""
        return self.said.names

    @property
    def reason(self) -> Reason | None:
        """Why it is undecided, or what limits it."""
        return self.said.reason

    @property
    def kept(self) -> Height | None:
        """What a trial that does not fail is, where it has a name."""
        return self.said.kept

    @property
    def confident(self) -> float | None:
        """The confidence from which another label than the clean one counts as a failure."""
        return self.said.confident

    @property
    def is_open(self) -> bool:
        """Whether nothing is promised."""
        return self.guarantee.footing is Footing.NONE

    @property
    def value(self) -> float | None:
        """The best guess, where there is one."""
        return None

    @property
    def interval(self) -> Interval | None:
        """Between which numbers the truth lies, where that is claimed."""
        return None

    @property
    def requirement(self) -> Requirement | None:
        """What was required of it, where something was."""
        return None

    @property
    def verdict(self) -> Verdict | None:
        """What the requirement came to."""
        return None if self.requirement is None else self.requirement.verdict


class Measured(Claim):
    """A claim of a number: an interval, and the best guess in it."""

    value: float | None = None
    interval: Interval | None = None


class Required(Claim):
    """A claim that may answer a requirement."""

    requirement: Requirement | None = None

    def answered(
        self, number: float | None, verdict: Verdict, reason: Reason | None = None
    ) -> Self:
        """The same claim as the answer to what was required."""
        said = replace(self.said, reason=reason)
        return replace(self, said=said, requirement=Requirement(number, verdict))


class Failure(Measured, kind="failure"):
    """The failure probability of one input."""

    @property
    def verdict(self) -> Verdict | None:
        """Undecided where trials did not lead to a number."""
        return Verdict.UNDECIDED if self.reason and self.trials else None


class Kappa(Measured, kind="kappa"):
    """Whether one input fails with probability at most κ."""

    kappa: float
    decision: Verdict

    @property
    def verdict(self) -> Verdict:
        """What was decided."""
        return self.decision


class Radius(Measured, kind="radius"):
    """The critical radius of one input: proved up to the low end, refuted at the high one."""

    norm: str = LINF


class Worst(Measured, kind="worst"):
    """The failure probability of the input that failed most often in this run."""

    clean_fault: CleanFault | None = None


class Tail(Measured, kind="tail"):
    """An extrapolated failure probability; the interval is that of the count beside it.

    `fitted` are the inputs whose scores were fitted, where it is the mean of several.
    """

    fitted: int | None = None


class RareFailure(Measured, kind="rare_failure"):
    """A failure probability too small to count, of one input or the mean of these, by splitting.

    It has no value where no failure was found: then the upper end alone says something. It promises
    nothing, for a reason, where something contradicts what it would assume.
    """


class MeanSet(Measured, Required, kind="mean_set"):
    """The mean failure probability of these inputs."""


class AccuracySet(Measured, Required, kind="accuracy_set"):
    """How many of these inputs, in the mean, get their true label when perturbed.

    `clean` of them get it when clean: counted. `under` names the perturbation and its level.
    """

    clean: int
    under: str


class AccuracyPopulation(Measured, Required, kind="accuracy_population"):
    """The accuracy under the perturbation of the population, or of a class.

    `clean` is counted of the inputs studied: `CleanAccuracy` and `AccuracyDrop` speak of others.
    """

    clean: int
    under: str


class CleanAccuracy(Measured, kind="clean_accuracy"):
    """The accuracy of the population without any perturbation."""


class AccuracyDrop(Measured, kind="accuracy_drop"):
    """How much accuracy the perturbation costs in the population: each input seen both ways."""

    under: str


class CountedAccuracy(Required, kind="counted_accuracy"):
    """How many of these inputs get their true label without any perturbation: counted."""

    right: int

    @property
    def value(self) -> float:
        """The share."""
        return self.right / self.about.inputs

    @property
    def interval(self) -> Interval:
        """The same: it was counted."""
        return Interval(self.value, self.value)


class CountKappa(Claim, kind="count_kappa"):
    """How many of these inputs were decided to fail with a probability above κ, and truly do.

    `clean` more have a wrong label when clean, where the true one is wanted: they have no trials.
    """

    kappa: float
    fragile: int
    robust: int
    at_least: int
    clean: int = 0

    @property
    def value(self) -> float:
        """The inputs decided to fail more often."""
        return float(self.fragile)

    @property
    def interval(self) -> Interval:
        """How many truly do."""
        return Interval(float(self.at_least), float(self.about.inputs))


class PublishedKappa(Claim, kind="published_kappa"):
    """What Mu & Lim's rule as published declares of these inputs: no guarantee, no interval.

    `stated` is the error that it promises, `measured` the probability, computed, with which it
    declares an input robust that fails with probability exactly κ.
    """

    kappa: float
    robust: int
    fragile: int
    stated: float
    measured: float
    clean: int = 0


class AllKappa(Measured, Required, kind="all_kappa"):
    """Whether every one of these inputs, or the share required, fails at most that often.

    Of every one: those that are right when clean; the other `clean` are named apart.
    """

    kappa: float
    clean: int = 0


class CurveSet(Measured, Required, kind="curve_set"):
    """Up to which level these inputs keep an accuracy; `seed` names draws that are fixed.

    `whole` are the values between which the curve stays at all levels, where it is flat and the
    level therefore little known.
    """

    quantity: CurveQuantity
    threshold: float
    seed: int | None = None
    whole: Interval | None = None


class CurvePopulation(Measured, Required, kind="curve_population"):
    """Up to which level the population keeps an accuracy."""

    quantity: CurveQuantity
    threshold: float
    seed: int | None = None


class RobustAtRadius(Claim, kind="robust_accuracy"):
    """How many of these inputs are proved and refuted at a radius, `clean` when clean."""

    norm: str = LINF
    radius: float
    proved: int
    refuted: int
    clean: int = 0

    @property
    def interval(self) -> Interval:
        """The share that is robust."""
        n = self.about.inputs
        return Interval(self.proved / n, (n - self.refuted) / n)


class Severity(Measured, kind="severity"):
    """The mean critical radius of the inputs refuted at a radius; `open` have no part in it."""

    norm: str = LINF
    radius: float
    clean: int = 0
    open: int = 0


class MeanRadius(Measured, kind="mean_radius"):
    """The mean critical radius of these inputs.

    `clean` fail when clean and count as 0; `distance` is the mean of the counterexamples, where
    these are not of all inputs.
    """

    norm: str = LINF
    clean: int = 0
    counterexamples: int = 0
    distance: float | None = None


class MeanPopulation(Measured, Required, kind="mean_population"):
    """The mean failure probability of the population, or of a class."""


class ShareKappa(Measured, Required, kind="share_kappa"):
    """The share of the population that fails with probability at most κ.

    Inputs that are wrong when clean, of which there are `clean` here, count as failing.
    """

    kappa: float
    clean: int = 0


class RadiusQuantile(Measured, Required, kind="radius_quantile"):
    """A quantile of the critical radius in the population: that of `share`, where it is known."""

    norm: str = LINF
    share: float | None = None

    @property
    def bounded_above_only(self) -> bool:
        """Whether nothing is known of its lower end, as of few inputs, but its upper end is."""
        around = self.interval
        return around is not None and 0 == around.low < around.high < math.inf


class RobustPopulation(Measured, kind="robust_accuracy_population"):
    """The share of the population that is robust at a radius."""

    norm: str = LINF
    radius: float
    clean: int = 0


class MeanRadiusPopulation(Measured, kind="mean_radius_population"):
    """The mean critical radius of the population, none counted as more than a ceiling."""

    ceiling: float
    clean: int = 0


@dataclass(frozen=True)
class NoiseOf:
    """The noise over which a smoothed model votes: `scale` is its deviation, or half its width.

    `norm` is that of the changes of an input which it bounds, or "shift". `grid` is the step of
    inputs and noise, in words; `rounded`: the inputs were brought to it.
    """

    norm: str
    scale: float
    grid: str
    rounded: bool = False

    @property
    def shifts(self) -> bool:
        """Whether it moves images by whole pixels, and changes no value."""
        return self.norm == "shift"


class SmoothedRadius(Measured, kind="smoothed_radius"):
    """Up to which radius the smoothed model keeps the class of one input; or these on average.

    The interval has no upper end. `right` of these inputs have a radius at all.
    """

    noise: NoiseOf
    right: int = 1


class CertifiedAccuracy(Measured, Required, kind="certified_accuracy"):
    """The share of inputs whose class the smoothed model keeps at every input within a radius.

    The class is the true one, or where labels are unknown the one that the model gives when clean.
    `shown` of the inputs studied are shown to be so.
    """

    radius: float
    noise: NoiseOf
    shown: int


class CaseFailure(Measured, Required, kind="case_failure"):
    """How often cases fail in the population, of a test that was run elsewhere."""

    counted: Outcomes


class CasesFailed(Claim, kind="cases_failed"):
    """How many of these cases, or of their trials, failed; `rate` is averaged over cases."""

    counted: Outcomes
    failed: int
    rate: float

    @property
    def value(self) -> float:
        """The share that failed."""
        return self.rate

    @property
    def interval(self) -> Interval:
        """The same: it was counted."""
        return Interval(self.rate, self.rate)


class CaseDifference(Measured, kind="case_difference"):
    """How much more often cases fail in one file of outcomes than in another."""

    counted: Outcomes


class FailureDifference(Measured, kind="difference"):
    """How much more often one model fails than another.

    Where `kept` has a name, it is how much more often it is kept: the more accurate one has the
    larger number. With κ it is how much larger its share of inputs is that fail at most that often.
    """

    kappa: float | None = None


class Best(Claim, kind="best"):
    """Which of so many models may be the most robust: those that it names."""

    models: int
    kappa: float | None = None


class NotWorse(Required, kind="not_worse"):
    """Whether a model, the first named, fails at most so much more often than the others.

    `kappa` is that of the robust shares, where these are compared, `counted` what is counted of
    cases. `common`: the inputs that both runs have, where each has others too.
    """

    kappa: float | None = None
    counted: Outcomes | None = None
    common: int | None = None


class CurveNotWorse(Required, kind="curve_not_worse"):
    """Whether a model keeps an accuracy at nearly as many levels as another."""

    quantity: CurveQuantity
    threshold: float
    seed: int | None = None


class RadiusNotWorse(Required, kind="radius_not_worse"):
    """Whether the mean radius of these inputs is nearly that of another model."""


class QuantileDifference(Measured, kind="quantile_difference"):
    """How much larger one model's quantile of the critical radius is."""

    share: float


class SuiteMean(Measured, Required, kind="suite_mean"):
    """The accuracy averaged over the cells of a suite, or the share that `height` names.

    `weakest` is the cell with the lowest estimate: `lowest`, in an interval that holds together
    with those of all others.
    """

    suite: str
    cells: int
    height: Height
    weakest: str
    lowest: float
    lowest_interval: Interval


class CorruptionError(Measured, kind="corruption_error"):
    """The mCE of Hendrycks & Dietterich (2019), where a model is measured beside a baseline.

    For each of so many `rows` of a suite the errors over its levels are added up and divided by
    those of the baseline; the mean of these ratios.
    """

    suite: str
    rows: int


class ClassesDiffer(Claim, kind="classes"):
    """How many of so many pairs of classes differ; a class of one input makes no pair."""

    differ: int
    pairs: int
    classes: int


_LIMITS = ("kappa", "threshold", "share", "radius", "ceiling")


def limit_of(claim: Claim) -> float | None:
    """The number that defines its quantity: κ, a threshold, a share, a radius; None without one."""
    known = (getattr(claim, name, None) for name in _LIMITS)
    return next((number for number in known if number is not None), None)


UndecidedAs = Literal["fail", "skip", "pass"]
"""What a test framework, which has no word for it, does with an undecided requirement."""

UNDECIDED_CHOICES: tuple[UndecidedAs, ...] = get_args(UndecidedAs)
"""The same words for pytest, for JUnit and for a single assertion; the first is the default."""
