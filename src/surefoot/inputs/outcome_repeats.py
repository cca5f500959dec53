"""Rows that look like trials of the same case while each would be taken for a case of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_columns import NO_COLUMN, Columns
from surefoot.inputs.outcome_meaning import parts_of
from surefoot.inputs.outcome_rows import ColumnNames, Remark

_OF_CASES = frozenset(("case", "doc", "id", "item", "prompt", "q", "qid", "question", "sample"))
"""Words in the name of a column that names the case."""
_PERHAPS_OF_CASES = frozenset(
    (
        "document", "example", "file", "filename", "hash", "idx", "image", "img", "index", "input",
        "instance", "key", "name", "path", "problem", "query", "record", "scenario", "task", "test",
        "text", "uid", "url", "uuid",
    )
)  # fmt: skip
"""Words of one that may; the same in every row, it names what all of them are of."""
_OF_TRIALS = frozenset(
    (
        "attempt", "epoch", "iteration", "rep", "repeat", "repetition", "replicate", "round", "run",
        "seed", "trial", "try",
    )
)  # fmt: skip
"""Words in the name of a column that numbers the trials of a case."""
_MAY_NUMBER_ROWS = ("id", "name", "test", "test_id")
"""Columns of cases, chosen by these names, that may number the rows instead."""
_ENDS = ("", "s", "es")
"""Of a plural."""


def check_repeats(
    where: str, columns: Columns, wanted: ColumnNames, rows: Sequence[Mapping[str, Any]]
) -> list[Remark]:
    """Refuse rows that are all different cases by default, where another column speaks against it.

    Another column that names cases and has a value twice, or that numbers trials and has several
    values. Where no column speaks against it, the remark says what was taken for granted.
    """
    if wanted.case is not None or columns.trials or len(rows) < 2:
        return []
    if columns.case and (
        columns.case.strip().lower() not in _MAY_NUMBER_ROWS
        or len(_values(rows, columns.case)) < len(rows)
    ):
        return []
    own = (columns.case, columns.outcome, columns.by, columns.group)
    for name in sorted(rows[0], key=lambda name: _has(name, _OF_TRIALS)):
        values = len(_values(rows, name))
        if name not in own and _may_repeat(name, values, len(rows), named=bool(columns.case)):
            raise InvalidArgument(_refusal(where, name, values, len(rows), columns.case))
    if columns.case:
        return []
    text = (
        "every row is taken for a case of its own; if some rows are of the same case, name the "
        "column of cases with case (--case)"
    )
    return [Remark("cases", text, is_warning=True)]


def _may_repeat(name: str, values: int, rows: int, *, named: bool) -> bool:
    """Whether a column with so many different values is a sign of several trials of a case.

    `named`: another column gives every row a name of its own, which may be a mere number.
    """
    if _has(name, _OF_TRIALS):
        return 1 < values < rows or (values == rows and not named)
    if _has(name, _OF_CASES):
        return values < rows
    return not named and _has(name, _PERHAPS_OF_CASES) and 1 < values < rows


def _refusal(where: str, name: str, values: int, rows: int, case: str) -> str:
    each = f"case={case or NO_COLUMN} (--case {case or NO_COLUMN})"
    different = "1 value" if values == 1 else f"{values:,} different values"
    named = f"it with case={name} (--case {name})"
    if _has(name, _OF_TRIALS):
        named = "the column of cases with case (--case)"
    return (
        f"{where}: the column {name} has {different} in {rows:,} rows, so that rows may be trials "
        f"of the same case: name {named}, or say {each} if every row is a case of its own"
    )


def _has(name: str, words: frozenset[str]) -> bool:
    return any(part == word + end for part in parts_of(name) for word in words for end in _ENDS)


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> set[str]:
    return {str(row.get(name)).strip() for row in rows}
