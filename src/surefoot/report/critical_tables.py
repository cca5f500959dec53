"""Critical levels in rows and columns."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.evidence import Counts
from surefoot.population import quantile_differences
from surefoot.report.phrases import percent
from surefoot.report.tables import Table
from surefoot.results import Bracket, Footing, Guarantee, Interval
from surefoot.statistics.bounds import clopper_pearson
from surefoot.store.records import CriticalRecord, CriticalRow, QuantileRow, Shaken

KINDS = {
    "shortest-ranks": "nearest ranks",
    "order-statistics": "order statistics",
    "log-normal": "log-normal posterior",
}
_BINARY = 1e-7  # a decimal number may lie so far from its binary one
_SUPPOSED = Guarantee(Footing.CONDITIONAL, 0.0, ("the brackets are right",))


def level(value: float | None) -> str:
    """A radius as a person reads it; unknown is infinite."""
    return "never refuted" if value is None else f"{value:.4g}"


def between(low: float, high: float | None) -> str:
    """Both ends, rounded outwards."""
    down = math.floor(low * 1e5 + _BINARY) / 1e5
    if high is None:
        return f"{down:g} or more"
    return f"{down:g} to {math.ceil(high * 1e5 - _BINARY) / 1e5:g}"


def seconds(value: float | None) -> str:
    """A time as a person reads it."""
    if value is None:
        return "not told"
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def quantile_table(records: Mapping[str, CriticalRecord]) -> Table:
    """One line for each estimator."""
    rows = tuple(
        (
            name or KINDS.get(row.kind, row.kind),
            KINDS.get(row.kind, row.kind) if name else percent(row.share),
            *_found(row),
        )
        for name, record in records.items()
        for row in record.quantiles
    )
    fits = dict.fromkeys(
        f"{name or KINDS.get(row.kind, row.kind)}: {row.fit}"
        for name, record in records.items()
        for row in record.quantiles
        if row.fit
    )
    first = "network" if any(records) else "estimator"
    second = "estimator" if any(records) else "quantile"
    headings = (first, second, "critical radius", "interval")
    return Table("Quantile", headings, rows, 2, "; ".join(fits))


def _found(row: QuantileRow) -> tuple[str, str]:
    """The radius and its interval; no number where there is none."""
    if row.guarantee.footing is Footing.NONE:
        return "undecided", "none"
    return level(row.value), between(row.low, row.high)


def class_table(records: Mapping[str, CriticalRecord]) -> Table | None:
    """One line for each class."""
    rows = tuple(
        (
            f"{name}: {row.name}" if name else row.name,
            f"{row.inputs:,}",
            *_found(row),
        )
        for name, record in records.items()
        for row in record.classes
    )
    note = "All intervals hold together."
    return (
        Table("Class by class", ("class", "inputs", "quantile", "interval"), rows, 1, note)
        if rows
        else None
    )


def bracket_table(record: CriticalRecord, name: str = "", most: int = 12) -> Table:
    """The least robust inputs."""
    rows = sorted(record.rows, key=_weakness)[:most]
    return Table(
        _titled("Least robust inputs", name),
        ("input", "critical radius", "how it ended", "seconds"),
        tuple(_line(row) for row in rows),
        1,
    )


def _weakness(row: CriticalRow) -> tuple[float, float, str]:
    """The nearest counterexample first; what was never refuted last."""
    return math.inf if row.high is None else row.high, row.low, row.id


def _line(row: CriticalRow) -> tuple[str, ...]:
    return row.id, between(row.low, row.high), row.reason, seconds(row.seconds)


def sampled_table(record: CriticalRecord, name: str = "") -> Table | None:
    """How likely a slip is within the proved radius and at multiples of the refuted one."""
    inside = [s for row in record.rows for s in row.sampled if s.radius <= row.low]
    rows = [_shaken("within what is proved", inside)] if inside else []
    beyond: dict[float, list[Shaken]] = {}
    for row in record.rows:
        for s in row.sampled:
            if row.high and s.radius >= row.high:
                beyond.setdefault(round(s.radius / row.high, 6), []).append(s)
    for factor, at in sorted(beyond.items()):
        rows.append(_shaken(f"{factor:g} × the nearest counterexample", at))
    headings = ("points drawn within", "inputs", "points", "slipped", "share", "worst input")
    note = (
        "Points are drawn evenly; the last column is the 95 % interval of its worst input. Radii "
        "wider than the bounds are left out."
    )
    title = _titled("How likely a slip is there", name)
    return Table(title, headings, tuple(rows), 1, note) if rows else None


def _titled(title: str, name: str) -> str:
    return f"{title}, {name}" if name else title


def _shaken(name: str, at: list[Shaken]) -> tuple[str, ...]:
    trials, slips = sum(s.trials for s in at), sum(s.slips for s in at)
    worst = max(at, key=lambda s: s.slips / s.trials)
    around = clopper_pearson(Counts(worst.trials, worst.slips), 0.05)
    return (
        name,
        f"{len(at):,}",
        f"{trials:,}",
        f"{slips:,}",
        percent(slips / trials),
        f"{percent(around.low)} to {percent(around.high)}",
    )


def pair_table(records: Mapping[str, CriticalRecord]) -> Table | None:
    """By how much the quantiles of two networks differ on the inputs that both have.

    None where a network chose how many inputs to look at: fixed ranks are wrong too often then.
    """
    if len(records) < 2 or any(stops(record) for record in records.values()):
        return None
    ids = set.intersection(*({row.id for row in r.rows} for r in records.values()))
    if not ids:
        return None
    local = {name: _brackets(record, ids) for name, record in records.items()}
    first = next(iter(records.values())).quantiles[0]
    share, error = first.share, first.guarantee.error
    if first.guarantee.footing is Footing.NONE:
        return None
    found = quantile_differences(local, share, error)
    rows = tuple(
        (
            f"{a.first} − {a.second}",
            f"{a.value:+.4g}",
            _signed(a.interval),
            _larger(a.interval, a.first, a.second),
        )
        for a in found
    )
    headings = ("networks", "difference", "interval", "told apart")
    note = (
        f"The {percent(share)} quantiles on the same {len(ids):,} inputs; all pairs hold together, "
        "if the inputs are drawn at random."
    )
    return Table("Network against network", headings, rows, 1, note)


def stops(record: CriticalRecord) -> bool:
    """Whether it stopped when the quantile was known well enough."""
    return record.spec["procedure"].get("width") is not None


def _brackets(record: CriticalRecord, ids: set[str]) -> list[Bracket]:
    rows = sorted((row for row in record.rows if row.id in ids), key=lambda row: row.id)
    return [
        Bracket(Interval(r.low, math.inf if r.high is None else r.high), _SUPPOSED, r.reason)
        for r in rows
    ]


def _signed(around: Interval) -> str:
    low = "anything" if math.isinf(around.low) else f"{around.low:+.4g}"
    high = "anything" if math.isinf(around.high) else f"{around.high:+.4g}"
    return "not known" if low == high == "anything" else f"{low} to {high}"


def _larger(around: Interval, first: str, second: str) -> str:
    if around.low > 0:
        return f"{first} is more robust"
    return f"{second} is more robust" if around.high < 0 else "no"
