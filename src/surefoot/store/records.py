"""What is kept of a study: frozen, and the same in memory, in the store and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from surefoot.claims import Claim
from surefoot.population.comparison import Difference, Rank
from surefoot.results import Curve, Estimate, InputResult, Quantile, Undecided, Whole
from surefoot.statistics.agreement import Agreement
from surefoot.statistics.contrasts import Contrast


@dataclass(frozen=True)
class Source:
    """Where model and data came from, and the options that read them: enough to load them again."""

    model: str
    data: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class InputRow:
    """One input: its label, what the model calls it when clean, and what was found.

    `digest` names its values and label.
    """

    id: str
    label: int | None
    predicted: int
    result: InputResult
    digest: str = ""


@dataclass(frozen=True)
class ClassRow:
    """One class of inputs."""

    name: str
    inputs: int
    result: Whole


@dataclass(frozen=True)
class Change:
    """One value of an input before and after."""

    where: str
    before: float
    after: float


@dataclass(frozen=True)
class Example:
    """A trial in which an input failed: images as base64 PNG, or the largest changes."""

    id: str
    trial: int
    failure: float
    true_class: str
    clean_class: str
    failed_class: str
    image: str = ""
    perturbed: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One check of the preflight: `status` is ok, warning or failed; `finding` says it in words."""

    name: str
    status: str
    finding: str

    @property
    def is_warning(self) -> bool:
        """Whether it is shown beside the result."""
        return self.status == "warning"


@dataclass(frozen=True)
class AttackSummary:
    """How a gradient attack fared, or the reason why there is none; then there is no rate.

    `broken`: inputs with a point in the ball at which the model itself fails; `clean` of them fail
    where they are. `blind`: inputs not broken at which every gradient was zero. `discarded`:
    points that the model did not confirm.
    """

    starts: int
    iterations: int
    targets: int
    inputs: int
    level: float
    ball: str = ""
    failure_rate: float | None = None
    broken: int = 0
    clean: int = 0
    blind: int = 0
    discarded: int = 0
    reason: str = ""
    kind: Literal["attack"] = "attack"


@dataclass(frozen=True)
class Samples:
    """What sampling found: of the population, of these inputs, of each class; failed examples."""

    whole: Whole
    studied: Estimate | None
    classes: tuple[ClassRow, ...]
    contrasts: tuple[Contrast, ...]
    examples: tuple[Example, ...]
    attack: AttackSummary | None = None
    kind: Literal["samples"] = "samples"


@dataclass(frozen=True)
class Frame:
    """One input at one level: as base64 PNG, what the model calls it, and whether it is kept."""

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
class CurveRow:
    """The curve of one class."""

    name: str
    inputs: int
    curve: Curve


@dataclass(frozen=True)
class Curves:
    """A robustness curve, of all inputs and of each class where that was wanted."""

    curve: Curve
    classes: tuple[CurveRow, ...]
    strip: Strip | None
    kind: Literal["curve"] = "curve"


@dataclass(frozen=True)
class Counterexample:
    """An input and the nearest point found that has another label.

    Images as base64 PNG; empty where the inputs are none.
    """

    id: str
    distance: float
    clean_class: str
    failed_class: str
    image: str
    perturbed: str


@dataclass(frozen=True)
class QuantileRow:
    """A quantile of the critical radius, by one estimator; of all inputs or of a class."""

    name: str
    inputs: int
    estimator: str
    result: Quantile | Undecided


@dataclass(frozen=True)
class Radii:
    """Quantiles of critical radii, and the nearest counterexamples.

    `reader` is how far the graph read is from the model; None where others proved. `published`:
    the brackets were read from a file of others.
    """

    quantiles: tuple[QuantileRow, ...]
    classes: tuple[QuantileRow, ...]
    examples: tuple[Counterexample, ...]
    reader: float | None
    published: bool = False
    kind: Literal["radii"] = "radii"


@dataclass(frozen=True)
class Member:
    """One of those compared: its own quantity, and what else is known of it."""

    name: str
    digest: str
    level: float | None
    whole: Whole | None = None
    accuracy: float | None = None
    rank: Rank | None = None
    reference: float | None = None
    attack: AttackSummary | None = None


@dataclass(frozen=True)
class Comparison:
    """Several studies that differ in the model or in the level."""

    along: str
    members: tuple[Member, ...]
    differences: tuple[Difference, ...] = ()
    agreement: Agreement | Undecided | None = None
    kind: Literal["side-by-side"] = "side-by-side"


Details = Samples | Curves | Radii | AttackSummary | Comparison


@dataclass(frozen=True)
class Record:
    """The whole outcome of one study: its claims, its inputs, and what the method found.

    `extends` is the run that this one adds inputs to, if there is one in the store.
    """

    digest: str
    spec: dict[str, Any]
    claims: tuple[Claim, ...]
    inputs: tuple[InputRow, ...]
    details: Details
    findings: tuple[Finding, ...]
    trials: int
    environment: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    started: str = ""
    seconds: float = 0.0
    extends: str = ""

    @property
    def clean_accuracy(self) -> float | None:
        """The share of clean inputs that get their true label, where labels are known."""
        known = [row for row in self.inputs if row.label is not None]
        return sum(row.label == row.predicted for row in known) / len(known) if known else None
