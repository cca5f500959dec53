"""Whether names, verdicts and a comparison follow from the runs in an evidence file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.conclude.earlier_model import not_worse_than
from surefoot.conclude.joined_record import digest_of_parts, joined_record
from surefoot.conclude.radii_summaries import at_radii
from surefoot.conclude.requirements import check_requirements
from surefoot.conclude.stability import as_in_records
from surefoot.core.claims import Claim
from surefoot.evidence.answers import Check, Status
from surefoot.evidence.compare_claims import BROKEN, claim_words, compare_claims, plain
from surefoot.evidence.differences import first_difference
from surefoot.evidence.statement import Evidence
from surefoot.records.json_records import decisive_json
from surefoot.records.record import Comparison, EarlierModel, Radii, Record, Requirements


def check_comparison(evidence: Evidence) -> tuple[list[Check], list[Check]]:
    """The claims of several runs together, joined again from the records of the parts."""
    record, records = evidence.record, _records(evidence)
    try:
        joined = _joined(record, records)
    except (*BROKEN, MemoryError) as error:
        reason = str(error)[:300]
        claims = [Check(Status.REFUTED, claim_words(claim), reason) for claim in record.claims]
        return claims, [Check(Status.REFUTED, "the comparison", reason)]
    different = first_difference(plain(record.details), plain(joined.details))
    rest = ("spec", "trials", "stopped_early", "inputs")
    different = different or next(
        (name for name in rest if getattr(record, name) != getattr(joined, name)), None
    )
    if evidence.entries or evidence.attack is not None:
        different = "the journal, which only the parts have"
    summary = Check(Status.FOLLOWS, f"the comparison, from {len(records)} runs")
    if different is not None:
        summary = Check(Status.REFUTED, f"the comparison: {different}")
    return compare_claims(record.claims, joined.claims), [summary]


def _joined(record: Record, records: Mapping[str, Record]) -> Record:
    details = record.details
    if not isinstance(details, Comparison):
        raise ValueError("the details are not those of a comparison")
    reference = {m.name: m.reference for m in details.members if m.reference is not None}
    joined = joined_record(records, details.along, record.shared_error, reference or None)
    first = next(iter(records.values()))
    at = [c.limit for c in record.claims if c.kind == "robust_accuracy" and c.limit is not None]
    if not at or not isinstance(first.details, Radii):
        return joined
    return replace(joined, claims=(*joined.claims, *at_radii(records, at)))


def check_verdicts(evidence: Evidence) -> list[Check]:
    """The verdict on each requirement, decided again from the results in the file."""
    record = evidence.record
    strange = [one.record for one in evidence.runs if one is not evidence]
    if any(one.verdicts or one.required is not None for one in strange):
        return [Check(Status.REFUTED, "a requirement of a part", "only the whole can have one")]
    if record.required is None:
        return [
            Check(Status.REFUTED, claim_words(claim), "nothing was required")
            for claim in record.verdicts
        ]
    try:
        decided = _decided(evidence, record.required)
    except (*BROKEN, MemoryError) as error:
        reason = f"it cannot be required of this run: {str(error)[:300]}"
        return [Check(Status.REFUTED, "the requirement", reason)]
    if record.required.earlier is None or evidence.earlier is not None:
        return compare_claims(record.verdicts, decided)
    compared = [one for one in record.verdicts if one.names == record.required.earlier.names]
    others = [one for one in record.verdicts if one not in compared]
    return compare_claims(others, decided) + _on_trust(compared, record.required.earlier)


def _on_trust(compared: Sequence[Claim], required: EarlierModel) -> list[Check]:
    """Verdicts on an earlier model whose run is not in the file; one at least must be there."""
    name = required.names[1]
    if not compared:
        reason = "it was required, and the file leaves its verdict out"
        return [Check(Status.REFUTED, f"the comparison with {name}", reason)]
    reason = (
        f"the run of {name}, {required.run[:12]}, is not in this file: so it was decided where "
        "both runs were"
    )
    return [Check(Status.OPEN, claim_words(one), reason) for one in compared]


def _decided(evidence: Evidence, required: Requirements) -> tuple[Claim, ...]:
    """The verdicts; none on an earlier model whose run is not in the file."""
    record, records = evidence.record, _records(evidence)
    verdicts: tuple[Claim, ...] = ()
    if required.number or required.earlier is None:
        verdicts = check_requirements(record, records, required)
        verdicts = as_in_records(verdicts, (record, *records.values()))
    if required.earlier is None or evidence.earlier is None:
        return verdicts
    of = required.earlier
    compared = not_worse_than(
        record, evidence.earlier.record, names=of.names, margin=of.margin, error=of.error
    )
    return (*verdicts, *compared)


def resting(checks: Sequence[Check]) -> list[Check]:
    """Checks of what rests on results that were not recomputed, or do not follow."""
    reason = "the results that it rests on were not recomputed, or do not follow"
    return [
        Check(Status.OPEN, one.subject, reason) if one.status is Status.FOLLOWS else one
        for one in checks
    ]


def check_intact(evidence: Evidence) -> Check:
    """Every run has the name of its study, and its inputs are those of the data's digest."""
    inputs = 0
    for one in evidence.runs:
        record, study = one.record, one.study
        name = hashlib.sha256(decisive_json(study).encode()).hexdigest()
        if name != record.digest:
            return Check(Status.REFUTED, "No: the name of the run is not that of this study.")
        digests = [row.digest for row in record.inputs]
        if not (digests and all(digests)):
            continue
        try:
            rows = sorted(bytes.fromhex(digest) for digest in digests)
        except ValueError:
            rows = []
        if hashlib.sha256(b"".join(rows)).hexdigest() != study.inputs.digest:
            return Check(Status.REFUTED, "No: its inputs are not those that the study names.")
        inputs = max(inputs, len(rows))
    digest, named = evidence.record.digest, "is the digest of its study, as it must be"
    if evidence.parts:
        named = "follows from those of its runs, which are the digests of their studies"
        if digest != digest_of_parts(one.record.digest for one in evidence.parts.values()):
            return Check(Status.REFUTED, "No: the name of the comparison is not that of its runs.")
    of_data = f", and the digests of its {inputs:,} inputs are those of the data" if inputs else ""
    return Check(Status.FOLLOWS, f"Yes: the name of run {digest[:12]} {named}{of_data}.")


def _records(evidence: Evidence) -> dict[str, Record]:
    return {name: part.record for name, part in evidence.parts.items()}
