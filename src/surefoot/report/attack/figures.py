"""The figure of an attack."""

from __future__ import annotations

from math import inf
from typing import Any

from surefoot.core.results import Bracket
from surefoot.records.record import Record
from surefoot.report.figures import STEADY, WEAK, bar_chart


def attack_chart(record: Record) -> Any:  # noqa: ANN401  an object of Altair
    """How many inputs an attack broke, and how many not."""
    broken = sum(isinstance(r.result, Bracket) and r.result.high < inf for r in record.inputs)
    counts = {"not broken": len(record.inputs) - broken, "broken": broken}
    return bar_chart(counts, [STEADY, WEAK], len(record.inputs))
