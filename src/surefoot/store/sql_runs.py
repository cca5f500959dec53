"""A run's row of an SQL store as a summary, every value checked."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from surefoot.errors import StoreDamaged, StoreFailed
from surefoot.records.json_records import record_from_json, source_from_json, spec_from_json
from surefoot.records.record import Record
from surefoot.store.chains import seal_of
from surefoot.store.runs import RunSummary


def summary_of(row: sa.Row[Any], where: str) -> RunSummary:
    """The run in this row, which has all columns but the record."""
    if not (isinstance(row.digest, str) and row.digest):
        raise StoreDamaged(where, "a run has no name")
    texts = (row.started, row.written, row.finished or "")
    numbers = (row.rows, row.trials, row.sealed_rows, row.seconds)
    possible = all(isinstance(text, str) for text in texts) and all(
        isinstance(number, int | float) and number >= 0 for number in numbers
    )
    if not possible:
        raise StoreDamaged(
            where,
            f"run {row.digest[:12]} is damaged (it was begun {row.started}, last written "
            f"{row.written}, and has {row.rows} rows, {row.trials} trials, {row.seconds} seconds)",
        )
    try:
        spec, source = spec_from_json(row.spec), source_from_json(row.source)
    except StoreFailed as error:
        raise StoreDamaged(where, f"run {row.digest[:12]}: its study cannot be read") from error
    return RunSummary(
        row.digest,
        spec,
        row.started,
        bool(row.has_record),
        int(row.trials),
        row.finished or "",
        source,
        bool(row.stopped),
        row.written,
    )


def sealed_record(row: sa.Row[Any], where: str) -> Record:
    """The record in a run's row, as it was written."""
    seal = seal_of(row.record, row.finished, row.sealed_rows, row.heads)
    record = record_from_json(row.record) if seal == row.seal else None
    whole = record is not None and record.stopped_early == bool(row.stopped)
    if record is None or not whole or record.digest != row.digest:
        raise StoreDamaged(where, f"the record of run {row.digest[:12]} is not as it was written")
    return record
