"""Perturbations of audio and similar signals.

Rows are (channels, length). Silence is 0, or the middle of the bounds where the model has any: so
a sound in [-1, 1] and the same sound in [0, 255] are perturbed alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar

from array_api_compat import array_namespace, device

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip
from surefoot.perturb._ops.definition import (
    NOTHING,
    Draw,
    Each,
    Levels,
    Normal,
    Uniform,
    perturbation,
)
from surefoot.perturb._ops.levels import level_per_row
from surefoot.subject.protocols import Array, Level, View

_WITH_UNIT = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?) *(?P<unit>db|x)", re.ASCII | re.IGNORECASE
)
_GROUP = 16
"""float32 numbers in the widest vector register."""
_LONG_SIGNAL = 2048
"""Samples from which on transforms are done one at a time instead of in groups."""


@perturbation
class NoiseAtSNR:
    """White Gaussian noise; the level is its RMS over the RMS of the row, all channels together.

    The signal-to-noise ratio is -20 · log10(level) dB: level 0.1 is 20 dB, level 1 is 0 dB. The
    ratio holds for the expected power of the noise. Silence stays silent. As text a level has a
    unit: 20dB, or 0.1x for 0.1 times the RMS.
    """

    level: float | None = None
    kind: ClassVar[str] = "snr"
    view: ClassVar[View] = View.SERIES
    levels: ClassVar[Levels] = Levels(unit="RMS of the noise over RMS of the signal")
    draw: ClassVar[Draw] = Normal(Each.VALUE)

    @classmethod
    def at(cls, decibels: float) -> NoiseAtSNR:
        """The noise of this signal-to-noise ratio."""
        if not math.isfinite(decibels):
            raise InvalidArgument(f"snr: decibels must be a number, got {decibels}")
        return cls(10 ** (-decibels / 20))

    @classmethod
    def read_level(cls, text: str) -> float:
        """The level of a text, 20dB or 0.1x; a bare number could mean either and is refused."""
        match = _WITH_UNIT.fullmatch(text.strip())
        if match is None:
            raise InvalidArgument(
                f"snr:{text} needs a unit: write snr:20dB for a signal-to-noise ratio of 20 dB, or "
                "snr:0.1x for noise of 0.1 times the RMS of the signal"
            )
        value = float(match["number"])
        if match["unit"].lower() == "x":
            return value
        level = cls.at(value).level
        return 0.0 if level is None else level

    @classmethod
    def write_level(cls, level: float) -> str:
        """The text of a level."""
        return f"{level!r}x"

    @property
    def phrase(self) -> str:
        """What it does, as a ratio and in dB."""
        noise = "white Gaussian noise of {level} times the RMS of the signal"
        if self.level is None:
            return noise
        ratio = f"{0.0 - 20 * math.log10(self.level):.3g} dB SNR" if self.level > 0 else "no noise"
        return f"{noise} ({ratio})"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale to the RMS of each row and add."""
        xp = array_namespace(x)
        power = x - silence_value(bounds)
        power *= power
        power = pairwise_sums(xp.reshape(power, (len(x), 1, -1))) / math.prod(x.shape[1:])
        moved = drawn * (xp.sqrt(power) * level_per_row(level, drawn))
        moved += x
        return clip(moved, bounds)


@perturbation
class Gain:
    """Amplified or attenuated by a uniform number of decibels in [-level, level)."""

    level: float | None = None
    kind: ClassVar[str] = "gain"
    view: ClassVar[View] = View.SERIES
    levels: ClassVar[Levels] = Levels(unit="dB")
    draw: ClassVar[Draw] = Uniform((1, 1))
    phrase: ClassVar[str] = "gain drawn uniformly from ±{level} dB"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Multiply by 10^(decibels / 20), around silence."""
        xp = array_namespace(x)
        decibels = (drawn * 2 - 1) * level_per_row(level, drawn)
        more = xp.expm1(decibels * (math.log(10) / 20))
        moved = (x - silence_value(bounds)) * more
        moved += x
        return clip(moved, bounds)


@perturbation
class ClipSignal:
    """Clipped at (1 - level) times the peak of the row, all channels together. Not random."""

    level: float | None = None
    kind: ClassVar[str] = "clip"
    view: ClassVar[View] = View.SERIES
    levels: ClassVar[Levels] = Levels(1.0, "share of the peak")
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "clipping at (1 - {level}) times the peak of the signal"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Subtract what is above the limit."""
        xp = array_namespace(x)
        sound = x - silence_value(bounds)
        limit = xp.max(xp.abs(sound), axis=(1, 2), keepdims=True) * (1 - level_per_row(level, x))
        y = xp.minimum(xp.maximum(sound, -limit), limit)
        y -= sound
        y += x
        return clip(y, bounds)


