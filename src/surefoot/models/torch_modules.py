"""PyTorch modules: read from files, named by a digest, copied to devices, put around a function."""

from __future__ import annotations

import copy
import hashlib
import importlib
import io
import math
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from surefoot.errors import InvalidArgument, needing, refusing
from surefoot.models import archive
from surefoot.models.exported import NotPlain, is_plain, read_exported
from surefoot.subject.protocols import Array, Item
from surefoot.system.child_process import silence
from surefoot.system.confinement import can_confine, confine
from surefoot.system.memory_limits import no_garbage_collection
from surefoot.system.user_code import error_text, missing_code

if TYPE_CHECKING:
    import torch
    from torch.nn import Module


def require_torch() -> ModuleType:
    """PyTorch, or the line that installs it."""
    with needing("PyTorch is needed here: pip install torch (surefoot's extra 'torch')"):
        return importlib.import_module("torch")


def read_module(path: Path, trust: bool) -> Module:
    """The module in a file: exported, scripted, or (trusted only) pickled."""
    torch = require_torch()
    if not archive.is_archive(path):
        return _unpickle(path, trust, "is not an exported or scripted PyTorch model")
    parts = archive.read_parts(path)
    exported, scripted = archive.is_export(parts), archive.is_script(parts)
    if not (exported or scripted):
        return _unpickle(path, trust, "is a pickle")
    if not trust:
        try:
            parts = (
                archive.plain_export(parts, _tensors_only)
                if exported
                else archive.plain_script(parts)
            )
        except ValueError as error:
            raise InvalidArgument(
                f"{path} {error}, which could run code when the model is read or used: convert it "
                "to ONNX, or pass --trust (trust=True) if you made the file yourself"
            ) from error
    if exported:
        with suppress(NotPlain):
            return read_exported(parts)
    file = str(path) if trust else archive.pack_parts(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a damaged file, and the end of TorchScript
        if exported:
            return _loaded(path, lambda: torch.export.load(file).module())
        return _loaded(path, lambda: torch.jit.load(file, map_location="cpu").eval())


def _loaded(path: Path, load: Callable[[], Module]) -> Module:
    try:
        # The first export that is read imports a thousand modules, all of which stay: looking for
        # garbage among them takes a quarter of the time.
        with no_garbage_collection():
            return load()
    except Exception as error:
        missing = missing_code(error)
        kind, way_out = " as a PyTorch model", "export it again"
        if missing:
            kind, way_out = "", f"{missing}; or export it with torch.export.save"
        what = f"{path} cannot be read{kind} ({error_text(error)})"
        raise InvalidArgument(f"{what}: {way_out}") from error


def _tensors_only(content: bytes) -> bool:
    """Whether the safe unpickler reads it; where it does not, torch takes the full one."""
    try:
        require_torch().load(io.BytesIO(content), weights_only=True)
    except Exception:  # noqa: BLE001  whatever it is, it is not plain tensors
        return not content
    return True


def _unpickle(path: Path, trust: bool, what: str) -> Module:
    if not trust:
        _refuse_weights(path, _plain_content(path))
        raise InvalidArgument(
            f"{path} {what}; reading one can run any code: export it with torch.export.save, or "
            "pass --trust (trust=True) if you made the file yourself"
        )
    torch = require_torch()
    module = _loaded(path, lambda: torch.load(str(path), map_location="cpu", weights_only=False))
    if not hasattr(module, "forward"):
        _refuse_weights(path, module)
        raise InvalidArgument(
            f"{path} holds {type(module).__name__}, not a network: save or export the module"
        )
    return module.eval()


def _plain_content(path: Path) -> Item:
    """What the safe unpickler reads from a pickle, running no code; None where it refuses."""
    torch = require_torch()
    try:
        return _loaded(path, lambda: torch.load(str(path), map_location="cpu", weights_only=True))
    except InvalidArgument as error:
        if isinstance(error.__cause__, MemoryError | RuntimeError):
            raise  # damaged, or too large for the child process that tries it first
        return None


def _refuse_weights(path: Path, content: Item) -> None:
    """Refuse weights that were saved without their network, also as part of a checkpoint."""
    if not isinstance(content, Mapping):
        return
    tensor = require_torch().Tensor
    inner = [value for value in content.values() if isinstance(value, Mapping)]
    if any(isinstance(value, tensor) for part in (content, *inner) for value in part.values()):
        raise InvalidArgument(
            f"{path} holds weights (a state_dict), not the network that they belong to: in Python "
            "load them into its module (module.load_state_dict), then pass the module to surefoot "
            "or export it with torch.export.save"
        )


CPU_SECONDS = 60
"""For one input: the largest image classifiers take about 10 s on one core."""
_WALL_SECONDS = 600.0
"""Where the child waits for something instead of computing."""
_BASE_BYTES = 4 * 2**30
"""Above what this process has, for the activations of one input."""
_PER_FILE_BYTE = 8
"""The archive, a checked copy, the weights, and what an export makes of them."""
_PER_INPUT_BYTE = 256
"""Activations: a network keeps up to 64 channels at full size, several layers at a time."""
_TOO_LARGE, _FINE = 9, 0
_MEMORY_WORDS = ("allocate", "memory", "bad_alloc")
_PAUSE = 0.005
"""Between two looks at whether the child has ended, in seconds."""
_WAY_OUT = (
    "convert the model to ONNX, or pass --trust (trust=True) if you made the file yourself and "
    "this machine is large enough"
)


def try_file(path: Path, shape: tuple[int, ...]) -> None:
    """Refuse a PyTorch file that takes too much memory or time for its first answer.

    It is tried in a child process. What else goes wrong there goes wrong here too, and is said
    then.
    """
    torch = require_torch()
    if (
        path.suffix.lower() == ".pt2"
        and archive.is_archive(path)
        and not is_plain(archive.read_parts(path))
    ):
        # here, since a child would import it for itself alone
        with suppress(ImportError):
            importlib.import_module("torch._export.serde.serialize")

    def answer_one() -> None:
        module = read_module(path, trust=False)
        with torch.inference_mode():
            module(torch.zeros((1, *shape)))

    if sys.platform != "linux":
        return
    input_bytes = 4 * math.prod(shape)
    more = _BASE_BYTES + _PER_FILE_BYTE * path.stat().st_size + _PER_INPUT_BYTE * input_bytes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside other threads
        child = os.fork()
    if child == 0:
        _child(answer_one, more)
    status = _wait(child)
    if status == _FINE:
        return
    what = "ends the process that reads or runs it"
    if status == _TOO_LARGE:
        what = f"takes more than {more / 2**30:.0f} GiB to read and to answer one input"
    elif status in (-signal.SIGXCPU, -signal.SIGKILL):
        what = f"takes more than {CPU_SECONDS} s to read and to answer one input"
    raise InvalidArgument(f"{path} {what}: {_WAY_OUT}")


def _child(run: Callable[[], object], more: int) -> None:
    import resource

    code = _FINE
    try:
        silence()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + more)
        _limit(resource.RLIMIT_CPU, CPU_SECONDS)
        _limit(resource.RLIMIT_CORE, 0)
        sys.modules["torch"].set_num_threads(1)  # threads of the parent are not in this process
        if can_confine():
            confine()
        run()
    except BaseException as error:  # noqa: BLE001  of the file: the parent says it
        text = error_text(error).lower()
        if isinstance(error, MemoryError) or any(word in text for word in _MEMORY_WORDS):
            code = _TOO_LARGE
    finally:
        os._exit(code)


