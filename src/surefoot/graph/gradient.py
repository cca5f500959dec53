"""Gradients of an ONNX file: onnxruntime runs it forwards, we walk its nodes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.graph.onnx_session import quiet_session
from surefoot.graph.operator_gradients import ONE, SEVERAL, Seen, Values, pulled
from surefoot.graph.score_rows import as_rows

_NO_SLOPE = {"Shape", "Size", "ConstantOfShape", "ArgMax", "Equal", "Greater", "Less", "NonZero"}
_SAME = {"Identity", "ZipMap"}
_LAST = {"Softmax", "LogSoftmax", "Sigmoid", "Relu", *_SAME}


@dataclass(frozen=True, eq=False)
class Tape:
    """The nodes on the way from the input to the scores, and a session that shows their values.

    A Softmax, Sigmoid or ReLU at the end is left out: the order of the scores is that before it,
    and the gradient does not fade. `plain` says that what is left are logits.
    """

    session: Any
    feed: str
    scores: str
    nodes: tuple[Any, ...]
    needs: frozenset[str]
    constants: Mapping[str, Values]
    shown: tuple[str, ...]
    opset: int
    plain: bool

    def slope(
        self, x: NDArray[Any], labels: NDArray[np.int64], rivals: NDArray[np.int64], logits: bool
    ) -> tuple[Values, Values]:
        """How far each row's label leads its rival, and the gradient of it in x.

        Of scores that are no logits it is the lead of their logarithms.
        """
        values = self.run(x)
        rows = as_rows(values[self.scores], len(x))
        weights, each = np.zeros_like(rows), np.arange(len(x))
        if rows.shape[1] == 1:
            weights[:, 0] = np.where(labels == 1, 1.0, -1.0)
            return (rows * weights)[:, 0], self.back(values, weights)
        weights[each, labels], weights[each, rivals] = 1.0, -1.0
        if logits:
            return (rows * weights).sum(axis=1), self.back(values, weights)
        sure = np.maximum(rows, np.finfo(np.float32).tiny)
        return (np.log(sure) * weights).sum(axis=1), self.back(values, weights / sure)

    def run(self, x: NDArray[Any]) -> dict[str, Values]:
        """The values of all tensors that the way back needs; floats in single precision."""
        found = self.session.run(list(self.shown), {self.feed: x})
        values = {self.feed: x, **dict(zip(self.shown, found, strict=True)), **self.constants}
        return {name: _single(value) for name, value in values.items()}

    def back(self, values: Mapping[str, Values], weights: Values) -> Values:
        """The gradient in the input of the sum of weights · scores, row by row."""
        scores = values[self.scores]
        slopes = {self.scores: weights.reshape(scores.shape)}
        for node in reversed(self.nodes):
            mine = tuple(slopes.get(name) for name in node.output)
            if all(g is None for g in mine):
                continue
            seen = Seen(
                node.op_type,
                self.opset,
                _attributes(node),
                tuple(values[name] if name else None for name in node.input),
                tuple(values[name] for name in node.output if name in values),
                mine,
            )
            wanted = {i for i, name in enumerate(node.input) if name in self.needs}
            for place, g in pulled(seen, wanted).items():
                name = node.input[place]
                slopes[name] = slopes[name] + g if name in slopes else g
        found = slopes.get(self.feed)
        return np.zeros(values[self.feed].shape, np.float32) if found is None else _single(found)


def read_tape(path: Path, feed: str, fetch: str) -> Tape:
    """The tape of a file; an operator whose slope is not known is refused by name."""
    onnx = _onnx()
    model = onnx.load(str(path))
    graph = model.graph
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
    constants = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    scores, plain = _last(graph, fetch)
    needs = _dependent(graph, feed)
    nodes = _way(graph, scores, needs)
    for node in nodes:
        _check(node, needs)
    wanted = {name for node in nodes for name in (*node.input, *node.output) if name}
    shown = tuple(sorted({scores, *wanted} - {feed, *constants}))
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in shown)
    return Tape(
        quiet_session(model.SerializeToString()),
        feed,
        scores,
        nodes,
        frozenset(needs),
        {name: value for name, value in constants.items() if name in wanted},
        shown,
        opset,
        plain,
    )


def _onnx() -> Any:  # noqa: ANN401  the module
    try:
        import onnx
    except ImportError as error:
        raise MissingPackage(
            "the gradients of an ONNX file need the package onnx: pip install 'surefoot[verify]'"
        ) from error
    return onnx


def _last(graph: Any, fetch: str) -> tuple[str, bool]:  # noqa: ANN401  of onnx
    """The tensor before what only squeezes the scores, and whether something was left out."""
    makers = {out: node for node in graph.node for out in node.output}
    name, plain = fetch, False
    while (node := makers.get(name)) is not None and node.op_type in _LAST:
        name = node.input[0]
        plain = plain or node.op_type not in _SAME
    return name, plain


def _dependent(graph: Any, feed: str) -> set[str]:  # noqa: ANN401  of onnx
    """The tensors that change with the input, smoothly as far as the operators' names tell."""
    found = {feed}
    for node in graph.node:
        if not _is_step(node) and found & set(node.input):
            found |= set(node.output)
    return found - {""}


def _is_step(node: Any) -> bool:  # noqa: ANN401  of onnx
    """Whether its outputs are whole numbers, so without slope."""
    from onnx import TensorProto

    smooth = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    if node.op_type == "Cast":
        return _attributes(node)["to"] not in smooth
    return node.op_type in _NO_SLOPE


def _way(graph: Any, scores: str, needs: set[str]) -> tuple[Any, ...]:  # noqa: ANN401  of onnx
    """The nodes between input and scores, in the file's order."""
    wanted, kept = {scores}, []
    for node in reversed(graph.node):
        if wanted & set(node.output) and needs & set(node.output):
            wanted |= set(node.input) & needs
            kept.append(node)
    return tuple(kept[::-1])


def _check(node: Any, needs: set[str]) -> None:  # noqa: ANN401  of onnx
    places = {i for i, name in enumerate(node.input) if name in needs}
    known = node.op_type in SEVERAL or (node.op_type in ONE and places == {0})
    if not known or node.domain not in ("", "ai.onnx"):
        raise InvalidArgument(
            f"the gradient of the operator {node.op_type} is not known"
            + (" for a second input" if node.op_type in ONE else "")
        )


def _attributes(node: Any) -> dict[str, Any]:  # noqa: ANN401  of onnx
    from onnx import helper

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _single(value: Values) -> Values:
    floats = np.issubdtype(value.dtype, np.floating)
    return value.astype(np.float32, copy=False) if floats else value
