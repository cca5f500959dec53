"""Clauses and phrases that the sentences about claims share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from surefoot.core import assumptions, claims
from surefoot.core.assumptions import Assumed, Assumption, CurveShape, Jointly, Stated, Together
from surefoot.core.claims import (
    About,
    Claim,
    ClassesDiffer,
    Continues,
    CurveQuantity,
    Height,
    Outcomes,
    Randomness,
    Sampling,
)
from surefoot.core.results import Interval, Reading, complement
from surefoot.records.spec import PartSpec, StudySpec
from surefoot.report.formatting import confidence, percent_range
from surefoot.system.text import level_words

AnyOne = TypeVar("AnyOne", bound=Claim)
_GROUPS = "an independent random sample of groups"
_ASSUMED = {
    Assumed.SAMPLED: (
        "the inputs are an independent random sample of the population they stand for"
    ),
    Assumed.STRATIFIED: (
        "within each class the inputs are an independent random sample, and the population holds "
        "the classes in equal shares"
    ),
    Assumed.SAMPLED_WITHIN: ("within each class the inputs are an independent random sample of it"),
    Assumed.GROUPS_SAMPLED: f"the groups are {_GROUPS}",
    Assumed.WHOLE_GROUPS: (
        "the inputs of a group are all of its inputs or a random sample of them"
    ),
    Assumed.CASES_SAMPLED: (
        "these cases are drawn at random and independently from the cases they stand for"
    ),
    Assumed.CASES_WITHIN: (
        "within each class these cases are drawn at random and independently from its cases"
    ),
    Assumed.CASE_GROUPS_SAMPLED: (
        "the groups of these cases are drawn at random and independently from the groups they "
        "stand for"
    ),
    Assumed.WHOLE_CASE_GROUPS: (
        "the cases of a group are all of its cases or a random sample of them"
    ),
    Assumed.TRIALS_SETTLED: "how many trials a case has does not depend on their outcomes",
    Assumed.SAME_POPULATION: "the inputs of both runs stand for the same population",
    Assumed.GIVEN_SCALES: "the noise keeps the scales that were computed from these inputs",
    Assumed.MODEL_UNCHANGED: "the model behind the address did not change during the run",
    Assumed.ARITHMETIC: (
        "the model computes exactly, in real arithmetic (a run in float32 may differ)"
    ),
    Assumed.FLOAT32: (
        "the model computes in float32 (in any order of summation, Sigmoid and Tanh to 2⁻²⁰; not "
        "in TF32 or half precision)"
    ),
    Assumed.CONFIRMED: "the model gives the same label when the point is run again",
    Assumed.PUBLISHED: "the published proofs and counterexamples are right",
    Assumed.LOG_NORMAL: "critical radii are log-normal",
    Assumed.EXCHANGEABLE: (
        "two classes on which the model fails equally often on average also agree in which share "
        "of their inputs fails how often"
    ),
    Assumed.EXCHANGEABLE_GROUPS: (
        f"the groups are {_GROUPS} and two classes on which the model fails equally often on "
        "average also agree in which share of their groups fails how often"
    ),
    Assumed.FITTED_ONLY: (
        "model-based extrapolation, averaged over the inputs whose tail could be fitted, which "
        "are not a random choice"
    ),
    Assumed.CHAINS_MIX: "the search reached every kind of failure",
    Assumed.NO_BOUND: "no bound on the error is known",
    Assumed.PRINTED_BOUND: "the printed bound is wrong where an accuracy equals the threshold",
}
_SHORT = {
    Assumed.SAMPLED: "the inputs are a random sample",
    Assumed.STRATIFIED: (
        "the inputs of each class are a random sample and classes are equally frequent"
    ),
    Assumed.SAMPLED_WITHIN: "the inputs of each class are a random sample",
    Assumed.GROUPS_SAMPLED: "the groups are a random sample",
    Assumed.EXCHANGEABLE_GROUPS: "the groups are a random sample",
    Assumed.CASES_SAMPLED: "these cases are a random sample",
    Assumed.CASES_WITHIN: "these cases of each class are a random sample",
    Assumed.CASE_GROUPS_SAMPLED: "the groups are a random sample",
    Assumed.LOG_NORMAL: "critical radii are log-normal",
    Assumed.GIVEN_SCALES: "the noise keeps these scales",
    Assumed.WHOLE_GROUPS: "the groups are whole",
    Assumed.ARITHMETIC: "the model computes in real arithmetic",
    Assumed.FLOAT32: "the model computes in float32",
}
"""What is said of an assumption about a population beside a number alone."""
SAME_ASSUMPTION = "the same is assumed"
"""In place of assumptions that have no short form."""
AS_ABOVE = "as above"
"""After the short form of an assumption that a sentence before has in full."""


def assumption_words(one: Assumption) -> str:
    """The assumption in full, as a statement."""
    match one:
        case Assumed():
            text = _ASSUMED[one]
        case assumptions.TheseGroups(groups=n):
            these = f"these {n:,} groups are" if n > 1 else "this one group is"
            text = f"{these} {_GROUPS}"
        case assumptions.Prior(ceiling=top):
            text = (
                f"their quantile and median come from the prior (the quantile uniform up to "
                f"{top:g}, then the median uniform between it and {top:g}), over which the "
                "confidence is an average"
            )
        case assumptions.NormalBeyond(fit=fit):
            text = f"model-based extrapolation: {fit} are normal far beyond what was seen"
        case assumptions.Parabolas(depth=depth):
            text = (
                f"between neighbouring levels the curve lies between parabolas of depth "
                f"{depth:.4g} (in accuracy per squared share of the range)"
            )
        case CurveShape():
            text = _shape(one)
        case Stated(words=words):
            text = words
    return text


def _shape(curve: CurveShape) -> str:
    what = curve.of
    match curve.shape:
        case "bounded-rise":
            return _bounded_rise(curve)
        case "curvature":
            return (
                f"between neighbouring levels the {what} lies between parabolas of curvature "
                f"{curve.size:g} per squared range"
            )
        case "one-crossing":
            return f"once the {what} is below the threshold, it stays below at stronger levels"
        case _ if what == "confidence":
            return f"the {what} of no input rises from a level to a stronger one"
        case _:
            return "each input, once it fails, fails at all stronger levels"


def _bounded_rise(curve: CurveShape) -> str:
    points = f"{100 * curve.size:.3g} point{'s' * (curve.size != 0.01)}"
    after = " (after a contradiction)" if curve.contradicted else ""
    return f"a stronger level never raises {curve.of} by more than {points}{after}"


def assumptions_of(claim: Claim) -> list[str]:
    """All of its assumptions in full."""
    return list(map(assumption_words, claim.guarantee.assumptions))


def assumption(claim: Claim) -> str:
    """The condition that the sentence needs, as a clause; empty where there is none."""
    known = assumptions_of(claim)
    return "if " + " and ".join(known) if known else ""


def condition_behind(claim: Claim) -> str:
    """The same after a comma, behind the statement."""
    return f", {assumption(claim)}" if claim.guarantee.assumptions else ""


def sample_condition(claim: Claim) -> str:
    """What the claim assumes of the population, in a few words; empty where it assumes nothing.

    Of a claim about these inputs alone it is empty.
    """
    if claim.about.of is About.THESE:
        return ""
    short = dict.fromkeys(filter(None, map(_in_short, claim.guarantee.assumptions)))
    return "if " + " and ".join(short) if short else ""


def repeated_assumption(claim: Claim) -> Stated:
    """In place of assumptions that a sentence before has in full: a few words of each."""
    short = list(map(_in_short, claim.guarantee.assumptions))
    named = " and ".join(dict.fromkeys(short))
    return Stated(f"{named}, {AS_ABOVE}" if all(short) else SAME_ASSUMPTION)


def _in_short(one: Assumption) -> str:
    if isinstance(one, CurveShape) and one.shape == "bounded-rise":
        return _bounded_rise(one)
    known = Assumed.GROUPS_SAMPLED if isinstance(one, assumptions.TheseGroups) else one
    return _SHORT.get(known, "") if isinstance(known, Assumed) else ""


def in_short(one: Assumption) -> Assumption:
    """The assumption in a few words; itself where there are none."""
    words = _in_short(one)
    return Stated(words) if words else one


_TOGETHER = {
    Together.INPUTS: "all {n:,} inputs",
    Together.CLASSES: "the {n:,} {classes}",
    Together.EVERY_CLASS: "all {classes}",
    Together.CLASSES_AND_INPUTS: "the {n:,} {classes} and all inputs",
    Together.CLASSES_AND_CASES: "the {n:,} {classes} and all cases",
    Together.PAIRS: "all {n:,} pairs",
    Together.DIFFERENCES: "all {n} differences",
    Together.RADII: "{all} radii",
    Together.THRESHOLDS: "{all} thresholds",
    Together.CURVES: "all {n} curves",
    Together.NETWORKS: "all {n} networks",
    Together.GROUPS: "the quantiles of all {n} groups",
    Together.QUANTILES: "{all} quantiles",
    Together.QUANTILES_AND_DIFFERENCES: "{all} quantiles and their {difference}",
    Together.MODELS: "everything said of these {n} models",
    Together.LEVELS: "everything said of these {n} levels",
    Together.FILES: "everything said of these {n} files",
    Together.CELLS: "all {n} cells and their mean",
    Together.VERDICTS: "the verdicts under {all} perturbations",
    Together.PERTURBED: "everything said of these {n} pairs of model and perturbation",
}


def together_words(one: Jointly) -> str:
    """The statements that share one error, as a noun phrase."""
    two = one.number == 2
    return _TOGETHER[one.of].format(
        n=one.number,
        all="both" if two else f"all {one.number}",
        classes="predicted classes" if one.predicted else "classes",
        difference="difference" if two else "differences",
    )


def confidence_clause(claim: Claim) -> str:
    """The confidence, and for which claims together it holds; empty for a proof."""
    error, shared = claim.guarantee.error, claim.guarantee.jointly
    if error == 0:
        return ""
    together = f" for {together_words(shared)} together" if shared else ""
    return f"confidence {confidence(error)}{together}"


def conditional_confidence(claim: Claim) -> str:
    """The confidence with what it assumes of the population, as the note of a table has it."""
    return ", ".join(filter(None, (confidence_clause(claim), sample_condition(claim))))


def continuation_note(claims: Sequence[Claim]) -> str:
    """Whether inputs may be added and the claim about the population be read again."""
    about = [
        c for c in claims if c.about.of is About.POPULATION and not isinstance(c, ClassesDiffer)
    ]
    if not about or any(claim.continues is not Continues.ANYTIME for claim in about):
        return ""
    if about[0].about.groups:
        return (
            "May be continued: whole groups of the same population, chosen independently of the "
            "results, may be added, and the claim about the population may be read again at the "
            "same error. Further inputs of a group that is here already, another seed or another "
            "selection make another claim."
        )
    evenly = about[0].about.sampling is Sampling.STRATIFIED
    quota = ", equally many of each class," if evenly else ","
    return (
        f"May be continued: inputs of the same population, chosen independently of the results"
        f"{quota} may be added, and the claim about the population may be read again at the same "
        "error. Another seed or another selection is another claim."
    )


def by_scope(verdicts: Sequence[Claim]) -> tuple[tuple[Claim, ...], list[Claim]]:
    """Verdicts on the whole, and those on single classes."""
    single = [c for c in verdicts if c.about.of is About.CLASS and c.about.name]
    return tuple(c for c in verdicts if c not in single), single


def capitalised(text: str, names: tuple[str, ...] = ()) -> str:
    """With a capital first letter, unless the text begins with one of these names."""
    return text if text.startswith(names) else text[:1].upper() + text[1:]


def required_number(claim: Claim) -> float:
    """The number that was required of it; 0 where each class has its own."""
    return (claim.requirement and claim.requirement.number) or 0.0


def subject(claim: Claim) -> str:
    """The models or classes that it names, with a colon; empty where it names none."""
    return f"{', '.join(claim.names)}: " if claim.names else ""


def no_guarantee(claim: Claim) -> str:
    """Why nothing is guaranteed."""
    return "; ".join(assumptions_of(claim)) or "nothing is guaranteed"


def scope_phrase(claim: Claim) -> str:
    """The inputs that the claim is about, as a noun phrase."""
    scope = claim.about
    match scope.of:
        case About.INPUT:
            return f"input {scope.name}"
        case About.CLASS:
            if not scope.name:
                return f"inputs of every {class_word(claim)} of these data{only(claim)}"
            return f"inputs of {class_word(claim)} {scope.name}{only(claim)}"
        case About.THESE:
            return "this input" if scope.inputs == 1 else f"these {scope.inputs:,} inputs"
        case About.POPULATION if scope.networks:
            return f"pairs of such an input and one of the {scope.networks} networks{only(claim)}"
        case About.POPULATION:
            return f"inputs of this kind{only(claim)}"


def class_word(*claims: Claim) -> str:
    """What a class of these claims is: a true one, or one that the model predicts."""
    return "predicted class" if any(claim.about.predicted for claim in claims) else "class"


def only(claim: Claim) -> str:
    """To which of such inputs the claim is narrowed, after a space; empty where to none."""
    return f" {claim.about.only}" if claim.about.only else ""


def among(claim: Claim) -> str:
    """The same before a statement that names no inputs."""
    return f"among inputs{only(claim)}, " if claim.about.only else ""


def counts_inputs(claim: Claim) -> bool:
    """Whether a mean is the share of inputs that fail: nothing is random, and there are several."""
    return claim.random is Randomness.NOTHING and scope_phrase(claim) != "this input"


_FAILS: dict[Height | None, tuple[str, str, str]] = {
    None: ("fails", "fail", "to fail"),
    Height.ACCURACY: ("is wrong", "are wrong", "to be wrong"),
    Height.LABELS_KEPT: ("changes its label", "change their label", "to change their label"),
}


def fails(claim: Claim) -> tuple[str, str, str]:
    """What an input does where it fails: of one, of several, and as what was decided of several."""
    if claim.confident is not None:
        label = _confident_label(claim)
        return f"gets {label}", f"get {label}", f"to get {label}"
    return _FAILS[claim.kept]


def _confident_label(claim: Claim) -> str:
    return f"another label with a confidence of {claim.confident:g} or more"


def make_fail(claim: Claim) -> str:
    """What failing perturbations do to the model: make it fail, or give such a label."""
    label = "" if claim.confident is None else _confident_label(claim)
    return f"make the model give {label}" if label else "make the model fail"


def model_fails(claim: Claim) -> str:
    """What a model does where it fails."""
    if claim.confident is None:
        return "fails"
    return f"gives another label (confidence {claim.confident:g} or more)"


def failure_probability(claim: Claim) -> str:
    """Of one trial, as a noun phrase."""
    if claim.confident is not None:
        return f"probability of {_confident_label(claim)}"
    return _PROBABILITIES.get(claim.kept, _FAILURE)


def over_groups(claim: Claim, after: str = "") -> str:
    """That the quantity is an average over groups, after a comma; empty where it is not.

    `after` is put behind it, as the comma that ends a clause in the middle of a sentence.
    """
    over = claim.about.groups and not claim.about.networks
    return f", averaged over groups{after}" if over else ""


def bracketed(claim: Claim, around: str = "") -> str:
    """Interval and confidence in brackets, after a space; empty where there is neither."""
    inside = ", ".join(part for part in (around, confidence_clause(claim)) if part)
    return f" ({inside})" if inside else ""


def with_condition(claim: Claim, text: str) -> str:
    """The assumption first, where there is one."""
    condition = assumption(claim)
    return f"{condition}, {text}" if condition else text


def said(claim: Claim, text: str, around: str = "") -> str:
    """The statement whole: names and assumption before it, interval and confidence behind it."""
    return subject(claim) + with_condition(claim, text + bracketed(claim, around))


def remarks(claim: Claim) -> list[str]:
    """What it rests on beside a count, where an assumption is a remark and no condition."""
    proofs = {
        Assumed.ARITHMETIC: "proofs are in real arithmetic",
        Assumed.FLOAT32: "proofs hold in float32, in any order of summation",
    }
    known = claim.guarantee.assumptions
    return [(isinstance(a, Assumed) and proofs.get(a)) or assumption_words(a) for a in known]


def interval_percent(claim: Claim) -> str:
    """Both ends of the interval, in percent."""
    return "" if claim.interval is None else percent_range(claim.interval)


def in_kept(claim: AnyOne) -> AnyOne:
    """A mean of failing as the share that is kept, where that has a name."""
    if claim.kept is None or not isinstance(claim, claims.MeanSet | claims.MeanPopulation):
        return claim
    around, value, required = claim.interval, claim.value, claim.requirement
    if around is not None:
        around = Interval(complement(around.high), complement(around.low))
    if required is not None and required.number is not None:
        required = replace(required, number=complement(required.number))
    value = None if value is None else 1 - value
    return replace(claim, interval=around, value=value, requirement=required)


def quantity_words(claim: Claim) -> str:
    """What the number of the claim is of, as a noun phrase."""
    match claim:
        case claims.CurveSet() | claims.CurvePopulation() | claims.CurveNotWorse():
            curve = claim.quantity
            under = f"the {curve.height} under {curve.perturbation}"
            under += f" in {curve.unit}" if curve.unit else ""
            span = curve.span
            if curve.is_share:
                levels = f"share of the levels from {span.low:g} to {span.high:g}"
                around = ", around the clean one," if curve.around_clean else ""
                return f"{levels}{around} at which {under} is at least"
            start = "" if span.low == 0 else f", from {span.low:g} on,"
            return f"level up to which{start} {under} is at least"
        case (
            claims.CaseFailure(counted=of)
            | claims.CasesFailed(counted=of)
            | claims.CaseDifference(counted=of)
            | claims.NotWorse(counted=Outcomes() as of)
        ):
            return _COUNTED[of]
        case (
            claims.NotWorse(kappa=float())
            | claims.Best(kappa=float())
            | claims.FailureDifference(kappa=float())
        ):
            return _QUANTITIES[claims.ShareKappa]
        case claims.NotWorse() | claims.Best() | claims.FailureDifference() if claim.kept:
            return str(claim.kept)
        case _:
            return _QUANTITIES.get(type(claim), failure_probability(claim))


OfRadius = (
    claims.Radius
    | claims.RadiusQuantile
    | claims.RobustAtRadius
    | claims.RobustPopulation
    | claims.Severity
    | claims.MeanRadius
)


def norm_word(claim: OfRadius) -> str:
    """The norm of the claim's radius before its noun, where it is not L∞."""
    return "" if claim.norm == claims.LINF else f"{claim.norm} "


