"""Perturbations of sound and of measured series, against their definitions."""

import math

import numpy as np
import pytest

from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.perturb.signal import (
    BandPass,
    ClipSignal,
    Dropouts,
    Gain,
    Jitter,
    NoiseAtSNR,
    Speed,
    TimeShift,
)
from surefoot.testing import check_perturbation
from tests.refusals import refused

UNIT, SIGNED, BYTES = Interval(0, 1), Interval(-1, 1), Interval(0, 255)
SEVERAL = [
    NoiseAtSNR(0.3),
    Gain(6.0),
    ClipSignal(0.4),
    TimeShift(0.3),
    TimeShift(0.3, "zero"),
    Speed(0.3),
    BandPass(0.7),
    BandPass(1.0, low=0.0, high=0.2),
    Jitter(0.3),
    Dropouts(0.4),
    Dropouts(0.4, gaps=1),
    Dropouts(0.4, fill="zero"),
]
every = pytest.mark.parametrize("made", SEVERAL, ids=lambda p: f"{p.kind}-{p.level}")


def sound(rows, channels=2, length=120, seed=3):
    """A few waves with some noise, in [-1, 1]."""
    rng = np.random.default_rng(seed)
    time = np.arange(length) / length
    pitch, phase = rng.uniform(1, 20, (2, rows, channels, 1))
    waves = 0.5 * np.sin(2 * np.pi * pitch * time + phase) + 0.1 * rng.standard_normal(
        (rows, channels, length)
    )
    return np.clip(waves, -0.95, 0.95).astype(np.float32)


def drawn_for(made, x, n):
    return made.draw(stream(5, "s", made.kind, 0, x), n, tuple(x.shape[1:]))


@every
@pytest.mark.parametrize("shape", [(1, 16), (2, 33), (3, 200), (1, 1), (1, 2), (5, 3)])
def test_every_perturbation_of_a_series_conforms(made, shape):
    check_perturbation(made, shape)


@every
def test_a_long_row_is_the_same_alone_in_any_batch_and_as_time_first(made, place):
    """Longer than what Torch sums in one go, and seen through transposed memory."""
    x = sound(5, channels=1, length=40_000)
    drawn = drawn_for(made, place(x), 5)
    whole = np.asarray(made.apply(place(x), drawn, made.level, SIGNED))
    for i in (0, 3):
        alone = made.apply(place(x[i : i + 1]), draw_rows(drawn, i, i + 1), made.level, SIGNED)
        assert np.array_equal(np.asarray(alone)[0], whole[i])
    if place is np.asarray:
        turned = np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)
        assert np.array_equal(made.apply(turned, drawn, made.level, SIGNED), whole)


@every
def test_the_same_sound_in_other_bounds_is_perturbed_alike(made):
    x = sound(6)
    drawn = drawn_for(made, x, 6)
    signed = made.apply(x, drawn, made.level, SIGNED)
    unit = made.apply((x + 1) / 2, drawn, made.level, UNIT)
    large = made.apply((x + 1) * 127.5, drawn, made.level, BYTES)
    np.testing.assert_allclose(unit * 2 - 1, signed, atol=2e-6)
    np.testing.assert_allclose(large / 127.5 - 1, signed, atol=2e-5)


@pytest.mark.parametrize("decibels", [0.0, 10.0, 20.0])
def test_noise_has_the_stated_signal_to_noise_ratio(decibels):
    made, x = NoiseAtSNR.at(decibels), sound(1, length=30_000)
    noise = made.apply(x, drawn_for(made, x, 1), made.level, None).astype(float) - x
    ratio = 10 * math.log10((x.astype(float) ** 2).mean() / (noise**2).mean())
    assert ratio == pytest.approx(decibels, abs=0.1)
    assert f"({decibels:g} dB SNR)" in made.phrase


def test_silence_gets_no_noise():
    x = np.zeros((1, 1, 50), dtype=np.float32)
    for made in (NoiseAtSNR(0.5), Jitter(0.5)):
        assert not made.apply(x, drawn_for(made, x, 4), 0.5, None).any()
        still = np.full_like(x, 0.37)
        if made.kind == "jitter":
            assert (made.apply(still, drawn_for(made, x, 4), 0.5, None) == still).all()


def test_gain_is_uniform_in_decibels():
    made, x = Gain(6.0), sound(1)
    out = made.apply(x, drawn_for(made, x, 1000), 6.0, None)
    decibels = 20 * np.log10(out[:, 0, 7] / x[0, 0, 7])
    assert -6 <= decibels.min() < -5.9 and 5.9 < decibels.max() <= 6.0001
    assert abs(decibels.mean()) < 4.5 * 6 / math.sqrt(3 * 1000)
    np.testing.assert_allclose(out, x * 10 ** (decibels[:, None, None] / 20), rtol=1e-5)


def test_clipping_cuts_at_a_share_of_the_peak():
    x = sound(4)
    out = ClipSignal(0.3).apply(x, np.zeros((4, 0), np.float32), 0.3, SIGNED)
    limit = 0.7 * np.abs(x).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(out, np.clip(x, -limit, limit), atol=1e-7)


