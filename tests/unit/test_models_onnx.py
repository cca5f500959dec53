"""ONNX files: batches, layouts, number types, preparation."""

import functools
import os
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.graph.onnx_file import read_weight_files
from surefoot.models import as_probabilities, load_model
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.refusals import refused
from tests.unit.small_models import (
    IMAGE,
    batch,
    by_hand,
    estimator,
    linear_net,
    margin_and_gradient,
    pooled_net,
    save_graph,
    softmax,
    weights,
)
from tests.unit.small_networks import random_network, write_onnx

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


@pytest.mark.parametrize("rows", [1, 4, "n"])
@pytest.mark.parametrize("layout", COLOURED)
def test_every_layout_and_batch_conforms(layout, rows, tmp_path):
    model = load_model(linear_net(tmp_path / "m.onnx", rows=rows, shape=COLOURED[layout]))
    assert model.signature.shape == COLOURED[layout]
    check_model(model, batch(9, COLOURED[layout]))


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
    assert str(path) in refused("shape=", load_model, path)
    model = load_model(path, shape=(2, 5, 6))
    assert model.signature.shape == (2, 5, 6)
    check_model(model, batch(5, (2, 5, 6)))


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


def test_a_std_alone_divides_and_a_mean_alone_shifts(tmp_path):
    path, shape = linear_net(tmp_path / "m.onnx", shape=(3, 4, 5)), (3, 4, 5)
    x, three = batch(5, shape), np.reshape([0.1, 0.2, 0.4], (3, 1, 1))
    divided = load_model(path, std=(0.1, 0.2, 0.4)).predict(x)
    np.testing.assert_allclose(divided, by_hand(x / three), rtol=1e-4, atol=1e-4)
    shifted = load_model(path, mean=(0.1, 0.2, 0.4)).predict(x)
    np.testing.assert_allclose(shifted, by_hand(x - three), rtol=1e-4, atol=1e-4)


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
    refused(r"is no probability: for a regressor .* close:", load_model, path, bounds=(-9, 9))
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


def scaled_by_batch(path, rows):
    """Scores of inputs that are rounded to a share of the largest of the batch."""
    matrix, bias = weights((4,), 3)
    return save_graph(
        path,
        [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["whole", "scale", "zero"]),
            helper.make_node("DequantizeLinear", ["whole", "scale", "zero"], ["rounded"]),
            helper.make_node("Gemm", ["rounded", "matrix", "bias"], ["scores"]),
        ],
        [("x", TensorProto.FLOAT, [rows, 4])],
        [("scores", TensorProto.FLOAT)],
        {"matrix": matrix, "bias": bias},
    )


def test_a_file_that_quantises_by_the_range_of_a_batch_answers_each_input_by_itself(tmp_path):
    path = scaled_by_batch(tmp_path / "m.onnx", "n")
    model, x = load_model(path, scores="logits"), batch(9, (4,))
    x[3] *= 1e4  # beside it the others would be rounded to nothing
    alone = np.concatenate([model.predict(x[i : i + 1]) for i in range(9)])
    np.testing.assert_array_equal(model.predict(x), alone)
    assert "one input at a time" in model.run_note[1]
    refused("one input at a time", load_model, path, scores="logits", device="cpu:0")
    other = scaled_by_batch(tmp_path / "many.onnx", 8)
    refused("exactly 8, and it quantises by the range", load_model, other, scores="logits")


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


FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
GRAPHS = [
    ([], [("x", TEXT, ["n", 3])], ("x", TEXT), "must take numbers"),
    (["Relu x y"], [("x", FLOAT, [3])], ("y", FLOAT), "without a batch axis"),
    (["ArgMax x y"], [("x", FLOAT, ["n", 3])], ("y", INT), "no output of scores"),
    (["Relu x y"], [("x", FLOAT, ["n", 3, 4, 4])], ("y", FLOAT), "one row of scores"),
    (["Add a b y"], [("a", FLOAT, ["n", 3]), ("b", FLOAT, ["n", 3])], ("y", FLOAT), r"2 \(a, b\)"),
]


