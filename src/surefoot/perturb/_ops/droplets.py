"""Light on drops of water: edges, distance to them, relief, all in whole numbers.

Layers are (n, 1, height, width). A padded layer is read as one long row: the neighbour below is
then a fixed step away, and every operation runs through contiguous memory. Results in the padding
mean nothing and are cropped.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.filters.streaks import pad_with_edges
from surefoot.subject.protocols import Array

_FARTHEST = 20
"""Pixels at which the published distance is cut off."""
_WEAK, _STRONG = 50, 150
"""The published thresholds of Canny's edges, in sums of gradients of 8-bit values."""
_STEPS = 6
"""Pixels that weak edges are followed from strong ones."""


def droplet_shading(liquid: Array) -> Array:
    """The brightness of each drop, from 8-bit liquid layers (n, 1, height, width) of int16.

    The water of Hendrycks & Dietterich: distance to the edges of the liquid, at most 20 pixels,
    smoothed, equalised, embossed, smoothed, each as in OpenCV, rounded to whole numbers. Two
    departures: weak edges are followed for 6 pixels from strong ones, not to their end, and the
    distance is the exact one, not OpenCV's approximation with 5 x 5 weights.
    """
    xp = array_namespace(liquid)
    distance = distance_to_marked(canny_edges(liquid))
    whole = xp.astype(_box_sum(distance) * (1 / 9) + 1e-4, xp.int16)
    relief = _emboss(equalise_histogram(whole))
    return xp.round(xp.astype(_box_sum(relief), xp.float32) * (1 / 9))


def _pad_mirrored(x: Array) -> Array:
    """The layer padded by one mirrored pixel on each side: b|abc|b."""
    xp = array_namespace(x)
    height, width = x.shape[-2:]
    whole = xp.empty((*x.shape[:2], height + 2, width + 2), dtype=x.dtype, device=x.device)
    whole[..., 1:-1, 1:-1] = x
    whole[..., 0, 1:-1] = x[..., min(1, height - 1), :]
    whole[..., -1, 1:-1] = x[..., max(height - 2, 0), :]
    whole[..., 0] = whole[..., min(2, width)]
    whole[..., -1] = whole[..., max(width - 1, 1)]
    return whole


def _crop_padding(flat: Array, whole: Array) -> Array:
    """The layers without padding, from a long row that lacks one line and pixel at both ends.

    The missing pixels are padding, so their values do not matter.
    """
    xp = array_namespace(flat)
    n, _, tall, wide = whole.shape
    full = xp.empty((n * tall * wide,), dtype=flat.dtype, device=flat.device)
    full[wide + 1 : wide + 1 + flat.shape[0]] = flat
    return xp.reshape(full, whole.shape)[..., 1:-1, 1:-1]


def _emboss(x: Array) -> Array:
    """The relief of whole numbers under [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], within 0 … 255."""
    xp = array_namespace(x)
    whole = _pad_mirrored(x)
    line, row = whole.shape[-1], xp.reshape(whole, (-1,))
    length = row.shape[0] - 2 * (line + 1)

    def at(step: int) -> Array:
        return row[line + 1 + step : line + 1 + step + length]

    total = at(line + 1) - at(-line - 1)
    total *= 2
    for step in (0, 1, line):
        total += at(step)
    for step in (-1, -line):
        total -= at(step)
    return _crop_padding(xp.clip(total, 0, 255), whole)


def _box_sum(x: Array) -> Array:
    """The sum over 3 by 3 pixels."""
    xp = array_namespace(x)
    whole = _pad_mirrored(x)
    line, row = whole.shape[-1], xp.reshape(whole, (-1,))
    three = row[: -2 * line] + row[line:-line]
    three += row[2 * line :]
    total = three[:-2] + three[1:-1]
    total += three[2:]
    return _crop_padding(total, whole)


def canny_edges(x: Array) -> Array:
    """Canny's edges of int16 layers with thresholds 50 and 150, as booleans (OpenCV's rules).

    An edge is where the gradient (Sobel, sum of absolute values) is largest across it.
    """
    xp = array_namespace(x)
    whole = pad_with_edges(x, 1, 1, 1)
    line, row = whole.shape[-1], xp.reshape(whole, (-1,))
    below = row[: -2 * line] + row[2 * line :]
    below += 2 * row[line:-line]
    right = below[2:] - below[:-2]
    beside = row[:-2] + row[2:]
    beside += 2 * row[1:-1]
    down = beside[2 * line :] - beside[: -2 * line]
    wide, tall = xp.abs(right), xp.abs(down)
    size = xp.zeros_like(whole)
    size[..., 1:-1, 1:-1] = _crop_padding(wide + tall, whole)
    peak = _gradient_peaks(xp.reshape(size, (-1,)), line, (wide, tall), (right ^ down) < 0)
    full = xp.zeros(row.shape, dtype=peak.dtype, device=x.device)
    full[line + 1 : line + 1 + peak.shape[0]] = peak
    full &= xp.reshape(size, (-1,)) > _WEAK
    strong = full & (xp.reshape(size, (-1,)) > _STRONG)
    return xp.reshape(_follow_weak_edges(strong, full, line), whole.shape)[..., 1:-1, 1:-1]


