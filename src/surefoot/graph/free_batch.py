"""A file that fixes its batch, with a free one: where the batch goes is followed, then proved.

Only shapes that a file states as numbers are rewritten. What is rewritten is compared with the file
as it is, row by row, before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.graph.evaluate import largest_share, tolerance
from surefoot.graph.graph import Graph, check_folded, read_graph, tensor_shapes
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import one_line, quiet_session, require_onnx
from surefoot.graph.operators import OPERATORS, Call, Node

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_ROWS_ALONE = {
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace",
    "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "LRN", "MaxPool", "Resize",
    "SpaceToDepth", "Upsample",
}  # fmt: skip
"""Operators that take the first axis for the batch."""
_EACH_VALUE = {
    "Abs", "Add", "And", "Cast", "Ceil", "Celu", "Clip", "Cos", "DequantizeLinear", "Div", "Elu",
    "Equal", "Erf", "Exp", "Expand", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min",
    "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "QuantizeLinear", "Reciprocal",
    "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt",
    "Sub", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Transpose", "Where", "Xor",
}  # fmt: skip
"""Operators that look at no two values of one input: none of any other name is taken for one."""
_TO_THE_END = 2**31 - 1
"""From here on the end of a Slice is that of any axis."""
_TIMES = 3
"""The batch is so many times the file's own where it is looked at what depends on it."""


class BatchStays(InvalidArgument):
    """The batch cannot be made free, and why."""


@dataclass(frozen=True, eq=False)
class FreeBatch:
    """The model with a free batch, and how far it is from the file, as a share of the largest."""

    content: bytes
    difference: float


