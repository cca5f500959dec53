"""The entry point: commands, and what an error looks like."""

from __future__ import annotations

import inspect
import io
import os
import sys
from typing import Annotated

import typer

from surefoot.cli import (
    brackets,
    certify,
    compare,
    critical,
    curve,
    demo,
    design,
    doctor,
    estimate,
    perturb,
    plan,
    store_commands,
    tail,
)
from surefoot.cli.interrupts import Stopped, listen
from surefoot.errors import SurefootError

ERROR = 3
UsageProblem: type[Exception] = typer.BadParameter.__mro__[
    2
]  # click's own base, or the one that typer carries

app = typer.Typer(
    name="surefoot",
    help="How often does a classifier fail when its input is perturbed, and how certain is that?",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def running_text(told: str) -> str:
    """Paragraphs without the line breaks of the source; an example keeps its lines."""
    paragraphs = inspect.cleandoc(told).split("\n\n")
    return "\n\n".join(
        part if part.startswith("Example") else " ".join(part.split()) for part in paragraphs
    )


for _name, _command in (
    ("estimate", estimate.estimate),
    ("certify", certify.certify),
    ("tail", tail.tail),
    ("curve", curve.curve),
    ("critical", critical.critical),
    ("brackets", brackets.brackets),
    ("compare", compare.compare),
    ("design", design.design),
    ("perturb", perturb.perturb),
    ("plan", plan.plan),
    ("doctor", doctor.doctor),
    ("show", store_commands.show),
    ("report", store_commands.report),
    ("replay", store_commands.replay),
    ("demo", demo.demo),
):
    app.command(_name, help=running_text(_command.__doc__ or ""))(_command)


def _version(asked: bool) -> None:
    if asked:
        from surefoot import __version__

        typer.echo(f"surefoot {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a command; an error is one sentence on stderr and exit code 3."""
    listen()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except SurefootError as error:
        sys.exit(_say(str(error)))
    except UsageProblem as error:
        context = getattr(error, "ctx", None)
        way_out = f": try '{context.command_path} --help'" if context is not None else ""
        told = getattr(error, "format_message", error.__str__)().rstrip(".")
        sys.exit(_say(told + way_out))
    except (Stopped, typer.Abort):
        sys.exit(
            _say("stopped: what was measured is in the store; the same command goes on from there")
        )
    except (BrokenPipeError, SystemExit):  # rich and typer turn a closed pipe into an exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_say("the output could not be written: the other end of the pipe has closed"))
    except OSError as error:
        sys.exit(_say(f"{error.filename or 'the system'}: {error.strerror or error}"))
    except Exception as error:  # noqa: BLE001  never exit with 1, which means refuted
        sys.exit(_say(f"a fault in surefoot, please report it: {type(error).__name__}: {error}"))
    sys.exit(code if isinstance(code, int) else 0)


def _say(sentence: str) -> int:
    one_line = " ".join(sentence.split())
    sys.stderr.write(f"surefoot: {one_line}\n")
    return ERROR
