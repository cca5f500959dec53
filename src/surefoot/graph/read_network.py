"""An ONNX file as layers: affine operators become one map, branches are carried along.

Convolutions stay convolutions; small maps and products of matrices are multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from surefoot.errors import InvalidArgument, refusing
from surefoot.graph.activation import CURVES
from surefoot.graph.graph import Graph, read_graph
from surefoot.graph.linear_map import (
    Dense,
    Diagonal,
    LinearMap,
    Product,
    Selection,
    Several,
    absolute,
    composed,
    convolution,
    dense_rows,
)
from surefoot.graph.network import (
    SMALLEST,
    Floats,
    Layer,
    Network,
    SumSizes,
    Values,
    flushed,
    linear_layer,
    longest_sum,
    raised,
    weight_sizes,
)
from surefoot.graph.onnx_file import (
    Attributes,
    Source,
    WindowLayout,
    load_proto,
    one_line,
    require_onnx,
    widened,
    window_layout,
)
from surefoot.graph.operators import OPERATORS, Call, Node, padded, windows_of

if TYPE_CHECKING:
    from onnx import ModelProto

_SCALING, _SHIFTING, _NORM = 3, 2, 8
"""Roundings by which a value is scaled, shifted or normalised (variance, root, quotient, product,
difference), with one more where the weights before it are rounded anew as a runtime folds it into
them."""
_LEAST_MAP = 1 << 14
"""Entries up to which a map is multiplied out, since matrix products of that size take no time.
Chosen by hand; only the time depends on it."""


@dataclass(frozen=True, eq=False)
class AffineValue:
    """A tensor as an affine function of the outputs of the layer before: a map plus a constant.

    The tensor's own shape keeps its batch axis, of length 1. `sums` says what its elements, flat,
    are rounded in.
    """

    linear: LinearMap
    constant: Floats
    sums: SumSizes

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.constant.shape

    def rearranged(self, change: Callable[[Values], Values]) -> AffineValue:
        """The value in another order or shape; `change` is given one more axis in front."""
        place = np.arange(self.constant.size).reshape(1, *self.shape)
        index = change(place)[0]
        flat, sums = index.reshape(-1), self.sums
        chosen = Selection(flat, self.constant.size)
        own = {name: getattr(sums, name)[flat] for name in _PER_ELEMENT}
        sizes = None if sums.weights is None else composed(sums.weights, chosen)
        constant = self.constant.reshape(-1)[flat].reshape(index.shape)
        return AffineValue(
            composed(self.linear, chosen), constant, replace(sums, weights=sizes, **own)
        )

    def after(
        self, linear: LinearMap, shape: tuple[int, ...], roundings: int | None = None
    ) -> AffineValue:
        """The value after a linear map: sums of products, or `roundings` of each element."""
        given, by = self.sums, raised(linear)
        sizes = None
        if given.weights is not None or by is not None:
            sizes = composed(given.weights or absolute(self.linear), by or absolute(linear))
        size, terms = by or absolute(linear), longest_sum(linear)
        rows = linear.shape[0]
        once, added = np.full(rows, given.longest + terms + 1), np.zeros(rows)
        if roundings is not None:
            once, added = given.roundings + roundings, given.additions
        elif _one_to_one(self.linear):
            once = np.full(rows, given.roundings.max(initial=0.0) + 1)
            added = np.full(rows, float(terms))
        sums = SumSizes(
            sizes,
            size.forward(given.constant),
            size.forward(given.underflow) + flushed(terms),
            once,
            added,
            self._peak,
        )
        constant = linear.forward(self.constant.reshape(-1)).reshape(shape)
        return AffineValue(composed(self.linear, linear), constant, sums)

    def changed(self, change: Callable[[Floats], Floats]) -> AffineValue:
        """The value after a linear change of a batch, as a matrix."""
        size = self.constant.size
        _check_size(size, size, "a product")
        images = change(np.eye(size).reshape(size, *self.shape))
        matrix = images.reshape(size, -1).T
        return self.after(Dense(np.ascontiguousarray(matrix)), images.shape[1:])

    def shifted(self, by: Floats, size: Floats | None = None) -> AffineValue:
        """The value plus a constant, itself rounded in a sum of this size."""
        shape = np.broadcast_shapes(self.shape, by.shape)
        wide = self._like(shape)
        own = np.broadcast_to(weight_sizes(by) if size is None else size, shape).reshape(-1)
        sums = replace(
            wide.sums,
            constant=wide.sums.constant + own,
            underflow=wide.sums.underflow + flushed(1),
            roundings=wide.sums.roundings + _SHIFTING,
            peak=self._peak,
        )
        return AffineValue(wide.linear, wide.constant + by, sums)

    def scaled(self, by: Floats, roundings: int = _SCALING) -> AffineValue:
        """The value times a constant, element by element."""
        shape = np.broadcast_shapes(self.shape, by.shape)
        scale = np.broadcast_to(by, shape).reshape(-1)
        return self._like(shape).after(Diagonal(scale), shape, roundings)

    def plus(self, other: AffineValue) -> AffineValue:
        """The sum of two values."""
        shape = np.broadcast_shapes(self.shape, other.shape)
        one, two = self._like(shape), other._like(shape)
        longest = max(one.sums.longest, two.sums.longest) + 1
        rows = one.constant.size
        sums = SumSizes(
            Several((one.sizes, two.sizes), stacked=False),
            one.sums.constant + two.sums.constant,
            one.sums.underflow + two.sums.underflow + flushed(1),
            np.full(rows, longest),
            np.zeros(rows),
            max(one._peak, two._peak),
        )
        linear = Several((one.linear, two.linear), stacked=False)
        return AffineValue(linear, one.constant + two.constant, sums)

    @property
    def sizes(self) -> LinearMap:
        """What outputs of the layer before are in the size of its sums."""
        return self.sums.weights or absolute(self.linear)

    @property
    def _peak(self) -> float:
        """What limits its own elements, see `SumSizes`."""
        most = self.sums.constant.max(initial=0.0)
        return float(max(self.sums.peak, _largest_entry(self.linear), most))

    def layer(self) -> tuple[LinearMap, Floats, SumSizes]:
        """Its map, constant and sums, flat; multiplied out where that is hardly more work."""
        linear, bias = self.linear, self.constant.reshape(-1).copy()
        size = int(np.prod(linear.shape))
        if isinstance(linear, Dense) or size <= _LEAST_MAP or 4 * linear.work >= size:
            return multiplied_out(linear), bias, _sums_of(self)
        return linear, bias, _sums_of(self)

    def _like(self, shape: tuple[int, ...]) -> AffineValue:
        """The value repeated to a broader shape."""
        if shape == self.shape:
            return self
        return self.rearranged(lambda a: np.broadcast_to(a[0], shape)[None])


_PER_ELEMENT = ("constant", "underflow", "roundings", "additions")


def _sums_of(value: AffineValue) -> SumSizes:
    """What the value is rounded in, its map multiplied out or its weights folded."""
    if value.sums.weights is None and not isinstance(value.linear, Product | Several):
        return replace(value.sums, weights=raised(value.linear))
    return replace(value.sums, weights=raised(value.sizes) or value.sizes)


def _one_to_one(linear: LinearMap) -> bool:
    """Whether each element depends on one output, and each output reaches one element at most."""
    maps = linear.maps if isinstance(linear, Product) else (linear,)
    return all(
        isinstance(one, Diagonal) or (isinstance(one, Selection) and one.once) for one in maps
    )


def _largest_entry(linear: LinearMap) -> float:
    """No entry of the map is larger, in absolute terms."""
    if isinstance(linear, Selection):
        return 1.0
    if isinstance(linear, Product):
        return float(np.prod([max(1.0, one.total) for one in linear.maps]))
    return linear.total


def multiplied_out(linear: LinearMap) -> Dense:
    """The map as a matrix."""
    _check_size(*linear.shape, "a layer")
    return Dense(np.ascontiguousarray(dense_rows(linear, slice(None))))


def layer_outputs(shape: tuple[int, ...], start: int, total: int) -> AffineValue:
    """Some of the outputs of the layer before: those of this shape from `start` on."""
    index = np.arange(start, start + int(np.prod(shape)))
    none = np.zeros(len(index))
    sums = SumSizes(None, none, none + SMALLEST, none, none)
    return AffineValue(Selection(index, total), np.zeros(shape), sums)


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
    product = _times(op.value, b)
    if (alpha := attributes.get("alpha", 1.0)) != 1:
        product = product.scaled(np.asarray(alpha))
    if bias is None:
        return product
    beta, wide = attributes.get("beta", 1.0), bias.astype(np.float64)
    return product.shifted(beta * wide, abs(beta) * weight_sizes(wide))


def _matmul(op: _Operator) -> AffineValue:
    if op.swapped:
        return op.value.changed(lambda a: op.weights @ a)
    return _times(op.value, op.weights)


def _times(value: AffineValue, weights: Floats) -> AffineValue:
    """A product with a matrix."""
    if value.constant.size == value.shape[-1] and weights.ndim == 2:
        matrix = np.ascontiguousarray(weights.T)
        return value.after(Dense(matrix), (*value.shape[:-1], len(matrix)))
    return value.changed(lambda a: a @ weights)


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
    return op.value.scaled(scale.reshape(shape), _NORM).shifted(moved, size)


def _conv(op: _Operator) -> AffineValue:
    b, bias = op.weights, op.constant(1)
    kernel = b.shape[2:]
    layout = window_layout(op.attributes, op.value.shape[2:], kernel)
    product = _convolved(op.value, b, layout, int(op.attributes.get("group", 1)))
    if bias is None:
        return product
    return product.shifted(bias.astype(np.float64).reshape(1, -1, *(1,) * len(kernel)))


def _convolved(
    value: AffineValue, weights: Floats, layout: WindowLayout, groups: int
) -> AffineValue:
    linear = convolution(weights, layout, groups, value.shape[1:])
    shape = (1, len(weights), *linear.space)
    if linear.kernel.shape[1:] == (1, 1) and shape == value.shape:  # a scale for each channel
        return value.after(Diagonal(weights.reshape(-1).repeat(np.prod(linear.space))), shape)
    return value.after(linear, shape)


def _average_pool(op: _Operator) -> AffineValue:
    value, attributes = op.value, op.attributes
    if attributes.get("ceil_mode", 0):
        raise InvalidArgument("AveragePool with ceil_mode is not read: pad the input instead")
    kernel = tuple(int(k) for k in attributes["kernel_shape"])
    layout = window_layout(attributes, value.shape[2:], kernel)
    channels = value.shape[1]
    ones = np.ones((channels, 1, *kernel))
    pooled = _convolved(value, ones, layout, channels)
    count: float | Floats = float(np.prod(kernel))
    if not attributes.get("count_include_pad", 0):
        inside = np.ones(value.constant.size)
        taken = convolution(ones, layout, channels, value.shape[1:]).forward(inside)
        count = np.asarray(taken.reshape(pooled.shape))
    return pooled.scaled(np.asarray(1 / count))


def _global_average_pool(op: _Operator) -> AffineValue:
    channels, *space = op.value.shape[1:]
    layout = WindowLayout([(0, 0)] * len(space), [1] * len(space), [1] * len(space))
    return _convolved(
        op.value, np.full((channels, 1, *space), 1 / np.prod(space)), layout, channels
    )


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
_EITHER_SIDE = ("Add", "Div", "Gemm", "MatMul", "Mul", "Sub")
"""Of these the constant may come first, or they say themselves why not."""

_MOST_WEIGHTS = 120_000_000
"""Weights of a dense layer, 1 GB in float64: proofs are for small networks."""
_OPERATORS = sorted(
    {*_SHAPES, *_WITH_WEIGHTS, "Relu", "LeakyRelu", "Constant", "Softmax", "LogSoftmax"}
    | {"MaxPool", "Clip", "Concat", *CURVES}
    | {"Dropout", "Identity"}  # gone when the graph is read
)


@dataclass(eq=False)
class _ReaderState:
    """What is known while the nodes are walked through."""

    layers: list[Layer]
    constants: dict[str, Values]
    opset: int
    values: dict[str, AffineValue] = field(default_factory=dict)
    rounded_constants: bool = False


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
    normalised: int
    rounded_constants: bool

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
            f"proofs need a model of one input and one output, got {', '.join(names)}: export it "
            "with one input, the scores as only output"
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
    scores, relu, softmax, normalised = _label_tensor(graph)
    whole = _full_shape(dims, shape)
    leading = graph.leading_to(scores)
    return ProofGraph(
        leading, model, wide, dtype, whole, scores, relu, softmax, normalised,
        _rounds_constants(model, leading),
    )  # fmt: skip


def with_one_output(source: bytes, output: str) -> bytes:
    """The model with one of its outputs alone; of maps from classes to scores, their table."""
    model = load_proto(source)
    if len(model.graph.output) == 1:
        return source
    maps = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type == "ZipMap"}
    scores, kept = maps.get(output, output), []
    used = {scores}
    for node in reversed(model.graph.node):
        if used & set(node.output):
            used |= set(node.input)
            kept.append(node)
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(kept[::-1])
    model.graph.output.append(require_onnx().helper.make_empty_tensor_value_info(scores))
    return bytes(model.SerializeToString())


def _rounds_constants(model: ModelProto, wide: Graph) -> bool:
    """Whether constants that the file computes from others are rounded when it runs."""
    own = {one.name for one in model.graph.initializer}
    made = {
        name: value
        for name, value in wide.constants.items()
        if name not in own and value.dtype.kind == "f"
    }
    if not made:
        return False
    run = read_graph(model).constants
    return any(
        name not in run or not np.array_equal(run[name], value) for name, value in made.items()
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


def _label_tensor(graph: Graph) -> tuple[str, bool, bool, int]:
    """The tensor whose argmax is the label, and whether a ReLU and a Softmax follow it.

    And how many of Softmax and LogSoftmax.
    """
    producers, softmax, normalised = graph.producers(), False, 0
    (name,) = graph.outputs.values()
    while (node := producers.get(name)) is not None:
        over_last = node.attributes.get("axis", -1) in (-1, 1)
        if node.op in ("Softmax", "LogSoftmax") and over_last:
            softmax, normalised = softmax or node.op == "Softmax", normalised + 1
        elif node.op == "Relu":
            return node.inputs[0], True, softmax, normalised
        else:
            break
        name = node.inputs[0]
    return name, False, softmax, normalised


def read_network(source: Source, shape: tuple[int, ...] | None = None) -> Network:
    """The network in an ONNX file; `shape` of one input where the file leaves it open.

    A last Softmax is left out: the label stays. What is not affine, ReLU, LeakyReLU, Sigmoid,
    Tanh, a maximum or clipped is refused by name.
    """
    read = proof_graph(source, shape)
    state = _ReaderState([], dict(read.graph.constants), read.graph.opset)
    n = int(np.prod(read.shape))
    state.values[read.input_name] = layer_outputs(read.shape, 0, n)
    nodes = read.graph.nodes
    for i, node in enumerate(nodes):
        needed = {name for later in nodes[i + 1 :] for name in later.inputs} | {read.scores_name}
        _read_node(state, node, needed)
    if read.scores_name not in state.values:
        raise InvalidArgument(
            f"the output {read.scores_name} does not depend on the input: export the scores"
        )
    linear, bias, sums = state.values[read.scores_name].layer()
    matrix = multiplied_out(linear).matrix  # margins are differences of its rows
    scores = linear_layer(matrix, bias, sums)
    one = read.shape[1:] if len(read.shape) > 1 else read.shape
    rounded = read.rounded_constants or state.rounded_constants
    ending = read.ends_in_relu, read.ends_in_softmax, read.normalised
    return Network((*state.layers, scores), one, *ending, rounded)


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
        state.constants[out] = made = OPERATORS[node.op](Call(node, state.opset, np, fed, fed))
        state.rounded_constants |= np.asarray(made).dtype.kind == "f"
    elif node.op in ("Relu", "LeakyRelu"):
        slope = 0.0 if node.op == "Relu" else float(node.attributes.get("alpha", 0.01))
        _activate(state, values[inputs[0]], out, slope, needed)
    elif node.op in CURVES:
        _activate(state, values[inputs[0]], out, CURVES[node.op], needed)
    elif node.op == "MaxPool" and len(node.outputs) == 1:
        _maximum(state, _pooled(state, node, values[inputs[0]]), out, needed)
    elif node.op == "Clip" and known == inputs[:1]:
        _clip(state, node, values[inputs[0]], needed)
    elif node.op == "Concat" and known == inputs:
        values[out] = _joined([values[name] for name in inputs], int(node.attributes["axis"]))
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
        if op.swapped and node.op not in _EITHER_SIDE:
            raise InvalidArgument(
                f"proofs read {node.op} where its first input depends on the model's, not another: "
                "export the model again, or use a statistical method, which takes any model"
            )
        values[out] = read(op)


def _pooled(state: _ReaderState, node: Node, value: AffineValue) -> list[AffineValue]:
    """What each place of a pool's window shows; beyond the border another of the same window."""
    place = np.arange(value.constant.size).reshape(value.shape)
    call = Call(node, state.opset, np, (place,), (place,))
    windows = windows_of(call)
    whole = padded(call, place, windows.pads, -1)
    shown = np.stack([whole[at] for at in windows.places()])
    inside = np.take_along_axis(shown, (shown >= 0).argmax(axis=0)[None], axis=0)
    shown = np.where(shown >= 0, shown, inside)
    return [value.rearranged(_taking(at)) for at in shown]


