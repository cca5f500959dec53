"""An ONNX model as a small typed graph: its operators in order, constants folded, shapes known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from surefoot.errors import InvalidArgument, refusing
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import one_line, require_onnx
from surefoot.graph.operators import OPERATORS, STANDARD, Call, Node

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import AttributeProto, ModelProto, NodeProto

Shape = tuple[int | None, ...]
"""None for a length that the file leaves open, as the batch."""
_LITERAL_SIZE = 256
"""Numbers of a constant that may be a shape or a list of axes."""
_MOST_FOLDED = 1 << 28
"""Values of all constants that follow from others: a few bytes of a file can ask for any number."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in the order in which they can be run, between one input and the outputs.

    What depends on constants alone is a constant. `outputs` leads from the file's names to the
    tensors: an output may be the copy of another tensor. `shapes` holds what is known of them.
    """

    nodes: tuple[Node, ...]
    constants: Mapping[str, Values]
    input_name: str
    shape: Shape
    dtype: np.dtype[np.generic]
    outputs: Mapping[str, str]
    shapes: Mapping[str, Shape]
    opset: int

    @property
    def batch(self) -> int | None:
        """The batch that the file fixes, None where it is free."""
        return self.shape[0] if self.shape else None

    def producers(self) -> dict[str, Node]:
        """The operator that makes each tensor."""
        return {out: node for node in self.nodes for out in node.outputs}

    def leading_to(self, *names: str) -> Graph:
        """The part that these tensors depend on."""
        used, nodes = set(names), []
        for node in reversed(self.nodes):
            if used & set(node.outputs):
                used |= set(node.inputs)
                nodes.append(node)
        constants = {name: value for name, value in self.constants.items() if name in used}
        outputs = {name: name for name in names}
        return replace(self, nodes=tuple(nodes[::-1]), constants=constants, outputs=outputs)


def read_graph(model: ModelProto) -> Graph:
    """The graph of a model with one input; names of its tensors stay those of the file."""
    onnx = require_onnx("an ONNX file is read as a graph by the package onnx")
    graph = model.graph
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    feeds = [feed for feed in graph.input if feed.name not in constants]
    if len(feeds) != 1:
        names = ", ".join(feed.name for feed in feeds)
        raise InvalidArgument(
            f"the file must take one input, got {len(feeds)} ({names}): export it with one"
        )
    opset = max((o.version for o in model.opset_import if o.domain in STANDARD), default=1)
    shapes = tensor_shapes(onnx, model)
    feed = feeds[0].name, feeds[0].type.tensor_type.elem_type
    same: dict[str, str] = {}  # a copy, and what it is a copy of
    nodes: list[Node] = []
    folded = 0
    for proto in graph.node:
        node = _node(onnx, proto, same)
        if _copies(node, constants, feed):
            same[node.outputs[0]] = node.inputs[0]
        elif _folds(node, constants):
            fed = tuple(constants.get(name) for name in node.inputs)
            folded += check_folded(node, fed, shapes.get(node.outputs[0]), folded)
            _fold(onnx, proto, node, constants, opset)
        else:
            nodes.append(node)
    tensor = feeds[0].type.tensor_type
    return Graph(
        tuple(nodes),
        MappingProxyType(constants),
        feeds[0].name,
        shapes.get(feeds[0].name, ()),
        np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)),
        {out.name: same.get(out.name, out.name) for out in graph.output},
        shapes,
        opset,
    )


def _node(onnx: ModuleType, proto: NodeProto, same: Mapping[str, str]) -> Node:
    return Node(
        proto.op_type,
        tuple(same.get(name, name) for name in proto.input),
        tuple(proto.output),
        {one.name: _attribute(onnx, one) for one in proto.attribute},
        proto.domain,
    )


def _attribute(onnx: ModuleType, attribute: AttributeProto) -> object:
    """A number, a text, a list of numbers or an array."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _copies(node: Node, constants: Mapping[str, Values], feed: tuple[str, int]) -> bool:
    """Whether its output is its input; refused where a Dropout is in training.

    Estimators are exported with a Cast of the input `feed` to the type that it has.
    """
    if node.op == "Cast":
        return (node.inputs[0], node.attributes["to"]) == feed
    if not node.standard or node.op not in ("Identity", "Dropout"):
        return False
    training = constants.get(node.inputs[2]) if len(node.inputs) > 2 else None
    if training is not None and np.any(training):
        raise InvalidArgument("Dropout is in training mode: export the model after eval()")
    return True


def _folds(node: Node, constants: Mapping[str, Values]) -> bool:
    """Whether it takes constants alone; then its outputs are constants too."""
    known = all(name in constants for name in node.inputs if name)
    return node.standard and known and not node.op.startswith("Random")


