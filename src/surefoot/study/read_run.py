"""A run by its name in a store, or from an evidence file of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from surefoot.errors import EvidenceFailed
from surefoot.evidence.answers import Status
from surefoot.evidence.check import check_evidence
from surefoot.evidence.check_words import with_marks
from surefoot.evidence.envelope import read_envelope
from surefoot.evidence.statement import read_statement
from surefoot.records.record import Source
from surefoot.study.read_store import read_result
from surefoot.study.result import Result

_ENDING = ".json"
"""How the name of an evidence file ends; that of a run has no dot."""


def read_run(run: str, store: str) -> Result:
    """The result of a finished run: the beginning of its name, "latest", or an evidence file.

    An evidence file is checked first, as `surefoot verify` does: one of which a claim does not
    follow, or was not recomputed, is refused. Who signed it is not checked.
    """
    return read_evidence(run) if run.endswith(_ENDING) else read_result(store, run)


def read_evidence(path: str | Path) -> Result:
    """The result in an evidence file; refused where a claim is not shown to follow from it."""
    check = check_evidence(path)
    if check.exit_code:
        first = next(c for c in check.checks[1:] if c.status is not Status.FOLLOWS)
        raise EvidenceFailed(
            f"{path}: not all that it says is shown to follow from it ({first}): see surefoot "
            f"verify {path}, or export the run where its store is"
        )
    evidence = read_statement(read_envelope(path).payload)
    source = Source(evidence.model, evidence.data, command=evidence.command)
    parts = {
        name: Result(replace(with_marks(one), source=Source(one.model, one.data)), from_store=True)
        for name, one in evidence.parts.items()
    }
    record = replace(with_marks(evidence), source=source)
    return Result(record, parts, record.verdicts, from_store=True, command=source.command)
