"""Code of the user: what it raises in one sentence, and what it is, for the digest of a study."""

from __future__ import annotations

import functools
import hashlib
import inspect
import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tokenize import TokenError
from types import CodeType, ModuleType
from typing import Any

from surefoot.errors import INTERRUPTS, InvalidArgument, SurefootError

_MOST_TEXT = 300
"""Characters of an error's text: two or three lines of a terminal."""
_HEAD = 100
"""Of a longer text: enough to name the subject; what went wrong is often said at the end."""
_NO_ATTRIBUTE = re.compile(
    r"Can't get attribute '(?P<name>[\w.]+)'(?: on <module '(?P<module>[\w.]+)')?"
)

_TORCHSCRIPT = "The following operation failed in the TorchScript interpreter."
"""How TorchScript begins every error: the lines of its program follow, and then what happened."""


def error_text(error: BaseException) -> str:
    """What an error says, in one line; its class where it says nothing or cannot say it."""
    try:
        text = " ".join(str(error).split())
    except INTERRUPTS:
        raise
    except BaseException:  # noqa: BLE001  a class of the user may raise anything from __str__
        text = ""
    if not text:
        return type(error).__name__
    if text.startswith(_TORCHSCRIPT):
        text = text.rpartition("RuntimeError: ")[2]
    return text if len(text) <= _MOST_TEXT else f"{text[:_HEAD]} … {text[_HEAD - _MOST_TEXT :]}"


def raised_words(error: BaseException) -> str:
    """What code did that ended with this error: `raised ValueError: …`, `called sys.exit(0)`."""
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    name, text = type(error).__name__, error_text(error)
    return f"raised {name}" if text == name else f"raised {name}: {text}"


def missing_code(error: BaseException) -> str:
    """What a pickle needs and Python does not find, in words; empty for another error."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the module {error.name} must be importable where surefoot runs"
    found = _NO_ATTRIBUTE.search(error_text(error))
    if found is None:
        return ""
    own = found["module"] == "__main__"
    place = ", from a module and not from the script that saved the model" if own else ""
    return f"the class {found['name']} must be importable where surefoot runs{place}"


def ignore_number_warnings() -> None:
    """No warning of NumPy about our own arithmetic on a terminal; those about other code stay."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(surefoot|numpy|scipy)\b")


@contextmanager
def named_errors(name: str, way_out: str = "correct it, or leave it out") -> Iterator[None]:
    """An error of the user's function becomes one sentence with its name and the way out."""
    try:
        yield
    except (SurefootError, *INTERRUPTS):
        raise
    except BaseException as error:
        raise InvalidArgument(f"{name} {raised_words(error)}: {way_out}") from error


_DEPTH = 6
_PLACE = re.compile(r" at 0x[0-9a-fA-F]+")


def describe_function(function: Callable[..., Any], depth: int = _DEPTH) -> dict[str, str]:
    """Qualified name, sha256 of the source (empty where there is none), and settings.

    Settings are what the source does not show: default and enclosed values, the arguments of a
    partial function, the attributes of an object.
    """
    own: Callable[[], dict[str, str]] | None = getattr(function, "describe", None)
    if own is not None and not isinstance(function, type):
        return own()
    if isinstance(function, functools.partial):
        inner = describe_function(function.func, depth)
        arguments = describe_value({"args": function.args, "keywords": function.keywords}, depth)
        return {**inner, "settings": f"{inner['settings']} {arguments}".strip()}
    subject: Any = function if inspect.isroutine(function) else type(function)
    try:
        text = inspect.getsource(subject)
    except (OSError, TypeError, SyntaxError, TokenError):  # none, or the file has changed since
        text = ""
    code = getattr(inspect.unwrap(subject), "__code__", None)
    whole = text + ("" if code is None else _bytecode_text(code))
    source = hashlib.sha256(whole.encode()).hexdigest() if whole else ""
    name = f"{getattr(subject, '__module__', None)}:{getattr(subject, '__qualname__', subject)}"
    return {"name": name, "sha256": source, "settings": _hidden_settings(function, depth)}


def _bytecode_text(code: CodeType) -> str:
    """The instructions of a function, for functions that share a line of source or have none."""
    constants = [
        _bytecode_text(c) if isinstance(c, CodeType) else describe_value(c) for c in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _hidden_settings(function: Callable[..., Any], depth: int) -> str:
    if not inspect.isroutine(function):
        return describe_value(function, depth)
    plain = inspect.unwrap(function)
    code, there = getattr(plain, "__code__", None), getattr(plain, "__globals__", {})
    cells = getattr(plain, "__closure__", None) or ()
    read = {name: there[name] for name in getattr(code, "co_names", ()) if name in there}
    names = getattr(code, "co_freevars", ())
    hidden = {
        "defaults": getattr(plain, "__defaults__", None),
        "keywords": getattr(plain, "__kwdefaults__", None),
        "enclosed": dict(zip(names, map(cell_content, cells), strict=False)),
        "reads": {n: value for n, value in read.items() if not isinstance(value, ModuleType)},
        "self": getattr(function, "__self__", None) if inspect.ismethod(function) else None,
    }
    known = {name: value for name, value in hidden.items() if value}
    return describe_value(known, depth) if known else ""


def cell_content(cell: Any) -> Any:  # noqa: ANN401  what a closure holds
    """The value of a closure cell; None where it is empty."""
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return None


def describe_value(value: Any, depth: int = _DEPTH) -> str:  # noqa: ANN401  any object
    """A value in words, without its address in memory; arrays by their digest."""
    import numpy as np  # not above: every command line imports this file

    match value:
        case np.ndarray():
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            words = f"array {value.shape} {value.dtype} {digest}"
        case ModuleType():
            words = f"module {value.__name__}"
        case np.random.Generator() | np.random.RandomState() | random.Random():
            words = type(value).__name__  # not its state, which changes
        case dict() if depth:
            words = ", ".join(f"{k}: {describe_value(v, depth - 1)}" for k, v in value.items())
            words = f"{{{words}}}"
        case list() | tuple() if depth:
            words = f"[{', '.join(describe_value(v, depth - 1) for v in value)}]"
        case set() | frozenset():
            words = f"{{{', '.join(sorted(describe_value(v, max(depth - 1, 0)) for v in value))}}}"
        case _ if inspect.isfunction(value) and depth:
            words = " ".join(describe_function(value, depth - 1).values())
        case _ if inspect.isroutine(value) or isinstance(value, type):
            words = f"{value.__module__}:{value.__qualname__}"
        case _ if hasattr(value, "detach") and hasattr(value, "numpy"):
            words = f"tensor {describe_value(value.detach().cpu().numpy(), depth)}"
        case _ if depth and getattr(value, "__dict__", None) and not isinstance(value, type):
            # its repr may leave out attributes of its own
            words = f"{type(value).__qualname__}{describe_value(vars(value), depth)}"
        case _:
            words = _PLACE.sub("", repr(value))
    return words
