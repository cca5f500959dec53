"""How ONNX operators pass a gradient back from their output to their input.

Where an operator has a corner its slope is that of one side; a maximum passes the gradient to the
first place that attains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import Attributes, quiet_session, window_layout
from surefoot.graph.operators import (
    OPERATORS,
    Call,
    Windows,
    extent,
    padded,
    softmax_axis,
    window_counts,
    windows_of,
)

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def _along(axes: Iterable[slice]) -> tuple[slice, ...]:
    """These slices of the axes behind those of batch and channels."""
    return (slice(None), slice(None), *axes)


def convolution_gradient(attributes: Attributes, x: Values, weights: Values, g: Values) -> Values:
    """The transposed convolution, by onnxruntime."""
    kernel, size = list(weights.shape[2:]), list(x.shape[2:])
    layout = window_layout(attributes, x.shape[2:], weights.shape[2:])
    front = [before for before, _ in layout.pads]
    reach = extent(list(g.shape[2:]), kernel, layout)
    # what the windows cover, less the padding in front; a rest behind was not covered
    group = int(attributes.get("group", 1))
    run = _transposed(tuple(kernel), tuple(layout.strides), tuple(layout.dilations), group)
    fed = {"g": np.ascontiguousarray(g, np.float32), "w": weights.astype(np.float32)}
    (covered,) = run.run(None, fed)
    gradient = np.zeros(x.shape, np.float32)
    lengths = [min(r - b, i) for b, r, i in zip(front, reach, size, strict=True)]
    take = (slice(b, b + length) for b, length in zip(front, lengths, strict=True))
    gradient[_along(slice(length) for length in lengths)] = covered[_along(take)]
    return gradient


@lru_cache(maxsize=256)
def _transposed(
    kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], group: int
) -> InferenceSession:
    from onnx import TensorProto, helper

    free = [f"d{i}" for i in range(len(kernel))]
    node = helper.make_node(
        "ConvTranspose", ["g", "w"], ["x"], kernel_shape=kernel, strides=stride, dilations=dilation,
        group=group,
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "transposed",
        [
            helper.make_tensor_value_info("g", TensorProto.FLOAT, ["n", "c", *free]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, ["c", "m", *kernel]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return quiet_session(model.SerializeToString())


def _inner(op: OperatorRun, windows: Windows) -> tuple[Any, ...]:
    """Where the input of a pool lies when it is padded."""
    axes = zip(windows.layout.pads, op.x.shape[2:], strict=True)
    return (..., *(slice(before, before + n) for (before, _), n in axes))


def _max_pool(op: OperatorRun) -> Values:
    """To the first of the places that attain the maximum."""
    windows = windows_of(op.call)
    among = padded(op.call, op.x, windows.pads, -np.inf)
    gradient, free = np.zeros_like(among), np.ones(op.y.shape, bool)
    for place in windows.places():
        here = free & (among[place] == op.y)
        gradient[place] += np.where(here, op.g, 0.0)
        free &= ~here
    return np.asarray(gradient[_inner(op, windows)])


def _average_pool(op: OperatorRun) -> Values:
    """Evenly to all places that were counted."""
    windows = windows_of(op.call)
    gradient = padded(op.call, np.zeros_like(op.x), windows.pads, 0.0)
    share = op.g / window_counts(op.call, windows)
    for place in windows.places():
        gradient[place] += share
    return np.asarray(gradient[_inner(op, windows)], np.float32)


OTHER_METHODS = (
    "install PyTorch (pip install torch), which knows more of them, use a method that samples, or "
    "an attack of your own"
)
"""The way out where there is no gradient."""


@dataclass(frozen=True, eq=False)
class OperatorRun:
    """One operator as it was run: its inputs, its outputs, the gradients of the outputs.

    The gradient of an output that nothing uses is None.
    """

    call: Call
    outputs: tuple[Values, ...]
    output_gradients: tuple[Values | None, ...]

    @property
    def kind(self) -> str:
        """The operator's name."""
        return self.call.node.op

    @property
    def attributes(self) -> Attributes:
        """The operator's attributes."""
        return self.call.node.attributes

    @property
    def inputs(self) -> tuple[Values | None, ...]:
        """What it was given, None where it was left out."""
        return self.call.inputs

    @property
    def x(self) -> Values:
        """The first input."""
        return self.input(0)

    @property
    def y(self) -> Values:
        """The first output."""
        return self.outputs[0]

    @property
    def g(self) -> Values:
        """The gradient of the first output."""
        gradient = self.output_gradients[0]
        return np.zeros_like(self.outputs[0]) if gradient is None else gradient

    def input(self, place: int) -> Values:
        """An input that must be there."""
        value: Values | None = self.call.input(place)
        if value is None:
            raise InvalidArgument(
                f"the operator {self.kind} has no input {place}: export the file again"
            )
        return value


def _unknown_gradient(what: str) -> InvalidArgument:
    return InvalidArgument(f"the gradient of {what} is not known: {OTHER_METHODS}")