_ROBUST = "share of inputs that fail at no point of the ball"
_CRITICAL = "mean critical radius"
_QUANTITIES: dict[type[Claim], str] = {
    claims.SuiteMean: "accuracy, or share kept, averaged over the cells of a suite",
    claims.CorruptionError: "errors over those of the baseline, averaged over perturbations",
    claims.CountKappa: "number of inputs that fail more often",
    claims.PublishedKappa: "number of inputs that a published rule declares robust",
    claims.AccuracySet: "accuracy",
    claims.AccuracyPopulation: "accuracy",
    claims.CleanAccuracy: "accuracy when clean",
    claims.AccuracyDrop: "drop in accuracy",
    claims.CountedAccuracy: "share of inputs that get their true label when clean",
    claims.ShareKappa: "share of inputs that fail at most so often",
    claims.Tail: "extrapolated failure probability",
    claims.RareFailure: "failure probability, too small to count",
    claims.Radius: "certified radius",
    claims.RadiusQuantile: "quantile of the critical radius",
    claims.QuantileDifference: "quantile of the critical radius",
    claims.RobustAtRadius: _ROBUST,
    claims.RobustPopulation: _ROBUST,
    claims.Severity: f"{_CRITICAL} of the inputs refuted at a radius",
    claims.MeanRadius: _CRITICAL,
    claims.MeanRadiusPopulation: _CRITICAL,
    claims.RadiusNotWorse: _CRITICAL,
    claims.SmoothedRadius: "certified radius of the smoothed model",
    claims.CertifiedAccuracy: "certified accuracy of the smoothed model",
    ClassesDiffer: "pairs of classes that differ",
}
_FAILURE = "failure probability"
_PROBABILITIES: dict[Height | None, str] = {
    Height.LABELS_KEPT: "probability that the label changes"
}
"""Of the other kinds of claims, by what is kept."""
_COUNTED = {
    Outcomes.CASES: "share of cases that fail",
    Outcomes.TRIALS: "share of trials that fail, averaged over cases",
}


