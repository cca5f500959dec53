"""A suite: perturbations × levels as a heat map, as curves, as a table, and its page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from surefoot.core.claims import CorruptionError, SuiteMean
from surefoot.core.results import Estimate, exceeds
from surefoot.records.record import BASELINE, Comparison, Record, row_and_column
from surefoot.report import alt
from surefoot.report.clauses import capitalised, confidence_clause, curve_quantity
from surefoot.report.figures import GRID, INK, QUIET, SERIES, TEXT, Row, legend_above, marks
from surefoot.report.formatting import file_name, percent, with_full_stop
from surefoot.report.provenance import (
    Shown,
    page_title,
    provenance,
    rung_cautions,
    rung_facts,
    shared_cautions,
)
from surefoot.report.sentences import sentence
from surefoot.report.tables import IN_BRACKETS, CellNumbers, Table
from surefoot.report.view import Figure, Section, View

_NAMED_CURVES = 4
"""The weakest rows, whose curves have a colour and a name; the others are grey."""
_OF_ALL_CELLS = (
    "Files", "Model", "Model input", "Model output", "Inputs", "Selection", "Property", "Method",
    "Software",
)  # fmt: skip
_NAMED_LATE = 5
"""Cells named that are not known to the precision."""
_WIDE = 860
"""Pixels of a drawing for the card of a suite, which is as wide as its table."""
_CELL, _ROW = 66, 27
"""Pixels of a cell of the heat map: wide enough for 100.0 on a phone."""
_SHADES = ("#b5451b", "#e39a72", "#f3dfd2", "#c5d9e3", "#4d8aa8", "#1d5b7a")
"""From 0 % to 100 %: weak is warm, as everywhere; the ends differ on grey paper by their text."""
_SHADED_AT = (0, 30, 55, 75, 90, 100)
"""Per cent of each shade: closer where most cells are, so that 94 % and 100 % differ."""
_ON_DARK, _ON_LIGHT = "#fdfdfd", "#1f2934"
"""Letters on a shade, which stays as it is where a page is dark: not the page's own colours."""


@dataclass(frozen=True)
class Cell:
    """One cell: where it stands, and what is known of it."""

    row: str
    column: str
    kept: Estimate
    order: int
    level: float | None
    error_of_baseline: float | None


@dataclass(frozen=True)
class Grid:
    """The cells by row, the weakest row first; `columns` are headings that all rows share."""

    rows: Mapping[str, tuple[Cell, ...]]
    columns: tuple[str, ...]
    shared: bool

    def mean(self, row: str) -> float:
        """Over the cells of a row."""
        cells = self.rows[row]
        return sum(cell.kept.value for cell in cells) / len(cells)

    def levels(self, row: str) -> str:
        """What the published severities of a row stand for; empty where levels are headings."""
        cells = self.rows[row]
        known = [cell.level for cell in cells if cell.level is not None]
        if not all(_severity(c.column) for c in cells) or len(known) < len(cells):
            return ""
        same = all(_severity(cell.column) == cell.level for cell in cells)
        return "" if same else ", ".join(f"{level:.3g}" for level in known)

    def corruption_error(self, row: str) -> float | None:
        """Errors over those of the baseline; None without one, or where it has none."""
        below = [cell.error_of_baseline for cell in self.rows[row]]
        total = sum(one or 0.0 for one in below)
        known = total and None not in below
        return sum(1 - cell.kept.value for cell in self.rows[row]) / total if known else None


def _severity(column: str) -> int | None:
    return int(column[1:]) if column.startswith("s") and column[1:].isdigit() else None


