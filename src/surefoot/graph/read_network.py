"""An ONNX file as dense layers: affine operators are multiplied out, branches carried along."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.affine_operators import AFFINE, apply_affine
from surefoot.graph.affine_value import AffineValue, layer_outputs
from surefoot.graph.network import Floats, Layer, Network, RoundingLoss, linear_layer
from surefoot.graph.onnx_file import ParsedGraph, Source, attributes_of, parse_graph, require_onnx
from surefoot.graph.reader_check import check_reader

__all__ = ["check_reader", "read_network"]

_MOST_WEIGHTS = 120_000_000
"""Weights of a dense layer, 1 GB in float64: proofs are for small networks."""
_OPERATORS = sorted({*AFFINE, "Relu", "LeakyRelu", "Constant", "Softmax", "LogSoftmax"})


@dataclass(eq=False)
class _ReaderState:
    """What is known while the nodes are walked through."""

    layers: list[Layer]
    constants: dict[str, NDArray[Any]]
    values: dict[str, AffineValue] = field(default_factory=dict)


def read_network(source: Source, shape: tuple[int, ...] | None = None) -> Network:
    """The network in an ONNX file; `shape` of one input where the file leaves it open.

    A last Softmax is left out: the label stays. Anything that is not affine, ReLU or LeakyReLU is
    refused by name.
    """
    graph = parse_graph(source, shape)
    helper = require_onnx().numpy_helper
    state = _ReaderState(
        [], {i.name: helper.to_array(i) for i in graph.model_float64.graph.initializer}
    )
    n = int(np.prod(graph.shape))
    _check_size(n, n, "the input")
    state.values[graph.input_name] = layer_outputs(np.eye(n).reshape(n, *graph.shape))
    nodes = _nodes_before_scores(graph)
    for i, node in enumerate(nodes):
        needed = {name for later in nodes[i + 1 :] for name in later.input} | {graph.scores_name}
        _read_node(state, node, needed)
    if graph.scores_name not in state.values:
        raise InvalidArgument(
            f"the output {graph.scores_name} does not depend on the input: export the scores"
        )
    scores = linear_layer(*_matrix(state.values[graph.scores_name]))
    one = graph.shape[1:] if len(graph.shape) > 1 else graph.shape
    return Network((*state.layers, scores), one, graph.ends_in_relu, graph.ends_in_softmax)


def _nodes_before_scores(graph: ParsedGraph) -> list[Any]:
    """The nodes that the label depends on, in the file's order."""
    used, nodes = {graph.scores_name}, []
    for node in reversed(graph.model_float64.graph.node):
        if used & set(node.output):
            used |= set(node.input)
            nodes.append(node)
    return nodes[::-1]


def _read_node(state: _ReaderState, node: Any, needed: set[str]) -> None:  # noqa: ANN401  of the package onnx
    """One node, or a sentence that says why it cannot be read."""
    if node.domain not in ("", "ai.onnx"):
        raise InvalidArgument(
            f"proofs do not read the operator {node.op_type} of {node.domain}: use the operators "
            "of ONNX itself, or a statistical method, which takes any model"
        )
    try:
        _read_known_node(state, node, needed)
    except InvalidArgument:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        raise InvalidArgument(
            f"the operator {node.op_type} that makes {node.output[0]} cannot be read "
            f"({type(error).__name__}: {text}): export the model again, or use a statistical "
            "method, which takes any model"
        ) from error


def _read_known_node(state: _ReaderState, node: Any, needed: set[str]) -> None:  # noqa: ANN401  of the package onnx
    onnx = require_onnx()
    attributes, values = attributes_of(onnx, node), state.values
    inputs = [name for name in node.input if name]
    known = [name for name in inputs if name in values]
    out = node.output[0]
    if node.op_type == "Shape" and known:
        state.constants[out] = np.array(values[inputs[0]].shape, np.int64)
    elif not known:
        state.constants[out] = _folded(onnx, node, [state.constants[i] for i in inputs])
    elif node.op_type in ("Relu", "LeakyRelu"):
        slope = 0.0 if node.op_type == "Relu" else float(attributes.get("alpha", 0.01))
        _activate(state, inputs[0], out, slope, needed)
    elif node.op_type in ("Add", "Sub") and len(known) == 2:
        second = values[inputs[1]]
        sign = np.asarray(-1.0 if node.op_type == "Sub" else 1.0)
        values[out] = values[inputs[0]].plus(second.scaled(sign))
    else:
        others = [state.constants.get(name) for name in node.input if name not in known]
        swapped = bool(inputs) and inputs[0] not in known
        value = None
        if len(known) == 1:
            value = apply_affine(node.op_type, values[known[0]], others, attributes, swapped)
        if value is None:
            raise InvalidArgument(
                f"proofs do not read the operator {node.op_type} on values that depend on the "
                f"input: use a network of {', '.join(_OPERATORS)}, or a statistical method, which "
                "takes any model"
            )
        _check_size(len(value.columns), value.constant.size, node.op_type)
        values[out] = value


def _folded(onnx: Any, node: Any, inputs: list[NDArray[Any]]) -> NDArray[Any]:  # noqa: ANN401  of the package onnx
    """The output of a node that takes only constants."""
    from onnx.reference import ReferenceEvaluator

    helper = onnx.helper
    names = [name for name in node.input if name]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0])]
    graph = helper.make_graph([node], "constant", infos, outputs)
    run = ReferenceEvaluator(helper.make_model(graph)).run
    return np.asarray(run(None, dict(zip(names, inputs, strict=True)))[0])


def _activate(state: _ReaderState, name: str, out: str, slope: float, needed: set[str]) -> None:
    """A new layer: the activated tensor, and beside it every tensor that is needed later."""
    carried = [k for k in state.values if k in needed]
    parts = [state.values[name], *(state.values[k] for k in carried)]
    total = sum(p.constant.size for p in parts)
    _check_size(total, total, "a layer")
    matrices = [_matrix(p) for p in parts]
    weights = np.concatenate([m for m, _, _ in matrices])
    bias = np.concatenate([b for _, b, _ in matrices])
    lost = np.concatenate([loss.constant for _, _, loss in matrices])
    factor = np.concatenate([loss.factor for _, _, loss in matrices])
    slopes = np.concatenate(
        [np.full(p.constant.size, 1.0 if i else slope) for i, p in enumerate(parts)]
    )
    state.layers.append(Layer(weights, bias, slopes, RoundingLoss(lost, factor)))
    unit, start = np.eye(total), 0
    state.values = {}
    for key, part in zip([out, *carried], parts, strict=True):
        stop = start + part.constant.size
        state.values[key] = layer_outputs(unit[:, start:stop].reshape(total, *part.shape))
        start = stop


def _matrix(value: AffineValue) -> tuple[Floats, Floats, RoundingLoss]:
    flat = value.columns.reshape(len(value.columns), -1)
    loss = RoundingLoss(value.loss.constant.reshape(-1), value.loss.factor.reshape(-1))
    return np.ascontiguousarray(flat.T), value.constant.reshape(-1).copy(), loss


def _check_size(n: int, m: int, what: str) -> None:
    if n * m > _MOST_WEIGHTS:
        raise InvalidArgument(
            f"{what} would need {n:,} × {m:,} weights as a dense layer, at most {_MOST_WEIGHTS:,} "
            "are allowed: proofs are for small networks; use a statistical method, which takes any "
            "model"
        )
