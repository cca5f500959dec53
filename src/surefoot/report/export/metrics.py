"""The numbers of claims, each with what it is of, its interval and its error probability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.core import claims
from surefoot.core.claims import About, Claim, Tail
from surefoot.core.results import UNIT, Footing
from surefoot.report import formatting
from surefoot.report.claim_sentences import Cases, case_scope
from surefoot.report.clauses import fails, in_kept, scope_phrase
from surefoot.report.export.run import ExportedRun
from surefoot.report.formatting import percent_range
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import Compared, sentence

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
            value, low, high = map(_finite, (shown.value, around.low, around.high))
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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


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
        errors[about] = max(errors.get(about, 0.0), _error(claim))
    return sum(errors.values())


def _error(claim: Claim) -> float:
    promises = claim.guarantee.footing is not Footing.NONE or claim.interval is not None
    return claim.guarantee.error if promises else 0.0
