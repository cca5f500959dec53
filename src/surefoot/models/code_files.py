"""Python files named by their path: each is run once, under the name of the file."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from surefoot.errors import InvalidArgument


def import_file(path: Path) -> ModuleType:
    """The module in a file; run again only where the file has changed."""
    if not path.is_file():
        raise InvalidArgument(f"there is no file {path}: check the path")
    whole, state = path.resolve(), path.stat()
    return _module(whole, state.st_mtime_ns, state.st_size)


def source_digest(module: ModuleType) -> str:
    """Of the file of a module as it was when it was imported; empty where that is not known."""
    return _DIGESTS.get(str(getattr(module, "__file__", None)), "")


def note_source(module: ModuleType) -> None:
    """Remember the file of a module that was just imported, unless that is known."""
    file = str(getattr(module, "__file__", None))
    with suppress(OSError):
        _DIGESTS.setdefault(file, hashlib.sha256(Path(file).read_bytes()).hexdigest())


def is_file_module(module: ModuleType) -> bool:
    """Whether it was imported by the path of its file, so that its name may lead elsewhere."""
    return getattr(module, "__file__", None) in _PATHS


_PATHS: set[str] = set()
_DIGESTS: dict[str, str] = {}
"""Of the files of imported modules."""


@lru_cache(maxsize=64)
def _module(path: Path, modified: int, size: int) -> ModuleType:
    """The module; it can import files beside it, as a script can."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a file named like a module of Python must not replace it
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{path} cannot be read as Python code: give a file that ends in .py")
    module = module_from_spec(spec)
    _PATHS.add(str(path))
    _DIGESTS.pop(str(path), None)
    note_source(module)
    earlier = sys.modules.get(path.stem)
    if earlier is None or getattr(earlier, "__file__", None) == str(path):
        sys.modules[path.stem] = module  # what dataclasses and pickles look up
    spec.loader.exec_module(module)
    return module