def _gradient_peaks(size: Array, line: int, sides: tuple[Array, Array], rising: Array) -> Array:
    """Where the gradient is largest across the edge, which has one of four directions."""
    xp = array_namespace(size)
    length = size.shape[0] - 2 * (line + 1)

    def at(step: int) -> Array:
        return size[line + 1 + step : line + 1 + step + length]

    wide, tall = (xp.astype(side, xp.float32) for side in sides)
    slope = wide * (13573 / 2**15)  # tan 22.5°, as OpenCV rounds it; tan 67.5° is 2 more
    level = tall < slope
    slope += 2 * wide
    upright = tall > slope
    here = at(0)
    peak = (here > at(-1)) & (here >= at(1)) & level
    peak |= (here > at(-line)) & (here >= at(line)) & upright
    level |= upright
    slant = (here > at(-line + 1)) & (here > at(line - 1)) & rising
    slant |= (here > at(-line - 1)) & (here > at(line + 1)) & ~rising
    slant &= ~level
    peak |= slant
    return peak


def _follow_weak_edges(strong: Array, weak: Array, line: int) -> Array:
    """Strong edges and the weak ones connected to them; the padding has neither."""
    edges = strong
    inner = edges[line + 1 : -line - 1]
    for _ in range(_STEPS):
        three = edges[: -2 * line] | edges[line:-line]
        three |= edges[2 * line :]
        near = three[:-2] | three[1:-1]
        near |= three[2:]
        near &= weak[line + 1 : -line - 1]
        inner |= near
    return edges


def distance_to_marked(marked: Array) -> Array:
    """The Euclidean distance to the nearest marked pixel, at most 20 (float32).

    First along the columns, by steps that double; then the squares along the rows: k steps with
    costs 1, 3, 5, … sum to k². Between two rows lies as much padding as there are steps.
    """
    xp = array_namespace(marked)
    height, width = marked.shape[-2:]
    rounds = min(_FARTHEST, width - 1)
    far = xp.full(
        (*marked.shape[:2], height, width + rounds),
        _FARTHEST + 1,
        dtype=xp.int16,
        device=marked.device,
    )
    far[..., :width] -= (_FARTHEST + 1) * xp.astype(marked, xp.int16)
    step = 1
    while step <= min(_FARTHEST, height - 1):
        on = far + step
        xp.minimum(far[..., step:, :], on[..., :-step, :], out=far[..., step:, :])
        xp.minimum(far[..., :-step, :], on[..., step:, :], out=far[..., :-step, :])
        step *= 2
    far *= far
    row = xp.reshape(far, (-1,))
    for k in range(rounds):
        on = row + (2 * k + 1)
        xp.minimum(row[1:], on[:-1], out=row[1:])
        xp.minimum(row[:-1], on[1:], out=row[:-1])
    nearest = xp.clip(xp.astype(far[..., :width], xp.float32), None, float(_FARTHEST**2))
    return xp.sqrt(nearest)


def equalise_histogram(x: Array) -> Array:
    """Each layer of values 0 … 20 with its histogram spread over 0 … 255, rounded (int16)."""
    xp = array_namespace(x)
    n, bins, pixels = x.shape[0], _FARTHEST + 1, x.shape[-2] * x.shape[-1]
    places = xp.astype(x, xp.int64)
    places += place_like(np.arange(n) * bins, x)[:, None, None, None]
    row = xp.reshape(places, (-1,))
    counts = xp.reshape(xp.bincount(row, minlength=n * bins), (n, bins))
    up_to = xp.astype(xp.cumulative_sum(counts, axis=1), xp.float32)
    filled = xp.where(counts > 0, up_to, xp.full_like(up_to, float(pixels)))
    lowest = xp.min(filled, axis=1, keepdims=True)
    scale = 255 / xp.clip(pixels - lowest, 1, None)
    table = xp.astype(xp.round(xp.clip(up_to - lowest, 0, None) * scale), xp.int16)
    return xp.reshape(xp.take(xp.reshape(table, (-1,)), row), x.shape)
