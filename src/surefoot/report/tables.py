"""Rows and columns; drawn by the terminal, the page and plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.claims import About, Claim, Verdict
from surefoot.report.claim_parts import sure
from surefoot.report.formatting import (
    confidence,
    nearly_none,
    of_perturbations,
    once_in,
    p_value,
    percent,
    percent_range,
    points,
)
from surefoot.results import (
    Bracket,
    Decision,
    Estimate,
    ExtrapolatedMean,
    InputResult,
    Interval,
    Undecided,
    Whole,
)
from surefoot.store.records import Record, Samples

_SHOWN = 12


@dataclass(frozen=True)
class Table:
    """A heading for each column, rows of text, and how many columns at the left are names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""
    page_only: bool = False

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


def quantity_heading(record: Record) -> str:
    """The column of a study's own quantity."""
    kappa = record.spec["method"].get("kappa")
    if kappa is not None:
        return f"share that fails under at most {once_in(kappa)}"
    tail = record.spec["population"]["kind"] == "tail-mean"
    return "counted failure probability" if tail else "failure probability"


def claim_cells(claim: Claim | None) -> tuple[str, str]:
    """Two cells: the value, and the interval or why there is none."""
    if claim is None:
        return "", ""
    if claim.interval is None:
        return "undecided", claim.reason
    return "" if claim.value is None else percent(claim.value), percent_range(claim.interval)


def mean_cells(record: Record, whole: Whole) -> tuple[str, str]:
    """Value and interval of a statement about the population, as failing or as a share."""
    match whole:
        case Estimate(value=value, interval=around):
            if record.spec["method"].get("kappa") is None:
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
            spread = "" if tail.variance is None else f"{tail.variance:.2g}"
            share, guess = percent(tail.completeness), nearly_none(tail.failure)
            return share, guess, spread, *mean_cells(record, tail)
        case _:
            return "0 %", "none", "", *mean_cells(record, result)


TAIL_HEADINGS = ("fitted", "extrapolated", "variance", "counted", "interval of the counted")


def class_table(record: Record, found: Samples) -> Table:
    """What is claimed of each class, all together."""
    claims = {c.about.name: c for c in record.claims if c.about.of is About.CLASS}
    together = next((sure(c) for c in claims.values() if c.interval is not None), "")
    note = f"{together[:1].upper()}{together[1:]}." if together else ""
    if record.spec["population"]["kind"] == "tail-mean":
        rows = tuple(
            (r.name, f"{r.inputs:,}", *tail_cells(record, r.result)) for r in found.classes
        )
        return Table("Class by class", ("class", "inputs", *TAIL_HEADINGS), rows, note=note)
    rows = tuple((r.name, f"{r.inputs:,}", *claim_cells(claims.get(r.name))) for r in found.classes)
    headings = ("class", "inputs", quantity_heading(record), "interval")
    return Table("Class by class", headings, rows, note=note)


def contrast_table(record: Record, found: Samples) -> Table | None:
    """Which classes differ; the pairs that differ most surely first."""
    if not found.contrasts:
        return None
    ordered = sorted(found.contrasts, key=lambda c: (c.permutation, -abs(c.difference)))
    note = (
        "p-values are adjusted for all pairs (Holm). The permutation test is exact where two "
        "classes have the same distribution of values; Welch's t-test is approximate and left "
        "blank below ten values."
    )
    rows = tuple(
        (
            c.first,
            c.second,
            points(-c.difference),
            p_value(c.permutation),
            "" if c.welch is None else p_value(c.welch),
        )
        for c in ordered[:_SHOWN]
    )
    headings = ("class", "and class", "fails more (points)", "permutation p", "Welch p")
    return Table("Do classes differ?", headings, rows, 2, note, page_only=True)


def verdict_table(claims: Sequence[Claim]) -> Table:
    """What is decided of each class, all together."""
    words = {Verdict.PASS: "meets it", Verdict.FAIL: "does not", Verdict.UNDECIDED: "undecided"}
    rows = tuple((c.about.name, words[c.verdict]) for c in claims if c.verdict is not None)
    note = "All together, at the stated error (Holm)."
    return Table("Required of each class", ("class", "outcome"), rows, 2, note)


def counted_of(result: InputResult) -> Estimate | None:
    """What an input's own trials say of it, with its guarantee."""
    if isinstance(result, Bracket):
        return None
    return result if isinstance(result, Estimate) else result.counted


def fails_under(record: Record, result: InputResult) -> str:
    """Under how many perturbations an input fails: as decided, or between its bounds."""
    kappa = record.spec["method"].get("kappa")
    if isinstance(result, Decision) and kappa is not None:
        return f"{'at most' if result.holds else 'more than'} {of_perturbations(kappa)}"
    known = counted_of(result)
    if known is None:
        return "undecided"
    around = Interval(1 - known.interval.high, 1 - known.interval.low)
    return f"{percent_range(around)} of the perturbations"


def example_table(record: Record, found: Samples) -> Table:
    """The weakest inputs, with their true classes where these are known."""
    headings = ("input", "fails under", "true class", "clean", "fails as", "in trial")
    own = {row.id: row.result for row in record.inputs}
    lines = [
        headings,
        *(
            (
                e.id,
                fails_under(record, own[e.id]),
                e.true_class,
                e.clean_class,
                e.failed_class,
                f"{e.trial}",
            )
            for e in found.examples
        ),
    ]
    known = any(e.true_class for e in found.examples)
    shown = [i for i in range(len(headings)) if i != 2 or known]
    first, *rows = (tuple(line[i] for i in shown) for line in lines)
    return Table("Weakest inputs", first, tuple(rows), len(first), by_itself(record))


def by_itself(record: Record) -> str:
    """How sure the intervals of single inputs are."""
    errors = {known.guarantee.error for row in record.inputs if (known := counted_of(row.result))}
    if not errors:
        return ""
    return f"Confidence {confidence(max(errors))} for each input by itself, not for all together."
