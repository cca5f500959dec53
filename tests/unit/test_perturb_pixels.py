"""Pixel noise, colour, digital and hidden parts: what holds of all of them."""

import math

import numpy as np
import pytest

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb.image.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.image.digital import JPEG, Pixelate
from surefoot.perturb.image.occlusion import Dropout, Occlusion
from surefoot.perturb.image.sensor import ImpulseNoise, ShotNoise, SpeckleNoise
from surefoot.testing import check_perturbation
from surefoot.testing.conformance import check_image_perturbation

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


def perturbed(perturbation, x, level=None, bounds=UNIT, n=None):
    n = len(x) if n is None else n
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), n, tuple(x.shape[1:]))
    return perturbation.apply(x, drawn, perturbation.level if level is None else level, bounds)


@every
def test_it_conforms_on_images(made):
    check_image_perturbation(made(STRENGTHS[made]))


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
    check_image_perturbation(perturbation)


@every
def test_numpy_and_torch_give_the_same_image(torch, made):
    """To 2e-6; photon counts to 1 in 10,000 values, where rounding moves a count by one."""
    perturbation, x = made(STRENGTHS[made]), image(8)
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
def test_other_bounds_show_the_same_image(made, bounds):
    x = image()
    ours = perturbed(made(STRENGTHS[made]), x)
    scaled = x * np.float32(bounds.width) + np.float32(bounds.low)
    back = (perturbed(made(STRENGTHS[made]), scaled, bounds=bounds) - bounds.low) / bounds.width
    far = np.abs(back - ours) > 3e-6
    assert far.mean() <= (1e-3 if made is ShotNoise else 0)


@every
def test_without_bounds_values_are_taken_as_shares(made):
    perturbation, x = made(STRENGTHS[made]), image()
    free = perturbed(perturbation, x, bounds=None)
    np.testing.assert_allclose(np.clip(free, 0, 1), perturbed(perturbation, x), atol=2e-6)


@every
def test_one_image_meets_many_perturbations(made):
    perturbation, x = made(STRENGTHS[made]), image(1)
    shared = perturbed(perturbation, x, n=6)
    copies = perturbed(perturbation, np.repeat(x, 6, axis=0))
    np.testing.assert_array_equal(shared, copies)


@pytest.mark.parametrize("made", GROWING, ids=lambda made: made.kind)
def test_the_effect_grows_with_the_level(made):
    x = image(8)
    top = made(0.0).levels(UNIT).high
    moved = [np.abs(perturbed(made(0.0), x, top * t) - x).mean() for t in (0.1, 0.3, 0.6, 0.95)]
    assert sorted(moved) == moved
    assert moved[0] > 0


@every
def test_a_hair_of_the_level_changes_a_hair(made):
    x = image(8)
    moved = perturbed(made(0.0), x, 1e-3 * made(0.0).levels(UNIT).high) - x
    assert np.abs(moved).mean() < 0.01
    faint = perturbed(made(0.0), x, 1e-7) - x
    assert np.abs(faint).mean() < 1e-5


@every
def test_rows_of_level_zero_stay_within_rounding(made):
    x = image()
    level = np.array([0.0, 1.0, 0.0, 1.0], np.float32) * np.float32(STRENGTHS[made])
    mixed = perturbed(made(0.0), x, level)
    np.testing.assert_allclose(mixed[::2], x[::2], atol=2e-6)
    np.testing.assert_allclose(mixed[1::2], perturbed(made(STRENGTHS[made]), x)[1::2], atol=2e-4)


@pytest.mark.parametrize("made", SIGNED, ids=lambda made: made.kind)
def test_a_negative_level_goes_the_other_way(made):
    x = image() * 0.5 + 0.25
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
