"""Critical levels that others have found, told as our own are."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.inputs.brackets import PublishedBracket, read_brackets
from surefoot.report.critical import Criticals
from surefoot.search.critical import CriticalLevel
from surefoot.store.records import CriticalRecord, CriticalRow, Source
from surefoot.study.bracketed import quantiles_of


def published(
    path: Path | str,
    *,
    networks: Sequence[str] = (),
    split: str | None = None,
    source: str | None = None,
    quantile: float = 0.05,
    error: float = 0.05,
    command: str = "",
) -> Criticals:
    """Quantiles of the brackets in a CSV file, network by network."""
    asked = CriticalLevel(quantile=quantile, error=error)
    every = read_brackets(path)
    rows = [
        row
        for row in every
        if (not networks or row.network in networks)
        and (split is None or row.split == split)
        and (source is None or row.source == source)
    ]
    names = list(networks) or list(dict.fromkeys(row.network for row in rows))
    records = {}
    for name in names:
        own = [row for row in rows if row.network == name]
        _check(Path(path), name, own, split, source)
        records[name] = _record(Path(path), own, asked, split, source)
    if not records:
        raise InvalidArgument(
            f"{path} has no rows of {_choice(split, source)}: it has "
            + " or ".join(sorted({_choice(row.split, row.source or None) for row in every}))
        )
    return Criticals(records if len(records) > 1 else {"": next(iter(records.values()))}, command)


def _check(
    path: Path, name: str, rows: Sequence[PublishedBracket], split: str | None, source: str | None
) -> None:
    if not rows:
        known = ", ".join(sorted({row.network for row in read_brackets(path)}))
        raise InvalidArgument(f"{path} has no rows of network {name!r} as chosen; it has {known}")
    image, times = Counter(row.image for row in rows).most_common(1)[0]
    if times > 1:
        ways = [
            f"--{what} {' or '.join(sorted(found))}"
            for what, given, found in (
                ("split", split, {row.split for row in rows}),
                ("source", source, {row.source for row in rows}),
            )
            if given is None and len(found) > 1
        ]
        raise InvalidArgument(
            f"{path} has {times} rows of {name}, image {image}: one bracket an input is needed"
            + (f"; choose by {' and '.join(ways)}" if ways else "")
        )


def _record(
    path: Path,
    rows: Sequence[PublishedBracket],
    asked: CriticalLevel,
    split: str | None,
    source: str | None,
) -> CriticalRecord:
    spec = {
        "procedure": {"kind": "published"},  # how narrow brackets were to be, no file says
        "bounds": {"low": 0.0, "high": 1.0},
        "inputs": {"selection": _choice(split, source)},
        "words": {"source": str(path), "property": "keep its label"},
    }
    content = path.read_bytes()
    return CriticalRecord(
        digest=hashlib.sha256(content + repr((spec, rows[0].network)).encode()).hexdigest(),
        spec=spec,
        rows=tuple(_row(row) for row in rows),
        quantiles=quantiles_of(asked, [row.bracket for row in rows], None),
        classes=(),
        examples=(),
        findings=(),
        trials=0,
        reader=None,
        source=Source(rows[0].network, str(path)),
    )


def _choice(split: str | None, source: str | None) -> str:
    """Which rows, in words."""
    chosen = [f"split {split}"] * (split is not None) + [f"source {source}"] * (source is not None)
    return ", ".join(chosen) or "all rows"


def _row(row: PublishedBracket) -> CriticalRow:
    label = int(row.label) if row.label.isdecimal() else None
    high = row.bracket.high
    return CriticalRow(
        id=row.image,
        label=label,
        predicted=-1 if label is None else label,
        low=row.bracket.low,
        high=None if math.isinf(high) else high,
        reason=row.bracket.reason or "published",
        seconds=row.seconds,
        nodes=0,
        discarded=0,
    )
