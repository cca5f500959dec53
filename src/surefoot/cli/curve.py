"""`surefoot curve`: up to which level does it still work?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.compare import names_of
from surefoot.cli.presenting import present
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.running import BatchOption, ReportOption, SeedOption, WorkersOption
from surefoot.cli.side import command_line
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.results import Interval
    from surefoot.store.records import Source
    from surefoot.study import Study
    from surefoot.subject import Inputs


@o.expanded
def curve(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL... DATA", help="One model or more, then the data."),
    ],
    *,
    reading: o.Reading,
    alteration: Annotated[
        list[str],
        typer.Option(
            help="What alters the inputs, from which level to which: blur:0..2, rotation:-30..30, "
            "fog (to severity 5), blur:2+jpeg:0.5 (from none to both). Again for several."
        ),
    ],
    threshold: Annotated[str, typer.Option(help="The least accuracy: 0.8, or 0.8,0.6.")] = "0.8",
    measure: Annotated[
        str, typer.Option(help="accuracy, or confidence (the mean confidence in the label).")
    ] = "accuracy",
    prop: Annotated[
        str | None,
        typer.Option(
            "--property",
            help="What counts as right: true, same, topk:5 (default: true, without labels same).",
        ),
    ] = None,
    over: Annotated[
        str,
        typer.Option(
            "--of", help="set: these very inputs. population: what they are a random sample of."
        ),
    ] = "set",
    confidence: Annotated[str, typer.Option(help="How sure to be of the outcome.")] = "0.95",
    precision: Annotated[
        str, typer.Option(help="How narrowly to catch a crossing, as a share of the range.")
    ] = "0.001",
    breaks: Annotated[
        str | None,
        typer.Option(help="Levels at which the curve may turn (default: 0, if inside the range)."),
    ] = None,
    curvature: Annotated[
        str | None,
        typer.Option(
            help="Assume, instead of one way, that the curve bends no more than so: 128, in "
            "accuracy per squared range."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="sequential, asap, uniform, random or quad.")
    ] = "sequential",
    levels: Annotated[
        int | None, typer.Option(min=2, help="For uniform, random, quad: how many levels.")
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="A curve of each class as well.")
    ] = False,
    require: Annotated[
        str | None,
        typer.Option(help="Claim that the threshold is kept on at least this share of the range."),
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Write the figure here: curve.svg, .png or .json.")
    ] = None,
    seed: SeedOption = 1,
    report: ReportOption = None,
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    workers: WorkersOption = None,
    batch: BatchOption = None,
) -> int:
    """Trace accuracy against the strength of an alteration, and where it falls below a threshold.

    Levels are chosen where the curve may cross, and far from the threshold a part of the inputs
    decides. Every input meets the same noise at every level and with every model.

    Example: surefoot curve model.onnx test.npz --alteration blur:0..2 --threshold 0.8
    """
    from surefoot.report.curves import Curves
    from surefoot.report.figures import check_figure
    from surefoot.study import Study
    from surefoot.study.notation import parse_alteration
    from surefoot.study.registry import number, parse_property, share

    *models, data = paths
    if not models:
        raise InvalidArgument("curve takes a model or more, then the data: model.onnx test.npz")
    o.check_file(report)
    if figure is not None:
        o.check_file(figure)
        check_figure(figure)
    least = None if require is None else share("--require", require)
    chosen = {
        "thresholds": tuple(number(part) for part in threshold.split(",")),
        "error": round(1 - share("--confidence", confidence), 12),
        "precision": number(precision),
        "over": over,
        "measure": measure,
        "breaks": None if breaks is None else tuple(number(part) for part in breaks.split(",")),
        "curvature": None if curvature is None else number(curvature),
        "levels": levels,
        "seed": seed,
    }
    for text in alteration:
        parse_alteration(text)  # a mistake in it is found before files are read
    loaded, inputs = reading.load_all(models, data, seed)
    told = prop or _usual(measure, inputs)
    held = parse_property(told)
    names, studies = names_of(models), {}
    sources: dict[str, Source] = {}
    for text in alteration:
        made, span = parse_alteration(text, inputs.frame, loaded[0].signature.bounds)
        procedure = procedure_for(method, span, chosen)
        for path, name, model in zip(models, names, loaded, strict=True):
            parts = [name] * (len(models) > 1) + [text] * (len(alteration) > 1)
            key = ", ".join(parts)
            if key in studies:
                raise InvalidArgument(f"the alteration {text} is given twice")
            studies[key] = Study(
                model, inputs, made, procedure, property=held, seed=seed, by_class=by_class
            )
            sources[key] = reading.source(
                path, data, command=command_line(), alteration=text, property=told
            )
    records = _each(studies, sources, store, workers, batch)
    return present(Curves(records, command_line()), least, figure, report, store, as_json=json)


def _usual(measure: str, inputs: Inputs) -> str:
    labelled = inputs.labels is not None
    if measure == "confidence":
        return "confidence" if labelled else "confidence:predicted"
    return "true" if labelled else "same"


def procedure_for(method: str, span: Interval, chosen: dict[str, Any]) -> Any:  # noqa: ANN401
    """The procedure of this name, with those of the options that it has."""
    from dataclasses import fields

    from surefoot.study.registry import CURVES

    if method not in CURVES:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(CURVES)}")
    made = CURVES[method]
    known = {f.name for f in fields(made)}
    if chosen["levels"] is not None and "levels" not in known:
        raise InvalidArgument(f"{method} chooses its levels itself: leave out --levels")
    for name in ("curvature", "over", "measure", "breaks"):
        usual = {"over": "set", "measure": "accuracy"}.get(name)
        if chosen[name] != usual and name not in known:
            word = "of" if name == "over" else name
            raise InvalidArgument(f"--{word} is not for {method}: use sequential")
    given = {k: v for k, v in chosen.items() if k in known and v is not None}
    return made(span.low, span.high, **given)


def _each(
    studies: dict[str, Study],
    sources: dict[str, Source],
    store: str,
    workers: int | None,
    batch: int | None,
) -> dict[str, Any]:
    from surefoot.study.tracing import traced

    records = {}
    for place, (name, study) in enumerate(studies.items(), start=1):
        if len(studies) > 1:
            sys.stderr.write(f"curve {name} ({place} of {len(studies)})\n")
        with progress_on_stderr("curves") as watch:
            record, known = traced(study, store, workers, batch, watch, sources[name])
        if known:
            sys.stderr.write(
                f"run {study.digest[:12]} was finished before: this is its result from {store}\n"
            )
        records[name] = record
    return records