def _unbroadcast(g: Values, like: Values) -> Values:
    """The gradient of a value that was broadcast."""
    extra = g.ndim - like.ndim
    summed = g.sum(axis=tuple(range(extra))) if extra else g
    axes = tuple(i for i, n in enumerate(like.shape) if n == 1 and summed.shape[i] != 1)
    return summed.sum(axis=axes, keepdims=True) if axes else summed


def _sum(op: OperatorRun) -> dict[int, Values]:
    sign = -1.0 if op.kind == "Sub" else 1.0
    return {
        i: _unbroadcast(sign * op.g if i else op.g, value)
        for i, value in enumerate(op.inputs)
        if value is not None
    }


def _product(op: OperatorRun) -> dict[int, Values]:
    a, b = op.x, op.input(1)
    if op.kind == "Div":
        return {0: _unbroadcast(op.g / b, a), 1: _unbroadcast(-op.g * op.y / b, b)}
    return {0: _unbroadcast(op.g * b, a), 1: _unbroadcast(op.g * a, b)}


def _matmul(op: OperatorRun) -> dict[int, Values]:
    a, b, g = op.x, op.input(1), op.g
    if a.ndim < 2 or b.ndim < 2:
        raise _unknown_gradient("MatMul of a vector")
    return {
        0: _unbroadcast(g @ np.swapaxes(b, -1, -2), a),
        1: _unbroadcast(np.swapaxes(a, -1, -2) @ g, b),
    }


def _gemm(op: OperatorRun) -> dict[int, Values]:
    a, b, g = op.x, op.input(1), op.g * op.attributes.get("alpha", 1.0)
    left, right = bool(op.attributes.get("transA", 0)), bool(op.attributes.get("transB", 0))
    into_a = g @ (b if right else b.T)
    into_b = (a if left else a.T) @ g
    gradients = {0: into_a.T if left else into_a, 1: into_b.T if right else into_b}
    if len(op.inputs) > 2 and op.inputs[2] is not None:
        gradients[2] = _unbroadcast(op.g * op.attributes.get("beta", 1.0), op.inputs[2])
    return gradients


def _batch_norm(op: OperatorRun) -> Values:
    scale = op.input(1) / np.sqrt(op.input(4) + op.attributes.get("epsilon", 1e-5))
    return np.asarray(op.g * scale.reshape(1, -1, *(1,) * (op.x.ndim - 2)))


def _layer_norm(op: OperatorRun) -> Values:
    axes = tuple(range(op.attributes.get("axis", -1) % op.x.ndim, op.x.ndim))
    centred = op.x - op.x.mean(axis=axes, keepdims=True)
    variance = (centred**2).mean(axis=axes, keepdims=True)
    spread = np.sqrt(variance + op.attributes.get("epsilon", 1e-5))
    unit, g = centred / spread, op.g * op.input(1)
    rest = g.mean(axis=axes, keepdims=True) + unit * (g * unit).mean(axis=axes, keepdims=True)
    return np.asarray((g - rest) / spread)


def _softmax(op: OperatorRun) -> Values:
    axis, shape = softmax_axis(op.call)
    if shape != op.x.shape:
        raise _unknown_gradient(f"{op.kind} over several axes")
    if op.kind == "LogSoftmax":
        return np.asarray(op.g - np.exp(op.y) * op.g.sum(axis=axis, keepdims=True))
    return np.asarray(op.y * (op.g - (op.g * op.y).sum(axis=axis, keepdims=True)))


def _clip(op: OperatorRun) -> Values:
    low, high = op.call.setting("min", 1), op.call.setting("max", 2)
    inside = np.ones(op.x.shape, bool)
    inside &= True if low is None else op.x >= low
    inside &= True if high is None else op.x <= high
    return np.where(inside, op.g, 0.0)


def _reduction(op: OperatorRun) -> Values:
    axes = op.call.setting("axes", 1)
    chosen = tuple(range(op.x.ndim)) if axes is None else tuple(int(a) % op.x.ndim for a in axes)
    shape = tuple(1 if i in chosen else n for i, n in enumerate(op.x.shape))
    g = np.broadcast_to(op.g.reshape(shape), op.x.shape)
    return g / (op.x.size / op.y.size) if op.kind == "ReduceMean" else np.array(g)


def _global_max(op: OperatorRun) -> Values:
    flat = op.x.reshape(*op.x.shape[:2], -1)
    gradient = np.zeros_like(flat, dtype=np.float32)
    at = flat.argmax(axis=-1)[..., None]
    np.put_along_axis(gradient, at, op.g.reshape(at.shape), axis=-1)
    return gradient.reshape(op.x.shape)


def _transpose(op: OperatorRun) -> Values:
    order = op.attributes.get("perm", list(range(op.x.ndim))[::-1])
    return np.transpose(op.g, np.argsort(order))


