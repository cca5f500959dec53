"""Rows of inputs by columns: an input without a trial costs a few bytes, and no object."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from surefoot.core.reasons import Why
from surefoot.core.results import InputResult, Undecided
from surefoot.records.record import InputRow

UNTRIED = Undecided(Why.NO_TRIAL.of())
"""The result of every input that had no trial."""
MOST_NAMED = 100_000
"""Inputs without a trial whose digests are kept, 32 bytes each; of more the study's own digest,
which covers all inputs, is the only one."""
_DIGEST = 32
"""Bytes of a digest."""
_MOST_BYTES = 2**30
"""Of an unpacked column: a damaged store cannot fill the memory."""


class NumberedIds(Sequence[str]):
    """The ids of inputs that have none of their own: their places, all equally long."""

    def __init__(self, number: int) -> None:
        self._number, self._digits = number, len(str(max(number - 1, 1)))

    def __len__(self) -> int:
        """How many."""
        return self._number

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401  an index or a slice
        """The id at a place, or those of a slice."""
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(self._number)))
        if not -self._number <= place < self._number:
            raise IndexError(place)
        return f"{place % self._number:0{self._digits}d}"

    def __iter__(self) -> Iterator[str]:
        """All of them."""
        return (f"{i:0{self._digits}d}" for i in range(self._number))


@dataclass(frozen=True, eq=False)
class InputTable(Sequence[InputRow]):
    """The rows of all inputs of a run in which some had no trial.

    `results` are those of the inputs that had one, by place, in rising order; `digests` those that
    are kept. `labels` and `predicted` are None where there are none, `groups` is empty.
    """

    ids: Sequence[str]
    labels: NDArray[np.int64] | None
    predicted: NDArray[np.int64] | None
    clean_kept: NDArray[np.bool_]
    groups: Sequence[str]
    digests: Mapping[int, str]
    results: Mapping[int, InputResult]

    def __len__(self) -> int:
        """How many inputs, with and without a trial."""
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> InputRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[InputRow, ...]: ...
    def __getitem__(self, place: int | slice) -> InputRow | tuple[InputRow, ...]:
        """The row of an input, or of several."""
        if isinstance(place, slice):
            return tuple(map(self._row, range(*place.indices(len(self)))))
        return self._row(range(len(self))[place])

    def __iter__(self) -> Iterator[InputRow]:
        """All rows, one after the other."""
        return map(self._row, range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same rows, by columns or not."""
        if not isinstance(other, InputTable | tuple | list) or len(self) != len(other):
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _row(self, i: int) -> InputRow:
        return InputRow(
            self.ids[i],
            None if self.labels is None else int(self.labels[i]),
            None if self.predicted is None else int(self.predicted[i]),
            self.results.get(i, UNTRIED),
            self.digests.get(i, ""),
            self.groups[i] if self.groups else "",
            bool(self.clean_kept[i]),
        )

    @property
    def tried(self) -> tuple[InputRow, ...]:
        """The rows of the inputs that had a trial."""
        return tuple(map(self._row, self.results))

    def column(self, name: str) -> list[Any]:
        """A field of all rows."""
        match name:
            case "id":
                return list(self.ids)
            case "group":
                return list(self.groups) or [""] * len(self)
            case "digest" | "result":
                known: Mapping[int, Any] = self.digests if name == "digest" else self.results
                other: Any = "" if name == "digest" else UNTRIED
                return [known.get(i, other) for i in range(len(self))]
            case _:
                column = getattr(self, "labels" if name == "label" else name)
                return [None] * len(self) if column is None else column.tolist()


def tried_rows(rows: Sequence[InputRow]) -> Sequence[InputRow]:
    """The rows without those of which nothing is known but their names and clean labels."""
    return rows.tried if isinstance(rows, InputTable) else rows


def with_results(
    rows: Sequence[InputRow], results: Mapping[int, InputResult]
) -> Sequence[InputRow]:
    """The same inputs with these results, by place; the others had no trial."""
    if isinstance(rows, InputTable) and len(results) < len(rows):
        return replace(rows, results=results)
    return tuple(replace(row, result=results.get(i, UNTRIED)) for i, row in enumerate(rows))


def by_columns(rows: Sequence[InputRow]) -> Sequence[InputRow]:
    """A table where inputs had no trial and all are described alike; else the rows as they are."""
    if isinstance(rows, InputTable):
        return rows
    results = {i: row.result for i, row in enumerate(rows) if row.result != UNTRIED}
    kinds = {(row.label is None, row.predicted is None, bool(row.group)) for row in rows}
    digests = {i: row.digest for i, row in enumerate(rows) if row.digest}
    named = all(_is_digest(one) for one in digests.values()) and (
        len(digests) in (0, len(rows)) or digests.keys() == results.keys()
    )
    kept = {row.clean_kept for row in rows} <= {True, False}
    if len(results) == len(rows) or len(kinds) > 1 or not named or not kept:
        return rows
    [(no_label, no_prediction, grouped)] = kinds
    return InputTable(
        ids=tuple(row.id for row in rows),
        labels=None if no_label else np.array([row.label for row in rows], np.int64),
        predicted=None if no_prediction else np.array([row.predicted for row in rows], np.int64),
        clean_kept=np.array([row.clean_kept for row in rows], bool),
        groups=tuple(row.group for row in rows) if grouped else (),
        digests=digests,
        results=results,
    )


