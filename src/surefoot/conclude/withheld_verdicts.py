"""No verdict on a population that the inputs are plainly no random sample of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from surefoot.core.claims import About, Claim, Verdict
from surefoot.engine.preflight import SELECTION
from surefoot.records.record import Record


def without_doubtful(claims: Iterable[Claim], records: Iterable[Record]) -> tuple[Claim, ...]:
    """The same verdicts; those on the population undecided where a selection is doubted.

    A verdict that assumes nothing, as that a file is not worse than itself, stays.
    """
    every = (finding for one in records for finding in one.findings)
    doubt = next((f.finding for f in every if f.name == SELECTION and f.is_warning), "")
    return tuple(_undecided(claim, doubt) if doubt else claim for claim in claims)


def _undecided(claim: Claim, doubt: str) -> Claim:
    shown = claim.verdict is not Verdict.UNDECIDED and not claim.guarantee.assumptions
    if claim.about.of is not About.POPULATION or shown:
        return claim
    return replace(claim, verdict=Verdict.UNDECIDED, reason=doubt)
