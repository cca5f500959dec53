"""The sentence of each kind of claim, without its full stop, for a claim without a verdict."""

from __future__ import annotations

import math
from functools import singledispatch

from surefoot.core import claims
from surefoot.core.assumptions import Together
from surefoot.core.results import UNIT, Interval
from surefoot.report.clauses import (
    among,
    assumptions_of,
    bracketed,
    class_word,
    condition_behind,
    confidence_clause,
    counts_inputs,
    fails,
    failure_probability,
    in_kept,
    interval_percent,
    make_fail,
    model_fails,
    norm_word,
    over_groups,
    remarks,
    said,
    scope_phrase,
    subject,
    with_condition,
)
from surefoot.report.formatting import (
    RARE,
    at_least,
    at_most,
    confidence,
    exact_percent,
    extrapolated_probability,
    four_digits,
    more_or_less,
    of_perturbations,
    one_in,
    percent,
    percent_at_least,
    percent_range,
    points_apart,
    points_between,
    points_range,
    radius_range,
    rare_range,
    rare_share,
    signed_range,
)
from surefoot.report.reasons import reason_words
from surefoot.system.text import level_words

Smoothed = claims.CertifiedAccuracy | claims.SmoothedRadius
"""Kinds about a smoothed model."""


@singledispatch
def statement(claim: claims.Claim) -> str:
    """What is claimed, about what, with which confidence, and on which assumptions."""
    raise TypeError(f"a claim of the kind {claim.kind} is a verdict: give its requirement")


@statement.register
def _(claim: claims.Failure) -> str:
    value = "an unknown share" if claim.value is None else percent(claim.value)
    text = f"input {claim.about.name} {fails(claim)[0]} under {value} of the perturbations"
    return said(claim, text, interval_percent(claim))


@statement.register
def _(claim: claims.Kappa) -> str:
    name = f"input {claim.about.name}"
    if claim.decision is claims.Verdict.UNDECIDED:
        counted, certain = "", confidence_clause(claim)
        if claim.interval is not None and certain:
            share = f"{interval_percent(claim)} of its perturbations ({certain})"
            counted = f"; it {fails(claim)[0]} under {share}"
        text = f"{name} is not decided: {reason_words(claim.reason)}{counted}"
        return with_condition(claim, text)
    side = "at most" if claim.decision is claims.Verdict.PASS else "more than"
    return said(claim, f"{name} {fails(claim)[0]} under {side} {of_perturbations(claim.kappa)}")


@statement.register
def _(claim: claims.Radius) -> str:
    around, name = claim.interval, claim.about.name
    proved = 0.0 if around is None else around.low
    radius = (
        f"no {norm_word(claim)}perturbation of input {name} up to {at_least(proved)} makes the "
        f"model fail{condition_behind(claim)}"
        if proved > 0
        else f"nothing is proved of input {name}"
    )
    if around is None or math.isinf(around.high):
        return f"{radius}; no counterexample was found"
    if around.high == 0:
        return f"{radius}; it fails when clean"
    return f"{radius}; one of size {at_most(around.high)} does: found, and confirmed by the model"


_CLEAN_FAULTS = {
    None: "",
    claims.CleanFault.FAILS: "; it fails already when clean",
    claims.CleanFault.WRONG_LABEL: "; its label is wrong already when clean",
}


@statement.register
def _(claim: claims.Worst) -> str:
    text = (
        f"input {claim.about.name} failed most often of the {claim.about.inputs:,} in this run: it "
        f"{fails(claim)[0]} under {interval_percent(claim)} of the perturbations"
    )
    return said(claim, text) + _CLEAN_FAULTS[claim.clean_fault]


@statement.register
def _(claim: claims.Tail) -> str:
    value = "nothing" if claim.value is None else extrapolated_probability(claim.value)
    fit = f"a normal distribution fitted to the scores of input {claim.about.name} puts its"
    if claim.about.of is not claims.About.INPUT:
        fitted = f"{claim.fitted or 0:,} of {claim.about.inputs:,} inputs"
        fit = f"normal distributions fitted to the scores of {fitted} put the mean"
    counted = ""
    if claim.interval is not None:
        counted = (
            f"by count it {fails(claim)[0]} under {interval_percent(claim)} of the perturbations "
            f"({confidence_clause(claim)}); "
        )
    return (
        f"{subject(claim)}{counted}{fit} {failure_probability(claim)} at {value}: an "
        f"extrapolation, without guarantee{_rests_on(claim)}"
    )


