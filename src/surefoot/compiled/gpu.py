"""The kernels of `kernels.cu` on an NVIDIA GPU, through its driver.

The package has them compiled, in `kernels.ptx`: a run needs no compiler, and gets the same numbers
whatever versions of libraries are installed.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

_PTX = Path(__file__).with_name("kernels.ptx")
_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_LOADING = threading.Lock()


def launch(name: str, device: Any, grid: tuple[int, int], threads: int, *arguments: Any) -> None:  # noqa: ANN401  a device and tensors of Torch
    """Begin a kernel on the current stream of the device; who reads what it writes waits for it.

    Arguments are tensors, integers of 32 bits, floats and values of ctypes.
    """
    import torch

    with torch.cuda.device(device):
        with _LOADING:
            kernel = _kernel(name, torch.cuda.current_device())
        values = [_value(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        begin = _driver().cuLaunchKernel
        _check(begin(kernel, *grid, 1, threads, 1, 1, 0, stream, places, None))


def _value(argument: Any) -> Any:  # noqa: ANN401  as above
    match argument:
        case int():
            return ctypes.c_int32(argument)
        case float():
            return ctypes.c_float(argument)
        case _ if hasattr(argument, "data_ptr"):
            return ctypes.c_void_p(argument.data_ptr())
    return argument


@lru_cache(maxsize=1)
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(_DRIVER)


@lru_cache(maxsize=64)
def _module(device: int) -> ctypes.c_void_p:
    """Of the device, which is the current one: the driver makes its code here."""
    module = ctypes.c_void_p()
    _check(_driver().cuModuleLoadData(ctypes.byref(module), _PTX.read_bytes() + b"\0"))
    return module


@lru_cache(maxsize=128)
def _kernel(name: str, device: int) -> ctypes.c_void_p:
    kernel = ctypes.c_void_p()
    _check(_driver().cuModuleGetFunction(ctypes.byref(kernel), _module(device), name.encode()))
    return kernel


def _check(code: int) -> None:
    if code:
        raise RuntimeError(f"the driver of the GPU answered with error {code}")
