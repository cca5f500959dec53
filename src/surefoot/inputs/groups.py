"""The group of each input: from a list, a column, an array, a file, or the names of the inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.bounded_pattern import BoundedPattern
from surefoot.inputs.files import read_npy
from surefoot.inputs.items import csv_rows
from surefoot.inputs.labels import Data
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Item
from surefoot.system.text import escape_unprintable

PATTERN = "pattern:"
"""Before a regular expression that is searched in the id of each input."""
_ARRAY = "groups"
"""The array of an .npz file that holds groups, where none is named."""


def with_groups(inputs: Inputs, groups: Any, source: Any = None) -> Inputs:  # noqa: ANN401  groups in any form
    """The inputs with the group of each.

    `groups`: a name for each input, in their order; or text: the column of a table or CSV, the
    array of an .npz file, an .npy file, or pattern: and a regular expression for the ids. `source`
    is what the inputs were loaded from. None: the array `groups` of an .npz file, if it has one.
    """
    if isinstance(groups, str):
        return _from_text(inputs, groups, source)
    if groups is not None:
        return _named(inputs, groups, "")
    stored = _npz_array(source, _ARRAY, needed=False) if _is_file(source, ".npz") else None
    return inputs if stored is None else _named(inputs, stored, f"array {_ARRAY}")


def _as_text(value: Item) -> str:
    """A number without a fraction is written as an integer: 7 and 7.0 are the same group."""
    if value is None or str(value) in ("nan", "NaT", "<NA>"):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text.strip()


def _named(inputs: Inputs, values: Item, where: str) -> Inputs:
    lists = (getattr(values, name, None) for name in ("tolist", "to_list"))  # polars: the second
    column = next((as_list() for as_list in lists if as_list is not None), values)
    plain_list = isinstance(column, list | tuple)
    if not plain_list or any(isinstance(one, list | tuple | dict | set) for one in column):
        raise InvalidArgument(
            f"{inputs.source}: groups must be a list with one name for each input, got "
            f"{type(values).__name__}"
        )
    if len(column) != len(inputs):
        raise InvalidArgument(
            f"{inputs.source} holds {len(inputs)} inputs but {len(column)} groups: give one for "
            "each input"
        )
    names = tuple(escape_unprintable(_as_text(value)) for value in column)
    if "" in names:
        raise InvalidArgument(
            f"{inputs.source}: input {names.index('') + 1} of {len(names)} has no group: name one "
            "for every input"
        )
    words = f"groups from {where}" if where else "groups given"
    reading = "; ".join(filter(None, [inputs.reading, words]))
    return replace(inputs, groups=names, reading=reading)


def _from_text(inputs: Inputs, text: str, source: Data) -> Inputs:
    """What `--group` names."""
    if text.startswith(PATTERN):
        return _named(inputs, _matches(inputs, text.removeprefix(PATTERN)), text)
    if hasattr(source, "columns"):
        if text not in source.columns:
            names = ", ".join(map(str, source.columns))
            raise InvalidArgument(f"there is no column {text!r} for groups: choose one of {names}")
        return _named(inputs, source[text], f"column {text}")
    if Path(text).suffix == ".npy":
        return _named(inputs, read_npy(Path(text)), f"file {Path(text).name}")
    if _is_file(source, ".npz"):
        return _named(inputs, _npz_array(source, text, needed=True), f"array {text}")
    if _is_file(source, ".csv"):
        return _named(inputs, _csv_column(inputs, Path(source), text), f"column {text}")
    raise InvalidArgument(
        f"{inputs.source} has no column {text!r} for groups: use --group 'pattern:(patient[0-9]+)' "
        "(groups='pattern:…') for the names of the inputs, or a file of groups in .npy"
    )


def _matches(inputs: Inputs, pattern: str) -> list[str]:
    """What the first bracket of the pattern matches in each id; without brackets, all it matches.

    A bracket called `group` goes before the others.
    """
    bounded = BoundedPattern(pattern, "group pattern", f"try --group '{PATTERN}(patient[0-9]+)'")
    expression = bounded.compiled
    part: str | int = min(1, expression.groups)
    part = "group" if "group" in expression.groupindex else part
    names = []
    for name in inputs.ids:
        match = bounded.search(name)
        if match is None or not (match[part] or "").strip():
            raise InvalidArgument(
                f"--group {PATTERN}{pattern} names no group in {name!r} of {inputs.source}: every "
                "input needs one; change the pattern, or leave those inputs out"
            )
        names.append(match[part])
    return names


def _is_file(source: Data, suffix: str) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix.lower() == suffix


def _npz_array(source: Data, name: str, *, needed: bool) -> Data:
    """The array of this name; None where there is none and none is needed."""
    what = f"{source}: the array {name} holds Python objects"
    with (
        refusing(what, "save text or integers", ValueError),
        np.load(source, allow_pickle=False) as stored,
    ):
        keys = {key.lower(): key for key in stored.files}
        if name.lower() in keys:
            return stored[keys[name.lower()]]
    if not needed:
        return None
    raise InvalidArgument(
        f"there is no array {name!r} for groups in {source}: it holds {', '.join(keys.values())}"
        "; name one of them"
    )


def _csv_column(inputs: Inputs, path: Path, column: str) -> list[str]:
    """The column of a CSV: by the file of each input, or by rows where it names no files."""
    first, rows = csv_rows(path)
    header = [name.strip() for name in first]
    if header.count(column) != 1:
        raise InvalidArgument(
            f"{path} has no column {column!r} for groups, or has it twice: it has the columns "
            f"{', '.join(header)}; name one of them"
        )
    at = header.index(column)
    cells = [row[at] if at < len(row) else "" for row in rows]
    if "file" not in header:
        return cells
    of = header.index("file")
    by_file = {escape_unprintable(row[of]): cell for row, cell in zip(rows, cells, strict=True)}
    missing = next((name for name in inputs.ids if name not in by_file), None)
    if missing is not None:
        raise InvalidArgument(
            f"{path}: there is no row of file {missing!r} to read its group from: add one"
        )
    return [by_file[name] for name in inputs.ids]