def grid_of(record: Record, suite: Comparison) -> Grid:
    """Rows sorted by weakness, the cells of each in the order of the suite."""
    names = [n for n in getattr(record.spec, "names", ()) if not n.startswith(BASELINE)]
    rows: dict[str, list[Cell]] = {}
    members = {member.name: member for member in suite.members}
    for member in (members[name] for name in names):
        if isinstance(member.whole, Estimate):
            row, column = row_and_column(member.name)
            own = rows.setdefault(row, [])
            beside = members.get(f"{BASELINE}{member.name}")
            other = beside.whole if beside is not None else None
            failing = 1 - other.value if isinstance(other, Estimate) else None
            own.append(Cell(row, column, member.whole, len(own), member.level, failing))
    ranked = sorted(rows, key=lambda row: sum(c.kept.value for c in rows[row]) / len(rows[row]))
    columns = [tuple(cell.column for cell in cells) for cells in rows.values()]
    shared = len(set(columns)) == 1
    longest = max(map(len, columns))
    headings = columns[0] if shared else tuple(str(i + 1) for i in range(longest))
    return Grid({row: tuple(rows[row]) for row in ranked}, headings, shared)


def suite_chart(record: Record, suite: Comparison, parts: Mapping[str, Record]) -> alt.ChartType:
    """The heat map, and the curves below it where rows have several levels."""
    grid, quantity = grid_of(record, suite), str(curve_quantity(record.study.property.kind))
    heat = _heat(grid)
    if len(grid.columns) < 2:
        return heat
    both: alt.VConcatChart = alt.vconcat(
        heat, _curves(grid, quantity, _clean_accuracy(parts)), spacing=28
    ).resolve_scale(color="independent")
    return both


def _rows_of(grid: Grid) -> list[Row]:
    rows = list[Row]()
    for cell in (cell for cells in grid.rows.values() for cell in cells):
        kept, around = cell.kept.value, cell.kept.interval
        column = grid.columns[cell.order]
        place: Row = {"place": cell.order, "column": column, "level": cell.column}
        share = {"value": 100 * kept, "low": 100 * around.low, "high": 100 * around.high}
        rows.append({"row": cell.row, **place, **share})
    return rows


def _axis_title(grid: Grid) -> str:
    published = all(map(_severity, grid.columns))
    return "severity" if published else "level" if grid.shared else "level, from the first on"


def _heat(grid: Grid) -> alt.LayerChart:
    base = marks(_rows_of(grid))
    title = alt.Axis(title=_axis_title(grid), orient="top", labelAngle=0, domain=False)
    x = alt.X("column:N", sort=list(grid.columns), axis=title)
    y = alt.Y("row:N", sort=list(grid.rows), title=None, axis=alt.Axis(domain=False))
    shade = alt.Scale(domain=list(_SHADED_AT), range=list(_SHADES), interpolate="rgb")
    cells = base.mark_rect(stroke=GRID, strokeWidth=1).encode(
        x=x, y=y, color=alt.Color("value:Q", scale=shade, legend=None)
    )
    dark = "datum.value > 86 || datum.value < 14"
    text = base.mark_text(fontSize=TEXT).encode(
        x=x,
        y=y,
        text=alt.Text("value:Q", format=".1f"),
        color=alt.condition(dark, alt.value(_ON_DARK), alt.value(_ON_LIGHT)),
    )
    chart: alt.LayerChart = cells + text
    return chart.properties(width=_CELL * len(grid.columns), height=alt.Step(_ROW))


