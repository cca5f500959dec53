"""Tables as rows of text, and the cells and notes that several kinds of result share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import ClassVar

from surefoot.core.claims import CaseDifference, Claim, FailureDifference, Verdict
from surefoot.core.results import Estimate, ExtrapolatedMean, Interval, Undecided, Whole
from surefoot.records.input_table import clean_kinds
from surefoot.records.record import CleanLoss, InputRow, Record
from surefoot.report import formatting
from surefoot.report.clauses import in_kept, required_number
from surefoot.report.reasons import reason_words

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


_OUTCOMES = {Verdict.FAIL: "fails it", Verdict.UNDECIDED: "undecided", Verdict.PASS: "meets it"}
"""In the order in which a reader looks for them."""


IN_BRACKETS = "In brackets: intervals"
"""What the note of a table says of the cells that have numbers."""


@dataclass(frozen=True)
class CellNumbers:
    """What a cell shows: a number as printed, the ends of its interval, and of which level.

    The ends are the number itself where it was counted; the level is in the heading if empty.
    """

    value: Decimal
    low: Decimal
    high: Decimal
    level: str = ""

    @property
    def half(self) -> Decimal:
        """How far the farther end is from the number: nothing of the interval is lost."""
        return max(self.high - self.value, self.value - self.low)

    def words(self, around: str) -> str:
        """The cell, with what stands around the number where it is not exact."""
        level = f"{self.level}: " if self.level else ""
        return f"{level}{self.value}{around if self.low < self.high else ''}"


@dataclass(frozen=True)
class Table:
    """A heading for each column, and rows of text.

    The first `name_columns` columns hold names and are set left; the others hold numbers. A page
    shows `visible_rows` of a long table and folds the others; more than `most_on_paper` of these,
    about six sheets, are not printed. A terminal shows a `whole` table with all its rows. `numbers`
    are those of cells with several, by row and column, for other programs.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name_columns: int = 1
    note: str = ""
    page_only: bool = False
    visible_rows: int = 10
    whole: bool = False
    numbers: Mapping[tuple[int, int], CellNumbers] = field(default_factory=dict)
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
        words = set(range(self.name_columns))
        for i in range(self.name_columns, len(self.headings)):
            cells = [row[i] for row in self.rows if row[i]]
            if sum(not any(map(str.isdigit, cell)) for cell in cells) > len(cells) / 2:
                words.add(i)
        return frozenset(words)

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
        if len(self.rows) <= rows or self.whole:
            return self
        few = f"{rows} of {len(self.rows):,} rows; --report and --json have all."
        return replace(self, rows=self.rows[:rows], note=" ".join(filter(None, [few, self.note])))

    def paragraph(self) -> list[str]:
        """Below an empty line: the title, the table as plain text, and its note."""
        return ["", self.title, *self.text(), *filter(None, [self.note])]

    def text(self) -> list[str]:
        """As lines of plain text."""
        lines = [self.headings, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]
        return [
            "  ".join(
                cell.ljust(width) if i < self.name_columns else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]


def verdict_table(
    claims: Sequence[Claim], required: str, side: str = "at most", word: str = "class"
) -> Table:
    """What is decided of each class, all together; of equal verdicts in the order given."""
    rows = tuple(
        (c.about.name, f"{side} {formatting.exact_percent(required_number(in_kept(c)))}", outcome)
        for verdict, outcome in _OUTCOMES.items()
        for c in claims
        if c.verdict is verdict
    )
    headings = (word, f"required: {required}", "outcome")
    return Table(f"Requirement for each {word}", headings, rows, 3, EACH_CLASS_NOTE)


def pair_table(
    claims: Sequence[FailureDifference | CaseDifference],
    unit: str,
    headings: tuple[str, str],
    same: str,
    *,
    larger_wins: bool = False,
) -> Table:
    """Every pair of models or files, as its claim says it, and which of the two is better.

    `headings`: of the difference and of the better one; `same`: said of two that never differ.
    """
    rows = []
    for claim in claims:
        first, second = claim.names
        around = claim.interval or Interval(0.0, 0.0)
        better = first if (around.low > 0) is larger_wins else second
        if around.low <= 0 <= around.high:
            better = same if around.low == around.high else "not shown to differ"
        between = "" if claim.interval is None else formatting.points_range(around)
        rows.append((first, second, formatting.points(claim.value or 0.0), between, better))
    difference, which = headings
    columns = (unit, f"and {unit}", difference, "interval", which)
    return Table(f"Pairs of {unit}s", columns, tuple(rows), 2)


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
        return f"share decided to fail under at most {formatting.one_in(kappa)}"
    if counts_kept(record):
        return "accuracy" if record.study.means_accuracy else "labels kept"
    return "counted failure probability" if record.study.is_tail else "failure probability"


def counts_kept(record: Record) -> bool:
    """Whether a large number is good: accuracy, labels kept, a robust share; not of failing."""
    of_labels = record.study.property.kind in ("true", "same") and not record.study.is_tail
    return of_labels or record.study.method.number("kappa") is not None


def claim_cells(claim: Claim | None) -> tuple[str, str]:
    """Two cells: the value, and the interval or why there is none."""
    if claim is None:
        return "", ""
    if claim.interval is None:
        return "undecided", reason_words(claim.reason)
    return "" if claim.value is None else formatting.percent(claim.value), formatting.percent_range(
        claim.interval
    )


def mean_cells(record: Record, whole: Whole) -> tuple[str, str]:
    """Value and interval for the population: of failing, or of what is kept."""
    match whole:
        case Estimate(value=value, interval=around):
            if not counts_kept(record):
                value, around = 1 - value, Interval(1 - around.high, 1 - around.low)
            return formatting.percent(value), formatting.percent_range(around)
        case ExtrapolatedMean(counted=counted):
            return mean_cells(record, counted)
        case Undecided(counted=Estimate() as counted):
            return mean_cells(record, counted)
        case Undecided(reason=reason):
            return "undecided", reason_words(reason)


def tail_cells(record: Record, result: Whole) -> tuple[str, ...]:
    """Five cells: fitted, extrapolated, variance, counted, and its interval."""
    match result:
        case ExtrapolatedMean() as tail:
            spread = "" if tail.variance is None else formatting.variance(tail.variance)
            share = formatting.percent(tail.completeness)
            failure = formatting.small_probability(tail.failure)
            return share, failure, spread, *mean_cells(record, tail)
        case _:
            return "0 %", "none", "", *mean_cells(record, result)


def whole_cells(record: Record, whole: Whole | None) -> tuple[str, ...]:
    """Those of a tail, or else of a mean; none where nothing is known."""
    if whole is None:
        return ()
    return (tail_cells if record.study.is_tail else mean_cells)(record, whole)


WRONG, TIED, FAILS = "wrong", "tied", "fails"
_FAULTS = (WRONG, TIED, FAILS)
_LABEL_KEPT = ("same", "true")
"""Properties that a clean input with the right label fails only where its scores are tied."""


def clean_fault(record: Record, row: InputRow) -> str:
    """`WRONG`, `TIED` or `FAILS` when clean; empty where it is right."""
    [fault] = _clean_faults(record, (row,))
    return fault


def _clean_faults(record: Record, rows: Sequence[InputRow]) -> Counter[str]:
    """How many inputs have each fault; under the empty text those that are right."""
    other = TIED if record.study.property.kind in _LABEL_KEPT else FAILS
    counts: Counter[str] = Counter()
    for kind, number in clean_kinds(rows).items():
        counts["" if kind.right else WRONG if kind.same is False else other] += number
    return counts


def clean_faults_note(record: Record) -> str:
    """How many inputs are not right when clean, and so no examples; empty for none."""
    counts = _clean_faults(record, record.inputs)
    note = faults_note([(fault, counts[fault]) for fault in _FAULTS], len(record.inputs))
    if counts[WRONG] and record.study.property.kind == "same":
        note += " A wrong input fails here only where its label changes."
    return note


def faults_note(counts: Sequence[tuple[str, int]], inputs: int, unit: str = "inputs") -> str:
    """So many of these inputs have each fault; empty for none.

    `unit`: what is counted, where it is not single inputs.
    """
    some = [(fault, number) for fault, number in counts if number]
    if not some:
        return ""
    (fault, number), *others = some
    first = f"{number:,} of {inputs:,} {unit} {_fault_words(fault, number)} already when clean"
    listed = " and ".join([first, *(f"{n:,} {_fault_words(fault, n)}" for fault, n in others)])
    they = "it counts" if sum(n for _, n in some) == 1 else "they count"
    return (
        f"{listed}: {they} in the result above, but this list is of inputs that are right until "
        "they are perturbed."
    )


def ties_clause(record: Record) -> str:
    """How many inputs have their true label by a tie alone, after a comma; empty for none."""
    kept_labels = record.study.property.kind in _LABEL_KEPT
    tied = sum(
        number
        for kind, number in clean_kinds(record.inputs).items()
        if kept_labels and kind.labelled and kind.same is not False and kind.kept is False
    )
    return f", {tied:,} of them in a tie with another, which fails" if tied else ""


def _fault_words(fault: str, number: int) -> str:
    if fault == FAILS:
        return "fails" if number == 1 else "fail"
    return f"{'is' if number == 1 else 'are'} {fault}"
