"""An outcome in its parts, as a screen, a text and a page show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.report.tables import Table


@dataclass(frozen=True)
class Told:
    """The claim, what it is about, what to look at first, how sure it is, and the tables."""

    headline: str
    about: str
    cautions: Sequence[str]
    how_sure: Sequence[str]
    tables: Sequence[Table]

    def text(self) -> str:
        """All of it, line by line."""
        lines = [self.headline, self.about, *self.cautions, "", *self.how_sure]
        for table in self.tables:
            lines += ["", table.title, *table.text()]
        return "\n".join(lines)
