"""One function for each kind of claim: the sentence, without its full stop."""

from __future__ import annotations

import math
from collections.abc import Callable

from surefoot.core.claims import About, Claim, Verdict
from surefoot.core.results import UNIT
from surefoot.report import radius_sentences, tally_sentences
from surefoot.report.clauses import (
    among,
    assumption,
    bracketed,
    class_word,
    confidence_clause,
    counts_inputs,
    interval_percent,
    limit_phrase,
    over_groups,
    scope_phrase,
    subject,
    with_condition,
)
from surefoot.report.curve_sentences import curve_sentence
from surefoot.report.formatting import (
    at_least,
    at_most,
    exact_percent,
    extrapolated_probability,
    percent,
    points_apart,
    points_range,
    radius_range,
    signed_range,
)


def _failure(claim: Claim) -> str:
    value = "an unknown share" if claim.value is None else percent(claim.value)
    return with_condition(
        claim,
        f"input {claim.about.name} fails under {value} of the perturbations"
        f"{bracketed(claim, interval_percent(claim))}",
    )


def _kappa(claim: Claim) -> str:
    name = f"input {claim.about.name}"
    if claim.verdict is Verdict.UNDECIDED:
        counted, certain = "", confidence_clause(claim)
        if claim.interval is not None and certain:
            counted = f"; {interval_percent(claim)} of its perturbations fail ({certain})"
        return with_condition(claim, f"{name} is not decided: {claim.reason}{counted}")
    side = "at most" if claim.verdict is Verdict.PASS else "more than"
    limit = f"{side} {limit_phrase(claim)}"
    return with_condition(claim, f"{name} fails under {limit}{bracketed(claim)}")


def _radius(claim: Claim) -> str:
    around, name = claim.interval, claim.about.name
    proved = 0.0 if around is None else around.low
    condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
    radius = (
        f"no perturbation of input {name} up to {at_least(proved)} changes its label{condition}"
        if proved > 0
        else f"nothing is proved of input {name}"
    )
    if around is None or math.isinf(around.high):
        return f"{radius}; no counterexample was found"
    if around.high == 0:
        return f"{radius}; it fails when clean"
    return f"{radius}; one of size {at_most(around.high)} does: found, and confirmed by the model"


def _worst(claim: Claim) -> str:
    note = f"; {claim.reason}" if claim.reason else ""
    return with_condition(
        claim,
        f"input {claim.about.name} failed most often of the {claim.about.inputs:,} in this run: it "
        f"fails under {interval_percent(claim)} of the perturbations{bracketed(claim)}{note}",
    )


def _tail(claim: Claim) -> str:
    value = "nothing" if claim.value is None else extrapolated_probability(claim.value)
    fit = f"a normal distribution fitted to the scores of input {claim.about.name} puts its"
    if claim.about.of is not About.INPUT:
        fitted = f"{claim.limit or 0:,.0f} of {claim.about.inputs:,} inputs"
        fit = f"normal distributions fitted to the scores of {fitted} put the mean"
    rests = f" ({'; '.join(claim.guarantee.assumptions)})" if claim.guarantee.assumptions else ""
    counted = ""
    if claim.interval is not None:
        counted = (
            f"by count it fails under {interval_percent(claim)} of the perturbations "
            f"({confidence_clause(claim)}); "
        )
    return (
        f"{subject(claim)}{counted}{fit} failure probability at {value}: an extrapolation, "
        f"without guarantee{rests}"
    )


def _share_failing(claim: Claim) -> str:
    """The mean where nothing is random: an input fails when perturbed, or it does not."""
    scope, around = scope_phrase(claim), interval_percent(claim)
    over, certain = over_groups(claim, ","), bracketed(claim)
    text = f"{around} of {scope}{over} fail when perturbed{certain}"
    if claim.about.of is About.THESE and claim.value is not None:
        text = f"{percent(claim.value)} of {scope} fail when perturbed{bracketed(claim, around)}"
        failing = claim.value * claim.about.inputs
        if claim.interval is not None and claim.interval.width == 0:
            text = f"{failing:,.0f} of {scope} fail when perturbed (counted: nothing is random)"
    return subject(claim) + with_condition(claim, text)


def _mean(claim: Claim) -> str:
    if counts_inputs(claim) and claim.interval != UNIT:
        return _share_failing(claim)
    value = "" if claim.value is None else f"{percent(claim.value)} of "
    if claim.about.of is About.THESE:
        text = f"averaged over {scope_phrase(claim)}, {value}the perturbations make the model fail"
        text += bracketed(claim, interval_percent(claim))
        return subject(claim) + with_condition(claim, text)
    if claim.interval == UNIT:
        return _says_nothing(claim, f"how often the model fails on {scope_phrase(claim)}")
    return subject(claim) + with_condition(
        claim,
        f"{interval_percent(claim)} of the perturbations make the model fail on "
        f"{scope_phrase(claim)}{over_groups(claim)}{bracketed(claim)}",
    )


def _says_nothing(claim: Claim, question: str) -> str:
    """In place of 0 % to 100 %, which holds always."""
    inputs = "input says" if claim.about.inputs == 1 else "inputs say"
    return f"{subject(claim)}the {inputs} nothing about {question}"


def _count_kappa(claim: Claim) -> str:
    least = 0 if claim.interval is None else int(claim.interval.low)
    others = f", {claim.reason}" if claim.reason else ""
    number = int(claim.value or 0)
    were = "was" if 1 in (number, claim.about.inputs) else "were"
    truly = f"; at least {least:,} truly fail{'s' * (least == 1)} more often than that"
    if least == 0:
        truly = "; that any truly does is not shown: a few decisions may be wrong" * bool(number)
    inputs = "1 input" if claim.about.inputs == 1 else scope_phrase(claim)
    certain = bracketed(claim)
    if certain and least == 0 and claim.about.inputs > 1:  # no number is claimed
        certain = f" ({confidence_clause(claim)} for each decision, not for all together)"
    text = f"{number:,} of {inputs} {were} decided to fail under more than "
    return with_condition(claim, f"{text}{limit_phrase(claim)}{others}{truly}{certain}")


