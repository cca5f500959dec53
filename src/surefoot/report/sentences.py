"""Every claim as one sentence in plain words, made from the claim alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.claims import Claim
from surefoot.core.results import Footing
from surefoot.report.claim_sentences import SENTENCES
from surefoot.report.clauses import capitalised, no_guarantee, repeated_assumption, subject
from surefoot.report.formatting import with_full_stop
from surefoot.report.verdict_sentences import verdict_sentence

_IN_FULL = ("tail", "robust_accuracy", "severity", "mean_radius")
"""Kinds whose sentence has its assumption as a remark in brackets, not as a condition."""


def sentences(claims: Sequence[Claim]) -> list[str]:
    """A sentence for each, to be read in this order: the same assumption is said once.

    A sentence refers to the last assumption that was said in full, and to no other.
    """
    lines, last = [], tuple[str, ...]()
    for claim in claims:
        own = claim.guarantee.assumptions
        undecided = claim.guarantee.footing is Footing.NONE  # what it says then is a reason
        again = bool(own) and own == last and claim.kind not in _IN_FULL and not undecided
        text = sentence(_with_same_assumption(claim) if again else claim)
        last = own if own and own[0] in text else last
        lines.append(text)
    return lines


def _with_same_assumption(claim: Claim) -> Claim:
    guarantee = replace(claim.guarantee, assumptions=(repeated_assumption(claim),))
    return replace(claim, guarantee=guarantee)


def sentence(claim: Claim) -> str:
    """What is claimed, about what, with which confidence, and on which assumptions."""
    if claim.verdict is not None and claim.kind not in ("kappa", "failure"):
        return verdict_sentence(claim)
    if claim.guarantee.footing is Footing.NONE and claim.kind not in ("tail", "kappa"):
        text = f"{subject(claim)}undecided: {claim.reason or no_guarantee(claim)}"
    else:
        text = SENTENCES[claim.kind](claim)
    return capitalised(with_full_stop(text), claim.names)
