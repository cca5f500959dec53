"""The devices of a PyTorch model: their names, and a copy of the model on each further one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.models.scores import probe
from surefoot.models.torch_files import require_torch
from surefoot.models.torch_modules import copy_module, first_line, on_device

_NUMBERED = re.compile(r"([a-z]+):(\d+(?:,\d+)*)")
_WAYS = "pass cpu, cuda (every GPU), or GPUs by number, such as cuda:0,2"


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
            cuda = require_torch().cuda
            there = ", ".join(
                f"{name} ({cuda.get_device_name(i)})" for i, name in enumerate(present)
            )
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


def copies_for(module: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401  an object of Torch
    """A copy of the module for each of these devices, not on it yet."""
    try:
        return {name: copy_module(module) for name in names}
    except Exception as error:
        raise InvalidArgument(
            f"each device gets a copy of the model, and this module cannot be copied "
            f"({first_line(error)}): choose one device, such as cuda:0 (--device cuda:0)"
        ) from error


def replicas(model: Any, modules: Mapping[str, Any]) -> tuple[Any, ...]:  # noqa: ANN401  TorchModel
    """The model with each of these modules, on the device that it is named by.

    Devices are prepared side by side, as each takes a moment to begin.
    """
    if not modules:
        return ()
    with ThreadPoolExecutor(len(modules)) as pool:
        return tuple(pool.map(lambda item: _replica(model, *item), modules.items()))


def _replica(model: Any, name: str, module: Any) -> Any:  # noqa: ANN401  an object of Torch
    module, where, _ = on_device(module, name)
    own = replace(model, run=module, device=where)
    try:
        own.rows(own.place(probe(own.signature.shape, own.signature.bounds)))
    except SurefootError as error:
        raise InvalidArgument(
            f"the model runs on {model.device}, but not on {name} ({error}): {_WAYS}"
        ) from error
    return own


def current_device(device: Any) -> AbstractContextManager[Any]:  # noqa: ANN401  torch.device
    """Within it a GPU without a number is this one, as models write `device="cuda"`."""
    if device.type != "cuda":
        return nullcontext()
    context: AbstractContextManager[Any] = require_torch().cuda.device(device)
    return context