@statement.register
def _(claim: claims.RareFailure) -> str:
    around, one = claim.interval, claim.about.of is claims.About.INPUT
    where = f"{scope_phrase(claim)} {fails(claim)[not one]}"
    if around is None:
        return f"it is not decided how rarely {where}: {reason_words(claim.reason)}"
    mean = "" if one else ", on average"
    if claim.value is None:
        of = " of the" if around.high >= RARE else ""
        most = f"{rare_range(Interval(0.0, around.high))}{of} perturbations{mean}"
        return f"{said(claim, f'{where} under {most}')}; no failure was found"
    share = f"about {rare_share(claim.value)} perturbations{mean}"
    if claim.value >= RARE:
        share = f"{percent(claim.value)} of the perturbations{mean}"
    return said(claim, f"{where} under {share}", rare_range(around))


def _share_failing(claim: claims.MeanSet | claims.MeanPopulation) -> str:
    """The mean where nothing is random: an input fails when perturbed, or it does not."""
    claim = in_kept(claim)
    scope, around = scope_phrase(claim), interval_percent(claim)
    over, certain = over_groups(claim, ","), bracketed(claim)
    do = f"{fails(claim)[1] if claim.kept is None else 'keep their label'} when perturbed"
    text = f"{around} of {scope}{over} {do}{certain}"
    if claim.about.of is claims.About.THESE and claim.value is not None:
        text = f"{percent(claim.value)} of {scope} {do}{bracketed(claim, around)}"
        number = claim.value * claim.about.inputs
        if claim.interval is not None and claim.interval.width == 0:
            text = f"{number:,.0f} of {scope} {do} (counted: nothing is random)"
    return subject(claim) + with_condition(claim, text)


@statement.register
def _(claim: claims.MeanSet) -> str:
    if counts_inputs(claim) and claim.interval != UNIT:
        return _share_failing(claim)
    claim = in_kept(claim)
    value = "" if claim.value is None else f"{percent(claim.value)} of "
    text = f"averaged over {scope_phrase(claim)}, {value}the perturbations {make_fail(claim)}"
    if claim.kept is not None:
        text = _keep_label(claim, value or "an unknown share of ")
    return said(claim, text, interval_percent(claim))


def _keep_label(claim: claims.Claim, share: str) -> str:
    """That inputs keep their label under such a share of the perturbations, on average."""
    scope = scope_phrase(claim)
    if scope == "this input":
        return f"this input keeps its label under {share}the perturbations"
    over = over_groups(claim) or ", on average"
    return f"{scope} keep their label under {share}the perturbations{over}"


@statement.register
def _(claim: claims.MeanPopulation) -> str:
    if claim.interval == UNIT:
        do = f"{scope_phrase(claim)} keep their label"
        do = f"{scope_phrase(claim)} {fails(claim)[1]}" if claim.kept is None else do
        return _says_nothing(claim, f"how often {do}")
    if counts_inputs(claim):
        return _share_failing(claim)
    share = f"{interval_percent(in_kept(claim))} of "
    text = f"{share}the perturbations {make_fail(claim)} on {scope_phrase(claim)}"
    return said(
        claim, text + over_groups(claim) if claim.kept is None else _keep_label(claim, share)
    )


@statement.register
def _(claim: claims.AccuracySet) -> str:
    n, around = claim.about.inputs, claim.interval
    clean, where = percent(claim.clean / n), f"on {scope_phrase(claim)} under {claim.under}"
    if claim.value is None or around is None:
        text = f"accuracy {where} is not known; when clean it is {clean}"
        return subject(claim) + with_condition(claim, text)
    inside = bracketed(claim, percent_range(around))
    if around.width == 0:
        inside = f" ({claim.value * n:,.0f} of {n:,}; counted, nothing is random)"
    after = f"{percent(claim.value)}{inside}"
    text = f"accuracy {where} is {after}; when clean it is {clean}"
    if not around.low <= claim.clean / n <= around.high:
        moves = "falls" if around.high < claim.clean / n else "rises"
        text = f"accuracy {moves} from {clean} to {after} {where}"
    return subject(claim) + with_condition(claim, text)


