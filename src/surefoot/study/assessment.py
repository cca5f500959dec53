"""What a study comes back with: the record, with its words and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot.population import Each, all_robust, requirement, requirement_of_each
from surefoot.report.html import write_report
from surefoot.report.kinds import population_of
from surefoot.report.words import summary
from surefoot.results import Decision, Result, Undecided, Whole
from surefoot.store.records import ClassRow, Record, record_to_json
from surefoot.study.aggregate import by_class, told_apart


@dataclass(frozen=True)
class Assessment:
    """The answer to a study. `print` it, write its `report`, or read its parts."""

    record: Record
    from_store: bool = False

    @property
    def population(self) -> Whole:
        """What is said of the population the inputs come from: mean robustness, or robust share."""
        return self.record.population

    @property
    def classes(self) -> tuple[ClassRow, ...]:
        """The same for each class."""
        return self.record.classes

    @property
    def local(self) -> Mapping[str, Result]:
        """Each input's own result, by id."""
        return {row.id: row.result for row in self.record.local}

    def requires(self, least: float) -> Decision | Undecided:
        """Whether the population's mean robustness, or robust share, is at least this much."""
        over, local = population_of(self.record), [row.result for row in self.record.local]
        return requirement(over, local, least)

    def requires_of_each_class(self, least: float) -> Each:
        """Whether every class's mean robustness, or robust share, is at least this much."""
        told = self.record.spec["inputs"]["class_names"]
        found = by_class(self.record.local)
        names = told_apart(found, lambda i: told[i] if 0 <= i < len(told) else str(i))
        groups = {names[label]: results for label, results in found.items()}
        return requirement_of_each(population_of(self.record), groups, least)

    def strongest(self) -> tuple[Decision, ...]:
        """The strongest claims this evidence allows."""
        local = [row.result for row in self.record.local]
        return population_of(self.record).strongest(local, self.population)

    def all_robust(self) -> Decision | Undecided:
        """Whether every input studied keeps below κ, for a study that decides input by input."""
        return all_robust([row.result for row in self.record.local])

    def report(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return write_report(self.record, Path(path))

    def to_json(self) -> str:
        """Everything, for machines."""
        return record_to_json(self.record)

    def __str__(self) -> str:
        """The claim in sentences."""
        return summary(self.record)
