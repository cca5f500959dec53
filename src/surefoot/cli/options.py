"""Parameters of commands: those of the command line alone, and those of a function of Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from surefoot.commands.option import Groups, Option, Parameter
from surefoot.commands.options import CONFIDENCE, STORE, WIDTH
from surefoot.commands.output_files import check_distinct

if TYPE_CHECKING:
    from surefoot.study.load_files import FileOptions


_READING_PANEL, _CHOICE_PANEL = "Reading model and data", "Choosing inputs"


def _reading_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401  an option of Typer
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_READING_PANEL)


def _choice_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401  an option of Typer
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_CHOICE_PANEL)


@dataclass(frozen=True)
class InputOptions:
    """How model and data are read and chosen; stored with the run, so a trial can be replayed."""

    bounds: Annotated[
        str | None, _reading_option("Valid range of input values, for example 0,1.")
    ] = None
    mean: Annotated[
        str | None,
        _reading_option(
            "Mean for normalisation: one number, or one per channel: 0.485,0.456,0.406"
        ),
    ] = None
    std: Annotated[
        str | None, _reading_option("Standard deviation for normalisation, like --mean.")
    ] = None
    scores: Annotated[
        str | None,
        _reading_option(
            "What the model returns, if unclear: logits, probabilities, values (no class "
            "scores), objects (boxes)."
        ),
    ] = None
    shape: Annotated[
        str | None,
        _reading_option("Shape of one input, if the model does not say: 1,28,28"),
    ] = None
    output: Annotated[
        str | None, _reading_option("Name of the output of an ONNX file or an HTTP model.")
    ] = None
    labels: Annotated[
        str | None,
        _reading_option(
            "Column of a table with the labels, file with the labels for x.npy, or none."
        ),
    ] = None
    label_pattern: Annotated[
        str | None,
        _reading_option(r'Labels from file names, by a pattern: "(?P<label>.+)_\d+"'),
    ] = None
    scale: Annotated[
        float | None,
        _reading_option("Divide the data by this (default: 255 for uint8 data, else 1)."),
    ] = None
    size: Annotated[
        str | None,
        _reading_option("Resize images to HEIGHTxWIDTH (default: the size the model takes)."),
    ] = None
    length: Annotated[
        float | None,
        _reading_option("Cut sounds to this many seconds, or fill them up with silence."),
    ] = None
    class_names: Annotated[
        str | None,
        _reading_option("Names of the classes: a file (one a line, or JSON), or comma-separated."),
    ] = None
    read_as: Annotated[
        str | None, _reading_option("Read every file of a folder as one input: bytes or text.")
    ] = None
    group: Annotated[
        str | None,
        _reading_option(
            "Column (CSV) or array (.npz) that names the group of each input, such as a patient; "
            "or pattern:REGEX for file names. Then groups are the sample."
        ),
    ] = None
    device: Annotated[
        str | None,
        _reading_option("For PyTorch models: cpu, cuda (every GPU), or GPUs by number: cuda:0,2"),
    ] = None
    half: Annotated[
        bool,
        _reading_option("Run a PyTorch model in half precision; labels may change.", "--half"),
    ] = False
    trust: Annotated[
        bool, _reading_option("Read model files that can execute code (pickles).", "--trust")
    ] = False
    token_variable: Annotated[
        str | None,
        _reading_option(
            "Environment variable with the bearer token of an HTTP model (default: SUREFOOT_TOKEN)."
        ),
    ] = None
    classes: Annotated[
        str | None, _choice_option("Only these classes: numbers or names, comma-separated.")
    ] = None
    first: Annotated[int | None, _choice_option("At most the first N inputs (or groups).")] = None
    random: Annotated[int | None, _choice_option("N inputs (or groups), chosen at random.")] = None
    correct_only: Annotated[
        bool,
        _choice_option("Only inputs that the model classifies correctly.", "--correct-only"),
    ] = False

    def files(self) -> FileOptions:
        """The same options, for the function that reads the files."""
        from surefoot.engine.devices import prepare_gpu

        prepare_gpu(self.device)
        from surefoot.study.load_files import FileOptions

        return FileOptions(**asdict(self))


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


UsageError: Any = typer.BadParameter.__mro__[1]
"""Click's own class, or the copy inside typer."""


class OnceCommand(TyperCommand):
    """Every option at most once, but for those that take several values; outputs apart."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  of click
        """As click does, after counting."""
        before = args[: args.index("--")] if "--" in args else args
        words = [word.split("=", 1)[0] for word in before]
        for parameter in self.params:
            names = set(getattr(parameter, "opts", ()))
            single = not getattr(parameter, "multiple", False) and parameter.nargs == 1
            if single and sum(word in names for word in words if word.startswith("--")) > 1:
                name = next(word for word in words if word in names)
                raise UsageError(
                    f"{name} is given twice, and one value would be lost: give it once",
                    ctx=ctx,
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  of click
        """As click does, unless an output is another file of the command."""
        check_distinct(ctx.params)
        return super().invoke(ctx)