@pytest.mark.parametrize("fill", ["wrap", "zero"])
def test_a_shift_is_linear_interpolation_of_the_signal_continued(fill):
    made, x = TimeShift(0.5, fill), sound(1, channels=2, length=20)
    drawn = np.array([0.0, 0.1, 0.4, 0.5, 0.77, 0.975], np.float32).reshape(-1, 1, 1)
    out = made.apply(x, drawn, 0.5, None)
    for row, u in zip(out, drawn.ravel(), strict=True):
        steps = (2 * float(u) - 1) * 0.5 * 20
        for t in range(20):
            place = t - steps
            before, share = math.floor(place), place - math.floor(place)
            pair = []
            for at in (before, before + 1):
                known = x[0, :, at % 20] if fill == "wrap" else np.zeros(2)
                pair.append(x[0, :, at] if 0 <= at < 20 else known)
            np.testing.assert_allclose(
                row[:, t], (1 - share) * pair[0] + share * pair[1], atol=2e-6
            )


@pytest.mark.parametrize("level", [1.0, 0.3, -0.25, -0.9, -1.0])
def test_a_faster_signal_is_read_in_longer_steps_and_ends_in_silence(level):
    x = sound(2, length=50)
    out = Speed().apply(x, np.zeros((2, 0), np.float32), level, SIGNED)
    continued = np.pad(x, ((0, 0), (0, 0), (0, 80)))
    places = np.arange(50) * max(1 + level, 0.1)
    expected = [[np.interp(places, np.arange(130), c) for c in row] for row in continued]
    np.testing.assert_allclose(out, expected, atol=1e-5)
    levels = np.array([level, 0.0], np.float32)
    both = Speed().apply(x, np.zeros((2, 0), np.float32), levels, SIGNED)
    np.testing.assert_allclose(both[0], expected[0], atol=1e-4)
    assert np.array_equal(both[1], x[1])


@pytest.mark.parametrize("level", [0.2, 0.6, 1.0])
def test_the_band_pass_keeps_the_band_and_removes_the_rest(level):
    """Single waves: amplitude 1 in the band, 0 beyond the edge, half a cosine between."""
    made, length = BandPass(level, low=0.3, high=0.6, edge=0.1), 400
    time = np.arange(length)
    for share in (0.0, 0.05, 0.1, 0.2, 0.25, 0.5, 0.64, 0.7, 0.8, 0.95):
        bin_number = round(share * length / 2)
        x = np.cos(2 * np.pi * bin_number * time / length).astype(np.float32)[None, None]
        out = made.apply(x, np.zeros((1, 0), np.float32), level, None)
        beyond = max(0.3 * level - share, share - (1 - 0.4 * level), 0.0) / 0.1
        weight = 0.5 + 0.5 * math.cos(math.pi * min(beyond, 1.0))
        np.testing.assert_allclose(out, weight * x, atol=2e-5)


def test_jitter_has_each_channels_own_deviation():
    x = sound(1, channels=2, length=20_000)
    x[:, 1] = 10 * x[:, 1] + 3
    made = Jitter(0.2)
    noise = made.apply(x, drawn_for(made, x, 1), 0.2, None).astype(float) - x
    np.testing.assert_allclose(noise.std(axis=-1), 0.2 * x.std(axis=-1), rtol=0.03)


@pytest.mark.parametrize("gaps", [1, 3, 12])
def test_dropouts_lose_their_share_in_so_many_gaps_and_grow_with_the_level(gaps):
    made, x = Dropouts(0.3, gaps), np.ones((1, 1, 500), dtype=np.float32)
    drawn = drawn_for(made, x, 64)
    before = np.zeros((64, 500), dtype=bool)
    for level in (0.05, 0.3, 0.7, 1.0):
        lost = made.lost(drawn, level, 500)
        assert np.abs(lost.sum(axis=1) - 500 * level).max() <= gaps
        assert (np.diff(lost.astype(int), axis=1, prepend=0) == 1).sum(axis=1).max() <= gaps
        assert (lost >= before).all()
        before = lost
    assert before.all()


def test_dropouts_hold_the_last_value_or_put_zero():
    x, drawn = sound(1, channels=2, length=50), None
    for fill in ("hold", "zero"):
        made = Dropouts(0.6, 5, fill)
        drawn = drawn_for(made, x, 40)
        lost, out = made.lost(drawn, 0.6, 50), made.apply(x, drawn, 0.6, None)
        for row, gone in zip(out, lost, strict=True):
            held = x[0, :, int(np.argmin(gone))]
            for t in range(50):
                held = held if gone[t] else x[0, :, t]
                expected = held if fill == "hold" or not gone[t] else np.zeros(2)
                assert np.array_equal(row[:, t], expected)
    assert (Dropouts(1.0).apply(x, drawn_for(Dropouts(1.0), x, 3), 1.0, None) == x[..., :1]).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: NoiseAtSNR(-0.1), "≥ 0 .*, got -0.1"),
        (lambda: NoiseAtSNR.at(math.nan), "decibels must be a number, got nan"),
        (lambda: Gain(math.inf), "got inf"),
        (lambda: ClipSignal(1.2), r"in \[0, 1\] \(share of the peak\), got 1.2"),
        (lambda: TimeShift(2.0), r"in \[0, 1\] \(share of the length\), got 2"),
        (lambda: TimeShift(0.1, "mirror"), "one of wrap, zero, got 'mirror'"),
        (lambda: BandPass(0.1, low=0.8, high=0.2), "got 0.8 and 0.2"),
        (lambda: BandPass(0.1, edge=0.0), "got 0.0"),
        (lambda: Jitter(math.nan), "got nan"),
        (lambda: Dropouts(0.1, gaps=0), "from 1 to 100, got 0"),
        (lambda: Dropouts(0.1, gaps=1.5), "got 1.5"),
        (lambda: Dropouts(0.1, fill="wrap"), "one of hold, zero, got 'wrap'"),
    ],
)
def test_what_means_nothing_is_refused_with_its_value(make, says):
    refused(says, make)
