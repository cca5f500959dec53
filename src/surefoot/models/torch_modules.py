"""PyTorch modules: digest, precision, copies on devices, and a module around a function."""

from __future__ import annotations

import copy
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.models.torch_files import require_torch
from surefoot.subject.protocols import Array, HostArray, Item, Weigh, to_host

if TYPE_CHECKING:
    import torch
    from torch.autograd.function import FunctionCtx
    from torch.nn import Module


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
        try:
            where = torch.device(device)
            module = module.to(where)
        except Exception as error:
            raise InvalidArgument(
                f"device {device!r} cannot be used ({first_line(error)}): pass cpu, or cuda on a "
                "machine that has it"
            ) from error
    if weights is None or not weights.is_floating_point():
        return module, where, torch.float32
    return module, where, weights.dtype


def copy_module(module: Module) -> Module:
    """A copy, weights and buffers too; PyTorch warns of its own exported modules meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return copy.deepcopy(module)


def first_line(error: Exception) -> str:
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


def differentiable(
    logits_and_gradient: Callable[[HostArray, Weigh], tuple[HostArray, HostArray]],
) -> Module:
    """A module around NumPy: the logits forwards, the gradient of their weighted sum backwards."""
    torch = require_torch()

    class Run(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: FunctionCtx, x: Array) -> Array:
            ctx.save_for_backward(x)
            logits, _ = logits_and_gradient(to_host(x), lambda scores, _: np.zeros_like(scores))
            return torch.from_numpy(logits).to(x.device)

        @staticmethod
        def backward(ctx: FunctionCtx, weights: Array) -> Array:
            (x,) = ctx.saved_tensors
            own = to_host(weights)
            _, gradient = logits_and_gradient(to_host(x), lambda _, rows: own[rows])
            return torch.from_numpy(gradient).to(x.device)

    return logits_module(Run.apply)


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


def copies_for(module: Module, names: Sequence[str]) -> dict[str, Module]:
    """A copy of the module for each of these devices, not on it yet."""
    try:
        return {name: copy_module(module) for name in names}
    except Exception as error:
        raise InvalidArgument(
            f"each device gets a copy of the model, and this module cannot be copied "
            f"({first_line(error)}): choose one device, such as cuda:0 (--device cuda:0)"
        ) from error


def current_device(device: torch.device) -> AbstractContextManager[None]:
    """Within it a GPU without a number is this one, as models write `device="cuda"`."""
    if device.type != "cuda":
        return nullcontext()
    context: AbstractContextManager[None] = require_torch().cuda.device(device)
    return context
