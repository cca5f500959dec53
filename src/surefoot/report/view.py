"""An outcome in its parts, as a terminal, a text and a page show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from surefoot.claims import Claim
from surefoot.report.sentences import sentence
from surefoot.report.tables import Table
from surefoot.store.records import Change

_LONG, _LONGER = 130, 380
"""Characters of all headlines beyond which a screen of 1000 by 800 has no room for a figure."""


@dataclass(frozen=True)
class Figure:
    """A figure with a caption that says what its marks mean; drawn once, when a page needs it."""

    draw: Callable[[], str]
    caption: str = ""
    id: str = ""

    @cached_property
    def svg(self) -> str:
        """The drawing as SVG. Text and exit codes do without: drawing takes seconds."""
        return self.draw()


@dataclass(frozen=True)
class LabelledImage:
    """An image as base64 PNG with a caption and a label below it; `failed` marks the label."""

    image: str
    alt: str
    caption: str
    label: str
    failed: bool = False


@dataclass(frozen=True)
class Card:
    """One example: images, changed values or texts, and the command that runs it again."""

    title: str
    text: str = ""
    images: tuple[LabelledImage, ...] = ()
    changes: tuple[Change, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page; the terminal shows its table, or `terminal_table` in place of cards."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    cards: tuple[Card, ...] = ()
    strips: tuple[tuple[str, tuple[LabelledImage, ...]], ...] = ()
    terminal_table: Table | None = None


@dataclass(frozen=True)
class View:
    """The headline claims, what they are about, cautions, the other claims, then the sections.

    The first section has the main figure: a page shows it before anything else.
    """

    title: str
    headline: tuple[Claim, ...]
    about: str
    cautions: tuple[str, ...]
    claims: tuple[Claim, ...]
    verdicts: tuple[Claim, ...]
    facts: tuple[str, ...]
    assumptions: tuple[str, ...]
    sections: tuple[Section, ...]
    command: str
    provenance: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    continuing: str = ""

    @property
    def headings(self) -> list[str]:
        """The claims that come first, in words."""
        return [sentence(claim) for claim in self.headline]

    @property
    def size(self) -> str:
        """How long the headline is: a page sets a long one in smaller type."""
        characters = sum(map(len, self.headings))
        return "longer" if characters > _LONGER else "long" if characters > _LONG else "short"

    @property
    def claim_lines(self) -> list[str]:
        """The other claims, in words."""
        return [sentence(claim) for claim in self.claims]

    @property
    def statements(self) -> list[str]:
        """The other claims, in words, then the facts, then whether inputs may be added."""
        lines = [*self.claim_lines, *self.facts]
        return [*lines, self.continuing] if self.continuing else lines

    @property
    def verdict_lines(self) -> list[tuple[str, str]]:
        """The verdicts, each with its name in small letters for the page."""
        return [(str(c.verdict or "").lower(), sentence(c)) for c in self.verdicts]

    @property
    def tables(self) -> list[Table]:
        """The tables of a terminal, in order."""
        tables = (section.terminal_table or section.table for section in self.sections)
        return [table for table in tables if table is not None and not table.page_only]

    def text(self) -> str:
        """All of it, line by line."""
        lines = [*self.headings, self.about, *self.cautions, "", *self.statements]
        if self.assumptions:
            lines += ["", "Assumptions:", *(f"- {line}" for line in self.assumptions)]
        for table in self.tables:
            lines += ["", table.title, *table.text(), *filter(None, [table.note])]
        lines += ["", *(line for _, line in self.verdict_lines)] if self.verdicts else []
        return "\n".join(lines)
