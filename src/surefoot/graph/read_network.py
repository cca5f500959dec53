"""An ONNX file as dense layers: affine operators are multiplied out, branches carried along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from surefoot.errors import InvalidArgument, refusing
from surefoot.graph.graph import Graph, read_graph
from surefoot.graph.network import Floats, Layer, Network, RoundingLoss, Values, linear_layer
from surefoot.graph.onnx_file import (
    Attributes,
    Source,
    load_proto,
    one_line,
    require_onnx,
    widened,
    window_layout,
)
from surefoot.graph.operators import OPERATORS, Call, Node, convolve

if TYPE_CHECKING:
    from onnx import ModelProto

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
        lambda a, w: convolve(a[:, 0], w, layout, groups)[:, None], b, terms
    )
    if bias is None:
        return product
    return product.shifted(bias.astype(np.float64).reshape(1, -1, *(1,) * len(kernel)))


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
        count = convolve(np.ones((1, *value.shape[1:])), ones, layout, channels)
    pooled = value.multiplied(
        lambda a, w: convolve(a[:, 0], w, layout, channels)[:, None], ones, int(np.prod(kernel))
    )
    return pooled.scaled(np.asarray(1 / count))


def _global_average_pool(op: _Operator) -> AffineValue:
    axes = tuple(range(3, op.value.columns.ndim))
    terms = int(np.prod(op.value.shape[2:]))
    return op.value.multiplied(lambda a, _: a.mean(axis=axes, keepdims=True), np.ones(1), terms)


_SHAPES: dict[str, Callable[[_Operator], AffineValue]] = {
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
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
    | {"Dropout", "Identity"}  # gone when the graph is read
)


@dataclass(eq=False)
class _ReaderState:
    """What is known while the nodes are walked through."""

    layers: list[Layer]
    constants: dict[str, Values]
    opset: int
    values: dict[str, AffineValue] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ProofGraph:
    """The part of a file that the label depends on, and how the file ends.

    `graph` and `model_float64` have the file's float32 constants in float64; the argmax of the
    scores is the label.
    """

    graph: Graph
    model: ModelProto
    model_float64: ModelProto
    dtype: np.dtype[np.floating]
    shape: tuple[int, ...]
    scores_name: str
    ends_in_relu: bool
    ends_in_softmax: bool

    @property
    def input_name(self) -> str:
        """What the graph is fed."""
        return self.graph.input_name


def proof_graph(source: Source, shape: tuple[int, ...] | None) -> ProofGraph:
    """The file with its input and its ending found; `shape` of one input where it is left open."""
    model = load_proto(source)
    inits = {i.name for i in model.graph.initializer}
    feeds = [i for i in model.graph.input if i.name not in inits]
    if len(feeds) != 1 or len(model.graph.output) != 1:
        names = [v.name for v in (*feeds, *model.graph.output)]
        raise InvalidArgument(
            f"proofs need a model of one input and one output, got {', '.join(names)}: export "
            "only the scores"
        )
    element = feeds[0].type.tensor_type.elem_type
    dtype = np.dtype(require_onnx().helper.tensor_dtype_to_np_dtype(element))
    if dtype not in (np.float32, np.float64):
        raise InvalidArgument(
            f"proofs are about models of float32 or float64 inputs, got {dtype}: export the model "
            "in float32"
        )
    wide = widened(model)
    graph = read_graph(wide)
    dims = [n or 0 for n in graph.shape]
    scores, *ending = _label_tensor(graph)
    return ProofGraph(
        graph.leading_to(scores), model, wide, dtype, _full_shape(dims, shape), scores, *ending
    )


def _full_shape(dims: list[int], shape: tuple[int, ...] | None) -> tuple[int, ...]:
    """The input's shape with a batch of one."""
    lead = dims[:1] if len(dims) == 1 and dims[0] > 1 else [1]
    full = (*lead, *dims[1:])
    if shape is not None:
        full = tuple(shape) if len(shape) == len(dims) else (1, *shape)
        fits = len(full) == len(dims) and all(
            d in (0, f) for d, f in zip(dims[1:], full[1:], strict=False)
        )
        if not fits:
            raise InvalidArgument(
                f"the file takes inputs of shape {dims}, got {shape}: give the shape of one input"
            )
    if 0 in full or dims[:1] > [1] < dims[1:]:
        raise InvalidArgument(
            f"the file leaves its input's shape open or fixes a batch ({dims}): give shape=(…) of "
            "one input, or export it with a batch of 1"
        )
    return full


