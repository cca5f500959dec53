"""Failures of cameras: what holds of all of them, and those of sensors by their definitions."""

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb import (
    CAMERA,
    Banding,
    Bayer,
    BrokenLens,
    ChromaticAberration,
    DeadLines,
    DeadPixels,
    Dirt,
    LensDistortion,
    WhiteBalance,
)
from surefoot.perturb._ops.pixels import covered_share, ranks
from surefoot.testing.conformance import check_image_perturbation

UNIT = Interval(0.0, 1.0)
COLOUR = (3, 24, 20)
every = pytest.mark.parametrize("made", CAMERA, ids=lambda made: made.kind)


def images(n, shape=COLOUR, seed=0):
    """Smooth images that use most of [0, 1]."""
    noise = np.random.default_rng(seed).random((n, *shape))
    smooth = ndimage.gaussian_filter(noise, (0, 0, 2, 2))
    return ((smooth - smooth.min()) / (smooth.max() - smooth.min())).astype(np.float32)


def drawn_for(made, x, n=None):
    n = len(x) if n is None else n
    return made.draw(stream(1, "s", made.kind, 0, x), n, tuple(x.shape[1:]))


def perturbed(made, x, bounds=UNIT):
    return made.apply(x, drawn_for(made, x), made.level, bounds)


def highest(made):
    return made.levels(UNIT).high


@every
def test_it_conforms_at_its_highest_level(made):
    check_image_perturbation(made(highest(made)))


@every
def test_numpy_and_torch_fail_alike(torch, made):
    """Within 1e-4; a pixel at a crack or a rank may fall to the other side: 1 in 1000."""
    level = 0.6 * highest(made)
    x = images(6)
    ours = perturbed(made(level), x)
    theirs = perturbed(made(level), torch.from_numpy(x))
    assert np.mean(np.abs(theirs.numpy() - ours) > 1e-4) <= 1e-3


class Elsewhere:
    """Numbers without values, on a device that refuses arrays of main memory."""

    def __init__(self, torch):
        self.torch = torch

    def uniform(self, shape):
        return self.torch.empty(shape, device="meta")

    normal = uniform


@every
def test_on_a_device_nothing_is_mixed_with_arrays_of_main_memory(torch, made):
    x = torch.empty((4, *COLOUR), device="meta")
    drawn = made(0.1).draw(Elsewhere(torch), 4, COLOUR)
    for level in (0.1, torch.full((4,), 0.1, device="meta")):
        for images_there in (x, x[:1]):
            out = made(0.1).apply(images_there, drawn, level, UNIT)
            assert out.shape == x.shape and out.device.type == "meta"


@every
def test_other_bounds_show_the_same_image(made):
    level, x = 0.6 * highest(made), images(4)
    ours = perturbed(made(level), x)
    signed = perturbed(made(level), x * 2 - 1, Interval(-1.0, 1.0))
    np.testing.assert_allclose((signed + 1) / 2, ours, atol=3e-6)


@every
def test_a_hair_of_the_level_changes_a_hair_and_more_changes_more(made):
    x = images(8)
    drawn = drawn_for(made(0.0), x)
    sizes = [
        np.abs(made(0.0).apply(x, drawn, share * highest(made), UNIT) - x).mean()
        for share in (1e-6, 1e-3, 0.2, 0.5, 0.9)
    ]
    assert sizes[0] < 1e-5 and sizes[1] < 1e-3
    assert all(a < b for a, b in itertools.pairwise(sizes[1:]))


@pytest.mark.parametrize("made", [Bayer, ChromaticAberration, WhiteBalance])
def test_colours_need_three_channels(made):
    grey = images(2, (1, 8, 8))
    with pytest.raises(InvalidArgument, match=f"{made.kind} needs images of 3 channels .* have 1"):
        perturbed(made(0.1), grey)


def test_ranks_count_within_each_row_and_equal_numbers_keep_their_order():
    field = np.array([[[0.3, 0.1], [0.1, 0.9]], [[1.0, 0.0], [0.5, 0.2]]], dtype=np.float32)
    assert ranks(field).tolist() == [[[2, 0], [1, 3]], [[3, 0], [2, 1]]]


