"""`surefoot tally` and `surefoot brackets`: what other tools measured."""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import command_line, present, say_files
from surefoot.commands.tally import (
    BracketsOptions,
    TallyOptions,
    run_brackets,
    run_tally,
)


@o.options_of(run_tally)
def tally(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="OUTCOMES...",
            help="results.csv, samples.jsonl (lm-evaluation-harness), log.json or .eval (Inspect), "
            "junit.xml. Several files of the same cases are compared.",
        ),
    ],
    *,
    json: o.Json = False,
    options: TallyOptions,
) -> int:
    """Compute how often cases fail in a test that was run elsewhere, with an interval.

    Reads files of outcomes: pass or fail, 1 or 0, true or false, words or scores whose meaning you
    state, or counts in the columns trials and failures. Columns are chosen by their names unless
    you name them; the result says which. Several trials of one case are one value of the sample.
    Skipped cases are left out and counted.

    Example: surefoot tally outcomes.csv --by topic --require 0.8
    """
    result = run_tally(files, options, command_line())
    say_files(options.figure, options.report)
    return present(result, as_json=json)


@o.options_of(run_brackets)
def brackets(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RESULTS.csv", help="Brackets, one input per row; or VERONA's file."
        ),
    ],
    *,
    json: o.Json = False,
    options: BracketsOptions,
) -> int:
    """Compute quantiles of critical radii from a file of brackets of another tool.

    The file has the columns network, split, image, lower, upper and runtime_s, or those of VERONA's
    results. An empty lower end counts as 0, an empty upper end as never refuted; no row is left
    out. Several networks are compared on the inputs that all of them have.

    Example: surefoot brackets results.csv --split test --quantile 0.05 --figure critical.svg
    """
    result = run_brackets(path, options, command_line())
    say_files(options.figure, options.report)
    return present(result, as_json=json)
