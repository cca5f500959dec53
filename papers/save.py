"""An exhibit as a file: its table as .csv, .md or .tex, its figure as .svg, .png or .json."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from papers.exhibit import Exhibit, Sheet
    from papers.paper import Part

_TABLES, _FIGURES = (".csv", ".md", ".tex"), (".svg", ".png", ".json")
_ENDS = ("low", "high")
"""Of an interval."""
_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)  # fmt: skip


def check_name(path: str | Path) -> None:
    """Refuse an ending that says nothing here, before hours of work."""
    if Path(path).suffix.lower() not in (*_TABLES, *_FIGURES):
        raise InvalidArgument(
            f"{path}: a table is written as {', '.join(_TABLES)}, a figure as "
            f"{', '.join(_FIGURES)}; name it table.csv or figure.svg"
        )


def check_kind(part: Part, path: str | Path) -> None:
    """Refuse a drawing of a table, before hours of work."""
    if part.name.startswith("table") and Path(path).suffix.lower() in _FIGURES:
        raise InvalidArgument(
            f"{path}: {part.name} is no figure; write it as {', '.join(_TABLES)}, or its page with "
            "--report"
        )


def save(exhibit: Exhibit, path: str | Path) -> Path:
    """Write the first table or the first figure, as the ending of the name says."""
    check_name(path)
    where = Path(path)
    if where.suffix.lower() in _FIGURES:
        exhibit.plot(where)
        return where
    if not exhibit.sheets:
        raise InvalidArgument(f"{exhibit.name} has no table: write its figure, such as figure.svg")
    write = {".csv": as_csv, ".md": as_markdown, ".tex": as_latex}[where.suffix.lower()]
    write_whole(where, write(exhibit.sheets[0]))
    return where


def as_csv(sheet: Sheet) -> str:
    """The values themselves, an interval as two columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ends = {c.key for c in sheet.columns for r in sheet.rows if isinstance(r.get(c.key), Interval)}
    keys = [(c.key, end) for c in sheet.columns for end in (_ENDS if c.key in ends else ("",))]
    writer.writerow([f"{key}_{end}" if end else key for key, end in keys])
    writer.writerows([_cell(row.get(key), end) for key, end in keys] for row in sheet.rows)
    return out.getvalue()


def _cell(value: Any, end: str) -> Any:  # noqa: ANN401  what a table holds
    return getattr(value, end) if end and value is not None else value


def as_markdown(sheet: Sheet) -> str:
    """The cells as they are printed."""
    table = sheet.table()
    bar = [":--" if i < table.name_columns else "--:" for i in range(len(table.headings))]
    lines = [table.headings, bar, *table.rows]
    return "".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in row)} |\n" for row in lines
    )


def as_latex(sheet: Sheet) -> str:
    """A tabular with the cells as they are printed."""
    table = sheet.table()
    align = "l" * table.name_columns + "r" * (len(table.headings) - table.name_columns)
    lines = [f"{' & '.join(c.translate(_TEX) for c in row)} \\\\" for row in table.rows]
    head = f"{' & '.join(h.translate(_TEX) for h in table.headings)} \\\\"
    parts = [f"\\begin{{tabular}}{{{align}}}", "\\hline", head, "\\hline", *lines, "\\hline"]
    return "\n".join([*parts, "\\end{tabular}", ""])
