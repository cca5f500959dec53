"""Write the evidence of a run: a file that a second party checks without model and data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from surefoot.errors import EvidenceFailed
from surefoot.evidence.answers import Status
from surefoot.evidence.check import check_statement
from surefoot.evidence.envelope import MOST_FILE_BYTES, Envelope, read_private_key
from surefoot.evidence.statement import Evidence, evidence_of, read_statement, statement_bytes
from surefoot.records.record import Comparison, Record, Samples
from surefoot.store import Store, reading
from surefoot.store.outcomes import stored_parts
from surefoot.system.whole_file import write_whole

LATEST = "latest"


def write_evidence(
    run: str, path: str | Path, *, store: str = "surefoot.db", key: str | Path | None = None
) -> Path:
    """Write the evidence of a finished run of a store: study, claims, verdicts and journal.

    `run` is the beginning of the run's digest, or "latest". `key` is the file of an Ed25519
    private key that signs it; without one it is unsigned, and says so. The file is checked as
    `surefoot verify` does before it is written.
    """
    with reading(store) as opened:
        record = opened.record("" if run == LATEST else run)
        evidence = evidence_in_store(record, opened)
    return write_statement(evidence, path, key)


def evidence_in_store(
    record: Record,
    store: Store,
    parts: Mapping[str, Record] | None = None,
    earlier: Evidence | None = None,
) -> Evidence:
    """The evidence of a record, its journals from the store; `parts` where they are at hand.

    And `earlier`, of an earlier model, where that is another file; else it may be in the store.
    """
    if isinstance(record.details, Comparison):
        own = parts or stored_parts(record, store)
        return evidence_of(
            record, {}, parts={n: evidence_in_store(r.unrequired, store) for n, r in own.items()}
        )
    attack = None
    if isinstance(record.details, Samples) and record.details.attack is not None:
        beside = record.details.attack.run
        known = store.stored(beside) if beside else None
        if known is not None:
            attack = evidence_in_store(known.unrequired, store)
    required = None if record.required is None else record.required.earlier
    if required is not None and earlier is None:
        before = store.stored(required.run)
        earlier = None if before is None else evidence_in_store(before.unrequired, store)
    entries = store.journal(record.digest).replay()
    return evidence_of(record, entries, attack, earlier=earlier)


def write_statement(evidence: Evidence, path: str | Path, key: str | Path | None) -> Path:
    """Write the file, whole or not at all; it is read and checked before."""
    signer = None if key is None else read_private_key(key)
    name = evidence.record.digest[:12]
    payload = statement_bytes(evidence)
    try:
        check = check_statement(read_statement(payload))
    except EvidenceFailed as error:
        raise EvidenceFailed(f"the evidence of run {name} cannot be read again: {error}") from error
    wrong = [one for one in check.checks if one.status is Status.REFUTED]
    if wrong:
        raise EvidenceFailed(
            f"the claims of run {name} do not follow from its journal ({wrong[0]}): if the run was "
            "begun again, let it end (the same command continues it)"
        )
    envelope = Envelope(payload)
    text = (envelope if signer is None else envelope.signed(signer)).text()
    if len(text) > MOST_FILE_BYTES:
        raise EvidenceFailed(
            f"the evidence of run {name} has {len(text):,} bytes, more than {MOST_FILE_BYTES:,}: "
            "study fewer inputs in one run"
        )
    target = Path(path)
    write_whole(target, text)
    return target
