"""Every claim as one sentence in plain words, made from the claim alone, with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

from surefoot.core import claims
from surefoot.core.claims import Claim, Verdict, limit_of
from surefoot.report import clauses
from surefoot.report.claim_sentences import (
    cases_fail,
    curve_of,
    height_words,
    is_right,
    levels_of,
    right_and,
    smoothed,
    statement,
    within,
)
from surefoot.report.formatting import exact_percent, of_perturbations, with_full_stop
from surefoot.report.key_figure import key_figure
from surefoot.report.reasons import reason_words
from surefoot.system.text import level_words

Compared = claims.NotWorse | claims.CurveNotWorse | claims.RadiusNotWorse
"""Kinds that compare a model with others, whose sentences name them."""
_TWO_SIDED = (
    claims.MeanSet
    | claims.SuiteMean
    | claims.AccuracySet
    | claims.CurveSet
    | claims.CurvePopulation
    | claims.CurveNotWorse
)
"""Kinds whose verdict is read off intervals that have two sides."""


def verdict_sentence(claim: Claim) -> str:
    """PASS says what was required, FAIL the opposite; UNDECIDED what is open, and why."""
    required, refuted = _both_statements(claim)
    names = _named_subject(claim)
    common = claim.common if isinstance(claim, claims.NotWorse) else None
    on_which = "" if common is None else f"compared on the {common:,} inputs that both runs have"
    if claim.verdict is Verdict.UNDECIDED:
        reason = "; ".join(filter(None, (on_which, reason_words(claim.reason))))
        return with_full_stop(f"UNDECIDED: {names}whether {required}; {reason}")
    holds = required if claim.verdict is Verdict.PASS else refuted
    condition = clauses.condition_behind(claim)
    sides = "" if isinstance(claim, _TWO_SIDED) else "one-sided, "
    confidence = clauses.confidence_clause(claim)
    certain = f" ({sides}{confidence})" if confidence else ""
    rests = f"; {on_which}" if on_which else ""
    return f"{claim.verdict}: {names}{holds}{certain}{condition}{rests}."


def required_statement(claim: Claim) -> str:
    """What was required, as a statement without its verdict."""
    return f"{_named_subject(claim)}{_both_statements(claim)[0]}"


def _named_subject(claim: Claim) -> str:
    return "" if isinstance(claim, Compared) or _has_own_numbers(claim) else clauses.subject(claim)


def _has_own_numbers(claim: Claim) -> bool:
    return claim.about.is_every_class and bool(claim.names)


def _both_statements(claim: Claim) -> tuple[str, str]:
    """What holds if the requirement is met, and what holds if it is not."""
    if not _has_own_numbers(claim):
        return _statements(claim)
    *first, last = claim.names
    if not first:
        return _statements(claim.saying(about=replace(claim.about, name=last)))
    # each of these classes has its own requirement; the table names the numbers
    among, every = clauses.among(claim), f"{clauses.class_word(claim)}es {', '.join(first)}"
    of_it = f"what is required of it{clauses.over_groups(claim)}"
    return (
        f"{among}each of the {every} and {last} meets {of_it}",
        f"{among}at least one of the {every} and {last} does not meet {of_it}",
    )


@singledispatch
def _statements(claim: Claim) -> tuple[str, str]:
    raise TypeError(f"nothing can be required of a claim of the kind {claim.kind}")


@_statements.register
def _(claim: claims.AllKappa) -> tuple[str, str]:
    inputs, limit = clauses.scope_phrase(claim), of_perturbations(claim.kappa)
    fails, fail, _ = clauses.fails(claim)
    if claim.requirement is not None and clauses.required_number(claim) < 1:
        share = exact_percent(clauses.required_number(claim))
        few = f"of {inputs} {fail} under at most {limit}"
        return f"at least {share} {few}", f"fewer than {share} {few}"
    every, some = f"every one of {inputs}", f"at least one of {inputs}"
    if claim.clean:
        right = claim.about.inputs - claim.clean
        others = f"the {right:,} of {inputs} that are right when clean"
        every, some = f"every one of {others}", f"at least one of {others}"
    elif claim.about.inputs == 1:
        every = some = "this input"
    return f"{every} {fails} under at most {limit}", f"{some} {fails} under more than {limit}"


@_statements.register
def _(claim: claims.MeanSet | claims.MeanPopulation) -> tuple[str, str]:
    most = exact_percent(clauses.required_number(clauses.in_kept(claim)))
    if claim.kept is not None:
        return _kept_statements(claim, most)
    fails = f"of the perturbations {clauses.make_fail(claim)} on"
    over = clauses.over_groups(claim)
    if clauses.counts_inputs(claim):
        over = f"{clauses.over_groups(claim, ',')} {clauses.fails(claim)[1]} when perturbed"
        fails = "of"
    return (
        f"at most {most} {fails} {clauses.scope_phrase(claim)}{over}",
        f"more than {most} {fails} {_some_scope(claim)}{over}",
    )


def _kept_statements(claim: Claim, least: str) -> tuple[str, str]:
    """The same of labels, as the share that is kept."""
    scope, some, over = clauses.scope_phrase(claim), _some_scope(claim), clauses.over_groups(claim)
    if clauses.counts_inputs(claim):
        keep = f"{clauses.over_groups(claim, ',')} keep their label when perturbed"
        return f"at least {least} of {scope}{keep}", f"fewer than {least} of {some}{keep}"
    one = scope == "this input"
    keep = f"keep{'s its' if one else ' their'} label under"
    of = f"of the perturbations{over or ', on average' * (not one)}"
    return f"{scope} {keep} at least {least} {of}", f"{some} {keep} less than {least} {of}"


@_statements.register
def _(claim: claims.SuiteMean) -> tuple[str, str]:
    least, what = exact_percent(clauses.required_number(claim)), height_words(claim.height)
    over = f"averaged over the {claim.cells:,} cells of {claim.suite}, {what} is"
    return f"{over} at least {least}", f"{over} less than {least}"


@_statements.register
def _(claim: claims.CountedAccuracy) -> tuple[str, str]:
    least, inputs = exact_percent(clauses.required_number(claim)), clauses.scope_phrase(claim)
    right = f"get their true label when clean: {claim.right:,} of {claim.about.inputs:,}, counted"
    return f"at least {least} of {inputs} {right}", f"fewer than {least} of {inputs} {right}"


@_statements.register
def _(claim: claims.ShareKappa) -> tuple[str, str]:
    least, limit = exact_percent(clauses.required_number(claim)), of_perturbations(claim.kappa)
    do = f"{clauses.over_groups(claim, ',')} {right_and(claim)}{clauses.fails(claim)[1]}"
    return (
        f"at least {least} of {clauses.scope_phrase(claim)}{do} under at most {limit}",
        f"fewer than {least} of {_some_scope(claim)}{do} under at most {limit}",
    )


@_statements.register
def _(claim: claims.AccuracySet | claims.AccuracyPopulation) -> tuple[str, str]:
    least = exact_percent(clauses.required_number(claim))
    under = f"under {claim.under}{clauses.over_groups(claim, ',')} is"
    return (
        f"accuracy on {clauses.scope_phrase(claim)} {under} at least {least}",
        f"accuracy on {_some_scope(claim)} {under} below {least}",
    )


@_statements.register
def _(claim: claims.CertifiedAccuracy) -> tuple[str, str]:
    least, model = exact_percent(clauses.required_number(claim)), smoothed(claim)
    of = f"of {clauses.scope_phrase(claim)}{clauses.over_groups(claim)}{within(claim)}"
    does, _ = is_right(claim)
    return f"{model} {does} at least {least} {of}", f"{model} {does} less than {least} {of}"


def _some_scope(claim: Claim) -> str:
    """Of which inputs it is refuted: of every class, where of one."""
    if claim.about.is_every_class:
        return f"inputs of at least one {clauses.class_word(claim)}{clauses.only(claim)}"
    return clauses.scope_phrase(claim)


@_statements.register
def _(claim: claims.CaseFailure) -> tuple[str, str]:
    most = exact_percent(clauses.required_number(claim))
    some = "such cases of at least one class" if claim.about.is_every_class else ""
    return cases_fail(claim, f"at most {most}"), cases_fail(claim, f"more than {most}", some)


@_statements.register
def _(claim: claims.RadiusQuantile) -> tuple[str, str]:
    share, number = exact_percent(claim.share or 0.0), clauses.required_number(claim)
    inputs = f"{clauses.scope_phrase(claim)}{clauses.over_groups(claim, ',')}"
    stated, norm = level_words(number), clauses.norm_word(claim)
    least = stated if "/" in stated else f"{number:.12g}"  # never rounded
    return (
        f"all but {share} of {inputs} have a critical {norm}radius of {least} or more",
        f"more than {share} of {inputs} have a critical {norm}radius below {least}",
    )


@_statements.register
def _(claim: claims.CurveSet | claims.CurvePopulation) -> tuple[str, str]:
    """The share of the levels at which the curve is at or above its threshold."""
    least, levels = exact_percent(clauses.required_number(claim)), levels_of(claim.quantity)
    above = f"{curve_of(claim)} is {exact_percent(claim.threshold)} or more at"
    return f"{above} {least} or more of the {levels}", f"{above} less than {least} of the {levels}"


@_statements.register
def _(claim: claims.CurveNotWorse) -> tuple[str, str]:
    limit, (first, second) = exact_percent(claim.threshold), claim.names
    most = f"{100 * clauses.required_number(claim):.12g} points"
    share = f"with {first} {curve_of(claim)} is {limit} or more at a share of the "
    share += levels_of(claim.quantity)
    return (
        f"{share} that is at most {most} smaller than with {second}",
        f"{share} that is more than {most} smaller than with {second}",
    )


@_statements.register
def _(claim: claims.NotWorse) -> tuple[str, str]:
    first, *others = claim.names
    number = f"{100 * clauses.required_number(claim):.12g}"
    most = f"{number} {'point' if number == '1' else 'points'}"
    head, over = clauses.among(claim), clauses.over_groups(claim)
    every = " and ".join(others) + over
    some = every if len(others) == 1 else f"one of {', '.join(others)}{over}"
    if claim.kappa is not None:
        share = f"{head}of {first} the share of inputs that {clauses.fails(claim)[1]} under at "
        share += f"most {of_perturbations(claim.kappa)} is"
        return (
            f"{share} at most {most} smaller than of {every}",
            f"{share} more than {most} smaller than of {some}",
        )
    worse, than = _WORSE.get(claim.kept, (clauses.model_fails(claim), "more often than"))
    return (
        f"{head}{first} {worse} at most {most} {than} {every}",
        f"{head}{first} {worse} over {most} {than} {some}",
    )


_WORSE: dict[claims.Height | None, tuple[str, str]] = {
    claims.Height.ACCURACY: ("is", "less accurate than"),
    claims.Height.LABELS_KEPT: ("keeps its label", "less often than"),
}


@_statements.register
def _(claim: claims.RadiusNotWorse) -> tuple[str, str]:
    first, second = claim.names
    mean = f"averaged over {clauses.scope_phrase(claim)}, the critical radius with {first} is"
    most = exact_percent(clauses.required_number(claim))
    return (
        f"{mean} at most {most} smaller than with {second}",
        f"{mean} more than {most} smaller than with {second}",
    )


_IN_FULL = claims.Tail | claims.RobustAtRadius | claims.Severity | claims.MeanRadius
"""Kinds whose sentence has its assumption as a remark in brackets, not as a condition."""
_WITHOUT_GUARANTEE = claims.Tail | claims.Kappa | claims.RareFailure | claims.PublishedKappa
"""Kinds that say something where nothing is promised."""


def sentences(claims: Sequence[Claim]) -> list[str]:
    """A sentence for each, to be read in this order: the same assumption is said once.

    A sentence refers to the last assumption that was said in full, and to no other.
    """
    lines, last = [], list[str]()
    for claim in claims:
        in_full = isinstance(claim, _IN_FULL)
        own = clauses.remarks(claim) if in_full else clauses.assumptions_of(claim)
        again = bool(own) and own == last and not in_full and not claim.is_open
        assumed = (clauses.repeated_assumption(claim),) if again else claim.guarantee.assumptions
        text = sentence(claim.saying(guarantee=replace(claim.guarantee, assumptions=assumed)))
        last = own if own and own[0] in text else last
        lines.append(text)
    return lines


def briefly(claim: Claim) -> Claim:
    """The claim with each assumption in a few words, where there are such words."""
    own = claim.guarantee
    if isinstance(claim, _IN_FULL) or claim.is_open:
        return claim
    short = dict.fromkeys(map(clauses.in_short, own.assumptions))
    return claim.saying(guarantee=replace(own, assumptions=tuple(short)))


def sentence(claim: Claim) -> str:
    """What is claimed, about what, with which confidence, and on which assumptions."""
    if claim.verdict is not None and not isinstance(claim, claims.Kappa | claims.Failure):
        return verdict_sentence(claim)
    if claim.is_open and not isinstance(claim, _WITHOUT_GUARANTEE):
        why = reason_words(claim.reason) or clauses.no_guarantee(claim)
        text = f"{clauses.subject(claim)}undecided: {why}"
    else:
        text = statement(claim)
    return clauses.capitalised(with_full_stop(text), claim.names)


_MEASURED_AS: dict[type[Claim], type[Claim]] = {
    claims.AllKappa: claims.CountKappa,
    claims.NotWorse: claims.FailureDifference,
}
"""Kinds whose number stands in a claim of another kind; that of the others in one of their own."""
_OF_EACH = (
    claims.MeanPopulation
    | claims.AccuracyPopulation
    | claims.ShareKappa
    | claims.CurveSet
    | claims.CurvePopulation
    | claims.MeanRadius
)
"""Kinds with the number of one model, where two are compared."""


def measured_words(verdict: Claim, claims: Sequence[Claim]) -> str:
    """What was measured of what is required, in a sentence; empty where no claim has a number."""
    figures = [key_figure(claim) for claim in measured_claims(verdict, claims)]
    lines = [figure.line for figure in figures if figure.number != "undecided"]
    return f"Measured: {'; '.join(lines)}." if lines else ""


def measured_claims(verdict: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """The claims about the same inputs whose number decides, or what there is of each model."""
    kind, limit = _MEASURED_AS.get(type(verdict), type(verdict)), limit_of(verdict)
    same = [c for c in claims if isinstance(c, kind) and limit_of(c) == limit]
    about = verdict.about
    if isinstance(verdict, Compared):
        pairs = [c for c in same if c.names[:1] == verdict.names[:1]]
        single = [(name,) for name in verdict.names]
        own = [c for c in claims if c.names in single and isinstance(c, _OF_EACH)]
        same_scope = [c for c in own if (c.about.of, c.about.name) == (about.of, about.name)]
        return pairs or [c for c in same_scope if limit_of(c) == limit]
    return [
        c
        for c in same
        if (c.about.of, c.about.name, c.names) == (about.of, about.name, verdict.names)
    ][:1]