_HEIGHTS = {"true": Height.ACCURACY, "confidence": Height.CONFIDENCE, "same": Height.LABELS_KEPT}
_JOINED = {"chain": " + ", "mixture": " or "}
_UNIT = re.compile(r"\bs (degrees|pixels|dB)\b")
"""The unit after the level, in what a perturbation says of itself."""
_UNIT_AFTER = re.compile(r"\d (degrees|pixels|dB)\b")
"""The same where the level is a number."""


def curve_quantity(property_kind: str) -> Height:
    """The height of the curve."""
    return _HEIGHTS.get(property_kind, Height.INPUTS_KEPT)


def perturbation_name(perturbation: PartSpec) -> str:
    """What the levels are of; of several perturbations, all of them."""
    parts = perturbation.options.get("parts")
    if perturbation.kind in _JOINED and parts:
        return _JOINED[perturbation.kind].join(_part_name(part) for part in parts)
    return _part_name({"kind": perturbation.kind, **perturbation.options})


def _part_name(part: dict[str, object]) -> str:
    inner = part.get("inner")
    kind = str(part["kind"]).removesuffix("-grid")  # of a smoothed model: nobody writes it
    return f"random {_part_name(inner)}" if isinstance(inner, dict) else kind


def unit_of_levels(perturbation: PartSpec, words: str) -> str:
    """The unit of its levels, if `words` say one; empty of several perturbations."""
    unit = _UNIT.search(words)
    return unit[1] if unit and perturbation_name(perturbation) == perturbation.kind else ""


