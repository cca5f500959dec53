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
from surefoot.graph.graph import Graph, read_graph
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import one_line, quiet_session, require_onnx
from surefoot.graph.operators import Node

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_ROWS_ALONE = {
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace",
    "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "MaxPool", "Resize",
    "SpaceToDepth", "Upsample",
}  # fmt: skip
"""Operators that take the first axis for the batch."""
_MIXING = {"DynamicQuantizeLinear", "If", "Loop", "Scan", "NonZero", "TopK", "Size"}
"""Operators whose output for one row depends on the others, or that cannot be followed."""


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

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor in the file's own batch."""
        known = self.graph.constants.get(name)
        shape = self.graph.shapes.get(name) if known is None else known.shape
        if shape is None or None in shape:
            raise BatchStays(f"the shape of {name} is not known")
        return tuple(int(n or 0) for n in shape)


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
        except (
            IndexError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:  # no operator as it should be
            raise BatchStays(f"{node.op} cannot be followed ({one_line(error)})") from error
    if rewriting.axes.get(name) != 0:
        raise BatchStays(f"the output {output} does not begin with the batch")
    return _rewritten(model, rewriting)


def _follow(r: _Rewriting, node: Node) -> None:
    """The place of the batch in the outputs of one operator."""
    carried = {i: r.axes[name] for i, name in enumerate(node.inputs) if name in r.axes}
    if node.op == "Shape" or not carried:
        return
    if node.op in _MIXING:
        raise _mixes(node)
    places = set()
    for i, axis in carried.items():
        places.add(_place_after(r, node, i, axis))
    if len(places) != 1:
        raise _mixes(node)
    (place,) = places
    if node.op == "Concat":
        own = {i for i, name in enumerate(node.inputs) if name in r.graph.constants}
        if own:
            r.repeated[node.outputs[0]] = dict.fromkeys(own, place)
    r.axes.update(dict.fromkeys(filter(None, node.outputs), place))


def _mixes(node: Node) -> BatchStays:
    return BatchStays(f"the operator {node.op} that makes {node.outputs[0]} mixes the rows")


def _place_after(r: _Rewriting, node: Node, place: int, axis: int) -> int:
    before, after = r.shape(node.inputs[place]), r.shape(node.outputs[0])
    rank = len(before)
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
    if node.op == "Expand" and (wanted := r.graph.constants.get(node.inputs[1])) is not None:
        literal = [1] * (len(after) - wanted.size) + [int(n) for n in wanted]
        literal[out] = 1
        r.shapes[node.outputs[0]] = literal
    if not 0 <= out < len(after) or after[out] != before[axis]:
        raise _mixes(node)
    return out


def _joined_axes(r: _Rewriting, node: Node, place: int, rank: int) -> set[int]:
    """The axes along which values of an input meet: the batch must not be one of them."""
    attributes = node.attributes
    match node.op:
        case op if op in _ROWS_ALONE:
            return set(range(1, rank))
        case "Softmax" | "LogSoftmax" if r.graph.opset >= 13:
            return {attributes.get("axis", -1) % rank}
        case "Softmax" | "LogSoftmax" | "LayerNormalization":
            default = -1 if node.op == "LayerNormalization" else 1
            return set(range(attributes.get("axis", default) % rank, rank))
        case "Concat" | "Split" | "Gather":
            return {attributes.get("axis", 0) % rank}
        case "MatMul" | "Gemm" if place < 2:
            turned = attributes.get("transB" if place else "transA", 0)
            return {rank - 1 if bool(turned) == bool(place) else rank - 2}
        case _:
            return set()


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
    lead = math.prod(before[:axis])
    found = (j for j, n in enumerate(after) if math.prod(after[:j]) == lead and n % r.batch == 0)
    place = next(found, None)
    if place is None:
        raise _mixes(node)
    if node.op == "Flatten" and node.attributes.get("axis", 1) == 0:
        r.flattened.add(node.outputs[0])
    literal = node.op == "Reshape" and (len(node.inputs) < 2 or node.inputs[1] in r.graph.constants)
    if literal:
        r.shapes[node.outputs[0]] = [-1 if j == place else n for j, n in enumerate(after)]
    return place


def _rewritten(source: ModelProto, r: _Rewriting) -> bytes:
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
    content: bytes = model.SerializeToString()
    return content


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
