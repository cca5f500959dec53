"""An ONNX file as dense layers: affine operators are multiplied out, branches carried along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from surefoot.errors import InvalidArgument, refusing
from surefoot.graph.network import Floats, Layer, Network, RoundingLoss, Values, linear_layer
from surefoot.graph.onnx_file import (
    Attributes,
    Source,
    WindowLayout,
    attributes_of,
    one_line,
    parse_graph,
    require_onnx,
    window_layout,
)

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import NodeProto

_ROUNDING_UNIT = 2.0**-52
"""Twice the rounding unit of float64, to be on the safe side."""
_INHERITED = 32
"""Roundings that entries may have had each by itself (scales, quotients, square roots). The
prover's own allowance covers them while no sum cancels them; a sum adds them to its loss."""


@dataclass(frozen=True, eq=False)
class AffineValue:
    """A tensor as an affine function: columns[i] multiplies the i-th output of the layer before.

    The tensor's own shape keeps its batch axis, of length 1. `loss` limits, for each element, how
    far this is from the product in real arithmetic. `one_to_one`: each element depends on one
    output and each output reaches one element, so that products with it are not sums.
    """

    columns: Floats
    constant: Floats
    loss: RoundingLoss
    one_to_one: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.constant.shape

    def rearranged(self, change: Callable[[Floats], Floats]) -> AffineValue:
        """The value in another order or shape; `change` is given one more axis in front."""
        each = (self.constant, self.loss.constant, self.loss.factor)
        constant, lost, factor = (change(part[None])[0] for part in each)
        return AffineValue(
            change(self.columns), constant, RoundingLoss(lost, factor), self.one_to_one
        )

    def multiplied(
        self, change: Callable[[Floats, Floats], Floats], weights: Floats, terms: int
    ) -> AffineValue:
        """The value after a linear change by weights, each element a sum of so many terms.

        A sum of n products is off by at most n·2⁻⁵³ times the sum of their absolute values.
        """
        size, unit = np.abs(weights), (terms + _INHERITED) * _ROUNDING_UNIT

        def by_sizes(part: Floats) -> Floats:
            return np.asarray(change(part[None], size)[0])

        lost = by_sizes(self.loss.constant + unit * np.abs(self.constant))
        factor = by_sizes(self.loss.factor)
        if not self.one_to_one:
            factor = factor + unit * change(np.abs(self.columns), size).max(axis=0)
        constant = change(self.constant[None], weights)[0]
        return AffineValue(change(self.columns, weights), constant, RoundingLoss(lost, factor))

    def shifted(self, by: Floats, size: Floats | None = None) -> AffineValue:
        """The value plus a constant, itself rounded in a sum of this size."""
        constant = self.constant + by
        inherited = np.abs(self.constant) + (0.0 if size is None else size)
        lost = self.loss.constant + _INHERITED * _ROUNDING_UNIT * inherited
        return self._reshaped(self._columns_as(constant.shape), constant, lost, self.loss.factor)

    def scaled(self, by: Floats) -> AffineValue:
        """The value times a constant, element by element."""
        constant, size = self.constant * by, np.abs(by)
        columns = self._columns_as(constant.shape) * by
        return self._reshaped(columns, constant, self.loss.constant * size, self.loss.factor * size)

    def plus(self, other: AffineValue) -> AffineValue:
        """The sum of two values."""
        constant = self.constant + other.constant
        columns = self._columns_as(constant.shape) + other._columns_as(constant.shape)
        loss = self._inherited().plus(other._inherited())
        return AffineValue(columns, constant, loss.like(constant.shape))

    def _inherited(self) -> RoundingLoss:
        """The loss where a sum may cancel what roundings of the entries are measured by."""
        unit, loss = _INHERITED * _ROUNDING_UNIT, self.loss
        return RoundingLoss(
            loss.constant + unit * np.abs(self.constant),
            loss.factor + unit * np.abs(self.columns).max(axis=0),
        )

    def _reshaped(
        self, columns: Floats, constant: Floats, lost: Floats, factor: Floats
    ) -> AffineValue:
        loss = RoundingLoss(lost, factor).like(constant.shape)
        return AffineValue(
            columns, constant, loss, self.one_to_one and constant.shape == self.shape
        )

    def _columns_as(self, shape: tuple[int, ...]) -> Floats:
        n, own = len(self.columns), self.shape
        wide = self.columns.reshape(n, *(1,) * (len(shape) - len(own)), *own)
        return np.broadcast_to(wide, (n, *shape))


