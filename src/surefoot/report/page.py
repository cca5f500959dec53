"""A view as one page of HTML without scripts, alone, with others, or in a notebook."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from surefoot.errors import InvalidArgument
from surefoot.report.figures import GRID, INK, QUIET, SERIES, STEADY, WEAK
from surefoot.report.provenance import shared_provenance
from surefoot.report.view import Figure, View
from surefoot.subject.items import parts_that_differ
from surefoot.system.text import escape_controls
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from types import CodeType

    from jinja2 import BytecodeCache, Environment


@dataclass(frozen=True)
class Chapter:
    """One result among several: the question it answers, and its view.

    `id` is its place on the page; `about` says which model answers, where that needs saying.
    """

    id: str
    question: str
    view: View
    about: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The main figure; where a result has two, the one that no other kind of result has."""
        first = self.view.sections[0].figures if self.view.sections else ()
        return first[-1:]


@dataclass(frozen=True)
class Collection:
    """A title, what all results share in plain sentences, and the results in order.

    `closing` says what the reader can do next, each line with a command to type or without one.
    """

    title: str
    lines: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    closing: tuple[tuple[str, str], ...] = ()


_SVG = "http://www.w3.org/2000/svg"
_NAMES = ("steady", "warm", "green", "purple", "gold", "teal", "brown", "pink", "indigo", "quiet")
"""Variables of the stylesheet, in the order of `SERIES`."""
_VARIABLES = {
    **{colour: f"var(--{name})" for colour, name in zip(SERIES, _NAMES, strict=True)},
    INK: "var(--ink)",
    GRID: "var(--grid)",
    STEADY: "var(--steady)",
    WEAK: "var(--warm)",
    QUIET: "var(--quiet)",
    "white": "var(--paper)",
    "black": "var(--ink)",
    "#000": "var(--ink)",
}
"""Which variable of the stylesheet stands for a colour: pages are light, dark or on paper."""
_LEFT_OUT = re.compile(r"aria-.*|role|pointer-events|font-family|stroke-miterlimit")
"""Attributes that a page has no use for: the drawing is one image with one description."""
_DIGITS = re.compile(r"\d+\.\d{3,}")
_PHONE = 370
"""Pixels of a figure's second drawing: a screen shows the one whose letters it can set well."""


def inline_svg(drawing: str, screen: str, number: int, title: str, description: str) -> str:
    """The drawing for a page where it is the figure of this number on this kind of screen.

    Without a description, the titles and ranges of the axes describe it.
    """
    place = f"figure-{number}-{screen}"
    root = ElementTree.fromstring(drawing)  # noqa: S314  drawn by this package
    labels = (element.get("aria-label", "") for element in root.iter())
    axes = "; ".join(dict.fromkeys(label for label in labels if "-axis titled" in label))
    for parent in list(root.iter()):
        for child in [child for child in parent if _is_invisible(child)]:
            parent.remove(child)
    for element in root.iter():  # colours as variables, ids of this figure alone, short numbers
        for key, value in list(element.attrib.items()):
            if _LEFT_OUT.fullmatch(key):
                del element.attrib[key]
            else:
                element.set(key, _adapted(key, value, f"{place}-"))
    for size in ("width", "height"):  # the style says how wide it is
        root.attrib.pop(size, None)
    root.set("class", screen)
    root.set("role", "img")
    root.set("aria-labelledby", f"{place}-title {place}-text")
    words = {"title": title or "Figure", "text": description or axes}
    for at, (name, text) in enumerate(words.items()):
        element = ElementTree.Element(f"{{{_SVG}}}{'title' if name == 'title' else 'desc'}")
        element.set("id", f"{place}-{name}")
        element.text = text
        root.insert(at, element)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _is_invisible(element: ElementTree.Element) -> bool:
    """The white ground, and areas without any paint."""
    if element.tag.endswith("}rect"):
        return element.get("fill") == "white" and "class" not in element.attrib
    unpainted = "fill" not in element.attrib and "stroke" not in element.attrib
    return element.get("display") == "none" or (
        element.get("class") in ("background", "foreground") and unpainted
    )


def _adapted(key: str, value: str, prefix: str) -> str:
    match key:
        case "fill" | "stroke" if value.lower() in _VARIABLES:
            return _VARIABLES[value.lower()]
        case "d" | "transform":
            return _DIGITS.sub(lambda match: f"{float(match.group()):.2f}", value)
        case "id":
            return prefix + value
        case _:
            return value.replace("url(#", f"url(#{prefix}")


