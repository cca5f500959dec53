"""Workers of Ray: how many fit on the cluster, what each does, and the executor over them."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, TypedDict

from surefoot.core.tasks import Answers, Task
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.executors import worker
from surefoot.executors.devices import Work
from surefoot.executors.dispatch import Dispatch, WorkerLost
from surefoot.executors.ray_connection import (
    Call,
    Ray,
    connect,
    import_ray,
    join,
    release,
    start,
)
from surefoot.executors.worker import ONE_THREAD, T, pack

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorClass, ActorHandle


class Node(TypedDict):
    """What Ray says of a machine, as far as it is read here."""

    Resources: dict[str, float]


Site = tuple[list[str], str, str]
"""Where this process is: the folders it imports from, the folder it is in, our version."""


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

        def answer(self, tasks: Sequence[Task]) -> Answers:
            """The evidence of each task."""
            from surefoot.executors import worker

            return worker.answer(tasks)

    return Actor


class Cluster:
    """What workers need of Ray, in the process that is connected to it; `folder` as in `Bridge`."""

    def __init__(self, folder: str = "") -> None:
        self._ray, self._folder = import_ray(), folder
        self._packages: list[tuple[ActorClass, ObjectRef, Site]] = []
        self._actors: dict[int, ActorHandle] = {}

    def call(self, name: str, *args: object) -> Future[Any]:
        """As of `Bridge`, in this process."""
        value = getattr(self, name)(*args)
        if isinstance(value, Future):
            return value
        future: Future[Any] = Future()
        future.set_result(value)
        return future

    def connect(self, address: str | None, workers: int, object_bytes: int, reach: float) -> None:
        """Start a cluster, or join the one at this address."""
        if address is None:
            start(self._ray, workers, object_bytes, self._folder)
        else:
            join(self._ray, address, reach)

    def leave(self) -> None:
        """Leave the cluster, which ends our workers there."""
        self._ray.shutdown()

    def nodes(self) -> list[Node]:
        """The machines that are there."""
        alive = (node for node in self._ray.nodes() if node["Alive"])
        return [Node(Resources=node["Resources"]) for node in alive]

    def free(self) -> dict[str, float]:
        """What nobody uses now."""
        return dict(self._ray.available_resources())

    def prepare(self, content: bytes, variables: dict[str, str], gpus: float, site: Site) -> int:
        """A number for workers with this package, which is in the cluster once."""
        actor = self._ray.remote(
            num_cpus=1,
            num_gpus=gpus,
            max_restarts=0,  # a lost worker is replaced by `Dispatch`, which knows its batch
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": variables},
        )(actor_class())
        self._packages.append((actor, self._ray.put(content), site))
        return len(self._packages) - 1

    def place(self, number: int, package: int) -> Future[None]:
        """A new worker: done once it has a process."""
        actor = self._packages[package][0].remote()
        self._actors[number] = actor
        return _translated(actor.place.remote())

    def open(self, number: int, package: int) -> Future[str]:
        """Done once the worker has its bench."""
        _, content, site = self._packages[package]
        begun = self._actors[number].begin.remote(content, *site)
        return _translated(begun, lambda other: _check_version(other, site[2]))

    def answer(self, number: int, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task; `WorkerLost` where the actor has ended."""
        return _translated(self._actors[number].answer.remote(tasks))

    def end(self, number: int) -> None:
        """Kill the actor."""
        self._ray.kill(self._actors.pop(number))


