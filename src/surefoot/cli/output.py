"""How every result is shown: figure, page, words or JSON, and an exit code made from verdicts."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import typer

from surefoot.cli.terminal import exit_code, show_view

if TYPE_CHECKING:
    from surefoot.study import Result


def present(
    found: Result,
    *,
    report: str | None = None,
    figure: str | None = None,
    as_json: bool = False,
    kept_in: str | None = None,
) -> int:
    """Write figure and page, print; the exit code says whether what was required holds."""
    if figure is not None:
        found.plot(figure)
        sys.stderr.write(f"figure written to {figure}\n")
    if report is not None:
        found.report(report)
        sys.stderr.write(f"report written to {report}\n")
    if as_json:
        typer.echo(found.to_json())
    else:
        show_view(found.view)
    if kept_in is not None:
        runs = [part.record.digest[:12] for part in (found.parts or {"": found}).values()]
        sys.stderr.write(f"evidence kept in {kept_in}, run {', '.join(runs)}\n")
    return exit_code(found.view.verdicts)


def say_from_store(found: Result, store: str) -> None:
    """A finished run is not run again; say so."""
    for part in (found.parts or {"": found}).values():
        if part.from_store:
            sys.stderr.write(
                f"run {part.record.digest[:12]} was finished before: this is its result from "
                f"{store}\n"
            )


def command_line() -> str:
    """What was typed."""
    return "surefoot " + shlex.join(sys.argv[1:])
