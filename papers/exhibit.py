"""A table or figure of a paper: rows as data, charts, sentences, and the studies behind them.

It is shown as text, as a page, as JSON, and written as a file for a paper of one's own.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import surefoot as sf
from papers import charts, words
from papers.charts import Chart
from papers.words import Interval

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
TABLES, FIGURES = (".csv", ".md", ".tex"), (".svg", ".png", ".pdf", ".json")
"""Endings of files."""
_TERMINAL_ROWS = 12
"""Rows of a table as text: all of them are on the page and in the JSON."""
_CAUTIONS_ABOVE = 4
"""Cautions right below the sentences, those first without which a number must not be read."""
_SEVERAL = (
    "Each of the {} claims with a confidence holds with its own: they are not corrected for being "
    "many, so that some of them may be wrong."
)
_SHARES = ("percent", "share", "points", "change", "hundredfold")
"""Ways in which shares are written: differences of such are in points."""
_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, the key of its value in a row, and how that is written.

    Where it is `less` another key, it is how much that value is above this one.
    """

    heading: str
    key: str
    way: str = ""
    is_name: bool = False
    less: str = ""

    @classmethod
    def read(cls, text: str) -> Column:
        """From "*model", "heading=key", "loss:.3f" or "interval=around:range".

        Heading and key may be the same word. Behind the colon is how a value is written: a name of
        `words.WAYS`, or a format. A star marks names, which stand at the left.
        """
        heading, equal, rest = text.strip().lstrip("*").partition("=")
        key, _, way = (rest if equal else heading).partition(":")
        return cls(heading if equal else key, key, way, text.strip().startswith("*"))

    def cell(self, row: Row) -> str:
        """The cell of this row; empty where the row has no value."""
        value = row.get(self.key)
        if self.less:
            return _difference(row.get(self.less), value, 100 if self.way in _SHARES else 1)
        if value is None:
            return ""
        return words.WAYS[self.way](value) if self.way in words.WAYS else format(value, self.way)


def _difference(ours: Any, theirs: Any, unit: int) -> str:
    """How much ours is above what is printed; of two intervals at both ends."""
    if isinstance(ours, Interval) and isinstance(theirs, Interval):
        return f"({ours.low - theirs.low:+.3g}, {ours.high - theirs.high:+.3g})"
    numbers = isinstance(ours, int | float) and isinstance(theirs, int | float)
    return f"{round(unit * (ours - theirs), 12):+.3g}" if numbers else ""


@cache
def published(table: str) -> tuple[Row, ...]:
    """The rows of a table as it is printed: `published("asap table 1")`."""
    text = (Path(__file__).parent / "published.txt").read_text(encoding="utf-8")
    head, *lines = text.split(f"[{table}] ")[1].split("\n\n")[0].splitlines()
    keys = head.split(" | ")
    every = ([_read_cell(cell.strip()) for cell in f"{line} ".split(" |")] for line in lines)
    return tuple(dict(zip(keys, cells, strict=True)) for cells in every)


def _read_cell(text: str) -> Any:
    """A number, a share of 43.8%, an interval low..high, a text, or nothing."""
    low, dots, high = text.partition("..")
    try:
        if dots:
            return Interval(float(low), float(high))
        share = text.endswith("%")
        return round(float(text[:-1]) / 100, 6) if share else json.loads(text or "null")
    except ValueError:
        return text


def printed(table: str, **keys: Any) -> Row:
    """What a table prints where it has these values, with the prefix "published_"."""
    rows = (row for row in published(table) if all(row[k] == v for k, v in keys.items()))
    return {f"published_{k}": v for row in rows for k, v in row.items()}


def beside(theirs: Iterable[Row], ours: Sequence[Row], *on: str) -> list[Row]:
    """Each printed row with every row of ours that has the same `on`, or alone.

    Its numbers get the prefix "published_". `network` is the name of our model; where none of ours
    has such a name, a printed network stands beside all of them.
    """
    rows, every = list[Row](), list(theirs)
    own = [{**row, "network": str(row.get("model")).partition(".")[0]} for row in ours]
    names = {row.get("network") for row in every}
    keys = [k for k in on if k != "network" or any(row["network"] in names for row in own)]
    for row in every:
        numbers = {f"published_{k}": v for k, v in row.items() if k not in on}
        head = {k: row[k] for k in on}
        same = [one for one in own if all(one.get(k) == row[k] for k in keys)]
        rows += [{**one, **head, **numbers} for one in same or [{}]]
    return rows


