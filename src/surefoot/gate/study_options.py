"""What a study of a file may say: the options of its command, by the words of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from surefoot.commands import certify, compare, critical, curve, estimate, tail
from surefoot.commands.option import Groups, Parameter, check_options, expanded_signature
from surefoot.errors import InvalidArgument
from surefoot.study.load_files import FileOptions

_NEAR_WORDS = 3
_SEVERAL_MODELS = ("compare", "curve", "critical")
_SEVERAL_PERTURBATIONS = ("curve",)
_SCALARS = (str, bool, int, float)


@dataclass(frozen=True)
class StudyCommand:
    """A command as a study of a file names it."""

    name: str
    function: Callable[..., Any]

    @cached_property
    def groups(self) -> Groups:
        """Its classes of options, those of the command line."""
        return Groups.of(self.function, {"FileOptions": FileOptions})

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, in the order of its arguments: model, data and perturb."""
        kinds = inspect.signature(self.function).parameters.items()
        own = [n for n, p in kinds if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        return tuple("model" if name == "models" else name for name in own)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Every option by name."""
        return {parameter.name: parameter for parameter in self.groups.options()}

    @property
    def words(self) -> tuple[str, ...]:
        """Every name that a study of this command may have."""
        return (*self.subjects, *self.parameters)

    def check(self, study: str, values: Mapping[str, Any]) -> None:
        """Refuse an option that is missing, not its own, or of the wrong kind."""
        for name in self.subjects:
            if name not in values:
                raise InvalidArgument(f"study {study} has no {name}: add {name} = …")
        for name, value in values.items():
            if name in self.subjects:
                self._check_subject(study, name, value)
            elif name in self.parameters:
                _check_kind(study, self.parameters[name], value)
            else:
                raise InvalidArgument(unknown(f"study {study} ({self.name})", name, self.words))
        signature = expanded_signature(self.function, self.groups)
        options = {n: v for n, v in values.items() if n in self.parameters}
        try:
            check_options(self.name, self.groups, signature, options)
        except InvalidArgument as error:
            raise InvalidArgument(f"study {study}: {error}") from None

    def call(self, values: Mapping[str, Any], caller: Any) -> Any:  # noqa: ANN401  what the command returns
        """Run the function with these options."""
        options = {n: v for n, v in values.items() if n in self.parameters}
        chosen = self.groups.build(options)
        return self.function(*(values[n] for n in self.subjects), **chosen, caller=caller)

    def _check_subject(self, study: str, name: str, value: Any) -> None:  # noqa: ANN401  what a user gives
        several = {"model": _SEVERAL_MODELS, "perturb": _SEVERAL_PERTURBATIONS}.get(name, ())
        texts = isinstance(value, list) and value and all(isinstance(v, str) for v in value)
        if isinstance(value, str) or (texts and self.name in several):
            return
        lists = ', or a list of texts, ["a", "b"]' if self.name in several else ""
        raise InvalidArgument(
            f"study {study}: {name} of {self.name} must be text in quotes{lists}, got {value!r}"
        )


COMMANDS = {
    "estimate": StudyCommand("estimate", estimate.estimate),
    "certify": StudyCommand("certify", certify.certify),
    "tail": StudyCommand("tail", tail.tail),
    "curve": StudyCommand("curve", curve.curve),
    "critical": StudyCommand("critical", critical.critical),
    "compare": StudyCommand("compare", compare.compare),
}
"""The commands that measure a model."""


def is_requirement(name: str) -> bool:
    """Whether the option requires something of the result."""
    return name.startswith("require") or name == "not_worse"


def takes_a_path(parameter: Parameter) -> bool:
    """Whether the value is a file or a folder."""
    return Path in _kinds(parameter.hint)


def unknown(where: str, name: str, words: Iterable[str]) -> str:
    """That there is no such word here, with the near ones."""
    known = [word.replace("_", "-") for word in words]
    return f"{where} has no option {name.replace('_', '-')}: {near_words(name, known)}"


def near_words(name: str, known: Sequence[str]) -> str:
    """Which of the known words may be meant, as a question; all of them where none is near."""
    near = get_close_matches(name.replace("_", "-"), known, n=_NEAR_WORDS)
    return f"do you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"


def _check_kind(study: str, parameter: Parameter, value: Any) -> None:  # noqa: ANN401  TOML
    """Refuse a value of TOML that the option cannot be: a date, a table, a number for a name."""
    kinds, repeats = _kinds(parameter.hint), bool(parameter.option and parameter.option.repeats)
    open_ = object in kinds or Any in kinds
    if isinstance(value, str):
        fits = str in kinds or open_
    elif isinstance(value, bool):
        fits = bool in kinds
    elif isinstance(value, int | float):
        fits = float in kinds or (int in kinds and isinstance(value, int))
    elif isinstance(value, list):
        fits = (Sequence in kinds or repeats) and all(isinstance(one, _SCALARS) for one in value)
    else:
        fits = isinstance(value, dict) and Mapping in kinds
    if not fits:
        words = parameter.name.replace("_", "-")
        raise InvalidArgument(
            f"study {study}: {words} = {value!r} is of another kind than {words} takes: "
            f"{parameter.option.text if parameter.option else _kind_words(kinds)}"
        )


def _kinds(hint: Any) -> set[Any]:  # noqa: ANN401  a type
    """The classes of a union, or the one class itself; of a list, that it is one."""
    parts = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return {get_origin(part) or part for part in parts}


def _kind_words(kinds: set[Any]) -> str:
    names = {str: "text in quotes", bool: "true or false", int: "an integer", float: "a number"}
    words = [word for kind, word in names.items() if kind in kinds]
    return f"it is {' or '.join([*words, *(['a list'] * (Sequence in kinds))])}"
