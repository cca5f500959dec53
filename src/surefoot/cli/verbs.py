"""The commands: the help of each, and what a shell adds to its function."""

from __future__ import annotations

import functools
import json as jsonlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import terminal
from surefoot.cli.interrupts import signal_was_answered
from surefoot.cli.parsing import ShellFunction, options_of
from surefoot.commands import certify as certify_verb
from surefoot.commands import compare as compare_verb
from surefoot.commands import critical as critical_verb
from surefoot.commands import curve as curve_verb
from surefoot.commands import demo as demo_verb
from surefoot.commands import estimate as estimate_verb
from surefoot.commands import init as init_verb
from surefoot.commands import perturb as perturb_verb
from surefoot.commands import plan as plan_verb
from surefoot.commands import smooth as smooth_verb
from surefoot.commands import stored
from surefoot.commands import suite as suite_verb
from surefoot.commands import tail as tail_verb
from surefoot.commands import tally as tally_verb
from surefoot.commands import verify as verify_verb
from surefoot.commands.caller import Answer
from surefoot.commands.demo import STEPS, DemoOptions
from surefoot.commands.options import STORE
from surefoot.commands.run import DEFAULT_FILE, GateOptions
from surefoot.commands.stored import ServeOptions
from surefoot.commands.values import Given
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions, Option
from surefoot.system.text import escape_controls

if TYPE_CHECKING:
    from surefoot.study import Result

_HOLDS, _BAD = 0, 3
"""Exit codes: of what was done, and of a check that found a fault; 1 is a refuted requirement."""


def _prints(
    function: Callable[..., Result | Answer], *, json: bool = True, explain: bool = False
) -> Callable[[Callable[[], None]], ShellFunction]:
    """A decorator: the command runs the function and prints what it returns.

    What is decorated is its help alone, a docstring. `explain`: a result may be printed at length.
    """

    def command_of(text: Callable[[], None]) -> ShellFunction:
        @options_of(function, json=json, explain=explain)
        @functools.wraps(text)
        def command(json: bool = False, explain: bool = False, **given: Given) -> int:
            return terminal.run_command(function, json=json, explain=explain, **given)

        return command

    return command_of


@_prints(estimate_verb.estimate, explain=True)
def estimate() -> None:
    """Estimate how accurate a model is under random perturbations, with an interval.

    The mean over these inputs to ± 0.02, with few trials. For single inputs and classes
    take --each 0.02. Without labels: how often it keeps the label of the clean input. If the run
    is interrupted, the same command continues it.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --report report.html
    """


@_prints(suite_verb.suite, explain=True)
def suite() -> None:
    """Measure accuracy under many perturbations and levels: one table, one shared error.

    Without --suite the one that suits the data: the fifteen corruptions of ImageNet-C at five
    severities for images. Each cell has an interval; all of them and their mean hold together. If
    the run is interrupted, the same command continues it.

    Example: surefoot suite model.onnx test.npz --suite weather --report suite.html
    """


@_prints(certify_verb.certify, explain=True)
def certify() -> None:
    """Decide whether each input is wrong under at most a share kappa of the perturbations.

    The result counts the inputs that fail more often, those that fail at most so often, and those
    undecided. A requirement gets a verdict: --require all (every one of these inputs),
    --require-these 0.95 (a share of them) or --require 0.95 (a share of the population). Exit code
    0: it holds or there is none, 1: refuted, 2: undecided.

    With --attack a table of accuracy, the share of inputs that withstood an attack, and the robust
    share is printed too.

    Example: surefoot certify model.onnx test.npz --perturb linf:8/255 --kappa 1e-2 --attack
    """


@_prints(tail_verb.tail, explain=True)
def tail() -> None:
    """How rare is a confident mistake? Extrapolated (RoMA), or searched for by splitting.

    A normal distribution is fitted to the highest wrong confidence of each trial and evaluated at
    the limit. That is an extrapolation and has no guarantee. The failures that were counted, with
    their interval, are printed next to it; a contradiction is reported. A requirement is about the
    counted mean.

    With --method splitting failures that a million trials do not show are searched for:
    perturbations are moved step by step to where the model fails. The number of moves gives their
    probability, with an interval that holds if every kind of failure was reached.

    Example: surefoot tail model.onnx test.npz --perturb linf:8/255 --limit 0.6
    """


@_prints(smooth_verb.smooth, explain=True)
def smooth() -> None:
    """Certify a vote over noise (randomised smoothing): no input nearby has another class.

    For networks of any size, behind any interface. With --radius each input is certified up to
    that L2 distance, or not shown to be; most take few hundred trials. Without, the distance of
    each is measured. The result is about the smoothed model, sf.Smoothed in Python, not about the
    model itself.

    Example: surefoot smooth model.onnx test.npz --sigma 0.25 --radius 0.25
    """


