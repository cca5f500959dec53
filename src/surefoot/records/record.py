"""What is kept of a study: frozen, and the same in memory, in the store and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from surefoot.core.claims import Claim, NoiseOf
from surefoot.core.counts import Counts
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Curve, Estimate, InputResult, Quantile, Undecided, Whole
from surefoot.errors import InvalidArgument
from surefoot.population.comparison import Difference, Rank
from surefoot.records.spec import ComparisonSpec, Spec, StudySpec
from surefoot.statistics.agreement import Agreement
from surefoot.statistics.contrasts import Contrast
from surefoot.statistics.stratified_mean import MeanBounds
from surefoot.system.text import apart

Part = TypeVar("Part")


@dataclass(frozen=True)
class Change:
    """One value of an input before and after; `names` are those of the two categories."""

    where: str
    before: float
    after: float
    unit: str = ""
    names: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Before and after, as a table shows them."""
        if self.names:
            return self.names
        return tuple(f"{end} {self.unit}".rstrip() for end in apart(self.before, self.after))


@dataclass(frozen=True)
class Example:
    """A trial in which an input failed: images as base64 PNG, the largest changes, or words.

    `before` and `after` show a text, bytes or another item in words that are safe to print. Where
    the model has no classes, the three classes are outputs in words. `run` is that of splitting
    which found it, from 1; then `trial` is the one that it began with.
    """

    id: str
    trial: int
    failure: float
    true_class: str
    clean_class: str
    failed_class: str
    image: str = ""
    perturbed: str = ""
    changes: tuple[Change, ...] = ()
    before: str = ""
    after: str = ""
    run: int = 0


@dataclass(frozen=True)
class Frame:
    """One input at one level: as base64 PNG, its predicted label, and whether it is kept."""

    level: float
    image: str
    label: str
    kept: bool


@dataclass(frozen=True)
class Strip:
    """One input along the levels."""

    id: str
    true_class: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Counterexample:
    """An input and the nearest known point that has another label.

    Images as base64 PNG; empty where the inputs are not images.
    """

    id: str
    distance: float
    clean_class: str
    failed_class: str
    image: str
    perturbed: str


OfClasses = float | Mapping[Any, float]
"""One number for every class, or a number for each class named: by its name or its number."""


@dataclass(frozen=True)
class EarlierModel:
    """That a model is not worse than an earlier one, of which `run` is the run.

    `names` are how a sentence calls the two; `margin` is by how much it may be worse, and `error`
    what the verdict may spend.
    """

    run: str
    names: tuple[str, str]
    margin: float
    error: float

    def __post_init__(self) -> None:
        first, second = self.names
        if not (first and second and first != second):
            raise InvalidArgument(
                f"two models that are compared need two names, got {first!r} and {second!r}: give "
                "each its own"
            )
        if not (0 <= self.margin <= 1 and 0 <= self.error < 1):
            raise InvalidArgument(
                f"margin and error lie between 0 and 1, got {self.margin:g} and {self.error:g}: "
                "try 0.01"
            )


@dataclass(frozen=True)
class Requirements:
    """What a result must show; None where nothing is required.

    `earlier` spends an error of its own, the others share that of the study; `clean_accuracy` is
    counted on these inputs and spends nothing. `accept_clean_accuracy`: a PASS counts, however
    doubtful the answers to clean inputs are.
    """

    least: float | None = None
    of_each_class: OfClasses | None = None
    not_worse: tuple[str, float] | None = None
    of_these: float | None = None
    earlier: EarlierModel | None = None
    clean_accuracy: float | None = None
    accept_clean_accuracy: bool = False

    @property
    def number(self) -> int:
        """How many requirements share the error of the study."""
        every = (self.least, self.of_each_class, self.not_worse, self.of_these)
        return sum(one is not None for one in every)


@dataclass(frozen=True)
class Source:
    """Where model and data came from, and how they were read: enough to load them again.

    `reading` holds the options of the command line that read model and data. `models`: all models
    for which the inputs were chosen together; empty where that is this one alone. `study`: its name
    in a file of studies; empty where it is of none.
    """

    model: str
    data: str
    reading: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    perturb: str = ""
    property: str = ""
    models: tuple[str, ...] = ()
    study: str = ""


