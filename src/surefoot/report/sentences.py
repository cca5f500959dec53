"""Every claim as one sentence in plain words, made from the claim alone."""

from __future__ import annotations

from surefoot.claims import Claim
from surefoot.report.claim_parts import capital, no_guarantee, subject
from surefoot.report.claim_sentences import SENTENCES
from surefoot.report.formatting import ended
from surefoot.report.verdict_sentences import verdict_sentence
from surefoot.results import Footing


def sentence(claim: Claim) -> str:
    """What is claimed, about what, how sure, and on which assumptions."""
    if claim.verdict is not None and claim.kind not in ("kappa", "failure"):
        return verdict_sentence(claim)
    if claim.guarantee.footing is Footing.NONE and claim.kind not in ("tail", "kappa"):
        said = f"{subject(claim)}undecided: {claim.reason or no_guarantee(claim)}"
    else:
        said = SENTENCES[claim.kind](claim)
    return capital(ended(said), claim.names)
