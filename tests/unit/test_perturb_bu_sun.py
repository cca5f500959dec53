"""The perturbations of Bu & Sun, Table II, as texts, against plain definitions of the paper's."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from scipy.stats import kstest, poisson

from surefoot.catalogue.parse import level_reader, parse_perturbation
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from tests.unit.test_perturb_images import UNIT
from tests.unit.test_perturb_weather import images, published_plasma

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "perturbations.md"
TEXTS = (
    "contrast:0.5..1",
    "fog:5,size=small",
    "gaussian:0.1",
    "glass:5,size=small",
    "impulse:0.06",
    "shot:20photons",
    "uniform:0.8",
)


def perturbed(text, x, n=None):
    """What was drawn for n trials, and the images under the perturbation of this text."""
    made = parse_perturbation(text)
    drawn = made.draw(stream(1, "s", made.kind, 0, x), n or len(x), tuple(x.shape[1:]))
    return drawn, made.apply(x, drawn, made.level, UNIT)


def test_the_page_has_these_texts_and_every_text_of_the_page_is_one():
    page = PAGE.read_text()
    table = page[page.index("## Bu & Sun") : page.index("## ROBY")]
    assert re.findall(r"^\|[^|]*\|[^|]*\| `([^`]+)` \|", table, re.MULTILINE) == list(TEXTS)
    for text in re.findall(r"`([a-z0-9-]+:[^` ]+)`", page):
        parse_perturbation(text, (32, 32))


def test_contrast_is_a_uniform_factor_about_the_mean_of_each_channel():
    x = images(1, (3, 16, 16))
    _, out = perturbed("contrast:0.5..1", x, 2000)
    means = x.mean(axis=(2, 3), keepdims=True)
    factors = ((out - means) * (x - means)).sum(axis=(1, 2, 3)) / ((x - means) ** 2).sum()
    np.testing.assert_allclose(out, (x - means) * factors[:, None, None, None] + means, atol=1e-5)
    assert kstest(factors / 0.5, "uniform").pvalue > 0.001


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 100, 70)])
def test_fog_has_thickness_one_and_a_half_and_decay_one_and_three_quarters(shape):
    x = images(2, shape)
    drawn, out = perturbed("fog:5,size=small", x)
    edge = 32 if max(shape) == 32 else 128
    for i in range(2):
        fog = published_plasma(drawn[i].astype(float), edge, 1.75)[: shape[1], : shape[2]]
        most = float(x[i].max())
        np.testing.assert_allclose(out[i], (x[i] + 1.5 * fog) * most / (most + 1.5), atol=3e-6)


def test_noise_is_normal_with_a_deviation_of_a_tenth():
    x = images(4, (3, 16, 16))
    drawn, out = perturbed("gaussian:0.1", x)
    np.testing.assert_allclose(out, np.clip(x + 0.1 * drawn, 0, 1), atol=1e-6)
    assert kstest(drawn.ravel(), "norm").pvalue > 0.001


def test_glass_swaps_neighbours_twice_between_two_blurs():
    """A true swap; the published loop copies one pixel over the other."""
    x = images(3, (3, 20, 17))
    drawn, out = perturbed("glass:5,size=small", x)
    for i in range(3):
        image = ndimage.gaussian_filter(x[i].astype(float), (0, 0.4, 0.4), mode="nearest")
        for number in drawn[i, 1:]:  # the first decides who swaps, here all
            for h in range(20 - 1, 1, -1):
                for w in range(17 - 1, 1, -1):
                    down, right = divmod(int(number[h, w] * 4), 2)
                    other = h + down - 1, w + right - 1
                    image[:, h, w], image[:, other[0], other[1]] = (
                        image[:, other[0], other[1]].copy(),
                        image[:, h, w].copy(),
                    )
        expected = ndimage.gaussian_filter(image, (0, 0.4, 0.4), mode="nearest")
        np.testing.assert_allclose(out[i], np.clip(expected, 0, 1), atol=1e-5)
    assert drawn.shape[1] == 1 + 2


def test_impulses_are_salt_and_pepper_alike():
    x = images(40, (3, 16, 16)) * 0.5 + 0.25
    drawn, out = perturbed("impulse:0.06", x)
    expected = np.where(drawn < 0.03, 0, np.where(drawn >= 0.97, 1, x))
    assert np.mean(out != expected.astype(np.float32)) < 1e-5
    for value in (0, 1):
        assert np.mean(out == value) == pytest.approx(0.03, abs=4.5 * np.sqrt(0.03 / out.size))


def test_twenty_photons_are_white():
    x = images(8, (3, 16, 16))
    drawn, out = perturbed("shot:20photons", x)
    expected = poisson.ppf(drawn.astype(float), 20 * x.astype(float)) / 20
    assert np.mean(np.abs(out - np.clip(expected, 0, 1)) > 1e-5) < 1e-3


def test_the_linf_of_the_experiments_is_one_sided():
    x = images(4, (3, 16, 16))
    drawn, out = perturbed("uniform:0.8", x)
    np.testing.assert_allclose(out, np.clip(x + 0.8 * drawn, 0, 1), atol=1e-6)
    assert (out >= x).all()
    assert kstest(drawn.ravel(), "uniform").pvalue > 0.001


def test_photons_are_a_unit_of_shot_noise():
    assert parse_perturbation("shot:20photons").level == pytest.approx(20**-0.5)
    assert level_reader("shot:0.1")("100photons") == pytest.approx(0.1)
    for text, says in (
        ("shot:0photons", "photons must be at least 1, got 0"),
        ("shot:manyphotons", "'many' is not a number"),
        ("gaussian:20photons", "'20photons' is not a number"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            parse_perturbation(text)
