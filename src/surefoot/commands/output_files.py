"""Refuse a file that cannot be written before hours of work."""

from __future__ import annotations

from pathlib import Path

from surefoot.commands.option import option_name
from surefoot.errors import InvalidArgument
from surefoot.whole_file import open_beside, remove_unfinished


def check_file(path: str | Path | None) -> None:
    """Refuse a file that could not be written."""
    if path is None:
        return
    target = Path(path).absolute()
    if target.is_dir():
        raise InvalidArgument(f"{path} is a folder: name a file, such as {Path(path) / 'out.html'}")
    if not target.parent.is_dir():
        raise InvalidArgument(f"there is no folder {target.parent} for {path}: create it first")
    if target.exists() and not target.is_file():
        raise InvalidArgument(f"{path} is not a regular file: choose another place")
    _try_writing(path, target.parent, target.name)


def check_page_file(option: str, path: str | Path | None) -> None:
    """Refuse a report that could not be written, or that is named like something else."""
    if path is None:
        return
    from surefoot.report.page import check_page_name

    try:
        check_page_name(str(path))
    except InvalidArgument as error:
        raise InvalidArgument(f"{option_name(option)} {error}") from None
    check_file(path)


def check_folder(path: str | Path | None) -> None:
    """Refuse a folder that could not be written into; it need not exist yet."""
    if path is None:
        return
    target = Path(path).absolute()
    if target.exists() and not target.is_dir():
        raise InvalidArgument(f"{path} is a file: name a folder to write into")
    if not target.is_dir() and not target.parent.is_dir():
        raise InvalidArgument(f"there is no folder {target.parent} for {path}: create it first")
    _try_writing(path, target if target.is_dir() else target.parent, "")


def check_figure_file(path: str | Path | None) -> None:
    """Refuse a figure that could not be written, or whose format is not known."""
    if path is None:
        return
    from surefoot.report.figures import check_figure

    check_file(path)
    check_figure(str(path))


def _try_writing(path: str | Path, folder: Path, name: str) -> None:
    """Write a temporary file beside it: permissions alone do not say whether writing works."""
    try:
        remove_unfinished(folder)
        with open_beside(folder / name):
            pass
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error
