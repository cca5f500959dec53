"""ONNX files as dense layers: the same scores as onnxruntime, or a clear no."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import surefoot as sf
from surefoot.core.assumptions import Arithmetic
from surefoot.graph.linear_map import Dense
from surefoot.graph.network import (
    check_float32,
    dense_layer,
    linear_layer,
    with_normalisation,
)
from surefoot.graph.read_network import with_one_output
from surefoot.verify import Network, bracket_radius, check_reader, read_network
from tests.onnx_models import onnx_model
from tests.refusals import refused
from tests.unit.float32_networks import BUILDERS, INPUTS, Build
from tests.unit.small_networks import exact_radius, random_network

Constants = dict[str, np.ndarray]


def model(
    nodes: Sequence[Any],
    constants: Constants,
    shape: Sequence[Any],
    out: str = "y",
    opset: int = 17,
) -> bytes:
    made = onnx_model(nodes, [("x", shape)], [(out, None)], constants, opset)
    return bytes(made.SerializeToString())


def single(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def node(kind: str, inputs: str, out: str, **at: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [out], **at)


def head(value: str, size: int, classes: int = 3) -> tuple[list[Any], Constants]:
    nodes = [node("Flatten", value, "flat"), node("Gemm", "flat last b_last", "y", transB=1)]
    return nodes, {"last": single(classes, size, seed=9), "b_last": single(classes, seed=8)}


def image(body: list[Any], constants: Constants, out: str, size: int, opset: int = 17) -> bytes:
    nodes, more = head(out, size)
    return model([*body, *nodes], {**constants, **more}, [1, 2, 6, 6], opset=opset)


def agrees(source: bytes) -> None:
    network = read_network(source)
    assert check_reader(network, source, low=-1.0, high=1.0) < 1e-5


@pytest.mark.parametrize(
    ("at", "kernel", "size"),
    [
        ({}, (4, 2, 3, 3), 4 * 16),
        ({"pads": [1, 1, 1, 1]}, (4, 2, 3, 3), 4 * 36),
        ({"pads": [0, 1, 2, 1], "strides": [2, 1]}, (3, 2, 3, 2), 3 * 3 * 7),
        ({"dilations": [2, 2]}, (3, 2, 2, 2), 3 * 16),
        ({"group": 2}, (4, 1, 3, 3), 4 * 16),
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (3, 2, 3, 3), 3 * 9),
        ({"auto_pad": "SAME_LOWER"}, (3, 2, 2, 2), 3 * 36),
        ({"auto_pad": "VALID"}, (3, 2, 3, 3), 3 * 16),
    ],
)
def test_convolutions(at: dict[str, Any], kernel: tuple[int, ...], size: int) -> None:
    constants = {"w": single(*kernel), "b": single(kernel[0], seed=1)}
    body = [node("Conv", "x w b", "c", **at), node("Relu", "c", "r")]
    agrees(image(body, constants, "r", size))


@pytest.mark.parametrize(
    ("at", "size"),
    [
        ({"kernel_shape": [2, 2], "strides": [2, 2]}, 18),
        ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, 72),
        ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, 72),
    ],
)
def test_average_pools(at: dict[str, Any], size: int) -> None:
    body = [node("Relu", "x", "r"), node("AveragePool", "r", "p", **at)]
    agrees(image(body, {}, "p", size))


@pytest.mark.parametrize("opset", [9, 13, 17])
def test_global_average_pool_and_batch_norm(opset: int) -> None:
    constants = {
        "s": single(2),
        "b": single(2, seed=1),
        "m": single(2, seed=2),
        "v": np.abs(single(2, seed=3)),
    }
    body = [
        node("BatchNormalization", "x s b m v", "n", epsilon=1e-3),
        node("LeakyRelu", "n", "r", alpha=0.2),
        node("GlobalAveragePool", "r", "p"),
    ]
    agrees(image(body, constants, "p", 2, opset))


def test_arithmetic_with_constants_and_shapes() -> None:
    constants = {
        "mean": single(2, 1, 1),
        "std": np.full((1, 2, 1, 1), 0.3, np.float32),
        "one": np.array(1.0, np.float32),
        "to": np.array([0, 12, -1], np.int64),
        "axes": np.array([1], np.int64),
    }
    body = [
        node("Sub", "x mean", "a"),
        node("Div", "a std", "b"),
        node("Sub", "one b", "c"),
        node("Mul", "std c", "d"),
        node("Add", "mean d", "e"),
        node("Transpose", "e", "f", perm=[0, 2, 3, 1]),
        node("Reshape", "f to", "g"),
        node("Unsqueeze", "g axes", "h"),
        node("Squeeze", "h axes", "i"),
        node("Identity", "i", "j"),
        node("Dropout", "j", "k"),
        node("Relu", "k", "r"),
    ]
    agrees(image(body, constants, "r", 72))


def test_reshape_by_the_shape_of_the_input_itself() -> None:
    constants = {"zero": np.array([0], np.int64), "rest": np.array([-1], np.int64)}
    body = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Concat", "n rest", "to", axis=0),
        node("Reshape", "x to", "f"),
        node("Relu", "f", "r"),
    ]
    agrees(image(body, constants, "r", 72))


def test_matmul_from_both_sides() -> None:
    constants = {"left": single(4, 6), "right": single(6, 5), "b": single(5)}
    body = [
        node("MatMul", "left x", "a"),
        node("MatMul", "a right", "c"),
        node("Add", "c b", "d"),
        node("Relu", "d", "r"),
    ]
    agrees(image(body, constants, "r", 2 * 4 * 5))


def test_constant_nodes_are_read() -> None:
    value = numpy_helper.from_array(single(72))
    body = [
        helper.make_node("Constant", [], ["c"], value=value),
        node("Flatten", "x", "f"),
        node("Add", "f c", "g"),
        node("Relu", "g", "r"),
    ]
    agrees(image(body, {}, "r", 72))


def residual() -> bytes:
    constants = {
        "w1": single(2, 3, seed=5),
        "w2": single(2, 2, seed=1),
        "w3": single(3, 2, seed=2),
        "b1": single(2, seed=13),
        "b3": single(3, seed=7),
    }
    nodes = [
        node("Gemm", "x w1 b1", "a", transB=1),
        node("Relu", "a", "h"),
        node("Gemm", "h w2", "b", transB=1, alpha=1.5),
        node("LeakyRelu", "b", "c", alpha=0.1),
        node("Add", "c h", "d"),
        node("Relu", "d", "e"),
        node("Sub", "e h", "f"),
        node("Gemm", "f w3 b3", "y", transB=1, beta=0.5),
    ]
    return model(nodes, constants, [1, 3])


def test_a_residual_network_is_proved_exactly() -> None:
    agrees(residual())
    network = read_network(residual())
    x = np.array([0.4, 0.6, 0.5])
    label = network.label(x)
    exact = exact_radius(network, x, label, -2.0, 2.0)
    bracket = bracket_radius(network, x, label, low=-2.0, high=2.0, tolerance=1e-3)
    assert bracket.low <= exact + 1e-7
    assert bracket.high >= exact - 1e-7
    assert bracket.high - bracket.low <= 1.001e-3


@pytest.mark.parametrize("last", ["Softmax", "LogSoftmax", "Relu"])
def test_what_comes_last_may_leave_the_label(last: str) -> None:
    nodes = [node("Gemm", "x w", "z", transB=1), node(last, "z", "y")]
    source = model(nodes, {"w": single(3, 4)}, ["N", 4])
    network = read_network(source)
    assert network.shape == (4,)
    assert network.ends_in_relu == (last == "Relu")
    assert check_reader(network, source) < 1e-5


@pytest.mark.parametrize("kind", ["Sigmoid", "Tanh"])
def test_curves_are_read_in_the_middle_and_at_the_end(kind: str) -> None:
    body = [node("Conv", "x w", "c", pads=[1] * 4), node(kind, "c", "r"), node("Add", "x r", "s")]
    agrees(image(body, {"w": single(2, 2, 3, 3)}, "s", 72))
    source = model(
        [node("Gemm", "x w", "z", transB=1), node(kind, "z", "y")], {"w": single(3, 4)}, [1, 4]
    )
    assert check_reader(read_network(source), source) < 1e-5


@pytest.mark.parametrize(
    ("at", "size"),
    [
        ({"kernel_shape": [2, 2], "strides": [2, 2]}, 18),
        ({"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]}, 2 * 3 * 6),
        ({"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 1, 1, 1]}, 32),
    ],
)
def test_maxima_are_read(at: dict[str, Any], size: int) -> None:
    agrees(image([node("MaxPool", "x", "p", **at)], {}, "p", size))
    body = [node("Conv", "x w", "c", pads=[1] * 4), node("MaxPool", "c", "p", **at)]
    body += [node("Relu", "p", "r"), node("MaxPool", "x", "q", **at), node("Add", "q r", "s")]
    agrees(image(body, {"w": single(2, 2, 3, 3)}, "s", size))


def test_clipped_values_are_read() -> None:
    constants = {"low": np.float32(-0.25), "high": np.float32(0.5), "w": single(2, 2, 3, 3)}
    for ends in ("low high", "low", " high"):
        body = [node("Conv", "x w", "c", pads=[1] * 4)]
        clip = helper.make_node("Clip", ["c", *ends.split(" ")], ["s"])
        agrees(image([*body, clip], constants, "s", 72))


def test_brackets_through_maxima_hold_the_exact_radius() -> None:
    nodes = [
        node("Gemm", "x w b", "h", transB=1),
        node("Reshape", "h shape", "i"),
        node("MaxPool", "i", "p", kernel_shape=[2, 2]),
        node("Flatten", "p", "f"),
        node("Clip", "f low high", "c"),
        node("Gemm", "c v o", "y", transB=1),
    ]
    constants = {"w": single(8, 3), "b": single(8, seed=1), "v": single(2, 2, seed=2)}
    constants |= {"shape": np.array([1, 2, 2, 2]), "low": np.float32(0), "high": np.float32(1)}
    constants["o"], x = np.zeros(2, np.float32), np.array([0.3, 0.6, 0.4])
    lead = np.diff(read_network(model(nodes, constants, [1, 3])).scores(x[None])[0])[0]
    constants["o"][0] = lead + 0.02  # the first class wins by so much
    network = read_network(model(nodes, constants, [1, 3]))
    label = network.label(x)
    bracket = bracket_radius(network, x, label, tolerance=0.002, arithmetic=Arithmetic.REAL)
    side = np.linspace(0, 1, 81)
    grid = np.stack(np.meshgrid(side, side, side), axis=-1).reshape(-1, 3)
    wrong = grid[network.scores(grid).argmax(axis=1) != label]
    nearest = np.abs(wrong - x).max(axis=1).min()
    assert bracket.low <= nearest
    assert bracket.high <= nearest + 0.002
    assert bracket.high - bracket.low <= 0.002002


def test_a_kernel_that_depends_on_the_input_is_refused() -> None:
    body = [node("Conv", "k x", "c")]
    refused("first input", read_network, image(body, {"k": single(1, 2, 6, 6)}, "c", 1))


def test_an_open_shape_must_be_given() -> None:
    nodes = [node("Flatten", "x", "f"), node("Gemm", "f w", "y", transB=1)]
    source = model(nodes, {"w": single(3, 4)}, ["N", "a", "b"])
    refused("shape", read_network, source)
    assert read_network(source, (2, 2)).shape == (2, 2)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"no model at all")
    refused("ONNX", read_network, tmp_path / "a.onnx")


def test_a_misread_file_is_noticed() -> None:
    nodes = [node("Gemm", "x w", "y", transB=1)]
    network = read_network(model(nodes, {"w": single(3, 4)}, [1, 4]))
    refused("reference", check_reader, network, model(nodes, {"w": single(3, 4, seed=1)}, [1, 4]))


def two_layers(scale: float, shift: float) -> bytes:
    """Scores of the size `scale`, all of them moved by `shift`."""
    constants = {
        "w": single(6, 5),
        "b": single(6, seed=1),
        "v": (scale * single(4, 6, seed=2)).astype(np.float32),
        "c": (scale * single(4, seed=3) + shift).astype(np.float32),
    }
    nodes = [
        node("Gemm", "x w b", "g", transB=1),
        node("Relu", "g", "r"),
        node("Gemm", "r v c", "y", transB=1),
    ]
    return model(nodes, constants, [1, 5])


def moved(network: Network, share: float, row: int = 0) -> Network:
    """The network with one score's weights off by a share of their size."""
    *before, last = network.layers
    weights = last.weights.matrix.copy()
    weights[row] *= 1 + share
    return replace(network, layers=(*before, replace(last, weights=Dense(weights))))


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0, 1e9, 1e30])
@pytest.mark.parametrize("share", [1e-6, 1e-3, 1.0])
def test_a_wrong_weight_is_noticed_in_scores_of_any_size(scale: float, share: float) -> None:
    source = two_layers(scale, 0.0)
    network = read_network(source)
    assert check_reader(network, source) < 1e-5
    refused("please report it", check_reader, moved(network, share), source)


