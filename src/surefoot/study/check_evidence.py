"""Whether an evidence file says what follows from it: the signature, the claims, the results."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from surefoot.claims import Claim
from surefoot.errors import EvidenceFailed, ReplayMismatch
from surefoot.evidence_file.differences import first_difference
from surefoot.evidence_file.envelope import Envelope, read_envelope
from surefoot.evidence_file.keys import key_id, read_public_key
from surefoot.evidence_file.statement import Evidence, read_statement
from surefoot.report.sentences import sentence
from surefoot.store.json_records import decisive_json, plain_numbers
from surefoot.store.records import InputRow, Radii, Samples
from surefoot.study.evidence_answers import Check, EvidenceCheck, Status
from surefoot.study.measurement import RecordBody
from surefoot.study.recompute import DoesNotFollow, NotRecomputed, recompute
from surefoot.study.recorded_study import draws_of

_BROKEN = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What a method raises whose options or evidence no run can have."""


def check_evidence(path: str | Path, key: str | Path | None = None) -> EvidenceCheck:
    """Check an evidence file, without model and data.

    `key`: the file of the public key that must have signed it. Its exit code is that of
    `surefoot verify`.
    """
    try:
        envelope = read_envelope(path)
        signature = _signature(envelope, key)
        if signature.status is Status.REFUTED:
            return EvidenceCheck("", signature)
        return _check(read_statement(envelope.payload), signature)
    except EvidenceFailed as error:
        named = str(error).startswith(str(path))
        raise EvidenceFailed(str(error) if named else f"{path}: {error}") from error
    except RecursionError as error:
        raise EvidenceFailed(f"{path}: it is nested too deeply to be evidence") from error


def check_statement(evidence: Evidence) -> EvidenceCheck:
    """Check what is about to be written."""
    return _check(evidence, Check(Status.OPEN, "It is not written yet."))


def _signature(envelope: Envelope, key: str | Path | None) -> Check:
    if key is not None:
        public = read_public_key(key)
        name = key_id(public)[:16]
        if envelope.is_signed_by(public):
            return Check(Status.FOLLOWS, f"The owner of the key {name} ({key}).")
        words = f"Not the owner of the key {name} ({key})"
        if not envelope.signatures:
            return Check(Status.REFUTED, f"{words}: the file has no signature.")
        return Check(
            Status.REFUTED,
            f"{words}: the file was changed after it was signed, or another key signed it.",
        )
    if not envelope.signatures:
        return Check(
            Status.OPEN,
            "Nobody: the file is unsigned. Somebody who changes it and recomputes everything "
            "consistently is not detected, except by running trials again.",
        )
    names = ", ".join(one.keyid[:16] for one in envelope.signatures)
    return Check(
        Status.OPEN,
        f"Not checked: it names the key {names}. Pass the public key of whom you trust (--key "
        "key.pub); until then it is like an unsigned file.",
    )


def _check(evidence: Evidence, signature: Check) -> EvidenceCheck:
    record = evidence.record
    stated = [claim for claim in record.claims if not _of_an_attack(claim, evidence)]
    others = [claim for claim in record.claims if _of_an_attack(claim, evidence)]
    try:
        body = recompute(record, evidence.entries)
    except NotRecomputed as error:
        claims = [Check(Status.OPEN, _words(claim), str(error)) for claim in record.claims]
        results = [Check(Status.OPEN, "the results of the inputs", str(error))]
    except (*_BROKEN, MemoryError) as error:
        words = str(error) if isinstance(error, DoesNotFollow | ReplayMismatch) else repr(error)
        claims = [Check(Status.REFUTED, _words(c), words[:300]) for c in record.claims]
        results = [Check(Status.REFUTED, "the results of the inputs", words[:300])]
    else:
        claims = _check_claims(stated, body.claims)
        reason = "it comes from an attack, a run of its own whose journal is not in this file"
        claims += [Check(Status.OPEN, _words(claim), reason) for claim in others]
        results = _check_results(evidence, body)
    intact, about, open_ = _intact(evidence), _about(evidence), _not_covered(evidence)
    return EvidenceCheck(
        record.digest, signature, intact, about, tuple(claims), tuple(results), open_
    )


def _of_an_attack(claim: Claim, evidence: Evidence) -> bool:
    return claim.kind == "robust_accuracy" and isinstance(evidence.record.details, Samples)


