"""Templates of the dashboard, and the style that it shares with reports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment
from markupsafe import Markup

from surefoot.report.page import template_environment
from surefoot.system.text import escape_controls

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_OWN_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
_PART = re.compile(r"[^/\\_:,+@\s-]{1,20}[/\\_:,+@\s-]{0,4}|[/\\_:,+@\s-]{1,20}")
"""Of a name: to the next separators, and never more than a narrow column holds."""


@cache
def _templates() -> Environment:
    templates = template_environment("surefoot.serve")
    own, reports = templates.loader, template_environment("surefoot.report").loader
    templates.loader = ChoiceLoader([one for one in (own, reports) if one is not None])
    templates.filters["breakable"] = breakable
    templates.globals["run_address"] = run_address
    templates.globals["query"] = query
    return templates


def render(template: str, **values: Any) -> str:  # noqa: ANN401  what a template shows
    """A page; every value is escaped, and control characters in it are written out."""
    number = count(1).__next__  # of the figures of this page
    return escape_controls(_templates().get_template(template).render(number=number, **values))


def breakable(name: str) -> Markup:
    """A name, escaped, that a line may break after separators and within very long words."""
    return Markup("<wbr>").join(part[0] for part in _PART.finditer(name))


def run_address(store: int, digest: str, part: str = "") -> str:
    """The path of a run's page, or of a part of it."""
    return f"/runs/{store}/{quote(digest, safe='', errors='replace')}" + (
        f"/{part}" if part else ""
    )


def query(**values: object) -> str:
    """A query of the values that are not empty."""
    stated = {name: str(value) for name, value in values.items() if value not in ("", None)}
    return f"?{urlencode(stated)}" if stated else ""


@cache
def stylesheet() -> str:
    """The style of the report's pages, then that of the dashboard."""
    reports = template_environment("surefoot.report").get_template("base.html.j2")
    shared = _STYLE.search(reports.render())
    own = (files("surefoot.serve") / "static" / "dashboard.css").read_text("utf-8")
    return (shared[1] if shared else "") + own


@cache
def script() -> str:
    """The script of pages that watch a run."""
    return (files("surefoot.serve") / "static" / "live.js").read_text("utf-8")


def policy_of_report(page: str) -> str:
    """The policy that a report states itself, and that nothing may frame it."""
    stated = _OWN_POLICY.search(page)
    own = stated[1] if stated else "default-src 'none'"
    return f"{own}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@dataclass(frozen=True)
class PageNumbers:
    """Page `page` of `pages`, which holds the rows from `start` to `stop` of `rows`."""

    page: int
    pages: int
    start: int
    stop: int
    rows: int

    @classmethod
    def of(cls, page: int, rows: int, each: int) -> PageNumbers:
        """The page of this number, or the nearest that there is."""
        pages = max(1, -(-rows // each))
        page = min(max(page, 1), pages)
        start = (page - 1) * each
        return cls(page, pages, start, min(start + each, rows), rows)
