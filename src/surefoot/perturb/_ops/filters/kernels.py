"""Kernels of blurs: disks and lines."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.levels import Floats
from surefoot.subject.protocols import Array


def disk_kernels(radii: Floats, deviations: Floats, half: int) -> NDArray[np.float32]:
    """(n, 2 · half + 1, 2 · half + 1): disks whose rim is softened by a small Gaussian.

    A pixel at distance d of the centre counts 1 up to the radius r and falls to 0 as d² grows
    from r² to r² + 3/4: continuous in r, and exactly the pixels with d ≤ r at every published
    radius. The Gaussian has 3 taps up to radius 8 and 5 at radius 10.
    """
    i = np.arange(-half, half + 1)
    squares = (i[:, None] ** 2 + i**2)[None]
    r = radii[:, None, None]
    disk = np.clip(1 - (squares - r**2) * (4 / 3), 0, 1)
    steps = np.abs(i[:, None] - i)[None]
    soft = np.exp(-0.5 * (steps / np.maximum(deviations, 1e-3)[:, None, None]) ** 2)
    soft *= np.where(steps < 2, 1.0, np.where(steps == 2, np.clip((r - 8) / 2, 0, 1), 0.0))
    kernel = np.matmul(np.matmul(soft, disk), soft)
    return np.asarray(kernel / kernel.sum(axis=(1, 2), keepdims=True), dtype=np.float32)


def line_taps(radii: Floats, deviations: Floats, count: int) -> NDArray[np.float32]:
    """(n, count): one-sided Gaussian weights at 0, 1, 2, … pixels, 2 · radius + 1 of them."""
    steps = np.arange(count)
    taps = np.exp(-0.5 * (steps / np.maximum(deviations, 1e-3)[:, None]) ** 2)
    taps *= np.clip(2 * radii[:, None] + 1 - steps, 0, 1)
    return np.asarray(taps / np.cumsum(taps, axis=1)[:, -1:], dtype=np.float32)


def line_kernels(angles: Array, taps: NDArray[np.float32]) -> Array:
    """(n, 2 · half + 1, count): taps laid from the right edge of the middle row, to the left.

    Angles (n,) in radians within ±45°, so half = ceil((count - 1) · sin 45°). A tap between pixels
    is shared among its four neighbours.
    """
    xp = array_namespace(angles)
    count = taps.shape[1]
    half = line_reach(count)
    steps = place_like(np.arange(count, dtype=np.float32), angles)
    heights = place_like(np.arange(-half, half + 1, dtype=np.float32), angles)
    away = steps * xp.cos(angles)[:, None]
    up = steps * xp.sin(angles)[:, None]  # an image read from below moves up
    across = _linear_weights(xp.flip(steps)[None, :, None] - away[:, None, :])
    down = _linear_weights(heights[None, :, None] + up[:, None, :])
    down *= place_like(taps, angles)[:, None, :]
    return xp.matmul(down, xp.permute_dims(across, (0, 2, 1)))


def line_reach(count: int) -> int:
    """Pixels above and below the middle that a line of so many taps can reach."""
    return math.ceil((count - 1) * math.sqrt(0.5))


def _linear_weights(apart: Array) -> Array:
    xp = array_namespace(apart)
    return xp.clip(1 - xp.abs(apart), 0, 1)
