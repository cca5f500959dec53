"""Fog, frost, snow and spatter against the published definitions."""

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from surefoot.engine.streams import stream
from surefoot.perturb._ops.definition import at_severity
from surefoot.perturb._ops.random_fields import frost_texture
from surefoot.perturb.image.weather import (
    Fog,
    Snow,
    Spatter,
    canny_edges,
)
from tests.unit.test_perturb_images import UNIT, drawn_for

COLOUR, GREY = (3, 32, 32), (1, 32, 32)


def images(n, shape, seed=0):
    """Smooth images that use most of [0, 1]."""
    noise = np.random.default_rng(seed).random((n, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, 0, 3, 3))
    low, high = smooth.min(), smooth.max()
    return ((smooth - low) / (high - low) * 0.9).astype(np.float32)


def test_parameters_are_linear_between_severities():
    table = ((0.0, 1.0), (1.0, 3.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0), (9.0, 2.0))
    assert at_severity(0.5, table) == [0.5, 2.0]
    assert at_severity(5, table) == [9.0, 2.0]
    first, second = at_severity(np.array([0.5, 4.5], dtype=np.float32), table)
    assert first.reshape(-1).tolist() == [0.5, 6.5]
    assert second.reshape(-1).tolist() == [2.0, 1.0]


def published_plasma(numbers, edge, decay):
    """The diamond-square algorithm of the published fog, point by point."""
    field, begin, step, wibble = np.zeros((edge, edge)), 0, edge, 100.0
    while step >= 2:
        half, places = step // 2, range(0, edge, step)
        noise = (2 * numbers[begin : begin + 3 * len(places) ** 2] - 1) * wibble * wibble
        noise = iter(noise)
        for y, x in itertools.product(places, places):
            corners = [field[(y + a) % edge, (x + b) % edge] for a in (0, step) for b in (0, step)]
            field[y + half, x + half] = sum(corners) / 4 + next(noise)
        for y, x in itertools.product(places, places):
            near = [field[y, x], field[y, (x + step) % edge]]
            near += [field[y + half, x + half], field[(y - half) % edge, x + half]]
            field[y, x + half] = sum(near) / 4 + next(noise)
        for y, x in itertools.product(places, places):
            near = [field[y, x], field[(y + step) % edge, x]]
            near += [field[y + half, x + half], field[y + half, (x - half) % edge]]
            field[y + half, x] = sum(near) / 4 + next(noise)
        begin, step, wibble = begin + 3 * len(places) ** 2, half, wibble / decay
    field -= field.min()
    return field / field.max()


@pytest.mark.parametrize(
    ("shape", "level", "thickness", "decay", "edge"),
    [((3, 20, 32), 3, 0.75, 2.5, 32), ((1, 5, 5), 5, 1.5, 1.75, 32), ((3, 50, 60), 1, 0.2, 3, 64)],
)
def test_fog_is_the_published_fog(shape, level, thickness, decay, edge):
    made, x = Fog(level), images(2, shape)
    drawn = drawn_for(made, x)
    out = made.apply(x, drawn, level, UNIT)
    for i in range(2):
        fog = published_plasma(drawn[i].astype(np.float64), edge, decay)[: shape[1], : shape[2]]
        most = float(x[i].max())
        np.testing.assert_allclose(
            out[i], (x[i] + thickness * fog) * most / (most + thickness), atol=2e-6
        )


def published_zoom(layer, zoom):
    """The centre of a square layer, enlarged."""
    edge = len(layer)
    size = math.ceil(edge / zoom)
    top = (edge - size) // 2
    large = ndimage.zoom(layer[top : top + size, top : top + size], zoom, order=1)
    trim = (len(large) - edge) // 2
    return large[trim : trim + edge, trim : trim + edge]


def published_motion(layer, radius, sigma, angle):
    """ImageMagick's motion blur: taps along a line, the edge repeated."""
    width = 2 * radius + 1
    weights = np.exp(-0.5 * (np.arange(width) / sigma) ** 2)
    weights /= weights.sum()
    height, length = layer.shape
    rows, columns = np.mgrid[:height, :length]
    total = np.zeros_like(layer)
    for i, weight in enumerate(weights):
        down, right = (math.ceil(i * f(angle) - 0.5) for f in (math.sin, math.cos))
        there = np.clip(rows + down, 0, height - 1), np.clip(columns + right, 0, length - 1)
        total += weight * layer[there]
    return total


