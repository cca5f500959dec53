"""Generated frost on a window: ferns of ice that grow inwards from the edges, over hoar."""

from __future__ import annotations

import functools
import math

import numpy as np
from array_api_compat import array_namespace

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.colours import colour_for
from surefoot.perturb._ops.filters.matrices import BandMatrix, band_matrix, multiply_axes
from surefoot.perturb._ops.random_fields import smooth_noise
from surefoot.subject.protocols import Array, Stream

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
        ice = multiply_axes(
            ice, _enlarging_matrix(height, size[0]), _enlarging_matrix(width, size[1])
        )
    return _tint(ice, channels)


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


def _tint(white: Array, channels: int) -> Array:
    """Bluish where thin, white where thick; grey for one channel."""
    tint = np.asarray(colour_for(_TINT, channels), dtype=np.float32)
    colour = place_like(tint[None, :, None, None], white)
    shade = white * (1 - colour)
    shade += colour
    shade *= white
    return shade
