"""Whether a quantile of the critical radius is as large as required."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from surefoot.core.results import Bracket, Decision, Footing, Guarantee, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.quantile import assumptions_of, bracket_ends
from surefoot.population.requirement import Evidence
from surefoot.statistics.ranks import check_share, fewest

_MOST_INPUTS = 10**7
"""No more than this many inputs are proposed: beyond it the required radius is the quantile."""


def evidence_at(local: Sequence[Bracket], share: float, least: float) -> Evidence:
    """How surely the quantile is at least `least`, and how surely it is less: two p-values.

    Were the quantile smaller, each input would have a critical radius below `least` with
    probability `share` or more, and an input that is proved up to `least` has not: `above` is the
    binomial chance of so few others. Were it at least `least`, that probability would be at most
    `share`: `below` is the chance of so many inputs with a counterexample nearer than `least`.
    """
    lows, highs = bracket_ends(local)
    unproved, refuted = int(np.count_nonzero(lows < least)), int(np.count_nonzero(highs < least))
    return Evidence(_at_most(unproved, len(local), share), _at_least(refuted, len(local), share))


def requires(
    local: Sequence[Bracket], share: float, least: float, error: float
) -> Decision | Undecided:
    """Whether the quantile of the critical radius is at least `least`.

    One side only, and that at the whole error: it holds when the lower bound at `lower_rank` is at
    least `least`, and fails when the upper bound of the same error is less. At most one of the two
    can be wrong, whatever the truth, so the error is not halved. For a number of inputs that was
    settled beforehand.
    """
    check_share(share, error)
    _check(least)
    if not local:
        return Undecided("there are no brackets to decide a requirement with")
    evidence = evidence_at(local, share, least)
    claim = f"the {share:g}-quantile of the critical radius is at least {least:g}"
    promise = Guarantee(Footing.CONDITIONAL, error, assumptions_of(local))
    for holds, p_value in ((True, evidence.above), (False, evidence.below)):
        if p_value <= error:
            return Decision(claim, holds, promise, len(local), p_value=p_value)
    return Undecided(_way_out(local, share, least, error), len(local))


def requires_of_interval(quantile: Quantile, least: float) -> Decision | Undecided:
    """The same of a quantile that chose the number of inputs itself: by its interval alone."""
    _check(least)
    claim = f"the {quantile.share:g}-quantile of the critical radius is at least {least:g}"
    around = quantile.interval
    if around.low >= least:
        return Decision(claim, True, quantile.guarantee, quantile.inputs)
    if around.high < least:
        return Decision(claim, False, quantile.guarantee, quantile.inputs)
    return Undecided(
        f"{least:g} lies within the interval from {around.low:g} to {around.high:g}: ask for a "
        "smaller width, with more inputs, or more seconds or nodes for each",
        quantile.inputs,
    )


def _check(least: float) -> None:
    if not 0 < least < math.inf:
        raise InvalidArgument(
            f"required radius must be a finite number above 0, got {least:g}: try 8/255"
        )


def _way_out(local: Sequence[Bracket], share: float, least: float, error: float) -> str:
    """What would decide it: narrower brackets, or more inputs."""
    n, (lows, highs) = len(local), bracket_ends(local)
    unproved, refuted = int(np.count_nonzero(lows < least)), int(np.count_nonzero(highs < least))
    missing = unproved - refuted
    reason = (
        f"{n - unproved:,} of {n:,} inputs are proved up to {least:g}, {refuted:,} have a nearer "
        f"counterexample, {missing:,} are open"
    )
    if missing and min(_at_most(refuted, n, share), _at_least(unproved, n, share)) <= error:
        return f"{reason}: more seconds, or nodes, for the open ones may decide it"
    needed = _inputs_for(unproved / n, refuted / n, share, error)
    if needed is None:
        proofs = ", and more seconds or nodes for the open ones," if missing else ""
        help_ = f"a new run with more inputs{proofs}"
        return f"{reason}: {help_} may decide it, but the quantile is close to the required radius"
    return (
        f"{reason}: about {needed:,} inputs would decide it if these are typical. Draw new ones: "
        "the number of inputs must be chosen before they are evaluated"
    )


def _inputs_for(unproved: float, refuted: float, share: float, error: float) -> int | None:
    """How many inputs decide it if the shares stay as they are; None if they never would."""
    if not unproved:
        return fewest(share, error)
    if not (unproved < share or refuted > share):
        return None
    low, high = 1, 2
    while not _decides(high, unproved, refuted, share, error):
        low, high = high, 2 * high
        if high > _MOST_INPUTS:
            return None
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        if _decides(middle, unproved, refuted, share, error):
            high = middle
        else:
            low = middle
    return high


def _decides(n: int, unproved: float, refuted: float, share: float, error: float) -> bool:
    above = _at_most(math.ceil(unproved * n), n, share)
    below = _at_least(math.floor(refuted * n), n, share)
    return min(above, below) <= error


def _at_most(count: int, n: int, share: float) -> float:
    from scipy.special import bdtr

    return float(bdtr(count, n, share))


def _at_least(count: int, n: int, share: float) -> float:
    from scipy.special import bdtrc

    return 1.0 if count < 1 else float(bdtrc(count - 1, n, share))
