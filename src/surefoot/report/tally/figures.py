"""The figure of a tally: failure rates with their intervals."""

from __future__ import annotations

from typing import Any

from surefoot.report.figures import STEADY
from surefoot.store.records import Record


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
        for claim in record.claims
        if claim.kind == "case_failure" and claim.interval is not None and claim.value is not None
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("name:N", sort=[str(row["name"]) for row in rows], title=None)
    x = alt.X("low:Q", title="failure rate (%)", scale=alt.Scale(domainMin=0))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    return (lines + dots).properties(width=560, height=alt.Step(26))