def _limit(which: int, value: int) -> None:
    import resource

    _, most = resource.getrlimit(which)
    resource.setrlimit(which, (value if most < 0 else min(value, most), most))


def _wait(child: int) -> int:
    """The exit status of the child; a signal that ended it as a negative number."""
    until = time.monotonic() + _WALL_SECONDS
    try:
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                child = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(_PAUSE)
        return -signal.SIGKILL
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def scores_tensor(output: Item) -> Array:
    """The scores among what a module may return: a tensor, `.logits`, or a tuple of them."""
    if hasattr(output, "logits"):
        return output.logits
    for name in ("logits", "out"):  # Transformers; segmentation of torchvision
        if isinstance(output, dict) and name in output:
            return output[name]
    return output[0] if isinstance(output, tuple | list) else output


def on_device(module: Module, device: str | None) -> tuple[Module, torch.device, torch.dtype]:
    """The module on its device, the device, and the type of its weights."""
    torch = require_torch()
    weights = next(iter(module.parameters()), None) if hasattr(module, "parameters") else None
    where = getattr(weights, "device", torch.device("cpu"))
    if device:
        way_out = "pass cpu, or cuda on a machine that has it"
        with refusing(f"device {device!r} cannot be used", way_out, Exception, words=first_line):
            where = torch.device(device)
            module = module.to(where)
    if weights is None or not weights.is_floating_point():
        return module, where, torch.float32
    return module, where, weights.dtype


