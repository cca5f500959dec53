"""Pixelation, JPEG and hidden parts against Pillow and their definitions."""

import io
import math
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from surefoot.engine.streams import stream
from surefoot.perturb.image import digital
from surefoot.perturb.image.digital import JPEG, Pixelate
from surefoot.perturb.image.occlusion import Dropout, Occlusion
from tests.unit.test_perturb_pixels import UNIT, image, perturbed

# Digital


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
    x = image(16, (3, 32, 32)) * 0.4
    weak, strong = (perturbed(Dropout(level, fill=1.0), x) for level in (0.1, 0.3))
    lost = (weak == 1).all(axis=1)
    assert ((weak == 1).any(axis=1) == lost).all()
    assert abs(lost.mean() - 0.1) < 4 * math.sqrt(0.1 / lost.size)
    assert (strong == 1).all(axis=1)[lost].all()
    np.testing.assert_array_equal(weak[:, 0][~lost], x[:, 0][~lost])


@pytest.mark.parametrize("level", [1e-4, 0.09, 0.5, 1.0])
def test_a_patch_on_a_large_image_is_the_same_in_numpy_and_torch(torch, level):
    x = image(3, (3, 70, 90))
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


@pytest.mark.parametrize("shape", [(12, 20), (45, 61), (64, 48)])
def test_cells_of_the_same_size_are_plain_means(shape):
    x = image(2, (3, *shape))
    if shape[0] % 4 == shape[1] % 4 == 0:
        cells = x.reshape(2, 3, shape[0] // 4, 4, shape[1] // 4, 4).mean(axis=(3, 5))
        expected = cells.repeat(4, axis=2).repeat(4, axis=3)
        np.testing.assert_allclose(perturbed(Pixelate(0.75), x), expected, atol=1e-6)
    alone = perturbed(Pixelate(0.5), x[:1])
    np.testing.assert_array_equal(perturbed(Pixelate(0.5), x)[:1], alone)