def _taking(index: Values) -> Callable[[Values], Values]:
    return lambda a: a.reshape(-1)[index][None]


def _maximum(state: _ReaderState, items: list[AffineValue], out: str, needed: set[str]) -> None:
    """The greatest of several values, by max(a, b) = b + max(a − b, 0) of pairs, again and again.

    So a maximum is exact, and branching splits it like any other neuron.
    """
    shape, minus = items[0].shape, np.asarray(-1.0)
    size = items[0].constant.size
    while len(items) > 1:
        pairs = list(zip(items[::2], items[1::2], strict=False))
        others = [b for _, b in pairs] + items[2 * len(pairs) :]
        names = [f"{out} {i}" for i in range(len(others))]
        state.values.update(zip(names, others, strict=True))
        above = _stacked([a.plus(b.scaled(minus)) for a, b in pairs])
        _activate(state, above, out, 0.0, {*needed, *names})
        rises, items = state.values.pop(out), [state.values.pop(name) for name in names]
        for i in range(len(pairs)):
            part = np.arange(i * size, (i + 1) * size).reshape(shape)
            items[i] = items[i].plus(rises.rearranged(_taking(part)))
    state.values[out] = items[0]


def _clip(state: _ReaderState, node: Node, value: AffineValue, needed: set[str]) -> None:
    """Between constants: first max(x, least) = least + max(x − least, 0), then the other side."""
    names = (*node.inputs[1:], "", "")[:2]
    given = [state.constants[name] if name else None for name in names]
    out, minus = node.outputs[0], np.asarray(-1.0)
    for limit, name, side in zip(given, ("min", "max"), (1.0, -1.0), strict=True):
        end = node.attributes.get(name) if limit is None else limit
        if end is None:
            continue
        at = np.asarray(end, np.float64).reshape(())
        moved = (value if side > 0 else value.scaled(minus)).shifted(-side * at)
        _activate(state, moved, out, 0.0, needed)
        beyond = state.values.pop(out)
        value = (beyond if side > 0 else beyond.scaled(minus)).shifted(at)
    state.values[out] = value