@pytest.mark.parametrize(("nodes", "inputs", "output", "match"), GRAPHS)
def test_a_graph_that_is_no_classifier_is_refused_by_name(nodes, inputs, output, match, tmp_path):
    made = []
    for kind, *names, out in map(str.split, nodes):
        made.append(helper.make_node(kind, names, [out], **({"axis": 1} if "Arg" in kind else {})))
    path = save_graph(tmp_path / "m.onnx", made, inputs, [output], {})
    with pytest.raises((InvalidArgument, ModelFailed), match=match) as caught:
        load_model(path)
    assert str(path) in str(caught.value) or "one row of scores" in match


NAN, INF = float("nan"), float("inf")
NORMS = [((0.1, 0.2), (1.0, 1.0), "no axis of the input"), (NAN, 1.0, "mean must be finite")]
NORMS += [((0.1, 0.2, 0.3), std, "as many of each") for std in ((1.0, 1.0), 2.0)]
NORMS += [(0.0, std, "above 0") for std in (0.0, -1.0, NAN, INF)]
BOUNDS = [(1, 0), (0, 0), (0,), (0, 1, 2), (0, NAN)]
COLOUR = functools.partial(linear_net, shape=(3, 4, 5))
OPTIONS = [
    *((COLOUR, {"mean": mean, "std": std}, match) for mean, std, match in NORMS),
    *((linear_net, {"bounds": b}, "bounds are two finite numbers") for b in BOUNDS),
    *((pooled_net, {"shape": s}, "takes inputs of") for s in [(3, 5, 6), (2, 5), (2, 5, 6, 1)]),
    (linear_net, {"scores": "odds"}, r"'logits', 'probabilities', .*, got 'odds'"),
    (linear_net, {"scores": "probabilities"}, "scores=logits"),
    (functools.partial(linear_net, rows=2147483640), {}, r"exactly 2147483640 .* free batch axis"),
    (two_heads, {"output": "third"}, "labels, first, second"),
    (two_heads, {"output": "labels"}, "not labels"),
]


@pytest.mark.parametrize(("write", "options", "match"), OPTIONS)
def test_options_that_do_not_fit_the_file_are_refused(write, options, match, tmp_path):
    with pytest.raises((InvalidArgument, ModelFailed), match=match):
        load_model(write(tmp_path / "m.onnx"), **options)


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
    message = refused("", load_model, path)
    assert str(path) in message
    assert "export it again" in message


