"""An outcome in its parts, as a terminal, a text and a page show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from surefoot.core.claims import Claim
from surefoot.core.reasons import Reason
from surefoot.records.record import Change
from surefoot.report import alt
from surefoot.report.clauses import assumption_words, capitalised
from surefoot.report.figures import drawn, specified
from surefoot.report.formatting import with_full_stop
from surefoot.report.iso_24029 import Coverage, coverage
from surefoot.report.key_figure import Accuracy, KeyFigure, accuracy_of, key_figure
from surefoot.report.sentences import briefly, sentences
from surefoot.report.tables import Table
from surefoot.system.text import escape_controls

_LONG = 240
"""Characters of the headline beyond which it is set in smaller type: the figure must stay near."""
_KEY_FIGURES = 4
"""Numbers at the top, of several models or thresholds; more are in the first table."""
_TERMINAL_ROWS = 12
"""Rows of a table on a terminal: all of them are on the page and in the JSON."""
_CAUTIONS_ABOVE = 4
"""Cautions right below the verdicts; more, as of many curves, would hide the figure."""


@dataclass(frozen=True)
class Figure:
    """A figure with a caption that says what its marks mean; drawn once, when a page needs it.

    `description` says in numbers what is seen, for readers who do not see it. `width` are the
    pixels of the drawing for a wide screen, whose letters grow with it to that of the card.
    """

    draw: Callable[[], alt.ChartType]
    caption: str = ""
    id: str = ""
    description: str = ""
    width: int = 690

    @cached_property
    def svg(self) -> str:
        """The drawing as SVG. Text and exit codes do without: drawing takes seconds."""
        return drawn(self._specified)

    def fitted(self, width: int) -> str:
        """The same, so many pixels wide with its labels."""
        return drawn(self._specified, width)

    @cached_property
    def _specified(self) -> dict[str, Any]:
        return specified(self.draw)


@dataclass(frozen=True)
class Caution:
    """A sentence to be read beside the number; without an `urgent` one it must not be read.

    `blocks` is the reason that it gives, where no requirement can pass. `before`: it says that
    another question was meant, and a terminal prints it before the answer.
    """

    text: str
    urgent: bool = False
    blocks: Reason | None = None
    before: bool = False


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
    """One example: images, changed values or texts, and the command that runs it again.

    `texts` is the input before and after.
    """

    title: str
    text: str = ""
    images: tuple[LabelledImage, ...] = ()
    changes: tuple[Change, ...] = ()
    texts: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page; the terminal shows its table, or `terminal_table` in place of cards.

    A page folds it where it is `folded`: a reader who wants it opens it, and paper has it.
    """

    id: str
    title: str
    lines: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    cards: tuple[Card, ...] = ()
    strips: tuple[tuple[str, tuple[LabelledImage, ...]], ...] = ()
    terminal_table: Table | None = None
    folded: bool = False


def table_sections(tables: Mapping[str, Table | None]) -> list[Section]:
    """A section for each table that there is, under its own title."""
    return [Section(id, table.title, table=table) for id, table in tables.items() if table]


