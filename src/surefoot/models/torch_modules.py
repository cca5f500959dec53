"""PyTorch modules in memory: their device, their digest, the scores among what they return."""

from __future__ import annotations

import copy
import hashlib
import warnings
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.models.torch_files import require_torch


def scores_tensor(output: Any) -> Any:  # noqa: ANN401  an object of Torch
    """The scores among what a module may return: a tensor, `.logits`, or a tuple of them."""
    if hasattr(output, "logits"):
        return output.logits
    for name in ("logits", "out"):  # Transformers; segmentation of torchvision
        if isinstance(output, dict) and name in output:
            return output[name]
    return output[0] if isinstance(output, tuple | list) else output


def on_device(module: Any, device: str | None) -> tuple[Any, Any, Any]:  # noqa: ANN401  an object of Torch
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


def copy_module(module: Any) -> Any:  # noqa: ANN401  an object of Torch
    """A copy, weights and buffers too; PyTorch warns of its own exported modules meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return copy.deepcopy(module)


def first_line(error: Exception) -> str:
    """The beginning of what an error of PyTorch says."""
    return str(error).strip().partition("\n")[0][:120]


def module_digest(module: Any) -> str:  # noqa: ANN401  an object of Torch
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
