"""Driven snow on images, after Hendrycks & Dietterich 2019 (ImageNet-C, CIFAR-C)."""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.colours import luminance
from surefoot.perturb._ops.definition import Choices, Levels, Presets, perturbation
from surefoot.perturb._ops.filters.matrices import BandMatrix, band_matrix, multiply_axes
from surefoot.perturb._ops.filters.streaks import blur_downwards
from surefoot.perturb._ops.scaling import from_unit_range, to_unit_range
from surefoot.perturb._ops.severity import PRESETS, SEVERITIES, SIZES, Table, at_severity, is_small
from surefoot.subject.protocols import Array, Level, Stream, View

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
class Snow:
    """Flakes driven by wind over a whitened image.

    Normal noise is zoomed, thresholded and blurred along a line; the image is mixed with
    max(x, 1.5 · grey + 0.5); the flakes and the flakes rotated by 180 degrees are added. As
    published (`snow`), but in floating point where the published code rounds the layer to 8 bits.
    Between severities the sampling points of the zoom move linearly, and below severity 1 the
    flakes fade. Flakes appear one by one as the level grows, because the threshold is hard. Level
    and size as for `Fog`.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "snow"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    choices: ClassVar[Choices] = SIZES
    phrase: ClassVar[str] = "snow of severity {level} of 5"
    presets: ClassVar[Presets] = PRESETS

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """The direction of the wind, uniform in [0, 1), and the layer, standard normal."""
        return stream.uniform((n,)), stream.normal((n, 1, *shape[-2:]))

    def apply(
        self, x: Array, drawn: tuple[Array, Array], level: Level, bounds: Interval | None
    ) -> Array:
        """Whiten the image and add the snow."""
        xp = array_namespace(x)
        table = _SNOW_SMALL if is_small(self.size, tuple(x.shape[1:])) else _SNOW_LARGE
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
    tall, wide = (
        at_severity(level, tuple(_first_and_step(edge, zoom) for zoom in zooms))
        for edge in layer.shape[-2:]
    )
    if not isinstance(level, int | float):
        return multiply_axes(
            layer, _sampling_matrices(layer, 2, *tall), _sampling_matrices(layer, 3, *wide)
        )
    if tall == wide == [0.0, 1.0]:
        return layer
    return multiply_axes(
        layer, _sampling_matrix(layer.shape[2], *tall), _sampling_matrix(layer.shape[3], *wide)
    )


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


def _sampling_matrices(layer: Array, axis: int, start: Array, step: Array) -> Array:
    """As `_sampling_matrix`, weights (n, edge, edge) for each row."""
    xp = array_namespace(layer)
    edge = layer.shape[axis]
    pixels = place_like(np.arange(edge, dtype=np.float32), layer)
    points = xp.clip(start + step * pixels[:, None], 0, edge - 1)
    return xp.clip(1 - xp.abs(points - pixels), 0, None)[:, 0]
