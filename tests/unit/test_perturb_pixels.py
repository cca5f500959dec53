"""Noise on values, colour, digital and hidden parts against HSV, Pillow, SciPy and their laws."""

import colorsys
import io
import math
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from scipy.stats import norm, poisson

from surefoot.engine.streams import stream
from surefoot.perturb.image import digital
from surefoot.perturb.image.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.image.digital import JPEG, Pixelate
from surefoot.perturb.image.occlusion import Dropout, Occlusion
from surefoot.perturb.image.sensor import (
    ImpulseNoise,
    ShotNoise,
    SpeckleNoise,
    normal_quantile,
    poisson_quantile,
)
from tests.unit.test_perturb_images import UNIT, perturbed


def image(n=4, shape=(3, 16, 16), seed=1):
    """Smooth colours with a little noise, and a few black, grey and pure pixels."""
    rng = np.random.default_rng(seed)
    down = np.linspace(0, 1, shape[1])[:, None]
    across = np.linspace(0, 1, shape[2])[None, :]
    waves = rng.random((2, n, shape[0], 1, 1))
    x = 0.5 + 0.4 * np.sin(6 * (down * waves[0] + across * waves[1]) + 9 * waves[0])
    x = np.clip(x + 0.05 * rng.standard_normal(x.shape), 0, 1).astype(np.float32)
    x[:, :, 0, 0] = 0
    x[:, :, 0, 1] = 0.5
    x[:, :, 0, 2] = 1
    x[:, 0, 0, 3], x[:, 1:, 0, 3] = 1, 0
    return x


def through_hsv(x, change):
    """Every pixel through Python's own HSV."""
    out = np.empty_like(x)
    for i, row, column in np.ndindex(x.shape[0], *x.shape[2:]):
        h, s, v = change(*colorsys.rgb_to_hsv(*map(float, x[i, :, row, column])))
        out[i, :, row, column] = colorsys.hsv_to_rgb(
            h % 1.0, min(max(s, 0.0), 1.0), min(max(v, 0.0), 1.0)
        )
    return out


@pytest.mark.parametrize("level", [0.05, 0.3, 0.5, -0.2, -0.7])
def test_brightness_is_a_shift_of_the_value(level):
    x = image(2)
    exact = through_hsv(x, lambda h, s, v: (h, s, v + level))
    np.testing.assert_allclose(perturbed(Brightness(0.1), x, level), exact, atol=1e-6)


def test_brightness_of_grey_images_adds():
    x = image(2, (1, 8, 8))
    np.testing.assert_allclose(perturbed(Brightness(0.2), x), np.clip(x + 0.2, 0, 1), atol=1e-7)


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_saturation_changes_as_published(size, severity):
    gain, offset = {
        "small": [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)],
        "large": [(0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)],
    }[size][severity - 1]
    x = image(2)
    exact = through_hsv(x, lambda h, s, v: (h, s * gain + offset, v))
    np.testing.assert_allclose(perturbed(Saturate(severity, size), x), exact, atol=2e-6)


@pytest.mark.parametrize("level", [0.3, 1.0, -0.6])
def test_desaturation_scales_the_saturation(level):
    x = image(2)
    exact = through_hsv(x, lambda h, s, v: (h, s * (1 - level), v))
    np.testing.assert_allclose(perturbed(Desaturate(0.1), x, level), exact, atol=1e-6)


@pytest.mark.parametrize("made", [Saturate, Desaturate, Hue])
def test_grey_images_have_no_colour_to_change(made):
    x = image(2, (1, 8, 8))
    np.testing.assert_array_equal(perturbed(made(1.0), x), x)


@pytest.mark.parametrize("level", [10.0, 60.0, 120.0, 180.0, -45.0, 360.0])
def test_hue_turns_by_the_stated_degrees(level):
    x = image(2)
    exact = through_hsv(x, lambda h, s, v: (h + level / 360, s, v))
    np.testing.assert_allclose(perturbed(Hue(0.1), x, level), exact, atol=3e-6)


def test_contrast_shrinks_towards_the_mean_of_each_channel():
    x = image(3)
    for c in (0.75, 0.15, 1.4):
        means = x.astype(float).mean(axis=(2, 3), keepdims=True)
        exact = np.clip((x - means) * c + means, 0, 1)
        np.testing.assert_allclose(perturbed(Contrast(0.1), x, 1 - c), exact, atol=1e-6)


def test_gamma_is_a_power_and_its_sign_undoes_it():
    x = image(2)
    np.testing.assert_allclose(perturbed(Gamma(1.0), x), x.astype(float) ** 2, atol=1e-6)
    np.testing.assert_allclose(perturbed(Gamma(1.0), x, -1.0), np.sqrt(x), atol=1e-6)
    np.testing.assert_allclose(perturbed(Gamma(1.0), perturbed(Gamma(0.5), x), -0.5), x, atol=1e-5)


