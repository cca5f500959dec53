"""The run of an earlier model, from its evidence file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.errors import EvidenceFailed
from surefoot.evidence.answers import Status
from surefoot.evidence.check import check_statement
from surefoot.evidence.envelope import read_envelope
from surefoot.evidence.packed import NEW_COPY
from surefoot.evidence.statement import Evidence, read_statement
from surefoot.records.record import Record


@dataclass(frozen=True)
class EarlierRun:
    """The run of an earlier model: how a sentence names it, and its record.

    `evidence` is what its file holds; None where the run is in the store. `recorded`: no trial of
    it was run now.
    """

    name: str
    record: Record
    evidence: Evidence | None = None
    recorded: bool = True


def earlier_run(path: str) -> EarlierRun:
    """The run of an evidence file, whose results must follow from its journal."""
    try:
        evidence = read_statement(read_envelope(path).payload)
    except EvidenceFailed as error:
        named = str(error).startswith(path)
        raise EvidenceFailed(str(error) if named else f"{path}: {error}") from error
    except RecursionError as error:
        raise EvidenceFailed(
            f"{path}: it is nested too deeply to be evidence: {NEW_COPY}"
        ) from error
    check = check_statement(evidence)
    wrong = [one for one in check.checks if one.status is Status.REFUTED]
    if wrong:
        raise EvidenceFailed(
            f"{path}: its results do not follow from its journal ({wrong[0]}): use the file that "
            "the run wrote"
        )
    unknown = [one for one in check.results if one.status is not Status.FOLLOWS]
    if unknown:
        raise EvidenceFailed(
            f"{path}: its results were not recomputed ({unknown[0]}): measure the earlier model "
            "again (previous-model)"
        )
    record = replace(evidence.record, required=None, verdicts=())
    part = replace(evidence, record=record, earlier=None)
    return EarlierRun(f"{evidence.model} of {Path(path).name}", record, part)
