"""How often at most any statement of a document is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.core.claims import Claim
from surefoot.core.results import Footing
from surefoot.report.export.run import ExportedRun


def total_error(run: ExportedRun) -> float:
    """The sum of the errors of all claims and verdicts; those that hold together count once.

    A union bound. An undecided verdict counts with the error at which it could have been decided;
    what has no guarantee, such as an extrapolation, promises nothing and costs nothing.
    """
    shared = run.record.shared_error
    claims = _sum(run.record.claims) if shared is None else shared
    return min(1.0, claims + _sum(run.verdicts))


def _sum(claims: Iterable[Claim]) -> float:
    """Of the same kind, about the same studies, where the words that they share are the same."""
    errors: dict[object, float] = {}
    for place, claim in enumerate(claims):
        together = claim.guarantee.jointly
        about = (together, claim.kind, claim.names) if together else place
        errors[about] = max(errors.get(about, 0.0), _error(claim))
    return sum(errors.values())


def _error(claim: Claim) -> float:
    promises = claim.guarantee.footing is not Footing.NONE or claim.interval is not None
    return claim.guarantee.error if promises else 0.0
