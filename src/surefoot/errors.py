"""Every exception we raise on purpose. The message is one sentence: the value and the way out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SurefootError(Exception):
    """Base of all errors raised on purpose."""


class Stopped(BaseException):
    """The user or the system stopped the run: no error, and no code of the user may catch it."""


INTERRUPTS = (KeyboardInterrupt, Stopped)
"""What the person at the keyboard raises: it passes through every frame."""


class InvalidArgument(SurefootError, ValueError):
    """A value the caller passed cannot mean anything.

    `option` and `value`: what is refused, where it is the value of an option.
    """

    def __init__(self, message: str = "", *, option: str = "", value: object = None) -> None:
        super().__init__(message)
        self.option, self.value = option, value


def system_words(error: BaseException) -> str:
    """What the system says of an error of its own, without number and path."""
    return getattr(error, "strerror", None) or str(error)


@contextmanager
def refusing(
    what: str,
    way_out: str,
    *errors: type[BaseException],
    words: Callable[[BaseException], str] = str,
) -> Iterator[None]:
    """These errors become a refusal: `what` cannot be done, the error in brackets, the way out."""
    try:
        yield
    except (InvalidArgument, *INTERRUPTS):  # the first is a ValueError too, and a refusal already
        raise
    except errors as error:
        raise InvalidArgument(f"{what} ({words(error)}): {way_out}") from error


class MissingPackage(SurefootError, ImportError):
    """An optional package is needed; the message holds the line that installs it."""


@contextmanager
def needing(package: str) -> Iterator[None]:
    """An import of an optional package: where it is missing, these words say what installs it."""
    try:
        yield
    except ImportError as error:
        raise MissingPackage(package) from error


class ModelFailed(SurefootError):
    """The model raised, or answered with something that is no score."""


class ModelChanged(SurefootError):
    """The model is not the one that the run began with: what it answered since does not count."""


class AnswersDiffer(ModelChanged):
    """Two processes answered the same trials otherwise: not only the input decides."""


class OutOfMemory(SurefootError):
    """The batch did not fit; a smaller one may."""


class WorkerFailed(SurefootError):
    """Worker processes ended and could not be replaced."""


class StoreFailed(SurefootError):
    """The store cannot be read or written."""


class StoreDamaged(StoreFailed):
    """A store does not hold what was written to it; `problem` says what is wrong."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(
            f"{where}: {problem}: restore the store from a copy, keep what is sound of it "
            "(surefoot show --check, then --repair), or use another store (store=, --store)"
        )
        self.problem = problem


class ReplayMismatch(StoreFailed):
    """The journal holds answers to questions this procedure does not ask, of this `subject`."""

    def __init__(self, message: str, subject: str) -> None:
        super().__init__(message, subject)  # both, so that it can be pickled
        self.subject = subject

    def __str__(self) -> str:
        return str(self.args[0])


class ReportFailed(SurefootError):
    """A report could not be written."""


class EvidenceFailed(SurefootError):
    """An evidence file cannot be read: it is damaged, too large, or no evidence file."""


class SurefootWarning(UserWarning):
    """One sentence that a user should read although the run goes on."""
