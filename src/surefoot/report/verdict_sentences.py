"""Verdicts in sentences: PASS, FAIL or UNDECIDED, and what was required."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot.core.claims import About, Claim, Verdict
from surefoot.report.clauses import (
    among,
    assumption,
    class_word,
    confidence_clause,
    counts_inputs,
    limit_phrase,
    only,
    over_groups,
    scope_phrase,
    subject,
)
from surefoot.report.curve_sentences import curve_not_worse, curve_requirement
from surefoot.report.formatting import exact_percent, with_full_stop
from surefoot.report.tally_sentences import case_requirement
from surefoot.system.text import level_words


def verdict_sentence(claim: Claim) -> str:
    """PASS says what was required, FAIL the opposite; UNDECIDED what is open, and why."""
    required, refuted = _both_statements(claim)
    names = _named_subject(claim)
    if claim.verdict is Verdict.UNDECIDED:
        return with_full_stop(f"UNDECIDED: {names}whether {required}; {claim.reason}")
    statement = required if claim.verdict is Verdict.PASS else refuted
    condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
    sides = "" if claim.kind in _TWO_SIDED else "one-sided, "
    confidence = confidence_clause(claim)
    certain = f" ({sides}{confidence})" if confidence else ""
    rests = f"; {claim.reason}" if claim.reason and claim.kind in COMPARED else ""
    return f"{claim.verdict}: {names}{statement}{certain}{condition}{rests}."


def required_statement(claim: Claim) -> str:
    """What was required, as a statement without its verdict."""
    return f"{_named_subject(claim)}{_both_statements(claim)[0]}"


def _both_statements(claim: Claim) -> tuple[str, str]:
    """What holds if the requirement is met, and what holds if it is not."""
    return _own_numbers(claim) if _has_own_numbers(claim) else REQUIREMENTS[claim.kind](claim)


def _named_subject(claim: Claim) -> str:
    return "" if claim.kind in COMPARED or _has_own_numbers(claim) else subject(claim)


def _has_own_numbers(claim: Claim) -> bool:
    return _is_every_class(claim) and bool(claim.names)


def _every_input(claim: Claim) -> tuple[str, str]:
    inputs, limit, least = scope_phrase(claim), limit_phrase(claim), claim.requirement
    if least is not None and least < 1:
        share = exact_percent(least)
        return (
            f"at least {share} of {inputs} fail under at most {limit}",
            f"fewer than {share} of {inputs} fail under at most {limit}",
        )
    if claim.about.inputs == 1:
        return (
            f"this input fails under at most {limit}",
            f"this input fails under more than {limit}",
        )
    return (
        f"every one of {inputs} fails under at most {limit}",
        f"at least one of {inputs} fails under more than {limit}",
    )


def _mean(claim: Claim) -> tuple[str, str]:
    most = exact_percent(claim.requirement or 0.0)
    fails = "of the perturbations make the model fail on"
    some = _some_class(claim) if _is_every_class(claim) else scope_phrase(claim)
    over = over_groups(claim)
    if counts_inputs(claim):
        fails, over = "of", f"{over_groups(claim, ',')} fail when perturbed"
    return (
        f"at most {most} {fails} {scope_phrase(claim)}{over}",
        f"more than {most} {fails} {some}{over}",
    )


def _share(claim: Claim) -> tuple[str, str]:
    least, limit = exact_percent(claim.requirement or 0.0), limit_phrase(claim)
    some = _some_class(claim) if _is_every_class(claim) else scope_phrase(claim)
    over = over_groups(claim, ",")
    return (
        f"at least {least} of {scope_phrase(claim)}{over} fail under at most {limit}",
        f"fewer than {least} of {some}{over} fail under at most {limit}",
    )


def _own_numbers(claim: Claim) -> tuple[str, str]:
    """Classes of which each has its own requirement; the table names the numbers."""
    *first, last = claim.names
    if not first:
        return REQUIREMENTS[claim.kind](replace(claim, about=replace(claim.about, name=last)))
    every, over = f"{class_word(claim)}es {', '.join(first)} and {last}", over_groups(claim)
    return (
        f"{among(claim)}each of the {every} meets what is required of it{over}",
        f"{among(claim)}at least one of the {every} does not meet what is required of it{over}",
    )


def _some_class(claim: Claim) -> str:
    return f"inputs of at least one {class_word(claim)}{only(claim)}"


def _is_every_class(claim: Claim) -> bool:
    return claim.about.of is About.CLASS and not claim.about.name


def _quantile(claim: Claim) -> tuple[str, str]:
    share = exact_percent(claim.limit or 0.0)
    inputs = f"{scope_phrase(claim)}{over_groups(claim, ',')}"
    stated = level_words(claim.requirement or 0.0)
    least = stated if "/" in stated else f"{claim.requirement or 0.0:.12g}"  # never rounded
    return (
        f"all but {share} of {inputs} have a critical radius of {least} or more",
        f"more than {share} of {inputs} have a critical radius below {least}",
    )


def _not_worse(claim: Claim) -> tuple[str, str]:
    first, *others = claim.names
    number = f"{100 * (claim.requirement or 0.0):.12g}"
    most = f"{number} {'point' if number == '1' else 'points'}"
    head, over = among(claim), over_groups(claim)
    every = " and ".join(others) + over
    some = every if len(others) == 1 else f"one of {', '.join(others)}{over}"
    if claim.limit is not None:
        share = f"{head}of {first} the share of inputs that fail under at most "
        share += f"{limit_phrase(claim)} is"
        return (
            f"{share} at most {most} smaller than of {every}",
            f"{share} more than {most} smaller than of {some}",
        )
    return (
        f"{head}{first} fails at most {most} more often than {every}",
        f"{head}{first} fails over {most} more often than {some}",
    )


def _radius_not_worse(claim: Claim) -> tuple[str, str]:
    first, second = claim.names
    mean = f"averaged over {scope_phrase(claim)}, the critical radius with {first} is"
    most = exact_percent(claim.requirement or 0.0)
    return (
        f"{mean} at most {most} smaller than with {second}",
        f"{mean} more than {most} smaller than with {second}",
    )


COMPARED = ("not_worse", "curve_not_worse", "radius_not_worse")
"""Kinds that compare a model with others, whose sentences name them."""
_TWO_SIDED = ("mean_set", "curve_set", "curve_population", "curve_not_worse")
"""Kinds whose verdict is read off intervals that have two sides."""
REQUIREMENTS: dict[str, Callable[[Claim], tuple[str, str]]] = {
    "all_kappa": _every_input,
    "mean_set": _mean,
    "mean_population": _mean,
    "share_kappa": _share,
    "curve_set": curve_requirement,
    "curve_population": curve_requirement,
    "radius_quantile": _quantile,
    "case_failure": case_requirement,
    "not_worse": _not_worse,
    "curve_not_worse": curve_not_worse,
    "radius_not_worse": _radius_not_worse,
}
"""For each kind that can be required: what holds if it is met, and what holds if it is not."""
