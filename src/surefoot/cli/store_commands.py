"""`show`, `report` and `replay`: runs that are in a store."""

from __future__ import annotations

import base64
import io
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import present
from surefoot.cli.store_check import print_check, print_repair
from surefoot.cli.terminal import HOLDS, open_console, print_table, prints_to_stderr
from surefoot.commands.output_files import check_file, check_page_file
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from surefoot.store import RunSummary
    from surefoot.study import Study

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
