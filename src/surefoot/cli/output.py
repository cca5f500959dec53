"""How every result is printed and written, and the exit code that its verdicts give."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import typer

from surefoot.cli.terminal import close_quietly, exit_code, print_view

if TYPE_CHECKING:
    from surefoot.study import Result


def present(
    result: Result,
    *,
    report: str | None = None,
    figure: str | None = None,
    as_json: bool = False,
    store: str | None = None,
) -> int:
    """Write figure and report, print the result; the exit code answers the requirement."""
    if figure is not None:
        result.plot(figure)
        sys.stderr.write(f"figure written to {figure}\n")
    if report is not None:
        result.report(report)
        sys.stderr.write(f"report written to {report}\n")
    try:
        if as_json:
            typer.echo(result.to_json())
        else:
            print_view(result.view)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns a closed pipe into an exit
        close_quietly()  # `surefoot … | head` ends with the code of the result
    if store is not None:
        runs = [part.record.digest[:12] for part in (result.parts or {"": result}).values()]
        sys.stderr.write(f"evidence in {store}, run {', '.join(runs)}\n")
        if result.record.stopped_early:
            sys.stderr.write("stopped by --time-limit: the same command continues the run\n")
    return exit_code(result.view.verdicts)


def say_what_is_from_store(result: Result, store: str) -> None:
    """A finished run is not run again; say so."""
    for part in (result.parts or {"": result}).values():
        if part.from_store:
            sys.stderr.write(
                f"run {part.record.digest[:12]} was already finished: this is its result from "
                f"{store}\n"
            )


def command_line() -> str:
    """The command that the user typed."""
    return "surefoot " + shlex.join(sys.argv[1:])