def boxed(channel, c):
    height, width = channel.shape
    small = Image.fromarray(channel).resize((int(width * c), int(height * c)), Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


@pytest.mark.parametrize("shape", [(4, 5), (16, 16), (28, 28), (32, 32), (45, 61), (90, 224)])
def test_pixels_are_boxes_as_pillow_makes_them(shape):
    x = image(1, (1, *shape))
    for c in (0.95, 0.9, 0.85, 0.75, 0.65, 0.6, 0.5, 0.4, 0.3, 0.25):
        ours = perturbed(Pixelate(1 - c), x)[0, 0]
        np.testing.assert_allclose(ours, boxed(x[0, 0], c), atol=1e-6, err_msg=f"{shape} {c}")


@pytest.mark.parametrize("made", [Pixelate, JPEG])
def test_the_first_step_is_faded_in(made):
    x = image(2, (3, 20, 13))
    before = x
    for level in np.linspace(0, 0.01, 301)[1:]:
        after = perturbed(made(0.1), x, float(level))
        assert np.abs(after - before).max() < 0.05
        before = after


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("quality", [80, 40, 25, 7])
def test_jpeg_is_what_pillow_stores(channels, quality):
    x = image(3, (channels, 24, 35))
    for given, ours in zip(x, perturbed(JPEG(1 - quality / 100), x), strict=True):
        file = io.BytesIO()
        whole = np.rint(given.transpose(1, 2, 0) * 255).astype(np.uint8)
        Image.fromarray(whole.squeeze()).save(file, "JPEG", quality=quality)
        read = np.asarray(Image.open(file)).reshape(24, 35, channels).transpose(2, 0, 1)
        np.testing.assert_allclose(ours, read / 255, atol=1e-6)


def test_jpeg_is_the_same_where_pillow_works_on_copies(monkeypatch):
    """Also where the code of an image is longer than what an encoder writes at once."""
    x = np.random.default_rng(1).random((2, 3, 230, 251), dtype=np.float32)
    within = perturbed(JPEG(0.01), x)
    monkeypatch.setattr(digital, "_codecs_within", lambda *_: None)
    np.testing.assert_array_equal(within, perturbed(JPEG(0.01), x))


@pytest.mark.parametrize("shape", [(16, 16), (9, 30), (40, 7)])
@pytest.mark.parametrize("level", [0.001, 0.1, 0.33, 0.8, 1.0])
def test_the_patch_covers_the_stated_area(shape, level):
    x = np.zeros((50, 1, *shape), np.float32)
    out = perturbed(Occlusion(level, fill=1.0), x)
    np.testing.assert_allclose(out.mean(axis=(1, 2, 3)), level, rtol=1e-4, atol=1e-6)


def test_the_patch_is_a_square_that_may_lie_anywhere():
    x = np.zeros((4000, 1, 10, 12), np.float32)
    out = perturbed(Occlusion(0.2, fill=1.0), x)[:, 0]
    side = math.sqrt(0.2 * 120)
    np.testing.assert_allclose(out.max(axis=1).sum(axis=1), side, rtol=1e-3)
    np.testing.assert_allclose(out.max(axis=2).sum(axis=1), side, rtol=1e-3)
    down = (out.sum(axis=2) * (np.arange(10) + 0.5)).sum(axis=1) / side**2
    place = (down - side / 2) / (10 - side)
    assert np.abs(np.histogram(place, bins=8, range=(0, 1))[0] - 500).max() < 5 * math.sqrt(500)


def test_a_larger_patch_hides_what_a_smaller_one_hid():
    x = np.zeros((40, 1, 12, 12), np.float32)
    covers = [perturbed(Occlusion(level, fill=1.0), x) for level in (0.05, 0.1, 0.4, 0.9)]
    for small, large in pairwise(covers):
        assert (large >= small - 1e-6).all()


def test_lost_pixels_lose_all_channels_and_stay_lost():
    x = image(16, (3, 32, 32)) * 0.4
    weak, strong = (perturbed(Dropout(level, fill=1.0), x) for level in (0.1, 0.3))
    lost = (weak == 1).all(axis=1)
    assert ((weak == 1).any(axis=1) == lost).all()
    assert abs(lost.mean() - 0.1) < 4 * math.sqrt(0.1 / lost.size)
    assert (strong == 1).all(axis=1)[lost].all()
    np.testing.assert_array_equal(weak[:, 0][~lost], x[:, 0][~lost])


@pytest.mark.parametrize("shape", [(16, 16), (70, 90)], ids=["small", "large"])
def test_a_patch_changes_what_it_touches_alone(shape):
    """Also where values lie beyond the bounds: those it touches come back within, no others."""
    x, made = 3 * image(6, (3, *shape)) - 1, Occlusion(0.3)
    cover = perturbed(Occlusion(0.3, fill=1.0), np.zeros_like(x))
    mixed = np.clip(x * (1 - cover) + 0.5 * cover, 0, 1)
    truth = np.where(cover > 0, mixed, x)
    assert ((cover > 0) & (cover < 1)).any() and (x[cover == 0] > 1).any()
    np.testing.assert_allclose(perturbed(made, x), truth, atol=1e-6)
    each = perturbed(made, x, np.full(6, 0.3, np.float32))
    np.testing.assert_allclose(each, truth, atol=1e-4)
    np.testing.assert_array_equal(each[cover == 0], x[cover == 0])


def test_a_weak_compression_leaves_the_rows_beside_it_alone(place):
    x = image(3)
    strong = perturbed(JPEG(0.5), place(x), place(np.full(3, 0.5, np.float32)))
    beside = perturbed(JPEG(0.5), place(x), place(np.array([0.5, 0.004, 0.0], np.float32)))
    assert np.array_equal(beside[0], strong[0])
    assert np.array_equal(beside[2], x[2])
    weak = perturbed(JPEG(0.004), place(x[1:2]))
    np.testing.assert_allclose(beside[1], weak[0], atol=1e-6)


def test_normal_quantiles_are_right_on_the_whole_grid():
    u = np.arange(0, 2**24, 37, dtype=np.int64) / 2**24
    u = np.append(u, 1 - 2.0**-24)
    found = normal_quantile(u.astype(np.float32))
    np.testing.assert_allclose(found, norm.ppf(u + 2.0**-25), atol=3e-6)


@pytest.mark.parametrize(
    ("rate", "allowed"),
    [
        (0.0, 0),
        (0.03, 5e-7),
        (1.0, 5e-7),
        (4.0, 5e-7),
        (7.9, 5e-7),
        (8.0, 2.5e-4),
        (20.0, 4e-5),
        (60.0, 1e-5),
        (500.0, 1e-5),
    ],
)
def test_photon_counts_follow_the_poisson_law(rate, allowed):
    """Total variation between the law of the counts and Poisson's, over a fine grid of u."""
    u = (np.arange(2**20) / 2**20).astype(np.float32)[:, None]
    counts = poisson_quantile(np.full((1, 1), rate, np.float32), u)[:, 0].astype(np.int64)
    law = np.bincount(counts) / len(counts)
    exact = poisson.pmf(np.arange(len(law)), float(np.float32(rate)))
    assert np.abs(law - exact).sum() / 2 <= allowed + len(law) / 2**20
    assert (np.diff(counts) >= 0).all()


@pytest.mark.parametrize("c", [500, 60, 5, 3])
def test_shot_noise_is_a_count_of_photons(c):
    """Poisson(x · c) / c: quantiles by SciPy; at most 1 value in 1,000 off, and by one photon."""
    x = image(4)
    noise = ShotNoise(1 / math.sqrt(c))
    drawn = noise.draw(stream(1, "s", "shot", 0, x), 4, x.shape[1:])
    counts = poisson.ppf(drawn.astype(float) + 2.0**-25, x.astype(float) * c)
    exact = np.clip(counts / c, 0, 1)
    off = np.abs(noise.apply(x, drawn, noise.level, UNIT) - exact)
    assert (off > 1e-5).mean() < 1e-3
    assert off.max() < 1.01 / c


def test_impulse_noise_hits_the_stated_share_and_keeps_what_it_hit():
    x = np.full((16, 3, 32, 32), 0.4, np.float32)
    weak, strong = (perturbed(ImpulseNoise(level), x) for level in (0.1, 0.3))
    for out, level in ((weak, 0.1), (strong, 0.3)):
        spread = 4 * math.sqrt(level / 2 / x.size)
        assert abs((out == 0).mean() - level / 2) < spread
        assert abs((out == 1).mean() - level / 2) < spread
        assert np.isin(out, np.array([0, 0.4, 1], np.float32)).all()
    assert (strong[weak != x] == weak[weak != x]).all()


def test_speckle_noise_is_proportional_to_the_value():
    x = np.tile(np.array([0.0, 0.1, 0.4], np.float32), (20000, 1))
    z = perturbed(SpeckleNoise(0.2), x, bounds=None) - x
    np.testing.assert_allclose(z.std(axis=0), [0, 0.02, 0.08], rtol=0.03)