@dataclass(eq=False)
class _Rewriting:
    """Where the batch is in each tensor, and which literal shapes have to change."""

    graph: Graph
    batch: int
    axes: dict[str, int]
    shapes: dict[str, list[int]] = field(default_factory=dict)
    flattened: set[str] = field(default_factory=set)
    repeated: dict[str, dict[int, int]] = field(default_factory=dict)
    counted: dict[str, tuple[Values, Values] | None] = field(default_factory=dict)
    """What follows from shapes: for the file's own batch and for a larger one, None: not known."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor in the file's own batch."""
        known = self.graph.constants.get(name)
        shape = self.graph.shapes.get(name) if known is None else known.shape
        if shape is None or None in shape:
            raise BatchStays(f"the shape of {name} is not known")
        return tuple(int(n or 0) for n in shape)

    def larger(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor in a larger batch."""
        axis = self.axes.get(name)
        return tuple(n * _TIMES if i == axis else n for i, n in enumerate(self.shape(name)))

    def setting(self, node: Node, name: str, place: int) -> list[int] | None:
        """Whole numbers that an operator is given as an attribute or an input, whatever the batch.

        None: it has none.
        """
        given = node.attributes.get(name)
        if given is None and len(node.inputs) > place and node.inputs[place]:
            given = self.graph.constants.get(node.inputs[place])
            if given is None:
                pair = self.counted.get(node.inputs[place])
                if pair is None or not np.array_equal(*pair):
                    raise BatchStays(f"{name} of {node.op} depends on the batch")
                given = pair[0]
        return None if given is None else [int(n) for n in np.asarray(given).reshape(-1)]


def free_batch(
    model: ModelProto, output: str, x: Values, run_fixed: Callable[[Values], Values]
) -> FreeBatch:
    """The model with a free batch; refused with the reason where it cannot have one.

    `run_fixed` runs the file as it is on rows of any number.
    """
    graph = read_graph(model)
    content = rewritten(model, graph, output)
    try:
        session = quiet_session(content)
        ours = np.asarray(session.run([output], {graph.input_name: x})[0])
    except Exception as error:
        raise BatchStays(f"onnxruntime cannot run it so ({one_line(error)})") from error
    difference = largest_share(ours, run_fixed(x))
    if not difference <= (allowed := tolerance(graph)):
        raise BatchStays(
            f"its answers change with it, by {difference:.3g} of the largest where {allowed:g} is "
            "allowed"
        )
    return FreeBatch(content, difference)


def rewritten(model: ModelProto, graph: Graph, output: str) -> bytes:
    """The model with its literal shapes changed for a free batch, not compared yet."""
    if graph.batch is None:
        raise BatchStays("its batch is free already")
    name = graph.outputs.get(output, output)
    rewriting = _Rewriting(graph, graph.batch, {graph.input_name: 0})
    for node in graph.leading_to(name).nodes:
        try:
            _follow(rewriting, node)
        except BatchStays:
            raise
        except (
            IndexError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:  # no operator as it should be
            raise BatchStays(f"{node.op} cannot be followed ({one_line(error)})") from error
    if rewriting.axes.get(name) != 0:
        raise BatchStays(f"the output {output} does not begin with the batch")
    free = _rewritten(model, rewriting)
    _check_places(free, rewriting)
    content: bytes = free.SerializeToString()
    return content


def _check_places(free: ModelProto, r: _Rewriting) -> None:
    """Refuse where the batch is in another place than where it was followed to.

    A length of 1 may be a batch or not: in a larger one the difference shows.
    """
    onnx = require_onnx()
    model = onnx.ModelProto()
    model.CopyFrom(free)
    for feed in model.graph.input:
        if feed.name == r.graph.input_name:
            feed.type.tensor_type.shape.dim[0].dim_value = r.batch * _TIMES
    shapes = tensor_shapes(onnx, model)
    for name in r.axes:
        if name not in r.counted and shapes.get(name) != r.larger(name):
            raise BatchStays(f"the shape of {name} does not follow the batch")


def _follow(r: _Rewriting, node: Node) -> None:
    """The place of the batch in the outputs of one operator."""
    if node.op == "Shape" or not any(name in r.axes for name in node.inputs):
        r.counted.update(dict.fromkeys(node.outputs, _counted(r, node)))
        return
    for i, name in enumerate(node.inputs):
        if name in r.counted and name not in r.axes and not _sets_shape(node, i):
            r.axes.update(_repeated_axis(r, node, name))
    carried = {i: r.axes[name] for i, name in enumerate(node.inputs) if name in r.axes}
    places = {_place_after(r, node, i, axis) for i, axis in carried.items()}
    if len(places) != 1:
        raise _mixes(node)
    (place,) = places
    if node.op == "Concat":
        own = {i for i, name in enumerate(node.inputs) if name in r.graph.constants}
        if own:
            r.repeated[node.outputs[0]] = dict.fromkeys(own, place)
    r.axes.update(dict.fromkeys(filter(None, node.outputs), place))


def _sets_shape(node: Node, place: int) -> bool:
    """Whether an input says what shape the output has, or which part of the input it is."""
    return place > 0 and node.op in ("Reshape", "Expand", "Slice", "Pad", "Tile", "Resize")


def _counted(r: _Rewriting, node: Node) -> tuple[Values, Values] | None:
    """What an operator gives that knows of the input no more than its shape."""
    if len(node.outputs) != 1 or node.op not in OPERATORS or not node.standard:
        return None
    made = []
    for k in range(2):
        fed: list[Values | None] = []
        for name in node.inputs:
            if name in r.axes and node.op == "Shape":
                lengths = (r.larger if k else r.shape)(name)
                fed.append(np.broadcast_to(np.zeros((), np.int8), lengths))
            elif name in r.graph.constants or not name:
                fed.append(r.graph.constants.get(name))
            elif (known := r.counted.get(name)) is None:
                return None
            else:
                fed.append(known[k])
        call = Call(node, r.graph.opset, np, tuple(fed), tuple(fed))
        check_folded(node, call.host, None)
        made.append(np.asarray(OPERATORS[node.op](call)))
    return made[0], made[1]


def _repeated_axis(r: _Rewriting, node: Node, name: str) -> dict[str, int]:
    """Where a tensor that follows from shapes has the batch, the same for each row; else none."""
    pair = r.counted[name]
    if pair is None:
        raise BatchStays(f"{name} of {node.op} may depend on the batch")
    one, more = pair
    if np.array_equal(one, more):
        return {}
    longer = [i for i, n in enumerate(one.shape) if n != more.shape[i]]
    if one.ndim == more.ndim and len(longer) == 1:
        (axis,) = longer
        row = np.take(one, [0], axis=axis)
        if more.shape[axis] == _TIMES * one.shape[axis] and (more == row).all():
            return {name: axis}
    raise _mixes(node)


def _mixes(node: Node) -> BatchStays:
    return BatchStays(f"the operator {node.op} that makes {node.outputs[0]} mixes the rows")


def _place_after(r: _Rewriting, node: Node, place: int, axis: int) -> int:
    before, after = r.shape(node.inputs[place]), r.shape(node.outputs[0])
    rank = len(before)
    if not node.standard:
        raise _mixes(node)
    if node.op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
        return _reshaped(r, node, axis, before, after)
    if node.op.startswith("Reduce") or node.op == "ArgMax":
        return _reduced(r, node, axis, rank)
    if axis in _joined_axes(r, node, place, rank):
        raise _mixes(node)
    if node.op == "Transpose":
        return list(node.attributes.get("perm", range(rank)[::-1])).index(axis)
    if node.op == "Gemm" and place < 2:
        return place
    behind = node.op == "Gather" and node.attributes.get("axis", 0) % rank > axis
    out = axis if behind else axis + len(after) - rank
    if node.op == "Gather" and place == 1:
        out = axis + node.attributes.get("axis", 0) % len(r.shape(node.inputs[0]))
    if node.op == "Expand" and (wanted := r.graph.constants.get(node.inputs[1])) is not None:
        literal = [1] * (len(after) - wanted.size) + [int(n) for n in wanted]
        literal[out] = 1
        r.shapes[node.outputs[0]] = literal
    if not 0 <= out < len(after) or after[out] != before[axis]:
        raise _mixes(node)
    return out


def _joined_axes(r: _Rewriting, node: Node, place: int, rank: int) -> set[int]:
    """The axes along which values of an input meet: the batch must not be one of them."""
    attributes, joined = node.attributes, set(range(rank))  # all, where nothing is known
    match node.op:
        case "BatchNormalization" if attributes.get("training_mode", 0):
            pass
        case op if op in _ROWS_ALONE:
            joined -= {0}
        case "Softmax" | "LogSoftmax" if r.graph.opset >= 13:
            joined = {attributes.get("axis", -1) % rank}
        case "Softmax" | "LogSoftmax" | "LayerNormalization":
            default = -1 if node.op == "LayerNormalization" else 1
            joined = set(range(attributes.get("axis", default) % rank, rank))
        case "MatMul" | "Gemm" if place < 2:
            turned = attributes.get("transB" if place else "transA", 0)
            joined = {rank - 1 if bool(turned) == bool(place) else rank - 2}
        case "Concat" | "Split" | "Gather" if place == 0 or node.op == "Concat":
            joined = {attributes.get("axis", 0) % rank}
        case "Slice" | "Pad" | "Tile":
            joined = _cut_axes(r, node, rank)
        case op if op in _EACH_VALUE or op in ("Gather", "Gemm"):
            joined = set()
    return joined


def _cut_axes(r: _Rewriting, node: Node, rank: int) -> set[int]:
    """The axes that are cut, made longer or turned round."""
    if node.op == "Tile":
        return {i for i, n in enumerate(r.setting(node, "repeats", 1) or []) if n != 1}
    axes = r.setting(node, "axes", 3)
    axes = list(range(rank)) if axes is None else axes
    if node.op == "Pad":
        pads = r.setting(node, "pads", 1) or []
        return {a % rank for i, a in enumerate(axes) if pads[i] or pads[i + len(axes)]}
    starts, ends = (r.setting(node, name, i) or [] for i, name in ((1, "starts"), (2, "ends")))
    steps = r.setting(node, "steps", 4) or [1] * len(starts)
    parts = zip(axes, starts, ends, steps, strict=False)
    return {a % rank for a, b, e, s in parts if b != 0 or e < _TO_THE_END or s != 1}


def _reduced(r: _Rewriting, node: Node, axis: int, rank: int) -> int:
    given = node.attributes.get("axes")
    if node.op == "ArgMax":
        given = [node.attributes.get("axis", 0)]
    elif given is None and len(node.inputs) > 1 and node.inputs[1]:
        given = r.graph.constants.get(node.inputs[1])
    axes = {int(a) % rank for a in given} if given is not None else set(range(rank))
    if axis in axes:
        raise _mixes(node)
    return axis if node.attributes.get("keepdims", 1) else axis - sum(a < axis for a in axes)


def _reshaped(
    r: _Rewriting, node: Node, axis: int, before: Sequence[int], after: Sequence[int]
) -> int:
    """The axis behind as many values as before; it may hold more than the batch."""
    if node.op in ("Squeeze", "Unsqueeze"):
        return _with_axes(r, node, axis, before, after)
    if node.op == "Flatten":
        return _flattened(r, node, axis, before)
    lead = math.prod(before[:axis])
    found = (j for j, n in enumerate(after) if math.prod(after[:j]) == lead and n % r.batch == 0)
    place = next(found, None)
    if place is None:
        raise _mixes(node)
    if len(node.inputs) < 2 or node.inputs[1] in r.graph.constants:
        r.shapes[node.outputs[0]] = [-1 if j == place else n for j, n in enumerate(after)]
        return place
    shapes = r.counted.get(node.inputs[1])
    moving = [] if shapes is None else [i for i, n in enumerate(shapes[0]) if n != shapes[1][i]]
    return moving[0] if len(moving) == 1 else place


def _flattened(r: _Rewriting, node: Node, axis: int, before: Sequence[int]) -> int:
    """A batch of 1 that is flattened into its values becomes one row for each."""
    at = node.attributes.get("axis", 1)
    at = at % len(before) if at < 0 else at
    if at == axis == 0 and r.batch == 1:
        r.flattened.add(node.outputs[0])
        return 0
    first = 0 if axis < at else at
    if math.prod(before[first:axis]) != 1:
        raise _mixes(node)
    return int(axis >= at)


def _with_axes(
    r: _Rewriting, node: Node, axis: int, before: Sequence[int], after: Sequence[int]
) -> int:
    """The batch's place where axes of length 1 come or go."""
    axes = r.setting(node, "axes", 1)
    if axes is None:
        axes = [i for i, n in enumerate(before) if n == 1]
    more = node.op == "Unsqueeze"
    own = {a % len(after if more else before) for a in axes}
    if more:
        return [i for i in range(len(after)) if i not in own][axis]
    if axis in own:
        raise _mixes(node)
    return axis - sum(a < axis for a in own)


def _rewritten(source: ModelProto, r: _Rewriting) -> ModelProto:
    """The model with the literals changed and the batch of its input free."""
    onnx = require_onnx()
    model = onnx.ModelProto()
    model.CopyFrom(source)
    graph, helper = model.graph, onnx.helper
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        out = node.output[0] if node.output else ""
        if out in r.shapes:
            _set_shape(graph, node, r.shapes[out])
        elif out in r.flattened:
            node.attribute[0].CopyFrom(helper.make_attribute("axis", 1))
        for place, axis in r.repeated.get(out, {}).items():
            graph.node.extend(_repeat(graph, node, place, axis, r))
        graph.node.append(node)
    for feed in graph.input:
        if feed.name == r.graph.input_name:
            feed.type.tensor_type.shape.dim[0].dim_param = "batch"
    for info in graph.output:
        info.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return model


def _set_shape(graph: GraphProto, node: NodeProto, literal: list[int]) -> None:
    onnx = require_onnx()
    if len(node.input) < 2:  # older files have it as an attribute
        kept = [a for a in node.attribute if a.name != "shape"]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute("shape", literal)])
        return
    name = f"{node.output[0]}/free_shape"
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(literal, np.int64), name))
    node.input[1] = name


