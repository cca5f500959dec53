"""Critical levels in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.report.phrases import confidence, ended, odds, percent, short
from surefoot.report.tables import Table
from surefoot.report.told import Told
from surefoot.results import Footing
from surefoot.store.records import CriticalRecord, CriticalRow, QuantileRow

KINDS = {
    "spread-ranks": "ranks spread within brackets",
    "order-statistics": "order statistics",
    "log-normal": "log-normal posterior",
}


def level(value: float | None) -> str:
    """A radius as a person reads it; unknown is infinite."""
    return "never refuted" if value is None else f"{value:.4g}"


def between(low: float, high: float | None) -> str:
    """Both ends, rounded outwards."""
    down = math.floor(low * 1e5) / 1e5
    if high is None:
        return f"{down:g} or more"
    return f"{down:g} to {math.ceil(high * 1e5) / 1e5:g}"


def headline(records: Mapping[str, CriticalRecord]) -> str:
    """The outcome in one sentence."""
    if len(records) > 1:
        told = "; ".join(f"{name} {_said(r.quantiles[0])}" for name, r in records.items())
        share = percent(next(iter(records.values())).quantiles[0].share)
        return f"The critical radius that {share} of inputs do not exceed: {told}."
    record = next(iter(records.values()))
    whole = record.quantiles[0]
    if whole.guarantee.footing is Footing.NONE:
        return f"Undecided: {whole.note}."
    return (
        f"{percent(whole.share)} of such inputs have a critical L∞ radius of no more than "
        f"{whole.value:.4g} ({between(whole.low, whole.high)}, {odds(whole.guarantee.error)}; "
        f"{len(record.rows):,} inputs, {closed(record):,} brackets closed)."
    )


def _said(row: QuantileRow) -> str:
    return f"{row.value:.4g} ({between(row.low, row.high)})"


def closed(record: CriticalRecord) -> int:
    """How many brackets are as narrow as was asked, or proved for every point there is."""
    tolerance = record.spec["procedure"]["tolerance"] * (1 + 1e-6)
    return sum(
        row.reason.startswith("proved for the whole")
        or (row.high is not None and row.high - row.low <= tolerance)
        for row in record.rows
    )


def about(records: Mapping[str, CriticalRecord]) -> str:
    """Which models, on which inputs, and what is proved."""
    first = next(iter(records.values()))
    models = dict.fromkeys(
        short(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    bounds = first.spec["bounds"]
    return (
        f"{', '.join(models)} on {short(first.spec['words']['source'])}: "
        f"{first.spec['inputs']['selection']} ({len(first.rows):,} inputs). The critical radius of "
        f"an input is the largest L∞ distance, within [{bounds['low']:g}, {bounds['high']:g}], up "
        f"to which every point is sure to {first.spec['words']['property']}."
    )


def how_sure(records: Mapping[str, CriticalRecord]) -> list[str]:
    """What is proved, by what arithmetic, and what is left open."""
    lines = []
    for name, record in records.items():
        head = f"{name}: " if name else ""
        rows = record.rows
        wrong = sum(row.reason == "misclassified" for row in rows)
        wide = [row for row in rows if row.high is None or row.high - row.low > 0]
        widest = max((math.inf if r.high is None else r.high - r.low for r in wide), default=0.0)
        lost = sum(row.discarded for row in rows)
        lines.append(
            f"{head}{closed(record):,} of {len(rows):,} brackets are closed to "
            f"{record.spec['procedure']['tolerance']:g}; the widest "
            + ("was never refuted" if math.isinf(widest) else f"is {widest:.4g} wide")
            + f". {wrong:,} inputs are misclassified undisturbed: their critical radius is 0, and "
            "they are counted."
        )
        lines.append(
            f"{head}Lower ends are proved in float64 with an allowance for rounding. The graph read"
            f" from the file differs from onnxruntime by at most {record.reader:.1e} of its "
            "largest score on random inputs. Upper ends are points that the model itself, in "
            f"onnxruntime, gives another label; {lost:,} that it did not confirm were thrown away."
        )
        whole = record.quantiles[0]
        if whole.guarantee.footing is not Footing.NONE:
            lines.append(
                f"{head}The interval of the quantile holds with confidence "
                f"{confidence(whole.guarantee.error)}, if {whole.guarantee.assumption}."
            )
        lines += [f"{head}{ended(row.note)}" for row in record.quantiles[:1] if row.note]
        spent = sum(row.seconds for row in rows)
        middle = sorted(row.seconds for row in rows)[len(rows) // 2]
        lines.append(f"{head}It took {spent:,.1f} CPU seconds, {middle:.2g} for a middling input.")
    return lines


def quantile_table(records: Mapping[str, CriticalRecord]) -> Table:
    """One line for each estimator."""
    rows = tuple(
        (
            name or KINDS.get(row.kind, row.kind),
            KINDS.get(row.kind, row.kind) if name else percent(row.share),
            level(row.value),
            between(row.low, row.high),
        )
        for name, record in records.items()
        for row in record.quantiles
    )
    fits = dict.fromkeys(
        f"{KINDS.get(row.kind, row.kind)}: {row.fit}"
        for record in records.values()
        for row in record.quantiles
        if row.fit
    )
    first = "network" if any(records) else "estimator"
    second = "estimator" if any(records) else "quantile"
    headings = (first, second, "critical radius", "interval")
    return Table("Quantile", headings, rows, 2, "; ".join(fits))


def class_table(records: Mapping[str, CriticalRecord]) -> Table | None:
    """One line for each class."""
    rows = tuple(
        (
            f"{name}: {row.name}" if name else row.name,
            f"{row.inputs:,}",
            level(row.value),
            between(row.low, row.high),
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


def bracket_table(record: CriticalRecord, most: int = 12) -> Table:
    """The least robust inputs."""
    rows = sorted(record.rows, key=lambda row: (row.low, row.id))[:most]
    return Table(
        "Least robust inputs",
        ("input", "critical radius", "how it ended", "CPU s"),
        tuple(_line(row) for row in rows),
        1,
    )


def _line(row: CriticalRow) -> tuple[str, ...]:
    return row.id, between(row.low, row.high), row.reason, f"{row.seconds:.2g}"


def cautions(records: Mapping[str, CriticalRecord]) -> list[str]:
    """What the preflights found odd."""
    found = [
        f"Look: {f.name}: {ended(f.finding)}"
        for record in records.values()
        for f in record.findings
        if f.odd
    ]
    return list(dict.fromkeys(found))


def told(records: Mapping[str, CriticalRecord]) -> Told:
    """The whole outcome in its parts."""
    tables = [
        quantile_table(records),
        class_table(records),
        *(bracket_table(record) for record in records.values()),
    ]
    return Told(
        headline(records),
        about(records),
        cautions(records),
        how_sure(records),
        [table for table in tables if table is not None],
    )