@dataclass(frozen=True)
class InputRow:
    """One input: its label, the label that the model predicts when clean, and its own result.

    `predicted` is None where the model has no classes. `digest` names its values and label.
    `group` is empty where single inputs were sampled. `clean_kept`: whether the property keeps it
    without any perturbation; None where that was not evaluated.
    """

    id: str
    label: int | None
    predicted: int | None
    result: InputResult
    digest: str = ""
    group: str = ""
    clean_kept: bool | None = None

    @property
    def right_when_clean(self) -> bool:
        """Whether the clean input is kept and, where its class is known, classified correctly."""
        known = self.label is not None and self.predicted is not None
        return self.clean_kept is not False and (not known or self.label == self.predicted)


def results_of(rows: Iterable[InputRow], kind: type[Part]) -> list[Part]:
    """The results of this kind, of the inputs that have one."""
    return [row.result for row in rows if isinstance(row.result, kind)]


@dataclass(frozen=True)
class ClassRow:
    """One class of inputs; `groups` is how many groups have one, where groups were sampled."""

    name: str
    inputs: int
    result: Whole
    groups: int = 0


SELECTION = "selection of the inputs"
"""Name of the check whose warning leaves claims about a population without their assumption."""


COLUMNS = "columns of the table"
"""Name of the check that a perturbation fits a table, and that its columns stay what they are."""


CLEAN = "labels and clean accuracy"
"""Name of the check whose doubt takes every PASS away."""


@dataclass(frozen=True)
class CleanAnswers:
    """How many clean inputs get their true label, and why that is doubtful, where it is.

    With `--correct-only` these are all inputs that were classified, not only those kept.
    """

    right: int
    inputs: int
    doubt: Reason | None = None

    @property
    def blocks(self) -> Reason | None:
        """Why no requirement can pass: the doubt, unless the inputs are too few for it."""
        remark = self.doubt is None or self.doubt.why is Why.FEW_TO_DOUBT
        return None if remark else Why.IMPLAUSIBLE.of(self.right, self.inputs, self.doubt)


MARGINS = "margins"
"""The finding that margins add up: of a requirement, not of the run."""


@dataclass(frozen=True)
class Finding:
    """One check of the preflight: `status` is ok, warning or failed; `finding` says it in words.

    `clean` is what was counted, where the check is that of the clean accuracy; `doubt` why no
    requirement can pass, where another check says so.
    """

    name: str
    status: str
    finding: str
    clean: CleanAnswers | None = None
    doubt: Reason | None = None

    @property
    def blocks(self) -> Reason | None:
        """Why no requirement can pass, where that is found."""
        return self.doubt if self.clean is None else self.clean.blocks

    @property
    def is_warning(self) -> bool:
        """Whether it is shown beside the result."""
        return self.status == "warning"

    @property
    def is_urgent(self) -> bool:
        """Whether the number must not be read without it."""
        return self.doubts_selection or self.blocks is not None

    @property
    def doubts_selection(self) -> bool:
        """Whether the inputs are plainly no random sample."""
        return self.is_warning and self.name == SELECTION


@dataclass(frozen=True)
class AttackSummary:
    """The outcome of an attack, or the reason why there is none; then there is no rate.

    `method` is margin, pgd or function, `name` that of the function. `broken`: inputs with a point
    in the ball at which the model itself fails; `clean` of them fail where they are. `blind`:
    inputs not broken at which every gradient was zero. `discarded`: points that the model did not
    confirm; those of a function that lie outside the ball or the bounds. `run` is the run that it
    comes from, where it stands beside another one.
    """

    starts: int
    iterations: int
    targets: int
    inputs: int
    level: float
    ball: str = ""
    withstood: float | None = None
    broken: int = 0
    clean: int = 0
    blind: int = 0
    discarded: int = 0
    reason: str = ""
    method: str = "margin"
    name: str = ""
    step: str = ""
    run: str = ""
    kind: Literal["attack"] = "attack"


@dataclass(frozen=True)
class CleanLoss:
    """The mean cross-entropy of clean inputs; None where the true class has probability 0 for some.

    `infinite` is for how many. A loss has no upper bound, so that no interval is given.
    """

    mean: float | None
    inputs: int
    infinite: int = 0


@dataclass(frozen=True)
class OtherLabel:
    """Inputs whose clean label is not the true one: in how many of their trials they had the other.

    The other is the one that the property does not ask for. Counted, of all trials alike.
    """

    inputs: int
    trials: int
    had_it: int


