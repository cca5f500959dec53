"""Fog and frost on images, after Hendrycks & Dietterich 2019 (ImageNet-C, CIFAR-C)."""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import from_unit_range, to_unit_range
from surefoot.perturb._ops.definition import (
    OfSeverities,
    Table,
    at_severity,
    is_small,
    perturbation,
)
from surefoot.perturb._ops.random_fields import frost_texture, plasma, plasma_numbers
from surefoot.subject.protocols import Array, Level, Stream

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

    kind: ClassVar[str] = "fog"
    phrase: ClassVar[str] = "fog (a plasma fractal) of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The uniform numbers of one plasma map for each trial, coarse to fine."""
        return plasma_numbers(stream, n, self._edge(shape))

    def _edge(self, shape: tuple[int, ...]) -> int:
        """The edge of the plasma map."""
        covering = 1 << (max(shape[-2:]) - 1).bit_length()
        return max(32 if is_small(self.size, shape) else 256, covering)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Add the fog and scale."""
        shape = tuple(x.shape[1:])
        xp = array_namespace(x)
        table = _FOG_SMALL if is_small(self.size, shape) else _FOG_LARGE
        thickness, decay = at_severity(level, table)
        unit = to_unit_range(x, bounds)
        most = xp.clip(xp.max(unit, axis=(1, 2, 3), keepdims=True), 1e-6, None)
        scale = most / (most + thickness)
        fog = plasma(drawn, self._edge(shape), decay)[..., : shape[-2], : shape[-1]]
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

    kind: ClassVar[str] = "frost"
    phrase: ClassVar[str] = "frost (generated ice crystals) of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """One image of frost for each trial, in [0, 1]."""
        return frost_texture(stream, n, shape)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix image and frost."""
        small = is_small(self.size, tuple(x.shape[1:]))
        of_image, of_frost = at_severity(level, _FROST_SMALL if small else _FROST_LARGE)
        mixed = drawn * of_frost
        mixed += to_unit_range(x, bounds) * of_image
        return from_unit_range(mixed, bounds)
