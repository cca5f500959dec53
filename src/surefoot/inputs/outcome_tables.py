"""Outcomes in rows: CSV, and JSON lines as lm-evaluation-harness writes them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_columns import Columns, choose_columns
from surefoot.inputs.outcome_meaning import meaning_remarks, read_outcome, shown, value_words
from surefoot.inputs.outcome_repeats import check_repeats
from surefoot.inputs.outcome_rows import (
    MOST_CASES,
    ColumnNames,
    Meaning,
    Outcome,
    OutcomeFile,
    Remark,
    outcome_file,
    read_text,
)

_MOST_DIGITS = 9
"""Of a count: more than anybody has run."""
_MOST_COLUMNS = 10_000
"""Of a table: more than anybody names."""
_FILTER, _METRICS, _HASH = "filter", "metrics", "doc_hash"
"""Fields of lm-evaluation-harness: how an answer was extracted, what was scored, which text."""
_DELIMITERS = {".tsv": "\t"}
"""By the end of the name; else a comma."""
Row = tuple[str, Mapping[str, Any]]


def read_csv(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """A table with a header; one outcome a row, or counts of trials and failures."""
    text = io.StringIO(read_text(path), newline="")
    try:
        reader = csv.DictReader(text, delimiter=_DELIMITERS.get(path.suffix.lower(), ","))
        names = list(reader.fieldnames or ())
        if len(names) > _MOST_COLUMNS:
            raise InvalidArgument(
                f"{path} has {len(names):,} columns, more than {_MOST_COLUMNS:,}: keep those of "
                "case and outcome"
            )
        rows: list[Row] = [(f"{path}, line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise InvalidArgument(f"{path} cannot be read as CSV ({error}): save it again") from error
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InvalidArgument(f"{path} has two columns {twice!r}: rename one")
    for place, row in rows:
        if None in row or None in row.values():
            raise InvalidArgument(
                f"{place}: the row has not as many cells as the header; fill it or remove it"
            )
    return _from_rows(path, names, rows, wanted)


def read_json_lines(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """One JSON object a line: samples of lm-evaluation-harness, or any with such fields.

    Where a file holds several filters, `outcome` names metric and filter: exact_match,strict-match.
    """
    rows = [
        (f"{path}, line {number}", _object(path, number, line))
        for number, line in enumerate(read_text(path).splitlines(), start=1)
        if line.strip()
    ]
    if not rows:
        raise InvalidArgument(
            f"{path} has no lines: a tally needs at least one outcome; give another file"
        )
    rows, wanted, remarks = _of_one_filter(path, rows, wanted)
    first = rows[0][1]
    metrics = first.get(_METRICS)
    named = [m for m in metrics if isinstance(m, str)] if isinstance(metrics, list) else []
    return _from_rows(path, list(first), rows, wanted, named, remarks)


def _object(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{path}, line {number} is not JSON ({error}): write one object a line"
        ) from error
    if not isinstance(value, dict):
        raise InvalidArgument(
            f"{path}, line {number} is {shown(value)}: each line is one object; write one there"
        )
    return value


def _of_one_filter(
    path: Path, rows: list[Row], wanted: ColumnNames
) -> tuple[list[Row], ColumnNames, list[Remark]]:
    """The rows of one filter: two filters of an answer are not two trials."""
    filters = list(dict.fromkeys(str(row[_FILTER]) for _, row in rows if _FILTER in row))
    metric, comma, chosen = (wanted.outcome or "").rpartition(",")
    named = bool(comma) and chosen in filters and wanted.outcome not in rows[0][1]
    if len(filters) > 1 and not named:
        raise InvalidArgument(
            f"{path} has each answer under the filters {' and '.join(filters)}: choose one, such "
            f"as outcome exact_match,{filters[0]} (--outcome exact_match,{filters[0]})"
        )
    if not named:
        return rows, wanted, []
    own = [(place, row) for place, row in rows if str(row.get(_FILTER)) == chosen]
    columns = replace(wanted, outcome=metric)
    return own, columns, [Remark("filter", f"only answers under the filter {chosen}")]


def _from_rows(
    path: Path,
    names: Sequence[str],
    rows: Sequence[Row],
    wanted: ColumnNames,
    metrics: Sequence[str] = (),
    remarks: Sequence[Remark] = (),
) -> OutcomeFile:
    columns, chosen = choose_columns(str(path), names, wanted, metrics)
    outcomes = [
        outcome
        for number, (place, row) in enumerate(rows, start=1)
        for outcome in _outcomes(place, row, columns, str(number), wanted.meaning)
    ]
    meaning = meaning_remarks(path, columns.outcome, outcomes, wanted.meaning)
    repeats = check_repeats(str(path), columns, wanted, [row for _, row in rows])
    notes = [*remarks, *chosen, *meaning, *repeats]
    return outcome_file(path, outcomes, notes, names_cases=bool(columns.case))


def _outcomes(
    place: str, row: Mapping[str, Any], columns: Columns, number: str, meaning: Meaning
) -> Iterator[Outcome]:
    """What a row says; counts of cases without names are that many cases."""
    case = _text(place, row, columns.case) if columns.case else number
    class_name = _text(place, row, columns.by) if columns.by else ""
    group = _text(place, row, columns.group) if columns.group else ""
    content = row.get(_HASH)
    more = (group, class_name, content if isinstance(content, str) else "")
    if not columns.trials:
        value = _value(place, row, columns.outcome)
        failed = read_outcome(place, columns.outcome, value, meaning)
        said = value_words(value, meaning)
        yield Outcome(place, case, int(bool(failed)), int(failed is not None), *more, value=said)
        return
    trials, failures = _counts(place, row, columns)
    if columns.case or not trials:
        yield Outcome(place, case, failures, trials, *more)
        return
    if trials > MOST_CASES:
        raise InvalidArgument(
            f"{place}: {trials:,} cases are more than {MOST_CASES:,}: take a random choice of them"
        )
    for i in range(trials):
        yield Outcome(place, f"{number}.{i + 1}", int(i < failures), 1, *more)


def _counts(place: str, row: Mapping[str, Any], columns: Columns) -> tuple[int, int]:
    """Trials and failures."""
    trials = _count(place, row, columns.trials)
    failed = _count(place, row, columns.failed) if columns.failed else None
    passed = _count(place, row, columns.passed) if columns.passed else None
    failures = trials - (passed or 0) if failed is None else failed
    if not 0 <= failures <= trials or (passed is not None and passed + failures != trials):
        counts = [
            f"{name} is {n}" for name, n in ((columns.failed, failed), (columns.passed, passed))
        ]
        given = " and ".join(text for text in counts if not text.startswith(" "))
        raise InvalidArgument(
            f"{place}: {columns.trials} is {trials} and {given}; failures and passed trials must "
            "add up to the trials: correct one of them"
        )
    return trials, failures


def _count(place: str, row: Mapping[str, Any], column: str) -> int:
    value = _value(place, row, column)
    text = str(value).strip()
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    if plain and text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    raise InvalidArgument(f"{place}: {column} is {shown(value)}; write a whole number, such as 10")


def _text(place: str, row: Mapping[str, Any], column: str) -> str:
    """The name of a case, a class or a group."""
    value = _value(place, row, column)
    text = str(value).strip() if isinstance(value, str | int) else ""
    if text:
        return text
    raise InvalidArgument(f"{place}: {column} is {shown(value)}; give it a name")


def _value(place: str, row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401  of JSON
    if column in row:
        return row[column]
    raise InvalidArgument(f"{place} has no {column!r}, which the first line has: add it")
