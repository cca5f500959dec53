"""A wrong reading is noticed whatever the size of the scores, and rounding is not taken for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from surefoot.errors import InvalidArgument
from surefoot.verify import Network, check_reader, read_network
from tests.unit.float32_networks import BUILDERS, INPUTS
from tests.unit.test_graph_read_network import model, node, single
from tests.unit.test_verify_near_ties import Build


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
    weights = last.weights.copy()
    weights[row] *= 1 + share
    return replace(network, layers=(*before, replace(last, weights=weights)))


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0, 1e9, 1e30])
@pytest.mark.parametrize("share", [1e-6, 1e-3, 1.0])
def test_a_wrong_weight_is_noticed_in_scores_of_any_size(scale: float, share: float) -> None:
    source = two_layers(scale, 0.0)
    network = read_network(source)
    assert check_reader(network, source) < 1e-5
    with pytest.raises(InvalidArgument, match="please report it"):
        check_reader(moved(network, share), source)


def test_a_wrong_score_is_noticed_below_a_common_offset() -> None:
    source = two_layers(1.0, 2.0**20)
    with pytest.raises(InvalidArgument, match="please report it"):
        check_reader(moved(read_network(source), 1e-3), source)


@pytest.mark.parametrize("row", range(3))
def test_a_wrong_score_is_noticed_beside_a_huge_one(row: int) -> None:
    weights = single(4, 5)
    weights[3] = 1e12
    source = model([node("Gemm", "x w", "y", transB=1)], {"w": weights}, [1, 5])
    with pytest.raises(InvalidArgument, match="please report it"):
        check_reader(moved(read_network(source), 1e-3, row), source)


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
    with pytest.raises(InvalidArgument, match="changes the label"):
        check_reader(read_network(source), source)


def test_a_model_that_overflows_as_run_is_refused() -> None:
    constants = {"w": np.full((2, 4), 3e38, np.float32), "v": single(2, 2)}
    nodes = [node("Gemm", "x w", "g", transB=1), node("Gemm", "g v", "y", transB=1)]
    source = model(nodes, constants, [1, 4])
    with pytest.raises(InvalidArgument, match="finite"):
        check_reader(read_network(source), source)


def test_constants_are_folded_without_rounding_to_float32() -> None:
    nodes = [
        node("Add", "a b", "w"),
        node("MatMul", "x w", "y"),
    ]
    constants = {"a": np.ones((4, 2), np.float32), "b": np.full((4, 2), 1e-9, np.float32)}
    constants["a"][0, 0] = 2
    network = read_network(model(nodes, constants, [1, 4]))
    assert (network.layers[-1].weights[1] == 1 + np.float64(np.float32(1e-9))).all()


def test_float16_models_are_refused() -> None:
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)],
        "half",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)],
        [numpy_helper.from_array(single(3, 4).astype(np.float16), "w")],
    )
    onnx_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(InvalidArgument, match="float16"):
        read_network(onnx_model.SerializeToString())


def test_dropout_in_training_is_refused() -> None:
    nodes = [node("Dropout", "x ratio train", "d"), node("Gemm", "d w", "y", transB=1)]
    constants = {"ratio": np.float32(0.5), "train": np.array(True), "w": single(3, 4)}
    with pytest.raises(InvalidArgument, match="eval"):
        read_network(model(nodes, constants, [1, 4]))
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
        ([node("Clip", "x", "y")], "Clip"),
        ([node("Sigmoid", "x", "s"), node("Softmax", "s", "y")], "Sigmoid"),
        ([node("Softmax", "x", "s"), node("MatMul", "s a", "y")], "Softmax"),
        ([node("Softmax", "x", "s", axis=0), node("Identity", "s", "y")], "Softmax"),
        ([node("MatMul", "a a", "y")], "does not depend on the input"),
        ([node("PRelu", "x slope", "y")], "PRelu"),
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
    with pytest.raises(InvalidArgument, match=named):
        read_network(model(nodes, constants, [1, 4]))