_ENDINGS = (".html", ".htm")
"""Endings of the name of a page."""


def html_of(view: View | Collection, template: str = "page.html.j2", **more: object) -> str:
    """The page as text, or another template with the same view."""
    pages = template_environment("surefoot.report")
    pages.filters["shared"] = shared_provenance
    pages.globals["number"] = count(1).__next__  # of the figures of this page
    return escape_controls(pages.get_template(template).render(view=view, **more))


def template_environment(package: str) -> Environment:
    """Where the templates of a package are, and what pages of all packages can use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader(package, "templates"),
        bytecode_cache=_compiled_templates(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # a number and its percent sign stay on one line
    pages.filters["unbroken"] = lambda line: str(line).replace(" %", "\u00a0%")
    pages.filters["drawn"] = drawn
    pages.filters["marked"] = lambda texts: parts_that_differ(*texts)
    return pages


@cache
def _compiled_templates() -> BytecodeCache:
    """Templates are compiled once in a process; all else of a page is its own, as its numbers."""
    from jinja2.bccache import Bucket, BytecodeCache

    class Kept(BytecodeCache):
        def __init__(self) -> None:
            self.codes: dict[str, CodeType] = {}

        def load_bytecode(self, bucket: Bucket) -> None:
            bucket.code = self.codes.get(bucket.key + bucket.checksum)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if bucket.code is not None:
                self.codes[bucket.key + bucket.checksum] = bucket.code

    return Kept()


def drawn(figure: Figure, number: int, title: str) -> str:
    """The figure as a part of a page, where it has this number: for a wide and a narrow screen."""
    return "".join(
        inline_svg(figure.fitted(width), screen, number, title, figure.description)
        for screen, width in (("desktop", figure.width), ("phone", _PHONE))
    )


def check_page_name(path: str | Path) -> None:
    """Refuse a name that promises another format, such as a PDF."""
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in _ENDINGS:
        raise InvalidArgument(
            f"{path}: a report is an HTML page; name it {Path(path).with_suffix('.html')}, and "
            "print it from a browser where another format is needed"
        )


def write_page(view: View | Collection, path: Path) -> Path:
    """Write the page beside its place, then move it there: whole or not at all."""
    check_page_name(path)
    several = isinstance(view, Collection)
    write_whole(path, html_of(view, "collection.html.j2" if several else "page.html.j2"))
    return path


LINE = 190
"""Characters of the one line: what fits into a cell without a bar to scroll."""
ROWS = 12
"""Rows of a table in a notebook: a screen has room for them below the figure."""
FIGURE_BYTES = 120_000
"""Of all figures: with words and tables a result stays below 200 kB in the notebook's file."""


def short_line(view: View, trials: int) -> str:
    """The verdicts, the first claim as far as it fits, and how many trials it took."""
    verdicts = "; ".join(str(claim.verdict) for claim in view.verdicts[:3])
    claim = " ".join((view.headings or [view.title])[0].split())
    before = "<Result " + (f"{verdicts}: " if verdicts else "")
    after = f" {trials:,} trials>"
    room = LINE - len(before) - len(after)
    if len(claim) > room:
        claim = claim[: room - 2].rpartition(" ")[0] + " …"
    return before + claim + after


def notebook_html(view: View, store: str = "") -> str:
    """A fragment without scripts and without ids, everything escaped; `store`: where it is from."""
    figures = [figure for section in view.sections[:2] for figure in section.figures]
    sizes = accumulate(len(figure.svg.encode()) for figure in figures)
    # as the address of an image: no style or id of the notebook's page meets the drawing
    images = [
        (base64.b64encode(one.svg.encode()).decode(), one.caption, one.description)
        for one, size in zip(figures, sizes, strict=True)
        if size <= FIGURE_BYTES
    ]
    tables = []
    for table in view.tables[:2]:
        left_out = f"{len(table.rows) - ROWS:,} more rows: report() and to_frame() have them. "
        note = left_out + table.note if len(table.rows) > ROWS else table.note
        tables.append(replace(table, rows=table.rows[:ROWS], note=note))
    return html_of(view, "notebook.html.j2", images=images, tables=tables, store=store)
