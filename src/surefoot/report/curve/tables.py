"""Rows of the tables of curves: one for each threshold."""

from __future__ import annotations

from surefoot.report.formatting import four_digits, percent, percent_range
from surefoot.results import Curve, Footing, Reading

READING_HEADINGS = (
    "curve",
    "threshold",
    "share of levels",
    "interval",
    "crosses at",
    "levels",
    "passes",
)


def reading_row(name: str, curve: Curve, reading: Reading) -> tuple[str, ...]:
    """The cells of one threshold."""
    guaranteed = reading.guarantee.footing is not Footing.NONE
    nowhere = "not located" if reading.interval.width > 0 and reading.value < 1 else "nowhere"
    return (
        name,
        percent(reading.threshold),
        percent(reading.value),
        percent_range(reading.interval) if guaranteed else "no guarantee",
        ", ".join(four_digits(c.level) for c in reading.crossings) or nowhere,
        f"{len(curve.points)}",
        f"{curve.trials / curve.size:.3g}",
    )