@dataclass(frozen=True)
class Samples:
    """Results of sampling: for the population, these inputs and each class; failed examples.

    `part` is what a cell of a suite adds to the mean over all cells. `bounds` and `once` are what a
    mean to a precision can be required by at any error (`PrecisionResult`).
    """

    whole: Whole
    studied: Estimate | None
    classes: tuple[ClassRow, ...]
    contrasts: tuple[Contrast, ...]
    examples: tuple[Example, ...]
    attack: AttackSummary | None = None
    clean_loss: CleanLoss | None = None
    part: MeanBounds | None = None
    bounds: MeanBounds | None = None
    once: Counts | None = None
    other_label: OtherLabel | None = None
    kind: Literal["samples"] = "samples"


@dataclass(frozen=True)
class CurveRow:
    """The curve of one class."""

    name: str
    inputs: int
    curve: Curve


@dataclass(frozen=True)
class Curves:
    """A robustness curve, of all inputs and, where requested, of each class."""

    curve: Curve
    classes: tuple[CurveRow, ...]
    strip: Strip | None
    kind: Literal["curve"] = "curve"


@dataclass(frozen=True)
class QuantileRow:
    """A quantile of the critical radius, by one estimator; of all inputs or of a class.

    `groups` is how many groups the inputs are in, where groups were sampled.
    """

    name: str
    inputs: int
    estimator: str
    result: Quantile | Undecided
    groups: int = 0


@dataclass(frozen=True)
class Radii:
    """Quantiles of critical radii, and the nearest counterexamples.

    `reader` is how far the network as read is from the model; None where an external verifier
    proved. `published`: the brackets were read from a file of others.
    """

    quantiles: tuple[QuantileRow, ...]
    classes: tuple[QuantileRow, ...]
    examples: tuple[Counterexample, ...]
    reader: float | None
    published: bool = False
    kind: Literal["radii"] = "radii"


@dataclass(frozen=True)
class CertifiedRow:
    """How many inputs are certified at a radius: `shown` of those studied, and of the population.

    At least `least` of those studied truly are, at the error of the row.
    """

    radius: float
    shown: int
    least: int
    whole: Estimate | Undecided


@dataclass(frozen=True)
class Certificates:
    """What a smoothed model is certified for, at each radius; `right` inputs at radius 0.

    `slack` is how far a probability under the noise as drawn may be from that of its law, `limit`
    the largest radius that the budget of trials can show.
    """

    noise: NoiseOf
    slack: float
    limit: float | None
    right: int
    rows: tuple[CertifiedRow, ...]
    kind: Literal["certificates"] = "certificates"


@dataclass(frozen=True)
class RareFailures:
    """Failures that splitting found, one of each of its runs."""

    examples: tuple[Example, ...]
    kind: Literal["rare"] = "rare"


@dataclass(frozen=True)
class Tally:
    """Outcomes counted elsewhere: for the population and for each class of cases.

    `failed` of `trials` trials did not pass. `names` are those of the classes by their number, `by`
    the column that has them, where one was named.
    """

    whole: Whole
    classes: tuple[ClassRow, ...]
    failed: int
    trials: int
    names: tuple[str, ...] = ()
    by: str = ""
    kind: Literal["tally"] = "tally"


@dataclass(frozen=True)
class Member:
    """One member of a comparison: its own quantity, and what else is known of it."""

    name: str
    digest: str
    level: float | None
    whole: Whole | None = None
    accuracy: float | None = None
    rank: Rank | None = None
    reference: float | None = None
    attack: AttackSummary | None = None
    loss: CleanLoss | None = None


def cell_name(row: str, column: str) -> str:
    """What a cell of a suite is called: its row and its column, which has no space."""
    return f"{row} {column}"


def row_and_column(cell: str) -> tuple[str, str]:
    """The other way round."""
    row, _, column = cell.rpartition(" ")
    return row, column


BASELINE = "baseline "
"""Before the name of a cell: of the model that the others are compared with."""


def under(model: str, perturbation: str) -> str:
    """What a model under one of several perturbations is called."""
    return f"{model} under {perturbation}"


def model_under(name: str) -> tuple[str, str]:
    """The other way round: the model, which is empty where nothing was named so, and under what."""
    model, _, perturbation = name.rpartition(" under ")
    return model, perturbation


