"""What is claimed of a curve, in words."""

from __future__ import annotations

from surefoot.core.claims import Claim
from surefoot.core.results import UNIT, Interval
from surefoot.report.clauses import bracketed, draws_clause, scope_phrase, subject
from surefoot.report.curve_quantity import CurveQuantity
from surefoot.report.formatting import (
    at_least,
    at_most,
    exact_percent,
    four_digits,
    percent,
    percent_range,
    radius_range,
)


def curve_sentence(claim: Claim) -> str:
    """Up to which level the curve stays above the threshold, or at which share of the levels.

    The assumption is in the sentence; that the inputs are a sample of a population comes first.
    """
    if claim.interval is None or (claim.interval == UNIT and claim.reason):
        limit = exact_percent(claim.limit or 0.0)
        where = f"it is not located where {_curve(claim)} crosses {limit}"
        return f"{subject(claim)}{where}: {claim.reason or 'no interval is known'}"
    sample, condition = _conditions(claim)
    return f"{subject(claim)}{sample}{_statement(claim, claim.interval)}{condition}"


def _conditions(claim: Claim) -> tuple[str, str]:
    """What stands before the statement, and what stands after it."""
    assumptions = claim.guarantee.assumptions
    if claim.kind != "curve_population":
        return "", f", if {' and '.join(assumptions)}" if assumptions else ""
    sample = f"if {assumptions[0]}, " if assumptions else ""
    others = " and ".join(assumptions[1:])
    return sample, f", provided that {others}" if others else ""


def _curve(claim: Claim) -> str:
    """The height of the curve, on which inputs and for which draws."""
    height, draws = CurveQuantity.read(claim.quantity).height, draws_clause(claim)
    return f"{height} on {scope_phrase(claim)}{draws}{',' * bool(draws)}"


def _statement(claim: Claim, around: Interval) -> str:
    limit, quantity = exact_percent(claim.limit or 0.0), CurveQuantity.read(claim.quantity)
    value, curve = claim.value or 0.0, _curve(claim)
    if not quantity.span and claim.kind == "curve_population":
        ends = f"{at_least(around.low)} and {at_most(around.high)}"
        start = f" from {quantity.at(quantity.start)} on" if quantity.start else ""
        return f"{curve} crosses {limit}{start} between {quantity.at(ends)}{bracketed(claim)}"
    if not quantity.span:
        levels = quantity.up_to(four_digits(value))
        return f"{curve} stays at {limit} or more {levels}{bracketed(claim, radius_range(around))}"
    if around.low == around.high and around.low in (0.0, 1.0):
        side = f"stays at {limit} or more" if around.low == 1 else f"is below {limit}"
        return f"{curve} {side} at all {quantity.levels}{bracketed(claim)}"
    share = f"{percent(value)} of the {quantity.levels}"
    return f"{curve} is {limit} or more at {share}{bracketed(claim, percent_range(around))}"


def curve_not_worse(claim: Claim) -> tuple[str, str]:
    """That the share of the levels is at most so much smaller than with another model, or more."""
    limit, quantity = exact_percent(claim.limit or 0.0), CurveQuantity.read(claim.quantity)
    most, (first, second) = f"{100 * (claim.requirement or 0.0):.12g} points", claim.names
    share = f"with {first} {_curve(claim)} is {limit} or more at a share of the {quantity.levels}"
    return (
        f"{share} that is at most {most} smaller than with {second}",
        f"{share} that is more than {most} smaller than with {second}",
    )


def curve_requirement(claim: Claim) -> tuple[str, str]:
    """What holds if the required share of the levels is met, and what holds if it is not."""
    limit, quantity = exact_percent(claim.limit or 0.0), CurveQuantity.read(claim.quantity)
    least = exact_percent(claim.requirement or 0.0)
    above = f"{_curve(claim)} is {limit} or more at"
    return (
        f"{above} {least} or more of the {quantity.levels}",
        f"{above} less than {least} of the {quantity.levels}",
    )
