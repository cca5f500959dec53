"""Random numbers drawn on a GPU, every row from its own key: Philox, one kernel for a batch.

PyTorch's own generators number the values of a whole array, so that a row's numbers would depend
on its place in the batch. Here row i is drawn from key i alone. Triton comes with PyTorch where
there is a GPU; where it cannot compile, `usable` says so and blocks are drawn instead.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any

from surefoot.core.results import Interval

_TILE = 1024
"""Counters of one program of the kernel, each of which gives four numbers."""
_COUNTERS_PER_CALL = 2**24
"""Counters of one draw. A row holds at most four times as many values."""

_USUAL_SHAPE = (3, 32, 32)
"""Triton compiles anew where sizes are no multiples of 16; of images of 3 channels they mostly are.
"""
_TRIAL = threading.Lock()


@lru_cache(maxsize=1)
def _kernel() -> Any:  # noqa: ANN401  the compiled function
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def put(out, x, at, value, inside, factor, shift, low, high, mode: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  Triton reads no types
        if mode > 0:
            value = tl.load(x + at, mask=inside) + (value * factor + shift)
        if mode > 1:
            value = tl.minimum(tl.maximum(value, low), high)
        tl.store(out + at, value, mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def fill(  # type: ignore[no-untyped-def]  # noqa: ANN202  Triton reads no types
        out, x, keys, rows, width, quarter, first, factor, shift, low, high,  # noqa: ANN001  Triton reads no types
        normal: tl.constexpr, mode: tl.constexpr, tile: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64)
        counter = tl.program_id(1) * tile + tl.arange(0, tile)
        a, b, c, d = tl.randint4x(tl.load(keys + row), first + counter)
        u = (a.to(tl.uint32, bitcast=True) >> 8).to(tl.float32) * 5.9604644775390625e-08
        v = (b.to(tl.uint32, bitcast=True) >> 8).to(tl.float32) * 5.9604644775390625e-08
        w = (c.to(tl.uint32, bitcast=True) >> 8).to(tl.float32) * 5.9604644775390625e-08
        z = (d.to(tl.uint32, bitcast=True) >> 8).to(tl.float32) * 5.9604644775390625e-08
        if normal:  # Box-Muller, twice
            far, near = tl.sqrt(-2.0 * tl.log(1.0 - u)), tl.sqrt(-2.0 * tl.log(1.0 - w))
            u, v = far * tl.cos(6.2831853071795864 * v), far * tl.sin(6.2831853071795864 * v)
            w, z = near * tl.cos(6.2831853071795864 * z), near * tl.sin(6.2831853071795864 * z)
        out += row * width
        if mode > 0:
            x += tl.load(rows + row) * width
        inside = counter < quarter
        put(out, x, counter, u, inside & (counter < width), factor, shift, low, high, mode)
        counter += quarter
        put(out, x, counter, v, inside & (counter < width), factor, shift, low, high, mode)
        counter += quarter
        put(out, x, counter, w, inside & (counter < width), factor, shift, low, high, mode)
        counter += quarter
        put(out, x, counter, z, inside & (counter < width), factor, shift, low, high, mode)

    return fill


def numbers(keys: Any, shape: tuple[int, ...], call: int, *, normal: bool) -> Any:  # noqa: ANN401  tensors of Torch
    """(n, *rest) float32 numbers, row i from key i; `call` counts the draws of one perturbation."""
    import torch

    out = torch.empty(shape, dtype=torch.float32, device=keys.device)
    _launch(out, out, keys, keys, call, normal, 0, (1.0, 0.0, 0.0, 0.0))
    return out


def noised(
    keys: Any,  # noqa: ANN401  tensors of Torch
    x: Any,  # noqa: ANN401  tensors of Torch
    rows: Any,  # noqa: ANN401  tensors of Torch
    call: int,
    *,
    normal: bool,
    factor: float,
    shift: float,
    bounds: Interval | None,
) -> Any:  # noqa: ANN401  tensors of Torch
    """Row rows[i] of x plus factor · number + shift, clipped; the numbers of key i."""
    import torch

    x = x.contiguous()
    out = torch.empty((len(keys), *x.shape[1:]), dtype=torch.float32, device=keys.device)
    low, high = (0.0, 0.0) if bounds is None else (bounds.low, bounds.high)
    mode = 1 if bounds is None else 2
    _launch(out, x, keys, rows, call, normal, mode, (factor, shift, low, high))
    return out


def _launch(
    out: Any,  # noqa: ANN401  tensors of Torch
    x: Any,  # noqa: ANN401  tensors of Torch
    keys: Any,  # noqa: ANN401  tensors of Torch
    rows: Any,  # noqa: ANN401  tensors of Torch
    call: int,
    normal: bool,
    mode: int,
    numbers_: tuple[float, float, float, float],
) -> None:
    import torch

    width = math.prod(out.shape[1:])
    quarter = math.ceil(width / 4)
    if not out.numel():
        return
    tile = min(_TILE, max(16, 2 ** math.ceil(math.log2(quarter))))
    grid = (len(out), math.ceil(quarter / tile))
    with torch.cuda.device(keys.device):
        _kernel()[grid](
            out, x, keys, rows, width, quarter, call * _COUNTERS_PER_CALL, *numbers_,
            normal=normal, mode=mode, tile=tile,
        )  # fmt: skip


def usable(device: str) -> bool:
    """Whether this device can draw rows; who calls while it is tried waits for the answer."""
    with _TRIAL:
        return _draws_rows(device)


@lru_cache(maxsize=8)
def _draws_rows(device: str) -> bool:
    """Tried once, with a few numbers: noise on images, as most runs need it, so that the kernel
    which is compiled here is the one that they use.
    """
    if not device.startswith("cuda"):
        return False
    try:
        import torch

        keys = torch.arange(2, dtype=torch.int64, device=device)
        x = torch.zeros((1, *_USUAL_SHAPE), dtype=torch.float32, device=device)
        drawn = noised(
            keys, x, torch.zeros_like(keys), 0,
            normal=False, factor=1.0, shift=0.0, bounds=Interval(-1.0, 2.0),
        )  # fmt: skip
        return bool(((drawn >= 0) & (drawn < 1)).all())
    except Exception:  # noqa: BLE001  no Triton, no compiler, another kind of GPU: blocks will do
        return False
