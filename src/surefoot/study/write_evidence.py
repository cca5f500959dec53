"""Write the evidence of a run: a file that a second party checks without model and data."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from surefoot.errors import EvidenceFailed
from surefoot.evidence_file.envelope import MOST_FILE_BYTES, Envelope
from surefoot.evidence_file.keys import read_private_key
from surefoot.evidence_file.statement import evidence_of, statement_bytes
from surefoot.store import open_existing
from surefoot.store.records import Record
from surefoot.study.check_evidence import check_statement
from surefoot.study.evidence_answers import Status
from surefoot.study.recompute import Entries
from surefoot.whole_file import write_whole

LATEST = "latest"


def write_evidence(
    run: str, path: str | Path, *, store: str = "surefoot.db", key: str | Path | None = None
) -> Path:
    """Write the evidence of a finished run of a store: study, claims, results and journal.

    `run` is the beginning of the run's digest, or "latest". `key` is the file of an Ed25519
    private key that signs it; without one it is unsigned, and says so. The file is checked as
    `surefoot verify` does before it is written.
    """
    with closing(open_existing(store)) as opened:
        record = opened.record("" if run == LATEST else run)
        entries = opened.journal(record.digest).replay()
    return evidence_file(record, entries, path, key)


def evidence_file(
    record: Record, entries: Entries, path: str | Path, key: str | Path | None
) -> Path:
    """Write the evidence of a record and its journal, whole or not at all."""
    signer = None if key is None else read_private_key(key)
    evidence = evidence_of(record, entries)
    check = check_statement(evidence)
    wrong = [one for one in check.checks if one.status is Status.REFUTED]
    if wrong:
        raise EvidenceFailed(
            f"the claims of run {record.digest[:12]} do not follow from its journal ({wrong[0]}): "
            "if the run was begun again, let it end (the same command continues it)"
        )
    envelope = Envelope(statement_bytes(evidence))
    text = (envelope if signer is None else envelope.signed(signer)).text()
    if len(text) > MOST_FILE_BYTES:
        raise EvidenceFailed(
            f"the evidence of run {record.digest[:12]} has {len(text):,} bytes, more than "
            f"{MOST_FILE_BYTES:,}: study fewer inputs in one run"
        )
    target = Path(path)
    write_whole(target, text)
    return target
