"""Numbers, perturbations, properties and names of files as a person gives them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InvalidArgument
from surefoot.records.options import option_name, refused, refused_value
from surefoot.system.whole_file import (
    check_plain,
    check_target,
    open_beside,
    real_path,
    remove_unfinished,
)

if TYPE_CHECKING:
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Perturbation, Property


Given = Any
"""What a person gives for an option, of whatever kind, until it is read."""
AnyModel = Any
"""A path, an address, a module, an estimator, a function, or a loaded model; or several."""
AnyData = Any
"""A path, `(x, y)`, an array, a dataset, or loaded inputs."""
AnyPerturbation = Any
"""The text of a perturbation, an object of `sf.perturb`, or one of the user's own."""
AnyMethod = Any
"""A frozen dataclass with `needs` and `steps`, of whatever fields: `catalogue.methods` has ours."""
Number = float | str
"""A number, or its text: 0.03, "3e-2", "8/255"."""
Numbers = float | str | Sequence[float]
"""One number or several: 0.8, (0.8, 0.6), "0.8,0.6"."""
ClassShares = Number | Mapping[str | int, float]
"""One number for every class, or a number for each class named."""
_ERROR_DIGITS = 12
"""1 - 0.95 is 0.050000000000000044 in floating point; an error of 0.05 is what was meant."""
_CLASS_SHARES = "write one number for all, or stop=0.99,parking=0.9"


def as_number(name: str, value: Number) -> float:
    """The value of the option `name`."""
    from surefoot.catalogue.registry import number

    if isinstance(value, str):
        try:
            return number(value)
        except InvalidArgument as error:
            raise InvalidArgument(
                f"{option_name(name)}: {error}", option=name, value=value
            ) from None
    try:
        plain = float(value)
    except (TypeError, ValueError):
        plain = math.nan
    if not math.isfinite(plain) or isinstance(value, bool):
        raise refused(name, value, f"must be a finite number, got {value!r}")
    return plain


def as_numbers(name: str, value: Given) -> tuple[float, ...]:
    """One number or several, as text with commas or as a sequence."""
    if isinstance(value, str):
        return tuple(as_number(name, part) for part in value.split(","))
    if hasattr(value, "__iter__"):
        return tuple(one for part in value for one in as_numbers(name, part))
    return (as_number(name, value),)


def share(name: str, given: Number) -> float:
    """A number between 0 and 1, the value of the option `name`."""
    value = as_number(name, given)
    if 0 <= value <= 1:
        return value
    way_out = f": write {value / 100:g} for {value:g} %" if 1 < value <= 100 else ""
    raise refused(name, given, f"must be between 0 and 1, got {given}{way_out}")


def class_shares(name: str, given: Given) -> float | dict[str, float]:
    """A share for every class, or one for each class named: "stop=0.99,parking=0.9".

    A name may have commas and equal signs in it: what stands after the last one is the number.
    """
    if isinstance(given, Mapping):
        return {str(key): share(name, value) for key, value in given.items()}
    if not isinstance(given, str) or "=" not in given:
        return share(name, given)
    shares: dict[str, float] = {}
    class_name = ""
    for part in given.split(","):
        before, equal, value = part.rpartition("=")
        if not equal:
            class_name += f"{part},"
            continue
        key = f"{class_name}{before}".strip()
        if not key or key in shares:
            problem = f"names {key} twice" if key else f"has no class before ={value}"
            raise refused_value(name, given, f"{problem}: {_CLASS_SHARES}")
        shares[key], class_name = share(name, value.strip()), ""
    if class_name:
        raise refused_value(
            name, given, f"has no number for {class_name[:-1].strip()}: {_CLASS_SHARES}"
        )
    return shares


def error_from(confidence: Number) -> float:
    """The allowed probability of being wrong, from a confidence."""
    given = share("confidence", confidence)
    error = round(1 - given, _ERROR_DIGITS)
    if not 0 < error < 1:
        raise refused(
            "confidence", confidence, f"must lie between 0 and 1, got {confidence}: try 0.95"
        )
    return error


def as_perturbation(value: Given, frame: tuple[int, ...] = ()) -> Perturbation:
    """The perturbation itself, or the one of this text."""
    from surefoot.catalogue.parse import parse_perturbation

    if isinstance(value, str):
        return parse_perturbation(value, frame)
    if hasattr(value, "apply") and hasattr(value, "draw"):
        perturbation: Perturbation = value
        return perturbation
    raise InvalidArgument(
        f"{value!r} is no perturbation: write it as 'linf:8/255', or pass an object of sf.perturb; "
        "a function of your own as sf.perturb.custom(function, level=0.1)"
    )


def as_property(value: Given) -> Property:
    """The property itself, or the one of this text."""
    from surefoot.catalogue.registry import parse_property

    if isinstance(value, str):
        return parse_property(value)
    if hasattr(value, "needs") and hasattr(value, "reference"):
        kept_if: Property = value
        return kept_if
    raise InvalidArgument(
        f"{value!r} is no property: write it as 'true', or pass an object of sf.properties"
    )


def property_for(given: Given, inputs: Inputs) -> Given:
    """The one given, or what labels allow: the true label, else the one of the clean input."""
    return ("same" if inputs.labels is None else "true") if given is None else given


def is_plain(value: Given) -> bool:
    """Whether it can be written down and read again: text, numbers, and lists of them."""
    if isinstance(value, list | tuple):
        return all(is_plain(part) for part in value)
    if isinstance(value, Mapping):
        return all(is_plain(part) for part in (*value.keys(), *value.values()))
    return value is None or isinstance(value, str | int | float | Path)


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
