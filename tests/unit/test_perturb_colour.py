"""Colour and brightness against HSV and the published definitions."""

import colorsys

import numpy as np
import pytest

from surefoot.perturb.image.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from tests.unit.test_perturb_pixels import image, perturbed

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


def test_constants_of_saturation_go_by_the_size_of_the_image():
    small, large = image(1, (3, 64, 16)), image(1, (3, 65, 16))
    for x, size in ((small, "small"), (large, "large")):
        np.testing.assert_array_equal(
            perturbed(Saturate(5.0), x), perturbed(Saturate(5.0, size), x)
        )


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
