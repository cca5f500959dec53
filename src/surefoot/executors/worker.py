"""A bench on another process: sent as bytes, rebuilt there, its answers compared first."""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import pickle
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache, partial
from multiprocessing import spawn
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.compiled.library import compiled_library
from surefoot.core.tasks import Answers, AnyBench, Subject, Task
from surefoot.errors import InvalidArgument, SurefootError, WorkerFailed
from surefoot.models.call_limit import LATE, USUAL_SECONDS, end_late_calls, limit_of_program
from surefoot.models.python import import_file, is_file_module, source_digest
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import digest_of_object
from surefoot.subject.protocols import Array, Item, Model, Outputs, Perturbation, to_host
from surefoot.system.child_process import begin_child, end_with
from surefoot.system.user_code import error_text, ignore_number_warnings

_QUESTIONS = 4
"""Inputs, and trials of the first one: enough that another model gives another answer."""
_ALIKE = 1e-3
"""How far answers of two processes may differ, as a share of the largest: libraries add up in
another order where they have another number of threads."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables by which numerical libraries take one thread for each process, read on import."""
Values = NDArray[np.generic] | list[str]
"""Numbers, or a digest of each object."""


def self_check(bench: AnyBench) -> list[Values]:
    """Outputs for a few clean inputs, and a few perturbed ones; empty for a bench without a model.

    A perturbation whose level the method chooses is tried at its highest, or at 1.
    """
    model: Model | None = getattr(bench, "model", None)
    inputs: Inputs | None = getattr(bench, "inputs", None)
    if model is None or inputs is None:
        return []
    answers = [_values(model.predict(model.place(inputs.x[:_QUESTIONS])))]
    perturbed: Callable[[Sequence[Task]], Array] | None = getattr(bench, "perturbed_all", None)
    perturbation: Perturbation | None = getattr(bench, "perturbation", None)
    if perturbed is None or perturbation is None:
        return answers
    level = perturbation.level
    if level is None:
        highest = perturbation.levels(model.signature.bounds).high
        level = highest if np.isfinite(highest) else 1.0
    first = Task(Subject(inputs.ids[0], (0,)), level, 0, _QUESTIONS)
    return [*answers, _values(perturbed([first]))]


def answers_alike(own: list[Values], expected: list[Values]) -> bool:
    """Whether they are the same but for rounding."""
    return len(own) == len(expected) and all(map(_alike, own, expected))


def _values(answer: Outputs) -> Values:
    """Numbers as they are; objects by a digest of each."""
    if isinstance(answer, list):
        return [digest_of_object(one) for one in answer]
    values = to_host(answer)
    return [digest_of_object(one) for one in values] if values.dtype == object else values


