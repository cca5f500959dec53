"""A requirement on a mean that was asked for to a precision."""

from __future__ import annotations

import math
from dataclasses import replace

from surefoot.catalogue.option_values import complement
from surefoot.core.claims import About, Claim, Verdict
from surefoot.core.counts import Counts
from surefoot.core.results import UNIT, Estimate
from surefoot.errors import InvalidArgument
from surefoot.population.requirement import enough, more_inputs
from surefoot.records.record import InputRow, Record
from surefoot.report.formatting import percent_range
from surefoot.statistics.bounds import clopper_pearson

_MOST_TRIALS = 10**10
"""Beyond this a requirement is out of reach: a day of a hundred thousand trials a second."""


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
    needed, late = _least_trials(record, most), bool(record.claims[0].reason)
    if out_of_reach(record, least):
        number = "no number of trials shows" if math.isinf(needed) else _takes(needed)
        little = "nothing fails" if most == 0 else "so little fails"
        reason = f", and {number} that {little}: require less, or prove it (surefoot critical)"
    elif claim.about.of is About.POPULATION:
        reason = f": {_new_run(record, most)}"
    else:
        way_out = "more time" if late else "a smaller precision (--precision)"
        more = f"; {_takes(needed)} it" if needed > record.trials else ""
        reason = f": {way_out} may decide it{more}"
    words = f"{percent_range(around)} fail{reason}"
    return replace(claim, verdict=Verdict.UNDECIDED, reason=words)


def out_of_reach(record: Record, least: float) -> bool:
    """Whether nothing but a proof may decide the requirement."""
    return _least_trials(record, complement(least)) > _MOST_TRIALS


def _least_trials(record: Record, most: float) -> float:
    """Trials without which no method can show that at most `most` fail, at the error of the run.

    Were a little more than that to fail, of every input, then fewer trials would all be kept too
    often. 0 where trials failed already more often than that: a FAIL may take few more.
    """
    claim, failed = record.claims[0], any(map(_has_failed, record.inputs))
    error = claim.guarantee.error
    if error == 0 or (failed and (claim.value or 0.0) > most):
        return 0.0
    return math.inf if most == 0 else math.ceil(math.log(error) / math.log1p(-most))


def _has_failed(row: InputRow) -> bool:
    return isinstance(row.result, Estimate) and row.result.value < 1


def _takes(trials: float) -> str:
    """To two digits, downwards: no more is known than that fewer are not enough."""
    unit = 10 ** max(0, math.floor(math.log10(trials)) - 1)
    return f"at least {trials // unit * unit:,.0f} trials are needed to show"


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
