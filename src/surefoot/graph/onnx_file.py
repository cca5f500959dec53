"""An ONNX file parsed: its input, the tensor that decides the label, its constants in float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument, MissingPackage

Source = bytes | str | Path


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
class ParsedGraph:
    """The parsed file: the input, the tensor whose argmax is the label, how it ends.

    `model_float64` is the model with its float32 constants in float64.
    """

    model: Any
    model_float64: Any
    input_name: str
    dtype: Any
    shape: tuple[int, ...]
    scores_name: str
    ends_in_relu: bool
    ends_in_softmax: bool


def parse_graph(source: Source, shape: tuple[int, ...] | None) -> ParsedGraph:
    """The file with its input and its ending found; `shape` of one input where it is left open."""
    onnx = require_onnx()
    try:
        model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
        wide = _widened(onnx, model)
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        raise InvalidArgument(
            f"this cannot be read as an ONNX model ({text}): export it again"
        ) from error
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
    return ParsedGraph(model, wide, feeds[0].name, dtype, _full_shape(dims, shape), *ending)


def _widened(onnx: Any, model: Any) -> Any:  # noqa: ANN401  of the package onnx
    """The model with float64 in place of float32, so that its constants are folded without loss."""
    wide, single, double = onnx.ModelProto(), onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    wide.CopyFrom(model)
    graph, helper = wide.graph, onnx.numpy_helper
    tensors = [
        *graph.initializer,
        *(a.t for n in graph.node for a in n.attribute if a.HasField("t")),
    ]
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


def _label_tensor(onnx: Any, graph: Any) -> tuple[str, bool, bool]:  # noqa: ANN401  of the package onnx
    """The tensor whose argmax is the label, and whether a ReLU and a Softmax follow it."""
    producers = {out: node for node in graph.node for out in node.output}
    name, softmax = graph.output[0].name, False
    while (node := producers.get(name)) is not None:
        over_last = attributes_of(onnx, node).get("axis", -1) in (-1, 1)
        if node.op_type in ("Softmax", "LogSoftmax") and over_last:
            softmax = softmax or node.op_type == "Softmax"
        elif node.op_type == "Relu":
            return node.input[0], True, softmax
        elif node.op_type != "Identity":
            break
        name = node.input[0]
    return name, False, softmax


def attributes_of(onnx: Any, node: Any) -> dict[str, Any]:  # noqa: ANN401  of the package onnx
    """The attributes of a node by name."""
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
