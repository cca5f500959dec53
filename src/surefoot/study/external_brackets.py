"""Critical radii that others have published, reported as our own are."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.inputs.bracket_files import PublishedBracket, read_brackets
from surefoot.population.quantile_estimators import DEFAULT_ESTIMATOR, estimator_named
from surefoot.region.critical_level import CriticalLevel
from surefoot.results import Bracket
from surefoot.store.records import InputRow, Radii, Record, Source
from surefoot.store.spec import BracketFileSpec
from surefoot.study.comparison import join_results
from surefoot.study.comparison_claims import CURVES
from surefoot.study.quantile_estimator import with_estimator
from surefoot.study.radii_claims import claims_of, quantiles_of
from surefoot.study.result import Result


def brackets(
    path: Path | str,
    *,
    networks: Sequence[str] = (),
    split: str | None = None,
    source: str | None = None,
    quantile: float = 0.05,
    error: float = 0.05,
    estimator: str = DEFAULT_ESTIMATOR,
    gamma: float | None = None,
) -> Result:
    """Quantiles of the brackets in a CSV file, network by network.

    `estimator`: of the headline; shortest-ranks, order-statistics, log-normal or algorithm-1, the
    last with `gamma`, the length of interval at which it stops.
    """
    estimator_named(estimator, quantile, error, gamma)
    method = CriticalLevel(quantile=quantile, error=error)
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
        records[name] = _record(Path(path), own, method, split, source)
    if not records:
        raise InvalidArgument(
            f"{path} has no rows of {_choice(split, source)}: it has "
            + " or ".join(sorted({_choice(row.split, row.source or None) for row in every}))
        )
    joined = join_results({name: Result(record) for name, record in records.items()}, CURVES)
    return with_estimator(joined, estimator, gamma)


def _check(
    path: Path, name: str, rows: Sequence[PublishedBracket], split: str | None, source: str | None
) -> None:
    if not rows:
        known = ", ".join(sorted({row.network for row in read_brackets(path)}))
        raise InvalidArgument(f"{path} has no rows of network {name!r} as chosen; it has {known}")
    image, times = Counter(row.image for row in rows).most_common(1)[0]
    if times > 1:
        ways = [
            f"{option} (--{option}) {' or '.join(sorted(values))}"
            for option, chosen, values in (
                ("split", split, {row.split for row in rows}),
                ("source", source, {row.source for row in rows}),
            )
            if chosen is None and len(values) > 1
        ]
        raise InvalidArgument(
            f"{path} has {times} rows of {name}, image {image}: one bracket an input is needed"
            + (f"; choose by {' and '.join(ways)}" if ways else "")
        )


def _record(
    path: Path,
    rows: Sequence[PublishedBracket],
    method: CriticalLevel,
    split: str | None,
    source: str | None,
) -> Record:
    spec = BracketFileSpec(str(path), _choice(split, source))
    content = path.read_bytes()
    brackets = [_timed(row) for row in rows]
    inputs = tuple(_row(row, bracket) for row, bracket in zip(rows, brackets, strict=True))
    quantiles, _ = quantiles_of(method, inputs, None, {})
    radii = Radii(quantiles, (), (), None, published=True)
    return Record(
        digest=hashlib.sha256(content + repr((spec, rows[0].network)).encode()).hexdigest(),
        spec=spec,
        claims=claims_of(radii, inputs),
        inputs=inputs,
        details=radii,
        findings=(),
        trials=0,
        source=Source(rows[0].network, str(path)),
    )


def _choice(split: str | None, source: str | None) -> str:
    """Which rows, in words."""
    chosen = [f"split {split}"] * (split is not None) + [f"source {source}"] * (source is not None)
    return ", ".join(chosen) or "all rows"


def _timed(row: PublishedBracket) -> Bracket:
    return replace(row.bracket, reason=row.bracket.reason or "published", seconds=row.seconds)


def _row(row: PublishedBracket, bracket: Bracket) -> InputRow:
    label = int(row.label) if row.label.isdecimal() else None
    return InputRow(row.image, label, -1 if label is None else label, bracket)
