"""Inputs from tables: frames of pandas and polars, .csv and .parquet files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, MissingPackage, refusing
from surefoot.inputs.arrays import ReadOptions, coarse_words, labelled_inputs, rounded_away
from surefoot.inputs.items import REAL, csv_header, csv_rows, refuse_cells, refuse_other_separators
from surefoot.inputs.labels import GivenLabels, Labels, read_labels
from surefoot.inputs.media import target_numbers
from surefoot.subject.inputs import Category, Feature, Inputs
from surefoot.subject.protocols import HostArray
from surefoot.system.memory_limits import refuse_too_large

Frame = Any
"""A frame of pandas or polars: neither is imported here."""
_MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""What pandas reads as missing: a model fitted on its frames has never met these as categories."""
_BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False,
             "false": False}  # fmt: skip
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_LARGEST_WHOLE = 2**24
"""Integers up to here are exact in single precision, which holds all inputs."""
_MOST_DIGITS = 300
"""Characters of an integer in a .csv file; with more it is no finite number."""


@dataclass(frozen=True, eq=False)
class TableColumn:
    """One column: its cells, or the codes of its categories."""

    heading: str
    dtype: str
    cells: HostArray
    categories: tuple[Category, ...] = ()
    raw: tuple[str, ...] = ()
    """The cells as a file holds them."""

    def texts(self) -> list[str]:
        """The cells as text: what labels are read from."""
        if self.raw:
            return list(self.raw)
        if self.categories:
            return [str(self.categories[code]) for code in self.cells.tolist()]
        return [str(value) for value in self.cells.tolist()]

    def values(self, source: str) -> NDArray[np.float32]:
        """The column of the inputs, each value checked."""
        cells = self.cells.astype(np.float64)
        with np.errstate(over="ignore"):
            column = cells.astype(np.float32)
        bad, large = ~np.isfinite(column), np.abs(cells) > _LARGEST_WHOLE
        is_float = self.dtype.startswith("float")
        if bad.any():
            row = int(np.argmax(bad))
            why = f"{cells[row]:g} is no finite number: correct it or leave the row out"
        elif self.dtype.startswith(("int", "uint")) and large.any():
            row = int(np.argmax(large))
            why = (
                f"{self.cells[row]} is larger than {_LARGEST_WHOLE:,}, beyond which single "
                "precision does not hold every integer: leave the column out if it is an "
                "identifier, or give it as real numbers in a larger unit"
            )
        elif is_float and (lost := rounded_away(cells, column)) is not None:
            row = lost
            why = f"{coarse_words(float(cells[row]), 'the column')}, or leave the column out"
        else:
            return column
        raise InvalidArgument(f"{source}, row {row + 1}, column {self.heading!r}: {why}")


@dataclass(frozen=True)
class Table:
    """Columns of one length, where they came from, and ids where the rows have names."""

    source: str
    columns: tuple[TableColumn, ...]
    ids: tuple[str, ...] = ()


def _refuse_missing(source: str, row: int, heading: str, cell: object) -> NoReturn:
    raise InvalidArgument(
        f"{source}, row {row + 1}, column {heading!r}: the value is missing ({cell!r}): fill it "
        "in, or leave out the row or the column"
    )


def text_column(heading: str, cells: list[str], source: str) -> TableColumn:
    """A column of a .csv file: integers, real numbers, true and false, or text."""
    for row, cell in enumerate(cells):
        if cell.strip() in _MISSING:
            _refuse_missing(source, row, heading, cell)
    raw = tuple(cells)
    if all(map(_INTEGER.fullmatch, cells)) and max(map(len, cells)) <= _MOST_DIGITS:
        exact = [int(cell) for cell in cells]
        kind = np.int64 if max(map(abs, exact)) < 2**63 else object
        return TableColumn(heading, "int64", np.array(exact, kind), raw=raw)
    if all(map(REAL.fullmatch, cells)):
        return TableColumn(heading, "float64", np.array([float(c) for c in cells]), raw=raw)
    if all(cell in _BOOLEANS for cell in cells):
        codes = np.array([_BOOLEANS[cell] for cell in cells])
        return TableColumn(heading, "bool", codes.astype(np.int64), (False, True))
    return _coded(heading, cells, "text")


def _coded(heading: str, cells: Sequence[Category], dtype: str) -> TableColumn:
    """Codes in the order of the sorted values."""
    categories = sorted(set(cells))
    code = {category: i for i, category in enumerate(categories)}
    return TableColumn(
        heading, dtype, np.array([code[cell] for cell in cells], np.int64), tuple(categories)
    )


def _number_column(heading: str, values: HostArray, source: str) -> TableColumn:
    """A column of a frame that NumPy knows the type of."""
    if values.dtype.kind == "b":
        return TableColumn(heading, "bool", values.astype(np.int64), (False, True))
    if values.dtype.kind not in "iuf":
        _refuse_type(source, heading, str(values.dtype))
    if values.dtype.kind == "f" and np.isnan(values).any():
        _refuse_missing(source, int(np.argmax(np.isnan(values))), heading, float("nan"))
    return TableColumn(heading, values.dtype.name, values)


