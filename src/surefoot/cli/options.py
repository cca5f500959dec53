"""The options that commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

DEFAULT_STORE = "surefoot.db"
DEFAULT_CONFIDENCE = "0.95"
"""Of every command. In Python `error` is 1 − confidence; where it has a default, it is 0.05."""
DEFAULT_WIDTH = "0.02"

RUN_PANEL = "Running"

Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
ModelArg = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="model.onnx, model.pt2, model.pt (TorchScript), or package.module:function",
    ),
]
DataArg = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="test.npz, x.npy (with --labels), a folder of images, or a .csv file"
    ),
]
PerturbOption = Annotated[
    str,
    typer.Option(
        help="Perturbation and level, for example linf:8/255, rotation:-10..10, fog:s3, "
        "blur:1+jpeg:0.5. `surefoot perturb --list` lists all."
    ),
]
PropertyOption = Annotated[
    str,
    typer.Option(
        "--property",
        help="When an output counts as kept: same (as the clean label), true (label), topk:5, "
        "confident:0.6. Without classes: close:0.5, close:5%, pixels:0.95, iou:0.8, boxes:0.5, "
        "labels:0.5, each also with ,of=true.",
    ),
]
ConfidenceOption = Annotated[str, typer.Option(help="Confidence of the result.")]
WidthOption = Annotated[str, typer.Option(help="How far each estimate may be from the truth.")]
QuantileOption = Annotated[
    str, typer.Option(help="The share of inputs whose critical radius may be smaller.")
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
    str,
    typer.Option("--store", help="File with the evidence; the same command resumes from it."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Worker threads (default: chosen for the model).", rich_help_panel=RUN_PANEL
    ),
]
BatchOption = Annotated[
    int | None,
    typer.Option(min=1, help="Trials per batch (default: measured).", rich_help_panel=RUN_PANEL),
]
TimeLimitOption = Annotated[
    str | None,
    typer.Option(
        help="Conclude each curve with what is known after this time: 60, 90s, 10m, 1h. The same "
        "command goes on from there. Only for methods that can conclude early.",
        rich_help_panel=RUN_PANEL,
    ),
]


def expand_options(command: Callable[..., int]) -> Callable[..., int]:
    """The command with every dataclass among its parameters replaced by the dataclass's fields."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: k for n, k in hints.items() if isinstance(k, type) and is_dataclass(k)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(_parameter(name, hints[name], parameter.default))
            continue
        inner = get_type_hints(groups[name], include_extras=True)
        for f in fields(groups[name]):
            default = inspect.Parameter.empty if f.default is MISSING else f.default
            parameters.append(_parameter(f.name, inner[f.name], default))

    @functools.wraps(command)
    def run(**values: Any) -> int:  # noqa: ANN401
        parts = {
            name: kind(**{f.name: values.pop(f.name) for f in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**parts, **values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameter(name: str, kind: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
