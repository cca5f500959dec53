"""A model that may change while it is studied: what claims assume of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from surefoot.core.claims import MODEL_UNCHANGED, Claim
from surefoot.core.results import Footing
from surefoot.records.record import Record


def as_in_records(claims: tuple[Claim, ...], records: Iterable[Record]) -> tuple[Claim, ...]:
    """Claims that follow from these records, with what those take for granted about a model."""
    known = {a for r in records for claim in r.claims for a in claim.guarantee.assumptions}
    return assuming(claims, MODEL_UNCHANGED if MODEL_UNCHANGED in known else "")


def assuming(claims: tuple[Claim, ...], text: str) -> tuple[Claim, ...]:
    """The claims, if this holds too; nothing is added where it is empty."""
    return tuple(_conditional(claim, text) for claim in claims) if text else claims


def _conditional(claim: Claim, text: str) -> Claim:
    """The claim, if the text holds too; one that promises nothing stays as it is."""
    own = claim.guarantee
    promises = own.footing is not Footing.NONE or claim.kind == "tail"
    if not promises or text in own.assumptions:
        return claim
    footing = Footing.CONDITIONAL if own.footing is Footing.SOUND else own.footing
    changed = replace(own, footing=footing, assumptions=(*own.assumptions, text))
    return replace(claim, guarantee=changed)