def _repeat(
    graph: GraphProto, node: NodeProto, place: int, axis: int, r: _Rewriting
) -> list[NodeProto]:
    """Operators that repeat a constant for each row, and the node made to take it."""
    onnx = require_onnx()
    name = node.input[place]
    own = f"{node.output[0]}/{place}"
    values = r.graph.constants[name]
    row = np.take(values, [0], axis=axis)
    if values.shape[axis] != r.batch or not (values == row).all():
        raise BatchStays(f"the constant {name} has its own values for each of {r.batch} rows")
    graph.initializer.append(onnx.numpy_helper.from_array(row, f"{own}/row"))
    rank = values.ndim
    helper = onnx.helper
    for part, lengths in (
        ("zero", [0]),
        ("front", [1] * axis),
        ("behind", [1] * (rank - axis - 1)),
    ):
        graph.initializer.append(
            onnx.numpy_helper.from_array(np.array(lengths, np.int64), f"{own}/{part}")
        )
    node.input[place] = f"{own}/rows"
    return [
        helper.make_node("Shape", [r.graph.input_name], [f"{own}/shape"]),
        helper.make_node("Gather", [f"{own}/shape", f"{own}/zero"], [f"{own}/n"], axis=0),
        helper.make_node(
            "Concat", [f"{own}/front", f"{own}/n", f"{own}/behind"], [f"{own}/to"], axis=0
        ),
        helper.make_node("Expand", [f"{own}/row", f"{own}/to"], [f"{own}/rows"]),
    ]
