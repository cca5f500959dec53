"""Inputs that are text, bytes or other items: from memory, text files, and folders of files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from surefoot.errors import InvalidArgument, refusing, system_words
from surefoot.inputs.arrays import ReadOptions, labelled_inputs
from surefoot.inputs.files import read_npy
from surefoot.inputs.labels import Data, Labels, read_labels
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import as_item_array, is_image, item_digest
from surefoot.system.text import first_again

REAL = re.compile(
    r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)\s*", re.ASCII | re.IGNORECASE
)
"""A number in a cell of a .csv file."""


def csv_header(path: Path) -> list[str]:
    """The names in the first row of a .csv file; none where it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [name.strip() for name in next(csv.reader(file), [])]
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The first row of a .csv file, and the others that are not empty."""
    with no_csv_refused(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        return next(reader, []), [row for row in reader if row]


def no_csv_refused(path: Path) -> AbstractContextManager[None]:
    """Within it an error of reading becomes the refusal of a file that is no CSV."""
    what, way_out = f"{path} cannot be read as CSV", "save it as UTF-8 text"
    return refusing(what, way_out, OSError, UnicodeDecodeError, csv.Error)


def refuse_cells(path: Path, number: int, row: Sequence[str], header: Sequence[str]) -> NoReturn:
    """Refuse a row that is longer or shorter than the first."""
    raise InvalidArgument(
        f"{path}: row {number} has {len(row)} cells below {len(header)} columns: put a "
        "cell that holds a comma in quotation marks"
    )


def refuse_other_separators(headings: Sequence[str], source: str) -> None:
    """Refuse the first row of a .csv file whose columns are not separated by commas."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(headings) == 1 and sign in headings[0]:
            raise InvalidArgument(f"{source} separates its columns by {name}: use commas")


def refuse_twice(names: Sequence[str], what: str) -> None:
    """Refuse a name that stands twice; `what` begins the sentence."""
    again = first_again(names)
    if again is not None:
        raise InvalidArgument(f"{what} {names[again]!r} twice: leave one of them out")


