"""Turned, moved, enlarged, slanted and distorted images, against SciPy, Pillow and formulas."""

import math
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import map_coordinates

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.warp import Edge, warp
from surefoot.perturb.image.geometry import (
    Elastic,
    Perspective,
    Rotation,
    Shear,
    TranslationX,
    TranslationY,
    Zoom,
)
from surefoot.testing.conformance import check_image_perturbation

UNIT = Interval(0.0, 1.0)
SCIPY = {
    "mirror": "mirror",
    "symmetric": "reflect",
    "nearest": "nearest",
    "black": "grid-constant",
}
DIRECTED = [Rotation(12.0), TranslationX(0.15), TranslationY(0.15), Zoom(0.3), Shear(10.0)]
ALL = [*DIRECTED, Perspective(0.4), Elastic(3.0)]


def kinds(perturbations):
    return pytest.mark.parametrize("made", perturbations, ids=lambda made: made.kind)


def images(n, channels, height, width, seed=0):
    return np.random.default_rng(seed).random((n, channels, height, width), dtype=np.float32)


def smooth_images(n, height, width):
    """Waves of random phase: images with something to move, but nothing sharp."""
    j, i = np.mgrid[:height, :width] / 8.0
    phases = np.random.default_rng(3).random((n, 3, 2, 1, 1)) * 6
    waves = 0.5 + 0.25 * (np.sin(i + phases[:, :, 0]) + np.sin(j + phases[:, :, 1]))
    return waves.astype(np.float32)


def drawn_for(made, x, n=None):
    source = stream(1, "s", made.kind, 0, x)
    return made.draw(source, n or len(x), tuple(x.shape[1:]))


def sampled(image, ys, xs, edge, fill=0.0):
    """By SciPy, in double precision."""
    at = np.stack(np.broadcast_arrays(ys, xs))
    planes = [
        map_coordinates(plane.astype(float), at, order=1, mode=SCIPY[edge], cval=fill)
        for plane in image
    ]
    return np.stack(planes)


@kinds([*ALL, Rotation(180.0, "black"), Zoom(9.0), Shear(80.0), Perspective(1.0), Elastic(5.0)])
def test_every_geometric_perturbation_conforms(made):
    check_image_perturbation(made)


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("reach", [1.0, 10.0])
def test_warping_is_bilinear_and_continues_the_image_as_it_says(edge, reach):
    """Against SciPy, near the image and several images away."""
    x = images(4, 3, 9, 13)
    rng = np.random.default_rng(1)
    ys = (9 * reach * (rng.random((4, 7, 5)) - 0.5) + 4).astype(np.float32)
    xs = (13 * reach * (rng.random((4, 7, 5)) - 0.5) + 6).astype(np.float32)
    found = warp(x, ys, xs, edge, Interval(-0.5, 1.5))
    apart = warp(x, ys[:, :, :1], xs[:, :1], edge, Interval(-0.5, 1.5))
    for row in range(4):
        truth = sampled(x[row], ys[row], xs[row], edge, -0.5)
        np.testing.assert_allclose(found[row], truth, atol=2e-5)
        truth = sampled(x[row], ys[row, :, :1], xs[row, :1], edge, -0.5)
        np.testing.assert_allclose(apart[row], truth, atol=2e-5)


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("shape", [(3, 32, 32), (3, 9, 13), (1, 224, 200), (3, 1, 6), (1, 5, 1)])
def test_a_image_sampled_at_its_own_pixels_is_itself_value_for_value(edge, place, shape):
    x = images(5, *shape)
    j, i = np.mgrid[: shape[1], : shape[2]].astype(np.float32)
    whole = warp(place(x), place(j[None]), place(i[None]), edge, UNIT)
    apart = warp(place(x), place(j[None, :, :1]), place(i[None, :1]), edge, UNIT)
    assert np.array_equal(whole, x)
    assert np.array_equal(apart, x)


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("rows", [(6, 6), (1, 6), (6, 1)], ids=["n-n", "1-n", "n-1"])
@pytest.mark.parametrize("size", [(28, 21), (70, 90)])
def test_numpy_and_torch_warp_alike_within_a_ten_thousandth(torch, edge, rows, size):
    x = images(rows[0], 3, *size)
    ys, xs = 160 * np.random.default_rng(2).random((2, rows[1], *size), dtype=np.float32) - 40
    ours = warp(x, ys, xs, edge, UNIT)
    theirs = warp(*map(torch.from_numpy, (x, ys, xs)), edge, UNIT)
    assert ours.shape == (6, 3, *size)
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-4)


