"""A result on the terminal: sentences and tables on stdout, progress on stderr, an exit code."""

from __future__ import annotations

import inspect
import io
import os
import select
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from surefoot.cli.interrupts import raise_if_stopped
from surefoot.commands.caller import Answer, Caller, Watch, printed_lines, terminal_bar
from surefoot.commands.values import Given
from surefoot.errors import SurefootWarning
from surefoot.system.text import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

    from surefoot.engine.progress import Progress
    from surefoot.records.record import Finding
    from surefoot.report.tables import Table
    from surefoot.report.view import View
    from surefoot.study import Result


_MOST_RUNS = 6
"""Runs that are named one by one: the cells of a suite are not."""
_STYLES = {"Notes": "yellow"}
"""Paragraphs that stand out."""


def print_view(view: View, *, explain: bool = False, page: bool = False) -> None:
    """Print the answer, the verdicts and what is wrong; what they rest on where it is wanted."""
    console = open_console()
    for line in view.cautions_before:
        _print_line(console, line, style="yellow")
    for line in view.headings:
        _print_line(console, line, style="bold")
    for _, line in view.verdict_lines:
        _print_line(console, line, style="bold")
    for line in view.cautions_after:
        _print_line(console, line, style="yellow")
    if not explain:
        if view.answer is not None:
            print_table(console, view.answer)
        _print_line(console, f"next: {view.next_step(page=page)}")
        return
    if view.what_fails:
        _print_line(console, view.what_fails)
    for table in view.tables:
        print_table(console, table)
    for title, lines in view.paragraphs:
        _print_line(console, f"\n{title}", style="bold")
        for line in lines:
            _print_line(console, line, style=_STYLES.get(title))


def _print_line(console: Console, line: str, style: str | None = None) -> None:
    """Print a line; a name in it cannot steer the terminal."""
    console.print(escape_controls(line), style=style, markup=False)


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

    def show(message: Warning | str, category: type[Warning], *where: Given, **more: Given) -> None:
        if issubclass(category, SurefootWarning):
            say(str(message))
        else:
            others(message, category, *where, **more)

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

    title = Text(escape_controls(table.title), style="bold")
    rich_table = RichTable(title=title, title_justify="left")
    for i, heading in enumerate(table.headings):
        rich_table.add_column(
            Text(escape_controls(heading)), justify="left" if i < table.name_columns else "right"
        )
    for row in table.rows:
        rich_table.add_row(*(Text(escape_controls(cell)) for cell in row))
    console.print()
    console.print(rich_table)
    if table.note:
        _print_line(console, table.note)


_ALWAYS = ("model", "data")
"""Checks that are printed although nothing is odd; and the one of the clean accuracy."""


