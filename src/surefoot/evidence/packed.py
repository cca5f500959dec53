"""Large tables within a statement: JSON text, compressed, as base64."""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from surefoot.core.tasks import Entry
from surefoot.errors import EvidenceFailed
from surefoot.records.json_records import column_from_plain, result_from_plain, result_to_json
from surefoot.records.record import InputRow
from surefoot.store.chains import evidence_from_text, evidence_to_text
from surefoot.system.text import Json, escape_unprintable

Table = dict[str, Json]
ENCODING = "zlib+base64"
NEW_COPY = "get a new copy of it, or write it again (surefoot evidence)"
"""The way out of a file that is damaged."""
MOST_UNPACKED_BYTES = 256 * 2**20
"""Of all tables of a file. A hostile file cannot fill the memory."""
_MOST_VALUES = 12_000_000
"""Values in all JSON text of a file, in use some 32 bytes each."""
_MOST_OBJECTS = 1_500_000
"""Lists and objects in all JSON text of a file, in use up to 232 bytes each."""
_PLAIN_LETTERS = 4_000
"""Tables up to this long stay readable."""


def damaged(problem: str) -> EvidenceFailed:
    """What is wrong with a file, and the way out."""
    return EvidenceFailed(f"{problem}: {NEW_COPY}")


@contextmanager
def failures_name(path: str | Path) -> Iterator[None]:
    """What is wrong with a file is said with its name; that a hostile one asks too much, too."""
    try:
        yield
    except EvidenceFailed as error:
        words = escape_unprintable(str(error))  # of a stranger, as all that the file says
        named = str(error).startswith(str(path))
        raise EvidenceFailed(words if named else f"{path}: {words}") from error
    except RecursionError as error:
        raise damaged(f"{path}: it is nested too deeply to be evidence") from error
    except MemoryError as error:
        raise damaged(
            f"{path}: it needs more memory than the evidence of a run of surefoot"
        ) from error