@pytest.mark.parametrize(("n", "edge"), [(130, 28), (3, 224)])
def test_a_warped_row_does_not_depend_on_how_many_are_warped_with_it(n, edge):
    """More images than are worked on together, and images of which parts are."""
    x = images(n, 2, edge, edge)
    shape = (2, n, edge, edge)
    ys, xs = 2 * edge * np.random.default_rng(2).random(shape, dtype=np.float32) - edge / 2
    together = warp(x, ys, xs, "mirror", UNIT)
    for row in {0, 1, n // 2, n - 1}:
        one = slice(row, row + 1)
        assert np.array_equal(warp(x[one], ys[one], xs[one], "mirror", UNIT)[0], together[row])
        assert np.array_equal(warp(x[one], ys, xs, "mirror", UNIT)[row], together[row])


def came_from(made, level, height, width):
    """Rows and columns each pixel comes from, pixel by pixel, from the definition in words."""
    ys, xs = np.empty((2, height, width))
    for j in range(height):
        for i in range(width):
            right, up = i - (width - 1) / 2, (height - 1) / 2 - j
            match made.kind:
                case "rotation":
                    turned = (right + 1j * up) * np.exp(-1j * math.radians(level))
                    right, up = turned.real, turned.imag
                case "translate-x":
                    right -= level * width
                case "translate-y":
                    up += level * height
                case "zoom":
                    right, up = right / (1 + level), up / (1 + level)
                case "shear":
                    right -= up * math.tan(math.radians(level))
            ys[j, i], xs[j, i] = (height - 1) / 2 - up, (width - 1) / 2 + right
    return ys, xs


@kinds(DIRECTED)
@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("sign", [1, -1])
def test_directed_changes_are_what_they_say_in_both_directions(made, edge, sign):
    x, level = images(2, 3, 11, 17), sign * made.level
    found = type(made)(made.level, edge).apply(x, drawn_for(made, x), level, UNIT)
    for row in range(2):
        truth = sampled(x[row], *came_from(made, level, 11, 17), edge)
        np.testing.assert_allclose(found[row], truth, atol=2e-5)


def test_a_quarter_turn_is_counter_clockwise():
    x = images(1, 3, 8, 8)
    found = Rotation(90.0).apply(x, drawn_for(Rotation(90.0), x), 90.0, UNIT)
    np.testing.assert_allclose(found, np.rot90(x, axes=(2, 3)), atol=1e-5)


@pytest.mark.parametrize("level", [7.0, -30.0])
def test_a_rotation_is_that_of_pillow_away_from_the_edge(level):
    x = images(1, 1, 31, 31)
    theirs = Image.fromarray(x[0, 0]).rotate(level, Image.Resampling.BILINEAR)
    ours = Rotation(1.0).apply(x, drawn_for(Rotation(1.0), x), level, UNIT)
    inner = slice(8, -8)
    np.testing.assert_allclose(
        ours[0, 0, inner, inner], np.asarray(theirs)[inner, inner], atol=1e-4
    )


@pytest.mark.parametrize("made", [TranslationX(0.25, "black"), TranslationY(0.25, "black")])
def test_a_move_by_whole_pixels_shifts_and_leaves_black(made):
    x, axis = images(1, 3, 8, 8), 3 if made.kind == "translate-x" else 2
    truth = np.roll(x, 2, axis=axis)
    np.moveaxis(truth, axis, 0)[:2] = 0
    np.testing.assert_allclose(made.apply(x, drawn_for(made, x), 0.25, UNIT), truth, atol=1e-6)


def test_black_is_the_lowest_value():
    x = images(1, 1, 8, 8)
    made = TranslationX(1.0, "black")
    assert np.all(made.apply(x, drawn_for(made, x), 1.0, Interval(-1.0, 1.0)) == -1)


@kinds(DIRECTED)
def test_a_level_for_each_row_is_that_level_bit_for_bit(made):
    x = images(6, 3, 12, 12)
    levels = np.linspace(-made.level, made.level, 6, dtype=np.float32)
    together = made.apply(x, drawn_for(made, x), levels, UNIT)
    for row, level in enumerate(levels):
        alone = made.apply(x[row : row + 1], drawn_for(made, x, 1), float(level), UNIT)
        assert np.array_equal(alone[0], together[row])


@kinds(ALL)
def test_a_row_of_level_zero_is_left_as_it_is(made):
    x = images(3, 3, 16, 16)
    levels = np.array([made.level, 0, made.level], np.float32)
    assert np.array_equal(made.apply(x, drawn_for(made, x), levels, UNIT)[1], x[1])


@kinds(ALL)
@pytest.mark.parametrize("rows", [8, 1])
def test_numpy_and_torch_agree_within_a_thousandth(torch, made, rows):
    x = images(rows, 3, 24, 32)
    tensor = torch.from_numpy(x)
    ours, theirs = drawn_for(made, x, 8), drawn_for(made, tensor, 8)
    level = np.linspace(0, made.level, 8, dtype=np.float32)
    for given in (made.level, level):
        there = torch.from_numpy(given) if isinstance(given, np.ndarray) else given
        found = made.apply(tensor, theirs, there, UNIT)
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found.numpy(), made.apply(x, ours, given, UNIT), atol=1e-3)