def copy_module(module: Module) -> Module:
    """A copy, weights and buffers too; PyTorch warns of its own exported modules meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return copy.deepcopy(module)


def first_line(error: BaseException) -> str:
    """The beginning of what an error of PyTorch says."""
    return str(error).strip().partition("\n")[0][:120]


def module_digest(module: Module) -> str:
    """A name for the structure and the weights of a module."""
    torch = require_torch()
    whole = hashlib.sha256(repr(module).encode())
    for name, value in sorted(module.state_dict().items()):
        if not isinstance(value, torch.Tensor):
            whole.update(f"{name}\0{value!r}\0".encode())
            continue
        whole.update(f"{name}\0{tuple(value.shape)}\0{value.dtype}\0".encode())
        whole.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return whole.hexdigest()


def logits_module(forward: Callable[[Array], Array], inner: Module | None = None) -> Module:
    """A module that runs `forward` and has the parameters of `inner`.

    It stays on its device and in evaluation mode, whatever a library does with it.
    """
    torch = require_torch()

    class Logits(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.training = False
            if isinstance(inner, torch.nn.Module):
                self.inner = inner

        def forward(self, x: Array) -> Array:
            return forward(x)

        def train(self, mode: bool = True) -> Module:
            return self

        def _apply(self, fn: Callable[[Array], Array], recurse: bool = True) -> Module:
            return self

    return Logits()


@lru_cache(maxsize=1)
def _threads_of_process() -> int:
    """As they were before any worker changed them."""
    return int(require_torch().get_num_threads())


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it PyTorch takes one thread on the processor: each core has a worker of its own."""
    torch, usual = require_torch(), _threads_of_process()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


@contextmanager
def fixed_parameters(module: Module) -> Iterator[None]:
    """No gradient reaches the parameters: `backward` then leaves nothing behind in the model."""
    changed = [p for p in module.parameters() if p.requires_grad]
    for parameter in changed:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in changed:
            parameter.requires_grad_(True)


_NUMBERED = re.compile(r"([a-z]+):(\d+(?:,\d+)*)")


def device_names(device: str | None) -> tuple[str, ...]:
    """The name of each device: `cuda` is every GPU, `cuda:0,2` these two; empty without a word.

    `cpu:0,1` is two copies on the processor.
    """
    if not device:
        return ()
    if device == "cuda":
        return _gpus(device)
    numbered = _NUMBERED.fullmatch(device.replace(" ", ""))
    if numbered is None:
        return (device,)
    kind, numbers = numbered[1], [int(n) for n in numbered[2].split(",")]
    names = [f"{kind}:{n}" for n in numbers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"device {device!r} names {twice} twice: name each device once")
    if kind == "cuda":
        present = _gpus(device)
        missing = next((name for name in names if name not in present), None)
        if missing is not None:
            titles = map(require_torch().cuda.get_device_name, range(len(present)))
            there = ", ".join(f"{n} ({title})" for n, title in zip(present, titles, strict=True))
            raise InvalidArgument(
                f"device {device!r}: there is no {missing} here, only {there}: name one that is "
                "there"
            )
    return tuple(names)


def _gpus(device: str) -> tuple[str, ...]:
    """Every GPU that PyTorch can use here."""
    names = tuple(f"cuda:{n}" for n in range(require_torch().cuda.device_count()))
    if not names:
        raise InvalidArgument(
            f"device {device!r} cannot be used: PyTorch can use no GPU here, only cpu; pass cpu, "
            "or install a PyTorch for this machine's GPU"
        )
    return names


def copies_for(module: Module, names: Sequence[str]) -> dict[str, Module]:
    """A copy of the module for each of these devices, not on it yet."""
    what = "each device gets a copy of the model, and this module cannot be copied"
    way_out = "choose one device, such as cuda:0 (--device cuda:0)"
    with refusing(what, way_out, Exception, words=first_line):
        return {name: copy_module(module) for name in names}


def current_device(device: torch.device) -> AbstractContextManager[None]:
    """Within it a GPU without a number is this one, as models write `device="cuda"`."""
    if device.type != "cuda":
        return nullcontext()
    context: AbstractContextManager[None] = require_torch().cuda.device(device)
    return context
