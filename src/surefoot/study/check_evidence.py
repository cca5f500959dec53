"""Whether an evidence file says what follows from it: the signature, the claims, the results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from surefoot.claims import Claim
from surefoot.errors import ReplayMismatch
from surefoot.evidence_file.differences import first_difference
from surefoot.evidence_file.envelope import Envelope, read_envelope
from surefoot.evidence_file.keys import key_id, read_public_key
from surefoot.evidence_file.statement import Evidence, read_statement
from surefoot.report.sentences import sentence
from surefoot.store.json_records import decisive_json, plain_numbers
from surefoot.store.records import InputRow, Samples
from surefoot.study.measurement import RecordBody
from surefoot.study.recompute import DoesNotFollow, NotRecomputed, recompute

_BROKEN = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What a method raises whose options or evidence no run can have."""


class Status(StrEnum):
    """What a check came to."""

    FOLLOWS = "follows"
    REFUTED = "does not follow"
    OPEN = "not recomputed"


@dataclass(frozen=True)
class Check:
    """One thing that was checked, in words; `reason` says why it does not follow."""

    status: Status
    subject: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status}: {self.subject}" + (f" [{self.reason}]" if self.reason else "")


@dataclass(frozen=True)
class EvidenceCheck:
    """What a second party knows of an evidence file, in the order in which a sceptic asks.

    `claims` has one check for each claim; `results` are those of the inputs and the summaries.
    """

    run: str
    signature: Check
    intact: Check | None = None
    claims: tuple[Check, ...] = ()
    results: tuple[Check, ...] = ()
    not_covered: tuple[str, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """Everything that was checked."""
        intact = () if self.intact is None else (self.intact,)
        return (self.signature, *intact, *self.claims, *self.results)

    @property
    def exit_code(self) -> int:
        """0: all follows; 1: something does not, or the signature is wrong; 2: something is open.

        That nobody checked who signed is said and does not count.
        """
        if any(check.status is Status.REFUTED for check in self.checks):
            return 1
        return 2 if any(c.status is Status.OPEN for c in (*self.claims, *self.results)) else 0

    @property
    def conclusion(self) -> str:
        """The whole in one sentence."""
        if self.signature.status is Status.REFUTED:
            return "Refuted: the file is not what was signed; nothing else of it was checked."
        if self.exit_code == 1:
            bad = sum(check.status is Status.REFUTED for check in self.claims)
            what = f"{bad} of {len(self.claims)} claims" if bad else "a part of the file"
            return f"Refuted: {what} cannot have come from this study and this journal."
        followed = sum(check.status is Status.FOLLOWS for check in self.claims)
        if self.exit_code == 2:
            return f"Undecided: {followed} of {len(self.claims)} claims were recomputed."
        claims = "the claim follows" if followed == 1 else f"all {followed} claims follow"
        return f"{claims[:1].upper()}{claims[1:]} from the journal in this file."

    def __str__(self) -> str:
        """The answers of a sceptic's questions, one after the other."""
        parts: list[tuple[str, Iterable[object]]] = [("Who signed it?", [self.signature.subject])]
        if self.intact is not None:
            reason = f" {self.intact.reason}" if self.intact.reason else ""
            parts.append(("Is it intact?", [self.intact.subject + reason]))
        parts.append(("Do the claims follow from the journal?", self.claims))
        parts.append(("And the results behind them?", self.results))
        parts.append(("What is not covered?", self.not_covered))
        lines = [f"{title}\n" + "\n".join(f"  {line}" for line in body)
                 for title, body in parts if body]  # fmt: skip
        return "\n".join([*lines, self.conclusion])

    def to_json(self) -> str:
        """The same for machines."""
        return json.dumps(
            {**asdict(self), "conclusion": self.conclusion, "exit_code": self.exit_code},
            ensure_ascii=False,
        )


def check_evidence(path: str | Path, key: str | Path | None = None) -> EvidenceCheck:
    """Check an evidence file, without model and data.

    `key`: the file of the public key that must have signed it. Its exit code is that of
    `surefoot verify`.
    """
    envelope = read_envelope(path)
    signature = _signature(envelope, key)
    if signature.status is Status.REFUTED:
        return EvidenceCheck("", signature)
    return _check(read_statement(envelope.payload), signature)


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
        claims = [Check(Status.OPEN, sentence(claim), str(error)) for claim in record.claims]
        results = [Check(Status.OPEN, "the results of the inputs", str(error))]
    except (*_BROKEN, MemoryError) as error:
        words = str(error) if isinstance(error, DoesNotFollow | ReplayMismatch) else repr(error)
        claims = [Check(Status.REFUTED, sentence(c), words[:300]) for c in record.claims]
        results = [Check(Status.REFUTED, "the results of the inputs", words[:300])]
    else:
        claims = _check_claims(stated, body.claims)
        reason = "it comes from an attack, a run of its own whose journal is not in this file"
        claims += [Check(Status.OPEN, sentence(claim), reason) for claim in others]
        results = _check_results(evidence, body)
    return EvidenceCheck(
        record.digest, signature, _intact(evidence), tuple(claims), tuple(results),
        _not_covered(evidence),
    )  # fmt: skip


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


def _check_claims(stated: Sequence[Claim], computed: Sequence[Claim]) -> list[Check]:
    """Each claim against the one that the journal leads to; one that is left out is named."""
    left, checks = list(computed), []
    for claim in stated:
        own = next((one for one in left if _question(one) == _question(claim)), None)
        if own is None:
            reason = "no such claim follows from this study"
            checks.append(Check(Status.REFUTED, sentence(claim), reason))
            continue
        left.remove(own)
        different = first_difference(_plain(claim), _plain(own))
        if different is None:
            checks.append(Check(Status.FOLLOWS, sentence(claim)))
            continue
        instead = sentence(own)
        reason = f"its {different} is another"
        if instead != sentence(claim):
            reason = f"{reason}; what follows is: {instead}"
        checks.append(Check(Status.REFUTED, sentence(claim), reason))
    reason = "it follows from the journal, but the file leaves it out"
    return checks + [Check(Status.REFUTED, sentence(claim), reason) for claim in left]


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
            Check(Status.FOLLOWS, f"the results of all {len(record.inputs):,} inputs, from {journal}")
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
    study = evidence.study
    lines = [
        "Whether the trials were run as the journal says, with this model and these data: run "
        "some again where both are (surefoot replay).",
        "Taken as the file says it: labels and groups of the inputs, what the model predicts for "
        "them when clean, whether the perturbation is random, versions and times.",
    ]
    if isinstance(evidence.record.details, Samples) and evidence.record.details.clean_loss:
        lines.append("The clean loss: it is no claim, and only the model gives it.")
    if study.population is not None or study.method.kind == "population-mean":
        lines.append("Whether the inputs are a sample of the population: no file can show that.")
    if evidence.record.stopped_early:
        lines.append("When the time limit ended the run: the journal ends there.")
    return tuple(lines)