def effects(made, share):
    """Mean change of smooth images at a share of the level."""
    x = smooth_images(32, 32, 32)
    return float(np.abs(made.apply(x, drawn_for(made, x), share * made.level, UNIT) - x).mean())


@kinds([*DIRECTED, Perspective(0.4), Elastic(1.0), Elastic(1.0, "large")])
def test_a_higher_level_changes_more_on_average(made):
    """Elastic up to severity 1: beyond that the published strengths do not grow in step."""
    found = [effects(made, share) for share in (0.0, 0.1, 0.25, 0.5, 1.0)]
    assert found[0] == 0
    assert all(weak < strong for weak, strong in pairwise(found))


@kinds([*ALL, Elastic(5.0, "large")])
def test_a_level_next_to_zero_changes_next_to_nothing(made):
    assert effects(made, 1e-3) < 0.01
    assert not getattr(made, "signed", False) or effects(made, -1e-3) < 0.01


@kinds(ALL)
def test_elsewhere_bounded_images_are_changed_alike(made):
    x = images(4, 3, 16, 16)
    drawn = drawn_for(made, x)
    truth = made.apply(x, drawn, made.level, UNIT)
    bytes_ = made.apply(255 * x, drawn, made.level, Interval(0.0, 255.0))
    signed = made.apply(2 * x - 1, drawn, made.level, Interval(-1.0, 1.0))
    np.testing.assert_allclose(bytes_ / 255, truth, atol=1e-5)
    np.testing.assert_allclose((signed + 1) / 2, truth, atol=1e-5)
    np.testing.assert_allclose(made.apply(x, drawn, made.level, None), truth, atol=1e-6)


@kinds(ALL)
def test_one_image_that_meets_many_is_many_copies_of_it(made):
    x = images(1, 3, 32, 32)
    drawn = drawn_for(made, x, 100)
    copies = made.apply(np.repeat(x, 100, axis=0), drawn, made.level, UNIT)
    assert np.array_equal(made.apply(x, drawn, made.level, UNIT), copies)


@kinds(ALL)
def test_a_image_in_another_memory_layout_is_the_same_image(made):
    x = images(3, 3, 16, 12)
    strided = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    drawn = drawn_for(made, x)
    truth = made.apply(x, drawn, made.level, UNIT)
    assert np.array_equal(made.apply(strided, drawn, made.level, UNIT), truth)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (Rotation, (200.0,), r"in \[0, 180\] \(degrees\), got 200"),
        (TranslationX, (1.5,), r"in \[0, 1\] \(share of the width\), got 1.5"),
        (TranslationY, (1.5,), r"in \[0, 1\] \(share of the height\), got 1.5"),
        (Zoom, (10.0,), r"in \[0, 9\] .* got 10"),
        (Shear, (90.0,), r"in \[0, 80\] \(degrees\), got 90"),
        (Perspective, (1.1,), "got 1.1"),
        (Elastic, (6.0,), r"in \[0, 5\] \(severity\), got 6"),
        (Elastic, (1.0, "medium"), "one of empty, small, large, got 'medium'"),
        (Rotation, (10.0, "wrap"), "one of mirror, symmetric, nearest, black, got 'wrap'"),
        (Zoom, (-0.1,), "level must be .* got -0.1"),
        (Elastic, (math.nan,), "got nan"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_value(kind, arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        kind(*arguments)
