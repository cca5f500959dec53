"""A TorchScript file that nobody vouches for, run in a process that can only compute and read."""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.models.torch_modules import read_module, require_torch, scores_tensor
from surefoot.subject.protocols import Array, Item
from surefoot.system.child_process import Child, begin_child, end_with, silence, start_child
from surefoot.system.confinement import confine

if TYPE_CHECKING:
    from torch.nn import Module

_ANSWERED, _REFUSED, _FAILED = "answered", "refused", "failed"
_ENDED = (
    "ended the process that runs it: convert the model to ONNX, or pass --trust (trust=True) if "
    "you made the file yourself"
)


def confined_module(path: Path) -> Module:
    """A module whose every call is answered by a process that has read the file.

    The process ends with the module, or with this process.
    """
    torch, asking = require_torch(), threading.Lock()
    # Not forked: beside other threads, of which PyTorch has many, that may hang or be refused.
    child = start_child(__name__)
    own = child.pipe

    def ask(what: str, *values: Item) -> Item:
        question = io.BytesIO()
        torch.save((what, values), question)
        with asking:
            try:
                own.send_bytes(question.getbuffer())
                answer = own.recv_bytes()
            except (EOFError, OSError):
                raise ModelFailed(f"{path} {_ENDED}") from None
        # whatever the file makes of that process: plain values, no code
        how, value = torch.load(io.BytesIO(answer), weights_only=True)
        if how == _REFUSED:
            raise InvalidArgument(value)
        if how == _FAILED:
            raise RuntimeError(value)
        return value

    class Gradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Item, x: Array) -> Array:
            ctx.save_for_backward(x)
            return scores_tensor(ask("run", x.detach()))

        @staticmethod
        def backward(ctx: Item, slope: Array) -> Array:
            (x,) = ctx.saved_tensors
            return ask("gradient", x.detach(), slope)

    class Confined(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            kind = getattr(torch, ask("dtype"))
            self.weight = torch.nn.Parameter(torch.empty(0, dtype=kind), requires_grad=False)

        def forward(self, x: Array) -> Item:
            if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
                return Gradient.apply(x)
            return ask("run", x)

        def state_dict(self, *_: Item, **__: Item) -> Item:
            return ask("state")

        def buffers(self, recurse: bool = True) -> Iterator[Array]:
            return iter(ask("buffers"))

        def half(self) -> Module:
            raise RuntimeError("a TorchScript file runs in a process of its own without --trust")

        def __deepcopy__(self, _: Item) -> Module:
            return self  # it has no state here

        def __repr__(self) -> str:
            return f"Confined({path.name})"

    try:
        own.send((str(path), torch.get_num_threads()))
        module = Confined().eval()
    except BaseException:
        _end(child)
        raise
    weakref.finalize(module, _end, child)
    return module


def _end(child: Child) -> None:
    child.process.kill()
    child.end()
    child.pipe.close()


def serve(pipe: Connection[Item, Item], parent: int) -> None:
    """The other process: answers until its parent has ended."""
    begin_child()
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    silence()
    with suppress(EOFError, OSError):  # the parent has ended, or the kernel does not confine
        path, threads = pipe.recv()
        torch = require_torch()
        confine()
        torch.set_num_threads(threads)
        module = None
        while True:
            question = io.BytesIO(pipe.recv_bytes())
            what, values = torch.load(question, weights_only=True)
            try:
                module = read_module(Path(path), trust=False) if module is None else module
                answer = _ANSWERED, _plain(torch, _value(torch, module, what, values))
            except InvalidArgument as error:
                answer = _REFUSED, str(error)
            except Exception as error:  # noqa: BLE001  the parent says it
                answer = _FAILED, str(error) or type(error).__name__
            reply = io.BytesIO()
            torch.save(answer, reply)
            pipe.send_bytes(reply.getbuffer())


def _value(torch: ModuleType, module: Module, what: str, values: tuple[Array, ...]) -> Item:
    match what:
        case "dtype":
            first = next(iter(module.parameters()), torch.empty(0))
            return str(first.dtype).removeprefix("torch.")
        case "state":
            return dict(module.state_dict())
        case "buffers":
            return list(module.buffers())
        case "gradient":
            x, slope = values
            with torch.enable_grad():
                at = x.requires_grad_()
                return torch.autograd.grad(scores_tensor(module(at)), at, slope)[0]
    with torch.inference_mode():
        return module(values[0])


def _plain(torch: ModuleType, value: Item) -> Item:
    """Tensors, numbers and texts, in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {str(key): _plain(torch, part) for key, part in value.items()}
    if hasattr(value, "logits"):
        return {"logits": _plain(torch, value.logits)}
    if isinstance(value, list | tuple):
        parts = [_plain(torch, part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