def _activate(
    state: _ReaderState, value: AffineValue, out: str, slope: float, needed: set[str]
) -> None:
    """A new layer: the activated value, and beside it every tensor that is needed later."""
    carried = [k for k in state.values if k in needed]
    parts = [value, *(state.values[k] for k in carried)]
    whole = _stacked(parts) if carried else parts[0]
    total = whole.constant.size
    slopes = np.ones(total)
    slopes[: parts[0].constant.size] = slope
    linear, bias, sums = whole.layer()
    state.layers.append(Layer(linear, bias, slopes, sums))
    start, state.values = 0, {}
    for key, part in zip([out, *carried], parts, strict=True):
        state.values[key] = layer_outputs(part.shape, start, total)
        start += part.constant.size


def _stacked(parts: Sequence[AffineValue]) -> AffineValue:
    """The elements of several values, one after the other."""
    plain = all(part.sums.weights is None for part in parts)
    sizes = None if plain else Several(tuple(part.sizes for part in parts), stacked=True)
    own = {
        name: np.concatenate([getattr(part.sums, name) for part in parts]) for name in _PER_ELEMENT
    }
    peak = max(part.sums.peak for part in parts)
    return AffineValue(
        Several(tuple(part.linear for part in parts), stacked=True),
        np.concatenate([part.constant.reshape(-1) for part in parts]),
        replace(parts[0].sums, weights=sizes, peak=peak, **own),
    )


def _joined(parts: Sequence[AffineValue], axis: int) -> AffineValue:
    """Several values one behind the other along an axis."""
    places, start = [], 0
    for part in parts:
        size = part.constant.size
        places.append(np.arange(start, start + size).reshape(part.shape))
        start += size
    place = np.concatenate(places, axis=axis)
    if len(place) != 1:
        raise InvalidArgument("Concat of several inputs is not read: join their features instead")
    return _stacked(parts).rearranged(_taking(place))


def _check_size(n: int, m: int, what: str) -> None:
    if n * m > _MOST_WEIGHTS:
        raise InvalidArgument(
            f"{what} would need {n:,} × {m:,} weights as a dense layer, at most {_MOST_WEIGHTS:,} "
            "are allowed: proofs are for small networks; use a statistical method, which takes any "
            "model"
        )
