"""Inputs from tables: frames of pandas and polars, .csv and .parquet files."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.inputs.class_names import ClassNames, read_class_names
from surefoot.inputs.labels import Labels, read_labels
from surefoot.inputs.media import target_numbers
from surefoot.inputs.table_columns import (
    Table,
    TableColumn,
    pandas_columns,
    polars_columns,
    text_column,
)
from surefoot.inputs.text_rows import refuse_other_separators
from surefoot.subject.inputs import Feature, Inputs

_MOST_BYTES = 2**30
"""Bytes of a .csv file: read as text it takes ten times as much memory."""
_UNIT = re.compile(r"(?P<name>.*\S)(\s*\[(?P<square>[^\[\]]+)\]|\s+\((?P<round>[^()]+)\))\s*")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LAZY = "LazyFrame"
"""A query of polars that has no rows yet."""
_LISTED = 12
"""Columns named in a sentence; a reader finds a misspelt one among them or in the file."""


def is_frame(source: Any) -> bool:  # noqa: ANN401  a frame of pandas or polars
    """Whether it is a frame of pandas or polars; neither is imported."""
    kind = type(source)
    return kind.__name__ in ("DataFrame", _LAZY) and kind.__module__.partition(".")[0] in (
        "pandas",
        "polars",
    )


def is_table_file(path: Path, labels: Any = None) -> bool:  # noqa: ANN401  labels in any form
    """Whether a file is a table: a .parquet, or a .csv that is no list of image files.

    A .csv with a column "label" is a list of images unless `labels` says what the labels are: as
    a table it would give the labels to the model.
    """
    if path.suffix.lower() == ".parquet":
        return True
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = [name.strip() for name in next(csv.reader(file), [])]
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    names = header[0].split(";") if len(header) == 1 else header
    return bool(header) and "file" not in names and (labels is not None or "label" not in names)


def from_frame(
    frame: Any,  # noqa: ANN401  a frame of pandas or polars
    labels: Any = None,  # noqa: ANN401  labels in any form
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] | ClassNames = (),
    scale: float | None = None,
    leave_out: str = "",
    targets: Any = None,  # noqa: ANN401  true outputs in any form
) -> Inputs:
    """Inputs from a DataFrame; `labels` is the name of a column, or one label for each row.

    The column `leave_out`, of groups, is no feature. `targets`: the true outputs of a model without
    classes; True: `labels` are.
    """
    if type(frame).__name__ == _LAZY:
        raise InvalidArgument("a LazyFrame of polars has no rows yet: pass frame.collect()")
    library = type(frame).__module__.partition(".")[0]
    read = pandas_columns if library == "pandas" else polars_columns
    return _inputs(
        _without(read(frame), leave_out, labels), labels, ids, class_names, scale, targets
    )


def from_table_file(
    path: Path,
    labels: Any = None,  # noqa: ANN401  labels in any form
    *,
    class_names: Sequence[str] | ClassNames = (),
    scale: float | None = None,
    size: tuple[int, int] | None = None,
    leave_out: str = "",
    targets: Any = None,  # noqa: ANN401  true outputs in any form
) -> Inputs:
    """Inputs from a .csv or .parquet file; the rest as for `from_frame`."""
    if size is not None:
        raise InvalidArgument(
            f"{path} is a table: --size (size=) resizes images only; leave it out"
        )
    table = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_csv(path)
    return _inputs(_without(table, leave_out, labels), labels, None, class_names, scale, targets)


def _without(table: Table, heading: str, labels: Any) -> Table:  # noqa: ANN401  labels in any form
    """The table without the column of this heading, if it has one; the labels are another."""
    if heading and isinstance(labels, str) and labels.strip() == heading.strip():
        raise InvalidArgument(
            f"{table.source}: column {heading!r} is named for the labels and for the groups: give "
            "the groups (--group, groups=) a column of their own"
        )
    rest = tuple(column for column in table.columns if column.heading != heading)
    return replace(table, columns=rest)


def _inputs(
    table: Table,
    labels: Any,  # noqa: ANN401  labels in any form
    ids: Sequence[str] | None,
    class_names: Sequence[str] | ClassNames,
    scale: float | None,
    targets: Any,  # noqa: ANN401  true outputs in any form
) -> Inputs:
    source = table.source
    if scale is not None:
        raise InvalidArgument(
            f"{source} is a table: leave out --scale (scale=), columns keep their units"
        )
    columns, label_column = _split(table, labels)
    if not columns:
        raise InvalidArgument(f"{source} has no column besides the labels: give it features")
    if label_column is not None:
        labels = label_column.texts()
    known: Labels | None = None
    if targets is True:
        targets = None if labels is None else target_numbers(_as_texts(labels), source)
    elif labels is not None:
        known = read_labels(_as_texts(labels), source, class_names, lambda i: f"row {i + 1}")
    x = [column.values(source) for column in columns]
    rows = len(x[0])
    width = len(str(max(rows - 1, 1)))
    names = table.ids if ids is None else tuple(str(i) for i in ids)
    return Inputs(
        x=np.stack(x, axis=1) if rows else np.zeros((0, len(columns)), np.float32),
        labels=None if known is None else known.numbers,
        ids=names or tuple(f"{i:0{width}d}" for i in range(rows)),
        source=source,
        class_names=read_class_names(class_names).names if known is None else known.names,
        reading="; ".join(filter(None, ["a table", known.reading if known else ""])),
        targets=() if targets is None else tuple(targets),
        features=_features(columns, [float(values[0]) for values in x]),
    )


def _as_texts(labels: Any) -> Any:  # noqa: ANN401  labels in any form
    """Labels as a .csv file would hold them, so that every kind of table reads them alike."""
    values = labels.to_list() if hasattr(labels, "to_list") else np.asarray(labels).ravel().tolist()
    return [value if value is None else str(value) for value in values]


def _split(table: Table, labels: Any) -> tuple[list[TableColumn], TableColumn | None]:  # noqa: ANN401  labels in any form
    """The feature columns, and the column that `labels` names."""
    headings = [column.heading for column in table.columns]
    _check_headings(headings, table.source)
    if not isinstance(labels, str):
        return list(table.columns), None
    place = next(
        (i for i, h in enumerate(headings) if h == labels),
        next((i for i, h in enumerate(headings) if h.strip() == labels.strip()), None),
    )
    if place is None:
        some = ", ".join(headings[:_LISTED]) + (", …" if len(headings) > _LISTED else "")
        near = get_close_matches(labels, headings, n=1)
        there = f"do you mean {near[0]}?" if near else f"its columns are {some}; name one of them"
        raise InvalidArgument(f"{table.source} has no column {labels!r} for the labels: {there}")
    rest = [column for i, column in enumerate(table.columns) if i != place]
    return rest, table.columns[place]


def _check_headings(headings: list[str], source: str) -> None:
    if not headings:
        raise InvalidArgument(f"{source} has no columns: write their names in the first row")
    refuse_other_separators(headings, source)
    for number, heading in enumerate(headings, 1):
        if not heading.strip():
            raise InvalidArgument(
                f"{source}: column {number} has no name (pandas writes its index like that): name "
                "it, or write the file without the index"
            )
        if headings.count(heading) > 1:
            raise InvalidArgument(f"{source} has two columns {heading!r}: name each differently")


def _features(columns: list[TableColumn], examples: list[float]) -> tuple[Feature, ...]:
    """Names, with units where headings hold them and the names stay different without."""
    parts = [_UNIT.fullmatch(column.heading) for column in columns]
    short = [m["name"] if m else c.heading for m, c in zip(parts, columns, strict=True)]
    features = []
    for column, match, name, example in zip(columns, parts, short, examples, strict=True):
        kind = column.dtype, column.categories, example
        if match is None or short.count(name) > 1:
            features.append(Feature(column.heading, "", "", *kind))
        else:
            unit = match["square"] or match["round"]
            features.append(Feature(name, unit.strip(), column.heading, *kind))
    return tuple(features)


def _read_csv(path: Path) -> Table:
    """A .csv file with the names of its columns in the first row, typed as pandas types it."""
    if path.stat().st_size > _MOST_BYTES:
        raise InvalidArgument(
            f"{path} is larger than {_MOST_BYTES // 2**20} MiB: write a part of it, or a .parquet "
            "file"
        )
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            rows = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(
            f"{path} cannot be read as CSV ({error}): save it as UTF-8 text"
        ) from error
    _check_headings(header, str(path))
    if all(_NUMBER.fullmatch(heading) for heading in header):
        raise InvalidArgument(
            f"{path}: the first row must hold the names of the columns, got the values "
            f"{', '.join(header[:3])}, …"
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InvalidArgument(
                f"{path}: row {number} has {len(row)} cells below {len(header)} columns: put a "
                "cell that holds a comma in quotation marks"
            )
    if not rows:
        raise InvalidArgument(
            f"{path} holds no inputs: it has the names of columns but no row; give at least one"
        )
    columns = [
        text_column(heading, [row[i] for row in rows], str(path))
        for i, heading in enumerate(header)
    ]
    return Table(str(path), tuple(columns))


def _read_parquet(path: Path) -> Table:
    """A .parquet file, read by pandas or polars, whichever there is."""
    failed: Exception | None = None
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
            frame = module.read_parquet(path)
        except ImportError as error:  # pandas without pyarrow too
            failed = error
            continue
        except Exception as error:
            raise InvalidArgument(
                f"{path} cannot be read as parquet ({error}): write it again"
            ) from error
        read = pandas_columns if library == "pandas" else polars_columns
        return read(frame, str(path))
    raise MissingPackage(
        f"{path} needs polars, or pandas with pyarrow: pip install polars"
    ) from failed
