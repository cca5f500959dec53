"""Critical levels in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.report.critical_tables import (
    between,
    bracket_table,
    class_table,
    pair_table,
    quantile_table,
    sampled_table,
    seconds,
    stops,
)
from surefoot.report.phrases import confidence, ended, odds, percent, short
from surefoot.report.told import Told
from surefoot.results import Footing
from surefoot.store.records import CriticalRecord, QuantileRow


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
        f"{_extent(record)})."
    )


def _extent(record: CriticalRecord) -> str:
    """How many inputs, and how far they got."""
    missing = sum(row.reason == "not reached" for row in record.rows)
    left = f", {missing:,} of them not reached" if missing else ""
    done = ""
    if not published(record):
        many = closed(record)
        done = f", {many:,} bracket{'s' * (many != 1)} closed"
    return f"{len(record.rows):,} inputs{left}{done}"


def _said(row: QuantileRow) -> str:
    return f"{row.value:.4g} ({between(row.low, row.high)})"


def published(record: CriticalRecord) -> bool:
    """Whether the brackets were read from a file of others."""
    return bool(record.spec["procedure"]["kind"] == "published")


def tolerance_of(record: CriticalRecord) -> float:
    """How narrow a bracket was to be."""
    return float(record.spec["procedure"]["tolerance"])


def closed(record: CriticalRecord) -> int:
    """How many brackets are as narrow as was asked, or proved for every point there is."""
    tolerance = tolerance_of(record) * (1 + 1e-6)
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
    sizes = " and ".join(f"{n:,}" for n in dict.fromkeys(len(r.rows) for r in records.values()))
    taken = "; as many as it took, in a random order" if stops(first) else ""
    within = ""
    if not published(first):
        within = f", within [{first.spec['bounds']['low']:g}, {first.spec['bounds']['high']:g}],"
    return (
        f"{', '.join(models)} on {short(first.spec['words']['source'])}: "
        f"{first.spec['inputs']['selection']} ({sizes} inputs{taken}). The critical radius of an "
        f"input is the largest L∞ distance{within} up to which every point is sure to "
        f"{first.spec['words']['property']}."
    )


def how_sure(records: Mapping[str, CriticalRecord]) -> list[str]:
    """What is proved, by what arithmetic, and what is left open."""
    each = {name: _how_sure(record) for name, record in records.items()}
    shared = [line for line in next(iter(each.values())) if all(line in of for of in each.values())]
    own = [
        f"{name}: {line}" for name, lines in each.items() for line in lines if line not in shared
    ]
    if len(records) > 1 and any(stops(record) for record in records.values()):
        shared.append(
            "The networks are not set against each other: that takes a number of inputs that was "
            "settled beforehand, without --within."
        )
    return [*own, *shared]


def _how_sure(record: CriticalRecord) -> list[str]:
    rows = record.rows
    wrong = sum(row.reason == "misclassified" for row in rows)
    wide = [row for row in rows if row.high is None or row.high - row.low > 0]
    widest = max((math.inf if r.high is None else r.high - r.low for r in wide), default=0.0)
    line = ""
    if not published(record):
        line = f"{closed(record):,} of {len(rows):,} brackets are closed to "
        line += f"{tolerance_of(record):g}; "
    if record.spec["procedure"]["kind"] == "critical-quantile":
        line += "the others were proved or refuted no further than the quantile needs, or than the "
        line += "time allowed."
    elif math.isinf(widest):
        line += "the widest was never refuted."
    else:
        line += f"the widest is {widest:.4g} wide."
    lines = [line[:1].upper() + line[1:], _footing(record)]
    if wrong:
        lines.append(
            f"Misclassified undisturbed: {wrong:,}. Their critical radius is 0, and they count."
        )
    whole = record.quantiles[0]
    if wrong and wrong >= whole.share * len(rows):
        lines[-1] += " So many make the quantile 0: --correct-only asks it of those that are right."
    if whole.guarantee.footing is not Footing.NONE:
        lines.append(
            f"The interval of the quantile holds with confidence "
            f"{confidence(whole.guarantee.error)}, if {whole.guarantee.condition}."
        )
    if whole.note:
        lines.append(ended(whole.note[:1].upper() + whole.note[1:]))
    inside = [s for row in rows for s in row.sampled if s.radius <= row.low]
    if inside:
        lines.append(
            f"Of {sum(s.trials for s in inside):,} points drawn within the proved radii "
            f"{sum(s.slips for s in inside):,} slipped; a proof allows none."
        )
    spent = sorted(row.seconds for row in rows if row.seconds is not None)
    if not spent:
        return [*lines, "How long it took, the file does not say."]
    whose = "seconds by the file" if published(record) else "CPU seconds"
    middle = seconds(spent[len(spent) // 2])
    last = f"It took {sum(spent):,.1f} {whose}, {middle} for a middling input"
    missing = len(rows) - len(spent)
    return [*lines, last + (f"; of {missing:,} it says no time." if missing else ".")]


def _footing(record: CriticalRecord) -> str:
    """In whose arithmetic lower ends are proved, and who confirmed the upper ones."""
    lost = sum(row.discarded for row in record.rows)
    verifier = record.spec["procedure"].get("verifier")
    if verifier:
        return (
            f"Lower ends are proved by {verifier!r}, in its own arithmetic, and were not checked "
            "here. Upper ends are points that the model itself, in onnxruntime, gives another "
            f"label; {lost:,} that it did not confirm were thrown away."
        )
    if published(record):
        return (
            "The brackets are taken from the file as they stand: their proofs and counterexamples "
            "were not checked here."
        )
    return (
        "Lower ends are proved in float64 with an allowance for rounding. The graph read from the "
        f"file differs from onnxruntime by at most {record.reader:.1e} of its largest score on "
        "random inputs. Upper ends are points that the model itself, in onnxruntime, gives another "
        f"label; {lost:,} that it did not confirm were thrown away."
    )


def cautions(records: Mapping[str, CriticalRecord]) -> list[str]:
    """Contradictions first, then what the preflights found odd."""
    found = [
        f"Contradiction: {name + ': ' if name else ''}input {row.id} is proved up to "
        f"{row.low:.6g}, and a point drawn within it slips. A proof, the reading of the graph or "
        "the model is wrong: do not use these radii, and please report it with the network."
        for name, record in records.items()
        for row in record.rows
        if row.contradicted
    ]
    found += [
        f"Look: {name + ': ' if name else ''}{f.name}: {ended(f.finding)}"
        for name, record in records.items()
        for f in record.findings
        if f.odd
    ]
    return list(dict.fromkeys(found))


def told(records: Mapping[str, CriticalRecord]) -> Told:
    """The whole outcome in its parts."""
    tables = [
        quantile_table(records),
        pair_table(records),
        class_table(records),
        *(bracket_table(record, name) for name, record in records.items()),
        *(sampled_table(record, name) for name, record in records.items()),
    ]
    return Told(
        headline(records),
        about(records),
        cautions(records),
        how_sure(records),
        [table for table in tables if table is not None],
    )
