"""Tables of a page for other programs: CSV with numbers, LaTeX with booktabs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from surefoot.errors import InvalidArgument
from surefoot.records.options import DocumentOptions
from surefoot.report.export.run import ExportedRun, metrics_of
from surefoot.report.sentences import required_statement, sentence
from surefoot.report.tables import IN_BRACKETS, Table
from surefoot.report.view import View
from surefoot.system.text import escape_all_controls, escape_controls

CLAIMS = "claims"
"""The table of all claims, which every run has: the one that is written where none is named."""
INTERVALS = ("range", "plus-minus")
_HEADINGS = ("perturbation", "quantity", "value", "interval", "error probability")
_NOTE = (
    "The error probability is that of a wrong interval, or of any wrong one of the claims that "
    "hold together; 0: proved or counted"
)
_NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_CELL = re.compile(rf"(?P<low>{_NUMBER})(?P<unit> %)?(?: to (?P<high>{_NUMBER})(?P=unit)?)?")
"""A number, or a range from one to another, as tables print them."""
_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"κ": r"$\kappa$", "ε": r"$\varepsilon$", "∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$"}
    | {"×": r"$\times$", "±": r"$\pm$", "−": "$-$", "…": r"\ldots{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", '"': r"\textquotedbl{}", "|": r"\textbar{}", "\u00a0": "~"}
)


@dataclass(frozen=True)
class _Numbers:
    """What a cell says: one number, or two ends; `unit` is " %" or empty."""

    low: Decimal
    high: Decimal
    unit: str


def _numbers(cell: str) -> _Numbers | None:
    """What a cell says in numbers; None for other words."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return None
    ends = found["low"], found["high"] or found["low"]
    low, high = (Decimal(text.replace(",", "").replace("−", "-")) for text in ends)
    return _Numbers(low, high, found["unit"] or "")


def table_names(view: View) -> list[str]:
    """The names by which the tables of a page are chosen, the claims first."""
    return [CLAIMS, *_tables(view)]


def _tables(view: View) -> Mapping[str, Table]:
    every = ((one.id, one.table or one.terminal_table) for one in view.sections)
    return {name: table for name, table in every if table is not None}


def _named(run: ExportedRun, name: str) -> Table:
    known = _tables(run.view)
    if name not in known:
        raise InvalidArgument(
            f"table (--table) is one of {', '.join(table_names(run.view))}, got {name!r}",
            option="table",
            value=name,
        )
    return known[name]


def _claims_table(run: ExportedRun) -> Table:
    """A row for every number of a claim, then one for every verdict."""
    rows = [
        (run.perturbation(one.claim), one.name, one.number, one.interval,
         "no guarantee" if one.error is None else f"{one.error:g}")
        for one in metrics_of(run.record.claims)
    ]  # fmt: skip
    rows += [
        (run.perturbation(claim), required_statement(claim), str(claim.verdict), "",
         f"{claim.guarantee.error:g}")
        for claim in run.verdicts
    ]  # fmt: skip
    return Table("Claims", _HEADINGS, tuple(rows), 2, _NOTE)


