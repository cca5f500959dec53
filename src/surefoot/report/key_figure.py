"""The number of a claim by itself: what a reader sees first, with its interval and its meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from surefoot.core.claims import About, Claim
from surefoot.core.results import UNIT, Footing, Interval
from surefoot.report.clauses import (
    counts_inputs,
    limit_phrase,
    over_groups,
    sample_condition,
    scope_phrase,
)
from surefoot.report.curve_quantity import CurveQuantity
from surefoot.report.formatting import (
    confidence,
    exact_percent,
    four_digits,
    percent,
    percent_range,
    points,
    points_range,
    radius_range,
    signed_range,
)
from surefoot.report.tally_sentences import case_scope, over_cases
from surefoot.system.text import level_words

_Parts = tuple[str, str, str]
"""The number, its interval and what it is of, as text."""


@dataclass(frozen=True)
class KeyFigure:
    """A number with its interval and confidence, and the noun phrase that says what it is."""

    number: str
    interval: str
    confidence: str
    meaning: str

    @property
    def around(self) -> str:
        """Interval and confidence, as far as there are any."""
        return ", ".join(filter(None, [self.interval, self.confidence]))

    @property
    def line(self) -> str:
        """All of it in one line, the number first."""
        around = f" ({self.around})" if self.around else ""
        return f"{self.number}{around}: {self.meaning}"


def key_figure(claim: Claim) -> KeyFigure:
    """The number of this claim; "undecided" where it has none."""
    number, interval, meaning = _PARTS.get(claim.kind, _share_of_perturbations)(claim)
    named = f"{', '.join(claim.names)}: " if claim.names and claim.kind not in _PAIRS else ""
    nothing_known = claim.interval == UNIT and bool(claim.reason) and claim.kind != "count_kappa"
    open_ = claim.interval is None or nothing_known
    if open_ or claim.guarantee.footing is Footing.NONE:
        return KeyFigure("undecided", "", "", f"{named}{meaning}")
    condition = sample_condition(claim)
    meaning += f", {condition}" if condition else ""
    error = claim.guarantee.error
    bare = claim.kind == "count_kappa" and not interval
    certain = f"confidence {confidence(error)}" if error and not bare else ""
    around = "" if interval == number else interval
    return KeyFigure(number, around, certain, f"{named}{meaning}")


def _around(claim: Claim) -> Interval:
    return claim.interval or Interval(0.0, 1.0)


def _share_of_perturbations(claim: Claim) -> _Parts:
    around = percent_range(_around(claim))
    number = around if claim.value is None else percent(claim.value)
    if counts_inputs(claim) and claim.about.of is not About.INPUT:
        return number, around, f"share of {scope_phrase(claim)} that fail when perturbed"
    one = claim.about.of is About.INPUT or scope_phrase(claim) == "this input"
    return number, around, f"{'' if one else 'mean '}failure probability of {scope_phrase(claim)}"


def _count(claim: Claim) -> _Parts:
    declared, least = int(claim.value or 0), int(_around(claim).low)
    number = f"{declared:,} of {claim.about.inputs:,}"
    truly = f"{least:,} or more truly do" if least else ""
    return number, truly, f"inputs decided to fail under more than {limit_phrase(claim)}"


def _robust_share(claim: Claim) -> _Parts:
    around = percent_range(_around(claim))
    number = around if claim.value is None else percent(claim.value)
    return number, around, f"{scope_phrase(claim)} that fail under at most {limit_phrase(claim)}"


def _curve(claim: Claim) -> _Parts:
    quantity, limit = CurveQuantity.read(claim.quantity), exact_percent(claim.limit or 0.0)
    around = _around(claim)
    kept = f"{quantity.height} is {limit} or more"
    if quantity.span:
        number = percent(claim.value or 0.0)
        return number, percent_range(around), f"share of the {quantity.levels} where {kept}"
    unit = f" {quantity.unit}" if quantity.unit else ""
    of = f" of {quantity.perturbation}" if quantity.perturbation else ""
    start = f", from {quantity.start} on," if quantity.start else ""
    meaning = f"level{of} up to which{start} {kept}"
    return f"{four_digits(claim.value or 0.0)}{unit}", radius_range(around), meaning


def _quantile(claim: Claim) -> _Parts:
    around = _around(claim)
    share = "a" if claim.limit is None else exact_percent(claim.limit)
    value = claim.value or 0.0
    number = "no upper end" if math.isinf(value) else four_digits(value)
    grouped = f" of {scope_phrase(claim)}" if claim.about.name or claim.about.only else ""
    meaning = f"{share} quantile of the critical radius{grouped}{over_groups(claim)}"
    return number, radius_range(around), meaning


def _refuted(claim: Claim) -> _Parts:
    n, around = claim.about.inputs, _around(claim)
    refuted = round((1 - around.high) * n)
    open_ = round(around.width * n)
    rest = f"{open_:,} open" if open_ else ""
    return (
        f"{refuted:,} of {n:,}",
        rest,
        f"inputs made to fail within radius {level_words(claim.limit or 0)}",
    )


def _robust_population(claim: Claim) -> _Parts:
    around, radius = percent_range(_around(claim)), level_words(claim.limit or 0)
    return around, around, f"{scope_phrase(claim)} robust up to radius {radius}"


def _mean_radius(claim: Claim) -> _Parts:
    around = radius_range(_around(claim))
    inputs = scope_phrase(claim)
    if claim.kind == "severity":
        inputs += f" refuted within {level_words(claim.limit or 0)}"
    return around, around, f"mean critical radius of {inputs}"


def _difference(claim: Claim) -> _Parts:
    first, second = claim.names
    around = points_range(_around(claim))
    meaning = f"how much more often {first} fails than {second}"
    if claim.limit is not None:
        meaning = f"how much larger the robust share of {first} is than that of {second}"
    return f"{points(claim.value or 0.0)} points", around, meaning


def _quantile_difference(claim: Claim) -> _Parts:
    first, second = claim.names
    around = _around(claim)
    number = signed_range(around) if claim.value is None else f"{claim.value:+.4g}"
    share = "" if claim.limit is None else f"{exact_percent(claim.limit)} quantile of the "
    meaning = f"{share}critical radius of {first} less that of {second}"
    return number, signed_range(around), meaning


def _failing_cases(claim: Claim) -> _Parts:
    around = percent_range(_around(claim))
    number = around if claim.value is None else percent(claim.value)
    return number, around, f"failure rate of {case_scope(claim)}{over_cases(claim)}"


def _failed_cases(claim: Claim) -> _Parts:
    meaning = f"failure rate of {case_scope(claim)}, counted{over_cases(claim)}"
    return percent(claim.value or 0.0), "", meaning


_PAIRS = ("difference", "quantile_difference", "case_difference")
"""Kinds whose names are in the meaning."""
_PARTS: dict[str, Callable[[Claim], _Parts]] = {
    "count_kappa": _count,
    "share_kappa": _robust_share,
    "curve_set": _curve,
    "curve_population": _curve,
    "radius_quantile": _quantile,
    "robust_accuracy": _refuted,
    "robust_accuracy_population": _robust_population,
    "severity": _mean_radius,
    "mean_radius": _mean_radius,
    "mean_radius_population": _mean_radius,
    "case_failure": _failing_cases,
    "cases_failed": _failed_cases,
    "case_difference": _difference,
    "difference": _difference,
    "quantile_difference": _quantile_difference,
}
"""Kinds that are not a share of perturbations."""
