"""Pixel noise, colour, digital and hidden parts: the shared suite and the published definitions."""

import colorsys
import io
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import norm, poisson

from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.digital import JPEG, Pixelate
from surefoot.perturb.occlusion import Dropout, Occlusion
from surefoot.perturb.photons import ImpulseNoise, ShotNoise, SpeckleNoise
from surefoot.perturb.quantiles import normal_quantile, poisson_quantile
from surefoot.results import Interval
from surefoot.testing import check_perturbation
from surefoot.testing.perturbations import check_picture_perturbation

UNIT = Interval(0.0, 1.0)
STRENGTHS = {
    ShotNoise: 0.2,
    ImpulseNoise: 0.1,
    SpeckleNoise: 0.2,
    Brightness: 0.2,
    Contrast: 0.4,
    Saturate: 4.5,
    Desaturate: 0.6,
    Hue: 70.0,
    Gamma: 0.8,
    Pixelate: 0.4,
    JPEG: 0.6,
    Occlusion: 0.2,
    Dropout: 0.2,
}
SIGNED = [made for made in STRENGTHS if getattr(made, "signed", False)]
GROWING = [made for made in STRENGTHS if made is not Saturate]
every = pytest.mark.parametrize("made", STRENGTHS, ids=lambda made: made.kind)


def picture(n=4, shape=(3, 16, 16), seed=1):
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


def perturbed(perturbation, x, level=None, bounds=UNIT, n=None):
    n = len(x) if n is None else n
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), n, tuple(x.shape[1:]))
    return perturbation.apply(x, drawn, perturbation.level if level is None else level, bounds)


@every
def test_it_conforms_on_pictures(made):
    check_picture_perturbation(made(STRENGTHS[made]))


@pytest.mark.parametrize("made", [ShotNoise, ImpulseNoise, SpeckleNoise])
@pytest.mark.parametrize("shape", [(6,), (28, 28), (1, 1)])
def test_noise_conforms_on_values_of_any_shape(made, shape):
    check_perturbation(made(STRENGTHS[made]), shape)


@pytest.mark.parametrize(
    "perturbation",
    [
        ShotNoise(0.05),
        ShotNoise(0.6),
        Saturate(1.5),
        Saturate(5.0, "large"),
        Pixelate(0.003),
        Pixelate(1.0),
        JPEG(0.005),
        JPEG(0.99),
        Occlusion(1.0, 0.0),
        Occlusion(0.9, 1.0),
        Dropout(1.0),
    ],
)
def test_it_conforms_at_the_ends_of_its_range(perturbation):
    check_picture_perturbation(perturbation)


@every
def test_numpy_and_torch_give_the_same_picture(made):
    """To 2e-6; photon counts to 1 in 10,000 values, where rounding moves a count by one."""
    perturbation, x = made(STRENGTHS[made]), picture(8)
    ours = perturbed(perturbation, x)
    theirs = perturbed(perturbation, torch.from_numpy(x))
    assert isinstance(theirs, torch.Tensor)
    assert theirs.dtype == torch.float32
    far = np.abs(theirs.numpy() - ours) > 2e-6
    assert far.mean() <= (1e-4 if made is ShotNoise else 0)
    each = perturbed(perturbation, torch.from_numpy(x), torch.full((8,), STRENGTHS[made]))
    far = np.abs(each.numpy() - ours) > 2e-5
    assert far.mean() <= (1e-3 if made is ShotNoise else 0)


@every
@pytest.mark.parametrize("bounds", [Interval(0.0, 255.0), Interval(-1.0, 1.0)])
def test_other_bounds_show_the_same_picture(made, bounds):
    x = picture()
    ours = perturbed(made(STRENGTHS[made]), x)
    scaled = x * np.float32(bounds.width) + np.float32(bounds.low)
    back = (perturbed(made(STRENGTHS[made]), scaled, bounds=bounds) - bounds.low) / bounds.width
    far = np.abs(back - ours) > 3e-6
    assert far.mean() <= (1e-3 if made is ShotNoise else 0)


