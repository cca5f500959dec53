"""Inputs brought into the shape of a model, where there is one way only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import InvalidArgument
from surefoot.inputs import fit, load_inputs
from surefoot.inputs.arrays import image_frame

LAW = settings(deadline=None, database=None, derandomize=True)


def inputs_of(*shape):
    x = np.arange(3 * np.prod(shape), dtype=np.float32).reshape(3, *shape)
    return load_inputs(x, [0, 1, 2], ids=list("abc"))


def test_inputs_that_fit_stay_as_they_are():
    inputs = inputs_of(1, 6, 5)
    assert fit(inputs, (1, 6, 5)) is inputs


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_move_to_the_front_and_back(channels):
    last = inputs_of(6, 5, channels)
    first = fit(last, (channels, 6, 5))
    np.testing.assert_array_equal(first.x, last.x.transpose(0, 3, 1, 2))
    assert first.x.flags.c_contiguous
    back = fit(first, (6, 5, channels))
    np.testing.assert_array_equal(back.x, last.x)


@pytest.mark.parametrize("shape", [(1, 6, 5), (6, 5, 1)])
def test_a_channel_axis_is_added_and_dropped(shape):
    flat = inputs_of(6, 5)
    added = fit(flat, shape)
    assert added.x.shape == (3, *shape)
    np.testing.assert_array_equal(added.x.reshape(3, 6, 5), flat.x)
    np.testing.assert_array_equal(fit(added, (6, 5)).x, flat.x)


@pytest.mark.parametrize("shape", [(6, 5), (1, 6, 5), (6, 5, 3), (2, 3, 4, 5)])
def test_images_are_flattened_row_by_row(shape):
    inputs = inputs_of(*shape)
    flat = fit(inputs, (int(np.prod(shape)),))
    np.testing.assert_array_equal(flat.x, inputs.x.reshape(3, -1))


def test_a_flattened_image_can_still_be_drawn():
    inputs = inputs_of(6, 5)
    assert fit(inputs, (30,)).frame == (6, 5)
    assert fit(inputs, (1, 6, 5)).frame == (1, 6, 5)
    assert fit(inputs_of(6, 5, 3), (3, 6, 5)).frame == (3, 6, 5)


def test_fitting_changes_the_shape_and_nothing_else():
    inputs = inputs_of(6, 5, 3)
    fitted = fit(inputs, (3, 6, 5))
    assert fitted.ids == inputs.ids
    np.testing.assert_array_equal(fitted.labels, inputs.labels)
    assert (fitted.source, fitted.selection) == (inputs.source, inputs.selection)


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ((6, 5, 3), (3, 5, 6)),
        ((6, 5, 2), (2, 6, 5)),
        ((6, 5), (5, 6)),
        ((6, 5), (31,)),
        ((30,), (6, 6)),
        ((6, 5, 3), (1, 6, 5)),
        ((28, 28), (3, 28, 28)),
    ],
)
def test_an_impossible_or_ambiguous_shape_is_refused_with_both(have, want):
    with pytest.raises(
        InvalidArgument, match=r"rearrange the data \(arrays are taken as"
    ) as caught:
        fit(inputs_of(*have), want)
    assert str(have) in str(caught.value)
    assert str(want) in str(caught.value)


@LAW
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
)
def test_fitting_never_loses_or_mixes_values(have, want):
    inputs = inputs_of(*have)
    try:
        fitted = fit(inputs, tuple(want))
    except InvalidArgument:
        return
    assert fitted.x.shape == (3, *want)
    for before, after in zip(inputs.x, fitted.x, strict=True):
        np.testing.assert_array_equal(np.sort(before, axis=None), np.sort(after, axis=None))


@pytest.mark.parametrize(
    "shape", [(28, 28), (4, 4), (1, 28, 28), (28, 28, 1), (3, 32, 30), (32, 30, 3), (1, 4, 9)]
)
def test_what_has_two_sides_and_one_or_three_colours_is_a_image(shape):
    assert image_frame(shape) == shape


@pytest.mark.parametrize(
    "shape", [(), (784,), (2, 30), (3, 3, 3), (1, 1, 40), (2, 28, 28), (28, 28, 2), (3, 8, 8, 8)]
)
def test_everything_else_is_none(shape):
    assert image_frame(shape) == ()


@pytest.mark.parametrize("want", [(6, 5), (1, 6, 5), (30, 1)])
def test_flat_rows_become_images_row_by_row_and_back(want):
    flat = inputs_of(30)
    np.testing.assert_array_equal(fit(flat, want).x, flat.x.reshape(-1, *want))
    np.testing.assert_array_equal(fit(fit(flat, want), (30,)).x, flat.x)
