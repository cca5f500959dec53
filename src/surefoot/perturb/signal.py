"""Perturbations of signals: audio and series of measurements over time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import field

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.core.limits import count, limit, one_of
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip, level_of, level_per_row, levels_on_host, place_like
from surefoot.perturb._ops.definition import (
    Each,
    Levels,
    Normal,
    OfSignals,
    Uniform,
    perturbation,
)
from surefoot.subject.protocols import Array, Drawn, Level, Stream

_WITH_UNIT = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?) *(?P<unit>db|x)", re.ASCII | re.IGNORECASE
)
_GROUP = 16
"""float32 numbers in the widest vector register."""
_LONG_SIGNAL = 2048
"""Samples from which on transforms are done one at a time instead of in groups."""


@perturbation
class NoiseAtSNR(OfSignals):
    """White Gaussian noise; the level is its RMS over the RMS of the row, all channels together.

    The signal-to-noise ratio is -20 · log10(level) dB: level 0.1 is 20 dB, level 1 is 0 dB. The
    ratio holds for the expected power of the noise. Silence stays silent. As text a level has a
    unit: 20dB, or 0.1x for 0.1 times the RMS.
    """

    kind = "snr"
    levels = Levels(unit="RMS of the noise over RMS of the signal")
    draw = Normal(Each.VALUE)

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
        return value if match["unit"].lower() == "x" else level_of(cls.at(value))

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
class Gain(OfSignals):
    """Amplified or attenuated by a uniform number of decibels in [-level, level)."""

    kind = "gain"
    levels = Levels(unit="dB")
    draw = Uniform((1, 1))
    phrase = "gain drawn uniformly from ±{level} dB"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Multiply by 10^(decibels / 20), around silence."""
        xp = array_namespace(x)
        decibels = (drawn * 2 - 1) * level_per_row(level, drawn)
        more = xp.expm1(decibels * (math.log(10) / 20))
        moved = (x - silence_value(bounds)) * more
        moved += x
        return clip(moved, bounds)


@perturbation
class ClipSignal(OfSignals):
    """Clipped at (1 - level) times the peak of the row, all channels together. Not random."""

    kind = "clip"
    levels = Levels(1.0, "share of the peak")
    phrase = "clipping at (1 - {level}) times the peak of the signal"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Subtract what is above the limit."""
        xp = array_namespace(x)
        sound = x - silence_value(bounds)
        limit = xp.max(xp.abs(sound), axis=(1, 2), keepdims=True) * (1 - level_per_row(level, x))
        y = xp.minimum(xp.maximum(sound, -limit), limit)
        y -= sound
        y += x
        return clip(y, bounds)


_EDGE = limit(lambda share: 0 < share <= 1, "be in (0, 1] of the highest frequency")


@perturbation
class BandPass(OfSignals):
    """Frequencies outside a band are removed. Not random.

    Frequencies are shares of the highest one (half the sampling rate). The band is
    [level · low, 1 - level · (1 - high)]: everything at level 0, [low, high] at level 1, which is
    the middle third by default. Outside, the amplitude falls to 0 as half a cosine over `edge`.
    The signal counts as periodic (discrete Fourier transform). Its mean is the frequency 0.
    """

    low: float = 1 / 3
    high: float = 2 / 3
    edge: float = field(default=0.05, metadata=_EDGE)
    kind = "band-pass"
    levels = Levels(1.0, "0: all frequencies, 1: the narrowest band")
    phrase = (
        "band-pass filter at level {level}, which keeps all frequencies at 0 and only "
        "[{self.low:.3g}, {self.high:.3g}] of the highest frequency at 1"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise InvalidArgument(
                "band-pass: low and high must be shares of the highest frequency with "
                f"0 ≤ low ≤ high ≤ 1, got {self.low} and {self.high}"
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
        moved = _transform_in_groups(lost, length, lambda f: xp.fft.irfft(f, n=length, axis=-1))
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
    else:
        empty = (-len(rows) % _GROUP, rows.shape[1])
        zeros = xp.zeros(empty, dtype=rows.dtype, device=device(rows))
        done = transform(xp.concat([rows, zeros], axis=0))[: len(rows)]
    return xp.reshape(done, (*x.shape[:-1], done.shape[-1]))


@perturbation
class Jitter(OfSignals):
    """Gaussian noise on every value; the level is its deviation over that of the row's channel.

    A channel that does not vary stays as it is.
    """

    kind = "jitter"
    levels = Levels(unit="standard deviations of the channel")
    draw = Normal(Each.VALUE)
    phrase = "Gaussian noise on every value, of {level} times the standard deviation of its channel"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale to each channel's deviation and add."""
        xp = array_namespace(x)
        length = x.shape[-1]
        spread = x - x[..., :1]  # a constant channel is exactly 0 from here on
        spread -= pairwise_sums(xp.asarray(spread, copy=True)) / length
        spread *= spread
        deviation = xp.sqrt(pairwise_sums(spread) / length)
        moved = drawn * (deviation * level_per_row(level, drawn))
        moved += x
        return clip(moved, bounds)


