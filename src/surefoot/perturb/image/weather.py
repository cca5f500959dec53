"""Snow, fog, frost, and water and mud on the lens, after Hendrycks & Dietterich 2019."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import PerRow, from_unit_range, place_like, to_unit_range
from surefoot.perturb._ops.convolution import fast_size, pad_mirrored
from surefoot.perturb._ops.definition import (
    Each,
    Normal,
    OfSeverities,
    Table,
    at_severity,
    is_small,
    perturbation,
)
from surefoot.perturb._ops.matrices import BandMatrix, band_matrix, gaussian_filter, multiply_axes
from surefoot.perturb._ops.pixels import colour_like, luminance
from surefoot.perturb._ops.random_fields import frost_texture, plasma, plasma_numbers
from surefoot.subject.protocols import Array, Level, Stream


def nearest_pixel_line_kernels(
    radius: PerRow, sigma: PerRow, angle: Array, rows: range, columns: range
) -> Array:
    """Weights (n, rows, columns) of the pixels at these offsets from the one that is blurred.

    Taps i = 0 … 2 · radius lie i pixels from it in the direction of `angle` (n,), in radians from
    the right towards below, each at its nearest pixel (halves go down, as in ImageMagick). The
    weights are exp(-i² / 2 sigma²), scaled to sum to 1. Between two whole radii the last tap
    fades. Radius and sigma are numbers, or arrays with one for each row.
    """
    xp = array_namespace(angle)
    taps = max(abs(rows.start), abs(rows.stop - 1), abs(columns.start), abs(columns.stop - 1))
    i = place_like(np.arange(taps + 1, dtype=np.float32), angle)[None]
    fading = xp.clip(2 * _as_column(radius, xp) + 1 - i, 0, 1)
    weights = xp.exp(-0.5 * (i / _as_column(sigma, xp)) ** 2) * fading
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    down = xp.ceil(i * xp.sin(angle)[:, None] - 0.5)
    right = xp.ceil(i * xp.cos(angle)[:, None] - 0.5)
    lines = place_like(np.asarray(rows, dtype=np.float32), angle)[None, :, None]
    posts = place_like(np.asarray(columns, dtype=np.float32), angle)[None, None, :]
    there = xp.astype(lines == down[:, None, :], xp.float32) * weights[:, None, :]
    return xp.matmul(there, xp.astype(right[:, :, None] == posts, xp.float32))


def _as_column(value: PerRow, xp: PerRow) -> PerRow:
    """One number, or a column with one for each row."""
    return value if isinstance(value, int | float) else xp.reshape(value, (-1, 1))


def blur_downwards(x: Array, radius: PerRow, sigma: PerRow, angle: Array, longest: float) -> Array:
    """Layers (n, 1, height, width) blurred along lines that come from above, edges repeated.

    Angles are in radians, between -135 and -45 degrees; no radius exceeds `longest`. By the Fourier
    transform: what wraps around lies outside of the result.
    """
    high = math.ceil(2 * longest)
    wide = math.ceil(high * math.sqrt(0.5) + 0.5)
    rows, columns = range(-high, 1), range(-wide, wide + 1)
    kernels = nearest_pixel_line_kernels(radius, sigma, angle, rows, columns)
    whole = pad_with_edges(x, high, wide, 0)
    return correlate(whole, kernels[:, None], tuple(x.shape[-2:]))


def correlate(x: Array, kernels: Array, size: tuple[int, ...]) -> Array:
    """The correlation of images with kernels, the first `size` positions, all inside the image.

    Kernels are small: matrix products are faster than their Fourier transform. Real ones: OpenBLAS
    wakes all cores for complex ones that take microseconds.
    """
    xp = array_namespace(x)
    tall, wide = (fast_size(edge) for edge in x.shape[-2:])
    down = np.concatenate(_fourier_matrix(tall, kernels.shape[-2], tall))
    cosines, sines = (
        multiply_axes(kernels, place_like(down[None], x), place_like(beside[None], x))
        for beside in _fourier_matrix(wide, kernels.shape[-1], wide // 2 + 1)
    )
    spectrum = xp.fft.rfftn(x, s=(tall, wide), axes=(-2, -1))
    real = cosines[..., :tall, :] - sines[..., tall:, :]
    spectrum *= real + 1j * (cosines[..., tall:, :] + sines[..., :tall, :])
    whole = xp.fft.irfftn(spectrum, s=(tall, wide), axes=(-2, -1))
    return whole[..., : size[0], : size[1]]


_Matrix = NDArray[np.float32]


@functools.lru_cache(maxsize=16)
def _fourier_matrix(period: int, places: int, frequencies: int) -> tuple[_Matrix, _Matrix]:
    """The conjugate Fourier matrix (frequencies, places) of this period: its cosines and sines."""
    turns = np.outer(np.arange(frequencies), np.arange(places)) % period
    angles = 2 * np.pi / period * turns
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def pad_with_edges(x: Array, above: int, beside: int, below: int) -> Array:
    """The image padded with its edge pixels: aa|abc|cc."""
    xp = array_namespace(x)
    height, width = x.shape[-2:]
    size = (*x.shape[:2], above + height + below, beside + width + beside)
    whole = xp.empty(size, dtype=x.dtype, device=device(x))
    across = slice(beside, beside + width)
    whole[..., above : above + height, across] = x
    whole[..., :above, across] = x[..., :1, :]
    whole[..., above + height :, across] = x[..., -1:, :]
    whole[..., :beside] = whole[..., beside : beside + 1]
    whole[..., beside + width :] = whole[..., beside + width - 1 : beside + width]
    return whole


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


def _crop_padding(flat: Array, whole: Array) -> Array:
    """The layers without padding, from a long row that lacks one line and pixel at both ends.

    The missing pixels are padding, so their values do not matter.
    """
    xp = array_namespace(flat)
    n, _, tall, wide = whole.shape
    full = xp.empty((n * tall * wide,), dtype=flat.dtype, device=flat.device)
    full[wide + 1 : wide + 1 + flat.shape[0]] = flat
    return xp.reshape(full, whole.shape)[..., 1:-1, 1:-1]


def _neighbours(row: Array, line: int) -> Callable[[int], Array]:
    """What gives the pixels so many steps after each one but the padding at both ends."""
    begin, length = line + 1, row.shape[0] - 2 * (line + 1)
    return lambda step: row[begin + step : begin + step + length]


def _emboss(x: Array) -> Array:
    """The relief of whole numbers under [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], within 0 … 255."""
    xp = array_namespace(x)
    whole = pad_mirrored(x, (1, 1), (1, 1))
    line = whole.shape[-1]
    at = _neighbours(xp.reshape(whole, (-1,)), line)
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
    whole = pad_mirrored(x, (1, 1), (1, 1))
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
    xp, at = array_namespace(size), _neighbours(size, line)
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
    size = (*marked.shape[:2], height, width + rounds)
    far = xp.full(size, _FARTHEST + 1, dtype=xp.int16, device=marked.device)
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


# Mean and deviation of the layer, zoom, threshold, radius and sigma of the blur, share of the
# image that is not whitened, share of the snow.
_SNOW_SMALL: Table = (
    (0.1, 0.2, 1, 0.6, 8, 3, 1, 0),
    (0.1, 0.2, 1, 0.6, 8, 3, 0.95, 1),
    (0.1, 0.2, 1, 0.5, 10, 4, 0.9, 1),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9, 1),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85, 1),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8, 1),
)
_SNOW_LARGE: Table = (
    (0.1, 0.3, 3, 0.5, 10, 4, 1, 0),
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8, 1),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7, 1),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7, 1),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65, 1),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55, 1),
)


@perturbation
class Snow(OfSeverities):
    """Flakes driven by wind over a whitened image.

    Normal noise is zoomed, thresholded and blurred along a line; the image is mixed with
    max(x, 1.5 · grey + 0.5); the flakes and the flakes rotated by 180 degrees are added. As
    published (`snow`), but in floating point where the published code rounds the layer to 8 bits.
    Between severities the sampling points of the zoom move linearly, and below severity 1 the
    flakes fade. Flakes appear one by one as the level grows, because the threshold is hard. Level
    and size as for `Fog`.
    """

    kind = "snow"
    phrase = "snow of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """The direction of the wind, uniform in [0, 1), and the layer, standard normal."""
        return stream.uniform((n,)), stream.normal((n, 1, *shape[-2:]))

    def apply(
        self, x: Array, drawn: tuple[Array, Array], level: Level, bounds: Interval | None
    ) -> Array:
        """Whiten the image and add the snow."""
        xp = array_namespace(x)
        table = self.table(x.shape, _SNOW_SMALL, _SNOW_LARGE)
        unit = to_unit_range(x, bounds)
        *_, clear, share = at_severity(level, table)
        whitened = xp.clip(luminance(unit) * 1.5 + 0.5 - unit, 0.0, None) * (1 - clear)
        whitened += unit
        flakes = _blurred_flakes(*drawn, level, table)
        flakes = flakes + xp.flip(flakes, axis=(2, 3))
        flakes *= share
        return from_unit_range(whitened + flakes, bounds)


def _blurred_flakes(wind: Array, layer: Array, level: Level, table: Table) -> Array:
    """The blurred flakes (n, 1, height, width) in [0, 1]."""
    xp = array_namespace(layer)
    mean, spread, _, threshold, radius, sigma, *_ = at_severity(level, table)
    zoomed = _zoom_layer(layer, level, tuple(row[2] for row in table)) * spread
    zoomed += mean
    zoomed *= zoomed >= threshold
    zoomed = xp.clip(zoomed, None, 1.0)
    angle = (wind * 90 - 135) * (math.pi / 180)
    longest = radius if isinstance(radius, int | float) else max(row[4] for row in table)
    return blur_downwards(zoomed, radius, sigma, angle, longest)


def _zoom_layer(layer: Array, level: Level, zooms: tuple[float, ...]) -> Array:
    """The centre of the layer, enlarged bilinearly to the whole."""
    height, width = layer.shape[-2:]
    tall, wide = (
        at_severity(level, tuple(_first_and_step(edge, zoom) for zoom in zooms))
        for edge in (height, width)
    )
    if not isinstance(level, int | float):
        rows, columns = _sampling_matrices(height, *tall), _sampling_matrices(width, *wide)
        return multiply_axes(layer, rows, columns)
    if tall == wide == [0.0, 1.0]:
        return layer
    return multiply_axes(layer, _sampling_matrix(height, *tall), _sampling_matrix(width, *wide))


def _first_and_step(edge: int, zoom: float) -> tuple[float, float]:
    """Where the published zoom reads its first pixel, and the step to each next one.

    It cuts ceil(edge / zoom) pixels from the middle, enlarges them with the first and last pixel
    in place (`scipy.ndimage.zoom`), and trims to the size of the image.
    """
    cut = math.ceil(edge / zoom)
    enlarged = round(cut * zoom)
    step = (cut - 1) / (enlarged - 1) if enlarged > 1 else 0.0
    return (edge - cut) // 2 + (enlarged - edge) // 2 * step, step


@functools.lru_cache(maxsize=64)
def _sampling_matrix(edge: int, start: float, step: float) -> BandMatrix:
    """Bilinear weights (edge, edge) for points start, start + step, …"""
    pixels = np.arange(edge)
    points = np.clip(start + step * pixels, 0, edge - 1)
    weights = np.clip(1 - np.abs(points[:, None] - pixels), 0, None)
    return band_matrix(weights[None].astype(np.float32))


def _sampling_matrices(edge: int, start: Array, step: Array) -> Array:
    """As `_sampling_matrix`, weights (n, edge, edge) for each row."""
    xp = array_namespace(start)
    pixels = place_like(np.arange(edge, dtype=np.float32), start)
    points = xp.clip(start + step * pixels[:, None], 0, edge - 1)
    return xp.clip(1 - xp.abs(points - pixels), 0, None)[:, 0]


_PALE_TURQUOISE = (175 / 255, 238 / 255, 238 / 255)
_MUD_BROWN = (63 / 255, 42 / 255, 20 / 255)

# Mean and deviation of the liquid, sigma of its filter, threshold, strength, share of mud. Water is
# up to severity 3, mud from 4; elsewhere each table repeats its own nearest row.
_WATER_SMALL: Table = (
    (0.62, 0.1, 0.7, 0.7, 0.0, 0),
    (0.62, 0.1, 0.7, 0.7, 0.5, 0),
    (0.65, 0.1, 0.8, 0.7, 0.5, 0),
    (0.65, 0.3, 1.0, 0.69, 0.5, 0),
    (0.65, 0.3, 1.0, 0.69, 0.5, 1),
    (0.65, 0.3, 1.0, 0.69, 0.5, 1),
)
_MUD_SMALL: Table = (*(((0.65, 0.1, 0.7, 0.69, 0.6),) * 5), (0.65, 0.1, 0.5, 0.68, 0.6))
_WATER_LARGE: Table = (
    (0.65, 0.3, 4, 0.69, 0.0, 0),
    (0.65, 0.3, 4, 0.69, 0.6, 0),
    (0.65, 0.3, 3, 0.68, 0.6, 0),
    (0.65, 0.3, 2, 0.68, 0.5, 0),
    (0.65, 0.3, 2, 0.68, 0.5, 1),
    (0.65, 0.3, 2, 0.68, 0.5, 1),
)
_MUD_LARGE: Table = (*(((0.65, 0.3, 1, 0.65, 1.5),) * 5), (0.67, 0.4, 1, 0.65, 1.5))
_LEAST_MUD = 0.8
"""The published share of cover below which there is no mud."""


@perturbation
class Spatter(OfSeverities):
    """Drops of water up to severity 3, mud from severity 4; between them one fades into the other.

    Both are normal noise under a Gaussian filter, cut off at a threshold. Mud is as published:
    where the filtered mask is at least 0.8, brown covers the image by that share. Water adds pale
    turquoise where drops reflect light; `droplet_shading` states the departures. Grey images get
    the grey of the colours. Below severity 1 the water fades. Level and size as for `Fog`.
    """

    kind = "spatter"
    draw = Normal(Each.PIXEL)
    phrase = "spatter of severity {level} of 5 (water up to 3, mud from 4)"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add water, cover with mud, or mix the two."""
        *water, muddy = at_severity(level, self.table(x.shape, _WATER_SMALL, _WATER_LARGE))
        mud = at_severity(level, self.table(x.shape, _MUD_SMALL, _MUD_LARGE))
        unit = to_unit_range(x, bounds)
        one_level = isinstance(muddy, int | float)
        if one_level and muddy == 0:
            return from_unit_range(_add_water(unit, drawn, water), bounds)
        if one_level and muddy == 1:
            return from_unit_range(_cover_with_mud(unit, drawn, mud), bounds)
        wet, dirty = _add_water(unit, drawn, water), _cover_with_mud(unit, drawn, mud)
        # Water may be brighter than white: it is clipped before it is mixed.
        wet = array_namespace(x).clip(wet, None, 1.0)
        return from_unit_range(wet + (dirty - wet) * muddy, bounds)


