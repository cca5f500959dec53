"""What a record says, in rows and columns; drawn by the terminal, the page and plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surefoot.population import Each
from surefoot.report.kinds import population_of
from surefoot.report.phrases import between, nearly_all, odds, p_value, percent, points
from surefoot.results import Decision, Estimate, ExtrapolatedMean, Undecided, Whole
from surefoot.store.records import Record

_SHOWN = 12


@dataclass(frozen=True)
class Table:
    """A heading for each column, rows of text, and how many columns at the left are names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""

    def text(self) -> list[str]:
        """As lines of plain text."""
        lines = [self.headings, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]
        return ["  ".join(self._padded(line, widths)).rstrip() for line in lines]

    def _padded(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.ljust(width) if i < self.names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]


def value_and_interval(result: Whole) -> tuple[str, str]:
    """Two cells: the value, and the interval or why there is none."""
    match result:
        case Estimate(value=value, interval=interval):
            return percent(value), between(interval)[8:].replace(" and ", " to ")
        case Undecided(reason=reason):
            return "undecided", reason
        case ExtrapolatedMean(counted=counted):
            return value_and_interval(counted)


def tail_cells(result: Whole) -> tuple[str, ...]:
    """Five cells: fitted, extrapolated, variance, counted, and its interval."""
    match result:
        case ExtrapolatedMean() as tail:
            spread = "" if tail.variance is None else f"{tail.variance:.2g}"
            return (
                percent(tail.completeness),
                nearly_all(tail.value, tail.failure),
                spread,
                *value_and_interval(tail.counted),
            )
        case Undecided(counted=Estimate() as counted):
            return "0 %", "none", "", *value_and_interval(counted)
        case _:
            return "", "", "", *value_and_interval(result)


TAIL_HEADINGS = ("fitted", "extrapolated", "variance", "counted", "interval of the counted")


def class_table(record: Record) -> Table:
    """What is said of each class."""
    if record.spec["population"]["kind"] == "tail-mean":
        return Table(
            "Class by class", ("class", "inputs", *TAIL_HEADINGS), _rows(record, tail_cells)
        )
    what = population_of(record).quantity.removeprefix("the ")
    return Table(
        "Class by class",
        ("class", "inputs", what, "interval"),
        _rows(record, value_and_interval),
    )


def _rows(record: Record, cells: Callable[[Whole], tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple((of.name, f"{of.inputs:,}", *cells(of.result)) for of in record.classes)


def contrast_table(record: Record) -> Table | None:
    """Which classes differ; the pairs that differ most surely first."""
    if not record.contrasts:
        return None
    error = record.spec["population"]["error"]
    ordered = sorted(record.contrasts, key=lambda c: (c.permutation, -abs(c.difference)))
    by_order = sum(c.permutation <= error for c in ordered)
    by_welch = sum(c.welch is not None and c.welch <= error for c in ordered)
    note = (
        f"Of {len(ordered):,} pairs of classes {by_order:,} differ by the permutation test and "
        f"{by_welch:,} by Welch's t-test: p-values adjusted for all pairs (Holm). The permutation "
        f"test is {odds(error)} about any pair that has the same distribution; Welch's is so "
        "approximately, where means are nearly normal."
    )
    rows = tuple(
        (
            c.first,
            c.second,
            points(c.difference),
            p_value(c.permutation),
            "" if c.welch is None else p_value(c.welch),
        )
        for c in ordered[:_SHOWN]
    )
    headings = ("class", "and class", "difference (points)", "permutation p", "Welch p")
    return Table("Do classes differ?", headings, rows, 2, note)


def each_table(each: Each) -> Table:
    """What is decided of each class, all together."""
    rows = []
    for name, outcome in each.classes.items():
        match outcome:
            case Decision(holds=holds, p_value=float(p)):
                rows.append((name, "meets it" if holds else "does not", p_value(p)))
            case _:
                rows.append((name, "undecided", ""))
    note = "p-values adjusted for all classes (Holm)."
    return Table("Required of each class", ("class", "outcome", "p"), tuple(rows), 2, note)


def exhibit_table(record: Record) -> Table:
    """The least robust inputs, with their true classes where these are known."""
    headings = ("input", "holds under", "true class", "undisturbed", "slips to", "in trial")
    lines = [
        headings,
        *(
            (
                e.id,
                percent(e.robustness),
                e.true_class,
                e.clean_class,
                e.slipped_class,
                f"{e.trial}",
            )
            for e in record.exhibits
        ),
    ]
    shown = [
        i for i in range(len(headings)) if i != 2 or any(e.true_class for e in record.exhibits)
    ]
    first, *rows = (tuple(line[i] for i in shown) for line in lines)
    return Table("Least robust inputs", first, tuple(rows), len(first))
