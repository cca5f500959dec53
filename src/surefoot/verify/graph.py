"""An ONNX file as dense layers: affine operators are multiplied out, branches carried along."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.verify.network import Floats, Layer, Loss, Network, linear
from surefoot.verify.operators import AFFINE, apply_affine
from surefoot.verify.value import Value, unit_value

Source = bytes | str | Path
_MOST = 120_000_000
_CAN = sorted({*AFFINE, "Relu", "LeakyRelu", "Constant", "Softmax", "LogSoftmax"})


def require_onnx() -> Any:  # noqa: ANN401  the module
    """The onnx package, or the line that installs it."""
    try:
        import onnx
    except ImportError as error:
        raise MissingPackage(
            "proofs read the layers of an ONNX file: pip install 'surefoot[verify]'"
        ) from error
    return onnx


@dataclass(frozen=True, eq=False)
class Graph:
    """The parsed file: the input, the tensor whose argmax is the label, how it ends.

    `wide` is the model with its float32 constants in float64.
    """

    model: Any
    wide: Any
    feed: str
    dtype: Any
    shape: tuple[int, ...]
    scores: str
    ends_in_relu: bool
    ends_in_softmax: bool


@dataclass(eq=False)
class _Reading:
    """What is known while the nodes are walked through."""

    layers: list[Layer]
    constants: dict[str, NDArray[Any]]
    values: dict[str, Value] = field(default_factory=dict)


def read_network(source: Source, shape: tuple[int, ...] | None = None) -> Network:
    """The network in an ONNX file; `shape` of one input where the file leaves it open.

    A last Softmax is left out: the label stays. Anything that is not affine, ReLU or LeakyReLU is
    refused by name.
    """
    graph = parse_graph(source, shape)
    helper = require_onnx().numpy_helper
    reading = _Reading([], {i.name: helper.to_array(i) for i in graph.wide.graph.initializer})
    n = int(np.prod(graph.shape))
    _check_size(n, n, "the input")
    reading.values[graph.feed] = unit_value(np.eye(n).reshape(n, *graph.shape))
    nodes = _until(graph)
    for i, node in enumerate(nodes):
        needed = {name for later in nodes[i + 1 :] for name in later.input} | {graph.scores}
        _step(reading, node, needed)
    if graph.scores not in reading.values:
        raise InvalidArgument(f"the output {graph.scores} does not depend on the input")
    scores = linear(*_matrix(reading.values[graph.scores]))
    one = graph.shape[1:] if len(graph.shape) > 1 else graph.shape
    return Network((*reading.layers, scores), one, graph.ends_in_relu, graph.ends_in_softmax)


def parse_graph(source: Source, shape: tuple[int, ...] | None) -> Graph:
    onnx = require_onnx()
    try:
        model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        raise InvalidArgument(f"this cannot be read as an ONNX model ({text})") from error
    inits = {i.name for i in model.graph.initializer}
    feeds = [i for i in model.graph.input if i.name not in inits]
    if len(feeds) != 1 or len(model.graph.output) != 1:
        names = [v.name for v in (*feeds, *model.graph.output)]
        raise InvalidArgument(
            f"proofs need a model of one input and one output, got {', '.join(names)}: export "
            "only the scores"
        )
    tensor = feeds[0].type.tensor_type
    dims = [d.dim_value if d.HasField("dim_value") else 0 for d in tensor.shape.dim]
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if dtype not in (np.float32, np.float64):
        raise InvalidArgument(
            f"proofs are about models of float32 or float64 inputs, got {dtype}: export the model "
            "in float32"
        )
    ending = _label_tensor(onnx, model.graph)
    return Graph(model, _widened(onnx, model), feeds[0].name, dtype, _full_shape(dims, shape), *ending)


def _widened(onnx: Any, model: Any) -> Any:  # noqa: ANN401
    """The model with float64 in place of float32, so that its constants are folded without loss."""
    wide, single, double = onnx.ModelProto(), onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    wide.CopyFrom(model)
    graph, helper = wide.graph, onnx.numpy_helper
    tensors = [*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.HasField("t"))]
    for tensor in tensors:
        if tensor.data_type == single:
            tensor.CopyFrom(helper.from_array(helper.to_array(tensor).astype(float), tensor.name))
    for node in graph.node:
        for at in node.attribute:
            if node.op_type == "Cast" and at.name == "to" and at.i == single:
                at.i = double
            elif node.op_type == "Constant" and at.name in ("value_float", "value_floats"):
                value = np.array(at.f if at.name == "value_float" else at.floats, float)
                at.CopyFrom(onnx.helper.make_attribute("value", helper.from_array(value)))
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type == single:
            info.type.tensor_type.elem_type = double
    return wide


def _full_shape(dims: list[int], shape: tuple[int, ...] | None) -> tuple[int, ...]:
    """The input's shape with a batch of one."""
    lead = dims[:1] if len(dims) == 1 and dims[0] > 1 else [1]
    found = (*lead, *dims[1:])
    if shape is not None:
        found = tuple(shape) if len(shape) == len(dims) else (1, *shape)
        fits = len(found) == len(dims) and all(
            d in (0, f) for d, f in zip(dims[1:], found[1:], strict=False)
        )
        if not fits:
            raise InvalidArgument(
                f"the file's input is {dims}, which an input of {shape} cannot be"
            )
    if 0 in found or dims[:1] > [1] < dims[1:]:
        raise InvalidArgument(
            f"the file leaves its input's shape open or fixes a batch ({dims}): give shape=(…) of "
            "one input, or export it with a batch of 1"
        )
    return found