@_prints(curve_verb.curve, explain=True)
def curve() -> None:
    """Measure accuracy against the level, and find where it falls below a threshold.

    Levels are chosen where the curve may cross the threshold. Far from the threshold a part of the
    inputs is enough. The interval holds for the curve as it is between the levels too, under what
    --assume says; the result names it, and says so if the data contradict it. If the perturbation
    is random, the curve is the mean over fresh draws of the noise, unless --fixed-draws is given.

    Example: surefoot curve model.onnx test.npz --perturb blur:0..2 --threshold 0.8
    """


@options_of(critical_verb.critical, explain=True)
def critical(*, json: bool, explain: bool, **given: Given) -> int:
    """Bracket the radius at which each label can change, between proof and counterexample.

    Up to the lower end of a bracket the label is proved constant; at the upper end there is a
    perturbed input that the model gives another label. The result is the radius that a share of the
    inputs does not reach, with an interval for the population. If the run is interrupted, the
    brackets so far are printed, and the same command continues it. Needs pip install
    'surefoot\\[verify]'.

    Example: surefoot critical model.onnx test.npz --first 20 --tolerance 0.002 --quantile 0.05
    """
    # One thread for each numerical library: our workers already use the cores, and the CPU time of
    # further threads would not be counted. Must be set before the libraries load.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    return terminal.run_command(critical_verb.critical, json=json, explain=explain, **given)


@_prints(compare_verb.compare, explain=True)
def compare() -> None:
    """Rank models by their accuracy on the same perturbed inputs, with intervals.

    All models get the same inputs and the same perturbations, so that differences are measured
    input by input. "Not shown to differ" is a possible answer. With --correct-only, only inputs
    that all models classify correctly.

    Example: surefoot compare model.onnx old.onnx test.npz --perturb linf:8/255 --not-worse 0.01
    """


@options_of(plan_verb.doctor, explain=True)
def doctor(*, json: bool, explain: bool, **given: Given) -> int:
    """Check that model and data fit together before a run.

    Exit code 3 if something is wrong.

    Example: surefoot doctor model.onnx test.npz --bounds 0,1
    """
    with terminal.prints_to_stderr():
        checkup = plan_verb.doctor(**given)
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in checkup.findings], ensure_ascii=False))
    else:
        terminal.print_findings(checkup.findings, explain=explain)
    return _BAD if checkup.bad else _HOLDS


@options_of(init_verb.init, explain=True)
def init(*, json: bool, explain: bool, **given: Given) -> int:
    """Check model and data, then write a study file to begin with, and a workflow for CI.

    surefoot.toml runs as it is (surefoot run); perturbation, property and requirement are chosen by
    the kind of data and the clean accuracy. Exit code 3 if a check is bad: then nothing is written.

    Example: surefoot init model.onnx test.npz
    """
    with terminal.prints_to_stderr():
        start = init_verb.init(**given)
    if json:
        found = [asdict(f) for f in start.checkup.findings]
        files = [str(file) for file in start.files]
        typer.echo(jsonlib.dumps({"files": files, "findings": found}, ensure_ascii=False))
    else:
        terminal.print_findings(start.checkup.findings, explain=explain)
        typer.echo("\n".join(map(escape_controls, start.lines)))
    return _BAD if start.checkup.bad else _HOLDS


@options_of(plan_verb.plan)
def plan(*, json: bool, **given: Given) -> int:
    """Predict how many trials and how much time a run will take.

    The method is simulated with assumed probabilities, and the model is timed on one batch.
    Nothing is stored.

    Example: surefoot plan model.onnx test.npz --perturb linf:8/255 --precision 0.02
    """
    with terminal.prints_to_stderr():
        forecast = plan_verb.plan(**given)
    typer.echo(jsonlib.dumps(asdict(forecast)) if json else str(forecast))
    return _HOLDS