def _curves(grid: Grid, quantity: str, clean: float | None) -> alt.LayerChart:
    """Against the place of the level; the weakest rows by name."""
    named = list(grid.rows)[:_NAMED_CURVES]
    rows = _rows_of(grid)
    labels = list(grid.columns)
    x = alt.X("column:N", sort=labels, title=_axis_title(grid), axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=f"{quantity} (%)", scale=alt.Scale(domain=[0, 100]))
    quiet = marks([r for r in rows if r["row"] not in named])
    loud = marks([r for r in rows if r["row"] in named])
    shade = alt.Scale(domain=named, range=list(SERIES[: len(named)]))
    legend = legend_above(columns=2, labelLimit=160, symbolType="stroke", symbolOpacity=1)
    colour = alt.Color("row:N", scale=shade, legend=legend)
    layers = [
        quiet.mark_line(color=QUIET, strokeWidth=1, opacity=0.45).encode(x=x, y=y, detail="row:N"),
        loud.mark_rule(strokeWidth=3, opacity=0.3).encode(
            x=x, y="low:Q", y2="high:Q", color=colour
        ),
        loud.mark_line(strokeWidth=2, point=True).encode(x=x, y=y, color=colour),
    ]
    if clean is not None:
        line = marks([{"clean": 100 * clean}])
        layers.append(line.mark_rule(color=INK, strokeDash=[4, 3]).encode(y="clean:Q"))
    chart = alt.LayerChart(layer=layers)
    return chart.properties(width=_CELL * len(grid.columns), height=220)


def _clean_accuracy(parts: Mapping[str, Record]) -> float | None:
    """Counted, of the same inputs; None where the property is not about true labels."""
    first = next(iter(parts.values()), None)
    if first is None or first.study.property.kind != "true":
        return None
    return first.clean_accuracy


def suite_table(
    record: Record, grid: Grid, clean: float | None, *, intervals: bool = True, alone: bool = True
) -> Table:
    """A row for each perturbation, a cell for each level, each with its interval.

    Below it what else belongs to the answer; without intervals the widest of them. What is read
    `alone` has the mCE and the confidence too, which a headline says.
    """
    named = {row: grid.levels(row) for row in grid.rows}
    ratios = {row: grid.corruption_error(row) for row in grid.rows}
    rows, numbers = list[tuple[str, ...]](), dict[tuple[int, int], CellNumbers]()
    for row, cells in grid.rows.items():
        shown = [_numbers(cell, "" if grid.shared else cell.column) for cell in cells]
        numbers |= {(len(rows), i): one for i, one in enumerate(shown, 1)}
        texts = [c.words(f" ({c.low}–{c.high})" if intervals else "") for c in shown]
        texts += [""] * (len(grid.columns) - len(cells))
        texts = [row, *texts, f"{100 * grid.mean(row):.1f}"]
        if any(ratios.values()):
            ratio = ratios[row]
            texts.append("–" if ratio is None else f"{100 * ratio:.1f}")
        # last: where a screen is too narrow for all columns, these are left to scroll to
        rows.append((*texts, *([named[row]] if any(named.values()) else [])))
    quantity = curve_quantity(record.study.property.kind)
    title = f"{capitalised(str(quantity))} (%) by perturbation, the weakest first"
    widest = max(c.kept.interval.width for cells in grid.rows.values() for c in cells) / 2
    exact = any(not c.kept.interval.width for cells in grid.rows.values() for c in cells)
    note = IN_BRACKETS + "; without: counted" * exact + "."
    if not intervals:
        note = f"Every cell to ± {100 * widest:.1f} points or better." if widest else ""
    certain = with_full_stop(capitalised(confidence_clause(record.claims[0])))
    mce = [with_full_stop(sentence(c)) for c in record.claims if isinstance(c, CorruptionError)]
    counted = "" if clean is None else f"Clean accuracy {percent(clean)}, counted."
    words = [counted, _late(record, grid), note]
    words = [*mce, *words, certain.removeprefix(".")] if alone else words
    headings = ["perturbation", *grid.columns, "mean", *(["CE"] if any(ratios.values()) else [])]
    headings += ["levels"] if any(named.values()) else []
    return Table(
        title, tuple(headings), tuple(rows), 1, " ".join(filter(None, words)),
        visible_rows=25, whole=not intervals, numbers=numbers if intervals else {},
    )  # fmt: skip


