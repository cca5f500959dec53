"""Small ONNX models in memory: nodes, what goes in and out, constants."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def onnx_model(
    nodes: Sequence[Any],
    inputs: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[Any, ...]],
    constants: Mapping[str, Any],
    opset: int = 17,
) -> ModelProto:
    """Inputs and outputs are names with shapes, and with a kind where that is not float32."""

    def place(name: str, shape: Any, kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    values = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    places = ([place(*one) for one in ends] for ends in (inputs, outputs))
    graph = helper.make_graph(list(nodes), "net", *places, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
