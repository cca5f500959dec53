"""Fog, frost, snow and spatter: the shared suite, NumPy and Torch, what is refused."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.definition import at_severity
from surefoot.perturb.image.weather import Fog, Frost, Snow, Spatter
from surefoot.testing.conformance import check_image_perturbation, check_perturbation

WEATHER = [Fog, Frost, Snow, Spatter]
UNIT = Interval(0.0, 1.0)
COLOUR, GREY = (3, 32, 32), (1, 32, 32)


def images(n, shape, seed=0):
    """Smooth images that use most of [0, 1]."""
    noise = np.random.default_rng(seed).random((n, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, 0, 3, 3))
    low, high = smooth.min(), smooth.max()
    return ((smooth - low) / (high - low) * 0.9).astype(np.float32)


def drawn_for(made, x, n=None):
    n = len(x) if n is None else n
    return made.draw(stream(1, "s", made.kind, 0, x), n, tuple(x.shape[1:]))


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("level", [0.5, 2.0, 3.4, 5.0])
def test_weather_conforms(weather, level):
    check_image_perturbation(weather(level))


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 9, 13), (3, 40, 7)])
def test_weather_of_large_images_conforms_on_small_ones(weather, shape):
    check_perturbation(weather(2.5, "large"), shape)


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("shape", [(3, 100, 70), (1, 80, 300)])
def test_weather_meets_images_of_any_format(weather, shape):
    made, x = weather(4.0), images(2, shape)
    out = made.apply(x, drawn_for(made, x), 4.0, UNIT)
    assert out.shape == x.shape
    assert np.abs(out - x).mean() > 0.01


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("shape", [COLOUR, GREY, (3, 90, 72)])
@pytest.mark.parametrize("level", [0.7, 2.0, 3.5, 5.0])
def test_numpy_and_torch_make_the_same_weather(torch, weather, shape, level):
    """Within 1e-4; a pixel at a threshold may fall to the other side, so 1 in 1000 may differ."""
    made, x = weather(level), images(6, shape)
    tensor = torch.from_numpy(x)
    ours, theirs = drawn_for(made, x), drawn_for(made, tensor)
    one = made.apply(x, ours, level, UNIT)
    other = made.apply(tensor, theirs, level, UNIT)
    assert other.dtype == torch.float32
    assert np.mean(np.abs(other.numpy() - one) > 1e-4) <= 1e-3
    levels = np.linspace(0.2, 5, 6).astype(np.float32)
    one = made.apply(x, ours, levels, UNIT)
    other = made.apply(tensor, theirs, torch.from_numpy(levels), UNIT)
    assert np.mean(np.abs(other.numpy() - one) > 1e-4) <= 1e-3


@pytest.mark.parametrize("weather", WEATHER)
def test_a_level_for_each_row_is_that_level_alone(weather):
    made, x = weather(1.0), images(6, COLOUR)
    drawn, levels = drawn_for(made, x), np.array([0.3, 1, 2.2, 3, 3.6, 5], dtype=np.float32)
    together = made.apply(x, drawn, levels, UNIT)
    for i, level in enumerate(levels):
        alone = made.apply(x[i : i + 1], draw_rows(drawn, i, i + 1), float(level), UNIT)
        assert np.mean(np.abs(together[i] - alone[0]) > 2e-4) <= 1e-3


def likeness(a, b):
    """The mean correlation of images with images."""
    return np.mean([np.corrcoef(p.ravel(), q.ravel())[0, 1] for p, q in zip(a, b, strict=True)])


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("shape", [COLOUR, GREY, (3, 80, 80)])
def test_worse_weather_leaves_less_of_the_image(weather, shape):
    """On average; spatter within its water and within its mud."""
    made, x = weather(1.0), images(8, shape)
    drawn = drawn_for(made, x)
    runs = [(0.0, 0.5, 1.0, 2.0, 3.0), (0.0, 4.0, 5.0)]
    for levels in runs if weather is Spatter else [(0.0, 0.5, 1.0, 2.5, 5.0)]:
        left = [likeness(x, made.apply(x, drawn, level, UNIT)) for level in levels]
        assert all(a > b for a, b in itertools.pairwise(left))


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("shape", [COLOUR, (3, 80, 80)])
def test_almost_no_weather_is_almost_no_change(weather, shape):
    made, x = weather(1.0), images(4, shape)
    out = made.apply(x, drawn_for(made, x), 0.005, UNIT)
    assert np.abs(out - x).max() < 0.02


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("level", [0.999, 1.999, 2.999, 3.999, 3.5])
def test_weather_has_no_jumps_between_severities(weather, level):
    """A flake or a drop may cross its threshold; on average little changes."""
    made, x = weather(1.0), images(8, (3, 80, 80))
    drawn = drawn_for(made, x)
    here, there = (made.apply(x, drawn, severity, UNIT) for severity in (level, level + 0.001))
    assert np.abs(here - there).mean() < 0.005


@pytest.mark.parametrize("weather", WEATHER)
def test_one_image_under_many_skies_is_many_copies_of_it(weather):
    made, x = weather(3.0), images(1, COLOUR)
    drawn = drawn_for(made, x, 7)
    many = made.apply(np.repeat(x, 7, axis=0), drawn, 3.0, UNIT)
    np.testing.assert_allclose(made.apply(x, drawn, 3.0, UNIT), many, atol=1e-6)
    assert len({row.tobytes() for row in many}) == 7


@pytest.mark.parametrize("weather", WEATHER)
@pytest.mark.parametrize("bounds", [Interval(0.0, 255.0), Interval(-1.0, 1.0)])
def test_the_scale_of_the_values_does_not_matter(weather, bounds):
    made, x = weather(3.3), images(4, COLOUR)
    drawn = drawn_for(made, x)
    scaled = (x * bounds.width + bounds.low).astype(np.float32)
    out = made.apply(scaled, drawn, 3.3, bounds)
    assert out.dtype == np.float32
    assert out.min() >= bounds.low
    assert out.max() <= bounds.high
    expected = made.apply(x, drawn, 3.3, UNIT)
    np.testing.assert_allclose((out - bounds.low) / bounds.width, expected, atol=1e-5)


@pytest.mark.parametrize("weather", WEATHER)
def test_what_is_no_severity_or_size_is_refused(weather):
    with pytest.raises(InvalidArgument, match=r"in \[0, 5\] \(severity\), got 5\.5"):
        weather(5.5)
    with pytest.raises(InvalidArgument, match=r"level must be .*got -1"):
        weather(-1)
    with pytest.raises(InvalidArgument, match="one of empty, small, large, got 'huge'"):
        weather(1.0, "huge")


@pytest.mark.parametrize("weather", WEATHER)
def test_the_presets_are_the_five_severities(weather):
    assert weather.presets == {"small": (1, 2, 3, 4, 5), "large": (1, 2, 3, 4, 5)}


def test_parameters_are_linear_between_severities():
    table = ((0.0, 1.0), (1.0, 3.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0), (9.0, 2.0))
    assert at_severity(0.5, table) == [0.5, 2.0]
    assert at_severity(5, table) == [9.0, 2.0]
    first, second = at_severity(np.array([0.5, 4.5], dtype=np.float32), table)
    assert first.reshape(-1).tolist() == [0.5, 6.5]
    assert second.reshape(-1).tolist() == [2.0, 1.0]