def models_under(parts: Mapping[str, Part]) -> dict[str, dict[str, Part]]:
    """By perturbation, then by model: what `under` named."""
    split: dict[str, dict[str, Part]] = {}
    for name, part in parts.items():
        model, perturbation = model_under(name)
        split.setdefault(perturbation, {})[model] = part
    return split


@dataclass(frozen=True)
class Comparison:
    """Several studies that differ in the model or in the level; or the cells of a `suite`."""

    along: str
    members: tuple[Member, ...]
    differences: tuple[Difference, ...] = ()
    agreement: Agreement | Undecided | None = None
    suite: str = ""
    kind: Literal["side-by-side"] = "side-by-side"


Details = (
    Samples | Curves | Radii | Certificates | RareFailures | AttackSummary | Tally | Comparison
)


@dataclass(frozen=True)
class Record:
    """The whole outcome of one study: its claims, its inputs, and the details of its method.

    `extends` is the run that this one adds inputs to, if there is one in the store. `rung` is how
    many runs of the same question began before it there: each spends a share of the error.
    `stopped_early`: a time limit ended the run; the same study goes on from its journal.
    `required` is what was required of it, None for nothing; `verdicts` answer that.
    """

    digest: str
    spec: Spec
    claims: tuple[Claim, ...]
    inputs: Sequence[InputRow]
    details: Details
    findings: tuple[Finding, ...]
    trials: int
    environment: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    started: str = ""
    seconds: float = 0.0
    extends: str = ""
    rung: int = 0
    stopped_early: bool = False
    required: Requirements | None = None
    verdicts: tuple[Claim, ...] = ()

    @property
    def study(self) -> StudySpec:
        """What was studied; of a comparison the first study, whose question all members share."""
        spec = self.spec.first if isinstance(self.spec, ComparisonSpec) else self.spec
        if not isinstance(spec, StudySpec):
            raise InvalidArgument(
                f"run {self.digest[:12]} was read from a file: it has no study; use its spec"
            )
        return spec

    @property
    def unrequired(self) -> Record:
        """The record without what a command required of it."""
        findings = tuple(one for one in self.findings if one.name != MARGINS)
        return replace(self, required=None, verdicts=(), findings=findings)

    @property
    def chooses_inputs(self) -> bool:
        """Whether the search for a quantile decided itself how many inputs it used."""
        return isinstance(self.spec, StudySpec) and self.spec.method.number("within") is not None

    @property
    def shared_error(self) -> float | None:
        """The error that all claims of a comparison share; None where each has its own."""
        return self.spec.error if isinstance(self.spec, ComparisonSpec) else None

    @property
    def clean(self) -> CleanAnswers | None:
        """What the preflight counted of the clean inputs, where labels are known."""
        return next((one.clean for one in self.findings if one.clean is not None), None)

    @property
    def blocks(self) -> Reason | None:
        """Why no requirement of this run can pass: what was found first."""
        return next((one.blocks for one in self.findings if one.blocks is not None), None)

    @property
    def clean_accuracy(self) -> float | None:
        """The share of clean inputs that get their true label, where labels are known.

        A tie counts as wrong, as in trials.
        """
        if self.clean is not None and self.clean.inputs == len(self.inputs):
            return self.clean.right / self.clean.inputs
        known = [row for row in self.inputs if row.label is not None]
        return sum(row.right_when_clean for row in known) / len(known) if known else None


@dataclass(frozen=True)
class RecordBody:
    """The part of a record that comes from the answers: rows of inputs, details, claims."""

    inputs: Sequence[InputRow]
    details: Details
    claims: tuple[Claim, ...]
    trials: int


_PYTHON_NAME = re.compile(r"(?:[A-Za-z_][\w.]*|.*\.py):[A-Za-z_][\w.]*", re.DOTALL)
"""A model such as mymodel:scores or mymodel.py:scores."""
_PYTHON_PART = re.compile(r"(?:^|[+|])\s*@|\.py\s*:")
"""A perturbation such as @mine:dim or mine.py:dim:0.1, alone or as a part of one; a property."""


def named_code(source: Source) -> tuple[str, ...]:
    """Models, perturbations and properties that are Python names; models read with trust."""
    models = source.models or (source.model,)
    trusted = bool(source.reading.get("trust"))
    named = [name for name in models if trusted or _PYTHON_NAME.fullmatch(name)]
    written = (source.perturb, source.property)
    return (*named, *(text for text in written if _PYTHON_PART.search(text)))
