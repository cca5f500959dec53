"""What is said of one input, by itself."""

from __future__ import annotations

from surefoot.claims import About, Claim, Continues, Randomness, Scope, Verdict
from surefoot.results import Bracket, Decision, Estimate, Extrapolation, Guarantee
from surefoot.store.records import InputRow
from surefoot.study.sample_claims import FAILURE, NO_GUARANTEE, flipped


def claim_about(
    row: InputRow,
    random: Randomness,
    kappa: float | None = None,
    continues: Continues = Continues.ONCE,
) -> Claim:
    """The claim that the row's result allows; `kappa` is the limit of a study that has one."""
    scope, result = Scope(About.INPUT, 1, row.id), row.result
    if isinstance(result, Bracket):
        return _about_radius(scope, result)
    if isinstance(result, Extrapolation):
        return Claim(
            "tail", scope, random, "extrapolated failure probability", result.guarantee,
            Continues.ONCE, result.failure, trials=result.trials,
        )  # fmt: skip
    known = result if isinstance(result, Estimate) else result.counted
    promise: Guarantee = NO_GUARANTEE if known is None else known.guarantee
    verdict, reason = None, ""
    if isinstance(result, Decision):
        verdict, promise = Verdict.PASS if result.holds else Verdict.FAIL, result.guarantee
    elif not isinstance(result, Estimate):
        verdict, reason = Verdict.UNDECIDED, result.reason
    return Claim(
        "failure" if kappa is None else "kappa",
        scope,
        random,
        FAILURE,
        promise,
        continues,
        None if known is None else 1 - known.value,
        None if known is None else flipped(known.interval),
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