@perturbation
class TimeShift(OfSignals):
    """Moved in time by a uniform share of the length in [-level, level).

    Between samples the value is interpolated linearly. With `fill` "wrap" what leaves at one end
    enters at the other, with "zero" silence enters.
    """

    fill: str = field(default="wrap", metadata=one_of("wrap", "zero"))
    kind = "time-shift"
    levels = Levels(1.0, "share of the length")
    draw = Uniform((1, 1))

    @property
    def phrase(self) -> str:
        """What it does."""
        filled = "periodic" if self.fill == "wrap" else "filled with silence"
        return f"time shift by a uniform share of the length in ±{{level}} ({filled})"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Cut a window of length + 1 out of the continued signal, and interpolate in it."""
        xp = array_namespace(x)
        length = x.shape[-1]
        steps = (drawn * 2 - 1) * (level_per_row(level, drawn) * length)
        back = xp.floor(steps)
        share = steps - back
        start = -xp.astype(xp.reshape(back, (-1,)), xp.int64) - 1
        if self.fill == "wrap":
            signal, start = xp.concat([x, x], axis=-1), start % length
        else:
            quiet = xp.full_like(x, silence_value(bounds))
            signal, start = xp.concat([quiet, x, quiet], axis=-1), start + length
        rows = xp.arange(len(drawn), device=device(x)) if len(x) > 1 else xp.zeros_like(start)
        if isinstance(signal, np.ndarray):
            view: Array = np.lib.stride_tricks.sliding_window_view(signal, length + 1, axis=-1)
        else:
            view = signal.unfold(-1, length + 1, 1)
        window = view[rows, :, start]
        moved = window[..., :-1] - window[..., 1:]
        moved *= share
        moved += window[..., 1:]
        return clip(moved, bounds)


_SLOWEST = 0.1
"""The speed below which nothing of a signal would be left to hear."""


@perturbation
class Speed(OfSignals):
    """Played 1 + `level` times as fast, from the start; a negative level is slower.

    Pitch and speed change together, as on a tape. Between samples the value is interpolated
    linearly. A faster signal ends in silence, a slower one is cut off. A level below -0.9 means
    -0.9. Not random.
    """

    kind = "speed"
    levels = Levels(1.0, "share of the speed added")
    signed = True
    least = _SLOWEST - 1
    phrase = "played 1 + {level} times as fast"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Interpolate between the two samples around each place in time."""
        xp, length = array_namespace(x), x.shape[-1]
        quicker = levels_on_host(level)[:, None]
        places = np.arange(length) * np.maximum(1 + quicker, _SLOWEST)
        before = np.minimum(places, length).astype(np.int64)
        share = place_like((places - before).astype(np.float32), x)[:, None, :]
        quiet = xp.full_like(x[..., :2], silence_value(bounds))
        signal = xp.concat([x, quiet], axis=-1)
        first, second = (_take_samples(signal, place_like(before + i, x)) for i in (0, 1))
        second -= first
        second *= xp.clip(share, 0.0, 1.0)
        second += first
        return clip(second, bounds)