SNOWS = [
    ((3, 32, 32), 1, (0.1, 0.2, 1, 0.6, 8, 3, 0.95)),
    ((3, 32, 32), 3, (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9)),
    ((1, 32, 32), 5, (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8)),
    ((3, 100, 100), 4, (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65)),
]


@pytest.mark.parametrize(("shape", "level", "c"), SNOWS)
def test_snow_is_the_published_snow(shape, level, c):
    made, x = Snow(level), images(3, shape)
    wind, layers = drawn_for(made, x)
    out = made.apply(x, (wind, layers), level, UNIT)
    for i in range(3):
        layer = published_zoom(c[0] + c[1] * layers[i, 0].astype(np.float64), c[2])
        layer = np.clip(np.where(layer < c[3], 0, layer), 0, 1)
        angle = math.radians(-135 + 90 * float(wind[i]))
        layer = published_motion(layer, c[4], c[5], angle)
        grey = x[i, 0] if shape[0] == 1 else np.tensordot([0.299, 0.587, 0.114], x[i], 1)
        white = c[6] * x[i] + (1 - c[6]) * np.maximum(x[i], 1.5 * grey + 0.5)
        expected = np.clip(white + layer + layer[::-1, ::-1], 0, 1)
        assert np.mean(np.abs(out[i] - expected) > 1e-5) <= 1e-3
        assert layer.max() > 0.1


@pytest.mark.parametrize(
    ("shape", "level", "c"),
    [
        (COLOUR, 4, (0.65, 0.1, 0.7, 0.69, 0.6)),
        (COLOUR, 5, (0.65, 0.1, 0.5, 0.68, 0.6)),
        ((3, 90, 70), 5, (0.67, 0.4, 1, 0.65, 1.5)),
    ],
)
def test_mud_is_the_published_mud(shape, level, c):
    made, x = Spatter(level), images(3, shape)
    layers = drawn_for(made, x)
    out = made.apply(x, layers, level, UNIT)
    brown = np.array([63, 42, 20])[:, None, None] / 255
    for i in range(3):
        liquid = c[0] + c[1] * layers[i, 0].astype(np.float64)
        liquid = ndimage.gaussian_filter(liquid, c[2], mode="nearest")
        mask = ndimage.gaussian_filter((liquid > c[3]).astype(float), c[4], mode="nearest")
        mask[mask < 0.8] = 0
        expected = x[i] * (1 - mask) + brown * mask
        assert np.mean(np.abs(out[i] - expected) > 1e-5) <= 1e-3


def published_edges(layer):
    """Canny's edges with thresholds 50 and 150, by OpenCV's rules, weak ones to their end."""
    rows, columns = layer.shape
    large = np.pad(layer.astype(int), 1, mode="edge")
    gx = ndimage.correlate(large, [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])[1:-1, 1:-1]
    gy = ndimage.correlate(large, [[-1, -2, -1], [0, 0, 0], [1, 2, 1]])[1:-1, 1:-1]
    size = np.pad(np.abs(gx) + np.abs(gy), 1)
    peak = np.zeros(layer.shape, dtype=bool)
    for y, x in itertools.product(range(rows), range(columns)):
        m, a, b = size[y + 1, x + 1], abs(gx[y, x]), abs(gy[y, x])
        if b * 2**15 < a * 13573:
            peak[y, x] = m > size[y + 1, x] and m >= size[y + 1, x + 2]
        elif b * 2**15 > a * 13573 + a * 2**16:
            peak[y, x] = m > size[y, x + 1] and m >= size[y + 2, x + 1]
        else:
            s = -1 if (gx[y, x] < 0) != (gy[y, x] < 0) else 1
            peak[y, x] = m > size[y, x + 1 - s] and m > size[y + 2, x + 1 + s]
    inner = size[1:-1, 1:-1]
    parts, _ = ndimage.label(peak & (inner > 50), np.ones((3, 3)))
    return np.isin(parts, np.unique(parts[peak & (inner > 150)])) & (parts > 0)


