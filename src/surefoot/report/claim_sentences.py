"""One function for each kind of claim: the sentence, without its full stop."""

from __future__ import annotations

import math
from collections.abc import Callable

from surefoot.claims import About, Claim, Verdict
from surefoot.report.claim_parts import (
    assumption,
    bracketed,
    draws,
    percents,
    subject,
    sure,
    whose,
    with_condition,
)
from surefoot.report.phrases import (
    at_least,
    at_most,
    percent,
    percent_range,
    points,
    points_between,
    radius_range,
    share_of_perturbations,
    tiny,
)


def _failure(claim: Claim) -> str:
    value = "an unknown share" if claim.value is None else percent(claim.value)
    return (
        f"input {claim.about.name} fails under {value} of the perturbations "
        f"{bracketed(claim, percents(claim))}"
    )


def _kappa(claim: Claim) -> str:
    limit = "its limit" if claim.limit is None else share_of_perturbations(claim.limit)
    name = f"input {claim.about.name}"
    if claim.verdict is Verdict.UNDECIDED:
        return f"{name} is not decided: {claim.reason}"
    more = "at most" if claim.verdict is Verdict.PASS else "more than"
    return f"{name} fails under {more} {limit} {bracketed(claim, '')}"


def _radius(claim: Claim) -> str:
    around, name = claim.interval, claim.about.name
    proved = 0.0 if around is None else around.low
    told = (
        f"no perturbation of input {name} up to {at_least(proved)} changes its label, "
        f"{assumption(claim)}"
        if proved > 0
        else f"nothing is proved of input {name}"
    )
    if around is None or math.isinf(around.high):
        return f"{told}; no counterexample was found"
    return f"{told}; one of size {at_most(around.high)} does: found, and confirmed by the model"


def _worst(claim: Claim) -> str:
    return (
        f"the weakest of the {claim.about.inputs:,} inputs is {claim.about.name}: it fails under "
        f"{percents(claim)} of the perturbations ({sure(claim)})"
    )


def _tail(claim: Claim) -> str:
    value = "nothing" if claim.value is None else tiny(claim.value)
    if claim.about.of is About.INPUT:
        return (
            f"a normal distribution fitted to the scores of input {claim.about.name} puts its "
            f"failure probability at {value}: an extrapolation, without guarantee"
        )
    fitted = f"{claim.limit or 0:,.0f} of {claim.about.inputs:,} inputs"
    return (
        f"normal distributions fitted to the scores of {fitted} put the mean failure probability "
        f"at {value}: an extrapolation, without guarantee"
    )


def _mean(claim: Claim) -> str:
    value = "" if claim.value is None else f"{percent(claim.value)} of "
    if claim.about.of is About.THESE:
        return (
            f"averaged over {whose(claim)}, {value}the perturbations make the model fail "
            f"{bracketed(claim, percents(claim))}"
        )
    return subject(claim) + with_condition(
        claim,
        f"{percents(claim)} of the perturbations make the model fail on {whose(claim)} "
        f"({sure(claim)})",
    )


def _count_kappa(claim: Claim) -> str:
    limit = "" if claim.limit is None else share_of_perturbations(claim.limit)
    least = 0 if claim.interval is None else int(claim.interval.low)
    open_ = f", {claim.reason}" if claim.reason else ""
    number = int(claim.value or 0)
    were = "was" if number == 1 else "were"
    truly = f"; at least {least:,} truly {'does' if least == 1 else 'do'}"
    if least == 0:
        truly = "; so few may be decided so by chance" if number else ""
    return (
        f"{number:,} of these {claim.about.inputs:,} inputs {were} decided to fail under more than "
        f"{limit}{open_}{truly} ({sure(claim)})"
    )


def _all_kappa(claim: Claim) -> str:
    limit = "" if claim.limit is None else share_of_perturbations(claim.limit)
    return (
        f"every one of these {claim.about.inputs:,} inputs fails under at most {limit} "
        f"({sure(claim)})"
    )


def _share_kappa(claim: Claim) -> str:
    limit = "" if claim.limit is None else share_of_perturbations(claim.limit)
    return subject(claim) + with_condition(
        claim,
        f"{percents(claim)} of {whose(claim)} fail under at most {limit} ({sure(claim)})",
    )


