"""A record on the terminal: sentences and tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from surefoot.population import Each
    from surefoot.report.tables import Table
    from surefoot.report.told import Told
    from surefoot.results import Decision, Undecided
    from surefoot.store.records import Finding, Record

HOLDS, REFUTED, UNDECIDED = 0, 1, 2


def show_record(record: Record) -> None:
    """The claim, how sure, on what assumption; the classes; the weakest inputs."""
    from surefoot.report import tables, words
    from surefoot.report.attacks import baseline_table

    console = open_console()
    console.print(words.headline(record), style="bold", markup=False)
    console.print(words.about(record), markup=False)
    for line in words.cautions(record):
        console.print(line, style="yellow", markup=False)
    console.print()
    for line in (*words.how_sure(record), *words.facts(record)):
        console.print(line, markup=False)
    console.print("\nAssumptions", style="bold")
    for line in words.assumptions(record):
        console.print(f"- {line}", markup=False)
    if claims := words.strongest(record):
        console.print("\nStrongest claims this evidence allows, each by itself", style="bold")
        for line in claims:
            console.print(f"- {line}", markup=False)
    if (beside := baseline_table(record)) is not None:
        show_table(console, beside)
    if record.classes:
        show_table(console, tables.class_table(record))
    if (differ := tables.contrast_table(record)) is not None:
        console.print(f"\n{differ.note}", markup=False)
    if record.exhibits:
        show_table(console, tables.exhibit_table(record))


def show_told(told: Told) -> None:
    """The claim, what it is about, how sure it is, and the tables."""
    console = open_console()
    console.print(told.headline, style="bold", markup=False)
    console.print(told.about, markup=False)
    for line in told.cautions:
        console.print(line, style="yellow", markup=False)
    console.print()
    for line in told.how_sure:
        console.print(line, markup=False)
    for table in told.tables:
        show_table(console, table)


def open_console() -> Console:
    """Standard output, as wide as the terminal, or never wrapped where there is none."""
    from rich.console import Console

    on_screen = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not on_screen, width=None if on_screen else 160)


def show_table(on: Console, told: Table) -> None:
    """Draw one table."""
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=told.title, title_justify="left", title_style="bold")
    for i, heading in enumerate(told.headings):
        drawn.add_column(heading, justify="left" if i < told.names else "right")
    for row in told.rows:
        drawn.add_row(*map(Text, row))
    on.print()
    on.print(drawn)
    if told.note:
        on.print(told.note, markup=False)


def show_findings(findings: tuple[Finding, ...]) -> None:
    """The preflight, a line each."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    marks = {"good": ("ok  ", "green"), "odd": ("look", "yellow"), "bad": ("BAD ", "red")}
    for finding in findings:
        mark, colour = marks[finding.verdict]
        console.print(f"[{colour}]{mark}[/]", end="  ")
        console.print(f"{finding.name}: {finding.finding}", markup=False)


def show_each(each: Each) -> None:
    """A requirement class by class."""
    from surefoot.report.tables import each_table

    show_table(open_console(), each_table(each))


def exit_code(claims: Sequence[Decision | Undecided]) -> int:
    """0 every claim holds or nothing was claimed, 1 one is refuted, 2 one is undecided."""
    from surefoot.results import Decision, Undecided

    if any(isinstance(claim, Decision) and not claim.holds for claim in claims):
        return REFUTED
    return UNDECIDED if any(isinstance(claim, Undecided) for claim in claims) else HOLDS
