"""Whether the mean critical radius of these inputs is at most so much smaller than before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from surefoot.core.claims import About, Claim, Continues, Randomness, Scope, Verdict
from surefoot.core.results import Bracket, Footing, Guarantee, Interval
from surefoot.records.population import is_same_model
from surefoot.records.record import Record
from surefoot.report.formatting import radius_range


def radius_not_worse(parts: Mapping[str, Record], margin: float) -> Claim:
    """The verdict on the mean radius of the same inputs: from proofs, so without error.

    Passed where the mean certified radius is at least (1 - `margin`) times the mean distance of
    the earlier model's counterexamples, refuted where the opposite is proved. An input that fails
    when it is clean has the radius 0.
    """
    record, earlier = parts.values()
    mine, theirs = (_brackets(one) for one in (record, earlier))
    rests_on = dict.fromkeys(a for b in (*mine, *theirs) for a in b.guarantee.assumptions)
    blank = Claim(
        "radius_not_worse",
        Scope(About.THESE, len(mine)),
        Randomness.NOTHING,
        "mean critical radius",
        Guarantee(Footing.CONDITIONAL if rests_on else Footing.SOUND, 0.0, tuple(rests_on)),
        Continues.ANYTIME,
        requirement=margin,
        names=tuple(parts),
        trials=record.trials + earlier.trials,
    )
    if is_same_model(record, earlier):
        same = Guarantee(Footing.SOUND, 0.0)
        return replace(blank, verdict=Verdict.PASS, guarantee=same)
    if any(b.contradicted for b in (*mine, *theirs)):
        reason = "a point failed within a radius that was proved"
        return replace(blank, verdict=Verdict.UNDECIDED, reason=reason)
    new, old = _mean(mine), _mean(theirs)
    if new.low >= (1 - margin) * old.high:
        return replace(blank, verdict=Verdict.PASS)
    if new.high < (1 - margin) * old.low:
        return replace(blank, verdict=Verdict.FAIL)
    first, second = blank.names
    reason = (
        f"it is {radius_range(new)} with {first} and {radius_range(old)} with {second}: narrower "
        "brackets (--tolerance, more seconds or nodes for each input) or a larger margin may "
        "decide it"
    )
    return replace(blank, verdict=Verdict.UNDECIDED, reason=reason)


def _brackets(record: Record) -> list[Bracket]:
    return [row.result for row in record.inputs if isinstance(row.result, Bracket)]


def _mean(brackets: list[Bracket]) -> Interval:
    """Between the mean of what is proved and that of the counterexamples."""
    return Interval(
        float(np.mean([b.low for b in brackets])), float(np.mean([b.high for b in brackets]))
    )
