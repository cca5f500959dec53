"""A model in the operators that are read: quantised ones and functions are written out in these.

A quantised operator is its plain one between DequantizeLinear and QuantizeLinear, as its definition
says; a function has its body in the file or in ONNX itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.graph.network import Values
from surefoot.graph.onnx_file import Source, load_proto, require_onnx
from surefoot.graph.operators import OPERATORS, STANDARD

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto


@dataclass(frozen=True)
class _Quantised:
    """An operator on whole numbers: the plain one, and the places of its inputs.

    Each value is followed by its scale and its zero point. `result` is the place of those of the
    result; None where it has 32 bits. The scale of the bias follows from those of the values.
    """

    plain: str
    values: tuple[int, ...]
    result: int | None = None
    bias: int | None = None


_ONE_VALUE = (
    "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid",
    "QLinearSoftmax",
)  # fmt: skip
_QUANTISED = {
    "QLinearConv": _Quantised("Conv", (0, 3), 6, bias=8),
    "QLinearMatMul": _Quantised("MatMul", (0, 3), 6),
    "QGemm": _Quantised("Gemm", (0, 3), 7, bias=6),
    "QLinearAdd": _Quantised("Add", (0, 3), 6),
    "QLinearMul": _Quantised("Mul", (0, 3), 6),
    "ConvInteger": _Quantised("Conv", (0, 3)),
    "MatMulInteger": _Quantised("MatMul", (0, 3)),
    **{name: _Quantised(name.removeprefix("QLinear"), (0,), 3) for name in _ONE_VALUE},
}
"""The operators of files that onnxruntime quantises, but for QLinearConcat of any length."""
_SAME = ("DequantizeLinear", "Gelu", "QuantizeLinear")
"""Operators that onnxruntime has under a name of its own too."""
_MICROSOFT = "com.microsoft"


def load_plain(source: Source) -> ModelProto:
    """The model of a file or of its bytes, in the operators that are read as far as they can be."""
    onnx = require_onnx()
    model = _without_functions(onnx, load_proto(source))
    dims = {one.name: tuple(one.dims) for one in model.graph.initializer}
    nodes = [new for node in model.graph.node for new in _written_out(onnx, node, dims)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _without_functions(onnx: ModuleType, model: ModelProto) -> ModelProto:
    """The bodies of functions in place of their calls; what cannot be is left, to be refused."""
    inline = import_module("onnx.inliner").inline_selected_functions
    helper, graph, before = onnx.helper, model.graph, None
    for one in graph.initializer:  # some bodies depend on the types of what they take
        graph.value_info.append(
            helper.make_tensor_value_info(one.name, one.data_type, tuple(one.dims))
        )
    while (functions := _functions(onnx, model)) not in (before, set()):
        before = functions
        with suppress(RuntimeError):
            model = inline(model, sorted(functions), inline_schema_functions=True)
    return model


def _functions(onnx: ModuleType, model: ModelProto) -> set[tuple[str, str]]:
    """Functions of the file, and those of ONNX that are called and not read as they are."""
    called = {node.op_type for node in model.graph.node if node.domain in STANDARD}
    unread = filter(onnx.defs.has, called - OPERATORS.keys())
    schemas = [onnx.defs.get_schema(name) for name in unread]
    own = {s.name for s in schemas if s.has_function or s.has_context_dependent_function}
    return {("", name) for name in own} | {(one.domain, one.name) for one in model.functions}


def _written_out(
    onnx: ModuleType, node: NodeProto, dims: Mapping[str, tuple[int, ...]]
) -> list[NodeProto]:
    """The node, or the plain ones that do the same."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    kind, own = _QUANTISED.get(node.op_type), node.domain == _MICROSOFT
    if node.op_type == "QLinearConcat":
        kind = _Quantised("Concat", tuple(range(2, len(node.input), 3)), 0)
    if kind is None or attributes.get("channels_last") or not (own or node.domain in STANDARD):
        if own and node.op_type in _SAME:
            node.domain = ""
        return [node]
    made, out = _Made(onnx, node.output[0]), node.output[0]
    fed = [*node.input, *[""] * 9]
    if kind.result is None:  # the zero points of two values stand behind both, without scales
        ones = [made.ones(dims.get(zero, ())) for zero in fed[2:4]]
        fed = [fed[0], ones[0], fed[2], fed[1], ones[1], fed[3], *[""] * 9]
    given = [
        made.plain_value(fed[at : at + 3], _axis(kind.plain, place, attributes))
        for place, at in enumerate(kind.values)
    ]
    if kind.bias is not None and fed[kind.bias]:
        scales = [fed[at + 1] for at in kind.values]
        if attributes.get("alpha", 1.0) != 1:
            scales.append(made.constant(np.array(attributes["alpha"], np.float32)))
        scale = reduce(lambda a, b: made.node("Mul", [a, b]), scales)
        given.append(made.plain_value([fed[kind.bias], scale, ""], 0))
    kept = {k: v for k, v in attributes.items() if k not in ("channels_last", "opset")}
    made.node(kind.plain, given, **kept)
    if kind.result is not None and fed[kind.result]:
        made.node("QuantizeLinear", [made.nodes[-1].output[0], *fed[kind.result :][:2]])
    made.nodes[-1].output[0] = out
    return made.nodes


def _axis(plain: str, place: int, attributes: Mapping[str, Any]) -> int:
    """Along which axis of a value there may be a scale for each place."""
    if plain == "MatMul":
        return place - 2
    return 1 if plain == "Gemm" and not attributes.get("transB") else 0


@dataclass(frozen=True, eq=False)
class _Made:
    """The nodes that take the place of one, whose output gives them their names."""

    onnx: ModuleType
    name: str
    nodes: list[NodeProto] = field(default_factory=list)

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:  # noqa: ANN401  as ONNX has them
        """One more node; the name of its output."""
        out = f"{self.name}/{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def constant(self, value: Values) -> str:
        """The name of a constant."""
        return self.node("Constant", [], value=self.onnx.numpy_helper.from_array(value))

    def ones(self, dims: tuple[int, ...]) -> str:
        """Scales that change nothing."""
        return self.constant(np.ones(dims, np.float32))

    def plain_value(self, parts: Sequence[str], axis: int) -> str:
        """The float of whole numbers, their scale and their zero point, if they have one."""
        return self.node("DequantizeLinear", parts if parts[2] else parts[:2], axis=axis)
