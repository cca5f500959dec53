"""Read a file of studies: every command, word, kind of value and file is checked here."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_DOWN, Decimal
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
from surefoot.commands.options import CONFIDENCE, STORE, WIDTH
from surefoot.commands.run import DEFAULT_FILE, GateOptions, texts
from surefoot.commands.values import Given, error_from, share
from surefoot.errors import InvalidArgument
from surefoot.gate.gate import Gate, GateStudy, Regression
from surefoot.records.options import FileOptions
from surefoot.store.locations import check_location, public_location
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
    types = () if parameter is None else option.plain_types(parameter.hint)
    is_path = name == "data" or Path in types
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


REGRESSION = ("not_worse_than", "previous_model", "margin")
"""What a study says of such a comparison."""
COMPARABLE = ("estimate", "certify", "tail", "curve", "critical")
"""Commands whose results are compared with those of an earlier model."""
EVIDENCE = ".evidence.json"
"""The end of the name of a file of evidence."""
_NOTHING_MORE = GateOptions()


def with_more(
    folder: Path,
    tables: Mapping[str, Mapping[str, Given]],
    more: GateOptions,
    defaults: Mapping[str, Given],
) -> list[dict[str, Given]]:
    """The studies of a file, by name, with the comparisons that are stated beside it.

    Each of their texts is a path, for the study that it fits, or NAME=PATH for the study of that
    name; a folder of evidence has a file for each study. Its paths are made those of the file.
    """
    studies = {name: dict(table) for name, table in tables.items()}
    able = [name for name, table in studies.items() if table.get("command") in COMPARABLE]
    for text in texts(more.not_worse_than):
        name, path = _named(text, able)
        for study, file in _evidence_of(path, [name] if name else able).items():
            _set(studies[study], study, "not_worse_than", os.path.relpath(file, folder))
    for text in texts(more.previous_model):
        name, path = _named(text, able)
        chosen = [name] if name else able
        if not chosen:
            raise InvalidArgument(
                f"previous_model (--previous-model) {text}: no study of the file is compared with "
                f"an earlier model, only {', '.join(COMPARABLE)} are; leave it out"
            )
        place = os.path.relpath(path, folder) if Path(path).exists() else path
        for study in chosen:
            _set(studies[study], study, "previous_model", place)
    if more.margin is not None:
        compared = [
            study
            for name, study in studies.items()
            if "not_worse_than" in study
            or "previous_model" in study
            or (name in able and "previous_model" in defaults)
        ]
        if not compared:
            raise InvalidArgument(
                f"margin (--margin) {more.margin} is for a comparison with an earlier model: add "
                "--previous-model or --not-worse-than"
            )
        for one in compared:
            one["margin"] = more.margin
    return list(studies.values())


def _set(table: dict[str, Given], study: str, key: str, value: str) -> None:
    if key in table:
        raise InvalidArgument(
            f"study {study} has {key.replace('_', '-')} = {table[key]!r} already, and is given "
            f"{value}: state one of them"
        )
    table[key] = value


def _named(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The study and the path of NAME=PATH; no study where none of that name can be compared."""
    name, equal, path = text.partition("=")
    return (name, path) if equal and name in names else ("", text)


def _evidence_of(path: str, names: Sequence[str]) -> dict[str, str]:
    """The file of each study that this path is for: of a folder of evidence, of every one."""
    place, shown = Path(path), f"not_worse_than (--not-worse-than) {path}"
    if os.path.isdir(path):
        files = {name: place / f"{name}{EVIDENCE}" for name in names}
        missing = [name for name, file in files.items() if not file.exists()]
        if missing or not files:
            raise InvalidArgument(
                f"{shown} has no evidence of {' and '.join(missing) or 'a study'}: name the files "
                f"of the studies that are compared ({place / 'NAME'}{EVIDENCE})"
            )
        return {name: str(file) for name, file in files.items()}
    known = ", ".join(names) or "there are none"
    if not os.path.exists(path):
        raise InvalidArgument(
            f"{shown}: there is no such file: correct its name; NAME=FILE is for the study NAME "
            f"({known})"
        )
    stem = place.name.removesuffix(EVIDENCE)
    if stem in names or len(names) == 1:
        return {stem if stem in names else names[0]: path}
    raise InvalidArgument(
        f"{shown} names none of the studies that can be compared ({known}): write NAME={path}"
    )