@every
def test_without_bounds_values_are_taken_as_shares(made):
    perturbation, x = made(STRENGTHS[made]), picture()
    free = perturbed(perturbation, x, bounds=None)
    np.testing.assert_allclose(np.clip(free, 0, 1), perturbed(perturbation, x), atol=2e-6)


@every
def test_one_picture_meets_many_perturbations(made):
    perturbation, x = made(STRENGTHS[made]), picture(1)
    shared = perturbed(perturbation, x, n=6)
    copies = perturbed(perturbation, np.repeat(x, 6, axis=0))
    np.testing.assert_array_equal(shared, copies)


@pytest.mark.parametrize("made", GROWING, ids=lambda made: made.kind)
def test_the_effect_grows_with_the_level(made):
    x = picture(8)
    top = made(0.0).levels(UNIT).high
    moved = [np.abs(perturbed(made(0.0), x, top * t) - x).mean() for t in (0.1, 0.3, 0.6, 0.95)]
    assert sorted(moved) == moved
    assert moved[0] > 0


@every
def test_a_hair_of_the_level_changes_a_hair(made):
    x = picture(8)
    moved = perturbed(made(0.0), x, 1e-3 * made(0.0).levels(UNIT).high) - x
    assert np.abs(moved).mean() < 0.01
    faint = perturbed(made(0.0), x, 1e-7) - x
    assert np.abs(faint).mean() < 1e-5


@every
def test_rows_of_level_zero_stay_within_rounding(made):
    x = picture()
    level = np.array([0.0, 1.0, 0.0, 1.0], np.float32) * np.float32(STRENGTHS[made])
    mixed = perturbed(made(0.0), x, level)
    np.testing.assert_allclose(mixed[::2], x[::2], atol=2e-6)
    np.testing.assert_allclose(mixed[1::2], perturbed(made(STRENGTHS[made]), x)[1::2], atol=2e-4)


@pytest.mark.parametrize("made", SIGNED, ids=lambda made: made.kind)
def test_a_negative_level_goes_the_other_way(made):
    x = picture() * 0.5 + 0.25
    x[:, 1] *= 0.9
    step = 0.05 * made(0.0).levels(UNIT).high
    there = perturbed(made(0.0), x, step) - x
    back = perturbed(made(0.0), x, -step) - x
    assert (there * back).sum() < 0
    assert np.abs(there + back).mean() < 0.5 * np.abs(there).mean()


@every
@pytest.mark.parametrize("level", [-0.1, math.nan, math.inf])
def test_a_level_that_is_no_strength_is_refused(made, level):
    with pytest.raises(InvalidArgument, match=f"{made.kind}: .* got {level}"):
        made(level)


@pytest.mark.parametrize("made", [Occlusion, Dropout])
@pytest.mark.parametrize("fill", [-0.1, 1.5, math.nan])
def test_a_fill_out_of_the_bounds_is_refused(made, fill):
    with pytest.raises(InvalidArgument, match=f"{made.kind}: fill .* got {fill}"):
        made(0.1, fill)


def test_an_unknown_size_is_refused():
    with pytest.raises(InvalidArgument, match=r"saturate: size .* got 'huge'"):
        Saturate(1.0, "huge")


@pytest.mark.parametrize(
    "made", [made for made in STRENGTHS if hasattr(made, "presets")], ids=lambda made: made.kind
)
def test_published_severities_are_levels(made):
    for levels in made.presets.values():
        assert len(levels) == 5
        assert sorted(levels) == list(levels)
        assert all(level in made(level).levels(UNIT) for level in levels)


# Noise


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
    x = picture(4)
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


def test_impulse_noise_of_level_one_leaves_nothing():
    assert np.isin(perturbed(ImpulseNoise(1.0), picture()), (0, 1)).all()


def test_speckle_noise_is_proportional_to_the_value():
    x = np.tile(np.array([0.0, 0.1, 0.4], np.float32), (20000, 1))
    z = perturbed(SpeckleNoise(0.2), x, bounds=None) - x
    np.testing.assert_allclose(z.std(axis=0), [0, 0.02, 0.08], rtol=0.03)


# Colour


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
    x = picture(2)
    exact = through_hsv(x, lambda h, s, v: (h, s, v + level))
    np.testing.assert_allclose(perturbed(Brightness(0.1), x, level), exact, atol=1e-6)


