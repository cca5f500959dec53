"""Parameters of commands: those of the command line alone, and those of a function of Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING
from typing import Annotated, Any, get_type_hints

import typer

from surefoot.cli.input_options import InputOptions
from surefoot.commands.option import Groups, Option, Parameter
from surefoot.commands.options import CONFIDENCE, STORE, WIDTH

DEFAULT_STORE, DEFAULT_CONFIDENCE, DEFAULT_WIDTH = STORE, str(CONFIDENCE), str(WIDTH)
"""As typed."""

Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
ModelArg = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="model.onnx, model.pt2, model.pt (TorchScript), model.joblib or .pkl (with --trust), "
        "package.module:function or file.py:function, https://host/v2/models/name",
    ),
]
DataArg = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="test.npz, x.npy or a table (.csv, .parquet; with --labels), a folder of images or "
        ".wav files, a .csv list of images, texts (.jsonl, .txt), or a folder with --read-as",
    ),
]
PerturbOption = Annotated[
    str,
    typer.Option(
        help="Perturbation and level, for example linf:8/255, rotation:-10..10, fog:s3, "
        "blur:1+jpeg:0.5, or your own function, mine.py:halve:0.5. `surefoot perturb --list` "
        "lists all."
    ),
]
ConfidenceOption = Annotated[str, typer.Option(help="Confidence of the result.")]
WidthOption = Annotated[str, typer.Option(help="How far each estimate may be from the truth.")]
QuantileOption = Annotated[
    str, typer.Option(help="The share of inputs whose critical radius may be smaller.")
]
EstimatorOption = Annotated[
    str,
    typer.Option(
        help="Of the quantile: shortest-ranks, order-statistics, log-normal or algorithm-1."
    ),
]
GammaOption = Annotated[
    str | None, typer.Option(help="Length of interval at which algorithm-1 stops: 0.002.")
]
RadiusOption = Annotated[
    str | None, typer.Option(help="Require that the quantile is at least this radius: 8/255.")
]
RadiiFigure = Annotated[
    str | None, typer.Option(help="Write the figure here: critical.svg, .png or .json.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Random seed.")]
ReportOption = Annotated[str | None, typer.Option(help="Write the HTML report to this file.")]
StoreOption = Annotated[
    str, typer.Option("--store", help="File or postgresql:// URL of the evidence.")
]


def options_of(function: Callable[..., Any]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A decorator: the command takes every option of the function too, as `**options`.

    They come as the classes that the function takes: `function(…, **options)`.
    """
    groups = Groups.of(function, {"FileOptions": InputOptions})

    def expand(command: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        own = [
            p.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, p in inspect.signature(command).parameters.items()
            if p.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        of_function = [_typer_parameter(p) for p in groups.options()]
        parameters = [*own, *of_function]
        parameters.sort(key=lambda p: p.name == "json")

        @functools.wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401  handed on as they are
            chosen = groups.build(values)
            if "inputs" in chosen:
                chosen["inputs"] = chosen["inputs"].files()
            return command(**values, **chosen)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return expand


def _typer_parameter(parameter: Parameter) -> inspect.Parameter:
    """The option as typer takes it; what has no help of its own is annotated for typer already."""
    default = inspect.Parameter.empty if parameter.default is MISSING else parameter.default
    hint = parameter.hint
    if parameter.option is not None:
        hint = _typer_hint(parameter, parameter.option)
        if parameter.kind is str and default is not None:
            default = str(default)
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
    )


def _typer_hint(parameter: Parameter, option: Option) -> Any:  # noqa: ANN401  an option of Typer
    flag = "--" + parameter.name.replace("_", "-")
    kind: Any = list[str] if option.repeats else parameter.kind
    described = typer.Option(
        flag, help=option.text, min=option.least, max=option.most, rich_help_panel=option.panel
    )
    return Annotated[kind if parameter.default is not None else kind | None, described]