@statement.register
def _(claim: claims.AccuracyPopulation) -> str:
    where = f"{scope_phrase(claim)} under {claim.under}"
    if claim.interval == UNIT:
        return _says_nothing(claim, f"the accuracy on {where}")
    return said(claim, f"accuracy on {where}{over_groups(claim, ',')} is {interval_percent(claim)}")


@statement.register
def _(claim: claims.CleanAccuracy) -> str:
    where = f"clean {scope_phrase(claim)}{over_groups(claim, ',')}"
    return said(claim, f"accuracy on {where} is {interval_percent(claim)}")


@statement.register
def _(claim: claims.AccuracyDrop) -> str:
    around = claim.interval or Interval(-1.0, 1.0)
    where = f"on {scope_phrase(claim)}{over_groups(claim, ',')}"
    text = f"{claim.under} costs {points_between(around)} of accuracy {where}"
    if around.low < 0:  # then it may be a gain
        change = points_range(-around)
        text = f"{claim.under} changes accuracy {where} by {change} points"
    return said(claim, text)


def _says_nothing(claim: claims.Claim, question: str) -> str:
    """In place of 0 % to 100 %, which holds always."""
    inputs = "input says" if claim.about.inputs == 1 else "inputs say"
    return f"{subject(claim)}the {inputs} nothing about {question}"


@statement.register
def _(claim: claims.SuiteMean) -> str:
    cells = f"the {claim.cells:,} cells" if claim.cells > 1 else "the one cell"
    where = f" on {scope_phrase(claim)}" * (claim.about.of is claims.About.POPULATION)
    around, lowest = claim.interval or UNIT, claim.lowest_interval
    mean = "" if around.width == 0 else f" ({percent_range(around)})"
    text = (
        f"averaged over {cells} of {claim.suite}, {height_words(claim.height)} is "
        f"{percent(claim.value or 0.0)}{mean}{where}; the weakest cell is {claim.weakest}: "
        f"{percent(claim.lowest)}"
    )
    return said(claim, text, percent_range(lowest) if lowest.width else "counted")


@statement.register
def _(claim: claims.CorruptionError) -> str:
    of = f"the mCE of {claim.rows:,} perturbations against the baseline"
    if claim.interval is None or claim.value is None:
        return f"{of} is undecided: {reason_words(claim.reason)}"
    around = percent_range(claim.interval) if claim.interval.width else ""
    return said(claim, f"{of} is {percent(claim.value)}", around)


def height_words(height: claims.Height) -> str:
    """With its article, as the subject of a sentence."""
    return height if height is claims.Height.ACCURACY else f"the {height}"


@statement.register
def _(claim: claims.CountKappa) -> str:
    number, least = claim.fragile, claim.at_least
    n = claim.about.inputs - claim.clean
    were = "was" if 1 in (number, n) else "were"
    open_ = n - number - claim.robust
    undecided = f", {open_:,} {'is' if open_ == 1 else 'are'} undecided" if open_ else ""
    limit = one_in(claim.kappa)
    truly = f"; at least {least:,} truly {fails(claim)[least != 1]} under more than {limit}"
    if least == 0:
        truly = "; that any truly does is not shown: a few decisions may be wrong" * bool(number)
    inputs = "1 input" if n == 1 else scope_phrase(claim)
    certain, wrong = bracketed(claim), _wrong_clause(claim)
    if wrong:
        inputs = f"the other {n:,}"
    if wrong and n == 0:
        return with_condition(claim, f"all of {scope_phrase(claim)} are wrong when clean")
    if certain and least == 0 and n > 1:  # no number is claimed
        certain = f" ({confidence_clause(claim)} for each decision, not for all together)"
    return with_condition(
        claim,
        f"{wrong}{number:,} of {inputs} {were} decided {fails(claim)[2]} under more than "
        f"{of_perturbations(claim.kappa)}, {claim.robust:,} under at most {limit}{undecided}{truly}"
        f"{certain}",
    )