@perturbation
class BandPass:
    """Frequencies outside a band are removed. Not random.

    Frequencies are shares of the highest one (half the sampling rate). The band is
    [level · low, 1 - level · (1 - high)]: everything at level 0, [low, high] at level 1, which is
    the middle third by default. Outside, the amplitude falls to 0 as half a cosine over `edge`.
    The signal counts as periodic (discrete Fourier transform). Its mean is the frequency 0.
    """

    level: float | None = None
    low: float = 1 / 3
    high: float = 2 / 3
    edge: float = 0.05
    kind: ClassVar[str] = "band-pass"
    view: ClassVar[View] = View.SERIES
    levels: ClassVar[Levels] = Levels(1.0, "0: all frequencies, 1: the narrowest band")
    draw: ClassVar[Draw] = NOTHING

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise InvalidArgument(
                "band-pass: low and high must be shares of the highest frequency with "
                f"0 ≤ low ≤ high ≤ 1, got {self.low} and {self.high}"
            )
        if not 0 < self.edge <= 1:
            raise InvalidArgument(
                f"band-pass: edge must be in (0, 1] of the highest frequency, got {self.edge}"
            )

    @property
    def phrase(self) -> str:
        """What it does."""
        return (
            "band-pass filter at level {level}, which keeps all frequencies at 0 and only "
            f"[{self.low:.3g}, {self.high:.3g}] of the highest frequency at 1"
        )

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Subtract what the filter removes, computed in frequencies."""
        xp = array_namespace(x)
        length = x.shape[-1]
        bins = xp.arange(length // 2 + 1, dtype=xp.float32, device=device(x)) * (2 / length)
        strength = level_per_row(level, x)
        below = strength * self.low - bins
        above = bins - 1 + strength * (1 - self.high)
        out_by = xp.clip(xp.maximum(below, above) / self.edge, 0.0, 1.0)
        taken = (xp.cos(out_by * math.pi) - 1) / 2
        sound = x - silence_value(bounds)
        lost = _transform_in_groups(sound, length, lambda rows: xp.fft.rfft(rows, axis=-1)) * taken
        moved = _transform_in_groups(
            lost, length, lambda rows: xp.fft.irfft(rows, n=length, axis=-1)
        )
        return clip(moved + x, bounds)


def silence_value(bounds: Interval | None) -> float:
    """The value of no sound: 0, or the middle of the bounds."""
    return 0.0 if bounds is None else (bounds.low + bounds.high) / 2


def pairwise_sums(x: Array) -> Array:
    """Sums over the last axis, (…, 1); `x` is overwritten.

    Added in pairs: the order, and so the last bit, is the same in any batch and on any device.
    """
    length = x.shape[-1]
    while length > 1:
        half = (length + 1) // 2
        first = x[..., : length - half]
        first += x[..., half:length]
        length = half
    return x[..., :1]


def _transform_in_groups(x: Array, length: int, transform: Callable[[Array], Array]) -> Array:
    """Transforms of the last axis, the same for a row alone and in any batch.

    Transforms that do not fill a vector register are computed in another order and differ in the
    last bit. So short ones are filled up to whole groups, and long ones are done one at a time.
    """
    xp = array_namespace(x)
    rows = xp.reshape(x, (-1, x.shape[-1]))
    if length >= _LONG_SIGNAL:
        done = xp.concat([transform(rows[i : i + 1]) for i in range(len(rows))], axis=0)
        return xp.reshape(done, (*x.shape[:-1], done.shape[-1]))
    missing = -len(rows) % _GROUP
    if missing:
        empty = xp.zeros((missing, rows.shape[1]), dtype=rows.dtype, device=device(rows))
        rows = xp.concat([rows, empty], axis=0)
    done = transform(rows)[: len(rows) - missing]
    return xp.reshape(done, (*x.shape[:-1], done.shape[-1]))
