"""A result on the terminal: sentences and tables on stdout."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from surefoot.report.tables import Table
    from surefoot.report.view import View
    from surefoot.store.records import Finding

HOLDS = 0
_STYLES = {"Notes": "yellow"}
"""Paragraphs that stand out."""


def print_view(view: View) -> None:
    """Print the number, one sentence, the verdicts and the tables; then what they rest on."""
    console = open_console()
    for i, line in enumerate(view.lead):
        console.print(line, style="bold" if i == 0 else None, markup=False)
    for key in view.key_figures:
        console.print(key.line, style="bold", markup=False)
    for line in view.headings:
        console.print(line, markup=False)
    for _, line in view.verdict_lines:
        console.print(line, style="bold", markup=False)
    for line in view.urgent:
        console.print(line, style="yellow", markup=False)
    for table in view.tables:
        print_table(console, table)
    for title, lines in view.paragraphs:
        console.print(f"\n{title}", style="bold", markup=False)
        for line in lines:
            console.print(line, style=_STYLES.get(title), markup=False)


def close_quietly() -> None:
    """Write no more to a standard output that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_console() -> Console:
    """Standard output: as wide as the terminal, or without line breaks if it is not one."""
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not is_terminal, width=None if is_terminal else 160)


def print_table(console: Console, table: Table) -> None:
    """Print one table."""
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(title=table.title, title_justify="left", title_style="bold")
    for i, heading in enumerate(table.headings):
        rich_table.add_column(heading, justify="left" if i < table.name_columns else "right")
    for row in table.rows:
        rich_table.add_row(*map(Text, row))
    console.print()
    console.print(rich_table)
    if table.note:
        console.print(table.note, markup=False)


def print_findings(findings: tuple[Finding, ...]) -> None:
    """Print the checks of model and data, one line each."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    marks = {"ok": ("ok  ", "green"), "warning": ("note", "yellow"), "failed": ("BAD ", "red")}
    for finding in findings:
        mark, colour = marks[finding.status]
        console.print(f"[{colour}]{mark}[/]", end="  ")
        console.print(f"{finding.name}: {finding.finding}", markup=False)
