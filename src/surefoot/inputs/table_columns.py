"""The columns of a table: numbers as they are, categories as codes, missing values refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.inputs.rounding import coarse_words, rounded_away
from surefoot.subject.inputs import Category

_MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""What pandas reads as missing: a model fitted on its frames has never met these as categories."""
_BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False,
             "false": False}  # fmt: skip
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_REAL = re.compile(
    r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)\s*", re.ASCII | re.IGNORECASE
)
_LARGEST_WHOLE = 2**24
"""Integers up to here are exact in single precision, which holds all inputs."""
_MOST_DIGITS = 300
"""Characters of an integer in a .csv file; with more it is no finite number."""


@dataclass(frozen=True, eq=False)
class TableColumn:
    """One column: its cells, or the codes of its categories."""

    heading: str
    dtype: str
    cells: NDArray[Any]
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
        bad = ~np.isfinite(column)
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidArgument(
                f"{source}, row {row + 1}, column {self.heading!r}: {cells[row]:g} is no finite "
                "number: correct it or leave the row out"
            )
        large = np.abs(cells) > _LARGEST_WHOLE
        if self.dtype.startswith(("int", "uint")) and large.any():
            row = int(np.argmax(large))
            raise InvalidArgument(
                f"{source}, row {row + 1}, column {self.heading!r}: {self.cells[row]} is larger "
                f"than {_LARGEST_WHOLE:,}, beyond which single precision does not hold every "
                "integer: leave the column out if it is an identifier, or give it as real numbers "
                "in a larger unit"
            )
        if self.dtype.startswith("float"):
            _refuse_rounded(source, self.heading, cells, column)
        return column


@dataclass(frozen=True)
class Table:
    """Columns of one length, where they came from, and ids where the rows have names."""

    source: str
    columns: tuple[TableColumn, ...]
    ids: tuple[str, ...] = ()


def _refuse_rounded(
    source: str, heading: str, cells: NDArray[np.float64], column: NDArray[np.float32]
) -> None:
    """Refuse real numbers that differ by too little, for their size, for single precision."""
    row = rounded_away(cells, column)
    if row is not None:
        raise InvalidArgument(
            f"{source}, row {row + 1}, column {heading!r}: "
            f"{coarse_words(float(cells[row]), 'the column')}, or leave the column out"
        )


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
    if all(map(_REAL.fullmatch, cells)):
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


def _number_column(heading: str, values: NDArray[Any], source: str) -> TableColumn:
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


def pandas_columns(frame: Any, source: str = "the frame") -> Table:  # noqa: ANN401  a frame of pandas or polars
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

    return _table(frame, source, column, _row_names(frame.index))


def _row_names(index: Any) -> tuple[str, ...]:  # noqa: ANN401  a frame of pandas or polars
    """The rows' own names; empty where the index only counts, or names two rows alike."""
    names = tuple(str(name) for name in index)
    counts = names == tuple(str(i) for i in range(len(names)))
    return () if counts or len(set(names)) != len(names) else names


def polars_columns(frame: Any, source: str = "the frame") -> Table:  # noqa: ANN401  a frame of pandas or polars
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
    frame: Any,  # noqa: ANN401  a frame of pandas or polars
    source: str,
    column: Callable[[int], TableColumn],
    ids: tuple[str, ...],
) -> Table:
    if not len(frame):
        raise InvalidArgument(f"{source} holds no inputs: it has no row; give at least one")
    return Table(source, tuple(column(i) for i in range(frame.shape[1])), ids)
