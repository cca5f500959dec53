"""The commands that read a store or a file of evidence.

`show`, `report`, `replay`, `serve`, `export`, `evidence`, `verify` and `key`.
"""

from __future__ import annotations

import base64
import io
import json as jsonlib
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import (
    HOLDS,
    command_line,
    open_console,
    present,
    print_table,
    prints_to_stderr,
    progress_on_stderr,
    say_run,
)
from surefoot.commands import verify as verify_verb
from surefoot.commands.caller import Caller
from surefoot.commands.output_files import check_file, check_page_file, check_text_file
from surefoot.commands.values import Given, as_number, class_shares, share
from surefoot.core.claims import UndecidedAs
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from surefoot.store import RunCheck, RunSummary
    from surefoot.study import Result, Study


SOUND, DAMAGED = 0, 3
_LATEST = "latest"


def print_check(store: str, as_json: bool) -> int:
    """One line for each run, and what to do; the exit code says whether all are sound."""
    from surefoot.store.locations import public_location
    from surefoot.store.outcomes import check_store

    checks, where = check_store(store), public_location(store)
    damaged = [check for check in checks if check.problem]
    if as_json:
        typer.echo(jsonlib.dumps([_fields(check) for check in checks]))
        return DAMAGED if damaged else SOUND
    for check in checks:
        typer.echo(_line(check))
    runs = len([check for check in checks if check.digest])
    typer.echo(f"{where}: {runs} {'run' if runs == 1 else 'runs'}, {len(damaged)} damaged")
    for check in damaged:
        if check.digest:
            typer.echo(_way_out(check, where))
    return DAMAGED if damaged else SOUND


def print_repair(store: str, run: str, as_json: bool) -> int:
    """What was wrong with a run, and what is kept of it."""
    from surefoot.store.outcomes import repair_run

    if run == _LATEST:
        raise InvalidArgument(
            "--repair needs the name of a run: surefoot show --check lists those that are damaged"
        )
    check = repair_run(store, run)
    if as_json:
        typer.echo(jsonlib.dumps(_fields(check)))
    elif not check.problem:
        typer.echo(f"{_line(check)}: nothing to repair")
    elif check.readable:
        typer.echo(
            f"run {check.digest[:12]} keeps {check.sound:,} of {check.rows:,} rows: the command "
            "that began it goes on from them"
        )
    else:
        typer.echo(f"run {check.digest[:12]} is removed: the command that began it starts afresh")
    return SOUND


def _fields(check: RunCheck) -> dict[str, str | int | bool]:
    """As JSON, with the key that `--list` has for the run's name."""
    fields = asdict(check)
    return {"run": fields.pop("digest"), **fields}


def _line(check: RunCheck) -> str:
    if check.problem:
        return f"damaged: {check.problem}"
    return f"run {check.digest[:12]} is sound: {check.rows:,} rows"


def _way_out(check: RunCheck, where: str) -> str:
    kept = (
        f"keeps the {check.sound:,} rows before the damage, and the command that began it goes on"
        if check.readable
        else "removes it"
    )
    return f"surefoot show {check.digest[:12]} --repair --store {where} {kept}"


LATEST = "latest"
RunArg = Annotated[
    str, typer.Argument(metavar="RUN", help="The first characters of a run's name, or latest.")
]


def show(
    run: RunArg = LATEST,
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    every: Annotated[bool, typer.Option("--list", help="List all runs of the store.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check all runs of the store; exit code 3: damaged.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Keep the sound rows of a damaged run, drop its record; name the run.",
        ),
    ] = False,
) -> int:
    """Print a finished run again, list the runs in a store, or check them.

    Example: surefoot show --list --store surefoot.db
    """
    chosen = [n for n, on in (("list", every), ("check", check), ("repair", repair)) if on]
    if len(chosen) > 1:
        raise InvalidArgument(f"--{chosen[0]} and --{chosen[1]} exclude each other: use one")
    if run != LATEST and (every or check):
        raise InvalidArgument(f"--{chosen[0]} is about all runs: leave out {run}")
    if check:
        return print_check(store, json)
    if repair:
        return print_repair(store, run, json)
    if every:
        _list(store, json)
        return HOLDS
    from surefoot.study.read_store import read_result

    present(read_result(store, run), as_json=json)
    return HOLDS


def report(
    run: RunArg = LATEST,
    store: o.StoreOption = o.DEFAULT_STORE,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Write the HTML report here.")
    ] = "report.html",
) -> int:
    """Write the HTML report of a finished run.

    Example: surefoot report latest --out report.html
    """
    from surefoot.study.read_store import read_result

    check_page_file("out", out)
    read_result(store, run).report(out)
    typer.echo(out)
    return HOLDS