_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The file whose Markdown GitHub shows beside a job."""


_StudyFile = Annotated[str, Option("The study file, in TOML.", metavar="FILE", argument=True)]


@options_of()
def run(file: _StudyFile = DEFAULT_FILE, *, choice: GateOptions, json: bool) -> int:
    """Run the studies of a file and decide their requirements, which share one error.

    One line for each requirement, and one exit code: 3 if a study failed with an error, else 1 if a
    requirement is refuted, else 2 if one is undecided, else 0. All studies are checked before the
    first trial is run; what the store has is not run again.

    Example: surefoot run study.toml --junit junit.xml
    """
    from surefoot.gate.check_study import each_outcome, open_gate, write_cases
    from surefoot.gate.gate import GateOutcome, study_lines

    caller = terminal.shell_caller(as_json=json)
    # Study by study, so that a verdict is printed as soon as it is known: the next may take hours.
    with terminal.prints_to_stderr():
        gate, chosen = open_gate(file, choice)
    outcomes = []
    each = each_outcome(gate, chosen, choice, caller)
    for _ in chosen:
        with terminal.prints_to_stderr():
            outcomes.append(next(each))
        _print_lines([] if json else study_lines(outcomes[-1]))
    whole = GateOutcome(gate, tuple(outcomes))
    write_cases(whole.studies, choice)
    _append_summary(whole.step_summary())
    _print_lines([whole.to_json() if json else whole.final_line])
    if choice.evidence is not None:
        written = any(one.evidence for one in outcomes)
        what = f"evidence written to {choice.evidence}" if written else "no evidence was written"
        terminal.say(what)
    if choice.junit is not None:
        terminal.say(f"test cases written to {choice.junit}")
    return whole.exit_code


def _print_lines(lines: list[str]) -> None:
    try:
        for line in lines:
            typer.echo(escape_controls(line))
        sys.stdout.flush()
    except BrokenPipeError:
        terminal.close_quietly()  # `surefoot … | head` ends with the code of the result


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


@options_of(stored.show, explain=True)
def show(*, json: bool, explain: bool, **given: Given) -> int:
    """Print a finished run again, list the runs in a store, or check them.

    Example: surefoot show --list --store surefoot.db
    """
    answer = stored.show(**given)
    if isinstance(answer, Answer):
        return terminal.print_answer(answer, as_json=json)
    terminal.present(answer, as_json=json, explain=explain)
    return _HOLDS  # whatever was required when it was run


@_prints(stored.report, json=False)
def report() -> None:
    """Write the HTML report of a finished run.

    Example: surefoot report latest --out report.html
    """


@_prints(stored.replay)
def replay() -> None:
    """Repeat one trial of a stored run: the same perturbation, the same prediction.

    Example: surefoot replay latest 17 42 --save perturbed.png
    """


@_prints(stored.export, json=False)
def export() -> None:
    """Write a finished run as a part of another document: its claims, numbers and assumptions.

    Example: surefoot export latest --to model-card -o robustness.md
    """


@_prints(verify_verb.evidence, json=False)
def evidence() -> None:
    """Write the evidence of a finished run, for a second party without model and data.

    The file holds the study, every claim, every input's result and the journal, as an in-toto
    statement. Check it with surefoot verify.

    Example: surefoot evidence latest -o run.evidence.json
    """


_MEMORY_BYTES = 2 * 2**30
"""That a check may take: 100,000 inputs take less, and a file of a stranger shall not take all."""
_CHECK_SECONDS = 600.0
"""For all of a check with model and data, where no limit is given."""


@options_of(verify_verb.check_evidence, explain=True)
def verify(
    *,
    path: str,
    key: str | None,
    model: list[str] | None,
    data: str | None,
    time_limit: float | None,
    rerun: verify_verb.RerunOptions,
    inputs: FileOptions,
    json: bool,
    explain: bool,
) -> int:
    """Check the evidence of a run, without model and data or with both.

    Checks the signature, replays the journal through the method and recomputes every claim. With
    --model and --data, also compares their digests with the file, draws trials at random and runs
    them again; inputs of an attack beside them are attacked again. Exit codes: 0 all claims follow
    and all trials came out alike, 1 something does not, 2 something was not recomputed or not run
    again, 3 an error.

    Example: surefoot verify run.evidence.json
    """
    from surefoot.evidence.check import read_and_check
    from surefoot.evidence.within_limits import memory_limit

    if time_limit is not None and not time_limit > 0:
        raise InvalidArgument(f"--time-limit must be above 0 seconds, got {time_limit:g}: try 600")
    request = verify_verb.requested_rerun(model or None, data, rerun, inputs)
    begun = time.monotonic()
    with memory_limit(_MEMORY_BYTES):
        check, evidence = read_and_check(path, key, time_limit=time_limit)
    left = max(begun + (time_limit or _CHECK_SECONDS) - time.monotonic(), 1.0)
    with terminal.prints_to_stderr():
        check = verify_verb.run_again(check, evidence, request, left, terminal.shell_caller())
    typer.echo(check.to_json() if json else check.explain() if explain else str(check))
    return check.exit_code


@_prints(verify_verb.key, json=False)
def key() -> None:
    """Make a key that signs evidence (Ed25519): a private file for you, a public one for others.

    Example: surefoot key new -o key.pem
    """


@options_of(json=False)
def serve(*, options: ServeOptions) -> int:
    """Show the runs of one or several stores in a browser: list, live progress, reports, inputs.

    Stores are only read. Ctrl-C ends it.

    Example: surefoot serve --store surefoot.db
    """
    from surefoot.serve.server import Server
    from surefoot.serve.settings import Settings, new_token, token_from
    from surefoot.store.locations import public_location

    if options.no_token and options.token_env is not None:
        raise InvalidArgument(
            f"--no-token and --token-env {options.token_env} exclude each other: leave one out"
        )
    made = new_token() if options.token_env is None and not options.no_token else None
    settings = Settings(
        tuple(options.store or [STORE]),
        options.host,
        options.port,
        made if options.token_env is None else token_from(options.token_env),
        tuple(Path(folder) for folder in options.replay or ()),
        options.trust,
    )
    server = Server(settings)
    stores = settings.stores
    shown = public_location(stores[0]) if len(stores) == 1 else f"{len(stores)} stores"
    link = server.address if made is None else f"{server.address}?token={made}"
    server.run(lambda: typer.echo(f"{link} shows {shown}; Ctrl-C ends it"))
    signal_was_answered()
    typer.echo("the dashboard has ended")
    return _HOLDS


@_prints(tally_verb.run_tally, explain=True)
def tally() -> None:
    """Compute how often cases fail in a test that was run elsewhere, with an interval.

    Reads files of outcomes: pass or fail, 1 or 0, true or false, words or scores whose meaning you
    state, or counts in the columns trials and failures. Columns are chosen by their names unless
    you name them; the result says which. Several trials of one case are one value of the sample.
    Skipped cases are left out and counted.

    Example: surefoot tally outcomes.csv --by topic --require 0.8
    """


@_prints(tally_verb.run_brackets, explain=True)
def brackets() -> None:
    """Compute quantiles of critical radii from a file of brackets of another tool.

    The file has the columns network, split, image, lower, upper and runtime_s, or those of VERONA's
    results. An empty lower end counts as 0, an empty upper end as never refuted; no row is left
    out. Several networks are compared on the inputs that all of them have.

    Example: surefoot brackets results.csv --split test --quantile 0.05 --figure critical.svg
    """


@_prints(perturb_verb.perturb)
def perturb() -> None:
    """List all perturbations, explain one, or show it on an image.

    Without arguments: the list. With a name: its definition. With a name and an image: a contact
    sheet, one column per level and one row per sample; without a level it shows the published
    severities 1 to 5.

    Example: surefoot perturb rotation:30 test.npz --sheet sheet.png
    """


@options_of(plan_verb.design)
def design(*, json: bool, **given: Given) -> int:
    """Show when an estimate of a given width stops, what is proved about it, and what it costs.

    This is the design of the method exact-sequential. Common designs come with the package; any
    other one is computed and proved now, and stored. That takes seconds, or minutes for a width
    below 0.002.

    Example: surefoot design --width 0.02 --confidence 0.99 --figure design.svg
    """
    from rich.console import Console

    with Console(stderr=True).status("computing the design and proving it"):
        answer = plan_verb.design(**given, caller=terminal.shell_caller())
    return terminal.print_answer(answer, as_json=json, console=Console(highlight=False))


@options_of()
def demo(*, options: DemoOptions, json: bool) -> int:
    """Run every method on an example that comes with the package, and write report.html.

    Two small Fashion-MNIST networks: how often do they fail under random noise, up to which blur
    are they right, and up to which size can no perturbation change a label? It takes about half a
    minute.

    Example: surefoot demo --out .
    """
    if options.files is not None and (options.only is not None or json):
        raise InvalidArgument("--files only copies files: leave out --only and --json")
    folder, caller = options.folder(), terminal.shell_caller()
    if options.files is not None:
        return terminal.print_answer(demo_verb.copy_files(folder))
    report, store = str(folder / "report.html"), str(folder / STORE)
    if options.only is not None:
        step = STEPS[options.only]
        terminal.say(step.question)
        result = step.run(store, caller, report)
        terminal.say_what_is_from_store(result, store)
        terminal.say_files(report=report)
        code = terminal.present(result, as_json=json, store=store)
        terminal.say(f"open {report} in a browser")
        return code
    results = demo_verb.run_steps(store, report, caller)
    if json:
        typer.echo(jsonlib.dumps({n: jsonlib.loads(r.to_json()) for n, r in results.items()}))
    else:
        console = terminal.open_console()
        for name, result in results.items():
            console.print(f"{name}: {STEPS[name].question}", style="bold", markup=False)
            for line in result.view.headings:
                console.print(f"{line}\n", markup=False)
    terminal.say(f"open {report} in a browser; evidence in {store}")
    return _HOLDS