def _add_water(x: Array, layer: Array, water: list[PerRow]) -> Array:
    """The image plus pale turquoise where the drops shine."""
    xp = array_namespace(x)
    mean, spread, sigma, threshold, strength = water
    liquid = _gaussian(layer, sigma) * spread
    liquid += mean
    liquid *= liquid >= threshold
    liquid = xp.floor(xp.clip(liquid * 255, 0, 255))
    shine = liquid * droplet_shading(xp.astype(liquid, xp.int16))
    most = xp.max(shine, axis=(2, 3), keepdims=True)
    shine *= strength / xp.clip(most, 1.0, None)
    return x + shine * colour_like(_PALE_TURQUOISE, x)


def _cover_with_mud(x: Array, layer: Array, mud: list[PerRow]) -> Array:
    """The image under brown where the mud is thick."""
    xp = array_namespace(x)
    mean, spread, sigma, threshold, softness = mud
    liquid = _gaussian(layer, sigma) * spread
    liquid += mean
    cover = _gaussian(xp.astype(liquid > threshold, xp.float32), softness)
    cover *= cover >= _LEAST_MUD
    covered = (colour_like(_MUD_BROWN, x) - x) * cover
    covered += x
    return covered


def _gaussian(x: Array, sigma: PerRow) -> Array:
    """Under a Gaussian filter of this deviation: a number, or an array (n, 1, 1, 1)."""
    if isinstance(sigma, int | float):
        return gaussian_filter(x, float(sigma))
    return gaussian_filter(x, array_namespace(x).reshape(sigma, (-1,)))