@statement.register
def _(claim: claims.PublishedKappa) -> str:
    n, limit = claim.about.inputs - claim.clean, of_perturbations(claim.kappa)
    open_ = n - claim.robust - claim.fragile
    inputs = f"the other {n:,}" if claim.clean else scope_phrase(claim)
    nothing = f", and nothing of {open_:,}" if open_ else ""
    return (
        f"{subject(claim)}{_wrong_clause(claim)}the published rule declares {claim.robust:,} of "
        f"{inputs} {fails(claim)[2]} under at most {limit} and {claim.fragile:,} under more than "
        f"that{nothing}: without guarantee. It states an error of {percent(claim.stated)}; of an "
        f"input that fails under exactly {limit} it declares at most that with probability "
        f"{percent(claim.measured)} (computed){_rests_on(claim)}"
    )


@statement.register
def _(claim: claims.AllKappa) -> str:
    every = "this input" if claim.about.inputs == 1 else f"every one of {scope_phrase(claim)}"
    if claim.clean:
        every = f"{_wrong_clause(claim)}every one of the others"
    return said(claim, f"{every} {fails(claim)[0]} under at most {of_perturbations(claim.kappa)}")


@statement.register
def _(claim: claims.ShareKappa) -> str:
    limit = f"{fails(claim)[1]} under at most {of_perturbations(claim.kappa)}"
    if claim.interval == UNIT:
        return _says_nothing(claim, f"how many {scope_phrase(claim)} {limit}")
    where = f"{scope_phrase(claim)}{over_groups(claim, ',')}"
    return said(claim, f"{interval_percent(claim)} of {where} {right_and(claim)}{limit}")


def _wrong_clause(claim: claims.CountKappa | claims.PublishedKappa | claims.AllKappa) -> str:
    """How many inputs are wrong when clean, before what is said of the others; empty for none."""
    n = claim.about.inputs
    are = "is" if claim.clean == 1 else "are"
    return f"{claim.clean:,} of {n:,} inputs {are} wrong when clean; " if claim.clean else ""


def right_and(claim: claims.ShareKappa) -> str:
    """That an input counts where it is right when clean, where some are not."""
    return "are right when clean and " if claim.clean else ""


@statement.register
def _(claim: claims.RadiusQuantile) -> str:
    share, around = exact_percent(claim.share or 0.0), claim.interval
    if around is None:
        return f"{subject(claim)}undecided: {reason_words(claim.reason)}"
    inputs = f"all but {share} of {scope_phrase(claim)}{over_groups(claim, ',')}"
    norm = norm_word(claim)
    quantile = f"the {share} quantile of the critical {norm}radius"
    known = f"{quantile} is {radius_range(around)}"
    text = f"for {inputs} no {norm}perturbation up to {at_least(around.low)} makes the model fail"
    if around.high == 0:
        text = f"on {share} or more of {scope_phrase(claim)} the model fails when they are clean"
    elif claim.bounded_above_only and claim.reason:
        text = f"{quantile} of {scope_phrase(claim)}{over_groups(claim, ',')} is at most "
        text += at_most(around.high)
        known = "" if claim.value is None else f"estimate {four_digits(claim.value)}"
    elif around.low == 0:
        text = f"no size of {norm}perturbation is shown that {inputs} withstand"
    text += bracketed(claim, known) + condition_behind(claim)
    return f"{subject(claim)}{text}{_and(reason_words(claim.reason))}"


@statement.register
def _(claim: claims.FailureDifference | claims.CaseDifference) -> str:
    first, second = claim.names
    around, value = claim.interval, claim.value or 0.0
    if around is None:
        return f"by how much {first} and {second} differ is not shown"
    text, between = _apart(claim, value), more_or_less(around)
    if isinstance(claim, claims.CaseDifference):
        over = over_cases(claim)
        on = f"on the same {claim.about.inputs:,} cases{over}{',' if over else ''}"
    elif around.low == around.high == 0:
        return f"{first} and {second} are the same model"
    else:
        on = f"{among(claim)}on the same inputs and perturbations{over_groups(claim, ',')}"
        if claim.kappa is not None:
            between = points_range(around)
            larger = "smaller" if value < 0 else "larger"
            text = f"has a robust share that is {points_apart(value)} {larger} than that of"
    certain = bracketed(claim, between)
    return with_condition(claim, f"{on} {first} {text} {second}{certain}: {_outcome(around)}")


