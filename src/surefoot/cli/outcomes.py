"""`surefoot tally` and `surefoot brackets`: what other tools measured."""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import command_line, present, say_files
from surefoot.commands.options import ESTIMATOR, RunOptions
from surefoot.commands.output_files import check_figure_file, check_page_file
from surefoot.commands.values import as_number, as_numbers, error_from, share

_Files = Annotated[
    list[str],
    typer.Argument(
        metavar="OUTCOMES...",
        help="results.csv, samples.jsonl (lm-evaluation-harness), log.json or .eval (Inspect), "
        "junit.xml. Several files of the same cases are compared.",
    ),
]
_Case = Annotated[
    str | None,
    typer.Option(help="Column that names the case; none: every row is a case of its own."),
]
_Outcome = Annotated[
    str | None, typer.Option(help="Column, metric or scorer of the outcome: passed, acc, match.")
]
_OneMeans = Annotated[
    str | None,
    typer.Option(
        metavar="pass|fail",
        help="What a 1 is in a column whose name does not say it: pass or fail.",
    ),
]
_Means = Annotated[
    str | None,
    typer.Option(
        help="What words mean, pass, fail or skip: refused=fail,answered=pass.",
    ),
]
_PassesAt = Annotated[
    str | None, typer.Option(help="Scores from this number on pass, those below it fail: 0.5.")
]
_FailsAt = Annotated[
    str | None, typer.Option(help="Scores from this number on fail, those below it pass: 0.2.")
]
_By = Annotated[str | None, typer.Option(help="Also a claim about each class in this column.")]
_Group = Annotated[
    str | None,
    typer.Option(
        help="Column that names the group of each case, such as a patient. Then groups are the "
        "sample."
    ),
]
_Require = Annotated[
    str | None, typer.Option(help="Require that at least this share of such cases pass: 0.95.")
]
_RequireEach = Annotated[
    str | None,
    typer.Option(
        help="Require the same of every class: 0.9; or of the classes named: maths=0.9,law=0.8."
    ),
]
_NotWorse = Annotated[
    str | None,
    typer.Option(
        help="Require that cases of the first file fail at most this much more often than those "
        "of each other: 0.02."
    ),
]
_Figure = Annotated[
    str | None, typer.Option(help="Write the figure here: tally.svg, .png or .json.")
]


def tally(
    files: _Files,
    case: _Case = None,
    outcome: _Outcome = None,
    one_means: _OneMeans = None,
    means: _Means = None,
    passes_at: _PassesAt = None,
    fails_at: _FailsAt = None,
    by: _By = None,
    group: _Group = None,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    require: _Require = None,
    require_each: _RequireEach = None,
    not_worse: _NotWorse = None,
    figure: _Figure = None,
    report: o.ReportOption = None,
    json: o.Json = False,
) -> int:
    """Compute how often cases fail in a test that was run elsewhere, with an interval.

    Reads files of outcomes: pass or fail, 1 or 0, true or false, words or scores whose meaning you
    state, or counts in the columns trials and failures. Columns are chosen by their names unless
    you name them; the result says which. Several trials of one case are one value of the sample.
    Skipped cases are left out and counted.

    Example: surefoot tally outcomes.csv --by topic --require 0.8
    """
    from surefoot.commands.tally import tally as tally_of

    check_page_file("report", report)
    check_figure_file(figure)
    result = tally_of(
        *files,
        case=case,
        outcome=outcome,
        one_means=one_means,
        means=means,
        passes_at=passes_at,
        fails_at=fails_at,
        by=by,
        group=group,
        confidence=confidence,
        require=require,
        require_each=require_each,
        not_worse=not_worse,
    )
    result = result.repeated_by(command_line())
    if figure is not None:
        result.plot(figure)
    if report is not None:
        result.report(report)
    say_files(figure, report)
    return present(result, as_json=json)


def brackets(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RESULTS.csv", help="Brackets, one input per row; or VERONA's file."
        ),
    ],
    networks: Annotated[
        str | None, typer.Option(help="Only these networks, comma-separated, in this order.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only rows of this split: test.")] = None,
    source: Annotated[str | None, typer.Option(help="Only rows of this source.")] = None,
    quantile: o.QuantileOption = "0.05",
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    at: Annotated[
        str | None, typer.Option(help="Also the robust accuracy at these radii: 0.01,8/255.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Also a quantile of each split, label or training (columns of the file)."
        ),
    ] = None,
    ceiling: Annotated[
        str | None,
        typer.Option(help="The largest radius that counts, for the mean of the population: 0.4."),
    ] = None,
    estimator: o.EstimatorOption = ESTIMATOR,
    gamma: o.GammaOption = None,
    require: o.RadiusOption = None,
    figure: o.RadiiFigure = None,
    report: o.ReportOption = None,
    json: o.Json = False,
) -> int:
    """Compute quantiles of critical radii from a file of brackets of another tool.

    The file has the columns network, split, image, lower, upper and runtime_s, or those of VERONA's
    results. An empty lower end counts as 0, an empty upper end as never refuted; no row is left
    out. Several networks are compared on the inputs that all of them have.

    Example: surefoot brackets results.csv --split test --quantile 0.05 --figure critical.svg
    """
    from surefoot.study.external import brackets as read_brackets

    running = RunOptions(report=report)
    running.check()
    check_figure_file(figure)
    result = read_brackets(
        path,
        networks=tuple(networks.split(",")) if networks else (),
        split=split,
        source=source,
        quantile=share("quantile", quantile),
        error=error_from(confidence),
        at=() if at is None else as_numbers("at", at),
        by=by,
        ceiling=None if ceiling is None else as_number("ceiling", ceiling),
        estimator=estimator,
        gamma=None if gamma is None else as_number("gamma", gamma),
    )
    if require is not None:
        result = result.require(as_number("require", require))
    result = running.write(result, command_line(), figure)
    say_files(figure, report)
    return present(result, as_json=json)
