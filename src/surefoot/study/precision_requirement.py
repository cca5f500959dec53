"""A requirement on a mean that was asked for to a precision."""

from __future__ import annotations

from dataclasses import replace

from surefoot.claims import About, Claim, Verdict
from surefoot.errors import InvalidArgument
from surefoot.report.formatting import percent_range
from surefoot.results import UNIT
from surefoot.store.records import Record


def of_precision(record: Record, least: float) -> Claim:
    """Of the mean that was asked for, by its interval, which holds whenever trials stopped."""
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a required share lies between 0 and 1, got {least:g}: write 0.95 for 95 %"
        )
    claim, most = record.claims[0], 1 - least
    around = claim.interval or UNIT
    claim = replace(claim, requirement=most, reason="", value=None)
    if around.high <= most:
        return replace(claim, verdict=Verdict.PASS)
    if around.low > most:
        return replace(claim, verdict=Verdict.FAIL)
    late = bool(record.claims[0].reason)
    way_out = "more time" if late else "a smaller precision (--precision)"
    reason = f"{percent_range(around)} fail: {way_out} may decide it"
    if claim.about.of is About.POPULATION:
        reason = f"{percent_range(around)} fail: more inputs may decide it"
    return replace(claim, verdict=Verdict.UNDECIDED, reason=reason)
