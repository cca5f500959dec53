"""Critical radii that others have published, reported as our own are."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.catalogue.option_values import MOST_DIGITS
from surefoot.conclude.comparison import CURVES
from surefoot.conclude.radii import claims_of, quantiles_of
from surefoot.conclude.radii_summaries import mean_claims
from surefoot.core.results import Bracket
from surefoot.errors import InvalidArgument
from surefoot.inputs.bracket_files import PublishedBracket, read_brackets
from surefoot.population.quantile_estimators import DEFAULT_ESTIMATOR, estimator_named
from surefoot.records.record import InputRow, Radii, Record, Source
from surefoot.records.spec import BracketFileSpec
from surefoot.region.critical_level import CriticalLevel
from surefoot.statistics.multiplicity import shares
from surefoot.study.bracket_groups import (
    LABEL,
    GroupOfRows,
    check_by,
    groups_of_rows,
    join_groups,
    rows_by_label,
    shared_record,
)
from surefoot.study.comparison import join_results
from surefoot.study.quantile_estimator import with_estimator
from surefoot.study.result import Result


def brackets(
    path: Path | str,
    *,
    networks: Sequence[str] = (),
    split: str | None = None,
    source: str | None = None,
    quantile: float = 0.05,
    error: float = 0.05,
    at: Sequence[float] = (),
    by: str | None = None,
    ceiling: float | None = None,
    estimator: str = DEFAULT_ESTIMATOR,
    gamma: float | None = None,
) -> Result:
    """Quantiles of the brackets in a CSV file, network by network.

    `at`: radii at which robust accuracy is stated too. `by`: "split", "label" or "training", a
    column of the file whose groups each get a quantile, all of them together. `ceiling`: the
    largest radius that counts; with it there is an interval for the population's mean.
    `estimator`: of the headline; shortest-ranks, order-statistics, log-normal or algorithm-1, the
    last with `gamma`, the length of interval at which it stops.
    """
    check_by(by, at)
    estimator_named(estimator, quantile, error, gamma)
    if by is not None and estimator != DEFAULT_ESTIMATOR:
        raise InvalidArgument(
            f"estimator (--estimator) {estimator} is for whole networks: leave out by (--by) {by}"
        )
    if ceiling is not None and not 0 < ceiling < math.inf:
        raise InvalidArgument(
            f"ceiling (--ceiling) must be a radius above 0, got {ceiling:g}: try 0.4"
        )
    method = CriticalLevel(quantile=quantile, error=error)
    every = read_brackets(path)
    rows = [
        row
        for row in every
        if (not networks or row.network in networks)
        and (split is None or row.split == split)
        and (source is None or row.source == source)
    ]
    if not rows and not networks:
        raise InvalidArgument(
            f"{path} has no rows of {_choice(split, source)}: choose "
            + " or ".join(sorted({_choice(row.split, row.source or None) for row in every}))
        )
    names = list(networks) or list(dict.fromkeys(row.network for row in rows))
    for name in names:
        own = [row for row in rows if row.network == name]
        _check(Path(path), name, own, None if by == "split" else split, source, by)
    result = _result(Path(path), names, rows, method, _choice(split, source), by, ceiling)
    result = with_estimator(result, estimator, gamma)
    return result.at_radius(*at) if at else result


def _result(
    path: Path,
    names: Sequence[str],
    rows: Sequence[PublishedBracket],
    method: CriticalLevel,
    selection: str,
    by: str | None,
    ceiling: float | None,
) -> Result:
    """Networks side by side, or the groups of `by` side by side."""
    if by is not None and by != LABEL:
        groups = groups_of_rows(path, names, rows, by)
        parts = {}
        for group in groups:
            own = _record(path, group, method, f"{by} {group.value}, {selection}", None, ceiling)
            parts[group.name] = Result(shared_record(own, group, method.error))
        return join_groups(parts, groups, by)
    records = {}
    for name in names:
        group = GroupOfRows(name, tuple(row for row in rows if row.network == name))
        records[name] = _record(path, group, method, selection, by, ceiling)
    return join_results({name: Result(record) for name, record in records.items()}, CURVES)


def _check(
    path: Path,
    name: str,
    rows: Sequence[PublishedBracket],
    split: str | None,
    source: str | None,
    by: str | None,
) -> None:
    if not rows:
        known = ", ".join(sorted({row.network for row in read_brackets(path)}))
        raise InvalidArgument(
            f"{path} has no rows of network {name!r} as chosen; it has {known}: choose among them"
        )
    keys = Counter((row.split, row.image) if by == "split" else row.image for row in rows)
    key, times = keys.most_common(1)[0]
    if times > 1:
        image = key if isinstance(key, str) else f"{key[1]} of split {key[0]}"
        ways = [
            f"{option} (--{option}) {' or '.join(sorted(values))}"
            for option, chosen, values in (
                ("split", split, set() if by == "split" else {row.split for row in rows}),
                ("source", source, {row.source for row in rows}),
            )
            if chosen is None and len(values) > 1
        ]
        raise InvalidArgument(
            f"{path} has {times} rows of {name}, image {image}: one bracket an input is needed"
            + (f"; choose by {' and '.join(ways)}" if ways else "; leave out the others")
        )


def _record(
    path: Path,
    group: GroupOfRows,
    method: CriticalLevel,
    selection: str,
    by: str | None,
    ceiling: float | None,
) -> Record:
    spec = BracketFileSpec(str(path), selection)
    rows = group.rows
    inputs = tuple(_row(row, group) for row in rows)
    classes = rows_by_label(path, rows, inputs) if by == LABEL else {}
    shared = replace(method, error=shares(method.error, group.family_size))
    quantiles, of_classes = quantiles_of(shared, inputs, None, classes)
    radii = Radii(quantiles, of_classes, (), None, published=True)
    claims = claims_of(radii, inputs)
    alone = replace(claims[0], guarantee=replace(claims[0].guarantee, error=method.error))
    means = () if group.is_pooled else mean_claims(alone, inputs, ceiling)
    networks = ", ".join(dict.fromkeys(row.network for row in rows))
    return Record(
        digest=hashlib.sha256(path.read_bytes() + repr((spec, networks)).encode()).hexdigest(),
        spec=spec,
        claims=(*claims, *means),
        inputs=inputs,
        details=radii,
        findings=(),
        trials=0,
        source=Source(networks, str(path)),
    )


def _choice(split: str | None, source: str | None) -> str:
    """Which rows, in words."""
    chosen = [f"split {split}"] * (split is not None) + [f"source {source}"] * (source is not None)
    return ", ".join(chosen) or "all rows"


def _row(row: PublishedBracket, group: GroupOfRows) -> InputRow:
    bracket: Bracket = replace(
        row.bracket, reason=row.bracket.reason or "published", seconds=row.seconds
    )
    plain = row.label.isdecimal() and len(row.label) <= MOST_DIGITS
    label = int(row.label) if plain else None
    predicted = -1 if label is None else label
    return InputRow(group.id_of(row), label, predicted, bracket, group=group.unit_of(row))