def print_findings(findings: tuple[Finding, ...], *, explain: bool = False) -> None:
    """Print the checks of model and data, one line each; those that found nothing by number."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    marks = {"ok": ("ok  ", "green"), "warning": ("note", "yellow"), "failed": ("BAD ", "red")}
    shown = [
        f
        for f in findings
        if explain or f.status != "ok" or f.clean is not None or f.name in _ALWAYS
    ]
    for finding in shown:
        mark, colour = marks[finding.status]
        console.print(f"[{colour}]{mark}[/]", end="  ")
        _print_line(console, f"{finding.name}: {finding.finding}")
    if quiet := len(findings) - len(shown):
        _print_line(console, f"ok    {quiet} more checks (--explain prints them)")


@contextmanager
def progress_on_stderr(unit: str = "inputs") -> Iterator[Watch]:
    """A bar on a terminal, a line every few seconds elsewhere; `unit` is what is counted."""
    display = terminal_bar if sys.stderr.isatty() else printed_lines
    part = 0
    with display(unit) as watch:

        def watch_or_stop(now: Progress) -> None:
            nonlocal part
            raise_if_stopped()
            if now.part != part and now.trials:  # the first report comes before the first batch
                sys.stderr.write(f"goes on from {now.trials:,} {now.unit} that are in the store\n")
            part = now.part
            watch(now)

        yield watch_or_stop


def run_command(
    function: Callable[..., Result | Answer], *, json: bool, explain: bool = False, **given: Given
) -> int:
    """Run a function of `surefoot.commands` and print what it returns; the exit code."""
    if "caller" in inspect.signature(function).parameters:
        given["caller"] = shell_caller(as_json=json)
    with prints_to_stderr():
        answer = function(**given)
    if isinstance(answer, Answer):
        return print_answer(answer, as_json=json)
    store, page = (getattr(given.get("running"), name, None) for name in ("store", "report"))
    say_what_is_from_store(answer, store)
    for group in given.values():
        say_files(getattr(group, "figure", None), getattr(group, "report", None))
    return present(answer, as_json=json, explain=explain, store=store, page=page is not None)


def print_answer(answer: Answer, *, as_json: bool = False, console: Console | None = None) -> int:
    """Print lines and tables, or JSON; the exit code."""
    for part in [answer.json] if as_json else answer.lines:
        if isinstance(part, str):
            typer.echo(part, nl=not part.endswith("\n"))
        else:
            print_table(console or open_console(), part)
    return answer.exit_code


def shell_caller(*, as_json: bool = False) -> Caller:
    """A caller that shows progress and says everything on stderr."""
    return Caller(
        command=command_line(),
        display=progress_on_stderr,
        announce=say,
        remark=say,
        on_interrupt=partial(_print_interrupted, results=sys.stdout, as_json=as_json),
        on_workers=lambda note: say(str(note)),
    )


def present(
    result: Result,
    *,
    as_json: bool = False,
    explain: bool = False,
    store: str | None = None,
    page: bool = False,
) -> int:
    """Print the result; the exit code answers the requirement. `page`: it is written already."""
    try:
        if as_json:
            typer.echo(result.to_json())
        else:
            print_view(result.view, explain=explain, page=page)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns a closed pipe into an exit
        close_quietly()  # `surefoot … | head` ends with the code of the result
    if store is not None:
        from surefoot.store.locations import public_location

        parts = [part.record.digest[:12] for part in result.parts.values()]
        named = ", ".join(parts) if len(parts) <= _MOST_RUNS else f"{len(parts)} runs"
        made_of = f", made of {named}" if parts else ""
        say(f"evidence in {public_location(str(store))}, run {result.record.digest[:12]}{made_of}")
        if result.record.stopped_early:
            say("stopped by --time-limit: the same command continues the run")
    return result.exit_code


def say_files(figure: str | Path | None = None, report: str | Path | None = None) -> None:
    """Say which files were written."""
    for kind, file in (("figure", figure), ("report", report)):
        if file is not None:
            say(f"{kind} written to {file}")


def say(sentence: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(f"{escape_controls(sentence)}\n")


def _print_interrupted(result: Result, *, results: TextIO, as_json: bool) -> None:
    """Print the brackets of an interrupted run."""
    with redirect_stdout(results):
        if as_json:
            typer.echo(result.to_json())
            return
        typer.echo("Interrupted. The brackets so far:\n")
        print_view(result.view)


def say_what_is_from_store(result: Result, store: str | None) -> None:
    """A finished run is not run again; say so."""
    from surefoot.store.locations import public_location

    stored = [part for part in (result.parts or {"": result}).values() if part.from_store]
    if len(stored) > _MOST_RUNS:
        every = f"{len(stored)} of {len(result.parts)} runs"
        say(f"{every} were already finished: from {public_location(str(store))}")
        return
    for part in stored:
        say(
            f"run {part.record.digest[:12]} was already finished: this is its result from "
            f"{public_location(str(store))}"
        )


def command_line() -> str:
    """The command that the user typed, without the password of a store."""
    from surefoot.store.locations import public_location

    return "surefoot " + shlex.join(public_location(word) for word in sys.argv[1:])