def layer_outputs(columns: Floats) -> AffineValue:
    """The last layer's outputs themselves, or some of them; `columns` are those of the identity."""
    nothing = np.zeros(columns.shape[1:])
    return AffineValue(columns, nothing, RoundingLoss(nothing, nothing), one_to_one=True)


@dataclass(frozen=True, eq=False)
class _Operator:
    """One operator on an affine value: its other inputs, None where one is left out.

    `swapped`: a constant came before the value.
    """

    value: AffineValue
    constants: Sequence[Values | None]
    attributes: Attributes
    swapped: bool

    def constant(self, place: int) -> Values | None:
        """Another input, None where there is none."""
        return self.constants[place] if place < len(self.constants) else None

    @property
    def weights(self) -> Floats:
        """The first of the other inputs, which must be there."""
        return np.asarray(self.constants[0], np.float64)

    @property
    def axes(self) -> list[int] | None:
        """Of newer files an input, of older ones an attribute."""
        given = self.constant(0)
        axes = self.attributes.get("axes") if given is None else given
        return None if axes is None else [int(v) for v in axes]


_CHUNK_VALUES = 1 << 24
"""Values of the windows of one piece, 128 MiB in float64: a whole batch would fill the memory."""


def _flatten(op: _Operator) -> AffineValue:
    lead = int(np.prod(op.value.shape[: int(op.attributes.get("axis", 1))]))
    return op.value.rearranged(lambda a: a.reshape(len(a), lead, -1))


def _reshape(op: _Operator) -> AffineValue:
    given = op.constant(0)
    shape = [int(v) for v in (op.attributes["shape"] if given is None else given)]
    if not op.attributes.get("allowzero", 0):
        shape = [op.value.shape[i] if v == 0 else v for i, v in enumerate(shape)]
    return op.value.rearranged(lambda a: a.reshape(len(a), *shape))


def _transpose(op: _Operator) -> AffineValue:
    perm = op.attributes.get("perm", range(len(op.value.shape))[::-1])
    return op.value.rearranged(lambda a: a.transpose(0, *(p + 1 for p in perm)))


def _squeeze(op: _Operator) -> AffineValue:
    shape, axes = op.value.shape, op.axes
    rank = len(shape)
    dropped = [i for i in range(rank) if shape[i] == 1] if axes is None else axes
    remaining = [s for i, s in enumerate(shape) if i not in {g % rank for g in dropped}]
    return op.value.rearranged(lambda a: a.reshape(len(a), *remaining))


def _unsqueeze(op: _Operator) -> AffineValue:
    axes = op.axes or []
    rank = len(op.value.shape) + len(axes)
    places = tuple(a % rank + 1 for a in axes)
    return op.value.rearranged(lambda a: np.expand_dims(a, places))


def _gemm(op: _Operator) -> AffineValue:
    attributes, bias = op.attributes, op.constant(1)
    if op.swapped or attributes.get("transA", 0):
        raise InvalidArgument(
            "Gemm is read only as value·weights + bias: export the layer as a plain linear layer"
        )
    b = op.weights.T if attributes.get("transB", 0) else op.weights
    weights = attributes.get("alpha", 1.0) * b
    product = op.value.multiplied(lambda a, w: a @ w, weights, len(weights))
    if bias is None:
        return product
    return product.shifted(attributes.get("beta", 1.0) * bias.astype(np.float64))


def _matmul(op: _Operator) -> AffineValue:
    b = op.weights
    if op.swapped:
        return op.value.multiplied(lambda a, w: w @ a, b, b.shape[-1])
    return op.value.multiplied(lambda a, w: a @ w, b, b.shape[-2])


def _sub(op: _Operator) -> AffineValue:
    if op.swapped:
        return op.value.scaled(np.asarray(-1.0)).shifted(op.weights)
    return op.value.shifted(-op.weights)


