"""PyTorch modules read from files: exported, scripted, or (trusted only) pickled."""

from __future__ import annotations

import gc
import io
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.models.archive import (
    is_export,
    is_script,
    pack_parts,
    plain_export,
    plain_script,
    read_parts,
)
from surefoot.system.user_code import error_text, missing_code


def require_torch() -> Any:  # noqa: ANN401  the module
    """PyTorch, or the line that installs it."""
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(
            "this model needs PyTorch: pip install torch (surefoot's extra 'torch')"
        ) from error
    return torch


def read_module(path: Path, trust: bool) -> Any:  # noqa: ANN401  an object of Torch
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


def _loaded(path: Path, load: Callable[[], Any]) -> Any:  # noqa: ANN401  an object of Torch
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


def _unpickle(path: Path, trust: bool, what: str) -> Any:  # noqa: ANN401  an object of Torch
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


def _plain_content(path: Path) -> Any:  # noqa: ANN401  any content
    """What the safe unpickler reads from a pickle, running no code; None where it refuses."""
    torch = require_torch()
    try:
        return _loaded(path, lambda: torch.load(str(path), map_location="cpu", weights_only=True))
    except InvalidArgument as error:
        if isinstance(error.__cause__, MemoryError | RuntimeError):
            raise  # damaged, or too large for the child process that tries it first
        return None


def _refuse_weights(path: Path, content: Any) -> None:  # noqa: ANN401  what Torch gives
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
