"""`surefoot curve`: up to which level does it still work?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.compare import names_of
from surefoot.cli.levels_option import announced
from surefoot.cli.output import command_line, present, say_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.run_options import BatchOption, ReportOption, SeedOption, WorkersOption
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.results import Interval
    from surefoot.store.records import Source
    from surefoot.subject import Inputs


@o.expanded
def curve(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL... DATA", help="One model or more, then the data."),
    ],
    *,
    reading: o.Reading,
    perturb: Annotated[
        list[str],
        typer.Option(
            help="Perturbation and range of levels: blur:0..2, rotation:-30..30, fog (to severity "
            "5), blur:2+jpeg:0.5 (from none to both). Repeat it for several curves."
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
    scope: Annotated[
        str,
        typer.Option(help="set: these very inputs. population: what they are a random sample of."),
    ] = "set",
    confidence: Annotated[str, typer.Option(help="How sure to be of the outcome.")] = "0.95",
    resolution: Annotated[
        str, typer.Option(help="How narrowly to catch a crossing, as a share of the range.")
    ] = "0.001",
    breaks: Annotated[
        str | None,
        typer.Option(help="Levels at which the curve may turn (default: 0, if inside the range)."),
    ] = None,
    curvature: Annotated[
        str | None,
        typer.Option(
            help="Assume bounded curvature instead of monotonicity: 128, in accuracy per squared "
            "range."
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
        typer.Option(
            help="Require accuracy at or above the threshold on at least this share of the levels."
        ),
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
    """Accuracy against the level of a perturbation, and where it falls below a threshold.

    Levels are chosen where the curve may cross, and far from the threshold a part of the inputs
    decides. Of a perturbation that draws, every input gets one draw, the same at every level and
    with every model: the result is for these draws.

    Example: surefoot curve model.onnx test.npz --perturb blur:0..2 --threshold 0.8
    """
    from surefoot.report.figures import check_figure
    from surefoot.study import Study, compare
    from surefoot.study.parse_perturbation import parse_range
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
        "resolution": number(resolution),
        "scope": scope,
        "measure": measure,
        "breaks": None if breaks is None else tuple(number(part) for part in breaks.split(",")),
        "curvature": None if curvature is None else number(curvature),
        "levels": levels,
        "seed": seed,
    }
    for text in perturb:
        parse_range(text)  # a mistake in it is found before files are read
    loaded, inputs = reading.load_all(models, data, seed)
    told = prop or _usual(measure, inputs)
    held = parse_property(told)
    names, studies = names_of(models), {}
    sources: dict[str, Source] = {}
    for text in perturb:
        made, span = parse_range(text, inputs.frame, loaded[0].signature.bounds)
        chosen_method = method_for(method, span, chosen)
        for path, name, model in zip(models, names, loaded, strict=True):
            parts = [name] * (len(models) > 1) + [text] * (len(perturb) > 1)
            key = ", ".join(parts)
            if key in studies:
                raise InvalidArgument(f"{text} is given twice")
            studies[key] = Study(
                model, inputs, made, chosen_method, property=held, seed=seed, by_class=by_class
            )
            sources[key] = reading.source(
                path, data, command=command_line(), perturb=text, property=told
            )
    with progress_on_stderr("curves") as watch:
        found = compare(
            studies,
            store=store,
            workers=workers,
            batch=batch,
            on_progress=watch,
            sources=sources,
            on_start=announced("curve", len(studies)),
        )
    say_from_store(found, store)
    found = replace(found, command=command_line())
    if least is not None:
        found = found.require(least)
    return present(found, report=report, figure=figure, as_json=json, kept_in=store)


def _usual(measure: str, inputs: Inputs) -> str:
    labelled = inputs.labels is not None
    if measure == "confidence":
        return "confidence" if labelled else "confidence:predicted"
    return "true" if labelled else "same"


def method_for(method: str, span: Interval, chosen: dict[str, Any]) -> Any:  # noqa: ANN401
    """The method of this name, with those of the options that it has."""
    from dataclasses import fields

    from surefoot.methods import CURVES

    if method not in CURVES:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(CURVES)}")
    made = CURVES[method]
    known = {f.name for f in fields(made)}
    if chosen["levels"] is not None and "levels" not in known:
        raise InvalidArgument(f"{method} chooses its levels itself: leave out --levels")
    for name in ("curvature", "scope", "measure", "breaks"):
        usual = {"scope": "set", "measure": "accuracy"}.get(name)
        if chosen[name] != usual and name not in known:
            raise InvalidArgument(f"--{name} is not for {method}: use sequential")
    given = {k: v for k, v in chosen.items() if k in known and v is not None}
    return made(span.low, span.high, **given)
