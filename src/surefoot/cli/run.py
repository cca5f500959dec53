"""`surefoot run`: every study of a file, with one exit code for all of them."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import shell_caller
from surefoot.cli.terminal import close_quietly, prints_to_stderr
from surefoot.commands.gate_options import DEFAULT_FILE, GateOptions
from surefoot.system.text import escape_controls

_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The file whose Markdown GitHub shows beside a job."""


def _chosen(choice: GateOptions) -> GateOptions:
    return choice


@o.options_of(_chosen)
def run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The study file, in TOML.")
    ] = DEFAULT_FILE,
    *,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  the options of the command
) -> int:
    """Run the studies of a file and decide their requirements, which share one error.

    One line for each requirement, and one exit code: 3 if a study failed with an error, else 1 if a
    requirement is refuted, else 2 if one is undecided, else 0. All studies are checked before the
    first trial is run; what the store has is not run again.

    Example: surefoot run study.toml --junit junit.xml
    """
    from surefoot.gate.outcome_lines import study_lines
    from surefoot.gate.run_studies import GateOutcome, each_outcome, open_gate, write_cases

    choice = _chosen(**options)
    caller = shell_caller(as_json=json)
    with prints_to_stderr():
        gate, chosen = open_gate(file, choice)
    outcomes = []
    each = each_outcome(gate, chosen, choice, caller)
    for _ in chosen:
        with prints_to_stderr():
            outcomes.append(next(each))
        _print([] if json else study_lines(outcomes[-1]))
    whole = GateOutcome(gate, tuple(outcomes))
    write_cases(whole.studies, choice)
    _append_summary(whole.step_summary())
    _print([whole.to_json() if json else whole.final_line])
    if choice.evidence is not None:
        written = any(one.evidence for one in outcomes)
        what = f"evidence written to {choice.evidence}" if written else "no evidence was written"
        sys.stderr.write(f"{what}\n")
    if choice.junit is not None:
        sys.stderr.write(f"test cases written to {choice.junit}\n")
    return whole.exit_code


def _print(lines: list[str]) -> None:
    try:
        for line in lines:
            typer.echo(escape_controls(line))
        sys.stdout.flush()
    except BrokenPipeError:
        close_quietly()  # `surefoot … | head` ends with the code of the result


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that nobody reads is an error, instead of waiting for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def _append_summary(text: str) -> None:
    """Append to the summary of the job, where there is one; the verdicts do not depend on it."""
    place = os.environ.get(_SUMMARY)
    if not place:
        return
    try:
        with open(place, "a", encoding="utf-8", opener=_open_at_once) as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(f"the summary {place} cannot be written ({error.strerror or error})\n")