def _alike(one: Values, other: Values) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return bool(one == other)
    if one.shape != other.shape:
        return False
    finite = np.abs(other[np.isfinite(other)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(one, other, rtol=0, atol=_ALIKE * scale, equal_nan=True))


T = TypeVar("T")
P = ParamSpec("P")
Reduced = tuple[Callable[..., Item], tuple[Item, ...]]
"""How pickle makes a value again: a function and its arguments."""
Reply = tuple[Item, BaseException | None]
"""What a process sends back: answers, or what went wrong."""
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

    `main` is the running script, where a part is defined in it; `call_limit`: of a prediction.
    """

    digest: str
    content: bytes = field(repr=False, compare=False)
    expected: list[Values] = field(repr=False, compare=False)
    main: str = field(default="", compare=False)
    call_limit: float = field(default=USUAL_SECONDS, compare=False)

    def open(self) -> AnyBench:
        """The bench; files are read and functions imported here, and its answers compared."""
        bench: AnyBench = pickle.loads(self.content)  # noqa: S301  made by `pack` in the parent process
        if not answers_alike(self_check(bench), self.expected):
            raise CannotSend(
                "the model or the perturbation answers otherwise in another process: it depends on "
                "something that was set while this one ran; set it where it is imported, or use "
                "executor threads (--executor threads)"
            )
        return bench


def pack(bench: AnyBench) -> Package:
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
    content, limit = buffer.getvalue(), limit_of_program()
    digest = hashlib.sha256(content).hexdigest()
    return Package(digest, content, self_check(bench), pickler.main, limit)


class _Pickler(pickle.Pickler):
    """Fields of our own values without what they cached; functions and classes by where they are.

    A file that was named by its path is read again by its path, whatever else has its name.
    """

    main = ""

    def reducer_override(self, thing: Item) -> Any:  # noqa: ANN401  as pickle has it
        if isinstance(thing, Inputs) and thing.digest_item is not None:
            thing = replace(thing, digest_item=None)
        elif isinstance(thing, FunctionType | type):
            return self._by_name(thing)
        own = type(thing)
        plain = is_dataclass(thing) and own.__module__.startswith("surefoot.")
        if plain and hasattr(thing, "__dict__") and "__reduce__" not in vars(own):
            return _with_fields, (own, {f.name: getattr(thing, f.name) for f in fields(thing)})
        return NotImplemented

    def _by_name(self, thing: FunctionType | type) -> Any:  # noqa: ANN401  as pickle has it
        module = sys.modules.get(thing.__module__ or "")
        if module is None or thing.__module__.startswith("surefoot."):
            return NotImplemented
        file = str(module.__file__) if is_file_module(module) else ""
        if thing.__module__ == _MAIN:
            script = getattr(module, "__file__", None)
            if script is None or not Path(script).is_file():
                raise CannotSend(
                    f"{thing.__qualname__} is defined in a notebook or at a prompt, which other "
                    f"processes cannot read: {_WAY_OUT}"
                )
            self.main = str(Path(script).resolve())
        elif not file and isinstance(thing, type):
            return NotImplemented
        wrapped = _is_wrapped(module, thing)
        place = file or str(getattr(module, "__file__", ""))
        return _named, (
            file, module.__name__, thing.__qualname__, wrapped, self.main,
            (place, source_digest(module)),
        )  # fmt: skip


def _with_fields(own: type[T], values: dict[str, Item]) -> T:
    """A value with these fields, which were checked when it was first made."""
    value = object.__new__(own)
    vars(value).update(values)
    return value


def _is_wrapped(module: ModuleType, thing: FunctionType | type) -> bool:
    """Whether the name stands for a perturbation made of the function (`@sf.perturb.custom`).

    Refused where the name leads to neither: a lambda, or a function inside another.
    """
    value = None
    with suppress(AttributeError):
        value = attrgetter(thing.__qualname__)(module)
    if value is thing:
        return False
    if value is not None and getattr(value, "function", None) is thing:
        return True
    raise CannotSend(
        f"{thing.__qualname__} of {module.__name__} cannot be sent to other processes, which find "
        f"functions by their name at the top of a module: {_WAY_OUT}"
    )


def _named(
    file: str, module: str, name: str, wrapped: bool, main: str, source: tuple[str, str]
) -> Item:
    """What a name leads to, in this process; its file must be the one that the run began with."""
    path, digest = source
    if digest and hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
        raise CannotSend(
            f"{path} has changed since it was imported, so that other processes would run another "
            "model: begin the run again, or use executor threads (--executor threads)"
        )
    if main and module == _MAIN:
        _run_script(main)
    found = import_file(Path(file)) if file else importlib.import_module(module)
    value = attrgetter(name)(found)
    return value.function if wrapped else value


@lru_cache(maxsize=1)
def _run_script(path: str) -> None:
    """Run the script of the parent process once, so that what it defines is here too."""
    spawn.prepare({"init_main_from_path": path})


@dataclass
class _State:
    """Of this process: whether it works for another, its bench, or why it has none."""

    begun: bool = False
    bench: AnyBench | None = None
    error: SurefootError | None = None


_state = _State()


def serve(pipe: Connection[Reply, Item], parent: int) -> None:
    """The life of a worker process: open the bench that comes first, then answer batch by batch.

    It ends with the other end of `parent`, a pipe that the parent process holds, and with a
    prediction that is late, which only the end of the process stops.
    """
    leave = partial(os._exit, LATE)
    _state.begun = True
    ignore_number_warnings()
    begin_child()
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    with suppress(EOFError, OSError):  # the parent has ended, or closed its end
        package = pipe.recv()
        end_late_calls(lambda _: leave(), package.call_limit)
        load(package)
        pipe.send(_reply(ready))
        while True:
            pipe.send(_reply(answer, pipe.recv()))


def _reply(ask: Callable[P, Item], *args: P.args, **kwargs: P.kwargs) -> Reply:
    """What came of it; an error that cannot travel, as its words."""
    try:
        return ask(*args, **kwargs), None
    except BaseException as error:  # noqa: BLE001  whatever code of the user raises
        return None, sendable(error)


def sendable(error: BaseException) -> BaseException:
    """The error, where it can be pickled both ways; else its words."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  made in this line
    except Exception:  # noqa: BLE001  whatever its class does
        return WorkerFailed(
            f"{type(error).__name__}: {error_text(error)}: correct what raises it, or use executor "
            "threads (--executor threads)"
        )
    return error


def settle(future: Future[T], value: Any, error: BaseException | None) -> None:  # noqa: ANN401  its own
    """What came of it, unless it is done, or nobody waits for it any more."""
    with suppress(InvalidStateError):
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def refuse_nested() -> None:
    """Refuse a run within a worker."""
    if _state.begun:
        raise InvalidArgument(
            "a worker process runs the script that started it, and the script begins a run "
            'again: put what it does below if __name__ == "__main__":'
        )


def load(package: Package) -> None:
    """Open the bench; an error is kept for whoever asks, since a process that ends says nothing."""
    _state.begun = True
    try:
        _state.bench = package.open()
    except SurefootError as error:
        _state.error = error
    except BaseException as error:  # noqa: BLE001  whatever code of the user raises
        text = error_text(error)
        _state.error = CannotSend(
            f"a worker process cannot load what it was sent ({type(error).__name__}: {text}): use "
            "executor threads (--executor threads)"
        )


def is_worker() -> bool:
    """Whether this process works for another."""
    return _state.begun


def _bench() -> AnyBench:
    if _state.error is not None or _state.bench is None:
        raise _state.error or WorkerFailed("a worker process has no bench: begin the run again")
    return _state.bench


def ready() -> None:
    """Raises what went wrong when the bench was opened."""
    _bench()


def answer(tasks: Sequence[Task]) -> Answers:
    """The evidence of each task, by the bench of this process."""
    return _bench().answer(tasks)


def answer_package(package: Package, tasks: Sequence[Task]) -> Answers:
    """The same with a bench that comes with the tasks; a process opens it once."""
    return _opened(package).answer(tasks)


@lru_cache(maxsize=2)
def _opened(package: Package) -> AnyBench:
    return package.open()


class BatchPool(Executor):
    """An executor to which only `bench.answer` can be submitted: every worker has a bench.

    So a batch takes the tasks alone to it.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The answer to a batch, by any worker."""
        return cast("Future[T]", self.submit_tasks(cast("Sequence[Task]", args[0])))

    @abstractmethod
    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """After an error nothing is waited for, and what has not begun is dropped."""
        self.shutdown(wait=error is None, cancel_futures=error is not None)


def _end_with_parent(pipe: int) -> None:
    """End as soon as the parent process has ended, however it did.

    Compiled code does that also while the model keeps the lock of Python.
    """
    compiled = compiled_library()
    if compiled is not None and hasattr(compiled, "end_with_pipe"):
        compiled.end_with_pipe(pipe, 1)
    end_with(pipe)
