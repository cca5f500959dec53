"""Rows of inputs by columns: an input without a trial costs a few bytes, and no object."""

from __future__ import annotations

import base64
import binascii
import json
import operator
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

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


def numbered_ids(number: int) -> Iterator[str]:
    """The ids of inputs that have none of their own: their places, all equally long."""
    digits = len(str(max(number - 1, 1)))
    return (f"{i:0{digits}d}" for i in range(number))


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


def tried_rows(rows: Sequence[InputRow]) -> Sequence[InputRow]:
    """The rows without those of which nothing is known but their names and clean labels."""
    return rows.tried if isinstance(rows, InputTable) else rows


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
    """The columns as a record keeps them: packed, and no ids where these are the places."""
    numbered = all(map(operator.eq, table.ids, numbered_ids(len(table))))
    labels, predicted = table.labels, table.predicted
    return {
        "number": len(table),
        "ids": None if numbered else _packed(list(table.ids)),
        "labels": None if labels is None else _packed(labels.tolist()),
        "predicted": None if predicted is None else _packed(predicted.tolist()),
        "clean_kept": _packed(table.clean_kept.tolist()),
        "groups": _packed(list(table.groups)) if table.groups else None,
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
    ids, labels, predicted = (plain[name] for name in ("ids", "labels", "predicted"))
    return InputTable(
        tuple(numbered_ids(number) if ids is None else _unpacked(ids, str, number)),
        None if labels is None else np.array(_unpacked(labels, int, number), np.int64),
        None if predicted is None else np.array(_unpacked(predicted, int, number), np.int64),
        np.array(_unpacked(plain["clean_kept"], bool, number)),
        () if plain["groups"] is None else tuple(_unpacked(plain["groups"], str, number)),
        {i: digests[at : at + _DIGEST].hex() for i, at in parts},
        dict(zip(tried, results, strict=True)),
    )


def _packed(column: list[Any]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(column).encode())).decode()


def _unpacked(text: str, kind: type, number: int) -> list[Any]:
    """A column of so many values of this kind."""
    try:
        packed = base64.b64decode(text, validate=True)
        column = json.loads(zlib.decompressobj().decompress(packed, _MOST_BYTES))
    except (zlib.error, binascii.Error) as error:
        raise ValueError(f"a column of the inputs is damaged ({error})") from error
    if not isinstance(column, list) or len(column) != number or {*map(type, column)} != {kind}:
        raise ValueError(f"a column of the inputs is not one of {number} values ({kind.__name__})")
    return column
