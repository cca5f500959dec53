"""Commands of the shell, each with the options of a function of `surefoot.commands`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, ClassVar, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from surefoot.commands.option import Groups, Hint, Parameter, arguments_of, kind_words
from surefoot.commands.values import Given, check_distinct
from surefoot.records.options import Option

_Context = Any
"""Of click, or of the copy of it inside typer: no name of typer."""
ShellFunction = Callable[..., int]
"""A command of the shell: its docstring is the help, it returns the exit code."""
_JSON = Parameter("json", bool, False, Option("Print the whole result as JSON.", common=True))
_EXPLAIN = Parameter(
    "explain", bool, False, Option("Print every claim, table and assumption.", common=True)
)
MOST_AT_ONCE = 10
"""Options in one help: of a command with more, only those marked as common; the others follow."""
ALL_OPTIONS = "--help-all"
WORDS = "surefoot.words"
"""Under which a context keeps the words of a command, to repeat one that is refused."""


@dataclass(frozen=True)
class _Verb:
    """The function whose options a command has, whether it prints JSON, and a result at length."""

    function: Callable[..., object]
    json: bool
    explain: bool


_VERBS: dict[ShellFunction, _Verb] = {}


def options_of(
    function: Callable[..., object] | None = None, *, json: bool = True, explain: bool = False
) -> Callable[[ShellFunction], ShellFunction]:
    """A decorator: the command is called with the arguments that the function takes, or it itself.

    Options come as the classes that are taken; with `json` also whether to print JSON, with
    `explain` whether to print all of a result.
    """

    def keep(command: ShellFunction) -> ShellFunction:
        _VERBS[command] = _Verb(function or command, json, explain)
        return command

    return keep


def with_options(command: ShellFunction) -> tuple[ShellFunction, list[Parameter], frozenset[str]]:
    """The command with every option of its function in its signature; all, and the rare ones.

    Not done by the decorator: reading the annotations of all commands takes longer than the rest of
    `surefoot --help`, which needs those of none.
    """
    verb = _VERBS[command]
    groups = Groups.of(verb.function)
    own = arguments_of(verb.function)
    known = [*own, *groups.options()]
    if verb.json and all(p.name != "json" for p in known):
        known.append(_JSON)
    known += [_EXPLAIN] if verb.explain else []
    last_of = {p.name: p.option.last for p in known if p.option and p.option.last}
    parameters = [_typer_parameter(p, p.option) for p in known if p.option is not None]

    @functools.wraps(command)
    def run(**values: Given) -> int:
        from surefoot.engine.devices import prepare_gpu

        prepare_gpu(values.get("device"))  # before what reads models is imported
        # A shell hands over all words of a command as one list; the data are its last one.
        for name, last in last_of.items():
            *values[name], values[last] = values[name]
        shell = {"json": verb.json, "explain": verb.explain}
        own_values = {name: values[name] for name, has in shell.items() if has}
        chosen = groups.build(values)
        return command(**{**values, **chosen, **own_values})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run, known, _rare_options(known, own)


def _rare_options(known: Sequence[Parameter], own: Sequence[Parameter]) -> frozenset[str]:
    """What the short help leaves out: neither marked as common nor of the function itself."""
    shown = [p for p in known if p.option is not None and not p.option.argument]
    if len(shown) <= MOST_AT_ONCE:
        return frozenset()
    rare = {p.name for p in shown if p.option is not None and not p.option.common}
    return frozenset(rare - {p.name for p in own})


def _typer_parameter(parameter: Parameter, option: Option) -> inspect.Parameter:
    """The option as typer takes it."""
    default = inspect.Parameter.empty if parameter.default is MISSING else parameter.default
    kind: Hint = list[str] if option.repeats else parameter.kind
    if kind is str and default not in (None, inspect.Parameter.empty):
        default = str(default)
    if option.argument:
        described: Any = typer.Argument(metavar=option.metavar, help=option.text)
    else:
        described = typer.Option(
            *(option.names or ["--" + parameter.name.replace("_", "-")]),
            help=option.text,
            metavar=option.metavar,
            min=option.least,
            max=option.most,
            rich_help_panel=option.panel,
        )
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if default is not None else kind | None, described],
    )


class OnceCommand(TyperCommand):
    """Every option at most once, but for those that take several values; outputs apart.

    `--help` shows the common options, `--help-all` every one under its heading.
    """

    declared: Sequence[Parameter] = ()
    rare: frozenset[str] = frozenset()

    def format_help(self, ctx: _Context, formatter: Any) -> None:  # noqa: ANN401  click's
        """As typer does; of a command with many options the common ones, under one heading."""
        if self.rare:
            for parameter in cast("Any", self.params):
                parameter.hidden = parameter.name in self.rare
                parameter.rich_help_panel = None
            self.epilog = f"{len(self.rare)} more options: {ctx.command_path} {ALL_OPTIONS}"
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: _Context, args: list[str]) -> list[str]:
        """As click does, after counting."""
        before = args[: args.index("--")] if "--" in args else args
        ctx.meta[WORDS] = list(args)  # the parser empties it
        if ALL_OPTIONS in before:
            self.rare, before, args = frozenset(), [], ["--help"]
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


def refused_word(error: Any, context: _Context) -> str:  # noqa: ANN401  click's
    """What an option must be and what was given, in our words; empty for another error."""
    option, command = getattr(error, "param", None), getattr(context, "command", None)
    if option is None or hasattr(error, "param_type") or not isinstance(command, OnceCommand):
        return ""  # one that is missing says so itself
    declared = next((p for p in command.declared if p.name == option.name), None)
    values, _, _ = command.make_parser(context).parse_args(list(context.meta.get(WORDS, [])))
    if declared is None or not isinstance(given := values.get(option.name), str):
        return ""
    return f"{option.opts[0]} must be {kind_words(declared)}, got {given}"


class _Commands(Mapping[str, TyperCommand]):
    """Commands by name, each with its options made when it is taken."""

    def __init__(self, panels: Mapping[str, Sequence[ShellFunction]]) -> None:
        self._known = {c.__name__: (panel, c) for panel, part in panels.items() for c in part}

    def __getitem__(self, name: str) -> TyperCommand:
        panel, function = self._known[name]
        callback, declared, rare = with_options(function)
        text = running_text(function.__doc__ or "")
        info = CommandInfo(
            name, cls=OnceCommand, callback=callback, help=text, rich_help_panel=panel
        )
        made = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")
        command = cast("OnceCommand", made)
        command.declared, command.rare = declared, rare
        return command

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