_DIGITS = Decimal("1e-12")
"""A share is rounded down to as many digits as a confidence is read with: never up."""
_LEAST_SHARE = 1e-9
"""Below this the arithmetic of the methods is not trusted, and no run would end."""


def with_shares(studies: Sequence[GateStudy], error: float) -> tuple[GateStudy, ...]:
    """The studies, each with the error that its requirements may spend.

    Every requirement gets the same share of what is left after the studies that state a confidence
    of their own, which spend what that says; two curves that are compared spend that of both, and
    so does what is required of the first. Whatever the dependence between studies, the
    probability that any verdict is wrong is at most the sum of the shares, at most `error`.
    """
    stated = {
        s.name: stated_error(s)
        for s in studies
        if _states(s) and (s.requirements > 0 or s.compares_curves)
    }
    # In decimals: the sum of binary shares may exceed the error of the file by a rounding.
    left = Decimal(str(error)) - sum((Decimal(str(e)) for e in stated.values()), Decimal(0))
    if left < 0:
        raise InvalidArgument(
            f"the studies {', '.join(stated)} state confidences that spend {sum(stated.values()):g}"
            f", more than the error of the file, {error:g}: raise one of them"
        )
    number = sum(_shares_of(s) for s in studies)
    share = float((left / number).quantize(_DIGITS, ROUND_DOWN)) if number else 0.0
    if number and share < _LEAST_SHARE:
        raise InvalidArgument(
            f"error {error:g} leaves {share:g} for each of {number} requirements, and "
            f"{_LEAST_SHARE:g} is the least: raise error, or a confidence that takes too much of it"
        )
    return tuple(
        replace(
            s, error=stated[s.name] if s.name in stated else s.requirements * share, share=share
        )
        for s in studies
    )


def confidence_for(study: GateStudy) -> float | None:
    """The confidence that its command gets; None where it is the command's own default.

    A comparison with an earlier model spends its share by itself, on results at that error; two
    curves divide it.
    """
    if _states(study):
        return None
    spent = study.error or (study.share if study.regression is not None else 0.0)
    if spent == 0:
        return None
    each = (Decimal(str(spent)) / study.parts).quantize(_DIGITS, ROUND_DOWN)
    return float(1 - each)


def stated_error(study: GateStudy) -> float:
    """What a study spends whose confidence is its own: that of each of its parts."""
    values: Mapping[str, Given] = study.options
    return study.parts * error_from(values["confidence"])


def comparison_error(study: GateStudy) -> float:
    """What the comparison with an earlier model may spend."""
    return study.error if study.compares_curves and _states(study) else study.share


def _shares_of(study: GateStudy) -> int:
    """How many of the equal shares are for its requirements."""
    if not _states(study):
        return study.requirements + (study.regression is not None)
    return int(study.regression is not None and not study.compares_curves)


def _states(study: GateStudy) -> bool:
    return "confidence" in study.options


_TOP = ("error", "defaults", "study")
_OWN_KEYS = ("name", "command")
_OF_ONE_STUDY = ("confidence", "report", "figure", "counterexamples", "vnnlib", "not_worse_than")
"""What cannot be a default: each study has its own part of the error, and its own files."""
MARGIN = 0.01
"""By how much a model may fail more often than an earlier one: one point."""
_NAME = re.compile(r"\w[\w .-]*")
_LONGEST_NAME = 100
"""Of a study, in bytes: with the name of a part behind it, it is still a name of a file."""
_MOST_BITS = 1024
"""Of a whole number: any seed is shorter."""
_MOST_BYTES = 1_000_000
"""Of a study file: thousands of studies are shorter."""