def check_folded(
    node: Node, fed: Sequence[Values | None], shape: Shape | None, before: int = 0
) -> int:
    """How many values an operator makes of constants; refused where memory may not hold them.

    `shape` is that of its output where it is known, `before` are the values made so far.
    """
    first = fed[0] if fed else None
    second = fed[1] if len(fed) > 1 else None
    lengths: list[int] = [int(n or 1) for n in shape or ()]
    if first is not None and node.op == "ConstantOfShape":
        lengths = first.reshape(-1).tolist()
    elif first is not None and second is not None and node.op in ("Expand", "Tile"):
        lengths = [first.size, *(abs(int(n)) for n in second.reshape(-1))]
        if node.op == "Expand":
            lengths = [max(first.size, math.prod(lengths[1:]))]
    elif node.op == "Range":
        start, stop, step = (float(np.asarray(v).reshape(())) for v in fed)
        beyond = _MOST_FOLDED + 1
        lengths = [int(np.nan_to_num(min((stop - start) / step, beyond))) if step else beyond]
    size = math.prod(int(n) for n in lengths)
    if before + size > _MOST_FOLDED:
        raise InvalidArgument(
            f"the operator {node.op} that makes {node.outputs[0]} makes {size:,} numbers out of "
            f"constants, and {_MOST_FOLDED:,} are allowed in all: export the model again, or use a "
            "method that samples"
        )
    return max(size, 0)


def _fold(
    onnx: ModuleType,
    proto: NodeProto,
    node: Node,
    constants: dict[str, Values],
    opset: int,
) -> None:
    """The outputs of an operator on constants, as constants."""
    if node.op == "Constant" and "value" in node.attributes:
        constants[node.outputs[0]] = np.asarray(node.attributes["value"])
        return
    names = [name for name in node.outputs if name]
    what = f"the operator {node.op} that makes {node.outputs[0]} cannot be read"
    way_out = "export the model again, or use a statistical method, which takes any model"
    with refusing(what, way_out, Exception, words=one_line):
        try:
            values = _by_reference(onnx, proto, node, constants, opset)
        except Exception:
            if node.op not in OPERATORS:
                raise
            fed = tuple(constants.get(name) for name in node.inputs)  # of an older version
            made = OPERATORS[node.op](Call(node, opset, np, fed, fed))
            values = list(made) if isinstance(made, tuple) else [made]
    constants.update(zip(names, map(np.asarray, values), strict=True))


def _by_reference(
    onnx: ModuleType,
    proto: NodeProto,
    node: Node,
    constants: Mapping[str, Values],
    opset: int,
) -> list[Values]:
    """The outputs of an operator on constants, by onnx's reference implementation."""
    from onnx.reference import ReferenceEvaluator

    fed = {name: constants[name] for name in node.inputs if name}
    own = onnx.NodeProto()
    own.CopyFrom(proto)
    del own.input[:]
    own.input.extend(node.inputs)
    ends, opsets = filter(None, node.outputs), [onnx.helper.make_opsetid("", opset)]
    function = onnx.helper.make_function("", "constant", list(fed), list(ends), [own], opsets)
    values: list[Values] = ReferenceEvaluator(function).run(None, fed, attributes={})
    return values


def tensor_shapes(onnx: ModuleType, model: ModelProto) -> dict[str, Shape]:
    """What the file says of the shapes of its tensors, and what follows from it."""
    light = onnx.ModelProto()
    light.CopyFrom(model)
    weights = [one for one in light.graph.initializer if math.prod(one.dims) > _LITERAL_SIZE]
    for one in weights:  # written and read again, they would take most of the time
        info = onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims)
        light.graph.initializer.remove(one)
        light.graph.input.append(info)
    try:
        inferred = onnx.shape_inference.infer_shapes(light, data_prop=True).graph
    except Exception:  # noqa: BLE001  of a large file, or an operator of others
        inferred = model.graph
    return {
        info.name: tuple(
            d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None
            for d in info.type.tensor_type.shape.dim
        )
        for info in (*inferred.input, *inferred.value_info, *inferred.output)
        if info.type.tensor_type.HasField("shape")
    }


def tensor_before(
    graph: Graph, output: str, left_out: Sequence[str]
) -> tuple[str, tuple[Node, ...]]:
    """The tensor before operators at the end that only squeeze it, and these, the last first."""
    producers, passed = graph.producers(), []
    name = graph.outputs.get(output, output)
    while (node := producers.get(name)) is not None and node.op in left_out:
        name = node.inputs[0]
        passed.append(node)
    return name, tuple(passed)
