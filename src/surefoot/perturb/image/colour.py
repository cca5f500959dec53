"""Changes of light and colour that are the same for every pixel of an image."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import array_namespace

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import (
    PerRow,
    clip_in_place,
    from_unit_range,
    level_per_row,
    restore_level_zero,
    to_unit_range,
)
from surefoot.perturb._ops.definition import (
    Directed,
    Levels,
    OfSeverities,
    at_severity,
    perturbation,
    published,
)
from surefoot.perturb._ops.pixels import change_saturation, mix, rotate_hue
from surefoot.subject.protocols import Array, Level

# Gain and offset of the saturation at severities 0 to 5.
_SATURATE_SMALL = ((1, 0), (0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))
_SATURATE_LARGE = ((1, 0), (0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))


@perturbation
class Brightness(Directed):
    """The HSV value of every pixel grows by `level` of the range; hue and saturation stay.

    Hendrycks & Dietterich 2019, `brightness`. The channels of a pixel of value V are multiplied
    by (V + level) / V; black becomes grey. The level is added to grey images. A negative level
    darkens. Not random.
    """

    kind = "brightness"
    levels = Levels(1.0, "share of the range")
    phrase = "brightness (HSV value) raised by {level} of the range"
    presets = published((0.05, 0.1, 0.15, 0.2, 0.3), (0.1, 0.2, 0.3, 0.4, 0.5))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale the height of every pixel above the lowest value."""
        span = bounds or UNIT
        shift = level_per_row(level, x) * span.width
        if x.shape[1] == 1:
            return clip_in_place(x + shift, bounds)
        xp = array_namespace(x)
        height = x - span.low if span.low else x
        top = xp.max(height, axis=1, keepdims=True)
        # both ends of a clip, and masks as factors: NumPy is slow with one end and with `where`
        most = xp.clip(top, span.width, math.inf)
        raised = xp.minimum(xp.clip(top + shift, 0.0, math.inf), most)
        black = xp.astype(top <= 0, x.dtype)
        lift = raised * black
        raised -= lift
        raised += black
        raised /= xp.maximum(top, black)
        bright = height * raised
        bright += lift + span.low if span.low else lift
        return clip_in_place(bright, bounds)


@perturbation
class Contrast(Directed):
    """Every value moves towards the mean of its channel by the share `level` of the distance.

    Hendrycks & Dietterich 2019, `contrast`, whose factor is 1 - level. A negative level raises
    the contrast. Not random.
    """

    kind = "contrast"
    levels = Levels(1.0, "share of the contrast")
    phrase = "contrast reduced by a share of {level}"
    presets = published((0.75, 0.5, 0.4, 0.3, 0.15), (0.4, 0.3, 0.2, 0.1, 0.05), lambda c: 1 - c)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix each channel with its mean."""
        xp = array_namespace(x)
        means = xp.mean(xp.reshape(x, (*x.shape[:2], -1)), axis=2)
        return mix(x, level_per_row(level, x), means[:, :, None, None], bounds)


@perturbation
class Saturate(OfSeverities):
    """The HSV saturation S becomes S · gain + offset, clipped; hue and value stay.

    Hendrycks & Dietterich 2019, `saturate`. The level is the published severity, from 0 to 5;
    gain and offset are linear between the published pairs. Up to severity 2 colours fade, from 3
    on they deepen, so between 2 and 3 there is a level that changes nothing. For an effect that
    only grows use `Desaturate`. Grey pixels have hue 0 (red), as in the published code: with an
    offset they turn reddish. Grey images stay as they are. `size` is "small" or "large" for one
    set of constants, or empty to go by the size of the image. Not random.
    """

    kind = "saturate"
    phrase = "saturation of colours changed, severity {level} of 5"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch the distance of each channel from the greatest one."""
        if x.shape[1] == 1:
            return x
        table = self.table(x.shape, _SATURATE_SMALL, _SATURATE_LARGE)
        gain, offset = at_severity(level, table)
        vivid = change_saturation(x, gain, offset, (bounds or UNIT).low)
        return clip_in_place(vivid, bounds)


@perturbation
class Desaturate(Directed):
    """Colours lose the share `level` of their HSV saturation; hue and value stay.

    A negative level deepens them. Grey images stay as they are. Not random.
    """

    kind = "desaturate"
    levels = Levels(1.0, "share of the saturation")
    phrase = "saturation of colours reduced by a share of {level}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Shrink the distance of each channel from the greatest one."""
        if x.shape[1] == 1:
            return x
        faded = change_saturation(x, 1 - level_per_row(level, x), 0.0, (bounds or UNIT).low)
        return clip_in_place(faded, bounds)


@perturbation
class Hue(Directed):
    """The HSV hue is rotated by `level` degrees; saturation and value stay exactly.

    120 degrees turn red into green, -120 into blue. Grey images and grey pixels stay as they are.
    Not random.
    """

    kind = "hue"
    levels = Levels(180.0, "degrees")
    phrase = "hue of colours rotated by {level} degrees"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Turn around the grey axis of HSV."""
        if x.shape[1] == 1:
            return x
        rotated = clip_in_place(rotate_hue(x, level_per_row(level, x[:, 0])), bounds)
        return restore_level_zero(rotated, x, level)


@perturbation
class Gamma(Directed):
    """Values, scaled to [0, 1], are raised to the power 2^level.

    At level 1 they are squared, which darkens. A negative level brightens: -1 is the square root.
    Level and -level undo each other. Without bounds, values below 0 stay as they are. Not random.
    """

    kind = "gamma"
    levels = Levels(3.0, "exponent of 2")
    phrase = "gamma correction: values raised to the power 2^{level}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Raise to the power."""
        xp = array_namespace(x)
        power: PerRow = 2 ** level_per_row(level, x)
        share = to_unit_range(x, bounds)
        bent = _power(xp.clip(share, 0.0, None), power)
        if bounds is None:
            bent += xp.clip(share, None, 0.0)
        return restore_level_zero(from_unit_range(bent, bounds), x, level)


def _power(x: Array, power: PerRow) -> Array:
    """x to the power, x being 0 or more: through the logarithm, which takes less time."""
    bits = power / math.log(2)
    if not isinstance(x, np.ndarray):
        return (x.log() * bits).exp2_()
    with np.errstate(divide="ignore"):  # 0 goes by -∞ to 0
        exponent = np.log(x) * bits
    return np.exp2(exponent, out=exponent)