def test_a_wrong_score_is_noticed_below_a_common_offset() -> None:
    source = two_layers(1.0, 2.0**20)
    refused("please report it", check_reader, moved(read_network(source), 1e-3), source)


@pytest.mark.parametrize("row", range(3))
def test_a_wrong_score_is_noticed_beside_a_huge_one(row: int) -> None:
    weights = single(4, 5)
    weights[3] = 1e12
    source = model([node("Gemm", "x w", "y", transB=1)], {"w": weights}, [1, 5])
    refused("please report it", check_reader, moved(read_network(source), 1e-3, row), source)


@pytest.mark.parametrize("build", BUILDERS)
def test_rounding_in_float32_is_not_taken_for_a_wrong_reading(build: Build) -> None:
    source = build().source
    check_reader(read_network(source, (INPUTS,)), source)


def test_classes_alike_are_not_taken_for_a_wrong_reading() -> None:
    weights = np.repeat(single(1, 50), 3, axis=0)
    source = model([node("Gemm", "x w", "y", transB=1)], {"w": weights}, [1, 50])
    assert check_reader(read_network(source), source) <= 1e-6


def test_a_softmax_that_changes_the_label_is_refused() -> None:
    # over the second of three axes, which has one place: every output is 1
    nodes = [
        node("Gemm", "x w", "g", transB=1),
        node("Reshape", "g to", "r"),
        node("Softmax", "r", "y", axis=1),
    ]
    constants = {"w": single(3, 4), "to": np.array([1, 1, 3])}
    source = model(nodes, constants, [1, 4])
    refused("changes the label", check_reader, read_network(source), source)