def levels_name(study: StudySpec) -> str:
    """The perturbation, and the unit of its levels: rotation in degrees."""
    unit = unit_of_levels(study.perturbation, study.words.perturbation)
    return perturbation_name(study.perturbation) + (f" in {unit}" if unit else "")


def perturbation_at_level(study: StudySpec) -> str:
    """The perturbation with its level, in a few words: blur 1.3 pixels, rotation -10 to 10 degrees.

    Several together have levels of their own, which the words of the study name.
    """
    part, options = study.perturbation, study.perturbation.options
    name, level = perturbation_name(part), part.number("level")
    if part.kind == "none":
        return "no further perturbation"
    if level is None or options.get("parts"):
        return name
    inner, lowest = options.get("inner"), part.number("lowest") or 0.0
    span = level_words(level)
    if isinstance(inner, dict) and options.get("law") == "uniform":
        name, span = _part_name(inner), f"{lowest * level:g} to {span}"
    found = _UNIT_AFTER.search(study.words.perturbation)
    unit = "" if found is None else f" {found[1].rstrip('s') if span == '1' else found[1]}"
    unit = unit or str(options.get("relative_to") or "")  # table 0.2sd, as it is written
    return f"{name} {span}{unit}"


def quantity_of(
    study: StudySpec, span: Interval, *readings: Reading, is_share: bool
) -> CurveQuantity:
    """What is read off the curve of a study: the robustness of ASAP is a share of the levels.

    After a contradiction an interval holds for both kinds of shares.
    """
    assumed = [one for reading in readings for one in reading.guarantee.assumptions]
    shapes = [one for one in assumed if isinstance(one, CurveShape)]
    around = any(one.shape == "bounded-rise" and not one.contradicted for one in shapes)
    return CurveQuantity(
        curve_quantity(study.property.kind),
        perturbation_name(study.perturbation),
        unit_of_levels(study.perturbation, study.words.perturbation),
        span,
        is_share,
        around_clean=is_share and around,
    )
