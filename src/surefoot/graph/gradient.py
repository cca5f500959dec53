"""Gradients of an ONNX file: onnxruntime runs it forwards, its nodes are walked back here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.graph import operator_gradients as operators
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import attributes_of, quiet_session, require_onnx
from surefoot.subject.protocols import Array

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import GraphProto, NodeProto
    from onnxruntime import InferenceSession


def as_rows(raw: Array, expected: int) -> Array:
    """(n, columns) from an output of any rank with one axis of scores."""
    if raw.ndim == 0 or raw.shape[0] != expected:
        raise ModelFailed(
            f"the model answered {expected} inputs with an output of shape {tuple(raw.shape)}: the "
            "first axis must be the batch; let it give one row for each input"
        )
    columns = math.prod(raw.shape[1:])
    if columns == 0 or columns != max(raw.shape[1:], default=1):
        raise ModelFailed(
            f"the model answered with an output of shape {tuple(raw.shape)}: a classifier gives "
            'each input one row of scores; load a model without classes with scores="values" and a '
            "property such as pixels:0.95"
        )
    xp = array_namespace(raw)
    votes = columns > 1 and xp.isdtype(raw.dtype, "integral")
    if not (votes or xp.isdtype(raw.dtype, "real floating")):
        raise ModelFailed(
            f"the model answered with one {raw.dtype} an input: scores of the classes are needed, "
            "not labels; let it give one for each class"
        )
    return xp.reshape(raw, (expected, columns))


_STEP_OPERATORS = {
    "Shape", "Size", "ConstantOfShape", "ArgMax", "Equal", "Greater", "Less", "NonZero",
}  # fmt: skip
_SAME_VALUES = {"Identity", "ZipMap"}
_LEFT_OUT_AT_END = {"Softmax", "LogSoftmax", "Sigmoid", "Relu", *_SAME_VALUES}


@dataclass(frozen=True, eq=False)
class GradientGraph:
    """The nodes between the input and the scores, and a session that gives all their values.

    A Softmax, Sigmoid or ReLU at the end is left out: the order of the scores is that before it,
    and the gradient does not vanish. `gives_logits` says that something was left out.
    """

    session: InferenceSession
    input_name: str
    scores_name: str
    nodes: tuple[NodeProto, ...]
    smooth: frozenset[str]
    constants: Mapping[str, Values]
    fetched: tuple[str, ...]
    opset: int
    gives_logits: bool

    def logits_and_gradient(
        self, x: Values, weigh: Callable[[Values], Values], logits: bool
    ) -> tuple[Values, Values]:
        """The logits of each row, and the gradient in x of the sum of weigh(logits) · logits.

        One column is the second of two classes. Of scores that are no logits it is their logarithm.
        """
        values = self.forward(x)
        rows = as_rows(values[self.scores_name], len(x))
        single, tiny = rows.shape[1] == 1, np.finfo(np.float32).tiny
        if logits:
            both = np.concatenate([np.zeros_like(rows), rows], axis=1) if single else rows
            weights = weigh(both)
            return both, self.backward(values, weights[:, 1:] if single else weights)
        shares = np.concatenate([1 - rows, rows], axis=1) if single else rows
        positive = np.maximum(shares, tiny)
        both = np.log(positive)
        weights = weigh(both) / positive
        return both, self.backward(values, weights[:, 1:] - weights[:, :1] if single else weights)

    def forward(self, x: Values) -> dict[str, Values]:
        """The values of all tensors that the backward pass needs; floats in single precision."""
        fetched = self.session.run(list(self.fetched), {self.input_name: x})
        by_name = dict(zip(self.fetched, fetched, strict=True))
        values = {self.input_name: x, **by_name, **self.constants}
        return {name: _single(value) for name, value in values.items()}

    def backward(self, values: Mapping[str, Values], weights: Values) -> Values:
        """The gradient in the input of the sum of weights · scores, row by row."""
        if not weights.any():
            return np.zeros(values[self.input_name].shape, np.float32)
        scores, onnx = values[self.scores_name], require_onnx()
        gradients = {self.scores_name: weights.reshape(scores.shape)}
        for node in reversed(self.nodes):
            output_gradients = tuple(gradients.get(name) for name in node.output)
            if all(g is None for g in output_gradients):
                continue
            op = operators.OperatorRun(
                node.op_type,
                self.opset,
                attributes_of(onnx, node),
                tuple(values[name] if name else None for name in node.input),
                tuple(values[name] for name in node.output if name in values),
                output_gradients,
            )
            places = {i for i, name in enumerate(node.input) if name in self.smooth}
            for place, g in operators.input_gradients(op, places).items():
                name = node.input[place]
                gradients[name] = gradients[name] + g if name in gradients else g
        nothing = np.zeros(values[self.input_name].shape, np.float32)
        return _single(gradients.get(self.input_name, nothing))


def read_gradient_graph(source: Path | bytes, input_name: str, output_name: str) -> GradientGraph:
    """The graph of a file; an operator whose gradient is not known is refused by name."""
    onnx = require_onnx("the gradients of an ONNX file need the package onnx")
    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(str(source))
    graph = model.graph
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
    constants = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    scores, gives_logits = _scores_tensor(graph, output_name)
    smooth = {input_name}  # what changes with the input, as far as the operators' names tell
    for node in graph.node:
        if not _is_step(onnx, node) and smooth & set(node.input):
            smooth |= set(node.output)
    smooth -= {""}
    behind, between = {scores}, []
    for node in reversed(graph.node):
        if behind & set(node.output) and smooth & set(node.output):
            behind |= set(node.input) & smooth
            between.append(node)
    nodes = tuple(between[::-1])
    for node in nodes:
        _check_known(node, smooth)
    used = {name for node in nodes for name in (*node.input, *node.output) if name}
    fetched = tuple(sorted({scores, *used} - {input_name, *constants}))
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in fetched)
    return GradientGraph(
        quiet_session(model.SerializeToString()),
        input_name,
        scores,
        nodes,
        frozenset(smooth),
        {name: value for name, value in constants.items() if name in used},
        fetched,
        opset,
        gives_logits,
    )


def _scores_tensor(graph: GraphProto, output_name: str) -> tuple[str, bool]:
    """The tensor before what only squeezes the scores, and whether something was left out."""
    producers = {out: node for node in graph.node for out in node.output}
    name, gives_logits = output_name, False
    while (node := producers.get(name)) is not None and node.op_type in _LEFT_OUT_AT_END:
        name = node.input[0]
        gives_logits = gives_logits or node.op_type not in _SAME_VALUES
    return name, gives_logits


def _is_step(onnx: ModuleType, node: NodeProto) -> bool:
    """Whether its outputs are whole numbers, so without gradient."""
    if node.op_type != "Cast":
        return node.op_type in _STEP_OPERATORS
    kinds = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
    floats = [getattr(onnx.TensorProto, kind) for kind in kinds]
    return attributes_of(onnx, node)["to"] not in floats


def _check_known(node: NodeProto, smooth: set[str]) -> None:
    places = {i for i, name in enumerate(node.input) if name in smooth}
    single = node.op_type in operators.SINGLE_INPUT
    known = node.op_type in operators.MULTI_INPUT or (single and places == {0})
    if not known or node.domain not in ("", "ai.onnx"):
        second = " for a second input" if single else ""
        raise InvalidArgument(
            f"the gradient of the operator {node.op_type} is not known{second}: "
            f"{operators.OTHER_METHODS}"
        )


def _single(value: Values) -> Values:
    floats = np.issubdtype(value.dtype, np.floating)
    return value.astype(np.float32, copy=False) if floats else value
