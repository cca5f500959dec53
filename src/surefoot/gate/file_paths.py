"""Paths of a study file: relative to the file, and there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.gate.study_options import StudyCommand, takes_a_path

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


def placed(command: StudyCommand, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values with every path relative to the folder of the study file."""
    return {name: _placed(command, name, value, folder) for name, value in values.items()}


def _placed(command: StudyCommand, name: str, value: Any, folder: Path) -> Any:  # noqa: ANN401  TOML
    if isinstance(value, list) and name in ("model", "perturb"):
        return [_placed(command, name, one, folder) for one in value]
    if not isinstance(value, str):
        return value
    if name == "model":
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
