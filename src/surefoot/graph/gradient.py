"""Gradients without PyTorch: onnxruntime runs the graph forwards, it is walked back here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.graph import operator_gradients as operators
from surefoot.graph.graph import Graph, read_graph, tensor_before
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import quiet_session, require_onnx
from surefoot.graph.operators import FLOAT_CODES, Call, Node
from surefoot.graph.plain_operators import load_plain
from surefoot.subject.protocols import Array

if TYPE_CHECKING:
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
_SAME_VALUES = ("ZipMap",)
_LEFT_OUT_AT_END = ("Softmax", "LogSoftmax", "Sigmoid", "Relu", *_SAME_VALUES)


@dataclass(frozen=True)
class Ending:
    """The tensor of the scores, the output without a list around it, and how they differ.

    A Softmax, Sigmoid or ReLU at the end is left out: the order of the scores is that before it,
    and the gradient does not vanish. `gives_logits` says that something was left out.
    """

    scores: str
    output: str
    gives_logits: bool


def ending_of(graph: Graph, output: str) -> Ending:
    """What follows the scores of a file."""
    scores, left_out = tensor_before(graph, output, _LEFT_OUT_AT_END)
    table, _ = tensor_before(graph, output, _SAME_VALUES)
    return Ending(scores, table, any(node.op not in _SAME_VALUES for node in left_out))


@dataclass(frozen=True, eq=False)
class GradientGraph:
    """The graph between the input and the scores, and a session that gives all its values."""

    session: InferenceSession
    graph: Graph
    scores_name: str
    smooth: frozenset[str]
    fetched: tuple[str, ...]
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
        fed = {self.graph.input_name: x}
        by_name = dict(zip(self.fetched, self.session.run(list(self.fetched), fed), strict=True))
        values = {**fed, **by_name, **self.graph.constants}
        return {name: _single(value) for name, value in values.items()}

    def backward(self, values: Mapping[str, Values], weights: Values) -> Values:
        """The gradient in the input of the sum of weights · scores, row by row."""
        feed = self.graph.input_name
        nothing = np.zeros(values[feed].shape, np.float32)
        if not weights.any():
            return nothing
        gradients = {self.scores_name: weights.reshape(values[self.scores_name].shape)}
        for node in reversed(self.graph.nodes):
            output_gradients = tuple(gradients.get(name) for name in node.outputs)
            if all(g is None for g in output_gradients):
                continue
            fed = tuple(values[name] if name else None for name in node.inputs)
            made = tuple(values[name] for name in node.outputs if name in values)
            call = Call(node, self.graph.opset, np, fed, fed)
            op = operators.OperatorRun(call, made, output_gradients)
            places = {i for i, name in enumerate(node.inputs) if name in self.smooth}
            for place, g in operators.input_gradients(op, places).items():
                name = node.inputs[place]
                gradients[name] = gradients[name] + g if name in gradients else g
        return _single(gradients.get(feed, nothing))


def read_gradient_graph(source: Path | bytes, output: str) -> GradientGraph:
    """The graph of a file; an operator whose gradient is not known is refused by name."""
    model = load_plain(source)
    whole = read_graph(model)
    ending = ending_of(whole, output)
    smooth = {whole.input_name}  # what changes with the input, as far as the operators' names tell
    for node in whole.nodes:
        if not _is_step(node) and smooth & set(node.inputs):
            smooth |= set(node.outputs)
    smooth -= {""}
    graph = whole.leading_to(ending.scores)
    graph = replace(graph, nodes=tuple(n for n in graph.nodes if smooth & set(n.outputs)))
    for node in graph.nodes:
        _check_known(node, smooth)
    used = {name for node in graph.nodes for name in (*node.inputs, *node.outputs) if name}
    fetched = tuple(sorted({ending.scores, *used} - {graph.input_name, *graph.constants}))
    del model.graph.output[:]
    onnx = require_onnx()
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in fetched)
    session = quiet_session(model.SerializeToString())
    return GradientGraph(
        session, graph, ending.scores, frozenset(smooth), fetched, ending.gives_logits
    )


def _is_step(node: Node) -> bool:
    """Whether its outputs are whole numbers, so without gradient."""
    if node.op != "Cast":
        return node.op in _STEP_OPERATORS
    return node.attributes["to"] not in FLOAT_CODES


def _check_known(node: Node, smooth: set[str]) -> None:
    places = {i for i, name in enumerate(node.inputs) if name in smooth}
    single = node.op in operators.SINGLE_INPUT
    known = node.op in operators.MULTI_INPUT or (single and places == {0})
    if not known or not node.standard:
        second = " for a second input" if single else ""
        raise InvalidArgument(
            f"the gradient of the operator {node.op} is not known{second}: "
            f"{operators.OTHER_METHODS}"
        )


def _single(value: Values) -> Values:
    floats = np.issubdtype(value.dtype, np.floating)
    return value.astype(np.float32, copy=False) if floats else value
