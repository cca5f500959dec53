"""Images resampled on a GPU: fold, take, blend and clip in one kernel.

What `warp` does with a dozen passes over the coordinates. Triton comes with PyTorch where there is
a GPU; where it cannot compile, `runs_on` is false and PyTorch's own sampler is used instead.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from surefoot.core.results import Interval

_TILE, _WARPS = 1024, 8
"""Pixels and warps of one block of the kernel."""


@lru_cache(maxsize=1)
def _kernel() -> Any:  # noqa: ANN401  the compiled function
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def folded(at, size, mirrored: tl.constexpr, beyond):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  Triton reads no types
        if mirrored:
            high = size - 1 + beyond
            at = tl.maximum(at, -2 * beyond - at)
            period = 2 * (high + beyond)
            at -= tl.floor((at + beyond) / period) * period
            at = tl.minimum(at, 2 * high - at)
        return at

    @triton.jit  # type: ignore[untyped-decorator]
    def taken(x, y, i, height, width, fill, here, black: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  Triton reads no types
        if black:
            inside = (y >= 0) & (y < height) & (i >= 0) & (i < width)
            return tl.load(x + y * width + i, mask=here & inside, other=fill)
        return tl.load(
            x + tl.minimum(y, height - 1) * width + tl.minimum(i, width - 1), mask=here, other=0.0
        )

    @triton.jit  # type: ignore[untyped-decorator]
    def sample(  # type: ignore[no-untyped-def]  # noqa: ANN202  Triton reads no types
        out, x, ys, xs, x_row, y_row, y_down, y_right, x_row_, x_down, x_right,  # noqa: ANN001  Triton reads no types
        channels, height, width, rows, columns, fill, beyond, low, high,  # noqa: ANN001  Triton reads no types
        mirrored: tl.constexpr, black: tl.constexpr, clip: tl.constexpr, tile: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64)
        pixel = tl.program_id(1) * tile + tl.arange(0, tile)
        here = pixel < rows * columns
        j, i = pixel // columns, pixel % columns
        down = tl.load(ys + row * y_row + j * y_down + i * y_right, mask=here, other=0.0)
        right = tl.load(xs + row * x_row_ + j * x_down + i * x_right, mask=here, other=0.0)
        down = folded(down, height, mirrored and height > 1, beyond)
        right = folded(right, width, mirrored and width > 1, beyond)
        edge = 1 if black else 0
        down = tl.minimum(tl.maximum(down, -edge), height - 1 + edge)
        right = tl.minimum(tl.maximum(right, -edge), width - 1 + edge)
        top, left = tl.floor(down), tl.floor(right)
        down, right = down - top, right - left
        y, z = top.to(tl.int32), left.to(tl.int32)
        x += row * x_row
        out += row * channels * rows * columns
        for _ in range(channels):
            a = taken(x, y, z, height, width, fill, here, black)
            b = taken(x, y, z + 1, height, width, fill, here, black)
            c = taken(x, y + 1, z, height, width, fill, here, black)
            d = taken(x, y + 1, z + 1, height, width, fill, here, black)
            upper, lower = a + (b - a) * right, c + (d - c) * right
            value = upper + (lower - upper) * down
            if clip:
                value = tl.minimum(tl.maximum(value, low), high)
            tl.store(out + pixel, value, mask=here)
            x += height * width
            out += rows * columns

    return sample


def warp_on_gpu(
    x: Any,  # noqa: ANN401  tensors of Torch
    ys: Any,  # noqa: ANN401  tensors of Torch
    xs: Any,  # noqa: ANN401  tensors of Torch
    edge: str,
    fill: float,
    bounds: Interval | None,
) -> Any:  # noqa: ANN401  tensors of Torch
    """`warp.warp` for float32 on a GPU; `fill` is the value of black."""
    import torch

    x = x.contiguous()
    n = max(len(x), len(ys), len(xs))
    channels, height, width = x.shape[1:]
    rows, columns = ys.shape[1], xs.shape[2]
    ys, xs = ys.expand(n, rows, columns), xs.expand(n, rows, columns)
    out = torch.empty((n, channels, rows, columns), dtype=x.dtype, device=x.device)
    tile = min(_TILE, max(16, 2 ** math.ceil(math.log2(rows * columns))))
    low, high = (0.0, 0.0) if bounds is None else (bounds.low, bounds.high)
    with torch.cuda.device(x.device):
        _kernel()[(n, math.ceil(rows * columns / tile))](
            out, x, ys, xs, 0 if len(x) == 1 else x.stride(0), *ys.stride(), *xs.stride(),
            channels, height, width, rows, columns, fill, 0.5 * (edge == "symmetric"), low, high,
            mirrored=edge in ("mirror", "symmetric"), black=edge == "black",
            clip=bounds is not None, tile=tile, num_warps=_WARPS,
        )  # fmt: skip
    return out


@lru_cache(maxsize=8)
def runs_on(device: str) -> bool:
    """Whether the kernel works on this device: tried once, on a small image."""
    try:
        import torch

        x = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]], device=device)
        half = torch.full((1, 1, 1), 0.5, device=device)
        out = warp_on_gpu(x, half, half, "mirror", 0.0, None)
        return bool(out.item() == 1.5)
    except Exception:  # noqa: BLE001  no Triton, no compiler, another kind of GPU
        return False
