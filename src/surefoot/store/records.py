"""What is kept of an assessment: frozen, and the same in memory, in the store and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from surefoot.errors import StoreFailed
from surefoot.evidence import Counts, Outcomes, Proof, Severities
from surefoot.results import Curve, Estimate, Guarantee, Result, Whole
from surefoot.statistics.contrasts import Contrast
from surefoot.store.attacked import Attacked

_EVIDENCE: dict[str, type[Any]] = {
    "counts": Counts,
    "outcomes": Outcomes,
    "proof": Proof,
    "severities": Severities,
}
_KINDS = {kind: name for name, kind in _EVIDENCE.items()}


@dataclass(frozen=True)
class Source:
    """Where model and data came from, and the options that read them: enough to load them again."""

    model: str
    data: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Local:
    """One input's result."""

    id: str
    label: int | None
    predicted: int
    result: Result


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
class Exhibit:
    """A trial in which the property broke: pictures as base64 PNG, or the largest changes."""

    id: str
    trial: int
    robustness: float
    true_class: str
    clean_class: str
    slipped_class: str
    picture: str = ""
    perturbed: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One line of the preflight."""

    name: str
    verdict: str
    finding: str

    @property
    def odd(self) -> bool:
        """Whether it is worth a look."""
        return self.verdict == "odd"


@dataclass(frozen=True)
class Record:
    """The whole outcome of one study.

    `population` is about what the inputs were drawn from, `studied` about these inputs themselves.
    """

    digest: str
    spec: dict[str, Any]
    population: Whole
    classes: tuple[ClassRow, ...]
    local: tuple[Local, ...]
    exhibits: tuple[Exhibit, ...]
    findings: tuple[Finding, ...]
    trials: int
    environment: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    started: str = ""
    seconds: float = 0.0
    contrasts: tuple[Contrast, ...] = ()
    studied: Estimate | None = None
    attack: Attacked | None = None


@dataclass(frozen=True)
class Frame:
    """One input at one level: as base64 PNG, what the model calls it, and whether that holds."""

    level: float
    picture: str
    label: str
    held: bool


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
class CurveRecord:
    """The whole outcome of one study of a curve."""

    digest: str
    spec: dict[str, Any]
    curve: Curve
    classes: tuple[CurveRow, ...]
    strip: Strip | None
    findings: tuple[Finding, ...]
    trials: int
    environment: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    started: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Shaken:
    """Points drawn evenly within a radius of an input, and how many of them slipped."""

    radius: float
    trials: int
    slips: int


@dataclass(frozen=True)
class CriticalRow:
    """One input's bracket: proved up to `low`, refuted at `high` (None: never refuted).

    `sampled` holds the statistical counterpart: within what is proved, where nothing may slip, and
    beyond the counterexample. `seconds` is None where a file of others does not say them.
    """

    id: str
    label: int | None
    predicted: int
    low: float
    high: float | None
    reason: str
    seconds: float | None
    nodes: int
    discarded: int
    witness: str = ""
    sampled: tuple[Shaken, ...] = ()

    @property
    def contradicted(self) -> bool:
        """Whether a point slipped where it was proved that none can."""
        return any(s.slips and s.radius <= self.low for s in self.sampled)


@dataclass(frozen=True)
class Counterexample:
    """An input and the nearest point found that has another label.

    Pictures as base64 PNG; empty where the inputs are none.
    """

    id: str
    distance: float
    clean_class: str
    slipped_class: str
    picture: str
    perturbed: str


@dataclass(frozen=True)
class QuantileRow:
    """A quantile of the critical level, by one estimator; of all inputs or of a class."""

    name: str
    inputs: int
    kind: str
    share: float
    value: float
    low: float
    high: float | None
    guarantee: Guarantee
    note: str = ""
    fit: str = ""


@dataclass(frozen=True)
class CriticalRecord:
    """The whole outcome of one study of critical levels.

    `reader` is how far the graph read is from the model; None where others proved.
    """

    digest: str
    spec: dict[str, Any]
    rows: tuple[CriticalRow, ...]
    quantiles: tuple[QuantileRow, ...]
    classes: tuple[QuantileRow, ...]
    examples: tuple[Counterexample, ...]
    findings: tuple[Finding, ...]
    trials: int
    reader: float | None
    environment: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    started: str = ""
    seconds: float = 0.0


AnyRecord = Record | CurveRecord | CriticalRecord


@lru_cache(maxsize=1)
def _adapter() -> Any:  # noqa: ANN401
    from pydantic import TypeAdapter

    return TypeAdapter(AnyRecord)


def record_to_json(record: AnyRecord) -> str:
    """The record as JSON text."""
    return json.dumps(asdict(record), ensure_ascii=False, allow_nan=False)


def record_from_json(text: str) -> AnyRecord:
    """The record in JSON text, every field checked."""
    from pydantic import ValidationError

    try:
        record: AnyRecord = _adapter().validate_json(text, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFailed(f"a stored record is damaged: {where}: {first['msg']}") from error
    return record


def evidence_to_json(evidence: object) -> str:
    """One line a tray can hold many of."""
    values = {name: getattr(evidence, name) for name in type(evidence).__slots__}  # type: ignore[attr-defined]
    return json.dumps([_KINDS[type(evidence)], values])


def evidence_from_json(text: str) -> Any:  # noqa: ANN401
    """The evidence in such a line."""
    try:
        kind, values = json.loads(text)
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return _EVIDENCE[kind](**fields)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFailed(f"a line of the journal is damaged: {text[:80]!r}") from error
