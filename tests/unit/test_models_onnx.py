"""ONNX files: batches, layouts, number types, preparation."""

import numpy as np
import pytest
from onnx import TensorProto

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.models import load_model
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.unit.small_models import batch, by_hand, linear_net, pooled_net, save_graph, weights

COLOURED = {"NCHW": (3, 4, 5), "NHWC": (4, 5, 3)}


def test_the_signature_says_what_the_file_takes_and_gives(tmp_path):
    path = linear_net(tmp_path / "m.onnx")
    signature = load_model(path, bounds=(0, 1)).signature
    assert signature.shape == (1, 4, 4)
    assert signature.classes == 3
    assert signature.scores is Scores.LOGITS
    assert signature.bounds == Interval(0.0, 1.0)
    assert signature.covers == "the bytes of the ONNX file"
    assert signature.preparation == ""
    assert signature.thread_safe
    assert not signature.whole_numbers


@pytest.mark.parametrize("n", [1, 3, 4, 9])
@pytest.mark.parametrize("rows", [1, 4, "n"])
def test_a_fixed_batch_axis_never_shows(rows, n, tmp_path):
    free = load_model(linear_net(tmp_path / "free.onnx"))
    model = load_model(linear_net(tmp_path / "fixed.onnx", rows=rows))
    x = batch(n)
    np.testing.assert_allclose(model.predict(x), free.predict(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.predict(x), by_hand(x), rtol=1e-5, atol=1e-5)


def test_a_file_that_fixes_batches_of_gigabytes_is_refused_before_one_is_filled(tmp_path):
    with pytest.raises(InvalidArgument, match=r"exactly 2147483640 inputs, .* free batch axis"):
        load_model(linear_net(tmp_path / "m.onnx", rows=2147483640))


@pytest.mark.parametrize("rows", [1, 4, "n"])
@pytest.mark.parametrize("layout", COLOURED)
def test_every_layout_and_batch_conforms(layout, rows, tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", rows=rows, shape=COLOURED[layout]))
    assert model.signature.shape == COLOURED[layout]
    check_model(model, batch(9, COLOURED[layout]))


def test_a_table_of_features_is_an_input_too(tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", shape=(7,)))
    check_model(model, batch(6, (7,)))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (TensorProto.FLOAT, np.float32),
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.DOUBLE, np.float64),
    ],
)
def test_values_reach_the_network_in_its_own_precision(kind, dtype, tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", kind=kind))
    x = batch(9)
    np.testing.assert_allclose(model.predict(x), by_hand(x.astype(dtype)), rtol=1e-5, atol=1e-5)
    assert not model.signature.whole_numbers
    check_model(model, x)


def test_whole_number_inputs_are_rounded_to_the_nearest_and_kept_in_range(tmp_path):
    model = load_model(
        linear_net(tmp_path / "m.onnx", shape=(4,), kind=TensorProto.UINT8), bounds=(0, 255)
    )
    x = np.array([[0.4, 0.6, 254.6, 7.0], [-3.0, 300.0, 1.49, 1.51]], dtype=np.float32)
    rounded = np.array([[0, 1, 255, 7], [0, 255, 1, 2]], dtype=np.float32)
    np.testing.assert_allclose(model.predict(x), by_hand(rounded), rtol=1e-5, atol=1e-4)
    assert model.signature.whole_numbers
    assert model.signature.preparation == "rounded to whole numbers (uint8)"
    check_model(model, batch(6, (4,)) * 255)


def test_an_open_height_and_width_need_a_shape(tmp_path):
    path = pooled_net(tmp_path / "m.onnx")
    with pytest.raises(InvalidArgument, match="shape=") as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    model = load_model(path, shape=(2, 5, 6))
    assert model.signature.shape == (2, 5, 6)
    check_model(model, batch(5, (2, 5, 6)))


@pytest.mark.parametrize("shape", [(3, 5, 6), (2, 5), (2, 5, 6, 1)])
def test_a_shape_that_contradicts_the_file_is_refused(shape, tmp_path):
    with pytest.raises(InvalidArgument, match="takes inputs of shape"):
        load_model(pooled_net(tmp_path / "m.onnx"), shape=shape)


def test_scores_with_empty_axes_are_rows(tmp_path):
    model = load_model(pooled_net(tmp_path / "m.onnx"), shape=(2, 5, 6))
    x = batch(4, (2, 5, 6))
    matrix, bias = weights((2,), 3)
    assert model.signature.classes == 3
    np.testing.assert_allclose(
        model.predict(x), x.mean(axis=(2, 3)) @ matrix + bias, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("layout", COLOURED)
@pytest.mark.parametrize("rows", [4, "n"])
def test_normalisation_by_channel_equals_doing_it_by_hand(rows, layout, tmp_path):
    shape = COLOURED[layout]
    mean, std = (0.48, 0.45, 0.4), (0.23, 0.22, 0.21)
    model = load_model(linear_net(tmp_path / "m.onnx", shape=shape, rows=rows), mean=mean, std=std)
    x = batch(5, shape)
    axis = (3, 1, 1) if layout == "NCHW" else (1, 1, 3)
    ready = (x - np.reshape(mean, axis)) / np.reshape(std, axis)
    np.testing.assert_allclose(model.predict(x), by_hand(ready), rtol=1e-4, atol=1e-4)
    assert "0.48" in model.signature.preparation
    assert "0.21" in model.signature.preparation
    check_model(model, x)


@pytest.mark.parametrize("shape", [(3, 4, 5), (4, 5, 3), (7,)])
def test_one_mean_and_std_serve_every_shape(shape, tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", shape=shape), mean=0.5, std=[0.25])
    x = batch(5, shape)
    np.testing.assert_allclose(model.predict(x), by_hand((x - 0.5) / 0.25), rtol=1e-4, atol=1e-4)


def test_a_std_alone_divides_and_a_mean_alone_shifts(tmp_path):
    path, shape = linear_net(tmp_path / "m.onnx", shape=(3, 4, 5)), (3, 4, 5)
    x, three = batch(5, shape), np.reshape([0.1, 0.2, 0.4], (3, 1, 1))
    divided = load_model(path, std=(0.1, 0.2, 0.4)).predict(x)
    np.testing.assert_allclose(divided, by_hand(x / three), rtol=1e-4, atol=1e-4)
    shifted = load_model(path, mean=(0.1, 0.2, 0.4)).predict(x)
    np.testing.assert_allclose(shifted, by_hand(x - three), rtol=1e-4, atol=1e-4)


def test_a_mean_of_zero_and_a_std_of_one_change_nothing_and_say_nothing(tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx"), mean=0.0, std=1.0)
    assert model.signature.preparation == ""
    np.testing.assert_allclose(model.predict(batch(3)), by_hand(batch(3)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("mean", "std", "match"),
    [
        ((0.1, 0.2), (1.0, 1.0), "no axis of the input"),
        ((0.1, 0.2, 0.3), (1.0, 1.0), "as many of each"),
        ((0.1, 0.2, 0.3), 2.0, "as many of each"),
        (0.0, 0.0, "above 0"),
        (0.0, -1.0, "above 0"),
        (0.0, float("nan"), "above 0"),
        (0.0, float("inf"), "above 0"),
        (float("nan"), 1.0, "mean must be finite"),
    ],
)
def test_a_normalisation_that_cannot_be_is_refused(mean, std, match, tmp_path):
    path = linear_net(tmp_path / "m.onnx", shape=(3, 4, 5))
    with pytest.raises(InvalidArgument, match=match):
        load_model(path, mean=mean, std=std)


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0,), (0, 1, 2), (0, float("nan"))])
def test_bounds_that_bound_nothing_are_refused(bounds, tmp_path):
    with pytest.raises(InvalidArgument, match="bounds are two finite numbers"):
        load_model(linear_net(tmp_path / "m.onnx"), bounds=bounds)


def test_an_input_of_text_is_refused(tmp_path):
    path = save_graph(
        tmp_path / "m.onnx",
        [],
        [("x", TensorProto.STRING, ["n", 3])],
        [("x", TensorProto.STRING)],
        {},
    )
    with pytest.raises(InvalidArgument, match="must take numbers"):
        load_model(path)


def test_an_input_without_a_batch_axis_is_refused(tmp_path):
    from onnx import helper

    path = save_graph(
        tmp_path / "m.onnx",
        [helper.make_node("Relu", ["x"], ["scores"])],
        [("x", TensorProto.FLOAT, [3])],
        [("scores", TensorProto.FLOAT)],
        {},
    )
    with pytest.raises(InvalidArgument, match="without a batch axis"):
        load_model(path)