def read_gate(path: str | Path = DEFAULT_FILE, more: GateOptions = _NOTHING_MORE) -> Gate:
    """The studies of a TOML file, each with its share of the error; nothing is run or loaded.

    Words, kinds of values and names of files are checked; `prepare_study` loads them.
    """
    file = Path(path)
    whole = _table(file)
    for key in whole:
        if key not in _TOP:
            raise InvalidArgument(unknown(str(file), key, _TOP))
    error = _file_error(whole.get("error"))
    defaults = _plain_keys(f"{file}: [defaults]", whole.get("defaults", {}))
    tables = whole.get("study", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise InvalidArgument(f"{file} has no study: begin each with a line [[study]]")
    own = [_plain_keys(f"{file}: study {i}", table) for i, table in enumerate(tables, 1)]
    names = _names(own)
    _check_defaults(file, defaults, own)
    own = with_more(file.parent, dict(zip(names, own, strict=True)), more, defaults)
    studies = [
        _study(name, table, defaults, file.parent) for name, table in zip(names, own, strict=True)
    ]
    return Gate(file, error, with_shares(studies, error))


def _table(file: Path) -> dict[str, Given]:
    try:
        if file.exists() and not file.is_file():
            raise InvalidArgument(
                f"{file} is no plain file, but a folder, a pipe or a device: name a study file"
            )
        if not file.exists():
            raise InvalidArgument(
                f"there is no study file {file}: name one (surefoot run study.toml), or write "
                f"{DEFAULT_FILE}"
            )
        if file.stat().st_size > _MOST_BYTES:
            raise InvalidArgument(
                f"{file} has more than {_MOST_BYTES:,} bytes: no study file does; name another"
            )
        whole = tomllib.loads(file.read_text(encoding="utf-8"))
        _check_numbers(file, whole)
        return whole
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"{file} cannot be read as TOML ({error}): correct that place"
        ) from None


