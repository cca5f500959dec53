"""Benches as bytes for other processes: functions travel by name, models by file where they can."""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
import sys
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from multiprocessing import spawn
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.executors.self_check import answers_alike, self_check
from surefoot.models.code_files import import_file, is_file_module, source_digest
from surefoot.subject.inputs import Inputs
from surefoot.system.user_code import error_text

_MAIN = "__main__"
_WAY_OUT = (
    "write the functions and classes that it uses into a file, mine.py, and import them from it, "
    "or use executor threads (--executor threads)"
)


class CannotSend(InvalidArgument):
    """What a worker process needs cannot be sent to it."""


@dataclass(frozen=True)
class Package:
    """A bench as bytes, with their digest and what it answers to a few fixed questions.

    `main` is the running script, where a part is defined in it.
    """

    digest: str
    content: bytes = field(repr=False, compare=False)
    expected: list[Any] = field(repr=False, compare=False)
    main: str = field(default="", compare=False)

    def open(self) -> Any:  # noqa: ANN401  what was packed
        """The bench; files are read and functions imported here, and its answers compared."""
        bench = pickle.loads(self.content)  # noqa: S301  made by `pack` in the parent process
        if not answers_alike(self_check(bench), self.expected):
            raise CannotSend(
                "the model or the perturbation answers otherwise in another process: it depends on "
                "something that was set while this one ran; set it where it is imported, or use "
                "executor threads (--executor threads)"
            )
        return bench


def pack(bench: Any) -> Package:  # noqa: ANN401  any bench
    """The bench as bytes, or one sentence that says which part cannot be sent."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    try:
        pickler.dump(bench)
    except CannotSend:
        raise
    except Exception as error:
        text = error_text(error)
        raise CannotSend(
            f"the model or the perturbation cannot be sent to other processes ({text}): {_WAY_OUT}"
        ) from error
    content = buffer.getvalue()
    return Package(hashlib.sha256(content).hexdigest(), content, self_check(bench), pickler.main)


class _Pickler(pickle.Pickler):
    """Fields of our own values without what they cached; functions and classes by where they are.

    A file that was named by its path is read again by its path, whatever else has its name.
    """

    main = ""

    def reducer_override(self, thing: Any) -> Any:  # noqa: ANN401  any object
        if isinstance(thing, Inputs) and thing.digest_item is not None:
            return _with_fields, (Inputs, _fields_of(replace(thing, digest_item=None)))
        if isinstance(thing, FunctionType | type):
            return self._by_name(thing)
        if _is_plain_value(thing):
            return _with_fields, (type(thing), _fields_of(thing))
        return NotImplemented

    def _by_name(self, thing: Any) -> Any:  # noqa: ANN401  any object
        module = sys.modules.get(thing.__module__ or "")
        if module is None or thing.__module__.startswith("surefoot."):
            return NotImplemented
        file = str(module.__file__) if is_file_module(module) else ""
        if thing.__module__ == _MAIN:
            self.main = _main_place(module, thing)
        elif not file and isinstance(thing, type):
            return NotImplemented
        wrapped = _is_wrapped(module, thing)
        place = file or str(getattr(module, "__file__", ""))
        return _named, (
            file, module.__name__, thing.__qualname__, wrapped, self.main,
            (place, source_digest(module)),
        )  # fmt: skip


def _fields_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  any object
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _is_plain_value(thing: Any) -> bool:  # noqa: ANN401  any object
    """Whether it is a dataclass of ours whose fields are all there is to it."""
    own = type(thing)
    return (
        is_dataclass(thing)
        and own.__module__.startswith("surefoot.")
        and hasattr(thing, "__dict__")
        and "__reduce__" not in vars(own)
    )


def _with_fields(own: type, values: dict[str, Any]) -> Any:  # noqa: ANN401  any object
    """A value with these fields, which were checked when it was first made."""
    value: Any = object.__new__(own)
    value.__dict__.update(values)
    return value


def _main_place(module: ModuleType, thing: Any) -> str:  # noqa: ANN401  any object
    """The file of the running script; refused where there is none, as in a notebook."""
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        raise CannotSend(
            f"{thing.__qualname__} is defined in a notebook or at a prompt, which other processes "
            f"cannot read: {_WAY_OUT}"
        )
    return str(Path(file).resolve())


def _is_wrapped(module: ModuleType, thing: Any) -> bool:  # noqa: ANN401  any object
    """Whether the name stands for a perturbation made of the function (`@sf.perturb.custom`).

    Refused where the name leads to neither: a lambda, or a function inside another.
    """
    try:
        value = _at(module, thing.__qualname__)
    except AttributeError:
        value = None
    if value is thing:
        return False
    if value is not None and getattr(value, "function", None) is thing:
        return True
    raise CannotSend(
        f"{thing.__qualname__} of {module.__name__} cannot be sent to other processes, which find "
        f"functions by their name at the top of a module: {_WAY_OUT}"
    )


def _at(module: ModuleType, name: str) -> Any:  # noqa: ANN401  any object
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _named(
    file: str, module: str, name: str, wrapped: bool, main: str, source: tuple[str, str]
) -> Any:  # noqa: ANN401  any object
    """What a name leads to, in this process."""
    _refuse_changed(*source)
    if main and module == _MAIN:
        _run_script(main)
    value = _at(import_file(Path(file)) if file else importlib.import_module(module), name)
    return value.function if wrapped else value


def _refuse_changed(path: str, digest: str) -> None:
    """Refuse a file that is not the one that the run began with."""
    if digest and hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
        raise CannotSend(
            f"{path} has changed since it was imported, so that other processes would run another "
            "model: begin the run again, or use executor threads (--executor threads)"
        )


@lru_cache(maxsize=1)
def _run_script(path: str) -> None:
    """Run the script of the parent process once, so that what it defines is here too."""
    spawn.prepare({"init_main_from_path": path})
