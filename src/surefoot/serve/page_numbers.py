"""Pages of a long table."""

from __future__ import annotations

from dataclasses import dataclass


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
