"""A run's row of an SQL store as a summary, every value checked."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from surefoot.errors import StoreFailed
from surefoot.store.json_records import source_from_json, spec_from_json
from surefoot.store.runs import RunSummary


def summary_of(row: sa.Row[Any], where: str) -> RunSummary:
    """The run in this row, which has all columns but the record."""
    if not (isinstance(row.digest, str) and row.digest):
        raise StoreFailed(f"{where}: a run has no name: restore the store from a copy")
    texts = (row.started, row.written, row.finished or "")
    numbers = (row.rows, row.trials, row.sealed_rows, row.seconds)
    possible = all(isinstance(text, str) for text in texts) and all(
        isinstance(number, int | float) and number >= 0 for number in numbers
    )
    if not possible:
        raise StoreFailed(
            f"{where}: run {row.digest[:12]} is damaged (it was begun {row.started}, last written "
            f"{row.written}, and has {row.rows} rows, {row.trials} trials, {row.seconds} "
            "seconds): restore the store from a copy, or use another store (store=, --store)"
        )
    return RunSummary(
        row.digest,
        spec_from_json(row.spec),
        row.started,
        bool(row.has_record),
        int(row.trials),
        row.finished or "",
        source_from_json(row.source),
        bool(row.stopped),
        row.written,
    )
