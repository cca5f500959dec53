"""`show`, `report` and `replay`: what a store knows."""

from __future__ import annotations

import base64
import json as jsonlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.output import present
from surefoot.cli.terminal import HOLDS
from surefoot.errors import InvalidArgument, ReportFailed, StoreFailed

if TYPE_CHECKING:
    from surefoot.store.records import Record
    from surefoot.study import Result, Study

RunArg = Annotated[
    str,
    typer.Argument(metavar="[RUN]", help="The beginning of a run's name; the latest if left out."),
]


def show(
    run: RunArg = "",
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    every: Annotated[bool, typer.Option("--list", help="List all runs.")] = False,
) -> int:
    """Print a finished run again, or list the runs of a store.

    Example: surefoot show --list --store surefoot.db
    """
    if every:
        _list(store, json)
        return HOLDS
    present(_result(store, run), as_json=json)
    return HOLDS


def report(
    run: RunArg = "",
    store: o.StoreOption = o.DEFAULT_STORE,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Where to write the page.")
    ] = "report.html",
) -> int:
    """Write the page of a finished run.

    Example: surefoot report --store surefoot.db --out report.html
    """
    o.check_file(out)
    _result(store, run).report(out)
    typer.echo(out)
    return HOLDS


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The beginning of a run's name.")],
    subject: Annotated[str, typer.Argument(metavar="INPUT", help="The id of an input.")],
    trial: Annotated[int, typer.Argument(metavar="TRIAL", help="The number of a trial.")],
    store: o.StoreOption = o.DEFAULT_STORE,
    save: Annotated[
        str | None, typer.Option(help="Write the perturbed input as PNG or .npy.")
    ] = None,
    json: o.Json = False,
) -> int:
    """Run one trial of a stored run again: the same perturbation, the same answer.

    Example: surefoot replay 3f2a91c07b1d test-00017 42 --store surefoot.db --save failed.png
    """
    o.check_file(save)
    record = _record(store, run)
    study = _study(record)
    again = study.replay(subject, trial)
    names = study.fitted.class_name
    if save is not None:
        _save(Path(save), study, again.perturbed)
    told = {
        "input": subject,
        "trial": trial,
        "clean": names(again.clean_label),
        "perturbed": names(again.label),
        "severity": again.severity,
        "kept": again.kept,
    }
    if json:
        typer.echo(jsonlib.dumps(told, ensure_ascii=False))
    else:
        typer.echo(
            f"Input {subject}, trial {trial}: clean {told['clean']}, perturbed "
            f"{told['perturbed']}: {'kept' if again.kept else 'failed'} "
            f"(severity {again.severity:.4g}, limit {study.property.limit:g})."
        )
    return HOLDS


def _result(store: str, run: str) -> Result:
    """A finished run, as it was shown when it ended."""
    from surefoot.study import Result

    record = _record(store, run)
    command = "" if record.source is None else str(record.source.options.get("command", ""))
    again = command or f"surefoot show {record.digest[:12]} --store {store}"
    return Result(record, from_store=True, command=again, store=store)


def _record(store: str, run: str) -> Record:
    from surefoot.store import open_existing

    with closing(open_existing(store)) as opened:
        return opened.record(run)


def _list(store: str, as_json: bool) -> None:
    from surefoot.store import open_existing

    with closing(open_existing(store)) as opened:
        runs = opened.runs()
    if as_json:
        lines = [
            {"run": r.digest, "started": r.started, "finished": r.finished, "trials": r.trials}
            for r in runs
        ]
        typer.echo(jsonlib.dumps(lines))
        return
    for r in runs:
        state = "finished" if r.finished else "unfinished"
        said = r.spec["words"]
        typer.echo(
            f"{r.digest[:12]}  {r.started}  {state:<10}  {r.trials:>12,} trials  "
            f"{r.spec['method']['kind']}  {said['source']}; {said['perturbation']}"
        )
    if not runs:
        typer.echo(f"{store} holds no runs yet")


def _study(record: Record) -> Study:
    """The study a record remembers, from the same files; refused if they have changed."""
    from surefoot.study import Study
    from surefoot.study.parse_perturbation import parse_perturbation
    from surefoot.study.registry import METHODS, PROCEDURES, TAILS, TESTS, parse_property

    if record.source is None:
        raise InvalidArgument(
            "this run was made in Python, from a model in memory: use study.replay(…) there"
        )
    spec, told = record.spec, record.source.options
    if spec["method"]["kind"] not in {**PROCEDURES, **TESTS, **TAILS}:
        raise InvalidArgument(
            f"run {record.digest[:12]} is a curve or a proof: it has no single trials to replay"
        )
    source = record.source
    models = told.get("models", [source.model])
    loaded, inputs = o.reading_of(source).load_all(models, source.data, spec["seed"])
    model = loaded[models.index(source.model)]
    told_method = dict(spec["method"])
    made = METHODS[told_method.pop("kind")]
    study = Study(
        model,
        inputs,
        parse_perturbation(told["perturb"], inputs.frame),
        made(**{k: tuple(v) if isinstance(v, list) else v for k, v in told_method.items()}),
        property=parse_property(told["property"]),
        seed=spec["seed"],
    )
    if study.digest != record.digest:
        raise StoreFailed(
            f"{record.source.model} or {record.source.data} is not what run {record.digest[:12]} "
            "was made with: the digests differ"
        )
    return study


def _save(path: Path, study: Study, x: object) -> None:
    import numpy as np

    from surefoot.engine.worst_inputs import png
    from surefoot.results import Interval

    array = np.asarray(x)
    try:
        if path.suffix == ".npy":
            np.save(path, array)
        elif not study.fitted.frame:
            raise InvalidArgument("these inputs are no images: save them as .npy")
        else:
            values = study.model.signature.bounds or Interval(
                float(array.min()), float(array.max())
            )
            path.write_bytes(base64.b64decode(png(array, study.fitted.frame, values)))
    except OSError as error:
        raise ReportFailed(f"{path} cannot be written ({error.strerror or error})") from error
