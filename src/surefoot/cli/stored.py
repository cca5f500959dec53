"""`show`, `report` and `replay`: what a store knows."""

from __future__ import annotations

import base64
import json as jsonlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.screen import HOLDS, show_record, show_told
from surefoot.errors import InvalidArgument, ReportFailed, StoreFailed

if TYPE_CHECKING:
    from surefoot.report.critical import Criticals
    from surefoot.report.curves import Curves
    from surefoot.store.records import AnyRecord, CriticalRecord, CurveRecord, Record
    from surefoot.study import Study

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
    from surefoot.store.records import Record, record_to_json

    if every:
        _list(store, json)
        return HOLDS
    record = _record(store, run)
    if json:
        typer.echo(record_to_json(record))
    elif not isinstance(record, Record):
        show_told(_whole(record, store).told())
    else:
        show_record(record)
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
    from surefoot.report.html import write_report
    from surefoot.store.records import Record

    o.check_file(out)
    record = _record(store, run)
    if not isinstance(record, Record):
        typer.echo(_whole(record, store).report(out))
        return HOLDS
    write_report(record, Path(out), store, _claim(record))
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

    Example: surefoot replay 3f2a91c07b1d test-00017 42 --store surefoot.db --save slip.png
    """
    from surefoot.store.records import Record

    o.check_file(save)
    record = _record(store, run)
    if not isinstance(record, Record):
        raise InvalidArgument(
            f"run {record.digest[:12]} is a curve or a proof: it has no single trials to replay"
        )
    study = _study(record)
    again = study.replay(subject, trial)
    names = study.fitted.class_name
    if save is not None:
        _save(Path(save), study, again.perturbed)
    told = {
        "input": subject,
        "trial": trial,
        "undisturbed": names(again.clean_label),
        "perturbed": names(again.label),
        "severity": again.severity,
        "holds": again.held,
    }
    if json:
        typer.echo(jsonlib.dumps(told, ensure_ascii=False))
    else:
        typer.echo(
            f"Input {subject}, trial {trial}: undisturbed {told['undisturbed']}, perturbed "
            f"{told['perturbed']}; the property {'holds' if again.held else 'is violated'} "
            f"(severity {again.severity:.4g}, limit {study.property.limit:g})."
        )
    return HOLDS


def _claim(record: Record) -> str:
    """What a certificate claims where nothing else was required."""
    from surefoot.population import all_robust
    from surefoot.report.phrases import verdict

    if record.spec["population"]["kind"] != "robust-share":
        return ""
    return verdict(all_robust([row.result for row in record.local]))


def _whole(record: CurveRecord | CriticalRecord, store: str) -> Curves | Criticals:
    """A stored curve, or stored critical levels, as they are shown."""
    from surefoot.report.critical import Criticals
    from surefoot.report.curves import Curves
    from surefoot.report.html import repeat_command
    from surefoot.store.records import CurveRecord

    command = repeat_command(record, store)
    if isinstance(record, CurveRecord):
        return Curves({"": record}, command)
    return Criticals({"": record}, command)


def _record(store: str, run: str) -> AnyRecord:
    from surefoot.store.sql import SqlStore

    with closing(SqlStore(store, create=False)) as opened:
        return opened.record(run)


def _list(store: str, as_json: bool) -> None:
    from surefoot.store.sql import SqlStore

    with closing(SqlStore(store, create=False)) as opened:
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
            f"{r.spec['procedure']['kind']}  {said['source']}; {said['perturbation']}"
        )
    if not runs:
        typer.echo(f"{store} holds no runs yet")


def _study(record: Record) -> Study:
    """The study a record remembers, from the same files; refused if they have changed."""
    from surefoot.study import Study
    from surefoot.study.notation import parse_perturbation
    from surefoot.study.registry import METHODS, parse_property

    if record.source is None:
        raise InvalidArgument(
            "this run was made in Python, from a model in memory: use study.replay(…) there"
        )
    spec, told = record.spec, record.source.options
    source = record.source
    models = told.get("models", [source.model])
    loaded, inputs = o.reading_of(source).load_all(models, source.data, spec["seed"])
    model = loaded[models.index(source.model)]
    told_procedure = dict(spec["procedure"])
    made = METHODS[told_procedure.pop("kind")]
    study = Study(
        model,
        inputs,
        parse_perturbation(told["perturb"], inputs.frame),
        made(**{k: tuple(v) if isinstance(v, list) else v for k, v in told_procedure.items()}),
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

    from surefoot.engine.exhibits import png
    from surefoot.results import Interval

    array = np.asarray(x)
    try:
        if path.suffix == ".npy":
            np.save(path, array)
        elif not study.fitted.frame:
            raise InvalidArgument("these inputs are no pictures: save them as .npy")
        else:
            values = study.model.signature.bounds or Interval(
                float(array.min()), float(array.max())
            )
            path.write_bytes(base64.b64decode(png(array, study.fitted.frame, values)))
    except OSError as error:
        raise ReportFailed(f"{path} cannot be written ({error.strerror or error})") from error
