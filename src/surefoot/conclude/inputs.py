"""What is said of one input, by itself."""

from __future__ import annotations

from dataclasses import replace

from surefoot.conclude.sampling import FAILURE, NO_GUARANTEE, decisions_continue, failure_interval
from surefoot.core.claims import About, Claim, Continues, Randomness, Scope, Verdict
from surefoot.core.results import Bracket, Decision, Estimate, Extrapolation, Guarantee
from surefoot.records.record import InputRow


def claim_about(
    row: InputRow, random: Randomness, method: str, kappa: float | None = None
) -> Claim:
    """What its result allows; `method` is its kind, `kappa` its limit where it has one."""
    scope, result = Scope(About.INPUT, 1, row.id), row.result
    if isinstance(result, Bracket):
        return _about_radius(scope, result)
    if isinstance(result, Extrapolation):
        counted = result.counted
        return Claim(
            "tail",
            scope,
            random,
            "extrapolated failure probability",
            replace(result.guarantee, error=counted.guarantee.error),  # of the interval alone
            Continues.ONCE,
            result.failure,
            failure_interval(counted.interval),
            trials=result.trials,
        )
    known = result if isinstance(result, Estimate) else result.counted
    guarantee: Guarantee = NO_GUARANTEE if known is None else known.guarantee
    verdict, reason = None, ""
    if isinstance(result, Decision):
        verdict, guarantee = Verdict.PASS if result.holds else Verdict.FAIL, result.guarantee
    elif not isinstance(result, Estimate) and not result.trials and kappa is None:
        reason = result.reason
    elif not isinstance(result, Estimate):
        verdict, reason = Verdict.UNDECIDED, result.reason
    return Claim(
        "failure" if kappa is None else "kappa",
        scope,
        random,
        FAILURE,
        guarantee,
        decisions_continue(method),
        None if known is None else 1 - known.value,
        None if known is None else failure_interval(known.interval),
        kappa,
        None,
        verdict,
        (),
        reason,
        result.trials,
    )


def _about_radius(scope: Scope, bracket: Bracket) -> Claim:
    return Claim(
        "radius", scope, Randomness.NOTHING, "certified radius", bracket.guarantee,
        Continues.ANYTIME, bracket.low, bracket.interval, reason=bracket.reason,
        trials=bracket.trials,
    )  # fmt: skip