def replay(
    run: RunArg,
    subject: Annotated[str, typer.Argument(metavar="INPUT", help="The id of an input.")],
    trial: Annotated[int, typer.Argument(metavar="TRIAL", help="The number of a trial.")],
    store: o.StoreOption = o.DEFAULT_STORE,
    save: Annotated[
        str | None,
        typer.Option(help="Write the perturbed input here: .png or .npy; any file for items."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run the code, or ask the server, that the stored run names."),
    ] = False,
    json: o.Json = False,
) -> int:
    """Repeat one trial of a stored run: the same perturbation, the same prediction.

    Example: surefoot replay latest 17 42 --save perturbed.png
    """
    from surefoot.study.read_store import read_study
    from surefoot.subject.items import item_change

    check_file(save)
    with prints_to_stderr():
        study = read_study(store, run, trust=trust)
        repeated = study.replay(subject, trial)
    if save is not None:
        _save(Path(save), study, repeated.perturbed)
    answer = {
        "input": subject,
        "trial": trial,
        "clean": _output_words(study, repeated.clean_label, repeated.clean_output),
        "perturbed": _output_words(study, repeated.label, repeated.output),
        "severity": repeated.severity,
        "kept": repeated.kept,
    }
    words = item_change(repeated.clean, repeated.perturbed) if study.fitted.holds_items else None
    if words is not None:
        answer |= {"before": words.before, "after": words.after}
    if json:
        typer.echo(jsonlib.dumps(answer, ensure_ascii=False))
    else:
        typer.echo(
            f"Input {subject}, trial {trial}: clean {answer['clean']}, perturbed "
            f"{answer['perturbed']}: {'kept' if repeated.kept else 'failed'} "
            f"(severity {repeated.severity:.4g}: a trial fails at {study.property.limit:g} or "
            "above)."
        )
        if words is not None and words.before:
            typer.echo(f"before: {words.before}\nafter: {words.after}")
    return HOLDS


def _output_words(study: Study, label: int | None, output: object) -> str:
    """The class of an output, or the output itself where the model has no classes."""
    prop: Any = study.property
    return prop.words(output) if label is None else study.fitted.class_name(label)


def _list(store: str, as_json: bool) -> None:
    from surefoot.store.locations import public_location
    from surefoot.store.outcomes import runs as runs_of

    runs, store = runs_of(store), public_location(store)
    if as_json:
        lines = [
            {
                "run": r.digest,
                "started": r.started,
                "finished": r.finished and not r.stopped,
                "stopped": r.stopped,
                "trials": r.trials,
                "last_write": r.last_write,
                "model": "" if r.source is None else r.source.model,
                "command": _command(r),
            }
            for r in runs
        ]
        typer.echo(jsonlib.dumps(lines))
        return
    if not runs:
        typer.echo(f"{store} has no runs yet")
        return
    from surefoot.report.tables import Table

    headings = (
        "run",
        "started",
        "last write",
        "state",
        "command",
        "model",
        "data",
        "method",
        "perturbation",
        "trials",
    )
    rows = tuple(_row(r) for r in runs)
    print_table(open_console(), Table(f"Runs in {store}", headings, rows, len(headings) - 1))


def _row(run: RunSummary) -> tuple[str, ...]:
    from surefoot.report.formatting import file_name

    words = run.spec.words
    return (
        run.digest[:12],
        run.started[:16].replace("T", " "),
        run.last_write[:19].replace("T", " "),
        _state(run),
        _command_word(run),
        "(in Python)" if run.source is None else file_name(run.source.model),
        words.source,
        run.spec.method.kind,
        (run.source.perturb if run.source else "") or words.perturbation,
        f"{run.trials:,}",
    )


def _state(run: RunSummary) -> str:
    if run.stopped:
        return "stopped by the time limit"
    return "finished" if run.finished else "unfinished"


def _command(run: RunSummary) -> str:
    return "" if run.source is None else run.source.command


def _command_word(run: RunSummary) -> str:
    """The name of the command: estimate, certify and so on; empty where Python called it."""
    words = _command(run).split()
    return words[1] if len(words) > 1 else ""


def _save(path: Path, study: Study, x: object) -> None:
    import numpy as np

    from surefoot.core.results import Interval
    from surefoot.engine.examples import png

    try:
        if study.fitted.holds_items:
            _save_item(path, x)
            return
        array = np.asarray(x)
        if path.suffix == ".npy":
            file = io.BytesIO()
            np.save(file, array)
            write_whole(path, file.getvalue())
        elif not study.fitted.frame:
            raise InvalidArgument("these inputs are not images: save them as .npy")
        else:
            values = study.model.signature.bounds or Interval(
                float(array.min()), float(array.max())
            )
            write_whole(path, base64.b64decode(png(array, study.fitted.frame, values)))
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error


def _save_item(path: Path, item: object) -> None:
    """A text or bytes as they are, a Pillow image in the format of the file's name."""
    save = getattr(item, "save", None)
    if isinstance(item, str):
        write_whole(path, item.encode("utf-8", "surrogatepass"))
    elif isinstance(item, bytes | bytearray):
        write_whole(path, bytes(item))
    elif save is not None:
        try:
            save(path)
        except ValueError as error:
            raise InvalidArgument(f"{path}: {error}: write it as perturbed.png") from error
    else:
        raise InvalidArgument(
            f"an item that is {type(item).__name__} has no file format: use study.replay in Python"
        )


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


_MEMORY_BYTES = 2 * 2**30
"""That a check may take: 100,000 inputs take less, and a file of a stranger shall not take all."""
_CHECK_SECONDS = 600.0
"""For all of a check with model and data, where no limit is given."""


def evidence(
    run: RunArg = LATEST,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Write the evidence here.")
    ] = "run.evidence.json",
    store: o.StoreOption = o.DEFAULT_STORE,
    key: Annotated[
        str | None, typer.Option(help="Private key that signs the file (surefoot key new).")
    ] = None,
) -> int:
    """Write the evidence of a finished run, for a second party without model and data.

    The file holds the study, every claim, every input's result and the journal, as an in-toto
    statement. Check it with surefoot verify.

    Example: surefoot evidence latest -o run.evidence.json
    """
    from surefoot.evidence.write import write_evidence
    from surefoot.study.read_store import read_result

    check_text_file(out)
    result = read_result(store, run)
    write_evidence(result.record.digest, out, store=store, key=key)
    say_run(result)
    typer.echo(out if key is not None else f"{out} (unsigned; --key key.pem signs it)")
    return HOLDS