def csv_table(run: ExportedRun, options: DocumentOptions) -> str:
    """The table with a header: what is a number throughout a column is one, without its unit.

    An interval is two columns. Numbers of claims are not rounded; those of other tables are as the
    page prints them, and a column that holds other words too is text.
    """
    if options.table in ("", CLAIMS):
        lines = _claim_lines(run, options.intervals)
    else:
        table = _named(run, options.table)
        columns = [
            column
            for i, cells in enumerate(zip(*table.rows, strict=True))
            for column in _csv_columns(table, i, cells, options.intervals)
        ]
        lines = [list(line) for line in zip(*columns, strict=True)] or [list(table.headings)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(escape_all_controls(lines))
    return out.getvalue()


def _claim_lines(run: ExportedRun, intervals: str | None) -> list[list[str]]:
    head = ["perturbation", "quantity", "value", "low", "high", "error_probability", "verdict"]
    if intervals == INTERVALS[1]:
        raise InvalidArgument(
            "the claims have the ends of their intervals: leave out intervals (--intervals), or "
            "name a table of the page (--table)",
            option="intervals",
            value=intervals,
        )
    numbers = [
        [run.perturbation(one.claim), one.name,
         *("" if n is None else repr(n) for n in (one.value, one.low, one.high, one.error)), ""]
        for one in metrics_of(run.record.claims)
    ]  # fmt: skip
    verdicts = [
        [run.perturbation(claim), required_statement(claim), "", "", "",
         repr(claim.guarantee.error), str(claim.verdict)]
        for claim in run.verdicts
    ]  # fmt: skip
    return [head, *numbers, *verdicts]


def _csv_columns(
    table: Table, place: int, cells: Sequence[str], intervals: str | None
) -> list[tuple[str, ...]]:
    """The column under its heading, or two of the ends where all its cells are ranges."""
    heading, within = table.headings[place], table.numbers
    several = [within.get((row, place)) for row in range(len(cells))]
    if any(one is not None and one.half for one in several):
        # the levels where they are in the cells, the numbers, and the ends of their intervals
        parts = {"value": heading, "low": f"{heading} low", "high": f"{heading} high"}
        if intervals == INTERVALS[1]:
            parts = {"value": heading, "half": f"{heading} ±"}
        if any(one is not None and one.level for one in several):
            parts = {"level": f"{heading} level", **parts}
        return [
            (title, *("" if one is None else str(getattr(one, part)) for one in several))
            for part, title in parts.items()
        ]
    known = [_numbers(cell) for cell in cells if cell]
    read = [one for one in known if one is not None]
    units = {one.unit for one in read}
    if len(read) < len(known) or len(units) != 1:
        return [(heading, *cells)]
    named = heading + (" (%)" if units == {" %"} else "")
    values = [_numbers(cell) for cell in cells]
    lows, highs = (
        ["" if one is None else f"{getattr(one, end):f}" for one in values]
        for end in ("low", "high")
    )
    if lows == highs:
        return [(named, *lows)]
    return [(f"{named} low", *lows), (f"{named} high", *highs)]


def latex_table(run: ExportedRun, options: DocumentOptions) -> str:
    """A table environment for the package booktabs; the headline stands above it as a comment."""
    if options.intervals not in (None, *INTERVALS):
        raise InvalidArgument(
            f"there are no intervals {options.intervals!r} (--intervals): choose "
            f"{' or '.join(INTERVALS)}",
            option="intervals",
            value=options.intervals,
        )
    claims = options.table in ("", CLAIMS)
    table = _claims_table(run) if claims else _named(run, options.table)
    headings, rows = [*table.headings], [[*row] for row in table.rows]
    note = table.note
    if options.intervals == INTERVALS[1]:
        for (row, column), cell in table.numbers.items():
            rows[row][column] = cell.words(f" ± {cell.half}")
        note = note.replace(IN_BRACKETS, "Behind ±: as far as the farther end of the interval")
        headings, rows = _with_plus_minus(headings, rows)
    left = {table.headings[i] for i in table.text_columns}
    align = "".join("l" if heading in left else "r" for heading in headings)
    head, *lines = (" & ".join(_tex(cell) for cell in line) + r" \\" for line in (headings, *rows))
    name = re.sub(r"[^A-Za-z0-9-]+", "-", options.table or CLAIMS)
    caption = ". ".join(text.rstrip(".") for text in (table.title, note) if text)
    said = [f"% {line}" for claim in run.view.headline[:1] for line in [_line(sentence(claim))]]
    parts = [
        *said, f"% run {run.record.digest[:12]}; needs \\usepackage{{booktabs}}",
        r"\begin{table}", r"\centering", f"\\caption{{{_tex(caption)}}}", f"\\label{{tab:{name}}}",
        f"\\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *lines, r"\bottomrule",
        r"\end{tabular}", r"\end{table}", "",
    ]  # fmt: skip
    return "\n".join(parts)


def _line(text: str) -> str:
    """On one line, whatever a name holds: what follows a line break would be no comment."""
    return " ".join(str(escape_controls(text)).split())


def _tex(cell: str) -> str:
    return _line(cell).translate(_TEX)


def _with_plus_minus(
    headings: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Each column of intervals joined with the numbers before it: 24.75 ± 3.2 %.

    The number behind ± reaches the farther end, so that nothing of the interval is lost.
    """
    places = [
        i for i in range(1, len(headings))
        if any(" to " in row[i] and _numbers(row[i]) for row in rows)
        and any(_numbers(row[i - 1]) for row in rows)
    ]  # fmt: skip
    for i in reversed(places):
        for row in rows:
            row[i - 1 : i + 1] = [_joined(row[i - 1], row[i])]
        headings = [*headings[: i - 1], f"{headings[i - 1]} ± {headings[i]}", *headings[i + 1 :]]
    return headings, rows


def _joined(value: str, interval: str) -> str:
    middle, around = _numbers(value), _numbers(interval)
    if middle is None or around is None or middle.unit != around.unit:
        return " ".join(filter(None, [value, f"({interval})" if value and interval else interval]))
    half = max(around.high - middle.low, middle.low - around.low)
    return f"{middle.low} ± {half}{middle.unit}" if half else value