def test_a_model_that_overflows_as_run_is_refused() -> None:
    constants = {"w": np.full((2, 4), 3e38, np.float32), "v": single(2, 2)}
    nodes = [node("Gemm", "x w", "g", transB=1), node("Gemm", "g v", "y", transB=1)]
    source = model(nodes, constants, [1, 4])
    refused("finite", check_reader, read_network(source), source)


def test_constants_are_folded_without_rounding_to_float32() -> None:
    nodes = [node("Add", "a b", "w"), node("MatMul", "x w", "y")]
    constants = {"a": np.ones((4, 2), np.float32), "b": np.full((4, 2), 1e-9, np.float32)}
    constants["a"][0, 0] = 2
    network = read_network(model(nodes, constants, [1, 4]))
    assert (network.layers[-1].weights.matrix[1] == 1 + np.float64(np.float32(1e-9))).all()


def test_float16_models_are_refused() -> None:
    half, weights = TensorProto.FLOAT16, {"w": single(3, 4).astype(np.float16)}
    nodes = [node("Gemm", "x w", "y", transB=1)]
    made = onnx_model(nodes, [("x", [1, 4], half)], [("y", None, half)], weights)
    refused("float16", read_network, made.SerializeToString())


def test_dropout_in_training_is_refused() -> None:
    nodes = [node("Dropout", "x ratio train", "d"), node("Gemm", "d w", "y", transB=1)]
    constants = {"ratio": np.float32(0.5), "train": np.array(True), "w": single(3, 4)}
    refused("eval", read_network, model(nodes, constants, [1, 4]))
    constants["train"] = np.array(False)
    assert read_network(model(nodes, constants, [1, 4])).classes == 3