def json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    """One line of a .jsonl file: an object with the field text, and each field once."""
    place = f"{path}, line {number}"

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        refuse_twice([key for key, _ in pairs], f"{place} has the field")
        return dict(pairs)

    with refusing(f"{place} is no JSON", "write one object a line", ValueError, RecursionError):
        row = json.loads(line, object_pairs_hook=distinct)
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        what = f"the fields {', '.join(map(str, row))}" if isinstance(row, dict) else "no object"
        raise InvalidArgument(
            f"{place} holds {what[:80]}: every line must be an object with the field "
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


READ_AS = ("items", "text", "bytes")
"""How inputs may be read as something else than arrays: as they are, or files as text or bytes."""
TEXT_SUFFIXES = (".txt", ".jsonl")
_NO_NUMBERS = (str, bytes, bytearray, dict)
_MOST_BYTES = 2 * 2**30
"""Bytes of all files that are read as items: every one is kept whole in memory."""
_MOST_CELL = 2**24
"""Characters of one cell of a CSV file; the csv module's own limit is too low for documents."""


def are_items(source: Data, labelled: bool = True) -> bool:
    """Whether a sequence holds items that cannot be meant as arrays of numbers.

    Texts and bytes; Pillow images of different sizes; dicts, and tuples that hold a text, bytes or
    a dict. Where labels are not given apart (`labelled`), dicts and tuples hold them.
    """
    if isinstance(getattr(source, "dtype", None), np.dtype):
        return source.ndim == 1 and source.dtype.kind in "OUST"
    if not isinstance(source, list | tuple) or not source:
        return False
    first = source[0]
    if is_image(first):
        return len({(item.size, item.mode) for item in source if is_image(item)}) > 1
    if isinstance(first, dict | tuple):
        mixed = isinstance(first, dict) or any(isinstance(part, _NO_NUMBERS) for part in first)
        return labelled and mixed
    return isinstance(first, _NO_NUMBERS)


def from_items(
    items: Any,  # noqa: ANN401  any sequence
    source: str,
    options: ReadOptions,
    reading: str = "items as given",
) -> Inputs:
    """Inputs from items. Every item must have a digest; `digest` gives it where it has none."""
    values = items.tolist() if isinstance(items, np.ndarray) else list(items)
    options = replace(options, targets=None)
    inputs = labelled_inputs(as_item_array(values), source, options, reading)
    for name, item in zip(inputs.ids, values, strict=True):
        try:
            item_digest(item, options.digest)
        except InvalidArgument as error:
            raise InvalidArgument(f"{source}, input {name}: {error}") from error
    return inputs


def _from_text_file(path: Path, options: ReadOptions) -> Inputs:
    """A .txt file, one input a line, or a .jsonl file with the fields text, label and id."""
    lines = _read_text(path).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    if path.suffix.lower() == ".jsonl":
        rows = [json_row(path, i, line) for i, line in enumerate(lines, 1)]
        return _from_rows(path, rows, "line", options)
    empty = next((i for i, line in enumerate(lines, 1) if not line), None)
    if empty is not None:
        raise InvalidArgument(
            f"{path}, line {empty} is empty: delete the line, or write the texts as .jsonl, where "
            "an empty one is unmistakable"
        )
    labels = options.labels
    if isinstance(labels, str | Path):  # labels, one a line, or an .npy file
        file = Path(labels)
        is_array = file.suffix.lower() == ".npy"
        labels = read_npy(file) if is_array else _read_text(file).splitlines()
    return from_items(lines, str(path), replace(options, labels=labels), "one text a line")


def is_text_path(source: Data) -> bool:
    """Whether it is a file of texts: .txt, .jsonl, or a CSV file with the column text.

    A CSV file of texts has beside it label and id at most.
    """
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    suffix = Path(source).suffix.lower()
    header = csv_header(Path(source)) if suffix == ".csv" else []
    return suffix in TEXT_SUFFIXES or ("text" in header and set(header) <= {"text", "label", "id"})


def from_item_path(path: Path, options: ReadOptions) -> Inputs:
    """Items from a file of texts, or from a folder of files."""
    read_as = options.read_as
    if not path.exists():
        raise InvalidArgument(f"there is no data at {path}: check the path")
    if path.suffix.lower() == ".txt" and path.is_file() and read_as in (None, "text"):
        return _from_text_file(path, options)
    if options.labels is not None:
        raise InvalidArgument(f"{path} has labels of its own: leave out --labels (labels=)")
    if path.is_dir():
        return _from_files(path, read_as or "bytes", options)
    if read_as in (None, "text") and is_text_path(path):
        is_lines = path.suffix.lower() in TEXT_SUFFIXES
        return _from_text_file(path, options) if is_lines else _from_text_table(path, options)
    raise InvalidArgument(
        f"{path} is one file: --read-as {read_as} (read_as=) reads every file of a folder as one "
        "input; give the folder"
    )


def _from_text_table(path: Path, options: ReadOptions) -> Inputs:
    """A CSV file with the columns text and, where known, label and id."""
    csv.field_size_limit(_MOST_CELL)
    with no_csv_refused(path):
        lines = list(csv.reader(io.StringIO(_read_text(path), newline=""), strict=True))
    header = [name.strip() for name in lines[0]]
    refuse_twice(header, f"{path} has the column")
    rows = []
    for number, cells in enumerate(filter(None, lines[1:]), 1):
        if len(cells) != len(header):
            refuse_cells(path, number, cells, header)
        rows.append(dict(zip(header, cells, strict=True)))
    return _from_rows(path, rows, "row", options)


def _from_files(path: Path, read_as: str, options: ReadOptions) -> Inputs:
    """Every file of a folder as one input: bytes, or text in UTF-8; one folder a class, if any."""
    if read_as == "items":
        raise InvalidArgument(
            f"{path}: files are read as text or as bytes: pass --read-as bytes (read_as='bytes')"
        )
    inside = sorted(p for p in path.iterdir() if not p.name.startswith("."))
    folders, files = [p for p in inside if p.is_dir()], [p for p in inside if p.is_file()]
    if folders and files:
        raise InvalidArgument(
            f"{path} holds files, such as {files[0].name}, beside folders, such as "
            f"{folders[0].name}: put every file into the folder of its class"
        )
    if folders:
        pairs = [
            (i, file)
            for i, folder in enumerate(folders)
            for file in sorted(folder.iterdir())
            if file.is_file() and not file.name.startswith(".")
        ]
        files = [file for _, file in pairs]
    size = sum(file.stat().st_size for file in files)
    if not files:
        raise InvalidArgument(
            f"{path} holds no files: give a folder of files, or one folder a class"
        )
    if size > _MOST_BYTES:
        raise InvalidArgument(
            f"{path} holds {size / 2**30:.1f} GiB, more than {_MOST_BYTES // 2**30}: take a part"
        )
    labels = None
    if folders:
        names = [folder.name for folder in folders]
        classes = folder_classes(path, names, options)
        labels = replace(classes, numbers=classes.numbers[[i for i, _ in pairs]])
    read: Callable[[Path], Any] = _read_text if read_as == "text" else _read_bytes
    ids = [file.relative_to(path).as_posix() for file in files]
    options = replace(options, labels=labels, ids=ids)
    return from_items(map(read, files), str(path), options, f"every file read as {read_as}")


def folder_classes(path: Path, names: Sequence[str], options: ReadOptions) -> Labels:
    """The classes of folders of these names."""
    return read_labels(names, str(path), options.class_names, lambda i: f"folder {names[i]}")


def _from_rows(path: Path, rows: list[dict[str, Any]], word: str, options: ReadOptions) -> Inputs:
    """Rows with text and, where known, label and id."""
    labels: Labels | None = None
    if any("label" in row for row in rows):
        values = np.empty(len(rows), dtype=object)
        values[:] = [row.get("label") for row in rows]
        labels = read_labels(values, str(path), options.class_names, lambda i: f"{word} {i + 1}")
    options = replace(options, labels=labels, ids=row_ids(path, rows, word))
    texts = [row["text"] for row in rows]
    return from_items(texts, str(path), options, f"the text of every {word}")


def _read_bytes(path: Path) -> bytes:
    what, way_out = f"{path} cannot be read", "choose a file that you may read"
    with refusing(what, way_out, OSError, words=system_words):
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidArgument(
                f"{path} has more than {_MOST_BYTES // 2**30} GiB: take a part of it"
            )
        return path.read_bytes()


def _read_text(path: Path) -> str:
    way_out = "convert it, or read its bytes (--read-as bytes)"
    with refusing(f"{path} is not UTF-8", way_out, UnicodeDecodeError):
        return _read_bytes(path).decode("utf-8-sig")
