"""What kind of statement a record makes, and of what."""

from __future__ import annotations

from typing import Any

from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.store.records import Record

KINDS: dict[str, Any] = {kind.kind: kind for kind in (Mean, RobustShare, TailMean)}


def population_of(record: Record) -> Population:
    """The population that concluded the record."""
    told = record.spec["population"]
    made: Population = KINDS[told["kind"]](told["error"])
    return made
