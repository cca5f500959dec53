"""A result on the terminal: sentences and tables on stdout."""

from __future__ import annotations

import io
import os
import select
import sys
import warnings
from contextlib import AbstractContextManager, redirect_stdout
from typing import TYPE_CHECKING, TextIO

from surefoot.errors import SurefootWarning

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
    if view.what_fails:
        console.print(view.what_fails, markup=False)
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


class _StaysOpen(io.TextIOWrapper):
    """A stream that code of the user cannot close: our own sentences still have to go there."""

    def close(self) -> None:
        """Write what is left."""
        self.flush()


def keep_results_apart() -> None:
    """What libraries write to descriptor 1 goes to stderr; `sys.stdout` alone still writes results.

    Code of the user cannot close stderr. Nothing of this is undone: a library may write what it has
    buffered as late as the process ends.
    """
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed by the shell: `surefoot … >&-`
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w", closefd=False))
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.flush()
        binary = os.fdopen(sys.stderr.fileno(), "wb", closefd=False)
        sys.stderr = _StaysOpen(binary, sys.stderr.encoding, "replace", line_buffering=True)
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        return  # replaced by a program that calls us
    stream.flush()
    results = os.dup(stream.fileno())
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(
        os.fdopen(results, "wb"), stream.encoding, "replace", line_buffering=stream.line_buffering
    )


def prints_to_stderr() -> AbstractContextManager[object]:
    """While code of the user runs: what it prints is no result."""
    return redirect_stdout(sys.stderr)


def print_own_warnings() -> None:
    """Our warnings are sentences on stderr, without the place in the code that gave them."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, SurefootWarning):
            sys.stderr.write(f"{message}\n")
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def stdout_is_closed() -> bool:
    """Whether nobody reads the standard output any more, as in `surefoot … | head`."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return True  # no such call on this system, or no descriptor


def stdout_takes_text() -> bool:
    """Whether what was printed has arrived; on a full disk it is kept, and fails again."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


def close_quietly() -> None:
    """Write no more to a standard output that nobody reads, or that is full."""
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