def test_brightness_of_grey_pictures_adds():
    x = picture(2, (1, 8, 8))
    np.testing.assert_allclose(perturbed(Brightness(0.2), x), np.clip(x + 0.2, 0, 1), atol=1e-7)


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_saturation_changes_as_published(size, severity):
    gain, offset = {
        "small": [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)],
        "large": [(0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)],
    }[size][severity - 1]
    x = picture(2)
    exact = through_hsv(x, lambda h, s, v: (h, s * gain + offset, v))
    np.testing.assert_allclose(perturbed(Saturate(severity, size), x), exact, atol=2e-6)


def test_constants_of_saturation_go_by_the_size_of_the_picture():
    small, large = picture(1, (3, 64, 16)), picture(1, (3, 65, 16))
    for x, size in ((small, "small"), (large, "large")):
        np.testing.assert_array_equal(
            perturbed(Saturate(5.0), x), perturbed(Saturate(5.0, size), x)
        )


@pytest.mark.parametrize("level", [0.3, 1.0, -0.6])
def test_desaturation_scales_the_saturation(level):
    x = picture(2)
    exact = through_hsv(x, lambda h, s, v: (h, s * (1 - level), v))
    np.testing.assert_allclose(perturbed(Desaturate(0.1), x, level), exact, atol=1e-6)


@pytest.mark.parametrize("made", [Saturate, Desaturate, Hue])
def test_grey_pictures_have_no_colour_to_change(made):
    x = picture(2, (1, 8, 8))
    np.testing.assert_array_equal(perturbed(made(1.0), x), x)


@pytest.mark.parametrize("level", [10.0, 60.0, 120.0, 180.0, -45.0, 360.0])
def test_hue_turns_by_the_stated_degrees(level):
    x = picture(2)
    exact = through_hsv(x, lambda h, s, v: (h + level / 360, s, v))
    np.testing.assert_allclose(perturbed(Hue(0.1), x, level), exact, atol=3e-6)


def test_contrast_shrinks_towards_the_mean_of_each_channel():
    x = picture(3)
    for c in (0.75, 0.15, 1.4):
        means = x.astype(float).mean(axis=(2, 3), keepdims=True)
        exact = np.clip((x - means) * c + means, 0, 1)
        np.testing.assert_allclose(perturbed(Contrast(0.1), x, 1 - c), exact, atol=1e-6)


def test_gamma_is_a_power_and_its_sign_undoes_it():
    x = picture(2)
    np.testing.assert_allclose(perturbed(Gamma(1.0), x), x.astype(float) ** 2, atol=1e-6)
    np.testing.assert_allclose(perturbed(Gamma(1.0), x, -1.0), np.sqrt(x), atol=1e-6)
    np.testing.assert_allclose(perturbed(Gamma(1.0), perturbed(Gamma(0.5), x), -0.5), x, atol=1e-5)


# Digital


