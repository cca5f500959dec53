"""Curves in sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from surefoot.report.phrases import between, confidence, ended, odds, percent, short
from surefoot.report.tables import Table
from surefoot.report.told import Told
from surefoot.results import Crossing, Curve, Footing, Guarantee, Reading
from surefoot.store.records import CurveRecord


def headline(records: Mapping[str, CurveRecord]) -> str:
    """The outcome in one or two sentences."""
    first = next(iter(records.values()))
    if len(records) == 1:
        return " ".join(_told(first, reading) for reading in first.curve.readings)
    ranked = sorted(records.items(), key=lambda item: -item[1].curve.readings[0].value)
    (best, top), (worst, last) = ranked[0], ranked[-1]
    reading = top.curve.readings[0]
    return (
        f"Of {len(records)} curves, {best} stays at {percent(reading.threshold)} or more on the "
        f"largest share of its range, {percent(reading.value)}, and {worst} on the smallest, "
        f"{percent(last.curve.readings[0].value)}."
    )


def _told(record: CurveRecord, reading: Reading) -> str:
    curve, what = record.curve, quantity(record)
    span = f"from {number(curve.span.low)} to {number(curve.span.high)}"
    least = percent(reading.threshold)
    whole = reading.interval.low == reading.interval.high
    if whole and reading.value == 1:
        return f"The {what} stays at {least} or more at all levels {span}."
    if whole and reading.value == 0:
        return f"The {what} is below {least} at all levels {span}."
    share = (
        f"{percent(reading.value)} of the range {span} ({between(reading.interval)}"
        f"{_promise(reading.guarantee)})"
    )
    match reading.crossings:
        case (Crossing(falls=True) as down,):
            where = f" up to level {number(down.level)}: on "
        case (Crossing(falls=False) as up,):
            where = f" from level {number(up.level)} on: on "
        case (Crossing(falls=False) as up, Crossing(falls=True) as down):
            where = f" between levels {number(up.level)} and {number(down.level)}: on "
        case _:
            where = " on "
    return f"The {what} is at {least} or more{where}{share}."


def _promise(guarantee: Guarantee) -> str:
    if guarantee.footing is Footing.NONE:
        return ", nothing is promised"
    return f", {odds(guarantee.error)}" if guarantee.error else ""


def about(records: Mapping[str, CurveRecord]) -> str:
    """Which models met which inputs, disturbed how."""
    models = dict.fromkeys(
        short(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    first = next(iter(records.values()))
    said = dict.fromkeys(r.spec["words"]["perturbation"] for r in records.values())
    held = first.spec["words"]["property"]
    what = f"the share of inputs that {held}"
    if first.spec["property"]["kind"] == "confidence":
        true = first.spec["words"]["reference"] == "true"
        label = "true label" if true else "label of the undisturbed input"
        what = f"the mean confidence in the {label}"
    return (
        f"{', '.join(models)} on {short(first.spec['words']['source'])}: "
        f"{first.spec['inputs']['selection']} ({first.curve.size:,} inputs); {'; or '.join(said)}; "
        f"{what}."
    )


def how_sure(records: Mapping[str, CurveRecord]) -> list[str]:
    """What is promised, and on what it rests."""
    lines: list[str] = []
    for name, record in records.items():
        head = f"{name}: " if name and len(records) > 1 else ""
        curve, reading = record.curve, record.curve.readings[0]
        lines.append(head + _footing(reading.guarantee, population=_is_population(record)))
        lines += [f"{head}Seen: {ended(note)}" for note in curve.notes]
        passes = record.trials / curve.size
        lines.append(
            f"{head}It took {record.trials:,} evaluations at {len(curve.points)} levels, as many "
            f"as {passes:.3g} passes over the {curve.size:,} inputs."
        )
    return list(dict.fromkeys(lines))


def _is_population(record: CurveRecord) -> bool:
    return bool(record.spec["procedure"].get("over") == "population")


def _footing(guarantee: Guarantee, *, population: bool) -> str:
    whom = (
        "of the population that the inputs are an independent random sample of"
        if population
        else "of exactly these inputs"
    )
    if guarantee.footing is Footing.NONE:
        return f"The robustness is an estimate; {guarantee.condition}."
    sure = f"with confidence {confidence(guarantee.error)}" if guarantee.error else "for certain"
    return f"The interval holds {sure} for the curve {whom}, if {guarantee.condition}."


def reading_table(records: Mapping[str, CurveRecord]) -> Table:
    """One line for each curve and threshold."""
    rows = tuple(
        _row(name or record.spec["perturbation"]["kind"], record.curve, reading)
        for name, record in records.items()
        for reading in record.curve.readings
    )
    return Table("Robustness", _HEADINGS, rows, 1)


_HEADINGS = ("curve", "threshold", "robustness", "interval", "crosses at", "levels", "passes")


def class_table(records: Mapping[str, CurveRecord]) -> Table | None:
    """One line for each class and threshold."""
    rows = tuple(
        _row(f"{name}: {row.name}" if name else row.name, row.curve, reading)
        for name, record in records.items()
        for row in record.classes
        for reading in row.curve.readings
    )
    note = "Each class's interval holds by itself, with the confidence above."
    return Table("Class by class", ("class", *_HEADINGS[1:]), rows, 1, note) if rows else None


def _row(name: str, curve: Curve, reading: Reading) -> tuple[str, ...]:
    promised = reading.guarantee.footing is not Footing.NONE
    return (
        name,
        percent(reading.threshold),
        percent(reading.value),
        between(reading.interval)[8:].replace(" and ", " to ") if promised else "none promised",
        ", ".join(number(c.level) for c in reading.crossings) or _nowhere(reading),
        f"{len(curve.points)}",
        f"{curve.trials / curve.size:.3g}",
    )


def _nowhere(reading: Reading) -> str:
    return "not caught" if reading.interval.width > 0 and reading.value < 1 else "nowhere"


def cautions(records: Mapping[str, CurveRecord]) -> list[str]:
    """What the preflights found odd: read before believing."""
    found = [
        f"Look: {f.name}: {ended(f.finding)}"
        for f in chain.from_iterable(r.findings for r in records.values())
        if f.odd
    ]
    return list(dict.fromkeys(found))


def quantity(record: CurveRecord) -> str:
    """What the curve is of."""
    kind = record.spec["property"]["kind"]
    known = {"true": "accuracy", "confidence": "mean confidence", "same": "share of labels kept"}
    return known.get(kind, "share of inputs that hold")


def number(value: float) -> str:
    """A level as a person reads it."""
    return f"{value:.4g}"


def told(records: Mapping[str, CurveRecord]) -> Told:
    """The whole outcome in its parts."""
    tables = [reading_table(records), class_table(records)]
    return Told(
        headline(records),
        about(records),
        cautions(records),
        how_sure(records),
        [table for table in tables if table is not None],
    )
