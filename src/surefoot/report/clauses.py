"""Clauses and phrases that the sentences about claims share."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling
from surefoot.population.lognormal import LOG_NORMAL
from surefoot.population.requirement import (
    CASE_GROUPS_SAMPLED,
    CASES_SAMPLED,
    CASES_WITHIN,
    GROUPS_SAMPLED,
    SAMPLED,
    SAMPLED_WITHIN,
    STRATIFIED,
)
from surefoot.report.formatting import confidence, of_perturbations, percent_range


def assumption(claim: Claim) -> str:
    """The condition that the sentence needs, as a clause; empty where there is none."""
    if not claim.guarantee.assumptions:
        return ""
    return "if " + " and ".join(claim.guarantee.assumptions)


def sample_condition(claim: Claim) -> str:
    """What the claim assumes of the population, in a few words; empty where it assumes nothing.

    Of a claim about these inputs alone it is empty. The sentence has every assumption in full.
    """
    short = dict.fromkeys(filter(None, map(_in_short, claim.guarantee.assumptions)))
    return "if " + " and ".join(short) if short else ""


def repeated_assumption(claim: Claim) -> str:
    """In place of assumptions that a sentence before has in full: a few words of each."""
    short = list(map(_in_short, claim.guarantee.assumptions))
    named = " and ".join(dict.fromkeys(short))
    return f"{named}, {AS_ABOVE}" if all(short) else SAME_ASSUMPTION


def _in_short(assumption: str) -> str:
    return next((words for part, words in _SHORT.items() if part in assumption), "")


SAME_ASSUMPTION = "the same is assumed"
"""In place of assumptions that have no short form."""
AS_ABOVE = "as above"
"""After the short form of an assumption that a sentence before has in full."""


_SHORT = {
    STRATIFIED: "the inputs of each class are a random sample and classes are equally frequent",
    SAMPLED_WITHIN: "the inputs of each class are a random sample",
    GROUPS_SAMPLED.partition(" are ")[2]: "the groups are a random sample",
    SAMPLED.partition(" of ")[0]: "the inputs are a random sample",
    CASES_SAMPLED: "these cases are a random sample",
    CASES_WITHIN: "these cases of each class are a random sample",
    CASE_GROUPS_SAMPLED: "the groups are a random sample",
    LOG_NORMAL: LOG_NORMAL,
    "the noise keeps the scales": "the noise keeps these scales",
}
"""Parts of assumptions about a population, and what is said of them beside a number alone.

The first that occurs in an assumption counts."""


def confidence_clause(claim: Claim) -> str:
    """The confidence, and for which claims together it holds; empty for a proof."""
    error = claim.guarantee.error
    if error == 0:
        return ""
    jointly = f" for {claim.guarantee.jointly} together" if claim.guarantee.jointly else ""
    return f"confidence {confidence(error)}{jointly}"


def conditional_confidence(claim: Claim) -> str:
    """The confidence with what it assumes of the population, as the note of a table has it."""
    return ", ".join(filter(None, (confidence_clause(claim), sample_condition(claim))))


def continuation_note(claims: Sequence[Claim]) -> str:
    """Whether inputs may be added and the claim about the population be read again."""
    about = [c for c in claims if c.about.of is About.POPULATION and c.kind != "classes"]
    if not about:
        return ""
    if all(claim.continues is Continues.ANYTIME for claim in about):
        if about[0].about.groups:
            return (
                "May be continued: whole groups of the same population, chosen independently of "
                "the results, may be added, and the claim about the population may be read again "
                "at the same error. Further inputs of a group that is here already, another seed "
                "or another selection make another claim."
            )
        evenly = about[0].about.sampling is Sampling.STRATIFIED
        quota = ", equally many of each class," if evenly else ","
        return (
            "May be continued: inputs of the same population, chosen independently of the results"
            f"{quota} may be added, and the claim about the population may be read again at the "
            "same error. Another seed or another selection is another claim."
        )
    unit = "groups" if about[0].about.groups and not about[0].about.name else "inputs"
    return (
        f"Not to be continued: the claim about the population is for a number of {unit} fixed in "
        f"advance. With {unit} added and the claim read again, it would be wrong more often than "
        f"its confidence says; a new run, with new {unit} whose number is chosen beforehand, makes "
        "a claim of its own."
    )


def capitalised(text: str, names: tuple[str, ...] = ()) -> str:
    """With a capital first letter, unless the text begins with one of these names."""
    return text if text.startswith(names) else text[:1].upper() + text[1:]


def subject(claim: Claim) -> str:
    """The models or classes that it names, with a colon; empty where it names none."""
    return f"{', '.join(claim.names)}: " if claim.names else ""


def no_guarantee(claim: Claim) -> str:
    """Why nothing is guaranteed."""
    return "; ".join(claim.guarantee.assumptions) or "nothing is guaranteed"


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
        case About.POPULATION:
            return (scope.name or "inputs of this kind") + only(claim)


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


def over_groups(claim: Claim, after: str = "") -> str:
    """That the quantity is an average over groups, after a comma; empty where it is not.

    `after` is put behind it, as the comma that ends a clause in the middle of a sentence.
    """
    in_the_name = claim.about.of is About.POPULATION and claim.about.name
    return f", averaged over groups{after}" if claim.about.groups and not in_the_name else ""


def bracketed(claim: Claim, around: str = "") -> str:
    """Interval and confidence in brackets, after a space; empty where there is neither."""
    inside = ", ".join(part for part in (around, confidence_clause(claim)) if part)
    return f" ({inside})" if inside else ""


def with_condition(claim: Claim, text: str) -> str:
    """The assumption first, where there is one."""
    condition = assumption(claim)
    return f"{condition}, {text}" if condition else text


def limit_phrase(claim: Claim) -> str:
    """The limit on the failure probability, as a share of the perturbations."""
    return "the limit" if claim.limit is None else of_perturbations(claim.limit)


def interval_percent(claim: Claim) -> str:
    """Both ends of the interval, in percent."""
    return "" if claim.interval is None else percent_range(claim.interval)


def draws_clause(claim: Claim) -> str:
    """Which draws of the noise it is about, where these are fixed."""
    if claim.random is not Randomness.FIXED:
        return ""
    return f", for these draws of the noise (seed {claim.seed})"