def _intact(evidence: Evidence) -> Check:
    """The run's name is the digest of its study, and the inputs are those of the data's digest."""
    record, study = evidence.record, evidence.study
    if hashlib.sha256(decisive_json(study).encode()).hexdigest() != record.digest:
        return Check(Status.REFUTED, "No: the name of the run is not that of this study.")
    digests = [row.digest for row in record.inputs]
    named = f"run {record.digest[:12]} is the name of its study"
    if not (digests and all(digests)):
        return Check(Status.FOLLOWS, f"Yes: {named}.")
    try:
        rows = sorted(bytes.fromhex(digest) for digest in digests)
    except ValueError:
        rows = []
    if hashlib.sha256(b"".join(rows)).hexdigest() != study.inputs.digest:
        return Check(Status.REFUTED, "No: its inputs are not those that the study names.")
    return Check(
        Status.FOLLOWS,
        f"Yes: {named}, and the digests of its {len(rows):,} inputs are those of the data.",
    )


def _about(evidence: Evidence) -> tuple[str, ...]:
    """What was studied, with the digests to compare one's own files with."""
    study, words = evidence.study, evidence.study.words
    covers = study.model.covers or "the model"
    return (
        f"Model {evidence.model}: SHA-256 {study.model.digest} ({covers}).",
        f"Data {evidence.data}: {study.inputs.number:,} inputs, digest {study.inputs.digest}.",
        f"Perturbation: {words.perturbation}. Method: {study.method}. Seed {study.seed}.",
    )


def _check_claims(stated: Sequence[Claim], computed: Sequence[Claim]) -> list[Check]:
    """Each claim against the one that the journal leads to; one that is left out is named."""
    left, checks = list(computed), []
    for claim in stated:
        own = next((one for one in left if _question(one) == _question(claim)), None)
        if own is None:
            reason = "no such claim follows from this study"
            checks.append(Check(Status.REFUTED, _words(claim), reason))
            continue
        left.remove(own)
        different = first_difference(_plain(claim), _plain(own))
        if different is None:
            checks.append(Check(Status.FOLLOWS, _words(claim)))
            continue
        instead = _words(own)
        reason = f"its {different} is another"
        if instead != _words(claim):
            reason = f"{reason}; what follows is: {instead}"
        checks.append(Check(Status.REFUTED, _words(claim), reason))
    reason = "it follows from the journal, but the file leaves it out"
    return checks + [Check(Status.REFUTED, _words(claim), reason) for claim in left]


def _words(claim: Claim) -> str:
    """The claim as a sentence; one that no run makes by its kind and quantity."""
    try:
        return sentence(claim)
    except _BROKEN:
        return f"{claim.kind}: {claim.quantity}"


def _question(claim: Claim) -> tuple[object, ...]:
    return claim.kind, claim.about.of, claim.about.name, claim.quantity, claim.limit


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
    different = first_difference(_plain(details), _plain(_without_model(body.details)))
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
        if first_difference(_plain(one), _plain(other)) is not None
    ]


def _without_model(details: Any) -> Any:  # noqa: ANN401  any details
    """The details without what only the model can say."""
    if isinstance(details, Samples):
        return replace(details, attack=None, clean_loss=None)
    return details


def _plain(value: Any) -> Any:  # noqa: ANN401  a dataclass
    return plain_numbers(asdict(value))


def _not_covered(evidence: Evidence) -> tuple[str, ...]:
    study, details = evidence.study, evidence.record.details
    random = ", whether the perturbation is random" if draws_of(study) is None else ""
    lines = [
        "Whether the trials were run as the journal says, with this model and these data: run "
        "some again where both are (surefoot replay).",
        "Taken as the file says it: labels and groups of the inputs, what the model predicts for "
        f"them when clean and whether it fails then{random}, versions and times.",
    ]
    if isinstance(details, Radii):
        lines[0] = (
            "Whether the proofs are right and the counterexamples fail: the journal has their "
            "outcome, and with the model both can be checked again."
        )
        lines.append("The points drawn within and beyond each bracket, and how the file was read.")
    if isinstance(details, Samples) and details.clean_loss:
        lines.append("The clean loss: it is no claim, and only the model gives it.")
    if any(claim.about.sampling for claim in evidence.record.claims):
        lines.append("Whether the inputs are a sample of the population: no file can show that.")
    if evidence.record.stopped_early:
        lines.append("When the time limit ended the run: the journal ends there.")
    return tuple(lines)
