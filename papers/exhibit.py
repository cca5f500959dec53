"""A table or figure of a paper, made with surefoot: rows as data, figures, results, sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InvalidArgument
from surefoot.records.json_records import plain_numbers
from surefoot.report.formatting import plain_words
from surefoot.report.page import notebook_html, write_page
from surefoot.report.tables import Table
from surefoot.report.view import Figure, Section, View

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.core.claims import Claim
    from surefoot.study import Result

Row = Mapping[str, Any]
_SEVERAL = (
    "Each of the {} claims with a confidence holds with its own: they are not corrected for being "
    "many, so that some of them may be wrong."
)


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, the key of its value in a row, and how that is written."""

    heading: str
    key: str
    words: Callable[[Any], str] = plain_words
    is_name: bool = False

    def cell(self, row: Row) -> str:
        """The cell of this row; empty where the row has no value."""
        value = row.get(self.key)
        return "" if value is None else self.words(value)


@dataclass(frozen=True)
class Sheet:
    """A table whose rows are data: one mapping a row, with the keys of the columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def unknown_keys(self) -> tuple[str, ...]:
        """Keys of columns that no row has: such a column would be empty."""
        known = {key for row in self.rows for key in row}
        return tuple(column.key for column in self.columns if column.key not in known)

    def table(self) -> Table:
        """The table in words, for a terminal and a page."""
        names = sum(column.is_name for column in self.columns)
        rows = tuple(tuple(column.cell(row) for column in self.columns) for row in self.rows)
        headings = tuple(column.heading for column in self.columns)
        return Table(
            self.title,
            headings,
            rows,
            name_columns=names,
            note=self.note,
            visible_rows=len(rows),  # the table is what the page is about
        )


@dataclass(frozen=True, eq=False)
class Exhibit:
    """What a table or a figure of a paper is here.

    `lines`: first what is seen, then where we depart from the paper. `sheets` are its tables,
    `charts` its figures (each an Altair chart, by its caption), `results` the studies behind it, by
    name. Every claim of those is on the page too.
    """

    name: str
    title: str
    lines: tuple[str, ...]
    sheets: tuple[Sheet, ...] = ()
    charts: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Result] = field(default_factory=dict)
    command: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The charts as figures of a page."""
        return tuple(_figure(chart, caption) for caption, chart in self.charts.items())

    @cached_property
    def view(self) -> View:
        """As a terminal and a page show it."""
        lead = (self.title, *self.lines)
        return _view(self.title, lead, [self], self.command, lines_inside=False)

    def report(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return write_page(self.view, Path(path))

    def plot(self, path: str | Path | None = None) -> Any:  # noqa: ANN401  an object of Altair
        """The first figure; written as .svg, .png or Vega-Lite .json where a path is given."""
        from surefoot.report.figures import write_figure

        if not self.charts:
            raise InvalidArgument(f"{self.name} has no figure: write its table, such as table.csv")
        chart = next(iter(self.charts.values()))
        if path is not None:
            write_figure(chart, Path(path))
        return chart

    def to_json(self) -> str:
        """Rows, sentences and the results behind them, for machines."""
        return json.dumps(self.plain(), ensure_ascii=False, allow_nan=False)

    def plain(self) -> dict[str, Any]:
        """The same as a dictionary of plain values."""
        sheets = [{"title": s.title, "rows": list(s.rows), "note": s.note} for s in self.sheets]
        results = {name: json.loads(result.to_json()) for name, result in self.results.items()}
        own = {"name": self.name, "title": self.title, "lines": self.lines, "tables": sheets}
        plain: dict[str, Any] = plain_numbers(_plain({**own, "command": self.command}))
        return {**plain, "results": results}

    def to_frame(self) -> pd.DataFrame:
        """The rows of the first table."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.sheets[0].rows] if self.sheets else [])

    def __str__(self) -> str:
        """The sentences, then the tables."""
        return self.view.text()

    def _repr_html_(self) -> str:
        return notebook_html(self.view)


def view_of_paper(title: str, summary: Sequence[str], exhibits: Sequence[Exhibit]) -> View:
    """All tables and figures of a paper on one page, each with its own sentences and command."""
    return _view(title, (title, *summary), exhibits, "", lines_inside=True)


def _view(
    title: str,
    lead: tuple[str, ...],
    exhibits: Sequence[Exhibit],
    command: str,
    *,
    lines_inside: bool,
) -> View:
    results = _different(pair for exhibit in exhibits for pair in exhibit.results.items())
    views = [result.view for _, result in results]
    claims = _headlines(results)
    stated = sum(claim.guarantee.error > 0 for _, claim in claims)
    several = (_SEVERAL.format(stated),) if stated > 1 else ()
    return View(
        title=title,
        headline=(),
        about="",
        cautions=_once(chain(several, *(_cautions(*pair, len(results)) for pair in results))),
        claims=tuple(claim for _, claim in claims),
        verdicts=(),
        facts=(),
        assumptions=_once(chain.from_iterable(view.assumptions for view in views)),
        sections=tuple(chain.from_iterable(_sections(e, lines_inside) for e in exhibits)),
        command=command,
        provenance=tuple(chain.from_iterable(_provenance(*pair) for pair in results)),
        lead=lead,
        purpose="tables and figures of a paper, made again",
        claim_names=tuple(name for name, _ in claims),
    )


def _sections(exhibit: Exhibit, lines_inside: bool) -> list[Section]:
    """The figures or the first table, then the sentences; one section for each further table."""
    name = exhibit.name.replace(" ", "-").replace(".", "-")
    lines = exhibit.lines if lines_inside else ()
    if lines_inside and exhibit.command:
        lines = (*lines, f"Made by: {exhibit.command}")
    tables = [sheet.table() for sheet in exhibit.sheets]
    parts = [Section(f"{name}-{i}", table.title, table=table) for i, table in enumerate(tables, 1)]
    if exhibit.charts or not tables:
        return [Section(name, exhibit.title, lines=lines, figures=exhibit.figures), *parts]
    if not lines:
        return parts
    return [Section(name, exhibit.title, lines=lines, table=tables[0]), *parts[1:]]


def _different(pairs: Iterable[tuple[str, Result]]) -> list[tuple[str, Result]]:
    """Each study once, with its first name: several tables may rest on one."""
    once: dict[str, tuple[str, Result]] = {}
    for name, result in pairs:
        once.setdefault(result.record.digest, (name, result))
    return list(once.values())


def _cautions(name: str, result: Result, studies: int) -> list[str]:
    """The cautions of a study, with its name where there are several."""
    return [f"{name}: {line}" if studies > 1 else line for line in result.view.cautions]


def _headlines(results: Iterable[tuple[str, Result]]) -> list[tuple[str, Claim]]:
    """What each study claims first, and its name: the sentences behind the numbers of a table."""
    pairs = [(name, claim) for name, result in results for claim in result.view.headline[:1]]
    return list(dict.fromkeys(pairs))


def _provenance(name: str, result: Result) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """How the study of this name was run, and each of its parts."""
    for part, rows in result.view.provenance:
        yield ", ".join(filter(None, [name, part])), rows


def _once(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))


def _figure(chart: Any, caption: str) -> Figure:  # noqa: ANN401  an object of Altair
    from surefoot.report.figures import svg

    return Figure(lambda: svg(chart), caption)


def _plain(value: Any) -> Any:  # noqa: ANN401  what a table holds
    """Dataclasses such as intervals, also inside rows, as dictionaries."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
