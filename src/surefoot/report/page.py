"""One self-contained page: no script, no network, everything escaped."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import InvalidArgument
from surefoot.report.collection import Collection
from surefoot.report.inline_svg import inline_svg
from surefoot.report.provenance import shared_provenance
from surefoot.report.view import Figure, View
from surefoot.system.text import escape_controls
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment

_ENDINGS = (".html", ".htm")
"""Endings of the name of a page."""


def html_of(view: View | Collection, template: str = "page.html.j2", **more: object) -> str:
    """The page as text, or another template with the same view."""
    return escape_controls(_environment().get_template(template).render(view=view, **more))


def _environment() -> Environment:
    """Where templates are, and what they can use; `number` counts the figures of a page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("surefoot.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["unbroken"] = _unbroken
    pages.filters["drawn"] = drawn
    pages.filters["shared"] = shared_provenance
    pages.globals["number"] = count(1).__next__
    return pages


def drawn(figure: Figure, number: int, title: str) -> str:
    """The figure as a part of a page, where it has this number."""
    return inline_svg(figure.svg, number, title, figure.description)


def _unbroken(line: str) -> str:
    """A number and its percent sign stay on one line."""
    return line.replace(" %", "\u00a0%")


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
