"""A record on the terminal: sentences and tables on stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefoot.results import Decision, Undecided
    from surefoot.store.records import Finding, Record

HOLDS, REFUTED, UNDECIDED = 0, 1, 2


def show_record(record: Record) -> None:
    """The claim, how sure, on what assumption; the classes; the weakest inputs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from surefoot.report import words

    on_screen = sys.stdout.isatty()
    console = Console(highlight=False, soft_wrap=not on_screen, width=None if on_screen else 160)
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
    if record.classes:
        table = Table(title="Class by class", title_justify="left", title_style="bold")
        table.add_column("class")
        what = words.QUANTITIES[record.spec["population"]["kind"]].removeprefix("the ")
        for name in ("inputs", what, "interval"):
            table.add_column(name, justify="right")
        for row in record.classes:
            table.add_row(Text(row.name), str(row.inputs), *words.cells(row.result))
        console.print()
        console.print(table)
    if record.exhibits:
        table = Table(title="Least robust inputs", title_justify="left", title_style="bold")
        for name in ("input", "holds under", "undisturbed", "slips to", "in trial"):
            table.add_column(name)
        for e in record.exhibits:
            table.add_row(
                *map(
                    Text,
                    (
                        e.id,
                        words.percent(e.robustness),
                        e.clean_class,
                        e.slipped_class,
                        str(e.trial),
                    ),
                )
            )
        console.print()
        console.print(table)


def show_findings(findings: tuple[Finding, ...]) -> None:
    """The preflight, a line each."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    marks = {"good": ("ok  ", "green"), "odd": ("look", "yellow"), "bad": ("BAD ", "red")}
    for finding in findings:
        mark, colour = marks[finding.verdict]
        console.print(f"[{colour}]{mark}[/]", end="  ")
        console.print(f"{finding.name}: {finding.finding}", markup=False)


def exit_code(decision: Decision | Undecided | None) -> int:
    """0 the claim holds or nothing was claimed, 1 refuted, 2 undecided."""
    from surefoot.results import Decision, Undecided

    match decision:
        case None:
            return HOLDS
        case Decision(holds=holds):
            return HOLDS if holds else REFUTED
        case Undecided():
            return UNDECIDED
