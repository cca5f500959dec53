"""The figure of a tally: failure rates with their intervals."""

from __future__ import annotations

from typing import Any

from surefoot.core.claims import Claim
from surefoot.core.results import UNIT
from surefoot.records.record import Record
from surefoot.report.figures import NARROW, STEADY
from surefoot.report.formatting import percent, percent_range

MOST_CLASSES = 20
"""Classes in a figure, those that fail most often first: the table has all."""


def describe_rates(record: Record) -> str:
    """The rate of all cases, or of each file, with its interval; and the extreme classes."""
    claims = [c for c in record.claims if c.kind == "case_failure" and c.interval is not None]
    whole = [c for c in claims if not c.about.name]
    lines = [f"{', '.join(c.names) or 'all cases'} {_words(c)}" for c in whole]
    classes = sorted((c for c in claims if c.about.name), key=lambda c: -(c.value or 0.0))
    if classes:
        first, last = classes[0], classes[-1]
        lines.append(
            f"{len(classes):,} classes from {first.about.name} {_words(first)} to "
            f"{last.about.name} {_words(last)}"
        )
    return f"Failure rates: {'; '.join(lines)}." if lines else "No rate is known."


def worst_first(record: Record) -> list[Claim]:
    """All cases or files in their order, then the classes: those that fail most often first."""
    claims = [claim for claim in record.claims if claim.kind == "case_failure"]
    classes = [claim for claim in claims if claim.about.name]
    rest = [claim for claim in claims if not claim.about.name]
    return [*rest, *sorted(classes, key=lambda claim: -(claim.value or 0.0))]


def _words(claim: Claim) -> str:
    value = "" if claim.value is None else f"{percent(claim.value)} "
    return f"{value}({percent_range(claim.interval or UNIT)})"


def tally_chart(record: Record) -> Any:  # noqa: ANN401  Altair's
    """All cases and each class, or each file: a dot and its interval."""
    import altair as alt

    rows = [
        {
            "name": claim.about.name or ", ".join(claim.names) or "all cases",
            "value": 100 * claim.value,
            "low": 100 * claim.interval.low,
            "high": 100 * claim.interval.high,
        }
        for claim in worst_first(record)[: MOST_CLASSES + 1]
        if claim.kind == "case_failure" and claim.interval is not None and claim.value is not None
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("name:N", sort=[str(row["name"]) for row in rows], title=None)
    x = alt.X("low:Q", title="failure rate (%)", scale=alt.Scale(domainMin=0))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    return (lines + dots).properties(width=NARROW, height=alt.Step(26))
