"""Two finished runs beside each other, and whether their numbers may be compared."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.catalogue.methods import METHODS, TAILS
from surefoot.core.procedure import Needs
from surefoot.records.record import Comparison, Record
from surefoot.records.spec import ComparisonSpec, StudySpec

_QUANTITIES = {
    Needs.SAMPLES: "failure probability",
    Needs.MEAN: "failure probability",
    Needs.LEVELS: "robustness curve",
    Needs.REGION: "attack",
    Needs.RADII: "critical radius",
}
"""What methods measure, by what they need."""


@dataclass(frozen=True)
class Difference:
    """Something in which two runs differ: in the words of each."""

    name: str
    first: str
    second: str
    prevents: bool


@dataclass(frozen=True)
class Comparability:
    """What two runs differ in: what `prevents` a comparison makes numbers of different things."""

    differences: tuple[Difference, ...]

    @property
    def prevented(self) -> tuple[str, ...]:
        """The names of what makes a comparison meaningless."""
        return tuple(d.name for d in self.differences if d.prevents)

    @property
    def sentence(self) -> str:
        """Whether the numbers may be compared, and why not."""
        if self.prevented:
            return (
                f"These runs cannot be compared: they differ in the {_listed(self.prevented)}, so "
                "that their numbers are about different things."
            )
        if not self.differences:
            return "Both runs ask the same question about the same model."
        return (
            "These runs ask the same question of the same data under the same perturbation. Each "
            "interval is about its own run; that two intervals overlap does not say that the "
            "models are equally robust. `surefoot compare` measures the difference itself."
        )


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def comparability(first: Record, second: Record) -> Comparability:
    """In what two runs differ; data, perturbation, property and kind of method must be the same."""
    a, b = first.study, second.study
    quantities, members = (_quantity(first), _quantity(second)), (_members(first), _members(second))
    parts = (
        ("data", a.inputs.digest, b.inputs.digest, _data(a), _data(b), True),
        ("perturbation", str(a.perturbation), str(b.perturbation), *_perturbations(a, b), True),
        ("property", str(a.property), str(b.property), a.words.property, b.words.property, True),
        ("range of values", str(a.bounds), str(b.bounds), str(a.bounds), str(b.bounds), True),
        ("quantity", *quantities, *quantities, True),
        ("members", *members, *members, True),
        ("model", a.model.digest, b.model.digest, _model(first), _model(second), False),
        ("method", str(a.method), str(b.method), a.method.chosen, b.method.chosen, False),
        ("seed", str(a.seed), str(b.seed), str(a.seed), str(b.seed), False),
    )
    return Comparability(
        tuple(
            Difference(name, words, others, prevents)
            for name, own, other, words, others, prevents in parts
            if own != other
        )
    )


def _data(study: StudySpec) -> str:
    return f"{study.words.source}, {study.inputs.selection} ({study.inputs.digest[:12]})"


def _perturbations(a: StudySpec, b: StudySpec) -> tuple[str, str]:
    """In words; with the options where the words are the same."""
    words = a.words.perturbation, b.words.perturbation
    return words if words[0] != words[1] else (str(a.perturbation), str(b.perturbation))


def _model(record: Record) -> str:
    name = "a model in memory" if record.source is None else record.source.model
    return f"{name} ({record.study.model.digest[:12]})"


def _members(record: Record) -> str:
    """What a comparison compares; a run by itself has none."""
    return ", ".join(record.spec.names) if isinstance(record.spec, ComparisonSpec) else "none"


def _quantity(record: Record) -> str:
    """What the method measures, so far as its numbers can stand beside those of another."""
    if isinstance(record.details, Comparison):
        return f"comparison of {record.details.along}s"
    study = record.study
    kind, kappa = study.method.kind, study.method.number("kappa")
    if kappa is not None:
        return f"share of inputs that fail with probability at most {kappa:g}"
    if kind not in METHODS or kind in TAILS:
        return kind
    return _QUANTITIES[METHODS[kind].needs]
