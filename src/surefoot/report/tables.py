"""Tables as rows of text, and the cells that several kinds of result share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from surefoot.core.claims import Claim
from surefoot.core.results import Estimate, ExtrapolatedMean, Interval, Undecided, Whole
from surefoot.records.record import CleanLoss, Record
from surefoot.report.formatting import (
    one_in,
    percent,
    percent_range,
    small_probability,
    variance,
)

TAIL_HEADINGS = ("fitted", "extrapolated", "variance", "counted", "interval of the counted")
_SPARE_ROWS = 2
"""Rows beyond the visible ones that are shown all the same."""
_MOST_COLUMNS = 10
"""Columns that fit on a sheet in the letters of other tables."""
_LONG_NAME, _LONG_NUMBER, _PHRASE = 12, 20, 40
"""Characters beyond which a cell gets more room, may break, or is a phrase: what a phone shows."""

OF_POPULATION = "interval for the population"
"""Heading of intervals about the inputs that the studied ones stand for, such as of a class."""

EACH_CLASS_NOTE = (
    "Together these outcomes have the confidence chosen for the study (Holm's method). That can "
    "take more evidence than the verdict on all classes at once: a class that is undecided here "
    "may not be what leaves that verdict open."
)
"""Below the outcomes of single classes, which stand beside a verdict on all of them."""


@dataclass(frozen=True)
class Table:
    """A heading for each column, and rows of text.

    The first `name_columns` columns hold names and are set left; the others hold numbers. A page
    shows `visible_rows` of a long table and folds the others; more than `most_on_paper` of these,
    about six sheets, are not printed.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name_columns: int = 1
    note: str = ""
    page_only: bool = False
    visible_rows: int = 10
    most_on_paper: ClassVar[int] = 200

    @property
    def first_rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows that a page shows at once; a fold of one or two would save nothing."""
        folds = len(self.rows) > self.visible_rows + _SPARE_ROWS
        return self.rows[: self.visible_rows] if folds else self.rows

    @property
    def further_rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows that a page folds."""
        return self.rows[len(self.first_rows) :]

    @property
    def is_dense(self) -> bool:
        """Whether it has so many columns that paper needs smaller letters."""
        return len(self.headings) > _MOST_COLUMNS

    @cached_property
    def text_columns(self) -> frozenset[int]:
        """The columns that a page sets left: names, and those where most cells have no digit."""
        return frozenset(
            i
            for i in range(len(self.headings))
            if i < self.name_columns or _are_words([row[i] for row in self.rows if row[i]])
        )

    def style(self, column: int, cell: str) -> str:
        """How a page sets a cell: words of its stylesheet."""
        if column < self.name_columns:
            return "long" if len(cell) > _LONG_NAME else ""
        if column in self.text_columns:
            return "text long" if len(cell) > _LONG_NUMBER else "text"
        if len(cell) > _PHRASE:
            return "number text"
        return "number long" if len(cell) > _LONG_NUMBER else "number"

    def shortened(self, rows: int) -> Table:
        """The first rows, and a note that says of how many."""
        if len(self.rows) <= rows:
            return self
        few = f"{rows} of {len(self.rows):,} rows; --report and --json have all."
        return replace(self, rows=self.rows[:rows], note=" ".join(filter(None, [few, self.note])))

    def text(self) -> list[str]:
        """As lines of plain text."""
        lines = [self.headings, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]
        return ["  ".join(self._padded(line, widths)).rstrip() for line in lines]

    def _padded(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.ljust(width) if i < self.name_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]


def _are_words(cells: Sequence[str]) -> bool:
    return sum(not any(map(str.isdigit, cell)) for cell in cells) > len(cells) / 2


def loss_cell(loss: CleanLoss | None) -> str:
    """The mean loss of clean inputs; infinite where the true class of some has probability 0."""
    if loss is None:
        return ""
    if loss.mean is None:
        return f"infinite ({loss.infinite:,} of {loss.inputs:,} inputs: probability 0)"
    return f"{loss.mean:.3g}"


def quantity_heading(record: Record) -> str:
    """The column of a study's own quantity."""
    kappa = record.study.method.number("kappa")
    if kappa is not None:
        return f"share that fails under at most {one_in(kappa)}"
    return "counted failure probability" if is_tail(record) else "failure probability"


def is_tail(record: Record) -> bool:
    """Whether the study extrapolates the tail of the scores."""
    population = record.study.population
    return population is not None and population.kind == "tail-mean"


def claim_cells(claim: Claim | None) -> tuple[str, str]:
    """Two cells: the value, and the interval or why there is none."""
    if claim is None:
        return "", ""
    if claim.interval is None:
        return "undecided", claim.reason
    return "" if claim.value is None else percent(claim.value), percent_range(claim.interval)


def mean_cells(record: Record, whole: Whole) -> tuple[str, str]:
    """Value and interval for the population: a failure probability, or a robust share."""
    match whole:
        case Estimate(value=value, interval=around):
            if record.study.method.number("kappa") is None:
                value, around = 1 - value, Interval(1 - around.high, 1 - around.low)
            return percent(value), percent_range(around)
        case ExtrapolatedMean(counted=counted):
            return mean_cells(record, counted)
        case Undecided(counted=Estimate() as counted):
            return mean_cells(record, counted)
        case Undecided(reason=reason):
            return "undecided", reason


def tail_cells(record: Record, result: Whole) -> tuple[str, ...]:
    """Five cells: fitted, extrapolated, variance, counted, and its interval."""
    match result:
        case ExtrapolatedMean() as tail:
            spread = "" if tail.variance is None else variance(tail.variance)
            share, extrapolated = percent(tail.completeness), small_probability(tail.failure)
            return share, extrapolated, spread, *mean_cells(record, tail)
        case _:
            return "0 %", "none", "", *mean_cells(record, result)
