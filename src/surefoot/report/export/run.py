"""What an export is made of: the record of a run, its verdicts, and what the caller adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from surefoot.core.claims import (
    About,
    Claim,
    MeanRadius,
    MeanRadiusPopulation,
    Radius,
    RadiusQuantile,
    Randomness,
    RobustAtRadius,
    UndecidedAs,
)
from surefoot.errors import InvalidArgument
from surefoot.records.record import Record
from surefoot.records.spec import ComparisonSpec, StudySpec
from surefoot.report.formatting import file_name
from surefoot.report.provenance import provenance
from surefoot.report.view import View

_FACTS = (
    *("Study", "Model", "Inputs", "Property", "Method", "Random numbers"),
    *("Trials", "Started", "Software"),
)
"""Lines of a run's provenance that name no place of a file."""
_PROOFS = Radius | RobustAtRadius | RadiusQuantile | MeanRadius | MeanRadiusPopulation
"""Kinds that speak of every perturbation up to a size, or of the worst one that was searched."""


IntervalsAs = Literal["range", "plus-minus"]


@dataclass(frozen=True)
class ExportOptions:
    """What a document needs and a run does not know; empty where the run's own name serves.

    `name` is that of the model, `dataset` that of the data, `dataset_id` its id on the Hugging Face
    Hub, `task` what the model does. `benchmark_task` is a task of a benchmark on the Hub: then its
    file of results is written. `undecided`: what an undecided requirement does in JUnit. `table`
    names a table of the page, `intervals` how LaTeX writes them.
    """

    name: str = ""
    dataset: str = ""
    dataset_id: str = ""
    task: str = ""
    benchmark_task: str = ""
    undecided: UndecidedAs | None = None
    table: str = ""
    intervals: IntervalsAs | None = None


@dataclass(frozen=True)
class ExportedRun:
    """A run with its verdicts; `parts` are the records of several side by side, by name."""

    record: Record
    parts: Mapping[str, Record]
    verdicts: tuple[Claim, ...]
    view: View

    @property
    def title(self) -> str:
        """Model and data, by the names of their files; where there is no model, the data."""
        source = None if self.parts else self.record.source
        if source is None or not source.model:
            return self.view.title if source is None else file_name(source.data)
        return f"{file_name(source.model)} on {file_name(source.data)}"

    @property
    def records(self) -> list[Record]:
        """The record of each study."""
        return list(self.parts.values()) or [self.record]

    def study_of_one_model(self, to: str) -> StudySpec:
        """What was studied; refused where it is not one model."""
        spec = self.record.spec
        if isinstance(spec, ComparisonSpec):
            raise InvalidArgument(
                f"{to} describes one model, and these are {len(self.parts)}: export each by "
                "itself, result.parts[name].export(…), or all of them to model-card"
            )
        if not isinstance(spec, StudySpec):
            raise InvalidArgument(
                f"{to} describes a model, and this run was read from a file that names none: "
                "export it to model-card"
            )
        return spec

    def perturbation(self, claim: Claim) -> str:
        """What perturbs the inputs that the claim is about: as it was written, else in words."""
        own = [self.parts[name] for name in claim.names if name in self.parts] or self.records
        return "; ".join(dict.fromkeys(map(_perturbation, own)))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and digests of what was run, without the places of files."""
        rows = []
        for name, record in (self.parts or {"": self.record}).items():
            head = f"{name}: " if name else ""
            rows += [(f"{head}{key}", value) for key, value in _facts(record)]
        return rows


def _perturbation(record: Record) -> str:
    if not isinstance(record.spec, StudySpec):
        return "as in the file"
    written = record.source.perturb if record.source else ""
    return written or record.spec.words.perturbation


def _facts(record: Record) -> list[tuple[str, str]]:
    if isinstance(record.spec, StudySpec):
        return [(key, value) for key, value in provenance(record) if key in _FACTS]
    rows = [
        ("Study", record.digest),
        ("Trials", f"{record.trials:,}"),
        ("Software", ", ".join(f"{name} {v}" for name, v in record.environment.items())),
    ]
    return [(key, value) for key, value in rows if value]


def model_name(record: Record, options: ExportOptions) -> str:
    """The name that was given, else that of the model's file."""
    if options.name:
        return options.name
    return PurePath(file_name(record.source.model)).stem if record.source else "model"


def dataset_name(record: Record, options: ExportOptions) -> str:
    """The name that was given, else that of the file with the data."""
    if options.dataset:
        return options.dataset
    return file_name(record.source.data if record.source else record.study.words.source) or "data"


def not_measured(run: ExportedRun) -> list[str]:
    """What a reader might take for measured, and is not."""
    claims = (*run.record.claims, *(c for part in run.parts.values() for c in part.claims))
    studies = [r.spec for r in run.records if isinstance(r.spec, StudySpec)]
    lines, unit = [], "Inputs" if studies else "Cases"
    if studies:
        applied = "; ".join(dict.fromkeys(study.words.perturbation for study in studies))
        lines.append(f"Any other perturbation or level than: {applied}.")
        lines.append(f"Any other property than: perturbed inputs must {studies[0].words.property}.")
    drawn = any(claim.random is not Randomness.NOTHING for claim in claims)
    if studies and drawn and not any(isinstance(claim, _PROOFS) for claim in claims):
        lines.append(
            "The worst perturbation of an input: perturbations were drawn at random, and a search "
            "for one that fails (an adversarial attack) may find what drawing does not."
        )
    if any(claim.about.of is About.POPULATION for claim in claims):
        lines.append(f"{unit} of another kind than those sampled, as when data change over time.")
    else:
        lines.append(f"{unit} other than these: no claim is about a population.")
    if any(record.stopped_early for record in run.records):
        lines.append("What a longer run would show: a time limit ended this one.")
    return lines