# Thickness of the fog, decay of the plasma.
_FOG_SMALL: Table = ((0, 3), (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))
_FOG_LARGE: Table = ((0, 2), (1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))


@perturbation
class Fog(OfSeverities):
    """A plasma fractal is added and the sum is scaled back to the brightness of the image.

    (x + c · plasma) · max(x) / (max(x) + c), as published (`fog`). The level is the published
    severity; `size` chooses the constants for small or large images, by default by the longer edge
    (small up to 64 pixels). The map has the published edge (32 or 256), or the next power of two
    that covers the image.
    """

    kind = "fog"
    phrase = "fog (a plasma fractal) of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The uniform numbers of one plasma map for each trial, coarse to fine."""
        return plasma_numbers(stream, n, self._edge(shape))

    def _edge(self, shape: tuple[int, ...]) -> int:
        """The edge of the plasma map."""
        covering = 1 << (max(shape[-2:]) - 1).bit_length()
        return max(32 if is_small(self.size, shape) else 256, covering)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add the fog and scale."""
        xp, unit = array_namespace(x), to_unit_range(x, bounds)
        thickness, decay = at_severity(level, self.table(x.shape, _FOG_SMALL, _FOG_LARGE))
        most = xp.clip(xp.max(unit, axis=(1, 2, 3), keepdims=True), 1e-6, None)
        scale = most / (most + thickness)
        fog = plasma(drawn, self._edge(x.shape), decay)[..., : x.shape[-2], : x.shape[-1]]
        return from_unit_range(unit * scale + fog * (thickness * scale), bounds)


# Share of the image, share of the frost.
_FROST_SMALL: Table = ((1, 0), (1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
_FROST_LARGE: Table = ((1, 0), (1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))


@perturbation
class Frost(OfSeverities):
    """Ice crystals as on a window are laid over the image: a · x + b · frost.

    The shares a and b are the published ones (`frost`). The crystals are not: the published code
    crops one of five photographs, here every trial has its own generated ones (`frost_texture`).
    Grey images get the grey of the frost. Level and size as for `Fog`.
    """

    kind = "frost"
    phrase = "frost (generated ice crystals) of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """One image of frost for each trial, in [0, 1]."""
        return frost_texture(stream, n, shape)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix image and frost."""
        table = self.table(x.shape, _FROST_SMALL, _FROST_LARGE)
        of_image, of_frost = at_severity(level, table)
        mixed = drawn * of_frost
        mixed += to_unit_range(x, bounds) * of_image
        return from_unit_range(mixed, bounds)
