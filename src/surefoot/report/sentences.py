"""Every claim as one sentence in plain words, made from the claim alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.claims import (
    AllKappa,
    Claim,
    CountKappa,
    CurvePopulation,
    CurveSet,
    Failure,
    FailureDifference,
    Kappa,
    MeanPopulation,
    MeanRadius,
    NotWorse,
    RobustAtRadius,
    Severity,
    ShareKappa,
    Tail,
    limit_of,
)
from surefoot.report.claim_sentences import statement
from surefoot.report.clauses import (
    assumptions_of,
    capitalised,
    no_guarantee,
    remarks,
    repeated_assumption,
    subject,
)
from surefoot.report.formatting import with_full_stop
from surefoot.report.key_figure import key_figure
from surefoot.report.verdict_sentences import Compared, verdict_sentence

_IN_FULL = Tail | RobustAtRadius | Severity | MeanRadius
"""Kinds whose sentence has its assumption as a remark in brackets, not as a condition."""


def sentences(claims: Sequence[Claim]) -> list[str]:
    """A sentence for each, to be read in this order: the same assumption is said once.

    A sentence refers to the last assumption that was said in full, and to no other.
    """
    lines, last = [], list[str]()
    for claim in claims:
        in_full = isinstance(claim, _IN_FULL)
        own = remarks(claim) if in_full else assumptions_of(claim)
        again = bool(own) and own == last and not in_full and not claim.is_open
        text = sentence(_with_same_assumption(claim) if again else claim)
        last = own if own and own[0] in text else last
        lines.append(text)
    return lines


def _with_same_assumption(claim: Claim) -> Claim:
    guarantee = replace(claim.guarantee, assumptions=(repeated_assumption(claim),))
    return claim.saying(guarantee=guarantee)


def sentence(claim: Claim) -> str:
    """What is claimed, about what, with which confidence, and on which assumptions."""
    if claim.verdict is not None and not isinstance(claim, Kappa | Failure):
        return verdict_sentence(claim)
    if claim.is_open and not isinstance(claim, Tail | Kappa):
        text = f"{subject(claim)}undecided: {claim.reason or no_guarantee(claim)}"
    else:
        text = statement(claim)
    return capitalised(with_full_stop(text), claim.names)


_MEASURED_AS: dict[type[Claim], type[Claim]] = {AllKappa: CountKappa, NotWorse: FailureDifference}
"""Kinds whose number stands in a claim of another kind; that of the others in one of their own."""
_OF_EACH = MeanPopulation | ShareKappa | CurveSet | CurvePopulation | MeanRadius
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
