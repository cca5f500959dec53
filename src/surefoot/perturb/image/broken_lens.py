"""A cracked lens."""

from __future__ import annotations

import math
from typing import ClassVar

from array_api_compat import array_namespace, device

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.cover import mix
from surefoot.perturb._ops.definition import Levels, perturbation
from surefoot.perturb._ops.levels import restore_level_zero
from surefoot.perturb._ops.pixel_axes import diagonal, distance_to_points, level_array
from surefoot.perturb._ops.warp import warp
from surefoot.subject.protocols import Array, Drawn, Level, Stream, View

_MOST_CRACKS = 50
_FARTHEST = 0.06
"""How far a shard can move the image, as a share of the diagonal."""
_THICKNESS = 1 / 150
"""The thickness of a crack at the impact, as a share of the diagonal; at least a pixel."""
_FADING = 0.25
"""The last part of a crack, over which it fades out, as a share of its length."""
_SHORTEST = 1e-6
"""Pixels that the shortest crack has, instead of a division by 0."""


@perturbation
class BrokenLens:
    """Cracks run from a random point of the lens; between two of them, a shard shifts the image.

    The cracks, `cracks` in number (9 by default) and at random angles, reach as far as `level`
    times the diagonal: everywhere at level 1. Each is a line of its own grey that thins out towards
    its end. Each shard shifts the image in its own direction, at the impact by up to 6 % of the
    diagonal and less towards the ends of the cracks. Beyond them the image stays as it is.
    """

    level: float | None = None
    cracks: int = 9
    kind: ClassVar[str] = "broken-lens"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "length of the cracks, share of the diagonal")

    def __post_init__(self) -> None:
        if not 1 <= self.cracks <= _MOST_CRACKS or self.cracks != int(self.cracks):
            raise InvalidArgument(
                f"broken-lens: cracks must be an integer from 1 to {_MOST_CRACKS}, "
                f"got {self.cracks}"
            )
        object.__setattr__(self, "cracks", int(self.cracks))

    @property
    def phrase(self) -> str:
        """What it does."""
        count = f"{self.cracks} crack" + "s" * (self.cracks > 1)
        return f"a broken lens: {count} of up to {{level}} of the diagonal from a random point"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """The impact; for each crack its angle and its grey; for each shard its shift."""
        return stream.uniform((n, 2)), stream.uniform((n, 4, self.cracks))

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Shift the shards, then draw the cracks."""
        xp = array_namespace(x)
        down, right = distance_to_points(drawn[0], x)
        away = xp.sqrt(down * down + right * right)
        reach = xp.clip(level_array(level, x) * diagonal(x), _SHORTEST, None)
        near = xp.clip(1 - away / reach, 0.0, None)
        turn = (xp.atan2(down, right) * (0.5 / math.pi) + 0.5) * self.cracks
        moved = self._shift_shards(x, turn, near, drawn[1])
        cracked = self._draw_cracks(moved, (turn, away, near), drawn[1], bounds)
        return restore_level_zero(cracked, x, level)

    def _shift_shards(self, x: Array, turn: Array, near: Array, numbers: Array) -> Array:
        """Every pixel from where its shard moved it; `turn` counts the cracks passed."""
        xp = array_namespace(x)
        angle, size = numbers[:, 2] * (2 * math.pi), numbers[:, 3] * (_FARTHEST * diagonal(x))
        moves = (size * xp.sin(angle), size * xp.cos(angle))
        # The shard before the first crack is the one after the last.
        shifts = [xp.zeros_like(turn) + move[:, -1, None, None] for move in moves]
        for i in range(self.cracks):
            passed = turn >= numbers[:, 0, i, None, None] + i
            for axis, move in enumerate(moves):
                shifts[axis] += passed * (move[:, i] - move[:, i - 1])[:, None, None]
        row = xp.arange(x.shape[2], dtype=x.dtype, device=device(x))[None, :, None]
        column = xp.arange(x.shape[3], dtype=x.dtype, device=device(x))[None, None, :]
        return warp(x, row + shifts[0] * near, column + shifts[1] * near, "mirror", None)

    def _draw_cracks(
        self,
        x: Array,
        places: tuple[Array, Array, Array],
        numbers: Array,
        bounds: Interval | None,
    ) -> Array:
        """A line along every crack, where the pixels are near enough to the impact."""
        xp, span, (turn, away, near) = array_namespace(x), bounds or UNIT, places
        half = near * (0.5 * max(1.0, _THICKNESS * diagonal(x)))
        fading = xp.clip(near * (1 / _FADING), None, 1.0)
        drawn_over, grey = xp.zeros_like(turn), xp.zeros_like(turn)
        for i in range(self.cracks):
            apart = xp.abs(turn - (numbers[:, 0, i, None, None] + i))
            apart = xp.minimum(apart, self.cracks - apart) * (2 * math.pi / self.cracks)
            beside = away * xp.sin(xp.clip(apart, None, math.pi / 2))
            line = xp.clip(half + 0.5 - beside, 0.0, 1.0)
            grey = xp.where(line > drawn_over, numbers[:, 1, i, None, None], grey)
            drawn_over = xp.maximum(drawn_over, line)
        drawn_over *= fading
        shade = grey * span.width + span.low
        return mix(x, drawn_over[:, None], shade[:, None], bounds)
