"""The model's device: arrays to and from it, CUDA streams, an early start, a bench for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.counts import Answer
from surefoot.core.tasks import Bench
from surefoot.engine.streams import generator_for, usable
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.executors.devices import DeviceBench
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Drawn, Model, Outputs, to_host
from surefoot.system.memory_limits import no_garbage_collection

if TYPE_CHECKING:
    import torch


def on_device_of(like: Array, values: NDArray[np.generic]) -> Array:
    """The values in the namespace and on the device of `like`.

    A GPU gets them without waiting for its earlier work.
    """
    if isinstance(like, np.ndarray):
        return values
    if getattr(like, "is_cuda", False):
        import torch

        return torch.from_numpy(values).pin_memory().to(like.device, non_blocking=True)
    return array_namespace(like).asarray(values, device=device(like))


def concatenated(parts: list[Array]) -> Array:
    """The parts one after the other, as one array; a single part is not copied."""
    return parts[0] if len(parts) == 1 else array_namespace(parts[0]).concat(parts, axis=0)


def draw_rows(drawn: Drawn, start: int, stop: int) -> Drawn:
    """Rows [start, stop) of drawn parameters: an array, or tuples of arrays."""
    if isinstance(drawn, tuple):
        return tuple(draw_rows(part, start, stop) for part in drawn)
    return drawn[start:stop]


def draws_together(parts: list[Drawn]) -> Drawn:
    """Drawn parameters one after the other."""
    if isinstance(parts[0], tuple):
        return tuple(draws_together(list(column)) for column in zip(*parts, strict=True))
    return concatenated(parts)


def nan_where_not_finite(outputs: Outputs, severity: Array, limit: float) -> NDArray[np.float64]:
    """The severities in main memory, NaN where an output is no finite number."""
    if isinstance(outputs, list):
        return np.asarray(severity, dtype=np.float64)
    xp, on_host = array_namespace(outputs), isinstance(severity, np.ndarray)
    if (
        isinstance(outputs, np.ndarray)
        and on_host
        and np.issubdtype(severity.dtype, np.floating)
        and np.isfinite(outputs).all()
    ):
        return in_double_precision(np.asarray(severity), limit)
    finite = xp.all(xp.reshape(xp.isfinite(outputs), (len(outputs), -1)), axis=1)
    if on_host:  # judged in main memory
        xp, finite = np, to_host(finite)
    return in_double_precision(to_host(xp.where(finite, severity, xp.nan)), limit)


def in_double_precision(severities: NDArray[np.floating], limit: float) -> NDArray[np.float64]:
    """The same severities on the same side of the limit; one that is the limit, rounded, is it.

    So 0.7 in single precision reaches 0.7 wherever it is compared afterwards.
    """
    doubles = severities.astype(np.float64)
    if not np.issubdtype(severities.dtype, np.floating) or severities.dtype == np.float64:
        return doubles
    with np.errstate(over="ignore"):
        return np.where(severities == severities.dtype.type(limit), limit, doubles)


_local = threading.local()


@contextmanager
def worker_stream(like: Array) -> Iterator[None]:
    """Run this thread's work on its own CUDA stream; does nothing if `like` is not on a GPU."""
    if not getattr(like, "is_cuda", False):
        yield
        return
    import torch

    streams: dict[torch.device, torch.cuda.Stream] = _local.__dict__.setdefault("streams", {})
    if like.device not in streams:
        streams[like.device] = torch.cuda.Stream(like.device)
    with torch.cuda.stream(streams[like.device]):
        yield


@contextmanager
def memory_errors() -> Iterator[None]:
    """A GPU that is full raises `MemoryError`, as main memory does; PyTorch has its own error."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ == "OutOfMemoryError":  # torch may not be there
            raise MemoryError(str(error)) from error
        raise


def synchronized(array: Array) -> Array:
    """The array, once every CUDA stream may read it."""
    if getattr(array, "is_cuda", False):
        import torch

        torch.cuda.synchronize(array.device)
    return array


_begun: dict[str, threading.Thread] = {}


def prepare_gpu(device: object) -> threading.Thread | None:
    """Begin to make the first GPU of this name ready; nothing for other devices. Returns at once.

    The thread is none that ends with the program: PyTorch does not bear to be cut off.
    """
    if not isinstance(device, str) or not device.startswith("cuda"):
        return None
    if device not in _begun:
        _begun[device] = threading.Thread(target=_prepare, args=(device,), name="gpu")
        _begun[device].start()
    return _begun[device]


def _prepare(device: str) -> None:
    with no_garbage_collection(), suppress(Exception):
        torch = import_torch()
        name = "cuda:0" if device == "cuda" else device.partition(",")[0]
        if not torch.cuda.is_available():
            return
        open_gpu(torch, name)
        libraries = threading.Thread(
            target=load_libraries, args=(torch, name), name="gpu libraries"
        )
        libraries.start()
        usable(name)


def import_torch() -> ModuleType:
    """PyTorch."""
    return import_module("torch")


def open_gpu(torch: ModuleType, name: str) -> None:
    """The context of the GPU: its first use opens it."""
    torch.zeros(1, device=name)


def load_libraries(torch: ModuleType, name: str) -> None:
    """cuDNN and cuBLAS, which are loaded with the first convolution and the first product."""
    with suppress(Exception), torch.inference_mode():
        x = torch.zeros((1, 1, 8, 8), device=name)
        torch.nn.functional.conv2d(x, x[:, :, :3, :3])
        x.reshape(8, 8) @ x.reshape(8, 8)


def within_memory(
    run: Callable[[int], object], where: torch.device | None, workers: int
) -> Callable[[int], object]:
    """The same run; out of memory where as many workers would need more than the GPU has free."""
    if where is None or where.type != "cuda":
        return run

    def bounded(size: int) -> None:
        import torch

        torch.cuda.reset_peak_memory_stats(where)  # what other models needed before says nothing
        run(size)
        room = torch.cuda.mem_get_info(where)[0] + torch.cuda.memory_reserved(where)
        if workers * torch.cuda.max_memory_allocated(where) > room:
            raise OutOfMemory(f"{workers} batches of {size} trials do not fit into {where}")

    return bounded


def device_of(bench: Bench[Answer]) -> torch.device | None:
    """The device of the bench's model; None for models without one."""
    model = getattr(bench, "model", None)
    return getattr(getattr(model, "model", model), "device", None)


def device_benches(bench: Bench[Answer]) -> list[DeviceBench]:
    """One bench for each device, the bench itself first; empty where there is one device only.

    Every device has to draw the same random numbers: a result would depend on who answered.
    """
    model: Model | None = getattr(bench, "model", None)
    copies: Sequence[Model] = getattr(model, "replicas", ())
    if model is None or not copies or not is_dataclass(bench):
        return []
    inputs: Inputs = bench.inputs
    of_model = [f.name for f in fields(bench) if getattr(bench, f.name) is model]
    several = [bench, *(replace(bench, **dict.fromkeys(of_model, copy)) for copy in copies)]
    named = [DeviceBench(str(device_of(one)), one) for one in several]
    generators = {
        one.device: generator_for(own.place(inputs.x[:1]))
        for one, own in zip(named, (model, *copies), strict=True)
    }
    first, *others = generators
    for name in others:
        if generators[name] != generators[first]:
            raise InvalidArgument(
                f"{first} draws random numbers by {generators[first]} and {name} by "
                f"{generators[name]}: choose GPUs of one kind (--device {first})"
            )
    return named
