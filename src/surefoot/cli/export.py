"""`export`: a stored run in the formats of other people's documents."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from surefoot.cli import options as o
from surefoot.cli.output import say_run
from surefoot.cli.store_commands import LATEST
from surefoot.cli.terminal import HOLDS
from surefoot.commands.output_files import check_text_file
from surefoot.commands.values import as_number, class_shares, share
from surefoot.core.claims import UndecidedAs

if TYPE_CHECKING:
    from surefoot.study import Result


def export(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The first characters of a run's name, latest, or run.evidence.json"
        ),
    ] = LATEST,
    to: Annotated[
        Literal["model-card", "hugging-face", "cyclonedx", "junit", "sentence"],
        typer.Option(
            help="Which document: a Markdown section, model-index, an ML-BOM, tests, or one "
            "sentence for a paper."
        ),
    ] = "model-card",
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write it here (default: print it).")
    ] = None,
    store: o.StoreOption = o.DEFAULT_STORE,
    require: Annotated[
        str | None,
        typer.Option(help="Require this much of the result, as its command does: 0.95, or all."),
    ] = None,
    require_each: Annotated[
        str | None,
        typer.Option(help="Require it of every class: 0.9; or of those named: stop=0.99."),
    ] = None,
    require_these: Annotated[
        str | None, typer.Option(help="Require it of at least this share of these inputs: 0.95.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the model (default: that of its file).")] = "",
    dataset: Annotated[
        str, typer.Option(help="Name of the data (default: that of the file).")
    ] = "",
    dataset_id: Annotated[
        str,
        typer.Option(help="Id of the data on the Hugging Face Hub (default: made of their name)."),
    ] = "",
    task: Annotated[
        str, typer.Option(help="What the model does: image-classification (default: if shown).")
    ] = "",
    benchmark_task: Annotated[
        str, typer.Option(help="Task of a Hub benchmark: write its result (.eval_results).")
    ] = "",
    undecided: Annotated[
        UndecidedAs | None,
        typer.Option(help="What an undecided requirement does in JUnit (default: fail)."),
    ] = None,
) -> int:
    """Write a finished run as a part of another document: its claims, numbers and assumptions.

    Example: surefoot export latest --to model-card -o robustness.md
    """
    from surefoot.report.export.document import format_named
    from surefoot.study.read_store import read_run

    check_text_file(out)
    result = read_run(run, store)
    if require is not None or require_each is not None or require_these is not None:
        result = _with_requirements(result, require, require_each, require_these)
    elif result.verdicts and not format_named(to).verdicts:
        sys.stderr.write(f"what was required of the run is left out: {to} has no place for it\n")
        result = replace(result, verdicts=())
    text = result.export(
        out,
        to,
        name=name,
        dataset=dataset,
        dataset_id=dataset_id,
        task=task,
        benchmark_task=benchmark_task,
        undecided=undecided,
    )
    if out is not None:
        say_run(result)
    typer.echo(text if out is None else out, nl=out is not None)
    return HOLDS


def _with_requirements(
    result: Result, least: str | None, each: str | None, these: str | None
) -> Result:
    """The result with a verdict on each requirement."""
    required: float | Literal["all"] | None = None
    if least is not None:
        required = "all" if least == "all" else as_number("require", least)
    return result.require(
        required,
        of_each_class=None if each is None else class_shares("require_each", each),
        of_these=None if these is None else share("require_these", these),
    )
