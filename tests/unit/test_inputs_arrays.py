"""Arrays in memory: values, labels, ids, digest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.errors import InvalidArgument
from surefoot.inputs import fit, load_inputs
from surefoot.inputs.arrays import image_frame
from surefoot.subject.inputs import Inputs
from tests.refusals import refused

LAW = settings(deadline=None, database=None, derandomize=True, max_examples=40)
POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
PIXELS = np.arange(4 * 6 * 5, dtype=np.uint8).reshape(4, 6, 5)


def test_arrays_become_inputs_with_numbered_ids():
    inputs = load_inputs(POINTS, [0, 1, 1, 0])
    assert len(inputs) == 4
    assert inputs.x.dtype == np.float32
    assert inputs.ids == ("0", "1", "2", "3")
    np.testing.assert_array_equal(inputs.x, POINTS)
    np.testing.assert_array_equal(inputs.labels, [0, 1, 1, 0])
    assert inputs.labels.dtype == np.int64
    assert inputs.selection == "all inputs"
    assert inputs.reading == "values as stored"


def test_ids_sort_as_their_inputs_do():
    ids = load_inputs(np.zeros((101, 2))).ids
    assert ids[0] == "000"
    assert list(ids) == sorted(ids)


@pytest.mark.parametrize("x", [POINTS.tolist(), POINTS.astype(np.float64), POINTS.astype(int)])
def test_whatever_holds_numbers_is_an_array(x):
    np.testing.assert_array_equal(load_inputs(x, [0, 1, 2, 3]).x, POINTS)


def test_pixels_are_divided_by_255_and_the_reading_says_so():
    inputs = load_inputs(PIXELS)
    np.testing.assert_allclose(inputs.x, PIXELS / 255, rtol=1e-6)
    assert inputs.reading == "values divided by 255"
    assert inputs.x.max() <= 1


@pytest.mark.parametrize(
    ("x", "scale", "reading"),
    [
        (PIXELS, 1.0, "values as stored"),
        (PIXELS, 2.0, "values divided by 2"),
        (PIXELS.astype(np.float32), 255, "values divided by 255"),
        (PIXELS.astype(np.int64), None, "values as stored"),
    ],
)
def test_scale_says_what_to_divide_by(x, scale, reading):
    inputs = load_inputs(x, scale=scale)
    np.testing.assert_allclose(inputs.x, x / (scale or 1), rtol=1e-6)
    assert inputs.reading == reading


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_value_that_is_no_number_is_refused_with_the_id_of_its_input(bad):
    x = POINTS.astype(np.float64)
    x[2, 1] = bad
    with pytest.raises(InvalidArgument, match=r"1 inputs hold NaN or infinite.*first is third"):
        load_inputs(x, ids=["first", "second", "third", "fourth"])


NO_NUMBERS = [
    ([[None, 1]], object),
    ([["a", "b"]], str),
    ([[1j, 2]], complex),
    ([["2024"]], "M8[D]"),
]
REFUSED = [
    *((PIXELS, {"scale": n}, "scale must be a finite") for n in (0, -1, np.nan, np.inf)),
    *((POINTS, {"labels": [0] * n}, f"4 inputs but {n} labels") for n in (0, 3, 5)),
    *((np.array(x, kind), {}, "inputs must be real numbers") for x, kind in NO_NUMBERS),
    *((x, {}, "the first axis counts the inputs") for x in (np.ones(3), np.float32(1.0))),
    (np.zeros((0, 3)), {}, "holds no inputs"),
    *((POINTS, {"ids": list(ids)}, "as many different ids") for ids in ("abc", "abca", "aaaa")),
    *((x, {}, "pass arrays, a path, or a dataset") for x in (3, None, object(), 2.5)),
    (PIXELS, {"size": (3, 3)}, "size resizes images in files and datasets only"),
]


@pytest.mark.parametrize(("source", "options", "match"), REFUSED)
def test_what_makes_no_inputs_is_refused_in_a_sentence(source, options, match):
    refused(match, load_inputs, source, **options)


def shuffled(inputs: Inputs, order: np.ndarray) -> Inputs:
    return load_inputs(
        inputs.x[order],
        None if inputs.labels is None else inputs.labels[order],
        ids=[inputs.ids[i] for i in order],
    )


@LAW
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 3)),
        elements=st.floats(0, 1, width=32),
    ),
    st.data(),
)
def test_the_digest_does_not_depend_on_the_order(x, data):
    labels = data.draw(
        st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=len(x), max_size=len(x)))
    )
    inputs = load_inputs(x, labels)
    order = np.array(data.draw(st.permutations(range(len(x)))))
    assert shuffled(inputs, order).digest() == inputs.digest()


@LAW
@given(st.integers(0, 3), st.integers(0, 2))
def test_the_digest_sees_every_value_label_and_id(row, column):
    ids, labels = ["a", "b", "c", "d"], [0, 1, 2, 3]
    digest = load_inputs(POINTS, labels, ids=ids).digest()
    x = POINTS.copy()
    x[row, column] = np.nextafter(x[row, column], np.float32(99))
    assert load_inputs(x, labels, ids=ids).digest() != digest
    other = [9 if i == row else label for i, label in enumerate(labels)]
    assert load_inputs(POINTS, other, ids=ids).digest() != digest
    renamed = ["z" if i == row else name for i, name in enumerate(ids)]
    assert load_inputs(POINTS, labels, ids=renamed).digest() != digest


def test_the_digest_sees_the_shape_swapped_labels_and_missing_labels():
    digest = load_inputs(POINTS, [0, 1, 2, 3]).digest()
    assert len(digest) == 64
    assert load_inputs(POINTS[:, None, :], [0, 1, 2, 3]).digest() != digest
    assert load_inputs(POINTS, [1, 0, 2, 3]).digest() != digest
    assert load_inputs(POINTS).digest() != digest
    assert load_inputs(POINTS[:3], [0, 1, 2]).digest() != digest
    assert load_inputs(POINTS[::-1], [3, 2, 1, 0], ids=list("3210")).digest() == digest


TIMES = 1.7e9 + np.arange(12.0).reshape(4, 3)
"""Seconds of a clock, which single precision holds to 128."""


@pytest.mark.parametrize("x", [TIMES, TIMES.astype(np.int64), TIMES.reshape(4, 3, 1)])
def test_values_that_single_precision_would_run_together_are_refused(x):
    message = refused(r"the arrays, input \d.*: single precision holds 17", load_inputs, x)
    assert "as 1700000000, too coarse for the differences within" in message
    assert message.endswith(
        "convert the array to float32 yourself if that loses nothing that matters"
    )
    assert len(load_inputs(x.astype(np.float32))) == 4


def test_one_coarse_column_is_named_and_what_rounding_leaves_apart_is_taken():
    x = np.random.default_rng(1).random((50, 4))
    assert load_inputs(x).x.dtype == np.float32
    assert len(load_inputs(x.reshape(50, 2, 2))) == 50
    x[:, 2] = 1 / 3  # one value for all inputs
    assert len(load_inputs(x)) == 50
    x[:, 2] = 1e6 + np.arange(50) / 1000
    x[7, 2] = -1e12  # a far value hides the spread of the others
    refused(r"input \d\d, value 3: single precision", load_inputs, x)


def inputs_of(*shape):
    x = np.arange(3 * np.prod(shape), dtype=np.float32).reshape(3, *shape)
    return load_inputs(x, [0, 1, 2], ids=list("abc"))


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
    message = refused(r"rearrange the data \(arrays are taken as", fit, inputs_of(*have), want)
    assert str(have) in message
    assert str(want) in message


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


def test_what_has_two_sides_and_one_or_three_colours_is_an_image():
    for shape in [(28, 28), (4, 4), (1, 28, 28), (28, 28, 1), (3, 32, 30), (32, 30, 3), (1, 4, 9)]:
        assert image_frame(shape) == shape
    others = [(), (784,), (2, 30), (3, 3, 3), (1, 1, 40), (2, 28, 28), (28, 28, 2), (3, 8, 8, 8)]
    assert not any(map(image_frame, others))


@pytest.mark.parametrize("want", [(6, 5), (1, 6, 5), (30, 1)])
def test_flat_rows_become_images_row_by_row_and_back(want):
    flat = inputs_of(30)
    np.testing.assert_array_equal(fit(flat, want).x, flat.x.reshape(-1, *want))
    np.testing.assert_array_equal(fit(fit(flat, want), (30,)).x, flat.x)
