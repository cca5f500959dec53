"""ONNX files as dense layers: the same scores as onnxruntime, or a clear no."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from surefoot.errors import InvalidArgument
from surefoot.verify import bracket_radius, check_reader, read_network
from tests.unit.small_networks import exact_radius

Constants = dict[str, np.ndarray]


def model(
    nodes: Sequence[Any], constants: Constants, shape: Sequence[Any], out: str = "y"
) -> bytes:
    graph = helper.make_graph(
        list(nodes),
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    onnx_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(onnx_model.SerializeToString())


def single(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def node(kind: str, inputs: str, out: str, **at: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [out], **at)


def head(value: str, size: int, classes: int = 3) -> tuple[list[Any], Constants]:
    nodes = [node("Flatten", value, "flat"), node("Gemm", "flat last b_last", "y", transB=1)]
    return nodes, {"last": single(classes, size, seed=9), "b_last": single(classes, seed=8)}


def image(body: list[Any], constants: Constants, out: str, size: int) -> bytes:
    nodes, more = head(out, size)
    return model([*body, *nodes], {**constants, **more}, [1, 2, 6, 6])


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


def test_global_average_pool_and_batch_norm() -> None:
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
    agrees(image(body, constants, "p", 2))


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


def test_residual_branches() -> None:
    agrees(residual())


def test_a_residual_network_is_proved_exactly() -> None:
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


@pytest.mark.parametrize("kind", ["Sigmoid", "Tanh", "MaxPool"])
def test_other_operators_are_refused_by_name(kind: str) -> None:
    at = {"kernel_shape": [2, 2], "strides": [2, 2]} if kind == "MaxPool" else {}
    body = [node(kind, "x", "r", **at)]
    source = image(body, {}, "r", 18 if kind == "MaxPool" else 72)
    with pytest.raises(InvalidArgument, match=kind):
        read_network(source)


def test_products_of_two_values_are_refused() -> None:
    body = [node("Relu", "x", "r"), node("Mul", "r x", "m")]
    with pytest.raises(InvalidArgument, match="Mul"):
        read_network(image(body, {}, "m", 72))


def test_steep_leaky_slopes_are_refused() -> None:
    body = [node("LeakyRelu", "x", "r", alpha=1.5)]
    with pytest.raises(InvalidArgument, match="convex"):
        read_network(image(body, {}, "r", 72))


def test_an_open_shape_must_be_given() -> None:
    nodes = [node("Flatten", "x", "f"), node("Gemm", "f w", "y", transB=1)]
    source = model(nodes, {"w": single(3, 4)}, ["N", "a", "b"])
    with pytest.raises(InvalidArgument, match="shape"):
        read_network(source)
    assert read_network(source, (2, 2)).shape == (2, 2)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"no model at all")
    with pytest.raises(InvalidArgument, match="ONNX"):
        read_network(tmp_path / "a.onnx")


def test_a_misread_file_is_noticed() -> None:
    nodes = [node("Gemm", "x w", "y", transB=1)]
    network = read_network(model(nodes, {"w": single(3, 4)}, [1, 4]))
    with pytest.raises(InvalidArgument, match="reference"):
        check_reader(network, model(nodes, {"w": single(3, 4, seed=1)}, [1, 4]))