def boxed(channel, c):
    height, width = channel.shape
    small = Image.fromarray(channel).resize((int(width * c), int(height * c)), Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


@pytest.mark.parametrize("shape", [(4, 5), (16, 16), (28, 28), (32, 32), (45, 61), (90, 224)])
def test_pixels_are_boxes_as_pillow_makes_them(shape):
    x = picture(1, (1, *shape))
    for c in (0.95, 0.9, 0.85, 0.75, 0.65, 0.6, 0.5, 0.4, 0.3, 0.25):
        ours = perturbed(Pixelate(1 - c), x)[0, 0]
        np.testing.assert_allclose(ours, boxed(x[0, 0], c), atol=1e-6, err_msg=f"{shape} {c}")


@pytest.mark.parametrize("made", [Pixelate, JPEG])
def test_the_first_step_is_faded_in(made):
    x = picture(2, (3, 20, 13))
    before = x
    for level in np.linspace(0, 0.01, 301)[1:]:
        after = perturbed(made(0.1), x, float(level))
        assert np.abs(after - before).max() < 0.05
        before = after


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("quality", [80, 40, 25, 7])
def test_jpeg_is_what_pillow_stores(channels, quality):
    x = picture(3, (channels, 24, 35))
    for given, ours in zip(x, perturbed(JPEG(1 - quality / 100), x), strict=True):
        file = io.BytesIO()
        whole = np.rint(given.transpose(1, 2, 0) * 255).astype(np.uint8)
        Image.fromarray(whole.squeeze()).save(file, "JPEG", quality=quality)
        read = np.asarray(Image.open(file)).reshape(24, 35, channels).transpose(2, 0, 1)
        np.testing.assert_allclose(ours, read / 255, atol=1e-6)


# Hidden parts


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
    x = picture(16, (3, 32, 32)) * 0.4
    weak, strong = (perturbed(Dropout(level, fill=1.0), x) for level in (0.1, 0.3))
    lost = (weak == 1).all(axis=1)
    assert ((weak == 1).any(axis=1) == lost).all()
    assert abs(lost.mean() - 0.1) < 4 * math.sqrt(0.1 / lost.size)
    assert (strong == 1).all(axis=1)[lost].all()
    np.testing.assert_array_equal(weak[:, 0][~lost], x[:, 0][~lost])


@pytest.mark.parametrize("level", [1e-4, 0.09, 0.5, 1.0])
def test_a_patch_on_a_large_picture_is_the_same_in_numpy_and_torch(level):
    x = picture(3, (3, 70, 90))
    made = Occlusion(level)
    drawn = made.draw(stream(1, "s", made.kind, 0, x), 3, x.shape[1:])
    ours = made.apply(x, drawn, level, UNIT)
    theirs = made.apply(torch.from_numpy(x), torch.from_numpy(drawn), level, UNIT)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-6)
    alone = made.apply(x[1:2], drawn[1:2], level, UNIT)
    np.testing.assert_array_equal(ours[1:2], alone)


@pytest.mark.parametrize("shape", [(16, 16), (70, 90)], ids=["small", "large"])
def test_a_patch_changes_what_it_touches_alone(shape):
    """Also where values lie beyond the bounds: those it touches come back within, no others."""
    x, made = 3 * picture(6, (3, *shape)) - 1, Occlusion(0.3)
    cover = perturbed(Occlusion(0.3, fill=1.0), np.zeros_like(x))
    mixed = np.clip(x * (1 - cover) + 0.5 * cover, 0, 1)
    truth = np.where(cover > 0, mixed, x)
    assert ((cover > 0) & (cover < 1)).any() and (x[cover == 0] > 1).any()
    np.testing.assert_allclose(perturbed(made, x), truth, atol=1e-6)
    each = perturbed(made, x, np.full(6, 0.3, np.float32))
    np.testing.assert_allclose(each, truth, atol=1e-4)
    np.testing.assert_array_equal(each[cover == 0], x[cover == 0])


@pytest.mark.parametrize("place", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_a_weak_compression_leaves_the_rows_beside_it_alone(place):
    x = picture(3)
    strong = perturbed(JPEG(0.5), place(x), place(np.full(3, 0.5, np.float32)))
    beside = perturbed(JPEG(0.5), place(x), place(np.array([0.5, 0.004, 0.0], np.float32)))
    assert np.array_equal(beside[0], strong[0])
    assert np.array_equal(beside[2], x[2])
    weak = perturbed(JPEG(0.004), place(x[1:2]))
    np.testing.assert_allclose(beside[1], weak[0], atol=1e-6)


@pytest.mark.parametrize("shape", [(12, 20), (45, 61), (64, 48)])
def test_cells_of_the_same_size_are_plain_means(shape):
    x = picture(2, (3, *shape))
    if shape[0] % 4 == shape[1] % 4 == 0:
        cells = x.reshape(2, 3, shape[0] // 4, 4, shape[1] // 4, 4).mean(axis=(3, 5))
        expected = cells.repeat(4, axis=2).repeat(4, axis=3)
        np.testing.assert_allclose(perturbed(Pixelate(0.75), x), expected, atol=1e-6)
    alone = perturbed(Pixelate(0.5), x[:1])
    np.testing.assert_array_equal(perturbed(Pixelate(0.5), x)[:1], alone)