def published_shading(layer):
    """How the published water shines, with the true distance in place of the chamfer."""
    found = published_edges(layer)
    far = ndimage.distance_transform_edt(~found) if found.any() else np.full(layer.shape, 20.0)
    box = np.ones((3, 3)) / 9
    whole = np.floor(ndimage.correlate(np.minimum(far, 20), box, mode="mirror") + 1e-4).astype(int)
    lowest, counts = whole.min(), np.bincount(whole.reshape(-1), minlength=21)
    up_to = np.cumsum(counts) - counts[lowest]
    spread = np.rint(up_to * 255 / max(whole.size - counts[lowest], 1))[whole]
    relief = ndimage.correlate(spread, [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], mode="mirror")
    return np.rint(ndimage.correlate(np.clip(relief, 0, 255), box, mode="mirror"))


@pytest.mark.parametrize(
    ("shape", "level", "c"),
    [
        ((3, 32, 32), 1, (0.62, 0.1, 0.7, 0.7, 0.5)),
        ((3, 32, 32), 3, (0.65, 0.3, 1, 0.69, 0.5)),
        ((3, 90, 70), 2, (0.65, 0.3, 3, 0.68, 0.6)),
    ],
)
def test_water_is_the_published_water_but_for_the_chamfer(shape, level, c):
    made, x = Spatter(level), images(2, shape)
    layers = drawn_for(made, x)
    out = made.apply(x, layers, level, UNIT)
    turquoise = np.array([175, 238, 238])[:, None, None] / 255
    for i in range(2):
        liquid = c[0] + c[1] * layers[i, 0].astype(np.float64)
        liquid = ndimage.gaussian_filter(liquid, c[2], mode="nearest")
        liquid = np.floor(np.where(liquid < c[3], 0, liquid) * 255)
        shine = liquid * published_shading(liquid)
        expected = np.clip(x[i] + turquoise * shine / shine.max() * c[4], 0, 1)
        assert np.mean(np.abs(out[i] - expected) > 0.02) <= 0.01
        assert np.abs(expected - x[i]).max() > 0.1


def liquids():
    """8-bit drops: none, one, many, everywhere."""
    noise = np.random.default_rng(4).normal(size=(4, 1, 40, 50))
    smooth = ndimage.gaussian_filter(noise, (0, 0, 2, 2)) * 6
    heights = np.array([9.0, 1.6, 0.3, -9.0])[:, None, None, None]
    return np.where(smooth > heights, 180 + 10 * smooth, 0).clip(0, 255).astype(np.int16)


def test_edges_are_those_of_canny():
    layers = liquids()
    found = canny_edges(layers)
    for layer, ours in zip(layers, found, strict=True):
        assert np.array_equal(ours[0], published_edges(layer[0]))


@pytest.mark.parametrize("shape", [(3, 224, 224), COLOUR, GREY])
def test_frost_is_as_bright_as_frosted_glass_and_bluish_white(shape):
    like = np.zeros((1, *shape), dtype=np.float32)
    frost = frost_texture(stream(1, "s", "frost", 0, like), 12, shape)
    assert frost.shape == (12, *shape)
    assert 0 <= frost.min() < 0.1
    assert 0.95 < frost.max() <= 1
    assert 0.35 < frost.mean() < 0.6
    assert 0.15 < frost.std(axis=(1, 2, 3)).mean() < 0.35
    if shape[0] == 3:
        red, green, blue = frost.mean(axis=(0, 2, 3))
        assert red < green < blue


def test_frost_leaves_a_clear_middle_and_closes_the_rim():
    like = np.zeros((1, *GREY), dtype=np.float32)
    frost = frost_texture(stream(1, "s", "frost", 0, like), 64, GREY).mean(axis=(0, 1))
    middle, rim = frost[12:20, 12:20].mean(), np.r_[frost[:2].ravel(), frost[:, -2:].ravel()].mean()
    assert middle < rim - 0.1
