"""PyTorch modules read from files: exported, scripted, or (trusted only) pickled."""

from __future__ import annotations

import gc
import importlib
import io
import math
import os
import signal
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.models.archive import (
    is_export,
    is_script,
    pack_parts,
    plain_export,
    plain_script,
    read_parts,
)
from surefoot.subject.protocols import Item
from surefoot.system.user_code import error_text, missing_code

if TYPE_CHECKING:
    from torch.nn import Module


def require_torch() -> ModuleType:
    """PyTorch, or the line that installs it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackage(
            "this model needs PyTorch: pip install torch (surefoot's extra 'torch')"
        ) from error


def read_module(path: Path, trust: bool) -> Module:
    """The module in a file: exported, scripted, or (trusted only) pickled."""
    torch = require_torch()
    if not zipfile.is_zipfile(path):
        return _unpickle(path, trust, "is not an exported or scripted PyTorch model")
    parts = read_parts(path)
    exported, scripted = is_export(parts), is_script(parts)
    if not (exported or scripted):
        return _unpickle(path, trust, "is a pickle")
    file: str | io.BytesIO = str(path)
    if not trust:
        try:
            file = pack_parts(
                plain_export(parts, _tensors_only) if exported else plain_script(parts)
            )
        except ValueError as error:
            raise InvalidArgument(
                f"{path} {error}, which could run code when the model is read or used: convert it "
                "to ONNX, or pass --trust (trust=True) if you made the file yourself"
            ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a damaged file, and the end of TorchScript
        if exported:
            return _loaded(path, lambda: torch.export.load(file).module())
        return _loaded(path, lambda: torch.jit.load(file, map_location="cpu").eval())


def _loaded(path: Path, load: Callable[[], Module]) -> Module:
    try:
        with _collection_paused():
            return load()
    except Exception as error:
        text, missing = error_text(error), missing_code(error)
        if missing:
            raise InvalidArgument(
                f"{path} cannot be read ({text}): {missing}; or export it with torch.export.save"
            ) from error
        raise InvalidArgument(
            f"{path} cannot be read as a PyTorch model ({text}): export it again"
        ) from error


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Python looks for no garbage meanwhile.

    The first export that is read imports a thousand modules, all of which stay: looking among them
    takes a quarter of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
    """Refuse a PyTorch file that takes too much memory or time for its first answer."""
    torch = require_torch()
    if path.suffix.lower() == ".pt2":  # here, since a child would import it for itself alone
        with suppress(ImportError):
            importlib.import_module("torch._export.serde.serialize")

    def answer_one() -> None:
        module = read_module(path, trust=False)
        with torch.inference_mode():
            module(torch.zeros((1, *shape)))

    try_in_child(path, answer_one, 4 * math.prod(shape))


def try_in_child(path: Path, run: Callable[[], object], input_bytes: int) -> None:
    """Refuse a file if `run`, which reads and uses it, takes too much memory or time.

    What else goes wrong there goes wrong here too, and is said then.
    """
    if sys.platform != "linux":
        return
    more = _BASE_BYTES + _PER_FILE_BYTE * path.stat().st_size + _PER_INPUT_BYTE * input_bytes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside other threads
        child = os.fork()
    if child == 0:
        _child(run, more)
    status = _wait(child)
    if status == _FINE:
        return
    if status == _TOO_LARGE:
        raise InvalidArgument(
            f"{path} takes more than {more / 2**30:.0f} GiB to read and to answer one input: "
            f"{_WAY_OUT}"
        )
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        raise InvalidArgument(
            f"{path} takes more than {CPU_SECONDS} s to read and to answer one input: {_WAY_OUT}"
        )
    raise InvalidArgument(f"{path} ends the process that reads or runs it: {_WAY_OUT}")


def _child(run: Callable[[], object], more: int) -> None:
    import resource

    code = _FINE
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + more)
        _limit(resource.RLIMIT_CPU, CPU_SECONDS)
        _limit(resource.RLIMIT_CORE, 0)
        sys.modules["torch"].set_num_threads(1)  # threads of the parent are not in this process
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
