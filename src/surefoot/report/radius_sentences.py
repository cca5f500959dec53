"""Sentences about critical radii beside the quantile: robust accuracy, severity, means."""

from __future__ import annotations

from surefoot.core.claims import Claim
from surefoot.report.clauses import (
    bracketed,
    interval_percent,
    over_groups,
    scope_phrase,
    subject,
    with_condition,
)
from surefoot.report.formatting import radius_range
from surefoot.system.text import level_words


def robust_accuracy(claim: Claim) -> str:
    """Refuted, proved and open, of these inputs."""
    around, n = claim.interval, claim.about.inputs
    proved = 0 if around is None else round(around.low * n)
    refuted = 0 if around is None else round((1 - around.high) * n)
    parts = [f"{refuted:,} of {n:,} inputs can be made to fail"]
    parts += [f"{_number_of(proved)} proved to withstand every perturbation"] * (proved > 0)
    parts.append(f"{_number_of(n - proved - refuted)} open")
    return f"{subject(claim)}at radius {_radius(claim)}, {', '.join(parts)}{_remarks(claim)}"


def severity(claim: Claim) -> str:
    """The mean critical radius of those that are refuted."""
    n = claim.about.inputs
    inputs = (
        "the input that can be made to fail"
        if n == 1
        else f"the {n:,} inputs that can be made to fail"
    )
    has = "has a critical radius of" if n == 1 else "have a mean critical radius of"
    return (
        f"{subject(claim)}{inputs} within radius {_radius(claim)} {has} {_range(claim)}"
        f"{_remarks(claim)}"
    )


def mean_radius(claim: Claim) -> str:
    """The mean over these inputs."""
    inputs = scope_phrase(claim)
    return (
        f"{subject(claim)}averaged over {inputs}, the critical radius is {_range(claim)}"
        f"{_remarks(claim)}"
    )


def robust_accuracy_population(claim: Claim) -> str:
    """The share of the population that is robust at the radius."""
    note = f"; {claim.reason}" if claim.reason else ""
    return subject(claim) + with_condition(
        claim,
        f"{interval_percent(claim)} of {scope_phrase(claim)}{over_groups(claim, ',')} withstand "
        f"every perturbation up to {_radius(claim)}{bracketed(claim)}{note}",
    )


def mean_radius_population(claim: Claim) -> str:
    """The mean of the population, none counted as more than the ceiling."""
    note = f"; {claim.reason}" if claim.reason else ""
    return subject(claim) + with_condition(
        claim,
        f"the mean critical radius of {scope_phrase(claim)}{over_groups(claim, ',')} is "
        f"{_range(claim)}{bracketed(claim)}, where none counts as more than {_radius(claim)}{note}",
    )


def _radius(claim: Claim) -> str:
    return level_words(claim.limit or 0.0)


def _range(claim: Claim) -> str:
    return "not known" if claim.interval is None else radius_range(claim.interval)


def _remarks(claim: Claim) -> str:
    """What it rests on in brackets, and how inputs were counted."""
    rests = f" ({'; '.join(claim.guarantee.assumptions)})" if claim.guarantee.assumptions else ""
    return rests + (f"; {claim.reason}" if claim.reason else "")


def _number_of(inputs: int) -> str:
    return f"{inputs:,} {'is' if inputs == 1 else 'are'}"
