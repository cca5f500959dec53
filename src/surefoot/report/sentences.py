"""Every claim as one sentence in plain words, made from the claim alone."""

from __future__ import annotations

from surefoot.claims import Claim
from surefoot.report.claim_sentences import SENTENCES
from surefoot.report.clauses import capitalised, no_guarantee, subject
from surefoot.report.formatting import with_full_stop
from surefoot.report.verdict_sentences import verdict_sentence
from surefoot.results import Footing


def sentence(claim: Claim) -> str:
    """What is claimed, about what, with which confidence, and on which assumptions."""
    if claim.verdict is not None and claim.kind not in ("kappa", "failure"):
        return verdict_sentence(claim)
    if claim.guarantee.footing is Footing.NONE and claim.kind not in ("tail", "kappa"):
        text = f"{subject(claim)}undecided: {claim.reason or no_guarantee(claim)}"
    else:
        text = SENTENCES[claim.kind](claim)
    return capitalised(with_full_stop(text), claim.names)
