"""A study of a file as a command: its options, its paths, and the line that repeats it."""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from surefoot.commands import (
    certify,
    compare,
    critical,
    curve,
    estimate,
    option,
    smooth,
    suite,
    tail,
)
from surefoot.commands.caller import Caller
from surefoot.commands.values import Given
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions
from surefoot.store.locations import public_location
from surefoot.study import Result

_NEAR_WORDS = 3
_SEVERAL_MODELS = ("compare", "curve", "critical")
_SEVERAL_PERTURBATIONS = ("curve", "estimate", "compare")
_SCALARS = (str, bool, int, float)
_KIND_WORDS: dict[type, str] = {
    str: "text in quotes",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    Sequence: "a list",
}
_READING = {field.name for field in fields(FileOptions)}
"""Their help says how a shell writes them: a file is better served by the kind of value."""


@dataclass(frozen=True)
class StudyCommand:
    """A command as a study of a file names it."""

    name: str
    function: Callable[..., Result]

    @cached_property
    def groups(self) -> option.Groups:
        """Its classes of options, those of the command line."""
        return option.Groups.of(self.function)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, in the order of its arguments: model, data and perturb."""
        kinds = inspect.signature(self.function).parameters.items()
        own = [n for n, p in kinds if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        return tuple("model" if name == "models" else name for name in own)

    @cached_property
    def parameters(self) -> dict[str, option.Parameter]:
        """Every option by name."""
        return {parameter.name: parameter for parameter in self.groups.options()}

    @property
    def words(self) -> tuple[str, ...]:
        """Every name that a study of this command may have."""
        return (*self.subjects, *self.parameters)

    def check(self, study: str, values: Mapping[str, Given]) -> None:
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
        signature = option.expanded_signature(self.function, self.groups)
        options = {n: v for n, v in values.items() if n in self.parameters}
        try:
            option.check_options(self.name, self.groups, signature, options)
        except InvalidArgument as error:
            raise InvalidArgument(f"study {study}: {error}") from None

    def call(self, values: Mapping[str, Given], caller: Caller) -> Result:
        """Run the function with these options."""
        options = {n: v for n, v in values.items() if n in self.parameters}
        chosen = self.groups.build(options)
        return self.function(*(values[n] for n in self.subjects), **chosen, caller=caller)

    def _check_subject(self, study: str, name: str, value: Given) -> None:
        several = {"model": _SEVERAL_MODELS, "perturb": _SEVERAL_PERTURBATIONS}.get(name, ())
        texts = isinstance(value, list) and value and all(isinstance(v, str) for v in value)
        if isinstance(value, str) or (texts and self.name in several):
            return
        lists = ', or a list of texts, ["a", "b"]' if self.name in several else ""
        raise InvalidArgument(
            f"study {study}: {name} of {self.name} must be text in quotes{lists}, got {value!r}"
        )


_VERBS: tuple[Callable[..., Result], ...] = (
    *(estimate.estimate, certify.certify, tail.tail),
    *(curve.curve, critical.critical, smooth.smooth, compare.compare, suite.suite),
)
COMMANDS = {verb.__name__: StudyCommand(verb.__name__, verb) for verb in _VERBS}
"""The commands that measure a model."""


def is_requirement(name: str) -> bool:
    """Whether the option requires something of the result, and so spends a part of the error."""
    return name.startswith("require") or name == "not_worse"


OF_CLEAN = ("clean_accuracy", "accept_clean_accuracy")
"""What is said of the clean accuracy, which is counted: it spends nothing."""


def takes_a_path(parameter: option.Parameter) -> bool:
    """Whether the value is a file or a folder."""
    return Path in option.plain_types(parameter.hint)


def unknown(where: str, name: str, words: Iterable[str]) -> str:
    """That there is no such word here, with the near ones."""
    known = [word.replace("_", "-") for word in words]
    return f"{where} has no option {name.replace('_', '-')}: {near_words(name, known)}"


def near_words(name: str, known: Sequence[str]) -> str:
    """Which of the known words may be meant, as a question; all of them where none is near."""
    near = get_close_matches(name.replace("_", "-"), known, n=_NEAR_WORDS)
    return f"do you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"


def _check_kind(study: str, parameter: option.Parameter, value: Given) -> None:
    """Refuse a value of TOML that the option cannot be: a date, a table, a number for a name."""
    kinds = option.plain_types(parameter.hint)
    repeats = parameter.option is not None and parameter.option.repeats
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
        shown = "it is " + " or ".join(word for kind, word in _KIND_WORDS.items() if kind in kinds)
        if parameter.option is not None and parameter.name not in _READING:
            shown = parameter.option.text
        raise InvalidArgument(
            f"study {study}: {words} = {value!r} is of another kind than {words} takes: {shown}",
            option=parameter.name,
            value=value,
        )


_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://")
_OWN_CODE = re.compile(r"(?P<file>[^+|]*?\.py)(?=:)")
"""mine.py:function, also as one of several perturbations: blur:1+mine.py:halve:0.5."""
_MODULE = re.compile(r"@?[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_FILE_OR_WORD = ("labels", "class_names", "reference")
"""Options whose text names a file, if there is one of that name beside the study file."""
_OWN_FUNCTIONS = ("perturb", "property", "attack_method")


def beside(folder: Path, text: str) -> str:
    """The path as one writes it from where the program runs."""
    if _ADDRESS.match(text) or Path(text).is_absolute() or folder.resolve() == Path.cwd():
        return text
    return os.path.relpath(folder / text)


def placed(command: StudyCommand, values: Mapping[str, Given], folder: Path) -> dict[str, Given]:
    """The values with every path relative to the folder of the study file."""
    return {name: _placed(command, name, value, folder) for name, value in values.items()}


def _placed(command: StudyCommand, name: str, value: Given, folder: Path) -> Given:
    if isinstance(value, list) and name in ("model", "perturb"):
        return [_placed(command, name, one, folder) for one in value]
    if not isinstance(value, str):
        return value
    if name in ("model", "baseline"):
        return placed_model(value, folder)
    if name in _OWN_FUNCTIONS:
        return _OWN_CODE.sub(lambda m: beside(folder, m["file"]), value)
    parameter = command.parameters.get(name)
    is_file = name in _FILE_OR_WORD and (folder / value).exists()
    is_path = name == "data" or (parameter is not None and takes_a_path(parameter))
    return beside(folder, value) if is_file or (is_path and name not in _FILE_OR_WORD) else value


def placed_model(text: str, folder: Path) -> str:
    """A file, mine.py:function, package.module:function or an address."""
    if _MODULE.fullmatch(text) and not _OWN_CODE.match(text):
        return text
    if _OWN_CODE.match(text):
        return _OWN_CODE.sub(lambda m: beside(folder, m["file"]), text, count=1)
    return beside(folder, text)


def check_model(study: str, name: str, model: str) -> None:
    """Refuse a model that is no file, no code and no address."""
    code = _OWN_CODE.match(model)
    if code is None and _MODULE.fullmatch(model):
        return
    check_there(study, name, code["file"] if code else model)


def check_there(study: str, name: str, path: str) -> None:
    """Refuse a file that is not there."""
    if _ADDRESS.match(path):
        return
    try:
        there = Path(path).exists()
    except (OSError, ValueError):  # too long for a name, or with a zero in it
        there = False
    if not there:
        raise InvalidArgument(
            f"study {study}: there is no {path[:200]} for {name.replace('_', '-')}: paths are "
            "relative to the study file; correct it"
        )


_SEPARATORS = {"size": "x"}
"""Between the parts of a list; a comma else."""


def shell_command(command: StudyCommand, values: Mapping[str, Given]) -> str:
    """The command with every option that is not its default, as a shell takes it."""
    words = ["surefoot", command.name]
    for name in ("model", "data"):
        words += _texts(values[name])
    subjects = [name for name in command.subjects if name not in ("model", "data")]
    for name in subjects:
        words += [word for text in _texts(values[name]) for word in _option(name, text)]
    for name, parameter in command.parameters.items():
        value = values.get(name)
        if name not in values or value is None or value == parameter.default:
            continue
        if isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
            continue
        several = isinstance(value, list) and parameter.option and parameter.option.repeats
        parts = value if several else [value]
        words += [word for part in parts for word in _option(name, _text(name, part))]
    return shlex.join(public_location(word) for word in words)


def _option(name: str, text: str) -> list[str]:
    """The option with its value; joined where that could be taken for an option itself."""
    flag = f"--{name.replace('_', '-')}"
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _texts(value: Given) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _text(name: str, value: Given) -> str:
    """The value as it is typed: lists with commas, tables as name=value."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(name, one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return _SEPARATORS.get(name, ",").join(_text(name, one) for one in value)
    return repr(value) if isinstance(value, float) else str(value)