@dataclass(frozen=True)
class View:
    """The number, one sentence, one figure; then how sure, on what assumption, and the rest.

    The first claim of `headline` is the sentence at the top; `key_claims` give the numbers above it
    where these are not the headline's. The first section has the main figure: a page shows it
    before anything else. `claims_note` says what else helps to read `claims`. `what_fails` is said
    below the headline where `about` is not. `page_facts` are further facts, not for a terminal.
    `title` names model and perturbation. `answer` is a table without which the headline is no
    answer, as of models side by side; `then` a command to go on with.
    """

    title: str
    headline: tuple[Claim, ...]
    about: str
    warnings: tuple[Caution, ...]
    claims: tuple[Claim, ...]
    verdicts: tuple[Claim, ...]
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
    command: str
    provenance: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    assumptions: tuple[str, ...] = ()
    continuing: str = ""
    what_fails: str = ""
    claims_note: str = ""
    key_claims: tuple[Claim, ...] = ()
    page_facts: tuple[str, ...] = ()
    answer: Table | None = None
    then: str = ""

    @property
    def key_figures(self) -> list[KeyFigure]:
        """The numbers that a reader sees first, each with its interval."""
        if self.accuracy is not None and not self.key_claims:
            return self.accuracy.key_figures
        return [key_figure(claim) for claim in (self.key_claims or self.headline)[:_KEY_FIGURES]]

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """Clean accuracy, perturbed accuracy and the drop, where the headline is about them."""
        return accuracy_of((*self.headline[:1], *self.claims))

    @property
    def subject(self) -> list[str]:
        """What was run and, where labels are known, clean and perturbed accuracy: a line each."""
        accuracy = [] if self.accuracy is None else [f"{capitalised(self.accuracy.line)}."]
        return [line for line in (self.about, *accuracy) if line]

    @cached_property
    def _lines(self) -> list[str]:
        """Headline, verdicts and the other claims in words, in the order in which they are read."""
        return sentences([briefly(claim) for claim in self._in_order])

    @property
    def _in_order(self) -> list[Claim]:
        """All claims as they are read."""
        return [*self.headline[:1], *self.verdicts, *self.headline[1:], *self.claims]

    @property
    def every_assumption(self) -> list[str]:
        """What the claims assume, exactly, and what the run takes for granted beside that."""
        known = dict.fromkeys(a for c in self._in_order for a in c.guarantee.assumptions)
        exact = [assumption_words(one) for one in known]
        return [*(with_full_stop(capitalised(words)) for words in exact), *self.assumptions]

    def next_step(self, *, page: bool) -> str:
        """What a reader may do now, in one line; `page`: it is written already."""
        write = "" if page else "--report page.html writes the page"
        # where nothing can pass, an input that fails says little
        steps = ["" if self._blocked else self.then, "--explain prints every claim", write]
        return "; ".join(filter(None, steps))

    @property
    def headings(self) -> list[str]:
        """The claim that comes first, in words."""
        return self._lines[: len(self.headline[:1])]

    @property
    def size(self) -> str:
        """How long the headline is: a page sets a long one in smaller type."""
        return "long" if sum(map(len, self.headings)) > _LONG else "short"

    @property
    def claim_lines(self) -> list[str]:
        """The other claims, in words."""
        return self._lines[len(self.headings) + len(self.verdicts) :]

    @property
    def iso_24029(self) -> list[Coverage]:
        """The properties of the standard that the claims are about."""
        claims = (*self.headline, *self.claims, *self.verdicts)
        return coverage(claims) if claims else []

    @property
    def cautions(self) -> tuple[str, ...]:
        """What is to be read beside the number."""
        return tuple(one.text for one in self.warnings)

    @property
    def urgent(self) -> list[str]:
        """Cautions without which the number must not be read."""
        return [one.text for one in self.warnings if one.urgent]

    @property
    def _blocked(self) -> bool:
        """Whether nothing can pass: the reason is what a reader must see first."""
        return any(one.blocks is not None for one in self.warnings)

    @property
    def first_cautions(self) -> list[str]:
        """The cautions right below the verdicts, the urgent ones first; these alone if blocked."""
        others = self._not_in_verdicts
        if self._blocked:  # one reason is enough: the same option often mends two
            given = len(others) < len(self.warnings)
            return [one.text for one in others if one.urgent and not (given and one.blocks)]
        ordered = sorted(others, key=lambda one: not (one.urgent or one.before))
        urgent = sum(one.urgent or one.before for one in ordered)
        return [one.text for one in ordered[: max(urgent, _CAUTIONS_ABOVE)]]

    @property
    def notes(self) -> list[str]:
        """The other cautions."""
        first = self.first_cautions
        return [one.text for one in self._not_in_verdicts if one.text not in first]

    @property
    def _not_in_verdicts(self) -> list[Caution]:
        """What no verdict gives as its reason already."""
        reasons = [claim.reason for claim in self.verdicts if claim.reason is not None]
        given = [part for reason in reasons for part in (reason, *reason.parts)]
        return [one for one in self.warnings if one.blocks is None or one.blocks not in given]

    @property
    def verdict_lines(self) -> list[tuple[str, str]]:
        """The verdicts, each with its name in small letters for the page."""
        lines = self._lines[len(self.headings) :]
        words = [str(c.verdict or "").lower() for c in self.verdicts]
        return list(zip(words, lines, strict=False))

    @property
    def tables(self) -> list[Table]:
        """The tables of a terminal, in order."""
        tables = (section.terminal_table or section.table for section in self.sections)
        return [
            table.shortened(_TERMINAL_ROWS)
            for table in tables
            if table is not None and not table.page_only
        ]

    @property
    def paragraphs(self) -> list[tuple[str, tuple[str, ...]]]:
        """What follows the tables of a terminal: a title, and its lines."""
        run = filter(None, [self.about, *self.facts, self.continuing])
        lists = {
            "Further claims": filter(None, [*self.claim_lines, self.claims_note]),
            "Assumptions": self.every_assumption,
            "Notes": self.notes,
            "What was run": run,
        }
        listed = [(title, tuple(f"- {line}" for line in lines)) for title, lines in lists.items()]
        repeat = [("To repeat it", (self.command,))] if self.command else []
        return [(title, lines) for title, lines in (*listed, *repeat) if lines]

    @property
    def cautions_before(self) -> list[str]:
        """The cautions that a terminal prints before the answer."""
        given = self.first_cautions
        return [one.text for one in self.warnings if one.before and one.text in given]

    @property
    def cautions_after(self) -> list[str]:
        """The cautions that it prints below the verdicts."""
        before = self.cautions_before
        return [line for line in self.first_cautions if line not in before]

    def brief(self) -> str:
        """The answer, the verdicts and what is wrong, and the one table of the answer."""
        table = [] if self.answer is None else self.answer.paragraph()
        return escape_controls("\n".join([*self._answer_lines(), *table]))

    def _answer_lines(self, what_fails: str = "") -> list[str]:
        verdicts = [line for _, line in self.verdict_lines]
        answer = [*self.headings, *filter(None, [what_fails]), *verdicts]
        return [*self.cautions_before, *answer, *self.cautions_after]

    def text(self) -> str:
        """All of it, line by line: the number first."""
        lines = [*(key.line for key in self.key_figures), *self._answer_lines(self.what_fails)]
        for table in self.tables:
            lines += table.paragraph()
        for title, paragraph in self.paragraphs:
            lines += ["", f"{title}:", *paragraph]
        return escape_controls("\n".join(lines))
