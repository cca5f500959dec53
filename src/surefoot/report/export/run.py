"""What an export is made of: a run, what the caller adds, and the numbers of its claims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from surefoot.core import claims
from surefoot.core.claims import (
    About,
    Claim,
    MeanRadius,
    MeanRadiusPopulation,
    Radius,
    RadiusQuantile,
    Randomness,
    RobustAtRadius,
    Tail,
)
from surefoot.core.results import UNIT, Footing
from surefoot.errors import InvalidArgument
from surefoot.records.options import DocumentOptions
from surefoot.records.record import Record
from surefoot.records.spec import ComparisonSpec, StudySpec
from surefoot.report import formatting
from surefoot.report.claim_sentences import Cases, case_scope
from surefoot.report.clauses import fails, in_kept, scope_phrase
from surefoot.report.formatting import file_name, percent_range
from surefoot.report.key_figure import key_figure
from surefoot.report.provenance import provenance
from surefoot.report.sentences import Compared, sentence
from surefoot.report.view import View

_FACTS = (
    *("Study", "Model", "Inputs", "Property", "Method", "Random numbers"),
    *("Trials", "Started", "Software"),
)
"""Lines of a run's provenance that name no place of a file."""
_NAMED = 3
"""Perturbations that are named where a claim is about several: the cells of a suite are counted."""
_PROOFS = Radius | RobustAtRadius | RadiusQuantile | MeanRadius | MeanRadiusPopulation
"""Kinds that speak of every perturbation up to a size, or of the worst one that was searched."""


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
        words = dict[str, None]()
        for record in [self.parts[n] for n in claim.names if n in self.parts] or self.records:
            applied = "as in the file"
            if isinstance(record.spec, StudySpec):
                written = record.source.perturb if record.source else ""
                applied = written or record.spec.words.perturbation
            words[applied] = None
        return f"all {len(words)}" if len(words) > _NAMED else "; ".join(words)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and digests of what was run, without the places of files."""
        rows = []
        for name, record in (self.parts or {"": self.record}).items():
            head = f"{name}: " if name else ""
            rows += [(f"{head}{key}", value) for key, value in _facts(record)]
        return rows


def _facts(record: Record) -> list[tuple[str, str]]:
    if isinstance(record.spec, StudySpec):
        return [(key, value) for key, value in provenance(record) if key in _FACTS]
    rows = [
        ("Study", record.digest),
        ("Trials", f"{record.trials:,}"),
        ("Software", ", ".join(f"{name} {v}" for name, v in record.environment.items())),
    ]
    return [(key, value) for key, value in rows if value]


def model_name(record: Record, options: DocumentOptions) -> str:
    """The name that was given, else that of the model's file."""
    if options.name:
        return options.name
    return PurePath(file_name(record.source.model)).stem if record.source else "model"


def dataset_name(record: Record, options: DocumentOptions) -> str:
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


_WITHOUT_NUMBER = claims.Best | claims.ClassesDiffer | Compared
"""Kinds that say which of several differ: the sentence is the statement."""


@dataclass(frozen=True)
class Metric:
    """One number: `low` and `high` are the ends of its interval, None where there is no such end.

    `error` is the probability that the interval is wrong, 0 for a proof and None where nothing is
    guaranteed. `number` and `interval` are the same as text, rounded as in the report.
    """

    claim: Claim
    name: str
    scope: str
    value: float | None
    low: float | None
    high: float | None
    error: float | None
    number: str
    interval: str

    @property
    def statement(self) -> str:
        """The claim as its sentence, with every assumption."""
        return sentence(self.claim)


def metrics_of(claims: Iterable[Claim]) -> list[Metric]:
    """The numbers of these claims, in order; a claim without a number has none.

    An extrapolation and the count beside it are two numbers: the interval is that of the count.
    """
    metrics = []
    for claim in claims:
        around, error = claim.interval, claim.guarantee.error
        if isinstance(claim, _WITHOUT_NUMBER) or claim.verdict is not None:
            continue
        if isinstance(claim, Tail):
            metrics += _extrapolation(claim)
        elif claim.guarantee.footing is not Footing.NONE and around is not None:
            shown = in_kept(claim)  # as its words have it
            around = shown.interval or around
            numbers = shown.value, around.low, around.high
            value, low, high = (n if n is None or math.isfinite(n) else None for n in numbers)
            name, number, interval = _words(claim)
            scope = case_scope(claim) if isinstance(claim, Cases) else scope_phrase(claim)
            metrics.append(Metric(claim, name, scope, value, low, high, error, number, interval))
    return metrics


def _extrapolation(claim: Claim) -> list[Metric]:
    metrics, scope = [], scope_phrase(claim)
    if claim.value is not None:
        name = f"extrapolated failure probability of {scope}, without guarantee"
        number = formatting.extrapolated_probability(claim.value)
        metrics.append(Metric(claim, name, scope, claim.value, None, None, None, number, ""))
    if (around := claim.interval) is not None:  # then the error is that of the count alone
        name, error = f"counted failure probability of {scope}", claim.guarantee.error
        shown = percent_range(around)
        metrics.append(Metric(claim, name, scope, None, around.low, around.high, error, "", shown))
    return metrics


def _words(claim: Claim) -> tuple[str, str, str]:
    """What the number is of, the number and its interval, as text."""
    scope, around = scope_phrase(claim), claim.interval or UNIT
    match claim:
        case claims.AllKappa():
            return f"largest failure probability of {scope}", "", percent_range(around)
        case claims.Radius():
            return f"critical radius of {scope}", "", formatting.radius_range(around)
        case claims.RobustAtRadius():
            share = f"share of {scope} that withstand every perturbation up to"
            return f"{share} {claim.radius:.4g}", "", percent_range(around)
        case claims.CountKappa():
            limit = formatting.of_perturbations(claim.kappa)
            name = f"number of {scope} that {fails(claim)[1]} under more than {limit}"
            return name, f"{claim.fragile:,}", f"{around.low:,.0f} to {around.high:,.0f}"
        case claims.MeanRadiusPopulation():
            name = f"{key_figure(claim).meaning}, none counted as more than {claim.ceiling:g}"
            return name, "", formatting.radius_range(around)
        case _:
            figure = key_figure(claim)
            number = "" if claim.value is None else figure.number
            return figure.meaning, number, figure.interval or figure.number


def total_error(run: ExportedRun) -> float:
    """The sum of the errors of all claims and verdicts; those that hold together count once.

    A union bound. An undecided verdict counts with the error at which it could have been decided;
    what has no guarantee, such as an extrapolation, promises nothing and costs nothing.
    """
    shared = run.record.shared_error
    claims = _sum(run.record.claims) if shared is None else shared
    return min(1.0, claims + _sum(run.verdicts))


def _sum(claims: Iterable[Claim]) -> float:
    """Of the same kind, about the same studies, where the words that they share are the same."""
    errors: dict[object, float] = {}
    for place, claim in enumerate(claims):
        together = claim.guarantee.jointly
        these = claim.about.of is About.THESE
        about = (together, claim.kind, claim.names, these) if together else place
        if claim.guarantee.footing is not Footing.NONE or claim.interval is not None:
            errors[about] = max(errors.get(about, 0.0), claim.guarantee.error)
    return sum(errors.values())
