"""Random fields, many rows at once: plasma fractals, smooth noise, frost."""

from __future__ import annotations

import functools
import math

import numpy as np
from array_api_compat import array_namespace

from surefoot.perturb._ops.arrays import PerRow, place_like
from surefoot.perturb._ops.matrices import BandMatrix, band_matrix, multiply_axes
from surefoot.perturb._ops.pixels import colour_for
from surefoot.subject.protocols import Array, Stream


def plasma_numbers(stream: Stream, n: int, edge: int) -> Array:
    """The random numbers of n plasma maps of this edge (a power of two), for any decay."""
    return stream.uniform((n, max(edge * edge - 1, 1)))


def plasma(numbers: Array, edge: int, decay: PerRow) -> Array:
    """Plasma fractals (n, 1, edge, edge) in [0, 1] by the diamond-square algorithm.

    As in the fog of Hendrycks & Dietterich: each new point is the mean of its four neighbours
    (with periodic edges) plus a uniform number in [-a, a]. There the amplitude a is wibble², and
    wibble is divided by `decay` whenever the grid is halved; so a is divided by its square. The
    map is then shifted and scaled to [0, 1]. `decay` is a number or an array (n, 1, 1, 1).
    """
    xp = array_namespace(numbers)
    n = numbers.shape[0]
    field = xp.zeros((n, 1, 1, 1), dtype=xp.float32, device=numbers.device)
    amplitude, begin, points = 1.0, 0, 1
    while points < edge:
        count = points * points
        own = xp.reshape(numbers[:, begin : begin + 3 * count], (n, 3, points, points))
        noise = [own[:, i : i + 1] for i in range(3)]
        field = _refine_grid(field, noise, amplitude)
        begin, points, amplitude = begin + 3 * count, 2 * points, amplitude / (decay * decay)
    field -= xp.min(field, axis=(2, 3), keepdims=True)
    top = xp.max(field, axis=(2, 3), keepdims=True)
    field /= xp.where(top > 0, top, xp.ones_like(top))
    return field


def _refine_grid(corners: Array, noise: list[Array], amplitude: PerRow) -> Array:
    """The grid with one more point between any two: first squares, then diamonds."""
    xp = array_namespace(corners)
    n, _, points, _ = corners.shape
    centres = corners + xp.roll(corners, -1, axis=2)
    centres = _mean_plus_noise(centres + xp.roll(centres, -1, axis=3), noise[0], amplitude)
    fine = xp.empty((n, 1, 2 * points, 2 * points), dtype=xp.float32, device=corners.device)
    fine[:, :, 0::2, 0::2] = corners
    fine[:, :, 1::2, 1::2] = centres
    above = corners + xp.roll(corners, -1, axis=3) + centres + xp.roll(centres, 1, axis=2)
    fine[:, :, 0::2, 1::2] = _mean_plus_noise(above, noise[1], amplitude)
    aside = corners + xp.roll(corners, -1, axis=2) + centres + xp.roll(centres, 1, axis=3)
    fine[:, :, 1::2, 0::2] = _mean_plus_noise(aside, noise[2], amplitude)
    return fine


def _mean_plus_noise(total: Array, noise: Array, amplitude: PerRow) -> Array:
    """A quarter of the sum, plus noise between -amplitude and amplitude; overwrites `total`."""
    total *= 0.25
    total -= amplitude
    total += noise * (2 * amplitude)
    return total


def smooth_noise(stream: Stream, n: int, shape: tuple[int, int], cell: float) -> Array:
    """Smooth normal noise (n, 1, height, width) of deviation about 1, varying over `cell` pixels.

    Random heights on a grid, interpolated by cubic B-splines.
    """
    rows, columns = _spline_matrix(shape[0], cell), _spline_matrix(shape[1], cell)
    grid = stream.normal((n, 1, rows.matrix.shape[2], columns.matrix.shape[2]))
    return multiply_axes(grid, rows, columns)


