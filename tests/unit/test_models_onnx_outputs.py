"""ONNX files: what comes out, what the digest covers, what is refused."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.models import as_probabilities, load_model
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.unit.small_models import (
    IMAGE,
    batch,
    by_hand,
    estimator,
    linear_net,
    save_graph,
    softmax,
    weights,
)


def test_logits_are_told_from_probabilities(tmp_path):
    logits = load_model(linear_net(tmp_path / "logits.onnx"))
    shares = load_model(linear_net(tmp_path / "shares.onnx", tail="Softmax"))
    assert logits.signature.scores is Scores.LOGITS
    assert shares.signature.scores is Scores.PROBABILITIES
    x = batch(5)
    np.testing.assert_allclose(shares.predict(x), softmax(by_hand(x)), rtol=1e-4, atol=1e-6)


def test_what_the_user_says_about_the_scores_counts(tmp_path):
    path = linear_net(tmp_path / "m.onnx", tail="Softmax")
    assert load_model(path, scores="logits").signature.scores is Scores.LOGITS
    assert load_model(path, scores="probabilities").signature.scores is Scores.PROBABILITIES


def test_logits_said_to_be_probabilities_are_refused(tmp_path):
    with pytest.raises(ModelFailed, match="scores=logits"):
        load_model(linear_net(tmp_path / "m.onnx"), scores="probabilities")


def test_an_unknown_kind_of_scores_is_refused(tmp_path):
    with pytest.raises(InvalidArgument, match=r"'logits', 'probabilities', .*, got 'odds'"):
        load_model(linear_net(tmp_path / "m.onnx"), scores="odds")


def test_one_column_of_probabilities_is_two_classes(tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", classes=1, tail="Sigmoid"))
    x = batch(6)
    second = 1 / (1 + np.exp(-by_hand(x, 1)))
    assert model.signature.scores is Scores.PROBABILITIES
    assert model.signature.classes == 2
    np.testing.assert_allclose(
        model.predict(x), np.concatenate([1 - second, second], axis=1), rtol=1e-4, atol=1e-6
    )
    check_model(model, x)


def test_one_column_of_logits_is_two_classes(tmp_path):
    path = linear_net(tmp_path / "m.onnx", classes=1)
    model = load_model(path, scores="logits")
    x = batch(6)
    z = by_hand(x, 1)
    assert model.signature.classes == 2
    np.testing.assert_allclose(
        model.predict(x), np.concatenate([np.zeros_like(z), z], axis=1), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        as_probabilities(model).predict(x)[:, 1:], 1 / (1 + np.exp(-z)), rtol=1e-4, atol=1e-5
    )
    check_model(model, x)


def test_a_column_that_leaves_zero_to_one_is_a_logit_only_where_that_is_stated(tmp_path):
    path = linear_net(tmp_path / "m.onnx", classes=1)
    with pytest.raises(InvalidArgument, match=r"is no probability: for a regressor .* close:"):
        load_model(path, bounds=(-9, 9))
    model = load_model(path, bounds=(-9, 9), scores="logits")
    assert model.signature.scores is Scores.LOGITS
    assert model.signature.classes == 2


def test_softmax_of_logits_is_probabilities_and_probabilities_stay(tmp_path):
    logits = load_model(linear_net(tmp_path / "logits.onnx"))
    read = as_probabilities(logits)
    x = batch(6)
    assert read.signature.scores is Scores.PROBABILITIES
    assert read.signature.digest == logits.signature.digest
    np.testing.assert_allclose(read.predict(x), softmax(by_hand(x)), rtol=1e-4, atol=1e-6)
    check_model(read, x)
    assert as_probabilities(read) is read


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 11])
def test_a_converted_estimator_gives_its_own_probabilities(classes, zipmap, tmp_path):
    fitted = estimator(classes=classes)
    path = tmp_path / "m.onnx"
    skl2onnx = pytest.importorskip("skl2onnx")
    converted = skl2onnx.to_onnx(fitted, np.zeros((1, 4), np.float32), options={"zipmap": zipmap})
    path.write_bytes(converted.SerializeToString())
    model = load_model(path)
    x = batch(9, (4,))
    assert model.signature.shape == (4,)
    assert model.signature.classes == classes
    assert model.signature.scores is Scores.PROBABILITIES
    np.testing.assert_allclose(model.predict(x), fitted.predict_proba(x), rtol=1e-4, atol=1e-5)
    check_model(model, x)


def two_heads(path):
    """Outputs `labels` (whole numbers), `first` and `second` (scores)."""
    matrix, bias = weights(IMAGE, 3)
    return save_graph(
        path,
        [
            helper.make_node("Flatten", ["x"], ["flat"], axis=1),
            helper.make_node("Gemm", ["flat", "matrix", "bias"], ["first"]),
            helper.make_node("Softmax", ["first"], ["second"]),
            helper.make_node("ArgMax", ["first"], ["labels"], axis=1, keepdims=0),
        ],
        [("x", TensorProto.FLOAT, ["n", *IMAGE])],
        [
            ("labels", TensorProto.INT64),
            ("first", TensorProto.FLOAT),
            ("second", TensorProto.FLOAT),
        ],
        {"matrix": matrix, "bias": bias},
    )


def test_the_first_output_of_scores_is_taken_and_another_can_be_named(tmp_path):
    path, x = two_heads(tmp_path / "m.onnx"), batch(5)
    np.testing.assert_allclose(load_model(path).predict(x), by_hand(x), rtol=1e-4, atol=1e-5)
    named = load_model(path, output="second")
    assert named.signature.scores is Scores.PROBABILITIES
    np.testing.assert_allclose(named.predict(x), softmax(by_hand(x)), rtol=1e-4, atol=1e-5)


def test_an_output_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    path = two_heads(tmp_path / "m.onnx")
    with pytest.raises(InvalidArgument, match="labels, first, second") as caught:
        load_model(path, output="third")
    assert str(path) in str(caught.value)


def test_labels_are_no_scores(tmp_path):
    with pytest.raises(ModelFailed, match="not labels"):
        load_model(two_heads(tmp_path / "m.onnx"), output="labels")


def test_a_file_that_gives_labels_only_is_refused(tmp_path):
    path = save_graph(
        tmp_path / "m.onnx",
        [helper.make_node("ArgMax", ["x"], ["labels"], axis=1)],
        [("x", TensorProto.FLOAT, ["n", 3])],
        [("labels", TensorProto.INT64)],
        {},
    )
    with pytest.raises(ModelFailed, match="no output of scores"):
        load_model(path)


def test_a_map_of_scores_is_no_classifier(tmp_path):
    path = save_graph(
        tmp_path / "m.onnx",
        [helper.make_node("Relu", ["x"], ["scores"])],
        [("x", TensorProto.FLOAT, ["n", 3, 4, 4])],
        [("scores", TensorProto.FLOAT)],
        {},
    )
    with pytest.raises(ModelFailed, match="one row of scores"):
        load_model(path)


def test_the_digest_names_the_content_and_not_the_place(tmp_path):
    one, other = linear_net(tmp_path / "a.onnx"), linear_net(tmp_path / "b.onnx", seed=1)
    shutil.copy(one, tmp_path / "copy.onnx")
    digest = load_model(one).signature.digest
    assert load_model(tmp_path / "copy.onnx").signature.digest == digest
    assert load_model(other).signature.digest != digest
    for neighbour in ("x", "scores", "net", "matrix"):
        (tmp_path / neighbour).write_text("lies beside it by chance")
    assert load_model(one).signature.digest == digest


@pytest.mark.parametrize("location", ["weights.bin", "deep/er/weights.bin", "w" * 140 + ".bin"])
def test_the_digest_covers_weights_in_a_file_of_their_own(location, tmp_path):
    whole = onnx.load(linear_net(tmp_path / "whole.onnx"))
    (tmp_path / location).parent.mkdir(parents=True, exist_ok=True)
    path, beside = tmp_path / "m.onnx", tmp_path / location
    onnx.save_model(whole, path, save_as_external_data=True, location=location, size_threshold=0)
    before, x = load_model(path), batch(4)
    np.testing.assert_allclose(before.predict(x), by_hand(x), rtol=1e-5, atol=1e-5)
    content = bytearray(beside.read_bytes())
    content[2] ^= 1
    beside.write_bytes(bytes(content))
    assert load_model(path).signature.digest != before.signature.digest


def spoiled(tmp_path):
    good = linear_net(tmp_path / "good.onnx").read_bytes()
    return {
        "cut off": good[: len(good) // 2],
        "empty": b"",
        "text": b"this is no model\nat all\n",
        "a page": b"<!DOCTYPE html><html>404</html>",
    }


@pytest.mark.parametrize("how", ["cut off", "empty", "text", "a page"])
def test_a_file_that_is_no_model_is_one_sentence_with_the_path(how, tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(spoiled(tmp_path)[how])
    with pytest.raises(InvalidArgument) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "export it again" in str(caught.value)


@pytest.mark.parametrize("kind", ["", "folder"])
def test_a_file_that_is_not_there_is_one_sentence_with_the_path(kind, tmp_path):
    path = tmp_path / "gone.onnx"
    if kind:
        path.mkdir()
    with pytest.raises(InvalidArgument, match="there is no model file") as caught:
        load_model(str(path))
    assert str(path) in str(caught.value)


def test_a_model_of_two_inputs_is_refused_by_name(tmp_path):
    path = save_graph(
        tmp_path / "m.onnx",
        [helper.make_node("Add", ["left", "right"], ["scores"])],
        [("left", TensorProto.FLOAT, ["n", 3]), ("right", TensorProto.FLOAT, ["n", 3])],
        [("scores", TensorProto.FLOAT)],
        {},
    )
    with pytest.raises(InvalidArgument, match="got 2 \\(left, right\\)") as caught:
        load_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["model.h5", "model", "model.onnx.gz"])
def test_another_kind_of_file_is_refused_with_those_we_read(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InvalidArgument, match=r"\.onnx, \.pt2"):
        load_model(tmp_path / name)