def _check_numbers(file: Path, value: Given) -> None:
    """Refuse a number that Python would not even print."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check_numbers(file, part)
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InvalidArgument(
            f"{file} has a number of more than {_MOST_BITS} bits: write a shorter one"
        )


def _plain_keys(where: str, table: Given) -> dict[str, Given]:
    """The names as Python has them: require-each and require_each are the same."""
    if not isinstance(table, dict):
        raise InvalidArgument(f"{where} must be a table of options, got {table!r}")
    plain: dict[str, Given] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in plain:
            raise InvalidArgument(f"{where} has {key} twice, with - and with _: write it once")
        plain[name] = value
    return plain


def _file_error(given: Given) -> float:
    error = error_from(CONFIDENCE) if given is None else given
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 < error < 1:
        raise InvalidArgument(
            f"error must lie between 0 and 1, got {given!r}: it is the probability that any "
            "verdict of the file may be wrong, such as 0.01"
        )
    return float(error)


def _names(tables: Sequence[Mapping[str, Given]]) -> list[str]:
    names: dict[str, str] = {}
    for place, table in enumerate(tables, 1):
        name = table.get("name")
        if (
            not isinstance(name, str)
            or not _NAME.fullmatch(name)
            or len(name.encode()) > _LONGEST_NAME
        ):
            raise InvalidArgument(
                f'study {place} needs a name, such as name = "noise", of letters, digits, spaces, '
                f"points and dashes, at most {_LONGEST_NAME} bytes; it names files too: got "
                f"{str(name)[:200]!r}"
            )
        if name.lower() in names:
            raise InvalidArgument(f"two studies are called {name}: give each its own name")
        names[name.lower()] = name
    return list(names.values())


def _check_defaults(
    file: Path, defaults: Mapping[str, Given], tables: Sequence[Mapping[str, Given]]
) -> None:
    """Refuse a default that no study takes, and one that cannot be the same for several."""
    commands = [_command(str(t.get("name")), t.get("command")) for t in tables]
    words = {w for c in commands for w in (*c.words, *REGRESSION)}
    for name in defaults:
        if name in _OF_ONE_STUDY or name in _OWN_KEYS or is_requirement(name):
            raise InvalidArgument(
                f"{file}: {name.replace('_', '-')} belongs to one study: move it from [defaults] "
                "to its [[study]]; the error of all is error = 0.01 at the top of the file"
            )
        if name not in words:
            raise InvalidArgument(unknown(f"{file}: [defaults] for these commands", name, words))


def _command(study: str, name: Given) -> StudyCommand:
    if not isinstance(name, str) or name not in COMMANDS:
        known = near_words(str(name), list(COMMANDS))
        raise InvalidArgument(f"study {study} needs a command, got {name!r}: {known}")
    return COMMANDS[name]


def _study(
    name: str, table: Mapping[str, Given], defaults: Mapping[str, Given], folder: Path
) -> GateStudy:
    command = _command(name, table["command"])
    words = (*command.words, *REGRESSION)
    inherited = {key: value for key, value in defaults.items() if key in words}
    every = {**inherited, **{k: v for k, v in table.items() if k not in _OWN_KEYS}}
    for key in every:
        if key not in words:
            raise InvalidArgument(unknown(f"study {name} ({command.name})", key, words))
    check_location(str(every.get("store", STORE)))
    for key, value in every.items():
        if "\0" in "".join(map(str, value if isinstance(value, list) else [value])):
            raise InvalidArgument(
                f"study {name}: {key.replace('_', '-')} = {value!r} has a zero character, which no "
                "name has: remove it"
            )
    about = {key: every.pop(key) for key in REGRESSION if key in every}
    values = placed(command, {"store": STORE, **every}, folder)
    command.check(name, values)
    models = values["model"] if isinstance(values["model"], list) else [values["model"]]
    for model in models:
        check_model(name, "model", model)
    check_there(name, "data", values["data"])
    perturbations = values["perturb"] if isinstance(values.get("perturb"), list) else [None]
    parts = len(models) * len(perturbations) if command.name == "curve" else 1
    if command.name == "critical" and "within" in values:
        parts = len(models)
    regression = _regression(name, command, values, about, defaults, folder)
    if regression is not None and command.name == "estimate":
        values.setdefault("each", WIDTH)  # the mean alone leaves nothing to compare
    requirements = sum(is_requirement(key) for key in values)
    study = GateStudy(name, command.name, values, requirements, regression, parts)
    return replace(study, parts=2) if study.compares_curves else study


def _check_comparable(name: str, values: Mapping[str, Given]) -> None:
    """Refuse what leaves no results of one model to compare with those of an earlier one."""
    for key in ("precision", "levels", "correct_only", "within", "compare_methods"):
        if values.get(key) not in (None, False):
            instead = "leave it out"
            if key == "precision":  # gives the mean alone, and nothing of each input
                and_about = " and about" * ("about" in values)
                instead = f"write each = 0.1 in place of precision{and_about}"
            raise InvalidArgument(
                f"study {name}: {key.replace('_', '-')} leaves no results that can be compared "
                f"with an earlier model: {instead}, or compare other studies only "
                "(--previous-model NAME=old.onnx, or previous-model in their [[study]])"
            )
    for key in ("model", "perturb"):
        if isinstance(values.get(key), list):
            raise InvalidArgument(
                f"study {name}: one model and one perturbation is compared with an earlier model, "
                f"and {key} is a list: give each a study of its own"
            )


def _regression(
    name: str,
    command: StudyCommand,
    values: Mapping[str, Given],
    about: Mapping[str, Given],
    defaults: Mapping[str, Given],
    folder: Path,
) -> Regression | None:
    """The comparison with an earlier model that the study requires, if it does."""
    for key, value in about.items():
        if key != "margin" and not isinstance(value, str):
            raise InvalidArgument(
                f"study {name}: {key.replace('_', '-')} must be a path in quotes, got {value!r}"
            )
    model, evidence = about.get("previous_model"), about.get("not_worse_than")
    if model is None and evidence is None:
        if "margin" in about and "margin" not in defaults:
            raise InvalidArgument(
                f"study {name}: margin is for a comparison with an earlier model: add "
                "previous-model or not-worse-than, or leave it out"
            )
        return None
    if command.name not in COMPARABLE:
        if model is not None and "previous_model" in defaults:
            return None  # a default is for the studies that can honour it
        raise InvalidArgument(
            f"study {name}: previous-model and not-worse-than are for {', '.join(COMPARABLE)}, not "
            f"for {command.name}: leave them out"
        )
    _check_comparable(name, values)
    margin = share("margin", about.get("margin", MARGIN))
    if model is not None and evidence is not None:
        raise InvalidArgument(
            f"study {name} has both previous-model and not-worse-than: the model is run on the "
            "same trials, so leave out the evidence"
        )
    if model is not None:
        model = placed_model(model, folder)
        check_model(name, "previous_model", model)
    if evidence is not None:
        evidence = beside(folder, evidence)
        check_there(name, "not_worse_than", evidence)
    return Regression(margin, model, evidence)
