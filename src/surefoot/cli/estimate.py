"""`surefoot estimate`: how robust, to a stated width."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.screen import exit_code, show_record
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Source
    from surefoot.study import Assessment, Study


def estimate(
    model: o.ModelArg,
    data: o.DataArg,
    perturb: Annotated[
        str,
        typer.Option(
            help="linf, l2, l1, gaussian or uniform, with a level: linf:8/255, gaussian:0.1"
        ),
    ],
    width: Annotated[str, typer.Option(help="How far an estimate may be off.")] = "0.02",
    confidence: Annotated[str, typer.Option(help="How sure to be.")] = "0.99",
    method: Annotated[
        str, typer.Option(help="exact-sequential, bu-sun, fixed-size or okamoto.")
    ] = "exact-sequential",
    prop: Annotated[
        str,
        typer.Option("--property", help="What must hold: same, true, topk:5, confident:0.6."),
    ] = "same",
    require: Annotated[
        str | None,
        typer.Option(help="A mean robustness to require: exit 0 holds, 1 refuted, 2 undecided."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Names the random numbers.")] = 1,
    report: Annotated[str | None, typer.Option(help="Write the page here.")] = None,
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Worker threads (default: as many as help).", rich_help_panel=o.RUNNING
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Trials a batch (default: measured).", rich_help_panel=o.RUNNING),
    ] = None,
    bounds: o.Bounds = None,
    mean: o.Mean = None,
    std: o.Std = None,
    scores: o.ScoresOption = None,
    shape: o.ShapeOption = None,
    output: o.Output = None,
    labels: o.Labels = None,
    scale: o.Scale = None,
    size: o.Size = None,
    class_names: o.Names = None,
    device: o.Device = None,
    trust: o.Trust = False,
    classes: o.Classes = None,
    first: o.First = None,
    random: o.Random = None,
    correct_only: o.Correct = False,
) -> int:
    """Estimate how likely each input keeps its label under random perturbation.

    The mean over the population of inputs, each class, and each input come with an interval.
    Interrupted, the same command goes on where it stopped.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --width 0.02
    --confidence 0.99 --report report.html
    """
    from surefoot.study import Study
    from surefoot.study.registry import number, parse_perturbation, parse_property

    o.check_folder(report)
    least = None if require is None else number(require)
    if least is not None and not 0 <= least <= 1:
        raise InvalidArgument(f"--require lies between 0 and 1, got {require}")
    perturbation, held = parse_perturbation(perturb), parse_property(prop)
    procedure = _procedure(method, number(width), number(confidence))
    reading = o.Reading(
        model,
        data,
        bounds,
        mean,
        std,
        scores,
        shape,
        output,
        labels,
        scale,
        size,
        class_names,
        device,
        trust,
        classes,
        first,
        random,
        correct_only,
        seed,
    )
    loaded, inputs = reading.load()
    study = Study(loaded, inputs, perturbation, procedure, property=held, seed=seed)
    command = "surefoot " + shlex.join(sys.argv[1:])
    source = reading.source(command=command, perturb=perturb, property=prop)
    return conclude(study, source, store, report, least, json=json, workers=workers, batch=batch)


def _procedure(method: str, width: float, confidence: float) -> object:
    from surefoot.study.registry import PROCEDURES

    if method not in PROCEDURES:
        raise InvalidArgument(
            f"there is no method {method!r}: choose one of {', '.join(PROCEDURES)}"
        )
    if not 0 < confidence < 1:
        raise InvalidArgument(f"--confidence lies between 0 and 1, got {confidence:g}: try 0.99")
    return PROCEDURES[method](width, round(1 - confidence, 12))


def conclude(
    study: Study,
    source: Source,
    store: str,
    report: str | None,
    least: float | None,
    *,
    json: bool,
    workers: int | None,
    batch: int | None,
) -> int:
    """Run, print, write the page; the exit code says whether what was required holds."""
    from surefoot.report.html import write_report
    from surefoot.report.words import verdict

    with progress_on_stderr() as watch:
        found: Assessment = study.run(
            store, workers=workers, batch=batch, watch=watch, source=source
        )
    decision = None if least is None else found.requires(least)
    said = "" if decision is None else verdict(decision)
    if found.from_store:
        sys.stderr.write(
            f"run {study.digest[:12]} was finished before: this is its result from {store}\n"
        )
    if report is not None:
        write_report(found.record, Path(report), store, said)
        sys.stderr.write(f"report written to {report}\n")
    if json:
        whole = {**jsonlib.loads(found.to_json()), "requirement": decision and asdict(decision)}
        typer.echo(jsonlib.dumps(whole, ensure_ascii=False))
    else:
        show_record(found.record)
        if decision is not None:
            typer.echo(f"\n{said}")
    sys.stderr.write(f"evidence kept in {store}, run {study.digest[:12]}\n")
    return exit_code(decision)