@pytest.mark.parametrize(
    ("nodes", "named"),
    [
        ([node("Gemm", "x nowhere", "y", transB=1)], "Gemm"),
        ([node("Add", "a nowhere", "c"), node("MatMul", "x c", "y")], "Add"),
        ([node("Reshape", "x seven", "r"), node("MatMul", "r a", "y")], "Reshape"),
        ([node("MatMul", "x b", "y")], "MatMul"),
        ([helper.make_node("MatMul", ["x", "a"], ["y"], domain="my.own")], "my.own"),
        ([node("Elu", "x", "y")], "Elu"),
        ([node("Softplus", "x", "s"), node("Softmax", "s", "y")], "Softplus"),
        ([node("Softmax", "x", "s"), node("MatMul", "s a", "y")], "Softmax"),
        ([node("Softmax", "x", "s", axis=0), node("Identity", "s", "y")], "Softmax"),
        ([node("MatMul", "a a", "y")], "does not depend on the input"),
        ([node("PRelu", "x slope", "y")], "PRelu"),
        ([node("Relu", "x", "r"), node("Mul", "r x", "y")], "Mul"),
        ([node("LeakyRelu", "x", "y", alpha=1.5)], "convex"),
        (
            [node("QuantizeLinear", "x one", "q"), node("DequantizeLinear", "q one", "y")],
            "Quantize",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(nodes: list[Any], named: str) -> None:
    constants = {
        "a": single(4, 4),
        "b": single(5, 3),
        "seven": np.array([7, 2]),
        "slope": np.float32(0.1),
        "one": np.float32(1.0),
    }
    refused(named, read_network, model(nodes, constants, [1, 4]))


def exact(array: np.ndarray) -> Any:
    """The numbers as fractions."""
    flat = [Fraction(float(v)) for v in array.reshape(-1)]
    return np.array(flat, dtype=object).reshape(array.shape)


def off(network: Network, scores: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the read rows are from `scores` at x, and the limit of that."""
    (layer,) = network.layers
    read = exact(layer.weights.matrix) @ exact(x) + exact(layer.bias)
    return np.array(
        [float(abs(a - b)) for a, b in zip(read, scores, strict=True)]
    ), layer.sum_sizes.longest * 2.0**-52 * layer.sizes_at(np.abs(x))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [0.0, 6.0, 12.0])
def test_the_loss_of_affine_chains_limits_what_was_lost(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return (rng.normal(0, 1, shape) * 10 ** rng.uniform(-spread, spread, shape)).astype("f4")

    w1, b1, s, w2, b2, w3 = (
        weights(6, 5), weights(6), weights(6), weights(7, 6), weights(7), weights(3, 7),
    )  # fmt: skip
    nodes = [
        node("Gemm", "x w1 b1", "g1", transB=1),
        node("Mul", "g1 s", "m"),
        node("Sub", "m b1", "d"),
        node("Gemm", "d w2 b2", "g2", transB=1),
        node("Add", "g2 g2", "a"),
        node("Gemm", "a w3", "y", transB=1),
    ]
    constants = {"w1": w1, "b1": b1, "s": s, "w2": w2, "b2": b2, "w3": w3}
    network = read_network(model(nodes, constants, [1, 5]))
    x = rng.random(5)
    h = (exact(w1) @ exact(x) + exact(b1)) * exact(s) - exact(b1)
    h = 2 * (exact(w2) @ h + exact(b2))
    lost, limit = off(network, exact(w3) @ h, x)
    assert (lost <= limit).all()


def test_normalisation_before_the_network_is_paid_for() -> None:
    rng = np.random.default_rng(0)
    layer = dense_layer(rng.normal(0, 1, (3, 50)), rng.normal(0, 1, 3), np.ones(3))
    scale, shift = rng.uniform(1, 5, 50), rng.uniform(-1e6, 1e6, 50)
    network = with_normalisation(Network((layer,), (50,)), scale, shift)
    x = rng.random(50)
    real = exact(layer.weights.matrix) @ (exact(x) * exact(scale) + exact(shift)) + exact(
        layer.bias
    )
    lost, limit = off(network, real, x)
    assert (lost > 0).any()
    assert (lost <= limit + 1e-12).all()


def test_a_normalised_network_has_the_same_radius_in_its_unit() -> None:
    rng = np.random.default_rng(4)
    network = random_network(rng, 4, [6], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 4)
    plain = bracket_radius(network, x, network.label(x), tolerance=1e-4, seconds=5)
    wide = with_normalisation(network, np.full(4, 0.5), np.full(4, -1.0))
    there = bracket_radius(
        wide, 2 * x + 2, network.label(x), tolerance=1e-4, seconds=5, low=2.0, high=4.0
    )
    assert abs(there.low - 2 * plain.low) < 3e-4


def test_a_term_that_float64_absorbs_is_not_proved_away() -> None:
    # v = 2⁶⁰·x + x, then 2⁶⁰·x is taken away: x in real arithmetic, 0 in float64 and as run.
    big = np.float32(2.0**60)
    constants = {
        "w1": np.array([[big], [1.0]], "f4"),
        "w2": np.array([[1.0, 1.0], [1.0, 0.0]], "f4"),
        "w3": np.array([[0.0, 0.0], [1.0, -1.0]], "f4"),
        "b": np.array([0.5, 0.0], "f4"),
    }
    nodes = [
        node("Gemm", "x w1", "a", transB=1),
        node("Gemm", "a w2", "c", transB=1),
        node("Gemm", "c w3 b", "y", transB=1),
    ]
    network = read_network(model(nodes, constants, [1, 1]))
    bracket = bracket_radius(network, np.array([0.25]), 0, seconds=2)
    assert bracket.low <= 0.25  # label 1 beyond x = 1/2


def test_a_term_that_underflows_in_float64_is_not_proved_away() -> None:
    # x is scaled down to 1e-333 and up again: label 1 has the score x, label 0 has 0.3
    down = [dense_layer(np.diag([1e-37, 1.0]), np.zeros(2), np.zeros(2))] * 9
    up = [dense_layer(np.diag([1e37, 1.0]), np.zeros(2), np.zeros(2))] * 9
    first = dense_layer(np.array([[1.0], [0.0]]), np.array([0.0, 0.3]), np.zeros(2))
    last = linear_layer(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2))
    network = Network((first, *down, *up, last), (1,))
    with np.errstate(all="ignore"):
        bracket = bracket_radius(network, np.array([0.1]), 0, seconds=2, arithmetic=Arithmetic.REAL)
    assert bracket.low <= 0.2


def test_weights_that_a_run_rounds_are_no_part_of_a_proof_in_float32() -> None:
    nodes = [node("Add", "a b", "w"), node("MatMul", "x w", "y")]
    for small, rounds in ((1e-9, True), (0.5, False)):
        constants = {"a": np.ones((4, 2), np.float32), "b": np.full((4, 2), small, np.float32)}
        network = read_network(model(nodes, constants, [1, 4]))
        assert network.rounded_constants == rounds
        if rounds:
            refused("constants folded", check_float32, network, 0.0, 1.0)
        else:
            check_float32(network, 0.0, 1.0)
    wide = replace(network, rounded_constants=False, normalised=2)
    refused("Softmax of a Softmax", check_float32, wide, 0.0, 1.0)
    refused("does not hold", check_float32, network, -1e37, 1e37)


def test_branches_that_are_joined_agree_with_onnxruntime() -> None:
    body = [
        node("Conv", "x k1", "one", pads=[1, 1, 1, 1]),
        node("Relu", "one", "bent"),
        node("Conv", "x k2", "two", pads=[1, 1, 1, 1]),
        node("Concat", "bent two x", "all", axis=-3),
        node("Relu", "all", "whole"),
    ]
    kernels = {"k1": single(3, 2, 3, 3, seed=1), "k2": single(1, 2, 3, 3, seed=2)}
    agrees(image(body, kernels, "whole", 6 * 36))


def estimator(weights: np.ndarray, *ending: Any) -> bytes:
    """A regression as scikit-learn's converter writes it: a label beside two probabilities."""
    nodes = [
        node("Cast", "x", "same", to=TensorProto.FLOAT),
        node("MatMul", "same w", "score"),
        node("Sigmoid", "score", "second"),
        node("Sub", "unity second", "first"),
        node("Concat", "first second", "probabilities", axis=1),
        node("ArgMax", "probabilities", "place", axis=1, keepdims=0),
        *ending,
    ]
    last = ending[-1].output[0] if ending else "probabilities"
    outputs = [("place", ["n"], TensorProto.INT64), (last, None)]
    constants = {"w": weights, "unity": np.ones((1, 1), np.float32)}
    made = onnx_model(nodes, [("x", ["n", len(weights)])], outputs, constants)
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return bytes(made.SerializeToString())


def test_the_radius_of_a_file_that_gives_labels_beside_probabilities_is_the_known_one(
    tmp_path: Path,
) -> None:
    weights = single(5, 1, seed=4)
    path = tmp_path / "estimator.onnx"
    path.write_bytes(estimator(weights))
    x = np.random.default_rng(5).normal(0, 1, (4, 5)).astype(np.float32)
    labels = (x @ weights)[:, 0] > 0
    result = sf.critical(path, (x, labels.astype(int)), bounds=(-9, 9), tolerance=1e-4)
    known = np.abs(x @ weights)[:, 0] / np.abs(weights).sum()
    for row, truth in zip(result.inputs, known, strict=True):
        assert row.result.low <= truth * (1 + 1e-6)
        assert truth <= row.result.high * (1 + 1e-6)


def test_of_maps_of_probabilities_their_table_is_read() -> None:
    maps = helper.make_node(
        "ZipMap", ["probabilities"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]
    )
    agrees(with_one_output(estimator(single(5, 1), maps), "maps"))


def test_a_file_of_several_outputs_is_read_for_one_of_them() -> None:
    refused("one input and one output", read_network, estimator(single(5, 1)))
