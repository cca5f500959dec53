"""What a benchmark needs beyond surefoot: a missing package or file is named, exit code 3."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, NoReturn

MISSING = 3
"""The exit code of surefoot for an error."""


def need_package(name: str) -> Any:  # noqa: ANN401  the module
    """The package, imported; or the line that installs it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        stop(f"{name.partition('.')[0]}: pip install 'surefoot[bench]'")


def need_folder(folder: Path | None, option: str, *names: str) -> Path:
    """The folder, if these files are in it."""
    contents = ", ".join(names)
    if folder is None:
        stop(f"{option} DIR, a folder with {contents}")
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        stop(f"a folder with {contents}, and {option} {folder} has no {missing[0]}")
    return folder


def need_file(path: Path, option: str, contents: str) -> Path:
    """The file, if it is there."""
    if not path.is_file():
        stop(f"{contents}, and {option} {path} is no file")
    return path


def stop(need: str) -> NoReturn:
    """Say on stderr what is needed and exit."""
    print(f"this benchmark needs {need}", file=sys.stderr)
    sys.exit(MISSING)