def _is_digest(text: str) -> bool:
    return len(text) == 2 * _DIGEST and not text.strip("0123456789abcdef")


class CleanKind(NamedTuple):
    """What is known of a clean input: `same`: whether its label is the one predicted."""

    labelled: bool
    same: bool | None
    kept: bool | None

    @property
    def right(self) -> bool:
        """As `InputRow.right_when_clean`."""
        return self.kept is not False and self.same is not False


def clean_kinds(rows: Sequence[InputRow]) -> Counter[CleanKind]:
    """How many inputs are of each kind when clean."""
    if not isinstance(rows, InputTable):
        return Counter(
            CleanKind(
                row.label is not None,
                None if None in (row.label, row.predicted) else row.label == row.predicted,
                row.clean_kept,
            )
            for row in rows
        )
    kinds: Counter[CleanKind] = Counter()
    for kept, of_kept in ((True, rows.clean_kept), (False, ~rows.clean_kept)):
        if rows.labels is None or rows.predicted is None:
            kinds[CleanKind(rows.labels is not None, None, kept)] = int(of_kept.sum())
            continue
        same = int((of_kept & (rows.labels == rows.predicted)).sum())
        kinds[CleanKind(True, True, kept)] = same
        kinds[CleanKind(True, False, kept)] = int(of_kept.sum()) - same
    return +kinds


def groups_of(rows: Sequence[InputRow]) -> Counter[str]:
    """How many inputs each group has; empty where single inputs were sampled."""
    if isinstance(rows, InputTable):
        return Counter(rows.groups)
    return Counter(row.group for row in rows if row.group)


def table_to_plain(table: InputTable) -> dict[str, Any]:
    """The columns as a record keeps them: packed bytes, and no ids where these are the places."""
    numbered = all(a == b for a, b in zip(table.ids, NumberedIds(len(table)), strict=True))
    return {
        "number": len(table),
        "ids": None if numbered else _packed_texts(table.ids),
        "labels": None if table.labels is None else _packed_numbers(table.labels),
        "predicted": None if table.predicted is None else _packed_numbers(table.predicted),
        "clean_kept": _packed(np.packbits(table.clean_kept).tobytes()),
        "groups": _packed_texts(table.groups) if table.groups else None,
        "digests": base64.b64encode(bytes.fromhex("".join(table.digests.values()))).decode(),
        "tried": list(table.results),
        "results": list(table.results.values()),
    }


def table_from_plain(plain: Mapping[str, Any], results: Sequence[InputResult]) -> InputTable:
    """The table in such columns; `results` are theirs, checked. ValueError where it is damaged."""
    number, tried = plain["number"], plain["tried"]
    fits = type(number) is int and len(results) == len(tried) < number <= _MOST_BYTES
    rising = all(type(i) is int for i in tried) and tried == sorted(set(tried))
    if not (fits and rising and (not tried or 0 <= tried[0] <= tried[-1] < number)):
        raise ValueError("the places of inputs with a trial are not those of its inputs")
    digests = base64.b64decode(plain["digests"], validate=True)
    named = tried if len(digests) == _DIGEST * len(tried) else range(number)
    if len(digests) not in (0, _DIGEST * len(named)):
        raise ValueError("the digests are not those of its inputs")
    parts = zip(named, range(0, len(digests), _DIGEST), strict=bool(digests))
    kept = np.unpackbits(np.frombuffer(_unpacked(plain["clean_kept"]), np.uint8), count=number)
    ids = plain["ids"]
    return InputTable(
        ids=NumberedIds(number) if ids is None else _texts(ids, number),
        labels=_numbers(plain["labels"], number),
        predicted=_numbers(plain["predicted"], number),
        clean_kept=kept.astype(bool),
        groups=() if plain["groups"] is None else _texts(plain["groups"], number),
        digests={i: digests[at : at + _DIGEST].hex() for i, at in parts},
        results=dict(zip(tried, results, strict=True)),
    )


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def _unpacked(text: str) -> bytes:
    try:
        return zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
    except (zlib.error, binascii.Error) as error:
        raise ValueError(f"a column of the inputs is damaged ({error})") from error


def _packed_texts(texts: Sequence[str]) -> str:
    return _packed(json.dumps(list(texts)).encode())


def _texts(text: str, number: int) -> tuple[str, ...]:
    texts = json.loads(_unpacked(text))
    if (
        not isinstance(texts, list)
        or len(texts) != number
        or any(type(t) is not str for t in texts)
    ):
        raise ValueError("a column of the inputs is not one of texts")
    return tuple(texts)


def _packed_numbers(numbers: NDArray[np.int64]) -> dict[str, str]:
    """In the smallest type that holds them all."""
    ends = np.result_type(*map(np.min_scalar_type, (numbers.min(), numbers.max())))
    kind = ends if ends.kind in "iu" else np.dtype(np.int64)
    return {"type": kind.newbyteorder("<").str, "data": _packed(numbers.astype(kind).tobytes())}


def _numbers(plain: Mapping[str, str] | None, number: int) -> NDArray[np.int64] | None:
    if plain is None:
        return None
    kind = np.dtype(plain["type"])
    if kind.kind not in "iu":
        raise ValueError(f"numbers of inputs have the type {str(kind)[:20]}")
    numbers = np.frombuffer(_unpacked(plain["data"]), kind)
    if len(numbers) != number:
        raise ValueError("a column of the inputs has another length")
    return cast("NDArray[np.int64]", numbers.astype(np.int64))
