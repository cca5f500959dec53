"""A worker of Ray: an actor that holds the bench, and what its answers mean here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.executors.remote_worker import WorkerLost


@dataclass(frozen=True)
class Site:
    """Where this process is: the folders it imports from, the folder it is in, our version."""

    paths: tuple[str, ...]
    folder: str
    version: str

    @classmethod
    def here(cls) -> Site:
        """Of this process."""
        folder = os.getcwd()
        paths = tuple(path or folder for path in sys.path)
        return cls(paths, folder, import_module("surefoot").__version__)


def actor_class() -> type:
    """The class of an actor, which Ray sends by value: it runs before surefoot is imported there.

    So a machine without surefoot, or with another version, is refused with a sentence.
    """

    class Actor:
        def place(self) -> None:
            """Answers once there is a process."""

        def begin(self, package: bytes, paths: list[str], folder: str, version: str) -> str:
            """Open the bench as this process would; the version of surefoot here."""
            import os
            import pickle
            import sys
            from importlib import import_module

            own = [path for path in sys.path if path not in paths]
            sys.path[:] = [*paths, *own]
            if os.path.isdir(folder):
                os.chdir(folder)
            own_version: str = import_module("surefoot").__version__
            if own_version != version:
                return own_version
            from surefoot.executors import worker

            worker.load(pickle.loads(package))  # noqa: S301  made by `pack` in the driver
            worker.ready()
            return version

        def answer(self, tasks: Any) -> Any:  # noqa: ANN401  tasks of any bench
            """The evidence of each task."""
            from surefoot.executors import worker

            return worker.answer(tasks)

    return Actor


class RayWorker:
    """One actor; its futures are of `concurrent.futures`."""

    def __init__(self, ray: Any, actor: Any, package: Any, site: Site) -> None:  # noqa: ANN401  the module ray
        self._ray, self._actor = ray, actor
        self.placed = _translated(actor.place.remote())
        begun = actor.begin.remote(package, list(site.paths), site.folder, site.version)
        self.opened = _translated(begun, lambda version: _check_version(version, site.version))

    def answer(self, tasks: Any) -> Future[Any]:  # noqa: ANN401  tasks of any bench
        """The evidence of each task; `WorkerLost` where the actor has ended."""
        return _translated(self._actor.answer.remote(tasks))

    def end(self) -> None:
        """Kill the actor."""
        self._ray.kill(self._actor)


def _check_version(other: str, own: str) -> None:
    if other != own:
        raise InvalidArgument(
            f"a machine of the cluster has surefoot {other}, this one has {own}: install the same "
            "version on all"
        )


def _translated(reference: Any, check: Callable[[Any], None] = lambda _: None) -> Future[Any]:  # noqa: ANN401  an object of Ray
    """A reference of Ray as a future whose exception is ours."""
    future: Future[Any] = Future()

    def on_done(done: Future[Any]) -> None:
        try:
            value = done.result()
            check(value)
        except BaseException as error:  # noqa: BLE001  the future carries it
            future.set_exception(_our_error(error))
        else:
            future.set_result(value)

    reference.future().add_done_callback(on_done)
    return future


def _our_error(error: BaseException) -> BaseException:
    """What went wrong, in our words."""
    from ray.exceptions import RayError, RayTaskError

    if isinstance(error, RayTaskError):
        cause: BaseException = error.cause
        if isinstance(cause, ModuleNotFoundError) and cause.name == "surefoot":
            return InvalidArgument(
                "a machine of the cluster has no surefoot: install the same version on all"
            )
        return cause
    if isinstance(error, RayError):
        return WorkerLost(_first_words(error))
    if isinstance(error, SurefootError):
        return error
    return WorkerLost(f"{type(error).__name__}: {_first_words(error)}")


def _first_words(error: BaseException) -> str:
    """The first sentence of what Ray says."""
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")[:160]
