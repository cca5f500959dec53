"""What may be required of decisions: every one of these inputs, or a share of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.sampling import FAILURE, verdict_of
from surefoot.core.claims import Claim
from surefoot.core.results import Footing, Guarantee
from surefoot.errors import InvalidArgument
from surefoot.population import robust_of_these
from surefoot.records.record import Record

EVERY = "all"
"""What is required of every one of these inputs, as Python and the command line write it."""


def share_of_all(word: str, of_these: float | None) -> float:
    """1 for "all"; refuses another word, and a share of these inputs beside it."""
    if word != EVERY:
        raise InvalidArgument(
            f"a requirement is a number such as 0.95, or {EVERY!r}, got {word!r}: write one of them"
        )
    if of_these is not None:
        raise InvalidArgument(f"{EVERY!r} is all of these inputs: leave out of_these")
    return 1.0


def of_these(record: Record, local: Sequence[Any], least: float, error: float) -> Claim:
    """Whether such a share of exactly these inputs fails at most so often."""
    counted = record.claims[0]
    if counted.kind != "count_kappa":
        raise InvalidArgument(
            "every input, or a share of these inputs, is required of decisions: use certify or "
            "KappaTest; or require a mean, such as 0.95"
        )
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a share of these inputs lies between 0 and 1, got {least:g}: write 0.95 for 95 %"
        )
    verdict, reason = verdict_of(robust_of_these(local, least, error))
    return replace(
        counted,
        kind="all_kappa",
        quantity=FAILURE,
        guarantee=Guarantee(Footing.SOUND, error),
        value=None,
        interval=None,
        requirement=least,
        verdict=verdict,
        reason=reason,
    )