def _refuse_type(source: str, heading: str, dtype: str) -> NoReturn:
    raise InvalidArgument(
        f"{source}: column {heading!r} holds {dtype}: give it as numbers or text (a date, for "
        "example, as days since another date), or leave it out"
    )


def _object_column(heading: str, cells: list[Any], source: str, dtype: str) -> TableColumn:
    """A column of Python objects: texts, or plain numbers."""
    if all(isinstance(cell, str) for cell in cells):
        return _coded(heading, cells, dtype)
    if all(isinstance(cell, bool | int | float | np.generic) for cell in cells):
        return _number_column(heading, np.asarray(cells), source)
    kinds = sorted({type(cell).__name__ for cell in cells})
    return _refuse_type(source, heading, " and ".join(kinds))


def _categories(heading: str, values: list[Any], source: str) -> tuple[Category, ...]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not all(isinstance(value, str | int | float) for value in plain):
        _refuse_type(source, heading, f"categories such as {plain[0]!r}")
    return tuple(plain)


def _columns_of(frame: Frame, source: str) -> Table:
    library = type(frame).__module__.partition(".")[0]
    return (pandas_columns if library == "pandas" else polars_columns)(frame, source)


def pandas_columns(frame: Frame, source: str = "the frame") -> Table:
    """The columns of a pandas DataFrame; an index with names of its own gives the ids."""

    def column(place: int) -> TableColumn:
        heading, series = str(frame.columns[place]), frame.iloc[:, place]
        missing = series.isna().to_numpy()
        if missing.any():
            row = int(np.argmax(missing))
            _refuse_missing(source, row, heading, series.iloc[row])
        kind = series.dtype
        if hasattr(kind, "categories"):
            names = _categories(heading, list(kind.categories), source)
            codes = series.cat.codes.to_numpy().astype(np.int64)
            return TableColumn(heading, "ordered" if kind.ordered else "category", codes, names)
        values = series.to_numpy()
        if values.dtype.kind in "OUT":
            return _object_column(heading, series.tolist(), source, "text")
        return _number_column(heading, values, source)

    names = tuple(str(name) for name in frame.index)
    counts = names == tuple(str(i) for i in range(len(names)))  # an index that only counts
    return _table(frame, source, column, () if counts or len(set(names)) < len(names) else names)


def polars_columns(frame: Frame, source: str = "the frame") -> Table:
    """The columns of a polars DataFrame."""

    def column(place: int) -> TableColumn:
        heading, series = str(frame.columns[place]), frame.to_series(place)
        if series.null_count():
            _refuse_missing(source, int(series.is_null().arg_max()), heading, None)
        kind = type(series.dtype).__name__
        if kind == "Enum":
            names = _categories(heading, list(series.dtype.categories), source)
            codes = {name: i for i, name in enumerate(names)}
            cells = np.array([codes[cell] for cell in series.to_list()], np.int64)
            return TableColumn(heading, "category", cells, names)
        if kind in ("String", "Utf8", "Categorical", "Object"):
            dtype = "category" if kind == "Categorical" else "text"
            return _object_column(heading, series.to_list(), source, dtype)
        if not (series.dtype.is_numeric() or kind == "Boolean"):
            _refuse_type(source, heading, str(series.dtype))
        return _number_column(heading, series.to_numpy(), source)

    return _table(frame, source, column, ())


def _table(
    frame: Frame, source: str, column: Callable[[int], TableColumn], ids: tuple[str, ...]
) -> Table:
    if not len(frame):
        raise InvalidArgument(f"{source} holds no inputs: it has no row; give at least one")
    return Table(source, tuple(column(i) for i in range(frame.shape[1])), ids)


_MOST_BYTES = 2**30
"""Bytes of a .csv file: read as text it takes ten times as much memory."""
_UNIT = re.compile(r"(?P<name>.*\S)(\s*\[(?P<square>[^\[\]]+)\]|\s+\((?P<round>[^()]+)\))\s*")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LAZY = "LazyFrame"
"""A query of polars that has no rows yet."""
_LISTED = 12
"""Columns named in a sentence; a reader finds a misspelt one among them or in the file."""


def is_frame(source: Frame) -> bool:
    """Whether it is a frame of pandas or polars; neither is imported."""
    name, library = type(source).__name__, type(source).__module__.partition(".")[0]
    return name in ("DataFrame", _LAZY) and library in ("pandas", "polars")


def is_table_file(path: Path, labels: GivenLabels = None) -> bool:
    """Whether a file is a table: a .parquet, or a .csv that is no list of image files.

    A .csv with a column "label" is a list of images unless `labels` says what the labels are: as
    a table it would give the labels to the model.
    """
    if path.suffix.lower() == ".parquet":
        return True
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    header = csv_header(path)
    names = header[0].split(";") if len(header) == 1 else header
    return bool(header) and "file" not in names and (labels is not None or "label" not in names)


def from_frame(frame: Frame, options: ReadOptions) -> Inputs:
    """Inputs from a DataFrame; labels are the name of a column, or one label for each row."""
    if type(frame).__name__ == _LAZY:
        raise InvalidArgument("a LazyFrame of polars has no rows yet: pass frame.collect()")
    return _inputs(_columns_of(frame, "the frame"), options)


