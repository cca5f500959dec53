"""ONNX operators that are affine, on values held as matrices over the last layer's outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.affine_value import AffineValue
from surefoot.graph.network import Floats

Attributes = Mapping[str, Any]
_CHUNK_VALUES = 1 << 24
"""Values of the windows of one piece, 128 MiB in float64: a whole batch would fill the memory."""


def apply_affine(
    kind: str,
    value: AffineValue,
    constants: Sequence[NDArray[Any] | None],
    attributes: Attributes,
    swapped: bool,
) -> AffineValue | None:
    """The value after one operator, or nothing when the operator is not one of these.

    `constants` are the other inputs; `swapped`: a constant came before the value.
    """
    first = constants[0].astype(np.float64) if constants and constants[0] is not None else None
    if kind in _SHAPES:
        return _SHAPES[kind](value, constants, attributes)
    if kind in _WITH_WEIGHTS and first is not None:
        return _WITH_WEIGHTS[kind](value, first, constants[1:], attributes, swapped)
    if kind == "AveragePool":
        return _average_pool(value, attributes)
    if kind == "GlobalAveragePool":
        axes = tuple(range(3, value.columns.ndim))
        terms = int(np.prod(value.shape[2:]))
        return value.multiplied(lambda a, _: a.mean(axis=axes, keepdims=True), np.ones(1), terms)
    return None


def _flatten(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    axis = int(attributes.get("axis", 1))
    lead = int(np.prod(value.shape[:axis]))
    return value.rearranged(lambda a: a.reshape(len(a), lead, -1))


def _reshape(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    shape = [int(v) for v in (constants[0] if constants else attributes["shape"])]
    if not attributes.get("allowzero", 0):
        shape = [value.shape[i] if v == 0 else v for i, v in enumerate(shape)]
    return value.rearranged(lambda a: a.reshape(len(a), *shape))


def _transpose(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    perm = attributes.get("perm", range(len(value.shape))[::-1])
    return value.rearranged(lambda a: a.transpose(0, *(p + 1 for p in perm)))


def _axes(constants: Sequence[Any], attributes: Attributes) -> list[int] | None:
    axes = constants[0] if constants and constants[0] is not None else attributes.get("axes")
    return None if axes is None else [int(v) for v in axes]


def _squeeze(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    rank = len(value.shape)
    axes = _axes(constants, attributes)
    dropped = [i for i in range(rank) if value.shape[i] == 1] if axes is None else axes
    remaining = [s for i, s in enumerate(value.shape) if i not in {g % rank for g in dropped}]
    return value.rearranged(lambda a: a.reshape(len(a), *remaining))


def _unsqueeze(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    axes = _axes(constants, attributes) or []
    rank = len(value.shape) + len(axes)
    places = tuple(a % rank + 1 for a in axes)
    return value.rearranged(lambda a: np.expand_dims(a, places))


def _same(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    return value


def _gemm(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    if swapped or attributes.get("transA", 0):
        raise InvalidArgument(
            "Gemm is read only as value·weights + bias: export the layer as a plain linear layer"
        )
    weights = attributes.get("alpha", 1.0) * (b.T if attributes.get("transB", 0) else b)
    product = value.multiplied(lambda a, w: a @ w, weights, len(weights))
    if not rest or rest[0] is None:
        return product
    return product.shifted(attributes.get("beta", 1.0) * rest[0].astype(np.float64))


def _matmul(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    if swapped:
        return value.multiplied(lambda a, w: w @ a, b, b.shape[-1])
    return value.multiplied(lambda a, w: a @ w, b, b.shape[-2])


def _add(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    return value.shifted(b)


def _sub(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    return value.scaled(np.asarray(-1.0)).shifted(b) if swapped else value.shifted(-b)


def _mul(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    return value.scaled(b)


def _div(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    if swapped or (b == 0).any():
        raise InvalidArgument(
            "Div is read only as a value over constants other than 0: fold it into the weights"
        )
    return value.scaled(1 / b)


def _norm(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    if attributes.get("training_mode", 0):
        raise InvalidArgument(
            "BatchNormalization is in training mode: export the model after eval()"
        )
    bias, mean, variance = (np.asarray(r, np.float64) for r in rest)
    scale = b / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    shape = (1, -1, *(1,) * (len(value.shape) - 2))
    size = (np.abs(bias) + np.abs(mean * scale)).reshape(shape)
    return value.scaled(scale.reshape(shape)).shifted((bias - mean * scale).reshape(shape), size)


def _conv(
    value: AffineValue, b: Floats, rest: Sequence[Any], attributes: Attributes, swapped: bool
) -> AffineValue:
    kernel = b.shape[2:]
    layout = _window_layout(attributes, value.shape[2:], kernel)
    groups = int(attributes.get("group", 1))
    terms = int(np.prod(b.shape[1:]))
    product = value.multiplied(
        lambda a, w: _convolve(a[:, 0], w, layout, groups)[:, None], b, terms
    )
    if not rest or rest[0] is None:
        return product
    return product.shifted(rest[0].astype(np.float64).reshape(1, -1, *(1,) * len(kernel)))


@dataclass(frozen=True)
class _WindowLayout:
    """Where a kernel is laid: padding of each axis, steps, gaps within the kernel."""

    pads: list[tuple[int, int]]
    strides: list[int]
    dilations: list[int]


def _window_layout(
    attributes: Attributes, space: tuple[int, ...], kernel: tuple[int, ...]
) -> _WindowLayout:
    rank = len(kernel)
    strides = [int(s) for s in attributes.get("strides", [1] * rank)]
    dilations = [int(d) for d in attributes.get("dilations", [1] * rank)]
    auto = attributes.get("auto_pad", b"NOTSET")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        pads = []
        for size, k, s, d in zip(space, kernel, strides, dilations, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            less, more = total // 2, total - total // 2
            pads.append((less, more) if auto == b"SAME_UPPER" else (more, less))
    else:
        flat = (
            [int(p) for p in attributes.get("pads", [0] * 2 * rank)]
            if auto == b"NOTSET"
            else [0] * 8
        )
        pads = [(flat[i], flat[i + rank]) for i in range(rank)]
    return _WindowLayout(pads, strides, dilations)


def _convolve(a: Floats, weights: Floats, layout: _WindowLayout, groups: int) -> Floats:
    """Cross-correlation of a batch, a piece of it at a time."""
    kernel = weights.shape[2:]
    rank = len(kernel)
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, layout.dilations, strict=True))
    steps = tuple(slice(None, None, s) for s in layout.strides)
    holes = tuple(slice(None, None, d) for d in layout.dilations)
    piece = max(1, _CHUNK_VALUES // max(1, a[0].size * int(np.prod(kernel))))
    inputs, outputs = a.shape[1] // groups, len(weights) // groups
    out = []
    for i in range(0, len(a), piece):
        padded = np.pad(a[i : i + piece], [(0, 0), (0, 0), *layout.pads])
        windows = sliding_window_view(padded, spans, axis=tuple(range(2, 2 + rank)))
        windows = windows[(slice(None), slice(None), *steps, *holes)]
        over = [1, *range(2 + rank, 2 + 2 * rank)]
        parts = [
            np.tensordot(
                windows[:, g * inputs : (g + 1) * inputs],
                weights[g * outputs : (g + 1) * outputs],
                (over, [1, *range(2, 2 + rank)]),
            )
            for g in range(groups)
        ]
        out.append(np.moveaxis(np.concatenate(parts, axis=-1), -1, 1))
    return np.concatenate(out)


def _average_pool(value: AffineValue, attributes: Attributes) -> AffineValue:
    if attributes.get("ceil_mode", 0):
        raise InvalidArgument("AveragePool with ceil_mode is not read: pad the input instead")
    kernel = tuple(int(k) for k in attributes["kernel_shape"])
    layout = _window_layout(attributes, value.shape[2:], kernel)
    channels = value.shape[1]
    ones = np.ones((channels, 1, *kernel))
    count: Any = float(np.prod(kernel))
    if not attributes.get("count_include_pad", 0):
        count = _convolve(np.ones((1, *value.shape[1:])), ones, layout, channels)
    pooled = value.multiplied(
        lambda a, w: _convolve(a[:, 0], w, layout, channels)[:, None], ones, int(np.prod(kernel))
    )
    return pooled.scaled(np.asarray(1 / count))


def _dropout(value: AffineValue, constants: Sequence[Any], attributes: Attributes) -> AffineValue:
    training = len(constants) > 1 and constants[1] is not None and bool(np.any(constants[1]))
    if training:
        raise InvalidArgument("Dropout is in training mode: export the model after eval()")
    return value


_SHAPES: dict[str, Callable[[AffineValue, Sequence[Any], Attributes], AffineValue]] = {
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Identity": _same,
    "Dropout": _dropout,
}
_WITH_WEIGHTS: dict[
    str, Callable[[AffineValue, Floats, Sequence[Any], Attributes, bool], AffineValue]
] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "BatchNormalization": _norm,
    "Conv": _conv,
}
AFFINE = frozenset({*_SHAPES, *_WITH_WEIGHTS, "AveragePool", "GlobalAveragePool"})