def _apart(claim: claims.Claim, value: float) -> str:
    """By how much the first fails more often, or how much more it keeps where that has a name."""
    size, more = points_apart(value), "less" if value < 0 else "more"
    if claim.kept is claims.Height.ACCURACY:
        return f"is {size} {more} accurate than"
    does = model_fails(claim) if claim.kept is None else "keeps its label"
    return f"{does} {size} {more} often than"


def _outcome(around: Interval) -> str:
    return "shown to differ" if around.low > 0 or around.high < 0 else "not shown to differ"


@statement.register
def _(claim: claims.Best) -> str:
    number, names, good = claim.models, claim.names, quality(claim)
    together = claim.guarantee.jointly
    perturbed = together is not None and together.of is Together.PERTURBED
    if len(names) == number:
        of = ", ".join(names) if perturbed else f"the {number} models"
        text = f"none of {of} is shown to be less {good} than another"
    elif len(names) == 1:
        text = f"{names[0]} is the most {good} of {number} models"
    else:
        text = f"the most {good} of {number} models is {', '.join(names[:-1])} or {names[-1]}"
    return with_condition(claim, among(claim) + text + over_groups(claim) + bracketed(claim))


def quality(claim: claims.Best | claims.FailureDifference) -> str:
    """What a better model is more of."""
    accurate = claim.kept is claims.Height.ACCURACY and claim.kappa is None
    return "accurate" if accurate else "robust"


@statement.register
def _(claim: claims.QuantileDifference) -> str:
    first, second = claim.names
    around = claim.interval
    if around is None or (math.isinf(around.low) and math.isinf(around.high)):
        return f"by how much the quantiles of {first} and {second} differ is not shown"
    return with_condition(
        claim,
        f"{among(claim)}the {exact_percent(claim.share)} quantile of the critical radius of "
        f"{first} is larger than that of {second} by {signed_range(around)}{bracketed(claim)}: "
        f"{_outcome(around)}",
    )


_DIFFER: dict[claims.Height | None, tuple[str, str]] = {
    claims.Height.ACCURACY: ("is more accurate", "accuracy under the perturbation"),
    claims.Height.LABELS_KEPT: (
        "changes its label more often",
        "how often the model changes its label",
    ),
}


@statement.register
def _(claim: claims.ClassesDiffer) -> str:
    differ, pairs, word = claim.differ, claim.pairs, class_word(claim)
    every = f"{differ:,} of the {pairs:,} pairs of {word}es"
    does = model_fails(claim)
    more, difference = _DIFFER.get(
        claim.kept, (f"{does} more often", f"how often the model {does}")
    )
    text = f"in {every} the model {more} on one {word} than on the other"
    if differ == 0:
        of = f"the two {word}es" if pairs == 1 else f"any of the {pairs:,} pairs of {word}es"
        if pairs == 1 and claim.classes > 2:
            of += f" that have more than one {'group' if claim.about.groups else 'input'}"
        text = f"no difference in {difference} is shown between {of}"
        return f"{among(claim)}{text} ({confidence_clause(claim)}){condition_behind(claim)}"
    if differ < pairs:
        text += "; in the others no difference is shown"
    return with_condition(claim, f"{among(claim)}{text} ({confidence_clause(claim)})")


@statement.register
def _(claim: claims.CountedAccuracy) -> str:
    inputs = scope_phrase(claim)
    return f"{subject(claim)}{claim.right:,} of {inputs} get their true label when clean (counted)"


# Critical radii beside the quantile.