@pytest.mark.parametrize("name", ["model.tflite", "model", "model.onnx.gz"])
def test_another_kind_of_file_is_refused_with_those_we_read(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(r"\.onnx, \.pt2", load_model, tmp_path / name)


def split(folder, location="m.onnx.data", write=linear_net):
    """A model whose weights lie beside it, and the same model in one file."""
    whole, path = write(folder / "whole.onnx"), folder / "m.onnx"
    onnx.save_model(
        onnx.load(whole), path, save_as_external_data=True, location=location, size_threshold=0
    )
    return path, whole


def rewritten(path, change):
    """The file with the entries of its external data changed."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        entries = {e.key: e.value for e in tensor.external_data}
        change(entries)
        del tensor.external_data[:]
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    return path


def test_weights_beside_the_file_give_the_same_answers(tmp_path):
    path, whole = split(tmp_path)
    model, x = load_model(path), batch(5)
    np.testing.assert_array_equal(model.predict(x), load_model(whole).predict(x))
    assert model.signature.covers == "the bytes of the ONNX file and of its weights"
    assert load_model(whole).signature.covers == "the bytes of the ONNX file"


def test_proofs_and_gradients_read_the_weights_too(tmp_path):
    network = random_network(np.random.default_rng(1), 4, [5], 3, [0.0])
    path, whole = split(tmp_path, write=functools.partial(write_onnx, network))
    one, other = (load_model(p, bounds=(0, 1)) for p in (path, whole))
    x, labels = batch(3, (4,)), np.zeros(3, np.int64)
    for a, b in zip(
        margin_and_gradient(one, x, labels, labels + 1),
        margin_and_gradient(other, x, labels, labels + 1),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    brackets = []
    for model in (one, other):
        inputs = sf.load_inputs(np.random.default_rng(1).uniform(0.2, 0.8, (3, 4)))
        method = sf.methods.CriticalLevel(error=0.1, quantile=0.5, tolerance=0.01, samples=0)
        result = sf.Study(model, inputs, sf.perturb.LinfNoise(), method, seed=1).run()
        brackets.append([row.result.interval for row in result.record.inputs])
    assert brackets[0] == brackets[1]


def test_weights_that_change_after_loading_are_refused_for_proofs(tmp_path):
    path, _ = split(tmp_path)
    model = load_model(path)
    beside = tmp_path / "m.onnx.data"
    beside.write_bytes(beside.read_bytes()[::-1])
    with pytest.raises(InvalidArgument, match="its weights beside it have changed"):
        _ = model.graph.content


def test_missing_weights_are_named_with_the_way_out(tmp_path):
    path, _ = split(tmp_path)
    (tmp_path / "m.onnx.data").unlink()
    refused(r"m\.onnx\.data, which is not beside it: put", load_model, path)
    os.mkfifo(tmp_path / "m.onnx.data")
    refused("not beside it", load_model, path)


@pytest.mark.parametrize(
    "location", ["../weights.bin", "{outside}/weights.bin", "a/../../weights.bin", "..\\w", "C:\\w"]
)
def test_weights_outside_the_folder_are_refused_and_not_read(location, tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    path, _ = split(folder, location="weights.bin")
    (folder / "weights.bin").rename(tmp_path / "weights.bin")
    place = location.format(outside=tmp_path)
    rewritten(path, lambda entries: entries.update(location=place))
    refused("outside its own folder", load_model, path)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    path, _ = split(folder, location="weights.bin")
    (folder / "weights.bin").rename(tmp_path / "elsewhere.bin")
    (folder / "weights.bin").symlink_to(tmp_path / "elsewhere.bin")
    refused("outside its own folder", load_model, path)


def test_the_location_is_read_whatever_the_order_of_the_entries(tmp_path):
    """Protobuf allows the value before the key; a search for bytes would miss it."""
    path, _ = split(tmp_path)
    content = path.read_bytes()
    key, value = b"\n\x08location", b"\x12\x0bm.onnx.data"
    assert key + value in content
    path.write_bytes(content.replace(key + value, value + key))
    assert set(read_weight_files(path).beside) == {"m.onnx.data"}
    before = load_model(path).signature.digest
    beside = tmp_path / "m.onnx.data"
    beside.write_bytes(beside.read_bytes()[::-1])
    assert load_model(path).signature.digest != before


@pytest.mark.parametrize(
    "change",
    [{"offset": 10**9}, {"length": 10**9}, {"offset": -4}, {"offset": "x"}, {"length": "-1"}],
)
def test_an_offset_outside_the_weights_is_refused(change, tmp_path):
    path, _ = split(tmp_path)
    digest = read_weight_files(path).digest
    rewritten(path, lambda entries: entries.update(change))
    refused("", load_model, path)
    from surefoot.graph.onnx_file import whole_content

    files = read_weight_files(path)
    assert files.digest != digest
    refused("lie outside their file", whole_content, files, files.digest)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_is_refused_or_read_in_one_sentence(seed, tmp_path):
    path, _ = split(tmp_path)
    rng, content = np.random.default_rng(seed), bytearray(path.read_bytes())
    for _ in range(3):
        content[rng.integers(len(content))] = rng.integers(256)
    path.write_bytes(bytes(content))
    try:
        read_weight_files(path)
    except InvalidArgument as error:
        assert "\n" not in str(error)


def test_a_location_that_is_no_file_name_is_refused(tmp_path):
    path, _ = split(tmp_path)
    rewritten(path, lambda entries: entries.update(location="m\0.data"))
    refused(r"which is no name of a file: export it again", load_model, path)