@o.options_of(verify_verb.check_evidence)
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The evidence of a run.")],
    *,
    key: Annotated[
        str | None, typer.Option(help="Public key that must have signed the file.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Also run trials again, with this model; of a comparison --model A --model B.",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="The data for that, as in the run.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Give up after so long, exit code 2 (default: 30, and 100 more for each MB).",
        ),
    ] = None,
    json: o.Json = False,
    **options: Given,
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
    rerun, inputs, models = options["rerun"], options["inputs"], model or None
    verify_verb.check_rerun(models, data, rerun, inputs)
    begun = time.monotonic()
    with memory_limit(_MEMORY_BYTES):
        check, evidence = read_and_check(file, key, time_limit=time_limit)
    left = max(begun + (time_limit or _CHECK_SECONDS) - time.monotonic(), 1.0)
    caller = Caller(command_line(), progress_on_stderr, announce=_say)
    with prints_to_stderr():
        check = verify_verb.run_again(check, evidence, models, data, left, rerun, inputs, caller)
    typer.echo(check.to_json() if json else str(check))
    return check.exit_code


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def key(
    action: Annotated[Literal["new"], typer.Argument(metavar="new", help="Make a new key.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Write the private key here, the public as .pub.")
    ] = "key.pem",
) -> int:
    """Make a key that signs evidence (Ed25519): a private file for you, a public one for others.

    Example: surefoot key new -o key.pem
    """
    del action  # there is only one
    from surefoot.evidence.envelope import key_id, new_key, read_public_key

    check_file(out)
    public = new_key(out)
    name = key_id(read_public_key(public))[:16]
    typer.echo(f"{out} signs; keep it to yourself\n{public} checks; publish it (key {name})")
    return HOLDS


_HOST, _PORT = "127.0.0.1", 8420


def serve(
    store: Annotated[
        list[str] | None,
        typer.Option("--store", help="File or postgresql:// URL with runs; may be repeated."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine needs a token.")
    ] = _HOST,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free one.")] = _PORT,
    token_env: Annotated[
        str | None,
        typer.Option(
            "--token-env", help="Environment variable with the token that readers must give."
        ),
    ] = None,
    replay: Annotated[
        list[str] | None,
        typer.Option(
            "--replay",
            help="Let readers replay trials of runs whose model and data are in this folder; may "
            "be repeated.",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="With --replay: run code, ask servers that a run names."),
    ] = False,
) -> int:
    """Show the runs of one or several stores in a browser: list, live progress, reports, inputs.

    Stores are only read. Ctrl-C ends it.

    Example: surefoot serve --store surefoot.db
    """
    from surefoot.serve.server import Server
    from surefoot.serve.settings import Settings, token_from

    settings = Settings(
        tuple(store or [o.DEFAULT_STORE]),
        host,
        port,
        token_from(token_env),
        tuple(Path(folder) for folder in replay or ()),
        trust,
    )
    server = Server(settings)
    server.start()
    typer.echo(f"{server.address} shows {_stores_in_words(settings.stores)}; Ctrl-C ends it")
    server.wait()
    typer.echo("the dashboard has ended")
    return HOLDS


def _stores_in_words(stores: tuple[str, ...]) -> str:
    from surefoot.store.locations import public_location

    return public_location(stores[0]) if len(stores) == 1 else f"{len(stores)} stores"