def _label_tensor(graph: Graph) -> tuple[str, bool, bool]:
    """The tensor whose argmax is the label, and whether a ReLU and a Softmax follow it."""
    producers, softmax = graph.producers(), False
    (name,) = graph.outputs.values()
    while (node := producers.get(name)) is not None:
        over_last = node.attributes.get("axis", -1) in (-1, 1)
        if node.op in ("Softmax", "LogSoftmax") and over_last:
            softmax = softmax or node.op == "Softmax"
        elif node.op == "Relu":
            return node.inputs[0], True, softmax
        else:
            break
        name = node.inputs[0]
    return name, False, softmax


def read_network(source: Source, shape: tuple[int, ...] | None = None) -> Network:
    """The network in an ONNX file; `shape` of one input where the file leaves it open.

    A last Softmax is left out: the label stays. Anything that is not affine, ReLU or LeakyReLU is
    refused by name.
    """
    read = proof_graph(source, shape)
    state = _ReaderState([], dict(read.graph.constants), read.graph.opset)
    n = int(np.prod(read.shape))
    _check_size(n, n, "the input")
    state.values[read.input_name] = layer_outputs(np.eye(n).reshape(n, *read.shape))
    nodes = read.graph.nodes
    for i, node in enumerate(nodes):
        needed = {name for later in nodes[i + 1 :] for name in later.inputs} | {read.scores_name}
        _read_node(state, node, needed)
    if read.scores_name not in state.values:
        raise InvalidArgument(
            f"the output {read.scores_name} does not depend on the input: export the scores"
        )
    scores = linear_layer(*_matrix(state.values[read.scores_name]))
    one = read.shape[1:] if len(read.shape) > 1 else read.shape
    return Network((*state.layers, scores), one, read.ends_in_relu, read.ends_in_softmax)


def _read_node(state: _ReaderState, node: Node, needed: set[str]) -> None:
    """One node, or a sentence that says why it cannot be read."""
    if not node.standard:
        raise InvalidArgument(
            f"proofs do not read the operator {node.op} of {node.domain}: use the operators "
            "of ONNX itself, or a statistical method, which takes any model"
        )
    what = f"the operator {node.op} that makes {node.outputs[0]} cannot be read"
    way_out = "export the model again, or use a statistical method, which takes any model"
    with refusing(
        what, way_out, Exception, words=lambda error: f"{type(error).__name__}: {one_line(error)}"
    ):
        _read_known_node(state, node, needed)


def _read_known_node(state: _ReaderState, node: Node, needed: set[str]) -> None:
    values, inputs = state.values, [name for name in node.inputs if name]
    known = [name for name in inputs if name in values]
    out = node.outputs[0]
    if node.op == "Shape" and known:
        state.constants[out] = np.array(values[inputs[0]].shape, np.int64)
    elif not known:  # it follows from shapes
        fed = tuple(state.constants[name] for name in inputs)
        state.constants[out] = OPERATORS[node.op](Call(node, state.opset, np, fed, fed))
    elif node.op in ("Relu", "LeakyRelu"):
        slope = 0.0 if node.op == "Relu" else float(node.attributes.get("alpha", 0.01))
        _activate(state, inputs[0], out, slope, needed)
    elif node.op in ("Add", "Sub") and len(known) == 2:
        second = values[inputs[1]]
        sign = np.asarray(-1.0 if node.op == "Sub" else 1.0)
        values[out] = values[inputs[0]].plus(second.scaled(sign))
    else:
        others = [state.constants.get(name) for name in node.inputs if name not in known]
        op = _Operator(values[known[0]], others, node.attributes, inputs[0] not in known)
        tables = (_SHAPES, _WITH_WEIGHTS) if op.constant(0) is not None else (_SHAPES,)
        read = next((table[node.op] for table in tables if node.op in table), None)
        if read is None or len(known) > 1:
            raise InvalidArgument(
                f"proofs do not read the operator {node.op} on values that depend on the "
                f"input: use a network of {', '.join(_OPERATORS)}, or a statistical method, which "
                "takes any model"
            )
        value = read(op)
        _check_size(len(value.columns), value.constant.size, node.op)
        values[out] = value


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
