"""The tables of a statement: inputs and journal as lists of columns, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.core.tasks import Entry
from surefoot.records.json_records import column_from_plain, result_from_plain, result_to_json
from surefoot.records.record import InputRow
from surefoot.store.chains import evidence_from_text, evidence_to_text

INPUT_COLUMNS = ("id", "label", "predicted", "digest", "group", "clean_kept")
JOURNAL_COLUMNS = ("subject", "level", "start", "stop", "evidence")
MOST_INPUTS = 250_000
"""A hostile file cannot have us make more rows of inputs, in use some 2 kB each."""
MOST_ROWS = 1_000_000
"""Of a journal, in use some 400 bytes each: 100,000 inputs may have ten each."""
MOST_TRIALS = 2**53
"""The number of a trial: whole numbers beyond are no longer exact as floats."""


def input_columns(rows: Sequence[InputRow]) -> dict[str, Any]:
    """One list for each field; each different result once, and its place for each input."""
    columns: dict[str, Any] = {n: [getattr(row, n) for row in rows] for n in INPUT_COLUMNS}
    places: dict[str, int] = {}
    distinct = {id(row.result): row.result for row in rows}  # rows may share one
    place_of = {
        key: places.setdefault(result_to_json(one), len(places)) for key, one in distinct.items()
    }
    columns["result"] = [place_of[id(row.result)] for row in rows]
    columns["results"] = [json.loads(text) for text in places]
    return columns


def input_rows(columns: dict[str, Any]) -> tuple[InputRow, ...]:
    """The rows of a record, each value checked; equal results are one object.

    ValueError, or `StoreFailed`, where the columns are none of such a table.
    """
    lists = [columns[name] for name in (*INPUT_COLUMNS, "result")]
    check_length([*lists, columns["results"]], MOST_INPUTS)
    if any(type(place) is not int or place < 0 for place in lists[-1]):
        raise ValueError("a place of a result is no whole number")
    results = [result_from_plain(one) for one in columns["results"]]
    checked = [column_from_plain(name, columns[name]) for name in INPUT_COLUMNS]
    return tuple(
        InputRow(**dict(zip(INPUT_COLUMNS, values, strict=True)), result=results[place])
        for *values, place in zip(*checked, lists[-1], strict=True)
    )


def journal_columns(entries: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
    """One list for each field; subjects by their place."""
    rows = [
        (place, e.level, e.start, e.stop, evidence_to_text(e.evidence, e.stop - e.start))
        for place, own in enumerate(entries.values())
        for e in own
    ]
    lists = zip(*rows, strict=True) if rows else ((),) * len(JOURNAL_COLUMNS)
    columns = {name: list(own) for name, own in zip(JOURNAL_COLUMNS, lists, strict=True)}
    return {"subjects": list(entries), **columns}


def journal_entries(journal: dict[str, Any]) -> dict[str, list[Entry]]:
    """The rows by subject, each of them possible."""
    names = _list(journal["subjects"])
    lists = [journal[name] for name in JOURNAL_COLUMNS]
    check_length([names], MOST_INPUTS)
    check_length(lists, MOST_ROWS)
    entries: dict[str, list[Entry]] = {str(name): [] for name in names}
    for place, level, start, stop, text in zip(*lists, strict=True):
        whole = type(place) is type(start) is type(stop) is int and 0 <= start < stop <= MOST_TRIALS
        finite = isinstance(level, int | float) and math.isfinite(level)
        if not (whole and finite and place >= 0 and isinstance(text, str)):
            raise ValueError(
                f"the journal has an impossible row: {str((place, level, start))[:80]}"
            )
        evidence = evidence_from_text(text, stop - start)
        entries[names[place]].append(Entry(float(level), start, stop, evidence))
    return entries


def check_length(lists: Sequence[Any], most: int) -> None:
    """ValueError for what is no list, and for one that is too long."""
    longest = max(len(_list(one)) for one in lists)
    if longest > most:
        raise ValueError(f"a table has {longest:,} rows, more than {most:,}")


def _list(value: Any) -> list[Any]:  # noqa: ANN401  what a file holds
    if not isinstance(value, list):
        raise ValueError(f"a column is no list: {str(value)[:40]}")
    return value
