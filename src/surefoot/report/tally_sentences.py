"""Sentences about outcomes that were counted elsewhere."""

from __future__ import annotations

from surefoot.core.claims import About, Claim
from surefoot.report.clauses import (
    bracketed,
    interval_percent,
    over_groups,
    subject,
    with_condition,
)
from surefoot.report.formatting import exact_percent, percent, points_apart, points_range

FAILURE_OF_CASES = "share of cases that fail"
FAILURE_OF_TRIALS = "share of trials that fail, averaged over cases"
"""The quantity where some case has several trials: the case is what was sampled."""


def case_scope(claim: Claim) -> str:
    """The cases that the claim is about, as a noun phrase."""
    scope = claim.about
    match scope.of:
        case About.CLASS:
            if not scope.name:
                return "such cases of every class of these data"
            return f"such cases of class {scope.name}"
        case About.THESE:
            return "this case" if scope.inputs == 1 else f"these {scope.inputs:,} cases"
        case _:
            return "such cases"


def over_cases(claim: Claim) -> str:
    """Over what the quantity is averaged, after a comma; empty where every case has one trial."""
    over = ", averaged over cases" if claim.quantity == FAILURE_OF_TRIALS else ""
    return over_groups(claim) or over


def fails(claim: Claim, share: str, cases: str = "") -> str:
    """That such a share fails: of cases, or of their trials."""
    cases = cases or case_scope(claim)
    if claim.quantity == FAILURE_OF_TRIALS:
        return f"{cases} fail in {share} of their trials{over_cases(claim)}"
    return f"{share} of {cases} fail{over_cases(claim)}"


def case_failure(claim: Claim) -> str:
    """The share of the population, or of a class, that fails."""
    text = fails(claim, interval_percent(claim)) + bracketed(claim)
    return subject(claim) + with_condition(claim, text)


def cases_failed(claim: Claim) -> str:
    """A count, which has no interval."""
    failed, rate = int(claim.limit or 0), percent(claim.value or 0.0)
    text = f"{failed:,} of {case_scope(claim)} failed ({rate})"
    if claim.about.inputs == 1:
        text = f"{case_scope(claim)} {'failed' if failed else 'passed'}"
    if claim.quantity == FAILURE_OF_TRIALS:
        text = f"{case_scope(claim)} failed in {failed:,} of {claim.trials:,} trials ({rate}"
        text += ")" if claim.about.inputs == 1 else ", averaged over cases)"
    return subject(claim) + with_condition(claim, text + bracketed(claim))


def case_difference(claim: Claim) -> str:
    """Two files, case by case."""
    first, second = claim.names
    around, value = claim.interval, claim.value or 0.0
    if around is None:
        return f"by how much {first} and {second} differ is not shown"
    outcome = "shown to differ" if around.low > 0 or around.high < 0 else "not shown to differ"
    over = over_cases(claim)
    text = f"on the same {claim.about.inputs:,} cases{over}{',' if over else ''}"
    text += f" {first} fails {points_apart(value)} {'less' if value < 0 else 'more'} often than"
    return with_condition(
        claim, f"{text} {second}{bracketed(claim, points_range(around))}: {outcome}"
    )


def case_requirement(claim: Claim) -> tuple[str, str]:
    """What holds if the requirement is met, and what if it is not."""
    most = exact_percent(claim.requirement or 0.0)
    some = "such cases of at least one class"
    every_class = claim.about.of is About.CLASS and not claim.about.name
    return (
        fails(claim, f"at most {most}"),
        fails(claim, f"more than {most}", some if every_class else ""),
    )