def from_table_file(path: Path, options: ReadOptions) -> Inputs:
    """Inputs from a .csv or .parquet file; the rest as for `from_frame`."""
    if options.size is not None:
        raise InvalidArgument(
            f"{path} is a table: --size (size=) resizes images only; leave it out"
        )
    read = _read_parquet if path.suffix.lower() == ".parquet" else _read_csv
    return _inputs(read(path), options)


def _inputs(table: Table, options: ReadOptions) -> Inputs:
    source, labels, heading = table.source, options.labels, options.group_column
    if heading and isinstance(labels, str) and labels.strip() == heading.strip():
        raise InvalidArgument(
            f"{source}: column {heading!r} is named for the labels and for the groups: give "
            "the groups (--group, groups=) a column of their own"
        )
    if options.scale is not None:
        raise InvalidArgument(
            f"{source} is a table: leave out --scale (scale=), columns keep their units"
        )
    rest = tuple(column for column in table.columns if column.heading != heading)
    columns, label_column = _split(replace(table, columns=rest), labels)
    if not columns:
        raise InvalidArgument(f"{source} has no column besides the labels: give it features")
    if label_column is not None:
        labels = label_column.texts()
    known: Labels | None = None
    texts, targets = None if labels is None else _as_texts(labels), options.targets
    if targets is True:
        targets = None if texts is None else target_numbers(texts, source)
    elif texts is not None:
        known = read_labels(texts, source, options.class_names, lambda i: f"row {i + 1}")
    x = [column.values(source) for column in columns]
    ids = table.ids if options.ids is None else tuple(map(str, options.ids))
    targets = None if targets is None else tuple(targets) or None
    own = replace(options, labels=known, targets=targets, ids=ids or None)
    features = _features(columns, [float(values[0]) for values in x])
    return labelled_inputs(np.stack(x, axis=1), source, own, "a table", features)


def _as_texts(labels: GivenLabels) -> GivenLabels:
    """Labels as a .csv file would hold them, so that every kind of table reads them alike."""
    values = labels.to_list() if hasattr(labels, "to_list") else np.asarray(labels).ravel().tolist()
    return [value if value is None else str(value) for value in values]


def _split(table: Table, labels: GivenLabels) -> tuple[list[TableColumn], TableColumn | None]:
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
        named = (column.heading, "", "")
        if match is not None and short.count(name) == 1:
            named = (name, (match["square"] or match["round"]).strip(), column.heading)
        features.append(Feature(*named, column.dtype, column.categories, example))
    return tuple(features)


def _read_csv(path: Path) -> Table:
    """A .csv file with the names of its columns in the first row, typed as pandas types it."""
    if path.stat().st_size > _MOST_BYTES:
        raise InvalidArgument(
            f"{path} is larger than {_MOST_BYTES // 2**20} MiB: write a part of it, or a .parquet "
            "file"
        )
    header, rows = csv_rows(path)
    if header and all(_NUMBER.fullmatch(heading) for heading in header):
        raise InvalidArgument(
            f"{path}: the first row must hold the names of the columns, got the values "
            f"{', '.join(header[:3])}, …: add such a row above"
        )
    _check_headings(header, str(path))
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            refuse_cells(path, number, row, header)
    if not rows:
        raise InvalidArgument(
            f"{path} holds no inputs: it has the names of columns but no row; give at least one"
        )
    cells = ([row[i] for row in rows] for i in range(len(header)))
    columns = [text_column(h, column, str(path)) for h, column in zip(header, cells, strict=True)]
    return Table(str(path), tuple(columns))


_MOST_ROWS = 10_000_000
"""Of a .parquet file, which may hold a billion equal rows in a kilobyte: the ids and digests of so
many inputs take 2 GB by themselves."""


def _refuse_many_rows(path: Path, library: str) -> None:
    """Refuse a file for what its own metadata say, before anything is decoded."""
    if library == "pandas":
        stated = import_module("pyarrow.parquet").ParquetFile(path).metadata
        rows, columns = stated.num_rows, stated.num_columns
    else:
        import polars

        lazy = polars.scan_parquet(path)
        rows, columns = lazy.select(polars.len()).collect().item(), len(lazy.collect_schema())
    if rows > _MOST_ROWS:
        raise InvalidArgument(
            f"{path} has {rows:,} rows, more than {_MOST_ROWS:,}: write a part of it, chosen at "
            "random"
        )
    refuse_too_large(str(path), 4 * rows * columns, "write a part of it, chosen at random")


def _read_parquet(path: Path) -> Table:
    """A .parquet file, read by pandas or polars, whichever there is."""
    failed: Exception | None = None
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
            import_module("pyarrow.parquet" if library == "pandas" else library)
        except ImportError as error:
            failed = error
            continue
        with refusing(f"{path} cannot be read as parquet", "write it again", Exception):
            _refuse_many_rows(path, library)
            frame = module.read_parquet(path)
        return _columns_of(frame, str(path))
    raise MissingPackage(
        f"{path} needs polars, or pandas with pyarrow: pip install polars"
    ) from failed