@pytest.mark.parametrize("softness", [0.35, 0.8, 1.0])
@pytest.mark.parametrize("level", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_exactly_the_share_is_covered_on_average(softness, level):
    order = ((np.arange(1000, dtype=np.float32) + 0.5) / 1000).reshape(1, 1, 40, 25)
    covered = covered_share(order, level, softness)
    assert covered.mean() == pytest.approx(level, abs=2e-4)
    assert (covered == 0).all() if level == 0 else True
    assert (covered == 1).all() if level == 1 else True


@pytest.mark.parametrize(("count", "fill"), [(0, 0.0), (1, 0.0), (17, 1.0), (480, 0.3)])
def test_so_many_pixels_are_dead_and_the_others_stay(count, fill):
    x = images(5) * 0.2 + 0.5
    out = perturbed(DeadPixels(count / 480, fill), x)
    dead = (out != x).any(axis=1)
    assert (dead.sum(axis=(1, 2)) == count).all()
    assert np.allclose(out.transpose(0, 2, 3, 1)[dead], fill, atol=1e-6)


def test_what_is_left_of_a_pixel_fades_one_in_and_dead_pixels_stay_dead():
    x = np.ones((3, 1, 5, 4), dtype=np.float32)
    made = DeadPixels(0.3)
    drawn = drawn_for(made, x)
    before = x
    for level in (0.0, 0.02, 0.05, 0.33, 0.4):
        out = made.apply(x, drawn, level, UNIT)
        assert (1 - out).sum(axis=(1, 2, 3)) == pytest.approx(level * 20, abs=1e-5)
        assert (out <= before).all()
        before = out


def test_every_pixel_dies_as_often_as_every_other():
    x = np.ones((1, 1, 4, 4), dtype=np.float32)
    made = DeadPixels(0.25)
    times = 1 - made.apply(x, drawn_for(made, x, 4000), 0.25, UNIT).mean(axis=(0, 1))
    assert np.abs(times - 0.25).max() < 4.5 * math.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize(("lines", "axis"), [("rows", 3), ("columns", 2)])
def test_whole_lines_are_dead(lines, axis):
    x = images(4) * 0.5 + 0.4
    out = perturbed(DeadLines(0.25, lines, 0.1), x)
    dead = np.isclose(out, 0.1).all(axis=(1, axis))
    assert (dead.sum(axis=1) == dead.shape[1] / 4).all()
    kept = np.broadcast_to(~np.expand_dims(dead, (1, axis)), x.shape)
    assert np.array_equal(out[kept], x[kept])


@pytest.mark.parametrize(("lines", "axis"), [("rows", 3), ("columns", 2)])
def test_bands_move_whole_lines_by_uniform_amounts(lines, axis):
    x = images(50)
    moved = perturbed(Banding(0.2, lines), x, None) - x
    amounts = np.take(moved[:, 0], 0, axis=axis - 1)
    expected = np.expand_dims(amounts, (1, axis)) * np.ones(x.shape)
    np.testing.assert_allclose(moved, expected, atol=1e-6)
    assert -0.2 <= amounts.min() < -0.19 and 0.19 < amounts.max() <= 0.2
    assert abs(amounts.mean()) < 4.5 * 0.2 / math.sqrt(3 * amounts.size)


def test_a_mosaic_keeps_one_colour_of_each_pixel():
    x = images(2)
    out = perturbed(Bayer(0.75), x)
    for y, i in itertools.product(range(24), range(20)):
        own = {(0, 0): 0, (1, 1): 2}.get((y % 2, i % 2), 1)
        for channel in range(3):
            share = 1.0 if channel == own else 0.25
            np.testing.assert_allclose(
                out[:, channel, y, i], share * x[:, channel, y, i], rtol=1e-5
            )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DeadPixels(1.5), r"dead-pixels: level must be in \[0, 1\] .*, got 1.5"),
        (lambda: DeadPixels(0.1, fill=2.0), "dead-pixels: fill must .* got 2"),
        (lambda: DeadLines(0.1, lines="diagonals"), "one of rows, columns, got 'diagonals'"),
        (lambda: Banding(0.1, lines=""), "one of rows, columns, got ''"),
        (lambda: Dirt(0.1, spots=0), "spots must be an integer from 1 to 100, got 0"),
        (lambda: Dirt(0.1, spots=2.5), "got 2.5"),
        (lambda: BrokenLens(0.1, cracks=51), "cracks must be an integer from 1 to 50, got 51"),
        (lambda: LensDistortion(0.4), r"in \[0, 0.3\] .*, got 0.4"),
        (lambda: ChromaticAberration(0.1, edge="wrap"), "edge must be one of mirror"),
    ],
)
def test_what_means_nothing_is_refused_with_its_value(make, says):
    with pytest.raises(InvalidArgument, match=says):
        make()