@statement.register
def _(claim: claims.RobustAtRadius) -> str:
    n, proved, refuted = claim.about.inputs, claim.proved, claim.refuted
    parts = [f"{refuted:,} of {n:,} inputs can be made to fail"]
    parts += [f"{_number_of(proved)} proved to withstand every perturbation"] * (proved > 0)
    parts.append(f"{_number_of(n - proved - refuted)} open")
    clean, norm = clean_clause(claim.clean, "count as not robust"), norm_word(claim)
    return (
        f"{subject(claim)}at {norm}radius {level_words(claim.radius)}, {', '.join(parts)}"
        f"{_rests_on(claim)}{_and(clean)}"
    )


@statement.register
def _(claim: claims.Severity) -> str:
    n = claim.about.inputs
    inputs = "the input that can be made to fail"
    has = "has a critical radius of"
    if n != 1:
        inputs, has = f"the {n:,} inputs that can be made to fail", "have a mean critical radius of"
    open_ = f"the {claim.open:,} open at that radius have no part in it" if claim.open else ""
    return (
        f"{subject(claim)}{inputs} within {norm_word(claim)}radius {level_words(claim.radius)} "
        f"{has} {_range(claim)}"
        f"{_rests_on(claim)}{_and(clean_clause(claim.clean, 'count as 0'))}{_and(open_)}"
    )


@statement.register
def _(claim: claims.MeanRadius) -> str:
    found = ""
    if claim.distance is not None:
        found = (
            f"the {claim.counterexamples:,} counterexamples that are known are at a mean distance "
            f"of {claim.distance:.4g}"
        )
    return (
        f"{subject(claim)}averaged over {scope_phrase(claim)}, the critical "
        f"{norm_word(claim)}radius is {_range(claim)}{_rests_on(claim)}"
        f"{_and(clean_clause(claim.clean, 'count as 0'))}"
        f"{_and(found)}"
    )


@statement.register
def _(claim: claims.RobustPopulation) -> str:
    text = (
        f"{interval_percent(claim)} of {scope_phrase(claim)}{over_groups(claim, ',')} withstand "
        f"every {norm_word(claim)}perturbation up to {level_words(claim.radius)}"
    )
    return said(claim, text) + _and(clean_clause(claim.clean, "count as not robust"))


@statement.register
def _(claim: claims.MeanRadiusPopulation) -> str:
    where = f"{scope_phrase(claim)}{over_groups(claim, ',')}"
    return (
        f"{said(claim, f'the mean critical radius of {where} is {_range(claim)}')}, where none "
        f"counts as more than {level_words(claim.ceiling)}"
        f"{_and(clean_clause(claim.clean, 'count as 0'))}"
    )


def smoothed(claim: Smoothed) -> str:
    """The smoothed model as a noun phrase, with the noise over which it votes."""
    noise = claim.noise
    scale = level_words(noise.scale)
    law = f"Gaussian noise of standard deviation {scale}"
    if noise.shifts:
        by = f"shifts by whole pixels, Gaussian of standard deviation {scale}, around the edges"
        return f"the smoothed model (a vote over {by})"
    if noise.norm != "L2":
        law = f"uniform noise of half-width {scale}"
    rounded = ", to which inputs are rounded" if noise.rounded else ""
    return f"the smoothed model (a vote over {law} on a grid of {noise.grid}{rounded})"


def within(claim: claims.CertifiedAccuracy) -> str:
    """Where else the class is kept, after a comma; empty at radius 0."""
    if not claim.radius:
        return ""
    return f", each together with {_nearby(claim.noise, level_words(claim.radius))}"


def _nearby(noise: claims.NoiseOf, radius: str) -> str:
    """All inputs within a radius."""
    if noise.shifts:
        return f"every such shift of it within distance {radius}"
    return f"every point of the grid within {noise.norm} distance {radius} of it"


def is_right(claim: claims.CertifiedAccuracy) -> tuple[str, str]:
    """What a smoothed model does on inputs, as far as labels say it; and that it is shown to."""
    if claim.kept is claims.Height.LABELS_KEPT:
        same = "the class of the model's clean answer on"
        return f"gives {same}", f"is shown to give {same}"
    return "is right on", "is shown to be right on"


