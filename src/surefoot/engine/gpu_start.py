"""A GPU is made ready in threads of its own, while model and data are read.

Importing PyTorch, opening the GPU, loading its libraries and compiling the kernel of the random
numbers take seconds, and most of them pass outside of Python's lock. Nothing here decides a result:
what is not ready, or cannot be, is done by whoever needs it, and errors are met there.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np  # noqa: F401  before the threads: they and the program would both import it

from surefoot.engine.philox import usable
from surefoot.system.memory_limits import no_garbage_collection

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


def import_torch() -> Any:  # noqa: ANN401  the module
    """PyTorch."""
    import torch

    return torch


def open_gpu(torch: Any, name: str) -> None:  # noqa: ANN401  the module torch
    """The context of the GPU: its first use opens it."""
    torch.zeros(1, device=name)


def load_libraries(torch: Any, name: str) -> None:  # noqa: ANN401  the module torch
    """cuDNN and cuBLAS, which are loaded with the first convolution and the first product."""
    with suppress(Exception), torch.inference_mode():
        x = torch.zeros((1, 1, 8, 8), device=name)
        torch.nn.functional.conv2d(x, x[:, :, :3, :3])
        x.reshape(8, 8) @ x.reshape(8, 8)
