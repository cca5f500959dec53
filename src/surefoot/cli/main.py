"""The entry point: the list of commands, errors and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, ClassVar

import typer

from surefoot.cli import terminal, verbs
from surefoot.cli.exit_codes import ERROR, end_at_once, own_exit_code, watch_signals
from surefoot.cli.interrupts import end_with, handle_signals, raise_if_stopped
from surefoot.cli.parsing import LazyGroup, refused_word
from surefoot.errors import Stopped, SurefootError
from surefoot.models.call_limit import end_late_calls
from surefoot.system.text import escape_controls
from surefoot.system.user_code import ignore_number_warnings, raised_words

_MOST_LETTERS = 400
"""Of a word in a sentence: longer than any path, shorter than a number that fills the terminal."""
_CLOSED = "code that surefoot ran closed standard output or error: remove that"
_UNPRINTED = "free some space or choose another place, and run the same command again"
_INTERRUPTED = 130
"""What typer makes of a KeyboardInterrupt."""
_STOPPED = "stopped: the evidence so far is in the store; the same command continues the run"
_STOPPED_DASHBOARD = "stopped before the dashboard began: nothing was changed"
_STOPPED_WITHOUT_STORE = "stopped before it was done: run the same command again"
_WITHOUT_STORE = (
    *("verify", "export", "evidence", "key", "doctor", "plan", "design", "tally", "show"),
    *("brackets", "perturb", "report", "replay", "init"),
)
"""Commands that keep nothing of what they did when they are stopped."""
_OUR_NAMES = {"--target": "--labels", "--target-column": "--labels", "--label-column": "--labels"}
"""Options by the names that other tools give them."""


class _Surefoot(LazyGroup):
    panels: ClassVar = {
        "Start here": (verbs.demo, verbs.doctor, verbs.init, verbs.perturb, verbs.plan),
        "Measure a model": (
            *(verbs.estimate, verbs.suite, verbs.certify, verbs.curve),
            *(verbs.critical, verbs.smooth, verbs.tail, verbs.compare),
        ),
        "Gate a release": (verbs.run,),
        "Read stored results": (
            *(verbs.show, verbs.report, verbs.replay, verbs.serve, verbs.export),
        ),
        "Hand over evidence": (verbs.evidence, verbs.verify, verbs.key),
        "Results of other tools": (verbs.tally, verbs.brackets),
        "Background": (verbs.design,),
    }


app = typer.Typer(
    name="surefoot",
    cls=_Surefoot,
    help="How accurate is a classifier when its input is perturbed, and how certain is that "
    "number?",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from surefoot import __version__

        typer.echo(f"surefoot {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _stopped() -> str:
    """What a stopped command says: what is left of it."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "serve":
        return _STOPPED_DASHBOARD
    return _STOPPED_WITHOUT_STORE if command in _WITHOUT_STORE else _STOPPED


def main() -> None:
    """Run a command; an error is one sentence on stderr and exit code 3."""
    handle_signals()
    try:
        terminal.keep_results_apart()
        watch_signals(ERROR, f"surefoot: {_stopped()}")
        end_late_calls(partial(end_at_once, leave=os._exit))
        code = _run()
    except Stopped:
        _print_error(_stopped())  # nothing is imported: an import may just have been cut off
        code = ERROR
    end_with(code)
    sys.exit(code)


def _run() -> int:
    """Run the command that was typed; its exit code."""
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    ignore_number_warnings()
    terminal.print_own_warnings()
    code: object = 0
    try:
        with own_exit_code():
            code = app(prog_name="surefoot", standalone_mode=False)
        sys.stdout.flush()
    except SurefootError as error:
        raise_if_stopped()  # what is left half done by a signal may fail
        return _fail(str(error))
    except (Stopped, typer.Abort):
        raise Stopped from None
    except SystemExit as error:
        if not _is_broken_pipe(error.__context__):
            return _fail(f"code that surefoot ran called sys.exit({error.code!r}): remove that")
        terminal.close_quietly()
    except OSError as error:
        if not (_is_broken_pipe(error) and terminal.stdout_is_closed()):  # but one of the user's
            return _fail(_system_words(error))
        terminal.close_quietly()  # in `surefoot … | head` nothing went wrong
    except BaseException as error:  # noqa: BLE001  never exit with 1, which means refuted
        raise_if_stopped()
        if sentence := _usage_sentence(error):
            return _fail(sentence)
        streams: tuple[Any, Any] = (sys.stdout, sys.stderr)
        closed = any(s is None or getattr(s, "closed", False) for s in streams)
        fault = f"a fault in surefoot, please report it: {raised_words(error)}"
        return _fail(_CLOSED if closed else fault)
    if code == _INTERRUPTED:
        raise Stopped
    return code if isinstance(code, int) else 0


def _system_words(error: OSError) -> str:
    """What the system refused, and of which file."""
    if error.filename is None and not terminal.stdout_takes_text():
        terminal.close_quietly()
        return f"standard output cannot be written ({error.strerror or error}): {_UNPRINTED}"
    return f"{error.filename or 'the system'}: {error.strerror or error}"


def _usage_sentence(error: Any) -> str:  # noqa: ANN401  click's
    """What typer says of a wrong command line, and the way out; empty for another error.

    Its errors are click's own, or those of the copy of click inside typer: known by how they are
    printed, as their classes are no names of typer.
    """
    if not hasattr(error, "format_message"):
        return ""
    context = getattr(error, "ctx", None)
    way_out = f": try '{context.command_path} --help'" if context is not None else ""
    if getattr(getattr(error, "param", None), "name", "") == "perturb":
        way_out = f": for example --perturb gaussian:0.1{way_out.replace(': try', ', or see')}"
    ours = _our_name(error, context) or refused_word(error, context)
    return (ours or error.format_message().rstrip(".")) + way_out


def _our_name(error: Any, context: Any) -> str:  # noqa: ANN401  click's
    """The name of an option that other tools call so, or that is misspelt; else empty."""
    given: str = getattr(error, "option_name", "")
    params = getattr(context, "command", context).params if context else []
    known = [name for option in params for name in option.opts]
    ours = _OUR_NAMES.get(given, "")
    if ours in known:
        return f"No such option: {given} (here it is {ours})"
    near = get_close_matches(given, known, n=1) if hasattr(error, "possibilities") else []
    return f"No such option: {given} (do you mean {near[0]}?)" if near else ""


def _is_broken_pipe(error: BaseException | None) -> bool:
    """Whether writing failed since nobody reads; rich makes an exit of that."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _fail(sentence: str) -> int:
    from surefoot.store.locations import check_location, without_passwords

    for word in sys.argv[1:]:
        try:
            check_location(word)
        except SurefootError as error:  # what failed may have quoted it
            sentence = str(error)
        sentence = without_passwords(sentence, word)
    words = (w if len(w) <= _MOST_LETTERS else f"{w[:_MOST_LETTERS]}…" for w in sentence.split())
    _print_error(" ".join(words))
    return ERROR


def _print_error(sentence: str) -> None:
    line = f"surefoot: {escape_controls(sentence)}\n"
    try:
        sys.stderr.write(line)
    except (AttributeError, OSError, ValueError):  # code of the user closed or replaced it
        with suppress(OSError):
            os.write(2, line.encode("utf-8", "replace"))