def _div(op: _Operator) -> AffineValue:
    if op.swapped or (op.weights == 0).any():
        raise InvalidArgument(
            "Div is read only as a value over constants other than 0: fold it into the weights"
        )
    return op.value.scaled(1 / op.weights)


def _norm(op: _Operator) -> AffineValue:
    if op.attributes.get("training_mode", 0):
        raise InvalidArgument(
            "BatchNormalization is in training mode: export the model after eval()"
        )
    bias, mean, variance = (np.asarray(r, np.float64) for r in op.constants[1:])
    scale = op.weights / np.sqrt(variance + op.attributes.get("epsilon", 1e-5))
    shape = (1, -1, *(1,) * (len(op.value.shape) - 2))
    size = (np.abs(bias) + np.abs(mean * scale)).reshape(shape)
    moved = (bias - mean * scale).reshape(shape)
    return op.value.scaled(scale.reshape(shape)).shifted(moved, size)


def _conv(op: _Operator) -> AffineValue:
    b, bias = op.weights, op.constant(1)
    kernel = b.shape[2:]
    layout = window_layout(op.attributes, op.value.shape[2:], kernel)
    groups = int(op.attributes.get("group", 1))
    terms = int(np.prod(b.shape[1:]))
    product = op.value.multiplied(
        lambda a, w: _convolve(a[:, 0], w, layout, groups)[:, None], b, terms
    )
    if bias is None:
        return product
    return product.shifted(bias.astype(np.float64).reshape(1, -1, *(1,) * len(kernel)))


def _convolve(a: Floats, weights: Floats, layout: WindowLayout, groups: int) -> Floats:
    """Cross-correlation of a batch, a piece of it at a time."""
    kernel = weights.shape[2:]
    rank = len(kernel)
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, layout.dilations, strict=True))
    steps = tuple(slice(None, None, s) for s in layout.strides)
    holes = tuple(slice(None, None, d) for d in layout.dilations)
    piece = max(1, _CHUNK_VALUES // max(1, a[0].size * int(np.prod(kernel))))
    inputs, outputs = a.shape[1] // groups, len(weights) // groups
    out = []
    for i in range(0, len(a), piece):
        padded = np.pad(a[i : i + piece], [(0, 0), (0, 0), *layout.pads])
        windows = sliding_window_view(padded, spans, axis=tuple(range(2, 2 + rank)))
        windows = windows[(slice(None), slice(None), *steps, *holes)]
        over = [1, *range(2 + rank, 2 + 2 * rank)]
        parts = [
            np.tensordot(
                windows[:, g * inputs : (g + 1) * inputs],
                weights[g * outputs : (g + 1) * outputs],
                (over, [1, *range(2, 2 + rank)]),
            )
            for g in range(groups)
        ]
        out.append(np.moveaxis(np.concatenate(parts, axis=-1), -1, 1))
    return np.concatenate(out)


def _average_pool(op: _Operator) -> AffineValue:
    value, attributes = op.value, op.attributes
    if attributes.get("ceil_mode", 0):
        raise InvalidArgument("AveragePool with ceil_mode is not read: pad the input instead")
    kernel = tuple(int(k) for k in attributes["kernel_shape"])
    layout = window_layout(attributes, value.shape[2:], kernel)
    channels = value.shape[1]
    ones = np.ones((channels, 1, *kernel))
    count: float | Floats = float(np.prod(kernel))
    if not attributes.get("count_include_pad", 0):
        count = _convolve(np.ones((1, *value.shape[1:])), ones, layout, channels)
    pooled = value.multiplied(
        lambda a, w: _convolve(a[:, 0], w, layout, channels)[:, None], ones, int(np.prod(kernel))
    )
    return pooled.scaled(np.asarray(1 / count))


def _global_average_pool(op: _Operator) -> AffineValue:
    axes = tuple(range(3, op.value.columns.ndim))
    terms = int(np.prod(op.value.shape[2:]))
    return op.value.multiplied(lambda a, _: a.mean(axis=axes, keepdims=True), np.ones(1), terms)


def _dropout(op: _Operator) -> AffineValue:
    training = op.constant(1)
    if training is not None and np.any(training):
        raise InvalidArgument("Dropout is in training mode: export the model after eval()")
    return op.value


_SHAPES: dict[str, Callable[[_Operator], AffineValue]] = {
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Identity": lambda op: op.value,
    "Dropout": _dropout,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
}
_WITH_WEIGHTS: dict[str, Callable[[_Operator], AffineValue]] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": lambda op: op.value.shifted(op.weights),
    "Sub": _sub,
    "Mul": lambda op: op.value.scaled(op.weights),
    "Div": _div,
    "BatchNormalization": _norm,
    "Conv": _conv,
}
"""Affine operators: those that take the value alone, and those that take a constant beside it."""