@statement.register
def _(claim: claims.CertifiedAccuracy) -> str:
    around, model, inputs = claim.interval or UNIT, smoothed(claim), scope_phrase(claim)
    does, shown = is_right(claim)
    if claim.about.of is claims.About.THESE:
        truly = f"; {around.low * claim.about.inputs:,.0f} or more truly are"
        truly += bracketed(claim)
        if around.low == 0:
            truly = f", each by itself with confidence {confidence(claim.guarantee.error)}"
        some = f"{claim.shown:,} of {inputs}{within(claim)}{truly}"
        if not claim.shown:
            some = f"none of {inputs}{within(claim)}"
        return with_condition(claim, f"{model} {shown} {some}")
    if around.low == 0:
        return _says_nothing(claim, f"how many {inputs} {model} {does}{within(claim)}")
    where = f"{inputs}{over_groups(claim)}{within(claim)}"
    return said(claim, f"{model} {does} at least {percent_at_least(around.low)} of {where}")


@statement.register
def _(claim: claims.SmoothedRadius) -> str:
    model, around, norm = smoothed(claim), claim.interval, claim.noise.norm
    name = scope_phrase(claim)
    if claim.about.of is claims.About.INPUT:
        if around is None:
            text = f"it is not shown that {model} gives {name} its class"
            return with_condition(claim, text)
        near = _nearby(claim.noise, at_least(around.low))
        return said(claim, f"{model} gives {name} and {near} its class")
    text = (
        f"averaged over {name}, {model} is certified up to {norm} distance "
        f"{at_least(claim.value or 0.0)}, inputs without a certificate counted as 0; the average "
        f"of the true distances is at least {at_least(0.0 if around is None else around.low)}"
    )
    return said(claim, text)


def clean_clause(clean: int, counted: str) -> str:
    """How many inputs fail when clean, and how they are counted; empty for none."""
    if clean <= 1:
        one = f"1 input fails when clean and {counted.replace('count', 'counts', 1)}"
        return one if clean else ""
    return f"{clean:,} inputs fail when clean and {counted}"


def _range(claim: claims.Claim) -> str:
    return "not known" if claim.interval is None else radius_range(claim.interval)


def _rests_on(claim: claims.Claim) -> str:
    """What it rests on, as a remark in brackets."""
    known = remarks(claim)
    return f" ({'; '.join(known)})" if known else ""


def _and(clause: str) -> str:
    return f"; {clause}" if clause else ""


def _number_of(inputs: int) -> str:
    return f"{inputs:,} {'is' if inputs == 1 else 'are'}"


# Curves. The assumption is in the sentence; that the inputs are a sample of a population comes
# first.


@statement.register
def _(claim: claims.CurveSet | claims.CurvePopulation) -> str:
    """Up to which level the curve stays above the threshold, or at which share of the levels."""
    if claim.interval is None or (claim.interval == UNIT and claim.reason):
        limit = exact_percent(claim.threshold)
        where = f"it is not located where {curve_of(claim)} crosses {limit}"
        why = reason_words(claim.reason) or "no interval is known"
        return f"{subject(claim)}{where}: {why}{_over_the_range(claim)}"
    known = assumptions_of(claim)
    sample, condition = "", f", if {' and '.join(known)}" if known else ""
    condition = _over_the_range(claim) + condition
    if isinstance(claim, claims.CurvePopulation):
        sample = f"if {known[0]}, " if known else ""
        condition = f", provided that {' and '.join(known[1:])}" if known[1:] else ""
    return f"{subject(claim)}{sample}{_curve_statement(claim, claim.interval)}{condition}"


def _over_the_range(claim: claims.CurveSet | claims.CurvePopulation) -> str:
    """Between which values a flat curve stays, beside a crossing of which little is known."""
    if isinstance(claim, claims.CurvePopulation) or claim.whole is None:
        return ""
    values = percent_range(claim.whole).replace(" to ", " and ")
    return f"; {claim.quantity.height} stays between {values} over the whole range"


def curve_of(claim: claims.CurveSet | claims.CurvePopulation | claims.CurveNotWorse) -> str:
    """The height of the curve, on which inputs and for which draws."""
    draws = "" if claim.seed is None else f", for these draws of the noise (seed {claim.seed}),"
    return f"{claim.quantity.height} on {scope_phrase(claim)}{draws}"