def _curve(claim: Claim) -> str:
    """Everything that the interval needs is in the sentence."""
    limit = "" if claim.limit is None else percent(claim.limit)
    around, value = claim.interval, claim.value or 0.0
    if around is None:
        return f"{subject(claim)}on {whose(claim)}, the {claim.quantity} {limit} is {value:.4g}"
    shares = claim.quantity.startswith("share")
    where = f"{subject(claim)}on {whose(claim)}{draws(claim)}, "
    condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
    if shares and around.low == around.high and around.low in (0.0, 1.0):
        levels = claim.quantity.removeprefix("share of the ").split(" at which the ")
        side = "is at least" if around.low == 1 else "is below"
        what = levels[1].removesuffix(" is at least")
        certain = f" ({sure(claim)})" if sure(claim) else ""
        return f"{where}the {what} {side} {limit} at all {levels[0]}{certain}{condition}"
    ends = percent_range(around) if shares else radius_range(around)
    shown = percent(value) if shares else tiny(value)
    return f"{where}the {claim.quantity} {limit} is {shown} {bracketed(claim, ends)}{condition}"


def _robust_accuracy(claim: Claim) -> str:
    around, n = claim.interval, claim.about.inputs
    proved = 0 if around is None else round(around.low * n)
    refuted = 0 if around is None else round((1 - around.high) * n)
    how = f" ({'; '.join(claim.guarantee.assumptions)})" if proved else ""
    return (
        f"at radius {tiny(claim.limit or 0.0)}, {proved:,} of {n:,} inputs are proved, "
        f"{refuted:,} are refuted, {n - proved - refuted:,} are open{how}"
    )


def _quantile(claim: Claim) -> str:
    share = percent(claim.limit or 0.0)
    around = claim.interval
    if around is None:
        return f"{subject(claim)}undecided: {claim.reason}"
    safe = f"all but {share} of {whose(claim)} have a critical radius above {at_least(around.low)}"
    if around.low == 0:
        safe = f"no radius above 0 is shown that all but {share} of {whose(claim)} exceed"
    note = f"; {claim.reason}" if claim.reason else ""
    return subject(claim) + with_condition(
        claim,
        f"{safe} (the {share} quantile is {radius_range(around)}, {sure(claim)}){note}",
    )


def _difference(claim: Claim) -> str:
    first, second = claim.names
    around, value = claim.interval, claim.value or 0.0
    if around is None or around.low == around.high == 0:
        return f"{first} and {second} are the same model: they fail equally often"
    more = "less" if value < 0 else "more"
    what = "fails" if claim.limit is None else "has a robust share that is"
    if claim.limit is not None:
        more = "smaller" if value < 0 else "larger"
    shown = "not shown to differ"
    if around.low > 0 or around.high < 0:
        shown = "shown to differ"
    size = points(abs(value)).lstrip("+")
    often = " often" if claim.limit is None else ""
    return with_condition(
        claim,
        f"on the same inputs and perturbations {first} {what} {size} points {more}{often} than "
        f"{second} ({points_between(around)}, {sure(claim)}): {shown}",
    )


def _best(claim: Claim) -> str:
    number = int(claim.value or 0)
    names = claim.names
    if len(names) == number:
        told = f"none of the {number} models is shown to be less robust than another"
    elif len(names) == 1:
        told = f"{names[0]} is the most robust of {number} models"
    else:
        told = f"the most robust of {number} models is {', '.join(names[:-1])} or {names[-1]}"
    return with_condition(claim, f"{told} ({sure(claim)})")


def _quantile_difference(claim: Claim) -> str:
    first, second = claim.names
    around = claim.interval
    if around is None or (math.isinf(around.low) and math.isinf(around.high)):
        return f"by how much the quantiles of {first} and {second} differ is not known"
    shown = "shown to differ" if around.low > 0 or around.high < 0 else "not shown to differ"
    low = "anything" if math.isinf(around.low) else f"{around.low:+.4g}"
    high = "anything" if math.isinf(around.high) else f"{around.high:+.4g}"
    return with_condition(
        claim,
        f"the {percent(claim.limit or 0.0)} quantile of the critical radius of {first} is larger "
        f"than that of {second} by {low} to {high} ({sure(claim)}): {shown}",
    )


def _classes(claim: Claim) -> str:
    return (
        f"{claim.value or 0:,.0f} of {claim.limit or 0:,.0f} pairs of classes differ (permutation "
        f"test with Holm's correction, {sure(claim)}, {assumption(claim)})"
    )


SENTENCES: dict[str, Callable[[Claim], str]] = {
    "failure": _failure,
    "kappa": _kappa,
    "radius": _radius,
    "worst": _worst,
    "tail": _tail,
    "mean_set": _mean,
    "count_kappa": _count_kappa,
    "all_kappa": _all_kappa,
    "curve_set": _curve,
    "robust_accuracy": _robust_accuracy,
    "mean_population": _mean,
    "share_kappa": _share_kappa,
    "radius_quantile": _quantile,
    "curve_population": _curve,
    "difference": _difference,
    "best": _best,
    "quantile_difference": _quantile_difference,
    "classes": _classes,
}