_MOST_WEIGHTS = 120_000_000
"""Weights of a dense layer, 1 GB in float64: proofs are for small networks."""
_OPERATORS = sorted(
    {*_SHAPES, *_WITH_WEIGHTS, "Relu", "LeakyRelu", "Constant", "Softmax", "LogSoftmax"}
)


@dataclass(eq=False)
class _ReaderState:
    """What is known while the nodes are walked through."""

    layers: list[Layer]
    constants: dict[str, Values]
    values: dict[str, AffineValue] = field(default_factory=dict)


def read_network(source: Source, shape: tuple[int, ...] | None = None) -> Network:
    """The network in an ONNX file; `shape` of one input where the file leaves it open.

    A last Softmax is left out: the label stays. Anything that is not affine, ReLU or LeakyReLU is
    refused by name.
    """
    graph = parse_graph(source, shape)
    helper = require_onnx().numpy_helper
    constants = graph.model_float64.graph.initializer
    state = _ReaderState([], {one.name: helper.to_array(one) for one in constants})
    n = int(np.prod(graph.shape))
    _check_size(n, n, "the input")
    state.values[graph.input_name] = layer_outputs(np.eye(n).reshape(n, *graph.shape))
    nodes: list[NodeProto] = []  # that the label depends on, the last first
    used = {graph.scores_name}
    for node in reversed(graph.model_float64.graph.node):
        if used & set(node.output):
            used |= set(node.input)
            nodes.append(node)
    nodes.reverse()
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


def _read_node(state: _ReaderState, node: NodeProto, needed: set[str]) -> None:
    """One node, or a sentence that says why it cannot be read."""
    if node.domain not in ("", "ai.onnx"):
        raise InvalidArgument(
            f"proofs do not read the operator {node.op_type} of {node.domain}: use the operators "
            "of ONNX itself, or a statistical method, which takes any model"
        )
    what = f"the operator {node.op_type} that makes {node.output[0]} cannot be read"
    way_out = "export the model again, or use a statistical method, which takes any model"
    with refusing(
        what, way_out, Exception, words=lambda error: f"{type(error).__name__}: {one_line(error)}"
    ):
        _read_known_node(state, node, needed)


def _read_known_node(state: _ReaderState, node: NodeProto, needed: set[str]) -> None:
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
        op = _Operator(values[known[0]], others, attributes, inputs[0] not in known)
        tables = (_SHAPES, _WITH_WEIGHTS) if op.constant(0) is not None else (_SHAPES,)
        read = next((table[node.op_type] for table in tables if node.op_type in table), None)
        if read is None or len(known) > 1:
            raise InvalidArgument(
                f"proofs do not read the operator {node.op_type} on values that depend on the "
                f"input: use a network of {', '.join(_OPERATORS)}, or a statistical method, which "
                "takes any model"
            )
        value = read(op)
        _check_size(len(value.columns), value.constant.size, node.op_type)
        values[out] = value


def _folded(onnx: ModuleType, node: NodeProto, inputs: list[Values]) -> Values:
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
    weights, bias, losses = zip(*map(_matrix, parts), strict=True)
    lost = np.concatenate([loss.constant for loss in losses])
    factor = np.concatenate([loss.factor for loss in losses])
    slopes = np.ones(total)
    slopes[: parts[0].constant.size] = slope
    layer = np.concatenate(weights), np.concatenate(bias), slopes, RoundingLoss(lost, factor)
    state.layers.append(Layer(*layer))
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
