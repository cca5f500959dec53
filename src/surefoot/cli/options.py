"""Parameters of commands: those of the command line alone, and those of a function of Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from typing import Annotated, Any, ClassVar, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from surefoot.commands.option import Groups, Hint, Parameter
from surefoot.commands.options import CONFIDENCE, STORE, WIDTH
from surefoot.commands.output_files import check_distinct
from surefoot.commands.values import Given
from surefoot.records.options import Option

DEFAULT_STORE, DEFAULT_CONFIDENCE, DEFAULT_WIDTH = STORE, str(CONFIDENCE), str(WIDTH)
"""As typed."""
_Context = Any
"""Of click, or of the copy of it inside typer: no name of typer."""
ShellFunction = Callable[..., int]
"""A command of the shell: its parameters are options, it returns the exit code."""

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
SeedOption = Annotated[int, typer.Option(min=0, help="Random seed.")]


ReportOption = Annotated[str | None, typer.Option(help="Write the HTML report to this file.")]
StoreOption = Annotated[
    str, typer.Option("--store", help="File or postgresql:// URL of the evidence.")
]
_FUNCTIONS: dict[ShellFunction, Callable[..., object]] = {}
"""Of a command whose options are those of a function of Python: that function."""


def options_of(function: Callable[..., object]) -> Callable[[ShellFunction], ShellFunction]:
    """A decorator: the command takes every option of the function too, as `**options`.

    They come as the classes that the function takes: `function(…, **options)`.
    """

    def keep(command: ShellFunction) -> ShellFunction:
        _FUNCTIONS[command] = function
        return command

    return keep


def with_options(command: ShellFunction) -> ShellFunction:
    """The command with every option of its function in its signature, where it has one.

    Not done by the decorator: reading the annotations of all commands takes longer than the rest of
    `surefoot --help`, which needs those of none.
    """
    if command not in _FUNCTIONS:
        return command
    groups = Groups.of(_FUNCTIONS[command])
    hints = get_type_hints(command, include_extras=True)
    own = [
        p.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, p in inspect.signature(command).parameters.items()
        if p.kind is not inspect.Parameter.VAR_KEYWORD and name not in groups.by_name
    ]
    parameters = [*own, *(_typer_parameter(p) for p in groups.options())]
    parameters.sort(key=lambda p: p.name == "json")

    @functools.wraps(command)
    def run(**values: Given) -> int:
        from surefoot.engine.devices import prepare_gpu

        prepare_gpu(values.get("device"))  # before what reads models is imported
        chosen = groups.build(values)
        return command(**values, **chosen)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


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


def _typer_hint(parameter: Parameter, option: Option) -> Hint:
    flag = "--" + parameter.name.replace("_", "-")
    kind: Hint = list[str] if option.repeats else parameter.kind
    described = typer.Option(
        flag,
        help=option.text,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        rich_help_panel=option.panel,
    )
    return Annotated[kind if parameter.default is not None else kind | None, described]


class OnceCommand(TyperCommand):
    """Every option at most once, but for those that take several values; outputs apart."""

    def parse_args(self, ctx: _Context, args: list[str]) -> list[str]:
        """As click does, after counting."""
        before = args[: args.index("--")] if "--" in args else args
        words = [word.split("=", 1)[0] for word in before]
        for parameter in self.params:
            names = set(getattr(parameter, "opts", ()))
            single = not getattr(parameter, "multiple", False) and parameter.nargs == 1
            if single and sum(word in names for word in words if word.startswith("--")) > 1:
                name = next(word for word in words if word in names)
                ctx.fail(f"{name} is given twice, and one value would be lost: give it once")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: _Context) -> object:
        """As click does, unless an output is another file of the command."""
        check_distinct(ctx.params)
        return super().invoke(ctx)


class _Commands(Mapping[str, TyperCommand]):
    """Commands by name, each with its options made when it is taken."""

    def __init__(self, panels: Mapping[str, Sequence[ShellFunction]]) -> None:
        self._known = {c.__name__: (panel, c) for panel, part in panels.items() for c in part}

    def __getitem__(self, name: str) -> TyperCommand:
        panel, function = self._known[name]
        info = CommandInfo(
            name,
            cls=OnceCommand,
            callback=with_options(function),
            help=running_text(function.__doc__ or ""),
            rich_help_panel=panel,
        )
        made = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")
        return cast("TyperCommand", made)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def without_options(self, name: str) -> TyperCommand | None:
        """Its name and help, for a list of all commands."""
        if name not in self._known:
            return None
        panel, function = self._known[name]
        text = running_text(function.__doc__ or "")
        return OnceCommand(name, help=text, rich_help_panel=panel, rich_markup_mode="rich")


class LazyGroup(TyperGroup):
    """Commands by panel of the help; the options of one are made when it is called.

    Making those of all commands takes longer than the rest of `surefoot --help`.
    """

    panels: ClassVar[Mapping[str, Sequence[ShellFunction]]] = {}

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  of typer
        super().__init__(**settings)
        self.commands: Any = _Commands(self.panels)

    def list_commands(self, ctx: _Context) -> list[str]:
        """In the order of the panels."""
        return list(self.commands)

    def get_command(self, ctx: _Context, cmd_name: str) -> TyperCommand | None:
        """For the help of the group, and to see whether there is such a command."""
        found: TyperCommand | None = self.commands.without_options(cmd_name)
        return found

    def resolve_command(
        self, ctx: _Context, args: list[str]
    ) -> tuple[str | None, TyperCommand | None, list[str]]:
        """The command that is called, with its options."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.commands[name], rest


def running_text(docstring: str) -> str:
    """Paragraphs without the line breaks of the source code; an example keeps its lines."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(
        part if part.startswith("Example") else " ".join(part.split()) for part in paragraphs
    )
