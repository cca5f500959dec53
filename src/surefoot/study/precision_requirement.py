"""A requirement on a mean that was asked for to a precision."""

from __future__ import annotations

from dataclasses import replace

from surefoot.claims import About, Claim, Randomness, Verdict
from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.population.requirement import enough, more_inputs
from surefoot.report.formatting import percent_range
from surefoot.results import UNIT
from surefoot.statistics.bounds import clopper_pearson
from surefoot.store.records import Record
from surefoot.study.option_values import complement


def of_precision(record: Record, least: float) -> Claim:
    """Of the mean that was asked for, by its interval, which holds whenever trials stopped."""
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a required share lies between 0 and 1, got {least:g}: write 0.95 for 95 %"
        )
    claim, most = record.claims[0], complement(least)
    around = claim.interval or UNIT
    claim = replace(claim, requirement=most, reason="", value=None)
    if around.high <= most:
        return replace(claim, verdict=Verdict.PASS)
    if around.low > most:
        return replace(claim, verdict=Verdict.FAIL)
    late = bool(record.claims[0].reason)
    way_out = "more time" if late else "a smaller precision (--precision)"
    reason = f"{percent_range(around)} fail: {way_out} may decide it"
    if most == 0 and claim.random is not Randomness.NOTHING:
        reason = (
            f"{percent_range(around)} fail, and no number of trials shows that nothing fails: "
            "require less, or prove it (surefoot critical)"
        )
    elif claim.about.of is About.POPULATION:
        reason = f"{percent_range(around)} fail: {_new_run(record, most)}"
    return replace(claim, verdict=Verdict.UNDECIDED, reason=reason)


def _new_run(record: Record, most: float) -> str:
    """What may decide a requirement on the population that this run leaves open.

    A forecast: one trial of each input, and failures as often as here.
    """
    claim, inputs = record.claims[0], len(record.inputs)
    error, failure = claim.guarantee.error, claim.value or 0.0

    def decided(size: int) -> bool:
        around = clopper_pearson(Counts(size, round(failure * size)), error)
        return around.high <= most or around.low > most

    if decided(inputs):
        return "a new run with a smaller precision (--precision) and another seed may decide it"
    return more_inputs(inputs, enough(decided, inputs), claim.continues)
