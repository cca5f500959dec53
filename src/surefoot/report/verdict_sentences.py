"""PASS, FAIL or UNDECIDED, and what was required."""

from __future__ import annotations

from collections.abc import Callable

from surefoot.claims import Claim, Verdict
from surefoot.report.claim_parts import (
    assumption,
    at_limit,
    bracketed,
    draws,
    subject,
    whose,
)
from surefoot.report.phrases import ended, exact_percent


def verdict_sentence(claim: Claim) -> str:
    """PASS, FAIL or UNDECIDED, and what was required."""
    required = _required(claim)
    names = "" if claim.kind == "not_worse" else subject(claim)
    if claim.verdict is Verdict.UNDECIDED:
        return ended(f"UNDECIDED: {names}{required}: {claim.reason}")
    said = required if claim.verdict is Verdict.PASS else f"it is refuted that {required}"
    condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
    return f"{claim.verdict}: {names}{said}{bracketed(claim)}{condition}."


def _required(claim: Claim) -> str:
    return _REQUIRED[claim.kind](claim)


<<<<<<< HEAD
=======
def _limit(claim: Claim) -> str:
    return "" if claim.limit is None else once_in(claim.limit)


def _stated(claim: Claim) -> str:
    """The share that was required, as it was stated: never rounded to a whole percentage."""
    return f"{100 * (claim.requirement or 0.0):.6g} %"


>>>>>>> tests1
def _every_input(claim: Claim) -> str:
    return f"every one of these {claim.about.inputs:,} inputs fails under at most {at_limit(claim)}"


def _mean(claim: Claim) -> str:
<<<<<<< HEAD
    most = exact_percent(claim.requirement or 0.0)
=======
    most = _stated(claim)
>>>>>>> tests1
    return f"at most {most} of the perturbations make the model fail on {whose(claim)}"


def _share(claim: Claim) -> str:
<<<<<<< HEAD
    least = exact_percent(claim.requirement or 0.0)
    return f"at least {least} of {whose(claim)} fail under at most {at_limit(claim)}"


def _curve(claim: Claim) -> str:
    quantity = f"{claim.quantity} {exact_percent(claim.limit or 0.0)}"
    least = exact_percent(claim.requirement or 0.0)
=======
    least = _stated(claim)
    return f"at least {least} of {whose(claim)} fail under at most {_limit(claim)} perturbations"


def _curve(claim: Claim) -> str:
    quantity = f"{claim.quantity} {percent(claim.limit or 0.0)}"
    least = _stated(claim)
>>>>>>> tests1
    return f"on {whose(claim)}{draws(claim)}, the {quantity} is {least} or more"


def _quantile(claim: Claim) -> str:
    share = exact_percent(claim.limit or 0.0)
    least = claim.requirement or 0.0
    return f"all but {share} of {whose(claim)} have a critical radius of {least:.12g} or more"


def _not_worse(claim: Claim) -> str:
    first, *others = claim.names
    most = f"{100 * (claim.requirement or 0.0):.12g}"
    if claim.limit is not None:
        return (
            f"of {first} the share of inputs that fail under at most {at_limit(claim)} is at most "
            f"{most} points smaller than of {' and '.join(others)}"
        )
    return f"{first} fails at most {most} points more often than {' and '.join(others)}"


_REQUIRED: dict[str, Callable[[Claim], str]] = {
    "all_kappa": _every_input,
    "mean_population": _mean,
    "share_kappa": _share,
    "curve_set": _curve,
    "curve_population": _curve,
    "radius_quantile": _quantile,
    "not_worse": _not_worse,
}