@dataclass(frozen=True)
class Sheet:
    """A table whose rows are data: one mapping a row, with the keys of the columns.

    `shown` are the columns as text, with semicolons between them: see `Column.read`.
    `only_known`: without those in which no row has a value. Behind a number of a paper, whose key
    begins with "published_", follows how much ours, the column before it, is above it.
    """

    title: str
    shown: str
    rows: Sequence[Row]
    note: str = ""
    only_known: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Its columns, from the left."""
        every = list[Column]()
        for column in map(Column.read, self.shown.split(";")):
            before = every[-1].key if every else "published"
            every.append(column)
            if column.key.startswith("published_") and not before.startswith("published"):
                heading = "difference (points)" if column.way in _SHARES else "difference"
                every.append(Column(heading, column.key, column.way, less=before))
        known = {key for row in self.rows for key, value in row.items() if value is not None}
        return tuple(c for c in every if c.key in known or not self.only_known)

    @property
    def headings(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.heading for column in self.columns)

    @cached_property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows as they are printed."""
        return tuple(tuple(column.cell(row) for column in self.columns) for row in self.rows)

    def text(self) -> list[str]:
        """Title, table and note, line by line."""
        lines = [self.headings, *self.cells[:_TERMINAL_ROWS]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        sides = [str.ljust if column.is_name else str.rjust for column in self.columns]
        padded = (
            "  ".join(side(c, n) for side, c, n in zip(sides, line, widths, strict=True)).rstrip()
            for line in lines
        )
        few = f"{_TERMINAL_ROWS} of {len(self.rows):,} rows; --report and --json have all."
        notes = [few if len(self.rows) > _TERMINAL_ROWS else "", self.note]
        return ["", self.title, *padded, *filter(None, [" ".join(filter(None, notes))])]

    def csv(self) -> str:
        """The values themselves, an interval as two columns."""
        out = io.StringIO()
        pairs = {key for row in self.rows for key in row if isinstance(row[key], Interval)}
        ends = {key: (f"{key}_low", f"{key}_high") for key in pairs}
        shown = [c.key for c in self.columns if not c.less]
        keys = [name for key in shown for name in ends.get(key, (key,))]
        writer = csv.DictWriter(out, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            known = [(ends[key], row[key]) for key in pairs if row.get(key) is not None]
            apart = {low: i.low for (low, _), i in known} | {high: i.high for (_, high), i in known}
            writer.writerow({**row, **apart})
        return out.getvalue()

    def markdown(self) -> str:
        """The cells as they are printed."""
        bar = [":--" if column.is_name else "--:" for column in self.columns]
        escaped = [[cell.replace("|", r"\|") for cell in line] for line in self.cells]
        return "".join(f"| {' | '.join(line)} |\n" for line in (self.headings, bar, *escaped))

    def latex(self) -> str:
        """A tabular with the cells as they are printed."""
        align = "".join("l" if column.is_name else "r" for column in self.columns)
        head, *lines = (
            f"{' & '.join(cell.translate(_TEX) for cell in line)} \\\\"
            for line in (self.headings, *self.cells)
        )
        parts = [f"\\begin{{tabular}}{{{align}}}", "\\hline", head, "\\hline", *lines, "\\hline"]
        return "\n".join([*parts, "\\end{tabular}", ""])


@dataclass(frozen=True, eq=False)
class Exhibit:
    """What a table or a figure of a paper is here.

    `lines`: first what is seen, then where we depart from the paper. `sheets` are its tables,
    `charts` its figures (each an Altair chart, by its caption), `results` the studies behind it, by
    name. Every claim of those is on the page too. `name`, `title` and `command` are given to it
    when it is made, but for a title of its own.
    """

    lines: tuple[str, ...]
    sheets: tuple[Sheet, ...] = ()
    charts: Mapping[str, Chart] = field(default_factory=dict)
    results: Mapping[str, sf.Result] = field(default_factory=dict)
    title: str = ""
    name: str = ""
    command: str = ""

    @classmethod
    def of(cls, *lines: str, **parts: Any) -> Exhibit:
        """With these sentences; `parts` are its other fields."""
        return cls(lines, **parts)

    @property
    def place(self) -> str:
        """Its name on a page."""
        return self.name.replace(" ", "-").replace(".", "-")

    @property
    def figures(self) -> dict[str, str]:
        """Each caption with its drawing, for a page."""
        drawn = {caption: charts.svg(chart).encode() for caption, chart in self.charts.items()}
        return {caption: base64.b64encode(svg).decode() for caption, svg in drawn.items()}

    def report(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return write_whole(path, self.page())

    def page(self) -> str:
        """Its page as text."""
        return page_of([self], self.title, self.lines, self.command)

    def plot(self, path: str | Path | None = None) -> Chart:
        """The first figure; written as .svg, .png, .pdf or Vega-Lite .json if a path is given."""
        if not self.charts:
            raise sf.errors.InvalidArgument(
                f"{self.name} has no figure: write its table, such as table.csv"
            )
        chart = next(iter(self.charts.values()))
        if path is not None:
            write_whole(path, charts.drawn_as(chart, Path(path).suffix.lower()))
        return chart

    def save(self, path: str | Path) -> Path:
        """Write the first table or the first figure, as the ending of the name says."""
        check_name(path)
        where, ending = Path(path), Path(path).suffix.lower()
        if ending in FIGURES:
            self.plot(where)
            return where
        if not self.sheets:
            raise sf.errors.InvalidArgument(
                f"{self.name} has no table: write its figure, such as figure.svg"
            )
        sheet = self.sheets[0]
        text = {".csv": sheet.csv, ".md": sheet.markdown, ".tex": sheet.latex}[ending]()
        return write_whole(where, text)

    def to_json(self) -> str:
        """Rows, sentences and the results behind them, for machines."""
        return json.dumps(self.plain(), ensure_ascii=False, allow_nan=False)

    def plain(self) -> dict[str, Any]:
        """The same as a dictionary of plain values."""
        own = {
            "name": self.name,
            "title": self.title,
            "lines": self.lines,
            "tables": [{"title": s.title, "rows": s.rows, "note": s.note} for s in self.sheets],
            "command": self.command,
        }
        results = {name: json.loads(result.to_json()) for name, result in self.results.items()}
        return {**_plain(own), "results": results}

    def to_frame(self) -> pd.DataFrame:
        """The rows of the first table."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.sheets[0].rows] if self.sheets else [])

    def __str__(self) -> str:
        """The sentences, then the tables, then what the studies behind them say."""
        behind = Behind(self)
        lines = [self.title, *self.lines, *behind.first]
        for sheet in self.sheets:
            lines += sheet.text()
        for title, paragraph in behind.paragraphs().items():
            lines += ["", f"{title}:", *(f"- {line}" for line in paragraph)]
        lines += ["", "To repeat it:", self.command] if self.command else []
        text = "\n".join(lines)  # a name in it cannot steer a terminal
        return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)

    def _repr_html_(self) -> str:
        page = escape(self.page())  # in a frame: its style is not that of the notebook
        return f'<iframe srcdoc="{page}" width="100%" height="640" style="border:0"></iframe>'


class Behind:
    """What the studies behind some exhibits say, each study once and with its first name.

    `claims` are what each claims first, in words; `first` the cautions that are read at once,
    `notes` the others; `provenance` is how each study was run, and each of its parts.
    """

    def __init__(self, *exhibits: Exhibit) -> None:
        pairs = (pair for exhibit in exhibits for pair in exhibit.results.items())
        once: dict[str, tuple[str, sf.Result]] = {}
        for name, result in pairs:  # several tables may rest on one study
            once.setdefault(result.record.digest, (name, result))
        views = [(name, result.view) for name, result in once.values()]
        headlines = list(dict.fromkeys((name, c) for name, v in views for c in v.headline[:1]))
        sentences = sf.sentences([claim for _, claim in headlines])
        self.claims = [f"{n}: {s}" for (n, _), s in zip(headlines, sentences, strict=True)]
        self.assumptions = list(dict.fromkeys(line for _, v in views for line in v.assumptions))
        stated = sum(claim.guarantee.error > 0 for _, claim in headlines)
        cautions = {_SEVERAL.format(stated): False} if stated > 1 else {}
        for name, view in views:
            whose = f"{name}: " if len(views) > 1 else ""
            cautions |= {f"{whose}{line}": line in view.urgent for line in view.cautions}
        ordered = sorted(cautions, key=lambda line: not cautions[line])
        above = max(_CAUTIONS_ABOVE, sum(cautions.values()))
        self.first, self.notes = ordered[:above], ordered[above:]
        self.provenance = [
            (", ".join(filter(None, [name, part])), rows)
            for name, view in views
            for part, rows in view.provenance
        ]

    def paragraphs(self) -> dict[str, list[str]]:
        """What follows the tables: titles, and their lines."""
        listed = {"What each study claims": self.claims, "Assumptions": self.assumptions}
        return {title: lines for title, lines in (listed | {"Notes": self.notes}).items() if lines}


def page_of(exhibits: Sequence[Exhibit], title: str, lead: Sequence[str], command: str = "") -> str:
    """The page as text: no script, no network, everything escaped.

    Of one exhibit `lead` are its sentences; several have their own, with the command of each.
    """
    from jinja2 import Environment, FileSystemLoader

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
    )
    pages.filters["unbroken"] = lambda line: line.replace(" %", "\u00a0%")
    return pages.get_template("page.html.j2").render(
        exhibits=exhibits, title=title, lead=lead, command=command, behind=Behind(*exhibits)
    )


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write a file beside its place, then move it there: whole or not at all."""
    beside = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    return beside.replace(path)


def check_name(path: str | Path, part: str = "") -> None:
    """Refuse an ending that says nothing here, or a drawing of a table, before hours of work."""
    ending = Path(path).suffix.lower()
    if ending not in (*TABLES, *FIGURES):
        raise sf.errors.InvalidArgument(
            f"{path}: a table is written as {', '.join(TABLES)}, a figure as "
            f"{', '.join(FIGURES)}; name it table.csv or figure.svg"
        )
    if part.startswith("table") and ending in FIGURES:
        raise sf.errors.InvalidArgument(
            f"{path}: {part} is no figure; write it as {', '.join(TABLES)}, or its page with "
            "--report"
        )


def _plain(value: Any) -> Any:
    """What JSON knows: intervals and the like as dictionaries, an infinite number as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    number = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
    return None if isinstance(number, float) and math.isinf(number) else number
