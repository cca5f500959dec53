"""Options of a command: a field with a default and its help; and how a function takes them."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from surefoot.commands.values import Given
from surefoot.errors import InvalidArgument
from surefoot.records.options import Option

Hint = Any
"""An annotation: a class, a union or a generic; `typing` has no name for all of them."""
_NEAR_NAMES = 3
"""Names that a refusal proposes: as many as one reads at a glance."""
PANEL_OF_RUN = "Running"


@dataclass(frozen=True)
class Parameter:
    """An option of a function: its type, its default and its help, where it has one."""

    name: str
    hint: Hint
    default: Given
    option: Option | None = None

    @property
    def kind(self) -> Hint:
        """What a shell hands over: text, unless only a number, a switch or a word can be meant."""
        kinds = plain_types(self.hint)
        choices = [part for part in _parts(self.hint) if _origin(part) is Literal]
        return next((k for k in (str, bool, int, float) if k in kinds), next(iter(choices), str))


class _Names(dict[str, Hint]):
    """Names for annotations: those of a module; else `object`.

    The modules of commands import for type checkers alone what takes time to import.
    """

    def __init__(self, module: Mapping[str, Hint]) -> None:
        super().__init__({**vars(builtins), **module})

    def __missing__(self, name: str) -> Hint:
        return object


@dataclass(frozen=True)
class Groups:
    """The classes of options among the parameters of a function, by parameter."""

    by_name: Mapping[str, type[Any]]

    @classmethod
    def of(cls, function: Callable[..., object]) -> Groups:
        """Read from its annotations."""
        hints = hints_of(function)
        classes = {n: k for n, k in hints.items() if isinstance(k, type) and is_dataclass(k)}
        return cls({n: k for n, k in classes.items() if n not in ("caller", "return")})

    def options(self) -> list[Parameter]:
        """Every option, in order."""
        every = []
        for class_ in self.by_name.values():
            hints = get_type_hints(class_, include_extras=True)
            every += [
                Parameter(f.name, hints[f.name], f.default, f.metadata.get("option"))
                for f in fields(class_)
            ]
        return every

    def build(self, values: dict[str, Given]) -> dict[str, Given]:
        """An instance of each class; its values are taken out of `values`, others stay there."""
        return {
            name: class_(**{f.name: values.pop(f.name) for f in fields(class_) if f.name in values})
            for name, class_ in self.by_name.items()
        }


def hints_of(thing: Callable[..., object], *, described: bool = False) -> dict[str, Hint]:
    """The annotations of a function; `described`, with the options that stand in them."""
    return get_type_hints(thing, localns=_Names(thing.__globals__), include_extras=described)


def arguments_of(function: Callable[..., object]) -> list[Parameter]:
    """What a shell gives beside the classes of options: the parameters annotated with an option."""
    hints, found = hints_of(function, described=True), []
    for name, parameter in inspect.signature(function).parameters.items():
        if _origin(hints[name]) is Annotated:
            hint, option = get_args(hints[name])
            default = MISSING if parameter.default is parameter.empty else parameter.default
            found.append(Parameter(name, hint, default, option))
    return found


def expanded_signature(
    function: Callable[..., object], groups: Groups, more: Sequence[inspect.Parameter] = ()
) -> inspect.Signature:
    """The signature with every class of options replaced by its fields, without the caller."""
    hints = hints_of(function)
    own = inspect.signature(function).parameters
    kept = [
        p.replace(annotation=hints.get(name, p.annotation))
        for name, p in own.items()
        if name not in groups.by_name and name != "caller"
    ]
    options = [
        inspect.Parameter(
            p.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if p.default is MISSING else p.default,
            annotation=p.hint,
        )
        for p in groups.options()
    ]
    return inspect.Signature([*kept, *options, *more], return_annotation=hints.get("return"))


def check_options(
    name_of_function: str, groups: Groups, signature: inspect.Signature, named: Mapping[str, Given]
) -> None:
    """Refuse a name that is no option, with the near ones, and a value of the wrong kind."""
    for name in named:
        if name not in signature.parameters:
            near = get_close_matches(name, signature.parameters, n=_NEAR_NAMES)
            way_out = f"do you mean {' or '.join(near)}?" if near else "see help() for all"
            raise InvalidArgument(
                f"{name_of_function} has no option {name!r}: {way_out}",
                option=name,
                value=named[name],
            )
    for parameter in groups.options():
        value = named.get(parameter.name)
        if value is not None or (parameter.name in named and parameter.hint is int):
            _check_kind(parameter, value)


def _check_kind(parameter: Parameter, value: Given) -> None:
    limits = parameter.option or Option("")
    wrong = False
    if parameter.kind is bool:
        wrong = not isinstance(value, tuple(plain_types(parameter.hint)))
    elif parameter.kind is int:
        least, most = limits.least, limits.most
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        wrong = not whole or (least is not None and value < least)
        wrong = wrong or (most is not None and value > most)
    if wrong:
        raise InvalidArgument(
            f"{parameter.name} must be {kind_words(parameter)}, got {value!r}",
            option=parameter.name,
            value=value,
        )


def kind_words(parameter: Parameter) -> str:
    """What a value of an option must be, after "must be"."""
    kind, limits = parameter.kind, parameter.option or Option("")
    if _origin(kind) is Literal:
        return "one of " * (len(get_args(kind)) > 1) + ", ".join(map(str, get_args(kind)))
    bounds = f" ≥ {limits.least}" * (limits.least is not None)
    bounds += f" and ≤ {limits.most}" * (limits.most is not None)
    named = {bool: "True or False", int: f"an integer{bounds}", float: "a number"}
    return named.get(kind, "text")


def _origin(hint: Hint) -> Hint:
    return get_origin(hint)


def _parts(hint: Hint) -> tuple[Hint, ...]:
    return get_args(hint) if _origin(hint) in (UnionType, Union) else (hint,)


def plain_types(hint: Hint) -> set[Hint]:
    """The classes of a union, or the one class itself."""
    return {get_origin(part) or part for part in _parts(hint)}
