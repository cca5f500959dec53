"""How every result is printed, and the exit code that its verdicts give."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import typer

from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.terminal import close_quietly, print_view, prints_to_stderr
from surefoot.commands.caller import Caller
from surefoot.system.text import escape_controls

if TYPE_CHECKING:
    from surefoot.study import Result


def run_command(
    function: Callable[..., Result],
    *arguments: Any,  # noqa: ANN401  handed on as they are
    json: bool = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Run a function of `surefoot.commands` and print its result; the exit code."""
    caller = shell_caller(as_json=json)
    with prints_to_stderr():
        result = function(*arguments, **options, caller=caller)
    store = options["running"].store
    say_what_is_from_store(result, store)
    for group in options.values():
        say_files(getattr(group, "figure", None), getattr(group, "report", None))
    return present(result, as_json=json, store=store)


def shell_caller(*, as_json: bool = False) -> Caller:
    """A caller that shows progress and says everything on stderr."""
    return Caller(
        command=command_line(),
        display=progress_on_stderr,
        announce=_say,
        remark=_say,
        on_interrupt=partial(_print_interrupted, results=sys.stdout, as_json=as_json),
        on_workers=lambda note: _say(str(note)),
    )


def present(result: Result, *, as_json: bool = False, store: str | None = None) -> int:
    """Print the result; the exit code answers the requirement."""
    try:
        if as_json:
            typer.echo(result.to_json())
        else:
            print_view(result.view)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns a closed pipe into an exit
        close_quietly()  # `surefoot … | head` ends with the code of the result
    if store is not None:
        from surefoot.store.locations import public_location

        runs = [part.record.digest[:12] for part in (result.parts or {"": result}).values()]
        _say(f"evidence in {public_location(str(store))}, run {', '.join(runs)}")
        if result.record.stopped_early:
            _say("stopped by --time-limit: the same command continues the run")
    return result.exit_code


def say_run(result: Result) -> None:
    """Say which run a file is written of: its name, and what was studied."""
    _say(f"run {result.record.digest[:12]}: {result.view.about}")


def say_files(figure: str | None = None, report: str | None = None) -> None:
    """Say which files were written."""
    for kind, file in (("figure", figure), ("report", report)):
        if file is not None:
            _say(f"{kind} written to {file}")


def _say(sentence: str) -> None:
    sys.stderr.write(f"{escape_controls(sentence)}\n")


def _print_interrupted(result: Result, *, results: TextIO, as_json: bool) -> None:
    """Print the brackets of an interrupted run."""
    with redirect_stdout(results):
        if as_json:
            typer.echo(result.to_json())
            return
        typer.echo("Interrupted. The brackets so far:\n")
        print_view(result.view)


def say_what_is_from_store(result: Result, store: str) -> None:
    """A finished run is not run again; say so."""
    from surefoot.store.locations import public_location

    for part in (result.parts or {"": result}).values():
        if part.from_store:
            sys.stderr.write(
                f"run {part.record.digest[:12]} was already finished: this is its result from "
                f"{public_location(str(store))}\n"
            )


def command_line() -> str:
    """The command that the user typed, without the password of a store."""
    from surefoot.store.locations import public_location

    return "surefoot " + shlex.join(public_location(word) for word in sys.argv[1:])