def _concat(op: OperatorRun) -> dict[int, Values]:
    parts = [v for v in op.inputs if v is not None]
    axis = op.attributes["axis"]
    ends = np.cumsum([p.shape[axis] for p in parts])[:-1]
    return dict(enumerate(np.split(op.g, ends, axis=axis)))


def _pad(op: OperatorRun) -> Values:
    pads = op.call.setting("pads", 1)
    mode = op.attributes.get("mode", "constant")
    if mode != "constant" or len(op.inputs) > 3 or pads is None:
        raise _unknown_gradient("Pad other than by a constant on all axes")
    n = op.x.ndim
    if (np.asarray(pads) < 0).any():
        raise _unknown_gradient("Pad that cuts off")
    return op.g[tuple(slice(int(pads[i]), int(pads[i]) + op.x.shape[i]) for i in range(n))]


def _selection(op: OperatorRun) -> Values:
    """Of an operator that only picks values: it is run once more on the places of the values."""
    places = np.arange(op.x.size, dtype=np.int64).reshape(op.x.shape)
    picked = OPERATORS[op.kind](replace(op.call, inputs=(places, *op.inputs[1:])))
    gradient = np.zeros(op.x.size)
    every = picked if isinstance(picked, tuple) else (picked,)
    for where, g in zip(every, op.output_gradients, strict=True):
        if g is not None:
            gradient += np.bincount(where.ravel(), weights=g.ravel(), minlength=op.x.size)
    return gradient.astype(np.float32).reshape(op.x.shape)


def _gelu(op: OperatorRun) -> Values:
    from scipy.special import ndtr

    if op.attributes.get("approximate", "none") != "none":
        raise _unknown_gradient("Gelu approximated by tanh")
    return np.asarray(op.g * (ndtr(op.x) + op.x * np.exp(-(op.x**2) / 2) / math.sqrt(2 * math.pi)))


def _pow(op: OperatorRun) -> Values:
    power = op.input(1).astype(np.float32)
    return np.asarray(op.g * power * op.x ** (power - 1))


SINGLE_INPUT: dict[str, Callable[[OperatorRun], Values]] = {
    "Cast": lambda op: op.g,
    **dict.fromkeys(
        ("Flatten", "Reshape", "Squeeze", "Unsqueeze"), lambda op: op.g.reshape(op.x.shape)
    ),
    **dict.fromkeys(("Slice", "Gather", "Split", "Expand", "Tile", "DepthToSpace"), _selection),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("ReduceMean", "ReduceSum"), _reduction),
    "Abs": lambda op: op.g * np.sign(op.x),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Conv": lambda op: convolution_gradient(op.attributes, op.x, op.input(1), op.g),
    "Elu": lambda op: op.g * np.where(op.x > 0, 1.0, op.y + op.attributes.get("alpha", 1.0)),
    "Erf": lambda op: op.g * (2 / math.sqrt(math.pi)) * np.exp(-(op.x**2)),
    "Exp": lambda op: op.g * op.y,
    "Gelu": _gelu,
    "GlobalAveragePool": lambda op: np.broadcast_to(op.g, op.x.shape) * (op.y.size / op.x.size),
    "GlobalMaxPool": _global_max,
    "HardSigmoid": lambda op: np.where(
        (op.y > 0) & (op.y < 1), op.g * op.attributes.get("alpha", 0.2), 0.0
    ),
    "HardSwish": lambda op: op.g * np.where(abs(op.x) < 3, (2 * op.x + 3) / 6, op.x >= 3),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": lambda op: op.g * np.where(op.x > 0, 1.0, op.attributes.get("alpha", 0.01)),
    "Log": lambda op: op.g / op.x,
    "MaxPool": _max_pool,
    "Neg": lambda op: -op.g,
    "PRelu": lambda op: op.g * np.where(op.x > 0, 1.0, op.input(1)),
    "Pad": _pad,
    "Pow": _pow,
    "Reciprocal": lambda op: -op.g * op.y**2,
    "Relu": lambda op: np.where(op.x > 0, op.g, 0.0),
    "Sigmoid": lambda op: op.g * op.y * (1 - op.y),
    "Softplus": lambda op: op.g / (1 + np.exp(-op.x)),
    "Sqrt": lambda op: op.g / (2 * op.y),
    "Tanh": lambda op: op.g * (1 - op.y**2),
    "Transpose": _transpose,
}
"""Operators of which only the first input may depend on the model's input."""

MULTI_INPUT: dict[str, Callable[[OperatorRun], dict[int, Values]]] = {
    **dict.fromkeys(("Add", "Sub", "Sum"), _sum),
    **dict.fromkeys(("Mul", "Div"), _product),
    "Concat": _concat,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
"""Operators of which every input may depend on it."""


def input_gradients(op: OperatorRun, places: set[int]) -> dict[int, Values]:
    """The gradients of the inputs in these places."""
    if op.kind in MULTI_INPUT:
        return {i: g for i, g in MULTI_INPUT[op.kind](op).items() if i in places}
    return {0: SINGLE_INPUT[op.kind](op)}
