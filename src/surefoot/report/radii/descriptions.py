"""What the figures of critical radii show, in numbers, for readers who do not see them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.core.results import Quantile
from surefoot.records.record import Record
from surefoot.report.formatting import four_digits, percent, radius_range
from surefoot.report.radii.tables import brackets_of, radii_in

_MOST = 6
"""Networks in words: a description is listened to."""


def describe_radii(records: Mapping[str, Record]) -> str:
    """Half of the inputs, and the quantile with its interval."""
    return " ".join(_radii(name, part) for name, part in list(records.items())[:_MOST])


def _radii(name: str, record: Record) -> str:
    brackets = [bracket for _, bracket in brackets_of(record)]
    refuted = sorted(b.high for b in brackets if math.isfinite(b.high))
    head = f"{name}: of" if name else "Of"
    line = f"{head} {len(brackets):,} inputs {len(refuted):,} have a counterexample"
    if refuted:
        line += f", at radii from {four_digits(refuted[0])} to {four_digits(refuted[-1])}"
    quantile = radii_in(record).quantiles[0].result
    if isinstance(quantile, Quantile) and math.isfinite(quantile.value):
        line += (
            f". The {percent(quantile.share)} quantile is {four_digits(quantile.value)} "
            f"({radius_range(quantile.interval)})"
        )
    return f"{line}."


def describe_accuracy(records: Mapping[str, Record]) -> str:
    """Robust accuracy at radius 0 and at the middle of the axis."""
    return " ".join(_accuracy(name, part) for name, part in list(records.items())[:_MOST])


def _accuracy(name: str, record: Record) -> str:
    brackets = [bracket for _, bracket in brackets_of(record)]
    ends = [x for b in brackets for x in (b.low, b.high) if math.isfinite(x)]
    if not ends or not brackets:
        return "No input has a bracket."
    lines = []
    for radius in (0.0, max(ends) / 2, max(ends)):
        proved = sum(b.low >= radius and b.high > 0 for b in brackets) / len(brackets)
        kept = sum(b.high > radius for b in brackets) / len(brackets)
        lines.append(
            f"at radius {four_digits(radius)} {percent(proved)} are proved and {percent(kept)} not "
            "refuted"
        )
    return f"{f'{name}: ' if name else 'Of the inputs, '}{'; '.join(lines)}."


def describe_times(record: Record) -> str:
    """The fastest and the slowest input."""
    spent = [b.seconds for _, b in brackets_of(record) if b.seconds is not None]
    if not spent:
        return "No time is known."
    return (
        f"Seconds of {len(spent):,} inputs against their proved radius, from {min(spent):.2g} to "
        f"{max(spent):.2g} seconds."
    )