def _late(record: Record, grid: Grid) -> str:
    """The cells that are not known to the precision: a time limit, or too few inputs."""
    precision = record.study.method.number("precision")
    every = [cell for cells in grid.rows.values() for cell in cells]
    wide = [c for c in every if precision and exceeds(c.kept.interval.width / 2, precision)]
    if not wide or precision is None:
        return ""
    named = [f"{c.row} {c.column} (± {50 * c.kept.interval.width:.1f})" for c in wide[:_NAMED_LATE]]
    more = f" and {len(wide) - _NAMED_LATE:,} more" if len(wide) > _NAMED_LATE else ""
    return f"Not known to ± {100 * precision:.3g} points: {', '.join(named)}{more}."


def _numbers(cell: Cell, level: str) -> CellNumbers:
    """In per cent, the ends rounded outwards."""
    around, value = cell.kept.interval, Decimal(f"{100 * cell.kept.value:.1f}")
    if not around.width:
        return CellNumbers(value, value, value, level)
    low, high = math.floor(1000 * around.low), math.ceil(1000 * around.high)
    return CellNumbers(value, Decimal(low).scaleb(-1), Decimal(high).scaleb(-1), level)


def view(shown: Shown, suite: Comparison) -> View:
    """The mean over the cells, the heat map, the curves, the table."""
    record, parts, verdicts = shown.record, shown.parts, shown.verdicts
    grid = grid_of(record, suite)
    quantity, clean = str(curve_quantity(record.study.property.kind)), _clean_accuracy(parts)
    words, every = record.study.words, (record, *parts.values())
    named = next((one for one in every if one.source is not None), record)
    counted = "" if clean is None else f"; clean accuracy {percent(clean)}, counted"
    first = next(iter(parts.values()), record)
    latest = max(parts.values(), key=lambda part: part.rung)
    section = _section(record, grid, quantity, clean)
    shared = [row for row in provenance(first) if row[0] in _OF_ALL_CELLS]
    return shown.view(
        title=page_title({"": named}, [f"the suite {suite.suite}"]),
        headline=tuple(c for c in record.claims if isinstance(c, SuiteMean | CorruptionError)),
        about=(
            f"{file_name(words.source)}: {record.study.inputs.selection}{counted}; perturbed "
            f"inputs must {words.property}."
        ),
        warnings=(*(shared_cautions(parts) if parts else ()), *rung_cautions(latest, verdicts)),
        claims=(),
        facts=(
            f"{len(suite.members):,} cells, {record.trials:,} trials; every cell has random "
            "numbers of its own.",
            *rung_facts(latest, verdicts),
        ),
        sections=(section,),
        answer=suite_table(record, grid, clean, alone=False),
        # what the cells have in common: not the study, the perturbation and the trials of one
        provenance=(("", (("Study", record.digest), *shared)),),
    )


def _section(record: Record, grid: Grid, quantity: str, clean: float | None) -> Section:
    weakest, strongest = next(iter(grid.rows)), list(grid.rows)[-1]
    words = (
        f"{capitalised(quantity)} by perturbation, averaged over its levels, from {weakest} "
        f"({100 * grid.mean(weakest):.1f} %) to {strongest} ({100 * grid.mean(strongest):.1f} %)."
    )
    heat = Figure(
        partial(_heat, grid), f"{capitalised(quantity)} in per cent, the weakest row first.",
        "heat-map", words, _WIDE,
    )  # fmt: skip
    figures = [heat]
    if len(grid.columns) > 1:
        dashed = "" if clean is None else " Dashed: clean accuracy."
        grey = " Grey: the others." if len(grid.rows) > _NAMED_CURVES else ""
        caption = f"The weakest perturbations, with the interval of each cell.{grey}{dashed}"
        curves = partial(_curves, grid, quantity, clean)
        figures.append(Figure(curves, caption, "curves", words, _WIDE))
    return Section(
        "cells", f"{capitalised(quantity)} by perturbation and level", (), tuple(figures),
        suite_table(record, grid, clean),
        terminal_table=suite_table(record, grid, clean, intervals=False),
    )  # fmt: skip