@functools.lru_cache(maxsize=64)
def _spline_matrix(n: int, cell: float) -> BandMatrix:
    """Weights (n, grid) of the cubic B-spline, scaled so that the deviation stays about 1."""
    place = np.arange(n) / cell
    grid = np.arange(math.floor((n - 1) / cell) + 4) - 1
    far = np.abs(place[:, None] - grid)
    near = np.clip(2 - far, 0, None) ** 3 / 6 - 4 * np.clip(1 - far, 0, None) ** 3 / 6
    return band_matrix((near / 0.692)[None].astype(np.float32))


_FERNS = 12
"""Ferns in one image."""
_FINEST = 128
"""Pixels along the longer edge up to which ice is generated at full resolution."""
_TINT = (0.6, 0.8, 1.0)
"""The colour of thin ice."""


def frost_texture(stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
    """Images of frost (n, channels, height, width) in [0, 1], bluish white on dark.

    A dark, clear spot lies near the middle; around it hoar (ridged noise at three scales) and
    ferns (a rib with needles on both sides) brighten towards the edges. Lengths are shares of the
    longer edge. Above 128 pixels the ice is generated coarser and enlarged.
    """
    channels, height, width = shape
    coarser = math.ceil(max(height, width) / _FINEST)
    size = (math.ceil(height / coarser), math.ceil(width / coarser))
    ice = _ice_whiteness(stream, n, size)
    if coarser > 1:
        rows, columns = map(_enlarging_matrix, (height, width), size)
        ice = multiply_axes(ice, rows, columns)
    # Bluish where thin, white where thick; grey for one channel.
    tint = np.asarray(colour_for(_TINT, channels), dtype=np.float32)
    colour = place_like(tint[None, :, None, None], ice)
    shade = ice * (1 - colour)
    shade += colour
    shade *= ice
    return shade


def _ice_whiteness(stream: Stream, n: int, size: tuple[int, int]) -> Array:
    """How white the ice is (n, 1, height, width)."""
    edge = max(size)
    down, right = (_bent_coordinates(stream, n, size, axis) for axis in range(2))
    grown = _ice_growth(stream.uniform((n, 4, 1, 1)), down, right)
    grown += 0.16 * smooth_noise(stream, n, size, edge / 6)
    xp = array_namespace(grown)
    cover = xp.clip(grown, 0.0, 1.0)
    hoar = _hoar(stream, n, size)
    ferns = _ferns(stream.uniform((n, 8, _FERNS)), down, right)
    ferns *= 0.4 + 0.6 * cover
    ferns *= 0.45 + 0.55 * hoar
    cover *= 0.2 + 0.6 * hoar
    cover += 0.04 + 0.1 * hoar
    return xp.clip(cover + ferns, 0.0, 1.0)


def _bent_coordinates(stream: Stream, n: int, size: tuple[int, int], axis: int) -> Array:
    """Coordinates of the pixels along this axis, 0 in the middle, bent so that ferns curve."""
    edge, shape = max(size), [1, 1, 1, 1]
    shape[2 + axis] = size[axis]
    wide = smooth_noise(stream, n, size, edge / 4)
    wide *= 0.03
    wide += 0.006 * smooth_noise(stream, n, size, max(edge / 16, 2.0))
    straight = (np.arange(size[axis], dtype=np.float32) - (size[axis] - 1) / 2) / edge
    wide += place_like(straight.astype(np.float32).reshape(shape), wide)
    return wide


def _ice_growth(u: Array, down: Array, right: Array) -> Array:
    """How thick the ice is: below 0 in the clear spot, 1 and more at the edges."""
    xp = array_namespace(u)
    y, x, slope, clear = (u[:, k : k + 1] for k in range(4))
    y, x = down - (0.9 * y - 0.45), right - (0.9 * x - 0.45)
    far = xp.sqrt(y * y + x * x)
    far *= 2 + slope
    far -= 0.1 + 0.55 * clear
    return far


def _hoar(stream: Stream, n: int, size: tuple[int, int]) -> Array:
    """Ridged noise at three scales, 0 to 1."""
    ridges = []
    for share, weight in ((9, 0.35), (22, 0.35), (50, 0.3)):
        noise = smooth_noise(stream, n, size, max(max(size) / share, 2.0))
        xp = array_namespace(noise)
        ridges.append(weight * xp.clip(1 - 0.8 * xp.abs(noise), 0.0, None))
    return ridges[0] + ridges[1] + ridges[2]


def _ferns(u: Array, down: Array, right: Array) -> Array:
    """The brightest of all ferns at each pixel.

    A fern starts near the edge and points inwards. It is widest in the middle of its rib; the
    needles are slanted, at least 3 pixels apart.
    """
    xp = array_namespace(u)
    edge = max(down.shape[-2:])
    turn = (u[:, 0] + place_like(np.arange(_FERNS, dtype=np.float32), u)) * (2 * math.pi / _FERNS)
    start, lean = 0.4 + 0.4 * u[:, 1], turn + math.pi + (u[:, 2] - 0.5) * 2.4
    length, breadth = 0.35 + 0.45 * u[:, 3], 0.06 + 0.08 * u[:, 4]
    spacing = xp.clip(0.025 + 0.03 * u[:, 5], 3.0 / edge, None)
    sine, cosine = xp.sin(lean), xp.cos(lean)
    foot = start * (xp.sin(turn) * sine + xp.cos(turn) * cosine)
    aside = start * (xp.cos(turn) * sine - xp.sin(turn) * cosine)
    # Along the rib in units of its length, and across it in units of the breadth of the fern.
    frame = xp.stack((sine / length, cosine / length, -foot / length), axis=-1)
    cross = xp.stack((-cosine / breadth, sine / breadth, -aside / breadth), axis=-1)
    axes = xp.concat((frame, cross), axis=1)
    needles = (length / spacing, (0.45 + 0.5 * u[:, 6]) * breadth / spacing)
    rib, bright = 0.5 * edge * breadth, 0.6 + 0.4 * u[:, 7]
    rows = [xp.reshape(part, (len(u), -1)) for part in (down, right, xp.ones_like(down))]
    places = xp.matmul(axes, xp.stack(rows, axis=1))
    whole = xp.zeros_like(rows[0])
    for i in range(_FERNS):
        one = [measure[:, i][:, None] for measure in (*needles, rib, bright)]
        fern = _fern(places[:, i], xp.abs(places[:, _FERNS + i]), *one)
        xp.maximum(whole, fern, out=whole)
    return xp.reshape(whole, down.shape)


def _fern(
    along_rib: Array, beside: Array, needles: Array, slant: Array, rib: Array, bright: Array
) -> Array:
    """How bright one fern is at each pixel."""
    xp = array_namespace(along_rib)
    phase = along_rib * needles
    phase -= beside * slant
    phase -= xp.round(phase)
    phase *= phase
    phase *= 2.8
    phase += 0.3
    blade = 4 - 4 * along_rib
    blade *= along_rib
    blade -= beside
    blade *= 1.6
    middle = beside * -rib
    middle += 0.9
    xp.maximum(phase, middle, out=phase)
    phase *= xp.clip(blade, 0.0, 1.0)
    phase *= bright
    return phase


@functools.lru_cache(maxsize=32)
def _enlarging_matrix(edge: int, coarse: int) -> BandMatrix:
    """Bilinear weights (edge, coarse) that enlarge, edge pixels repeated."""
    places = np.clip((np.arange(edge) + 0.5) * coarse / edge - 0.5, 0, coarse - 1)
    weights = np.clip(1 - np.abs(places[:, None] - np.arange(coarse)), 0, None)
    return band_matrix(weights[None].astype(np.float32))
