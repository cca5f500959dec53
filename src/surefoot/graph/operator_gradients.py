"""How ONNX operators pass a gradient back from their output to their input.

Where an operator has a corner its slope is that of one side; a maximum passes the gradient to the
first place that attains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.window_gradients import (
    average_pool_slope,
    convolution_slope,
    max_pool_slope,
)

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Seen:
    """One node as it was run: attributes, values of inputs and outputs, gradients of the outputs.

    An input that was left out is None, and so is the gradient of an output no one uses.
    """

    kind: str
    opset: int
    at: Mapping[str, Any]
    inputs: tuple[Values | None, ...]
    outputs: tuple[Values, ...]
    slopes: tuple[Values | None, ...]

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
        found = self.slopes[0]
        return np.zeros_like(self.outputs[0]) if found is None else found

    def input(self, place: int) -> Values:
        """An input that must be there."""
        found = self.inputs[place] if place < len(self.inputs) else None
        if found is None:
            raise InvalidArgument(
                f"the operator {self.kind} has no input {place}: export the file again"
            )
        return found

    def setting(self, name: str, place: int) -> Values | None:
        """What newer files give as an input and older ones as an attribute."""
        if name in self.at:
            return np.asarray(self.at[name])
        return self.inputs[place] if place < len(self.inputs) else None


def _unknown(what: str) -> InvalidArgument:
    return InvalidArgument(f"the gradient of {what} is not known")


def _fitted(g: Values, like: Values) -> Values:
    """The gradient of a value that was broadcast."""
    extra = g.ndim - like.ndim
    summed = g.sum(axis=tuple(range(extra))) if extra else g
    axes = tuple(i for i, n in enumerate(like.shape) if n == 1 and summed.shape[i] != 1)
    return summed.sum(axis=axes, keepdims=True) if axes else summed


def _sum(s: Seen) -> dict[int, Values]:
    sign = -1.0 if s.kind == "Sub" else 1.0
    given = [(i, v) for i, v in enumerate(s.inputs) if v is not None]
    return {i: _fitted(sign * s.g if i else s.g, v) for i, v in given}


def _product(s: Seen) -> dict[int, Values]:
    a, b = s.x, s.input(1)
    if s.kind == "Div":
        return {0: _fitted(s.g / b, a), 1: _fitted(-s.g * s.y / b, b)}
    return {0: _fitted(s.g * b, a), 1: _fitted(s.g * a, b)}


def _matmul(s: Seen) -> dict[int, Values]:
    a, b, g = s.x, s.input(1), s.g
    if a.ndim < 2 or b.ndim < 2:
        raise _unknown("MatMul of a vector")
    return {
        0: _fitted(g @ np.swapaxes(b, -1, -2), a),
        1: _fitted(np.swapaxes(a, -1, -2) @ g, b),
    }


def _gemm(s: Seen) -> dict[int, Values]:
    a, b, g = s.x, s.input(1), s.g * s.at.get("alpha", 1.0)
    left, right = bool(s.at.get("transA", 0)), bool(s.at.get("transB", 0))
    into_a = g @ (b if right else b.T)
    into_b = (a if left else a.T) @ g
    found = {0: into_a.T if left else into_a, 1: into_b.T if right else into_b}
    if len(s.inputs) > 2 and s.inputs[2] is not None:
        found[2] = _fitted(s.g * s.at.get("beta", 1.0), s.inputs[2])
    return found


def _batch_norm(s: Seen) -> Values:
    scale = s.input(1) / np.sqrt(s.input(4) + s.at.get("epsilon", 1e-5))
    return np.asarray(s.g * scale.reshape(1, -1, *(1,) * (s.x.ndim - 2)))


def _layer_norm(s: Seen) -> Values:
    first = s.at.get("axis", -1) % s.x.ndim
    axes = tuple(range(first, s.x.ndim))
    centred = s.x - s.x.mean(axis=axes, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=axes, keepdims=True) + s.at.get("epsilon", 1e-5))
    unit, g = centred / spread, s.g * s.input(1)
    rest = g.mean(axis=axes, keepdims=True) + unit * (g * unit).mean(axis=axes, keepdims=True)
    return np.asarray((g - rest) / spread)


def _softmax(s: Seen) -> Values:
    axis = s.at.get("axis", -1 if s.opset >= 13 else 1) % s.x.ndim
    if s.opset < 13 and axis != s.x.ndim - 1:
        raise _unknown(f"{s.kind} over several axes")
    if s.kind == "LogSoftmax":
        return np.asarray(s.g - np.exp(s.y) * s.g.sum(axis=axis, keepdims=True))
    return np.asarray(s.y * (s.g - (s.g * s.y).sum(axis=axis, keepdims=True)))


def _clip(s: Seen) -> Values:
    low, high = s.setting("min", 1), s.setting("max", 2)
    inside = np.ones(s.x.shape, bool)
    inside &= True if low is None else s.x >= low
    inside &= True if high is None else s.x <= high
    return np.where(inside, s.g, 0.0)


def _reduced(s: Seen) -> Values:
    axes = s.setting("axes", 1)
    chosen = tuple(range(s.x.ndim)) if axes is None else tuple(int(a) % s.x.ndim for a in axes)
    kept = tuple(1 if i in chosen else n for i, n in enumerate(s.x.shape))
    g = np.broadcast_to(s.g.reshape(kept), s.x.shape)
    return g / (s.x.size / s.y.size) if s.kind == "ReduceMean" else np.array(g)


def _global_max(s: Seen) -> Values:
    flat = s.x.reshape(*s.x.shape[:2], -1)
    found = np.zeros_like(flat, dtype=np.float32)
    at = flat.argmax(axis=-1)[..., None]
    np.put_along_axis(found, at, s.g.reshape(at.shape), axis=-1)
    return found.reshape(s.x.shape)


def _transpose(s: Seen) -> Values:
    order = s.at.get("perm", list(range(s.x.ndim))[::-1])
    return np.transpose(s.g, np.argsort(order))


def _concat(s: Seen) -> dict[int, Values]:
    parts = [v for v in s.inputs if v is not None]
    axis = s.at["axis"]
    ends = np.cumsum([p.shape[axis] for p in parts])[:-1]
    return dict(enumerate(np.split(s.g, ends, axis=axis)))


def _pad(s: Seen) -> Values:
    pads = s.setting("pads", 1)
    mode = s.at.get("mode", b"constant")
    if mode not in (b"constant", "constant") or len(s.inputs) > 3 or pads is None:
        raise _unknown("Pad other than by a constant on all axes")
    n = s.x.ndim
    if (np.asarray(pads) < 0).any():
        raise _unknown("Pad that cuts off")
    return s.g[tuple(slice(int(pads[i]), int(pads[i]) + s.x.shape[i]) for i in range(n))]


def _chosen(s: Seen) -> Values:
    """An operator that only picks values: where they come from is seen by picking places."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    rest = [v for v in s.inputs[1:] if v is not None]
    names = [f"i{k}" for k in range(len(rest) + 1)]
    outs = [f"o{k}" for k in range(len(s.outputs))]
    node = helper.make_node(s.kind, names, outs, **s.at)
    values = [np.arange(s.x.size, dtype=np.int64).reshape(s.x.shape), *rest]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in zip(names, values, strict=True)
    ]
    graph = helper.make_graph(
        [node], "g", infos, [helper.make_empty_tensor_value_info(o) for o in outs]
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", s.opset)])
    places = ReferenceEvaluator(made).run(None, dict(zip(names, values, strict=True)))
    found = np.zeros(s.x.size)
    for where, g in zip(places, s.slopes, strict=True):
        if g is not None:
            found += np.bincount(where.ravel(), weights=g.ravel(), minlength=s.x.size)
    return found.astype(np.float32).reshape(s.x.shape)


def _hard_sigmoid(s: Seen) -> Values:
    return np.where((s.y > 0) & (s.y < 1), s.g * s.at.get("alpha", 0.2), 0.0)


def _gelu(s: Seen) -> Values:
    from scipy.special import ndtr

    if s.at.get("approximate", b"none") not in (b"none", "none"):
        raise _unknown("Gelu approximated by tanh")
    return np.asarray(s.g * (ndtr(s.x) + s.x * np.exp(-(s.x**2) / 2) / math.sqrt(2 * math.pi)))


def _pow(s: Seen) -> Values:
    power = s.input(1).astype(np.float32)
    return np.asarray(s.g * power * s.x ** (power - 1))


def _same_shape(s: Seen) -> Values:
    return s.g.reshape(s.x.shape)


ONE: dict[str, Callable[[Seen], Values]] = {
    **dict.fromkeys(("Identity", "Dropout", "Cast"), lambda s: s.g),
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), _same_shape),
    **dict.fromkeys(("Slice", "Gather", "Split", "Expand", "Tile", "DepthToSpace"), _chosen),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("ReduceMean", "ReduceSum"), _reduced),
    "Abs": lambda s: s.g * np.sign(s.x),
    "AveragePool": lambda s: average_pool_slope(s.at, s.x, s.y, s.g),
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Conv": lambda s: convolution_slope(s.at, s.x, s.input(1), s.g),
    "Elu": lambda s: s.g * np.where(s.x > 0, 1.0, s.y + s.at.get("alpha", 1.0)),
    "Erf": lambda s: s.g * (2 / math.sqrt(math.pi)) * np.exp(-(s.x**2)),
    "Exp": lambda s: s.g * s.y,
    "Gelu": _gelu,
    "GlobalAveragePool": lambda s: np.broadcast_to(s.g, s.x.shape) * (s.y.size / s.x.size),
    "GlobalMaxPool": _global_max,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda s: s.g * np.where(abs(s.x) < 3, (2 * s.x + 3) / 6, s.x >= 3),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": lambda s: s.g * np.where(s.x > 0, 1.0, s.at.get("alpha", 0.01)),
    "Log": lambda s: s.g / s.x,
    "MaxPool": lambda s: max_pool_slope(s.at, s.x, s.y, s.g),
    "Neg": lambda s: -s.g,
    "PRelu": lambda s: s.g * np.where(s.x > 0, 1.0, s.input(1)),
    "Pad": _pad,
    "Pow": _pow,
    "Reciprocal": lambda s: -s.g * s.y**2,
    "Relu": lambda s: np.where(s.x > 0, s.g, 0.0),
    "Sigmoid": lambda s: s.g * s.y * (1 - s.y),
    "Softplus": lambda s: s.g / (1 + np.exp(-s.x)),
    "Sqrt": lambda s: s.g / (2 * s.y),
    "Tanh": lambda s: s.g * (1 - s.y**2),
    "Transpose": _transpose,
}
"""Operators whose first input alone may depend on the model's input."""

SEVERAL: dict[str, Callable[[Seen], dict[int, Values]]] = {
    **dict.fromkeys(("Add", "Sub", "Sum"), _sum),
    **dict.fromkeys(("Mul", "Div"), _product),
    "Concat": _concat,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
"""Operators any of whose inputs may."""


def pulled(seen: Seen, wanted: set[int]) -> dict[int, Values]:
    """The gradients of the inputs in these places."""
    if seen.kind in SEVERAL:
        return {i: g for i, g in SEVERAL[seen.kind](seen).items() if i in wanted}
    return {0: ONE[seen.kind](seen)}
