"""Code of the user, whatever it raises: one sentence with the name of the code."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.errors import InvalidArgument, Stopped, SurefootError

INTERRUPTS = (KeyboardInterrupt, Stopped)
"""What the person at the keyboard raises: it passes through every frame."""
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
def named_errors(name: str) -> Iterator[None]:
    """An error of the user's function becomes one sentence with its name."""
    try:
        yield
    except (SurefootError, *INTERRUPTS):
        raise
    except BaseException as error:
        raise InvalidArgument(
            f"{name} {raised_words(error)}: correct it, or leave it out"
        ) from error
