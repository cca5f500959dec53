"""Refuse an output that cannot be written, or that would destroy a file, before hours of work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from surefoot.commands.values import Given
from surefoot.errors import InvalidArgument
from surefoot.records.options import refused, refused_value
from surefoot.system.whole_file import (
    check_plain,
    check_target,
    open_beside,
    real_path,
    remove_unfinished,
)

OUTPUTS = ("report", "figure", "out", "save", "sheet", "junit", "counterexamples")
"""Options of all commands that name a file to write."""
WRITTEN = "store"
"""The option whose file is written, but never replaced."""


def check_file(path: str | Path | None) -> None:
    """Refuse a file that could not be written."""
    if path is None:
        return
    _check_name(path)
    target = real_path(path)
    if os.path.isdir(target):
        raise InvalidArgument(f"{path} is a folder: name a file, such as {Path(path) / 'out.html'}")
    if not target.parent.is_dir():
        raise InvalidArgument(f"there is no folder {target.parent} for {path}: create it first")
    with _refuses_unwritable(path):
        check_plain(Path(path))
        _try_writing(target.parent)


def check_text_file(path: str | Path | None) -> None:
    """Refuse a text that could not be written, or would replace a store, a model or data."""
    if path is None:
        return
    check_file(path)
    with _refuses_unwritable(path):
        check_target(Path(path))


def check_page_file(option: str, path: str | Path | None) -> None:
    """Refuse a report that could not be written, or that is named like something else."""
    if path is None:
        return
    from surefoot.report.page import check_page_name

    try:
        check_page_name(str(path))
    except InvalidArgument as error:
        raise refused(option, path, f"{error}") from None
    check_text_file(path)


def check_folder(path: str | Path | None) -> None:
    """Refuse a folder that could not be written into; it need not exist yet."""
    if path is None:
        return
    _check_name(path)
    target = Path(path).absolute()
    if target.exists() and not target.is_dir():
        raise InvalidArgument(f"{path} is a file: name a folder to write into")
    if target.is_symlink() and not target.exists():
        raise InvalidArgument(f"{path} is a link to a folder that is not there: create it first")
    if not target.is_dir() and not target.parent.is_dir():
        raise InvalidArgument(f"there is no folder {target.parent} for {path}: create it first")
    with _refuses_unwritable(path):
        _try_writing(target if target.is_dir() else target.parent)


def check_figure_file(path: str | Path | None) -> None:
    """Refuse a figure that could not be written, or whose format is not known."""
    if path is None:
        return
    from surefoot.report.figures import check_figure

    check_figure(str(path))
    (check_file if str(path).endswith((".png", ".pdf")) else check_text_file)(path)


def check_distinct(values: Mapping[str, Given]) -> None:
    """Refuse an output that is another file of the command: its store, model, data or output.

    `values`: what was given for each option, by name. Links are followed.
    """
    outputs = {name: values[name] for name in OUTPUTS if isinstance(values.get(name), str | Path)}
    for name, path in outputs.items():
        target = _identity(path)
        others = [given for other, value in values.items() if other != name
                  for given in _files_of(other, value)]  # fmt: skip
        other = next((given for given in others if _identity(given) == target), None)
        if other is not None and not os.path.isdir(path):
            raise refused_value(
                name,
                path,
                f"is the same file as {other}, which this command reads "
                "or writes too: choose another name",
            )


def _files_of(name: str, value: Given) -> Iterator[str]:
    """The files that an option names: those there are, and those that will be written."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _files_of(name, one)
    elif isinstance(value, str | Path):
        text = str(value)
        if name in (WRITTEN, *OUTPUTS) or os.path.isfile(text):
            yield text
        elif os.path.isfile(file := text.rpartition(":")[0]):  # file.py:function
            yield file


def _identity(path: str | Path) -> object:
    """Equal for the same file, by whatever name."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:  # no name that a file can have
        return object()
    return status.st_dev, status.st_ino


def _check_name(path: str | Path) -> None:
    if str(path) in ("", "-"):
        raise InvalidArgument(f"{str(path)!r} is no name to write to: name a file or a folder")


@contextmanager
def _refuses_unwritable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error


def _try_writing(folder: Path) -> None:
    """Write a temporary file there: permissions alone do not say whether writing works."""
    remove_unfinished(folder)
    with open_beside(folder):
        pass