def _take_samples(signal: Array, places: Array) -> Array:
    """The values of signals (n or 1, channels, length) at these places (n or 1, samples)."""
    xp = array_namespace(signal)
    if len(places) == 1:
        return xp.take(signal, places[0], axis=2)
    rows = xp.broadcast_to(signal, (len(places), *signal.shape[1:]))
    each = xp.broadcast_to(places[:, None, :], (*rows.shape[:2], places.shape[1]))
    return xp.take_along_axis(rows, each, axis=2)


@perturbation
class Dropouts(OfSignals):
    """A share `level` of the time steps is lost, in `gaps` gaps, in all channels at once.

    The time is cut at random into as many pieces; in each, a gap grows with the level around a
    random point until it fills the piece. So a step lost at one level is lost at every higher one.
    A step is lost when its middle lies in a gap. With `fill` "hold" the last value before the gap
    is repeated (at the start, the first value that is not lost; where all are lost, the value of
    step 0); with "zero" there is 0, or the middle of the bounds.
    """

    gaps: int = field(default=4, metadata=count(100))
    fill: str = field(default="hold", metadata=one_of("hold", "zero"))
    kind = "dropouts"
    levels = Levels(1.0, "share of the time steps")

    @property
    def phrase(self) -> str:
        """What it does."""
        filled = "filled with the last value" if self.fill == "hold" else "filled with silence"
        gaps = f"{self.gaps} gap" + "s" * (self.gaps > 1)
        return f"a share of {{level}} of the time steps lost in {gaps} ({filled})"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """Where the pieces end, and the point in each piece around which its gap grows."""
        return stream.uniform((n, self.gaps - 1)), stream.uniform((n, self.gaps))

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Find the lost steps, and fill them."""
        xp = array_namespace(x)
        lost = self.lost(drawn, level, x.shape[-1])
        if self.fill == "zero":
            return clip(xp.where(lost[:, None, :], silence_value(bounds), x), bounds)
        source = ~lost * xp.arange(x.shape[-1], dtype=xp.int32, device=device(x))
        first_kept = xp.argmin(xp.astype(lost, xp.int8), axis=1)
        source[:, 0] = first_kept
        numpy = isinstance(source, np.ndarray)
        held = np.maximum.accumulate(source, axis=1) if numpy else source.cummax(dim=1).values
        rows, channels, length = x.shape
        begins = xp.arange(rows * channels, device=device(x)) * length
        return clip(x.take(held[:, None, :] + xp.reshape(begins, (rows, channels, 1))), bounds)

    def lost(self, drawn: Drawn, level: Level, length: int) -> Array:
        """Which steps are lost: (n, length)."""
        cuts, points = drawn
        xp = array_namespace(points)
        zero = xp.zeros_like(points[:, :1])
        edges = xp.concat([zero, xp.sort(cuts, axis=1), zero + 1], axis=1)
        left, right = edges[:, :-1], edges[:, 1:]
        strength = level_per_row(level, points)
        centre = (left + points * (right - left)) * (1 - strength)
        ends = xp.concat([left * strength + centre, right * strength + centre], axis=1)
        places = xp.astype(xp.ceil(ends * length - 0.5), xp.int64)
        turns = _gap_counts(places, length + 1, self.gaps)
        return xp.cumulative_sum(turns, axis=1, dtype=xp.int8)[:, :-1] > 0


def _gap_counts(places: Array, length: int, begins: int) -> Array:
    """(n, length): how many gaps begin at each step, minus how many end there."""
    xp = array_namespace(places)
    n = len(places)
    turns = xp.zeros((n, length), dtype=xp.int8, device=device(places))
    if isinstance(places, np.ndarray):
        rows = np.arange(n)[:, None]
        np.add.at(turns, (rows, places[:, :begins]), 1)
        np.subtract.at(turns, (rows, places[:, begins:]), 1)
        return turns
    signs = xp.ones_like(places, dtype=xp.int8)
    signs[:, begins:] = -1
    return turns.scatter_add_(1, places, signs)
