"""A result on the terminal: sentences and tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from surefoot.claims import Claim
    from surefoot.report.tables import Table
    from surefoot.report.view import View
    from surefoot.store.records import Finding

HOLDS, REFUTED, UNDECIDED = 0, 1, 2


def show_view(view: View) -> None:
    """The claims, what they are about, how sure they are; the tables; the verdicts last."""
    console = open_console()
    for line in view.headings:
        console.print(line, style="bold", markup=False)
    console.print(view.about, markup=False)
    for line in view.cautions:
        console.print(line, style="yellow", markup=False)
    console.print()
    for line in view.sure:
        console.print(line, markup=False)
    if view.assumptions:
        console.print("\nAssumptions", style="bold")
    for line in view.assumptions:
        console.print(f"- {line}", markup=False)
    for table in view.tables:
        show_table(console, table)
    for _, line in view.verdict_lines:
        console.print(f"\n{line}", style="bold", markup=False)


def open_console() -> Console:
    """Standard output, as wide as the terminal, or never wrapped where there is none."""
    from rich.console import Console

    on_screen = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not on_screen, width=None if on_screen else 160)


def show_table(on: Console, table: Table) -> None:
    """Draw one table."""
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=table.title, title_justify="left", title_style="bold")
    for i, heading in enumerate(table.headings):
        drawn.add_column(heading, justify="left" if i < table.names else "right")
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    on.print()
    on.print(drawn)
    if table.note:
        on.print(table.note, markup=False)


def show_findings(findings: tuple[Finding, ...]) -> None:
    """The preflight, a line each."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    marks = {"ok": ("ok  ", "green"), "warning": ("look", "yellow"), "failed": ("BAD ", "red")}
    for finding in findings:
        mark, colour = marks[finding.status]
        console.print(f"[{colour}]{mark}[/]", end="  ")
        console.print(f"{finding.name}: {finding.finding}", markup=False)


def exit_code(verdicts: Sequence[Claim]) -> int:
    """0 every requirement holds or none was stated, 1 one is refuted, 2 one is undecided."""
    from surefoot.claims import Verdict

    given = {claim.verdict for claim in verdicts}
    if Verdict.FAIL in given:
        return REFUTED
    return UNDECIDED if Verdict.UNDECIDED in given else HOLDS
