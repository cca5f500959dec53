"""The rows of files of texts: the fields of a line, each once, and the ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument


def refuse_other_separators(headings: Sequence[str], source: str) -> None:
    """Refuse the first row of a .csv file whose columns are not separated by commas."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(headings) == 1 and sign in headings[0]:
            raise InvalidArgument(f"{source} separates its columns by {name}: use commas")


def refuse_twice(names: Sequence[str], what: str) -> None:
    """Refuse a name that stands twice; `what` begins the sentence."""
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise InvalidArgument(f"{what} {again!r} twice: leave one of them out")


def _pairs(path: Path, number: int, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    refuse_twice([key for key, _ in pairs], f"{path}, line {number} has the field")
    return dict(pairs)


def json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    """One line of a .jsonl file: an object with the field text, and each field once."""
    try:
        row = json.loads(line, object_pairs_hook=lambda pairs: _pairs(path, number, pairs))
    except InvalidArgument:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{path}, line {number} is no JSON ({error}): write one object a line"
        ) from error
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        what = f"the fields {', '.join(map(str, row))}" if isinstance(row, dict) else "no object"
        raise InvalidArgument(
            f"{path}, line {number} holds {what[:80]}: every line must be an object with the field "
            'text, such as {"text": "a good film", "label": 1}'
        )
    return row


def row_ids(path: Path, rows: list[dict[str, Any]], word: str) -> list[str] | None:
    """The id of every row; None where no row has one. Some without one are refused."""
    if not any("id" in row for row in rows):
        return None
    ids = ["" if row.get("id") is None else str(row["id"]) for row in rows]
    empty = next((i for i, name in enumerate(ids, 1) if not name.strip()), None)
    if empty is not None:
        raise InvalidArgument(
            f"{path}, {word} {empty} has no id, and others have: give every {word} one, or none"
        )
    return ids