def _all_kappa(claim: Claim) -> str:
    every = "this input" if claim.about.inputs == 1 else f"every one of {scope_phrase(claim)}"
    text = f"{every} fails under at most {limit_phrase(claim)}{bracketed(claim)}"
    return with_condition(claim, text)


def _share_kappa(claim: Claim) -> str:
    if claim.interval == UNIT:
        often = f"fail under at most {limit_phrase(claim)}"
        return _says_nothing(claim, f"how many {scope_phrase(claim)} {often}")
    return subject(claim) + with_condition(
        claim,
        f"{interval_percent(claim)} of {scope_phrase(claim)}{over_groups(claim, ',')} fail under "
        "at most "
        f"{limit_phrase(claim)}{bracketed(claim)}",
    )


def _quantile(claim: Claim) -> str:
    share = exact_percent(claim.limit or 0.0)
    around = claim.interval
    if around is None:
        return f"{subject(claim)}undecided: {claim.reason}"
    inputs = f"all but {share} of {scope_phrase(claim)}{over_groups(claim, ',')}"
    text = f"for {inputs} no perturbation up to {at_least(around.low)} makes the model fail"
    if around.high == 0:
        text = f"on {share} or more of {scope_phrase(claim)} the model fails when they are clean"
    elif around.low == 0:
        text = f"no size of perturbation is shown that {inputs} withstand"
    note = f"; {claim.reason}" if claim.reason else ""
    quantile = bracketed(
        claim, f"the {share} quantile of the critical radius is {radius_range(around)}"
    )
    condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
    return f"{subject(claim)}{text}{quantile}{condition}{note}"


def _difference(claim: Claim) -> str:
    first, second = claim.names
    around, value = claim.interval, claim.value or 0.0
    if around is None:
        return f"by how much {first} and {second} differ is not shown"
    if around.low == around.high == 0:
        return f"{first} and {second} are the same model: they fail equally often"
    outcome = "shown to differ" if around.low > 0 or around.high < 0 else "not shown to differ"
    text = f"fails {points_apart(value)} {'less' if value < 0 else 'more'} often than"
    if claim.limit is not None:
        larger = "smaller" if value < 0 else "larger"
        text = f"has a robust share that is {points_apart(value)} {larger} than that of"
    return with_condition(
        claim,
        f"{among(claim)}on the same inputs and perturbations{over_groups(claim, ',')} {first} "
        f"{text} {second}{bracketed(claim, points_range(around))}: {outcome}",
    )


def _best(claim: Claim) -> str:
    number = int(claim.value or 0)
    names = claim.names
    if len(names) == number:
        text = f"none of the {number} models is shown to be less robust than another"
    elif len(names) == 1:
        text = f"{names[0]} is the most robust of {number} models"
    else:
        text = f"the most robust of {number} models is {', '.join(names[:-1])} or {names[-1]}"
    return with_condition(claim, among(claim) + text + over_groups(claim) + bracketed(claim))


def _quantile_difference(claim: Claim) -> str:
    first, second = claim.names
    around = claim.interval
    if around is None or (math.isinf(around.low) and math.isinf(around.high)):
        return f"by how much the quantiles of {first} and {second} differ is not shown"
    outcome = "shown to differ" if around.low > 0 or around.high < 0 else "not shown to differ"
    return with_condition(
        claim,
        f"{among(claim)}the {exact_percent(claim.limit or 0.0)} quantile of the critical radius "
        f"of {first} is "
        f"larger than that of {second} by {signed_range(around)}{bracketed(claim)}: {outcome}",
    )


def _classes(claim: Claim) -> str:
    differ, pairs = int(claim.value or 0), int(claim.limit or 0)
    word = class_word(claim)
    every = f"{differ:,} of the {pairs:,} pairs of {word}es"
    text = f"in {every} the model fails more often on one {word} than on the other"
    if differ == 0:
        of = f"the two {word}es" if pairs == 1 else f"any of the {pairs:,} pairs of {word}es"
        text = f"no difference in how often the model fails is shown between {of}"
        condition = f", {assumption(claim)}" if claim.guarantee.assumptions else ""
        return f"{among(claim)}{text} ({confidence_clause(claim)}){condition}"
    if differ < pairs:
        text += "; in the others no difference is shown"
    return with_condition(claim, f"{among(claim)}{text} ({confidence_clause(claim)})")


SENTENCES: dict[str, Callable[[Claim], str]] = {
    "failure": _failure,
    "kappa": _kappa,
    "radius": _radius,
    "worst": _worst,
    "tail": _tail,
    "mean_set": _mean,
    "count_kappa": _count_kappa,
    "all_kappa": _all_kappa,
    "curve_set": curve_sentence,
    "robust_accuracy": radius_sentences.robust_accuracy,
    "severity": radius_sentences.severity,
    "mean_radius": radius_sentences.mean_radius,
    "mean_population": _mean,
    "share_kappa": _share_kappa,
    "radius_quantile": _quantile,
    "robust_accuracy_population": radius_sentences.robust_accuracy_population,
    "mean_radius_population": radius_sentences.mean_radius_population,
    "curve_population": curve_sentence,
    "case_failure": tally_sentences.case_failure,
    "cases_failed": tally_sentences.cases_failed,
    "case_difference": tally_sentences.case_difference,
    "difference": _difference,
    "best": _best,
    "quantile_difference": _quantile_difference,
    "classes": _classes,
}
