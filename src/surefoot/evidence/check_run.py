"""Whether the claims and the results of one study follow from its journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.core.claims import Claim
from surefoot.errors import ReplayMismatch
from surefoot.evidence.answers import Check, Status, of_part
from surefoot.evidence.compare_claims import BROKEN, claim_words, compare_claims, plain
from surefoot.evidence.differences import first_difference
from surefoot.evidence.recompute import DoesNotFollow, NotRecomputed, recompute
from surefoot.evidence.statement import Evidence
from surefoot.records.record import AttackSummary, InputRow, Record, RecordBody, Samples

_SHARED = ("model", "inputs", "bounds", "perturbation", "property", "seed")
"""What an attack beside a study has in common with it."""


def check_run(evidence: Evidence) -> tuple[list[Check], list[Check]]:
    """The checks of the claims and of the results of one study."""
    record = evidence.record
    stated, others = _split_claims(record)
    try:
        body = recompute(record, evidence.entries)
    except NotRecomputed as error:
        claims = [Check(Status.OPEN, claim_words(claim), str(error)) for claim in record.claims]
        return claims, [Check(Status.OPEN, "the results of the inputs", str(error))]
    except (*BROKEN, MemoryError) as error:
        words = str(error) if isinstance(error, DoesNotFollow | ReplayMismatch) else repr(error)
        claims = [Check(Status.REFUTED, claim_words(c), words[:300]) for c in record.claims]
        return claims, [Check(Status.REFUTED, "the results of the inputs", words[:300])]
    claims = compare_claims(stated, body.claims)
    results = _check_results(evidence, body)
    beside = _check_attack(evidence, others)
    return claims + beside[0], results + beside[1]


def _split_claims(record: Record) -> tuple[list[Claim], list[Claim]]:
    """The claims of the study itself, and those of an attack beside it."""
    if not isinstance(record.details, Samples):
        return list(record.claims), []
    attacked = [claim for claim in record.claims if claim.kind == "robust_accuracy"]
    return [claim for claim in record.claims if claim.kind != "robust_accuracy"], attacked


def _check_attack(evidence: Evidence, claims: Sequence[Claim]) -> tuple[list[Check], list[Check]]:
    """The claims of an attack beside a study, from the journal of the attack."""
    details: Any = evidence.record.details
    summary: AttackSummary | None = getattr(details, "attack", None)
    attack = evidence.attack
    if attack is None:
        reason = "it comes from an attack, a run of its own whose journal is not in this file"
        return [Check(Status.OPEN, claim_words(claim), reason) for claim in claims], []
    wrong = _other_attack(evidence, attack, summary)
    if wrong:
        refuted = [Check(Status.REFUTED, claim_words(claim), wrong) for claim in claims]
        return refuted, [Check(Status.REFUTED, "the attack beside it", wrong)]
    own, results = check_run(attack)
    checks = compare_claims(claims, attack.record.claims)
    bad = next((one for one in own if one.status is not Status.FOLLOWS), None)
    if bad is not None:
        checks = [
            Check(bad.status, one.subject, bad.reason) if one.status is Status.FOLLOWS else one
            for one in checks
        ]
    different = first_difference(plain(summary), plain(_with_run(attack.record)))
    if different is not None:
        results.append(Check(Status.REFUTED, f"the summary: {different}"))
    return checks, [of_part("the attack", one) for one in results]


def _with_run(record: Record) -> Any:  # noqa: ANN401  the details of an attack, if it is one
    own = record.details
    return replace(own, run=record.digest) if isinstance(own, AttackSummary) else own


def _other_attack(evidence: Evidence, attack: Evidence, summary: AttackSummary | None) -> str:
    """Why this is not the attack beside the study; empty where it is."""
    if summary is None or summary.run != attack.record.digest:
        return "the study names another attack"
    if not isinstance(attack.record.details, AttackSummary):
        return "the run beside it is no attack"
    mine, theirs = evidence.study, attack.study
    other = next((n for n in _SHARED if getattr(mine, n) != getattr(theirs, n)), "")
    return f"the attack has another {other}" if other else ""


def _check_results(evidence: Evidence, body: RecordBody) -> list[Check]:
    record, checks = evidence.record, []
    rows = sum(map(len, evidence.entries.values()))
    journal = f"{rows:,} rows of the journal and {body.trials:,} trials"
    wrong = _wrong_rows(record.inputs, body.inputs)
    if wrong:
        more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        checks.append(Check(Status.REFUTED, f"the result of input {wrong[0]}{more}"))
    elif record.inputs:
        checks.append(
            Check(
                Status.FOLLOWS, f"the results of all {len(record.inputs):,} inputs, from {journal}"
            )
        )
    else:
        checks.append(Check(Status.FOLLOWS, f"the curve, from {journal}"))
    details = _without_model(record.details)
    different = first_difference(plain(details), plain(_without_model(body.details)))
    if record.trials != body.trials:
        different = "trials"
    if different is not None:
        checks.append(Check(Status.REFUTED, f"the summary: {different}"))
    return checks


def _wrong_rows(stated: Sequence[InputRow], computed: Sequence[InputRow]) -> list[str]:
    if len(stated) != len(computed):
        return [f"(the file has {len(stated):,} of {len(computed):,})"]
    return [
        one.id
        for one, other in zip(stated, computed, strict=True)
        if one != other and first_difference(plain(one), plain(other)) is not None
    ]


def _without_model(details: Any) -> Any:  # noqa: ANN401  any details
    """The details without what only the model can say."""
    if isinstance(details, Samples):
        return replace(details, attack=None, clean_loss=None)
    return details