class RayWorker:
    """One actor, by its number."""

    _numbers = count()

    def __init__(self, call: Call, package: int) -> None:
        self._call, self._number = call, next(self._numbers)
        self.placed: Future[None] = call("place", self._number, package)
        self.opened: Future[str] = call("open", self._number, package)

    def answer(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task; `WorkerLost` where the actor has ended."""
        return self._call("answer", self._number, tasks)

    def end(self) -> None:
        """Kill the actor."""
        self._call("end", self._number)


def _check_version(other: str, own: str) -> None:
    if other != own:
        raise InvalidArgument(
            f"a machine of the cluster has surefoot {other}, this one has {own}: install the same "
            "version on all"
        )


def _translated(reference: ObjectRef, check: Callable[[T], None] = lambda _: None) -> Future[T]:
    """A reference of Ray as a future whose exception is ours."""
    future: Future[T] = Future()

    def on_done(done: Future[T]) -> None:
        try:
            check(value := done.result())
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


def open_ray(
    options: Ray, work: Work, cores: int, on_replace: Callable[[], None]
) -> tuple[Dispatch, str]:
    """The executor, once a worker is ready, and a sentence on where it works."""
    worker.refuse_nested()
    asked = work.workers if work.requested else None
    if None not in (options.workers, asked) and options.workers != asked:
        raise InvalidArgument(
            f"workers is {asked} for the run and {options.workers} in Ray(...): say it once"
        )
    wanted, gpus = options.workers or asked, _gpus(options, work)
    content = pickle.dumps(pack(work.bench))
    call = connect(options, wanted or cores, len(content), lambda: Cluster().call)
    try:
        nodes = call("nodes").result()
        workers = _fitting(nodes, wanted, gpus)
        starter = _starter(call, content, gpus)
        scarcity = partial(_scarcity, call, gpus)
        pool = Dispatch(starter, workers, scarcity, release, on_replace)
    except BaseException:
        release()
        raise
    pool.wait_until_ready()
    count = "1 worker" if workers == 1 else f"{workers} workers"
    where = "" if len(nodes) == 1 else f" on {_nodes(len(nodes))}"
    why = "as many as fit" if wanted is None else "as requested"
    return pool, f"{count} of Ray{where}, {why}"


def _gpus(options: Ray, work: Work) -> float:
    """GPUs of each worker, on which the model must then find itself."""
    gpus = (1 if work.on_device else 0) if options.gpus is None else options.gpus
    if not work.on_device:
        return gpus
    if gpus == 0:
        raise InvalidArgument("gpus is 0 and the model is on a GPU: leave gpus out, or use cpu")
    model = getattr(work.bench, "model", None)
    device = getattr(getattr(model, "model", model), "device", None)
    if getattr(device, "index", None):
        raise InvalidArgument(
            f"the model is on {device}, and Ray chooses the GPU of each worker: pass device cuda "
            "(--device cuda)"
        )
    return gpus


def _fitting(nodes: Sequence[Node], wanted: int | None, gpus: float) -> int:
    """How many workers: those wanted, if the cluster has room, else as many as it has."""
    room = 0  # workers that fit on the machines, empty
    for node in nodes:
        cores = int(node["Resources"].get("CPU", 0))
        room += min(cores, int(node["Resources"].get("GPU", 0) / gpus)) if gpus else cores
    if not room:
        raise InvalidArgument(
            f"no machine of the cluster of Ray has {_needs(gpus)} for a worker ({_has(nodes)}): "
            "add one that has"
        )
    if wanted is not None and wanted > room:
        raise InvalidArgument(
            f"{wanted} workers do not fit on the cluster of Ray, where each needs {_needs(gpus)} "
            f"({_has(nodes)}): pass workers {room} (--workers {room})"
        )
    return wanted or room


def _needs(gpus: float) -> str:
    return f"1 CPU and {gpus:g} GPU" if gpus else "1 CPU"


def _has(nodes: Sequence[Node]) -> str:
    """What the machines have, all together."""
    cores, gpus = (sum(n["Resources"].get(kind, 0) for n in nodes) for kind in ("CPU", "GPU"))
    return f"{_nodes(len(nodes))} with {cores:g} CPU and {gpus:g} GPU in all"


def _scarcity(call: Call, gpus: float) -> str:
    free = call("free").result()
    return (
        f"each needs {_needs(gpus)}, and {free.get('CPU', 0):g} CPU and {free.get('GPU', 0):g} GPU "
        "of the cluster of Ray are free: wait, or use fewer workers (--workers)"
    )


def _starter(call: Call, content: bytes, gpus: float) -> Callable[[], RayWorker]:
    """Starts a worker."""
    variables = {name: os.environ.get(name, one) for name, one in ONE_THREAD.items()}
    folder = os.getcwd()
    site = [path or folder for path in sys.path], folder, import_module("surefoot").__version__
    package = call("prepare", content, variables, gpus, site).result()
    return lambda: RayWorker(call, package)


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"