def _label_tensor(onnx: Any, graph: Any) -> tuple[str, bool, bool]:  # noqa: ANN401
    """The tensor whose argmax is the label, and whether a ReLU and a Softmax follow it."""
    makers = {out: node for node in graph.node for out in node.output}
    name, softmax = graph.output[0].name, False
    while (node := makers.get(name)) is not None:
        over_last = _attributes(onnx, node).get("axis", -1) in (-1, 1)
        if node.op_type in ("Softmax", "LogSoftmax") and over_last:
            softmax = softmax or node.op_type == "Softmax"
        elif node.op_type == "Relu":
            return node.input[0], True, softmax
        elif node.op_type != "Identity":
            break
        name = node.input[0]
    return name, False, softmax


def _attributes(onnx: Any, node: Any) -> dict[str, Any]:  # noqa: ANN401
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def _until(graph: Graph) -> list[Any]:
    """The nodes that the label depends on, in the file's order."""
    wanted, kept = {graph.scores}, []
    for node in reversed(graph.wide.graph.node):
        if wanted & set(node.output):
            wanted |= set(node.input)
            kept.append(node)
    return kept[::-1]


def _step(reading: _Reading, node: Any, needed: set[str]) -> None:  # noqa: ANN401
    onnx = require_onnx()
    at, values = _attributes(onnx, node), reading.values
    inputs = [name for name in node.input if name]
    known = [name for name in inputs if name in values]
    out = node.output[0]
    if node.op_type == "Shape" and known:
        reading.constants[out] = np.array(values[inputs[0]].shape, np.int64)
    elif not known:
        reading.constants[out] = _folded(onnx, node, [reading.constants[i] for i in inputs])
    elif node.op_type in ("Relu", "LeakyRelu"):
        slope = 0.0 if node.op_type == "Relu" else float(at.get("alpha", 0.01))
        _activate(reading, inputs[0], out, slope, needed)
    elif node.op_type in ("Add", "Sub") and len(known) == 2:
        second = values[inputs[1]]
        sign = np.asarray(-1.0 if node.op_type == "Sub" else 1.0)
        values[out] = values[inputs[0]].plus(second.scaled(sign))
    else:
        others = [reading.constants.get(name) for name in node.input if name not in known]
        swapped = bool(inputs) and inputs[0] not in known
        made = None
        if len(known) == 1:
            made = apply_affine(node.op_type, values[known[0]], others, at, swapped)
        if made is None:
            raise InvalidArgument(
                f"proofs do not read the operator {node.op_type} on values that depend on the "
                f"input: use a network of {', '.join(_CAN)}, or a statistical method, which takes "
                "any model"
            )
        _check_size(len(made.columns), made.constant.size, node.op_type)
        values[out] = made


def _folded(onnx: Any, node: Any, inputs: list[NDArray[Any]]) -> NDArray[Any]:  # noqa: ANN401
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


def _activate(reading: _Reading, name: str, out: str, slope: float, needed: set[str]) -> None:
    """A new layer: the activated tensor, and beside it every tensor that is needed later."""
    kept = [k for k in reading.values if k in needed]
    parts = [reading.values[name], *(reading.values[k] for k in kept)]
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
    reading.layers.append(Layer(weights, bias, slopes, Loss(lost, factor)))
    unit, start = np.eye(total), 0
    reading.values = {}
    for key, part in zip([out, *kept], parts, strict=True):
        stop = start + part.constant.size
        reading.values[key] = unit_value(unit[:, start:stop].reshape(total, *part.shape))
        start = stop


def _matrix(value: Value) -> tuple[Floats, Floats, Loss]:
    flat = value.columns.reshape(len(value.columns), -1)
    loss = Loss(value.loss.constant.reshape(-1), value.loss.factor.reshape(-1))
    return np.ascontiguousarray(flat.T), value.constant.reshape(-1).copy(), loss


def _check_size(n: int, m: int, what: str) -> None:
    if n * m > _MOST:
        raise InvalidArgument(
            f"{what} would need {n:,} × {m:,} weights as a dense layer, more than {_MOST:,}: "
            "proofs are for small networks; a statistical method takes any model"
        )