def _curve_statement(claim: claims.CurveSet | claims.CurvePopulation, around: Interval) -> str:
    limit, quantity = exact_percent(claim.threshold), claim.quantity
    value, curve, low = claim.value or 0.0, curve_of(claim), quantity.span.low
    if not quantity.is_share and isinstance(claim, claims.CurvePopulation):
        ends = f"{at_least(around.low)} and {at_most(around.high)}"
        start = f" from {at_level(quantity, f'{low:g}')} on" if low else ""
        return (
            f"{curve} crosses {limit}{start} between {at_level(quantity, ends)}{bracketed(claim)}"
        )
    if not quantity.is_share:
        level = four_digits(value)
        levels = f"from {at_level(quantity, f'{low:g} up to {level}')}"
        levels = levels if low else f"up to {at_level(quantity, level)}"
        return f"{curve} stays at {limit} or more {levels}{bracketed(claim, radius_range(around))}"
    if around.low == around.high and around.low in (0.0, 1.0):
        side = f"stays at {limit} or more" if around.low == 1 else f"is below {limit}"
        return f"{curve} {side} at all {levels_of(quantity)}{bracketed(claim)}"
    share = f"{percent(value)} of the {levels_of(quantity)}"
    kept = f"{curve} is {limit} or more at {share}"
    if quantity.around_clean:
        kept = f"{curve} stays at {limit} or more at {share}, around the clean one"
    return kept + bracketed(claim, percent_range(around))


def levels_of(quantity: claims.CurveQuantity) -> str:
    """All levels of the range, as a noun phrase."""
    unit = f" {quantity.unit}" if quantity.unit else ""
    span = quantity.span
    return f"levels of {quantity.perturbation} from {span.low:g} to {span.high:g}{unit}"


def at_level(quantity: claims.CurveQuantity, level: str) -> str:
    """One level, or several, with the name of the perturbation."""
    if " " in quantity.perturbation:
        return f"level {level} of {quantity.perturbation}"
    return f"{quantity.perturbation} {level} {quantity.unit}".rstrip()


# Outcomes that were counted elsewhere.

Cases = claims.CaseFailure | claims.CasesFailed | claims.CaseDifference


@statement.register
def _(claim: claims.CaseFailure) -> str:
    return said(claim, cases_fail(claim, interval_percent(claim)))


@statement.register
def _(claim: claims.CasesFailed) -> str:
    rate = percent(claim.rate)
    text = f"{claim.failed:,} of {case_scope(claim)} failed ({rate})"
    if claim.about.inputs == 1:
        text = f"{case_scope(claim)} {'failed' if claim.failed else 'passed'}"
    if claim.counted is claims.Outcomes.TRIALS:
        text = f"{case_scope(claim)} failed in {claim.failed:,} of {claim.trials:,} trials ({rate}"
        text += ")" if claim.about.inputs == 1 else ", averaged over cases)"
    return said(claim, text)


def case_scope(claim: claims.Claim) -> str:
    """The cases that the claim is about, as a noun phrase."""
    scope = claim.about
    match scope.of:
        case claims.About.CLASS if not scope.name:
            return "such cases of every class of these data"
        case claims.About.CLASS:
            return f"such cases of class {scope.name}"
        case claims.About.THESE:
            return "this case" if scope.inputs == 1 else f"these {scope.inputs:,} cases"
        case _:
            return "such cases"


def over_cases(claim: Cases) -> str:
    """Over what the quantity is averaged, after a comma; empty where every case has one trial."""
    over = ", averaged over cases" if claim.counted is claims.Outcomes.TRIALS else ""
    return over_groups(claim) or over


def cases_fail(claim: claims.CaseFailure, share: str, cases: str = "") -> str:
    """That such a share fails: of cases, or of their trials."""
    cases = cases or case_scope(claim)
    if claim.counted is claims.Outcomes.TRIALS:
        return f"{cases} fail in {share} of their trials{over_cases(claim)}"
    return f"{share} of {cases} fail{over_cases(claim)}"