def json_text(value: Json) -> str:
    """The one text that we write for a value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def pack(table: Table) -> Table:
    """The table, or its packed form where it is long."""
    text = json_text(table)
    if len(text) <= _PLAIN_LETTERS:
        return table
    data = text.encode("utf-8", "surrogatepass")
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    return {"encoding": ENCODING, "bytes": len(data), "data": packed}


class Unpacking:
    """What one file may still unpack to: bytes, values, lists and objects.

    A file that would need gigabytes is refused before they are used.
    """

    def __init__(self) -> None:
        self._bytes = MOST_UNPACKED_BYTES
        self._values = _MOST_VALUES
        self._objects = _MOST_OBJECTS

    def table(self, table: Json) -> Json:
        """The table of a packed form; anything else as it is."""
        if not isinstance(table, dict) or table.keys() != {"encoding", "bytes", "data"}:
            return table
        if table["encoding"] != ENCODING:
            raise damaged("a packed table of the file is damaged")
        return self.json(self.inflate(table["data"], table["bytes"]))

    def inflate(self, data: Json, size: Json) -> bytes:
        """What is compressed, which must be exactly as long as the file says."""
        if type(size) is not int or not isinstance(data, str):
            raise damaged("a packed table of the file is damaged")
        if not 0 <= size <= self._bytes:
            raise EvidenceFailed(
                f"a table of the file has {str(size)[:20]} bytes, and all together may have "
                f"{MOST_UNPACKED_BYTES:,}: it is no evidence of a run of surefoot; {NEW_COPY}"
            )
        self._bytes -= size
        try:
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(base64.b64decode(data, validate=True), size + 1)
        except (zlib.error, binascii.Error, ValueError) as error:
            raise damaged(f"a packed table of the file is damaged ({error})") from error
        if len(plain) != size or not unpacker.eof or unpacker.unused_data:
            raise damaged("a packed table of the file is not as long as it says")
        return plain

    def json(self, text: bytes) -> Json:
        """The value in JSON text; names that come twice, and numbers that are none, are refused."""
        self._values -= text.count(b",")
        self._objects -= text.count(b"[") + text.count(b"{")
        if self._values < 0 or self._objects < 0:
            raise damaged("the file has more values than evidence of a run of surefoot has")
        try:
            return json.loads(
                text.decode("utf-8", "surrogatepass"),
                object_pairs_hook=_without_doubles,
                parse_constant=_refuse_constant,
            )
        except UnicodeDecodeError:
            raise damaged("it is no evidence file") from None
        except (ValueError, RecursionError) as error:
            raise damaged(f"the file is not JSON as surefoot writes it ({error})") from error


def _without_doubles(pairs: list[tuple[str, Json]]) -> Table:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return names


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


INPUT_COLUMNS = ("id", "label", "predicted", "digest", "group", "clean_kept")
JOURNAL_COLUMNS = ("subject", "level", "start", "stop", "evidence")
MOST_INPUTS = 1_000_000
"""A hostile file cannot have us make more rows of inputs, in use some 400 bytes each."""
_MOST_RESULTS = 250_000
"""Different results of inputs, in use some 2 kB each."""
MOST_ROWS = 1_000_000
"""Of a journal, in use some 400 bytes each: 100,000 inputs may have ten each."""
MOST_TRIALS = 2**53
"""The number of a trial: whole numbers beyond are no longer exact as floats."""


def input_columns(rows: Sequence[InputRow]) -> Table:
    """One list for each field; each different result once, and its place for each input."""
    rows = tuple(rows)
    columns: Table = {n: [getattr(row, n) for row in rows] for n in (*INPUT_COLUMNS, "result")}
    places: dict[str, int] = {}
    distinct = {id(result): result for result in columns["result"]}  # rows may share one
    place_of = {
        key: places.setdefault(result_to_json(one), len(places)) for key, one in distinct.items()
    }
    columns["result"] = [place_of[id(result)] for result in columns["result"]]
    columns["results"] = [json.loads(text) for text in places]
    return columns


def input_rows(columns: Table) -> tuple[InputRow, ...]:
    """The rows of a record, each value checked; equal results are one object.

    ValueError, or `StoreFailed`, where the columns are none of such a table.
    """
    lists = [columns[name] for name in (*INPUT_COLUMNS, "result")]
    check_length(lists, MOST_INPUTS)
    check_length([columns["results"]], _MOST_RESULTS)
    if any(type(place) is not int or place < 0 for place in lists[-1]):
        raise ValueError("a place of a result is no whole number")
    results = [result_from_plain(one) for one in columns["results"]]
    checked = [column_from_plain(name, columns[name]) for name in INPUT_COLUMNS]
    return tuple(
        InputRow(**dict(zip(INPUT_COLUMNS, values, strict=True)), result=results[place])
        for *values, place in zip(*checked, lists[-1], strict=True)
    )


def journal_columns(entries: Mapping[str, Sequence[Entry]]) -> Table:
    """One list for each field; subjects by their place."""
    rows = [
        (place, e.level, e.start, e.stop, evidence_to_text(e.evidence, e.stop - e.start))
        for place, own in enumerate(entries.values())
        for e in own
    ]
    lists = zip(*rows, strict=True) if rows else ((),) * len(JOURNAL_COLUMNS)
    columns = {name: list(own) for name, own in zip(JOURNAL_COLUMNS, lists, strict=True)}
    return {"subjects": list(entries), **columns}


def journal_entries(journal: Table) -> dict[str, list[Entry]]:
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


def check_length(lists: Sequence[Json], most: int) -> None:
    """ValueError for what is no list, and for one that is too long."""
    longest = max(len(_list(one)) for one in lists)
    if longest > most:
        raise ValueError(f"a table has {longest:,} rows, more than {most:,}")


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError(f"a column is no list: {str(value)[:40]}")
    return value


_REFERENCE = "#"
"""Begins the number of an array; no base64 text begins with it."""
_VALUE = 8
"""Bytes of a float64: the first bytes of all values are stored together, then the second, …"""
_FIELD = '"witness":"'
"""Of a proof, as a row of the journal writes it."""


def without_arrays(inputs: Table, journal: Table) -> tuple[Table, Table, Table | None]:
    """Inputs and journal with references for arrays, and the table of arrays; None without any."""
    places: dict[str, int] = {}

    def reference(text: Json) -> Json:
        if not isinstance(text, str) or not text or _bytes_of(text) is None:
            return text
        return f"{_REFERENCE}{places.setdefault(text, len(places))}"

    inputs, journal = _replaced(inputs, journal, reference)
    if not places:
        return inputs, journal, None
    arrays = [_bytes_of(text) or b"" for text in places]
    # The bytes of one place together: those of neighbouring values are alike, and pack better.
    planes = b"".join(_turned(one, -1, _VALUE) for one in arrays)
    data = base64.b64encode(zlib.compress(planes, 9)).decode()
    lengths = [len(one) for one in arrays]
    return inputs, journal, {"encoding": ENCODING, "lengths": lengths, "data": data}


def with_arrays(
    inputs: Table, journal: Table, table: Json, unpacking: Unpacking
) -> tuple[Table, Table]:
    """Inputs and journal with the arrays themselves, as `without_arrays` had them."""
    if table is None:
        return inputs, journal
    lengths = table["lengths"]
    possible = isinstance(lengths, list) and all(type(n) is int and n > 0 for n in lengths)
    if table["encoding"] != ENCODING or not possible:
        raise damaged("the counterexamples of the file are damaged")
    content, texts, start = unpacking.inflate(table["data"], sum(lengths)), [], 0
    for length in lengths:
        plain = _turned(content[start : start + length], _VALUE, -1)
        texts.append(base64.b64encode(plain).decode())
        start += length

    def array(text: Json) -> Json:
        if not isinstance(text, str) or not text.startswith(_REFERENCE):
            return text
        return texts[int(text[1:])]

    return _replaced(inputs, journal, array)


def _replaced(inputs: Table, journal: Table, change: Callable[[Json], Json]) -> tuple[Table, Table]:
    """Copies with every counterexample changed."""
    results = [
        one | {"witness": change(one["witness"])} if "witness" in one else one
        for one in inputs["results"]
    ]
    rows = [_row_with(text, change) for text in journal["evidence"]]
    return inputs | {"results": results}, journal | {"evidence": rows}


def _row_with(text: str, change: Callable[[Json], Json]) -> str:
    if _FIELD not in text:
        return text
    kind, values = json.loads(text)
    changed = values | {"witness": change(values["witness"])}
    return json.dumps([kind, changed], separators=(",", ":"))


def _bytes_of(text: str) -> bytes | None:
    """The bytes of base64 text of float64 values; None for another text."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    whole = len(content) % _VALUE == 0 and base64.b64encode(content).decode() == text
    return content if whole else None


def _turned(content: bytes, rows: int, columns: int) -> bytes:
    """Bytes in rows, column by column."""
    return np.frombuffer(content, np.uint8).reshape(rows, columns).T.tobytes()
