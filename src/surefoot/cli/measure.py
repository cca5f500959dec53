"""The commands that load a model: check it, plan a run, measure it, gate its release."""

from __future__ import annotations

import json as jsonlib
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import (
    HOLDS,
    close_quietly,
    print_findings,
    prints_to_stderr,
    run_command,
    shell_caller,
)
from surefoot.commands import certify as certify_verb
from surefoot.commands import compare as compare_verb
from surefoot.commands import critical as critical_verb
from surefoot.commands import curve as curve_verb
from surefoot.commands import doctor as doctor_verb
from surefoot.commands import estimate as estimate_verb
from surefoot.commands import plan as plan_verb
from surefoot.commands import tail as tail_verb
from surefoot.commands.run import DEFAULT_FILE, GateOptions
from surefoot.commands.values import Given
from surefoot.system.text import escape_controls

if TYPE_CHECKING:
    from surefoot.study.cost_plan import Plan


@o.options_of(estimate_verb.estimate)
def estimate(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Estimate how often a model fails under random perturbations, with intervals.

    Each input, each class and the population get an estimate with an interval. With --precision
    0.02 trials are spent on the mean alone, and few suffice. If the run is interrupted, the same
    command continues it.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --report report.html
    """
    return run_command(estimate_verb.estimate, model, data, perturb, json=json, **options)


@o.options_of(certify_verb.certify)
def certify(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Decide whether each input fails under at most a share kappa of the perturbations.

    The result counts the inputs that fail more often, those that fail at most so often, and those
    undecided. A requirement gets a verdict: --require all (every one of these inputs),
    --require-these 0.95 (a share of them) or --require 0.95 (a share of the population). Exit code
    0: it holds or there is none, 1: refuted, 2: undecided.

    With --attack a table of accuracy, the share of inputs that withstood an attack, and the robust
    share is printed too.

    Example: surefoot certify model.onnx test.npz --perturb linf:8/255 --kappa 1e-2 --attack
    """
    return run_command(certify_verb.certify, model, data, perturb, json=json, **options)


@o.options_of(tail_verb.tail)
def tail(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Extrapolate the probability of a rare confident mistake (RoMA); without guarantee.

    A normal distribution is fitted to the highest wrong confidence of each trial and evaluated at
    the limit. That is an extrapolation and has no guarantee. The failures that were counted, with
    their interval, are printed next to it; a contradiction is reported. A requirement is about the
    counted mean.

    Example: surefoot tail model.onnx test.npz --perturb linf:8/255 --limit 0.6
    """
    return run_command(tail_verb.tail, model, data, perturb, json=json, **options)


@o.options_of(curve_verb.curve)
def curve(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL... DATA", help="One or more models, then the data."),
    ],
    *,
    perturb: Annotated[
        list[str],
        typer.Option(
            help="Perturbation and range of levels: blur:0..2, rotation:-30..30, fog (up to "
            "severity 5), blur:2+jpeg:0.5 (from none to both). Repeat it for several curves."
        ),
    ],
    json: o.Json = False,
    **options: Given,
) -> int:
    """Measure accuracy against the level, and find where it falls below a threshold.

    Levels are chosen where the curve may cross the threshold. Far from the threshold a part of the
    inputs is enough. The interval holds for the curve as it is between the levels too, under what
    --assume says; the result names it, and says so if the data contradict it. If the perturbation
    is random, the curve is the mean over fresh draws of the noise, unless --fixed-draws is given.

    Example: surefoot curve model.onnx test.npz --perturb blur:0..2 --threshold 0.8
    """
    *models, data = paths
    return run_command(curve_verb.curve, models, data, perturb, json=json, **options)


@o.options_of(critical_verb.critical)
def critical(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL.onnx... DATA", help="One or more ONNX files, then the data."),
    ],
    *,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Bracket the L∞ radius at which each label can change, between proof and counterexample.

    Up to the lower end of a bracket the label is proved constant; at the upper end there is a
    perturbed input that the model gives another label. The result is the radius that a share of the
    inputs does not reach, with an interval for the population. If the run is interrupted, the
    brackets so far are printed, and the same command continues it. Needs pip install
    'surefoot\\[verify]'.

    Example: surefoot critical model.onnx test.npz --first 20 --tolerance 0.002 --quantile 0.05
    """
    _limit_library_threads()
    *models, data = paths
    return run_command(critical_verb.critical, models, data, json=json, **options)


def _limit_library_threads() -> None:
    """One thread for each numerical library: our workers already use the cores.

    The CPU time of further threads would not be counted. Must be set before the libraries load.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@o.options_of(compare_verb.compare)
def compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL MODEL... DATA", help="Two or more models, then the data."),
    ],
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Rank models by how often they fail on the same perturbed inputs, with intervals.

    All models get the same inputs and the same perturbations, so that differences are measured
    input by input. "Not shown to differ" is a possible answer. With --correct-only, only inputs
    that all models classify correctly.

    Example: surefoot compare model.onnx old.onnx test.npz --perturb linf:8/255 --not-worse 0.01
    """
    *models, data = paths
    return run_command(compare_verb.compare, models, data, perturb, json=json, **options)


BAD = 3
"""Not 1: that is for a refuted requirement."""


@o.options_of(doctor_verb.doctor)
def doctor(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: Annotated[
        str | None, typer.Option(help="Also check this perturbation, for example linf:8/255.")
    ] = None,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Check that model and data fit together before a run.

    Exit code 3 if something is wrong.

    Example: surefoot doctor model.onnx test.npz --bounds 0,1
    """
    with prints_to_stderr():
        checkup = doctor_verb.doctor(model, data, perturb, **options)
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in checkup.findings], ensure_ascii=False))
    else:
        print_findings(checkup.findings)
    return BAD if checkup.bad else HOLDS


@o.options_of(plan_verb.plan)
def plan(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Given,
) -> int:
    """Predict how many trials and how much time a run will take.

    The method is simulated with assumed probabilities, and the model is timed on one batch.
    Nothing is stored.

    Example: surefoot plan model.onnx test.npz --perturb linf:8/255 --precision 0.02
    """
    with prints_to_stderr():
        forecast = plan_verb.plan(model, data, perturb, **options)
    if json:
        typer.echo(jsonlib.dumps(asdict(forecast)))
    else:
        _print_plan(forecast)
    return HOLDS


def _print_plan(forecast: Plan) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{forecast.inputs:,} inputs; the model does about {forecast.rate:,.0f} trials per second "
        f"with {forecast.workers} {'worker' if forecast.workers == 1 else 'workers'}.",
        soft_wrap=True,
    )
    table = Table(title="If every input is kept with probability p", title_justify="left")
    reached = "precision reached" if forecast.together else "concluded"
    for name in ("p", "trials per input", "trials in total", "time", reached):
        table.add_column(name, justify="right")
    for r in forecast.rehearsals:
        table.add_row(
            f"{r.p:g}",
            f"{forecast.trials(r) / forecast.inputs:,.{1 if forecast.together else 0}f}",
            f"{forecast.trials(r):,.0f}",
            _duration(forecast.seconds(r)),
            f"{100 * r.decided:.0f} %",
        )
    console.print(table)
    for note in forecast.notes:
        console.print(note, soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


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
    **options: Given,
) -> int:
    """Run the studies of a file and decide their requirements, which share one error.

    One line for each requirement, and one exit code: 3 if a study failed with an error, else 1 if a
    requirement is refuted, else 2 if one is undecided, else 0. All studies are checked before the
    first trial is run; what the store has is not run again.

    Example: surefoot run study.toml --junit junit.xml
    """
    from surefoot.gate.gate import study_lines
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
        _print_lines([] if json else study_lines(outcomes[-1]))
    whole = GateOutcome(gate, tuple(outcomes))
    write_cases(whole.studies, choice)
    _append_summary(whole.step_summary())
    _print_lines([whole.to_json() if json else whole.final_line])
    if choice.evidence is not None:
        written = any(one.evidence for one in outcomes)
        what = f"evidence written to {choice.evidence}" if written else "no evidence was written"
        sys.stderr.write(f"{what}\n")
    if choice.junit is not None:
        sys.stderr.write(f"test cases written to {choice.junit}\n")
    return whole.exit_code


def _print_lines(lines: list[str]) -> None:
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
