"""Blurs: the shared suite, NumPy and Torch alike, even growth, what is refused."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb.image.blur import DefocusBlur, GaussianBlur, GlassBlur, MotionBlur, ZoomBlur
from surefoot.testing.conformance import check_image_perturbation

UNIT = Interval(0.0, 1.0)
STRONGEST = {
    GaussianBlur: 2.0,
    DefocusBlur: 5.0,
    MotionBlur: 5.0,
    ZoomBlur: 0.25,
    GlassBlur: 5.0,
}
BLURS = list(STRONGEST)
SEVERE = [DefocusBlur, MotionBlur, GlassBlur]


def scene(n=4, size=32, channels=3, seed=0):
    """Smooth shapes with sharp edges, in [0, 1]."""
    rng = np.random.default_rng(seed)
    rough = rng.random((n, channels, size, size), dtype=np.float32)
    soft = ndimage.gaussian_filter(rough, (0, 0, 2, 2))
    return np.where(soft > 0.5, 0.9 * soft + 0.1, 0.5 * rough).astype(np.float32)


def draws(made, x, n):
    return made.draw(stream(1, "s", made.kind, 0, x), n, tuple(x.shape[1:]))


def blurred(made, x, level=None, bounds=UNIT, n=None):
    n = n or len(x)
    return made.apply(x, draws(made, x, n), made.level if level is None else level, bounds)


@pytest.mark.parametrize(
    "made",
    [
        GaussianBlur(0.3),
        GaussianBlur(1.3),
        DefocusBlur(3.4),
        DefocusBlur(5.0, size="large"),
        MotionBlur(2.5),
        MotionBlur(4.0, angle=20.0),
        MotionBlur(5.0, size="large"),
        ZoomBlur(0.153),
        GlassBlur(3.5),
        GlassBlur(3.5, size="large"),
    ],
    ids=str,
)
def test_every_blur_conforms(made):
    check_image_perturbation(made)


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [17, 80])
def test_numpy_and_torch_agree(torch, blur, size):
    """Within 2e-6, given the same draws; swaps of pixels exactly."""
    x = scene(3, size)
    tensor = torch.from_numpy(x)
    for share in (0.37, 1.0):
        made = blur(share * STRONGEST[blur])
        ours, theirs = blurred(made, x), blurred(made, tensor)
        assert theirs.dtype == torch.float32
        np.testing.assert_allclose(theirs.numpy(), ours, atol=2e-6)
        levels = np.linspace(0, made.level, 3, dtype=np.float32)
        ours, theirs = blurred(made, x, levels), blurred(made, tensor, torch.from_numpy(levels))
        np.testing.assert_allclose(theirs.numpy(), ours, atol=2e-6)
        np.testing.assert_array_equal(ours[0], x[0])


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [32, 72])
def test_a_stronger_blur_moves_the_image_further(blur, size):
    """The mean change grows with the level; glass only where the published swaps grow too.

    From severity 1 to 3 and 4 to 5 (small) it is blurred more after the same swaps, which brings
    values nearer to where they were.
    """
    x = scene(4, size)
    steps = [0.1, 0.2, 0.8] if blur is GlassBlur else [0.1, 0.25, 0.5, 0.75, 1.0]
    changes = [np.abs(blurred(blur(s * STRONGEST[blur]), x) - x).mean() for s in steps]
    assert all(a < b for a, b in pairwise(changes)), changes


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [32, 72])
def test_a_thousandth_of_the_range_changes_little(blur, size):
    x = scene(4, size)
    assert np.abs(blurred(blur(1e-3 * STRONGEST[blur]), x) - x).mean() < 2e-3


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [32, 72])
def test_a_small_step_of_the_level_is_a_small_step_of_the_image(blur, size):
    """Nowhere, the published severities included, does the image jump."""
    x = scene(2, size)
    made = blur(STRONGEST[blur])
    for share in (0.2, 0.31, 0.4, 0.6, 0.77, 0.8, 0.95):
        level = share * STRONGEST[blur]
        step = 2e-4 * STRONGEST[blur]
        apart = np.abs(blurred(made, x, level + step) - blurred(made, x, level - step))
        assert apart.mean() < 2e-3


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [32, 80])
def test_one_input_meeting_many_perturbations_equals_many_copies(blur, size):
    x = scene(1, size)
    made = blur(0.7 * STRONGEST[blur])
    copies = blurred(made, np.repeat(x, 5, axis=0))
    np.testing.assert_allclose(blurred(made, x, n=5), copies, atol=1e-6)


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("size", [32, 75])
def test_a_row_has_the_same_bits_alone_and_with_its_channels_last(blur, size):
    """Large images too, and as a view of images whose channels come last in memory."""
    x = scene(5, size)
    made = blur(0.7 * STRONGEST[blur])
    drawn = draws(made, x, 5)
    out = made.apply(x, drawn, made.level, UNIT)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(made.apply(last, drawn, made.level, UNIT), out)
    for i in range(5):
        alone = made.apply(last[i : i + 1], drawn[i : i + 1], made.level, UNIT)
        np.testing.assert_array_equal(alone[0], out[i])


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("bounds", [Interval(0.0, 255.0), Interval(-1.0, 1.0)])
def test_other_bounds_show_the_same_image(blur, bounds):
    x = scene(3)
    made = blur(0.6 * STRONGEST[blur])
    scaled = (bounds.low + bounds.width * x).astype(np.float32)
    out = (blurred(made, scaled, bounds=bounds) - bounds.low) / bounds.width
    np.testing.assert_allclose(out, blurred(made, x), atol=2e-6)


@pytest.mark.parametrize("blur", BLURS)
def test_a_flat_image_stays_as_it_is(blur):
    x = np.full((2, 3, 20, 26), 0.3, dtype=np.float32)
    np.testing.assert_allclose(blurred(blur(STRONGEST[blur]), x), x, atol=1e-6)


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("level", [-0.1, math.nan, math.inf])
def test_a_level_that_is_no_strength_is_refused(blur, level):
    with pytest.raises(InvalidArgument, match=f"level must be .*, got {level}"):
        blur(level)


def test_unknown_sizes_angles_and_steps_are_refused_with_their_value():
    for blur in SEVERE:
        with pytest.raises(InvalidArgument, match="got 'huge'"):
            blur(1.0, size="huge")
    with pytest.raises(InvalidArgument, match="got 60"):
        MotionBlur(1.0, angle=60.0)
    with pytest.raises(InvalidArgument, match="got 0"):
        ZoomBlur(0.1, step=0.0)


@pytest.mark.parametrize("blur", BLURS)
def test_presets_are_levels_that_grow(blur):
    for levels in blur.presets.values():
        assert len(levels) == 5
        assert list(levels) == sorted(levels)
        assert all(level in blur(level).levels(UNIT) for level in levels)


def test_a_large_image_is_zoomed_alone_as_among_others():
    x = scene(3, 96)
    among = blurred(ZoomBlur(0.1), x)
    np.testing.assert_array_equal(blurred(ZoomBlur(0.1), x[1:2]), among[1:2])
    rows = np.full(3, 0.1, dtype=np.float32)
    np.testing.assert_allclose(blurred(ZoomBlur(0.1), x, level=rows), among, atol=1e-5)
