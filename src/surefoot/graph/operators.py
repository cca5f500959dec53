"""What each ONNX operator does, in any array namespace; NumPy's way where an operator needs one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from surefoot.errors import InvalidArgument
from surefoot.graph.network import Values
from surefoot.graph.onnx_file import Attributes, WindowLayout, window_layout
from surefoot.subject.protocols import Array

Namespace = Any
"""Of arrays, as array_api_compat gives it."""
STANDARD = ("", "ai.onnx")
"""The domain of ONNX's own operators."""


@dataclass(frozen=True, eq=False)
class Node:
    """One operator: what it takes and gives by name; an input that is left out is ""."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes
    domain: str = ""

    @property
    def standard(self) -> bool:
        """Whether it is an operator of ONNX itself."""
        return self.domain in STANDARD


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One operator about to be run: its inputs where the run is, None where one is left out.

    `host` holds those that are constants, or follow from shapes, in main memory.
    """

    node: Node
    opset: int
    xp: Namespace
    inputs: tuple[Array, ...]
    host: tuple[Values | None, ...]

    @property
    def x(self) -> Array:
        """The first input."""
        return self.inputs[0]

    def input(self, place: int) -> Array:
        """An input, None where it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def at(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  as ONNX has them
        """An attribute."""
        return self.node.attributes.get(name, default)

    def setting(self, name: str, place: int) -> Values | None:
        """What newer files give as an input and older ones as an attribute."""
        if name in self.node.attributes:
            return np.asarray(self.node.attributes[name])
        if self.input(place) is None:
            return None
        known = self.host[place]
        if known is None:
            raise self.unread(f"{name} depends on the input's values")
        return known

    def whole(self, name: str, place: int) -> list[int] | None:
        """The same as whole numbers."""
        values = self.setting(name, place)
        return None if values is None else [int(v) for v in values.reshape(-1)]

    def along(self, values: Values) -> Array:
        """Whole numbers, or weights, beside the first input."""
        if isinstance(self.x, np.ndarray):
            return values
        like = self.x.dtype if values.dtype.kind == "f" else None
        return self.xp.asarray(values, dtype=like, device=self.x.device)

    def unread(self, what: str) -> InvalidArgument:
        """A refusal of what the operator's table does not cover."""
        return InvalidArgument(
            f"the operator {self.node.op} that makes {self.node.outputs[0]} is not read where "
            f"{what}: export the model with plainer operators, or leave out the device and use a "
            "method that samples"
        )


Operator = Callable[[Call], Any]


def _unary(name: str) -> Operator:
    return lambda c: getattr(c.xp, name)(c.x)


def _binary(name: str) -> Operator:
    return lambda c: getattr(c.xp, name)(c.inputs[0], c.inputs[1])


def _folded(name: str) -> Operator:
    return lambda c: reduce(getattr(c.xp, name), c.inputs)


def _divide(c: Call) -> Array:
    a, b = c.inputs[:2]
    whole = c.xp.isdtype(a.dtype, "integral")  # ONNX cuts off: for sizes floor is the same
    return a // b if whole else a / b


def clipped(c: Call, x: Array, low: float | None, high: float | None) -> Array:
    """The values within limits that may be missing."""
    return c.xp.clip(x, low, high) if low is not None or high is not None else x


def limit(c: Call, name: str, place: int) -> float | None:
    """A limit of Clip."""
    value = c.setting(name, place)
    return None if value is None else float(value.reshape(()))


def _sigmoid(c: Call) -> Array:
    return 1 / (1 + c.xp.exp(-c.x))


def _leaky(c: Call) -> Array:
    return c.xp.where(c.x > 0, c.x, c.at("alpha", 0.01) * c.x)


def _prelu(c: Call) -> Array:
    return c.xp.where(c.x > 0, c.x, c.inputs[1] * c.x)


def _exponential(c: Call, alpha: float, gamma: float = 1.0, unit: float = 1.0) -> Array:
    below = alpha * (c.xp.exp(c.xp.where(c.x > 0, 0 * c.x, c.x) / unit) - 1)
    return gamma * c.xp.where(c.x > 0, c.x, below)


def _softplus(c: Call) -> Array:
    return c.xp.where(c.x > 0, c.x, 0 * c.x) + c.xp.log1p(c.xp.exp(-c.xp.abs(c.x)))


def _hard_swish(c: Call) -> Array:
    return c.x * c.xp.clip(c.x / 6 + 0.5, 0.0, 1.0)


def _hard_sigmoid(c: Call) -> Array:
    return c.xp.clip(c.at("alpha", 0.2) * c.x + c.at("beta", 0.5), 0.0, 1.0)


def _gelu(c: Call) -> Array:
    from scipy.special import erf

    x = c.x
    if c.at("approximate", "none") == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + np.tanh(inner))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)).astype(x.dtype))


def _erf(c: Call) -> Array:
    from scipy.special import erf

    return erf(c.x).astype(c.x.dtype)


FLOAT_CODES = {1, 10, 11, 16}
"""FLOAT, FLOAT16, DOUBLE, BFLOAT16 in onnx.proto3."""
_WHOLE_CODES = {2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool"}


def _cast(c: Call) -> Array:
    """Floats stay in the precision of the run."""
    code, floats = c.at("to"), c.xp.isdtype(c.x.dtype, "real floating")
    if code in FLOAT_CODES:
        return c.x if floats else c.xp.astype(c.x, c.along(np.zeros(1, np.float32)).dtype)
    if code not in _WHOLE_CODES:
        raise c.unread(f"it casts to type {code}")
    return c.xp.astype(c.x, getattr(c.xp, _WHOLE_CODES[code]))


def _reduction(name: str) -> Operator:
    def run(c: Call) -> Array:
        axes = c.whole("axes", 1)
        if not axes:
            if c.at("noop_with_empty_axes", 0):
                return c.x
            axes = list(range(c.x.ndim))
        x = abs(c.x) if name == "l1" else c.x * c.x if name in ("l2", "square") else c.x
        kind = "sum" if name in ("l1", "l2", "square") else name
        keep = bool(c.at("keepdims", 1))
        out = getattr(c.xp, kind)(x, axis=tuple(a % c.x.ndim for a in axes), keepdims=keep)
        return c.xp.sqrt(out) if name == "l2" else out

    return run


def _argmax(c: Call) -> Array:
    if c.at("select_last_index", 0):
        raise c.unread("the last of several greatest is taken")
    return c.xp.argmax(c.x, axis=c.at("axis", 0), keepdims=bool(c.at("keepdims", 1)))


def softmax_axis(c: Call) -> tuple[int, tuple[int, ...]]:
    """The axis of a Softmax, and the shape in which it is one: older files flatten to two axes."""
    if c.opset >= 13:
        return c.at("axis", -1) % c.x.ndim, tuple(c.x.shape)
    axis = c.at("axis", 1) % c.x.ndim
    if axis == c.x.ndim - 1:
        return axis, tuple(c.x.shape)
    return 1, (math.prod(c.x.shape[:axis]), math.prod(c.x.shape[axis:]))


def _softmax(c: Call) -> Array:
    axis, shape = softmax_axis(c)
    x = c.xp.reshape(c.x, shape)
    x = x - c.xp.max(x, axis=axis, keepdims=True)
    powers = c.xp.exp(x)
    total = c.xp.sum(powers, axis=axis, keepdims=True)
    out = x - c.xp.log(total) if c.node.op == "LogSoftmax" else powers / total
    return c.xp.reshape(out, tuple(c.x.shape))


def _flatten(c: Call) -> Array:
    axis = c.at("axis", 1)
    axis = axis % c.x.ndim if axis < 0 else axis
    return c.xp.reshape(c.x, (math.prod(c.x.shape[:axis]), math.prod(c.x.shape[axis:])))


def _reshape(c: Call) -> Array:
    shape = c.whole("shape", 1) or []
    if not c.at("allowzero", 0):
        shape = [c.x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return c.xp.reshape(c.x, tuple(shape))


def _transpose(c: Call) -> Array:
    return c.xp.permute_dims(c.x, tuple(c.at("perm", range(c.x.ndim)[::-1])))


def _squeeze(c: Call) -> Array:
    axes = c.whole("axes", 1)
    dropped = (
        {i for i, n in enumerate(c.x.shape) if n == 1}
        if axes is None
        else {a % c.x.ndim for a in axes}
    )
    if any(c.x.shape[i] != 1 for i in dropped):
        raise c.unread(f"axes {sorted(dropped)} of {tuple(c.x.shape)} are not of length 1")
    return c.xp.reshape(c.x, tuple(n for i, n in enumerate(c.x.shape) if i not in dropped))


def _unsqueeze(c: Call) -> Array:
    axes = c.whole("axes", 1) or []
    places = {a % (c.x.ndim + len(axes)) for a in axes}
    lengths = iter(c.x.shape)
    full = (1 if i in places else next(lengths) for i in range(c.x.ndim + len(axes)))
    return c.xp.reshape(c.x, tuple(full))


def _expand(c: Call) -> Array:
    shape = np.broadcast_shapes(tuple(c.x.shape), tuple(c.whole("shape", 1) or []))
    return c.xp.broadcast_to(c.x, shape)


def _tile(c: Call) -> Array:
    return c.xp.tile(c.x, tuple(c.whole("repeats", 1) or []))


def _concat(c: Call) -> Array:
    return c.xp.concat([x for x in c.inputs if x is not None], axis=c.at("axis"))


def _slice(c: Call) -> Array:
    starts, ends = c.whole("starts", 1) or [], c.whole("ends", 2) or []
    axes = c.whole("axes", 3) or list(range(len(starts)))
    steps = c.whole("steps", 4) or [1] * len(starts)
    out = c.x
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        length, place = out.shape[axis], axis % out.ndim
        part = slice(*slice(start, end, step).indices(length))
        if step > 0:
            out = out[(slice(None),) * place + (part,)]
        else:
            taken = np.array(range(length)[slice(start, end, step)], np.int64)
            out = c.xp.take(out, c.along(taken), axis=place)
    return out


def _split(c: Call) -> tuple[Array, ...]:
    axis = c.at("axis", 0) % c.x.ndim
    length, count = c.x.shape[axis], c.at("num_outputs", len(c.node.outputs))
    sizes = c.whole("split", 1) or [-(-length // count)] * count
    ends = np.minimum(np.cumsum(sizes), length).tolist()
    lead = (slice(None),) * axis
    return tuple(c.x[(*lead, slice(a, b))] for a, b in zip([0, *ends], ends, strict=False))


def _gather(c: Call) -> Array:
    axis = c.at("axis", 0) % c.x.ndim
    known, length = c.host[1], c.x.shape[axis]
    if known is not None and known.ndim == 0:
        return c.x[(slice(None),) * axis + (int(known),)]
    places = c.along(known % length) if known is not None else c.inputs[1] % length
    out = c.xp.take(c.x, c.xp.reshape(places, (-1,)), axis=axis)
    return c.xp.reshape(out, (*c.x.shape[:axis], *places.shape, *c.x.shape[axis + 1 :]))


def _pad(c: Call) -> Array:
    pads, mode = c.whole("pads", 1) or [], c.at("mode", "constant")
    axes = c.whole("axes", 3) or list(range(len(pads) // 2))
    fill = c.setting("value", 2)
    value = 0.0 if fill is None or fill.size == 0 else float(fill.reshape(()))
    out = c.x
    for i, axis in enumerate(a % c.x.ndim for a in axes):
        before, after = pads[i], pads[i + len(axes)]
        if before == after == 0:
            continue
        inner = (slice(None),) * axis + (slice(max(-before, 0), out.shape[axis] - max(-after, 0)),)
        out, before, after = out[inner], max(before, 0), max(after, 0)
        if mode == "constant":
            out = padded(c, out, {axis: (before, after)}, value)
            continue
        places = np.pad(np.arange(out.shape[axis]), (before, after), mode=mode)
        out = c.xp.take(out, c.along(places), axis=axis)
    return out


def padded(c: Call, x: Array, pads: dict[int, tuple[int, int]], value: float) -> Array:
    """The array with this value before and behind some of its axes."""
    for axis, lengths in pads.items():
        if lengths == (0, 0):
            continue
        shapes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in lengths]
        where = {} if isinstance(x, np.ndarray) else {"device": x.device}
        before, after = (c.xp.full(s, value, dtype=x.dtype, **where) for s in shapes)
        x = c.xp.concat([before, x, after], axis=axis)
    return x


def _depth_to_space(c: Call) -> Array:
    n, depth, rows, columns = c.x.shape
    b = c.at("blocksize")
    if c.at("mode", "DCR") == "DCR":
        parts, order = (n, b, b, depth // b**2, rows, columns), (0, 3, 4, 1, 5, 2)
    else:
        parts, order = (n, depth // b**2, b, b, rows, columns), (0, 1, 4, 2, 5, 3)
    apart = c.xp.permute_dims(c.xp.reshape(c.x, parts), order)
    return c.xp.reshape(apart, (n, depth // b**2, rows * b, columns * b))


def _space_to_depth(c: Call) -> Array:
    n, depth, rows, columns = c.x.shape
    b = c.at("blocksize")
    apart = c.xp.reshape(c.x, (n, depth, rows // b, b, columns // b, b))
    apart = c.xp.permute_dims(apart, (0, 3, 5, 1, 2, 4))
    return c.xp.reshape(apart, (n, depth * b**2, rows // b, columns // b))


def _resize(c: Call) -> Array:
    """Axis by axis: the nearest value, a line between two, or a cubic curve through four."""
    older = c.node.op == "Upsample" or c.opset < 11
    mode = c.at("mode", "nearest")
    how = "asymmetric" if older else c.at("coordinate_transformation_mode", "half_pixel")
    known = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    if mode not in ("nearest", "linear", "cubic") or how not in known or c.at("antialias", 0):
        raise c.unread(f"its mode is {mode}, {how}")
    if c.at("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise c.unread("it keeps the aspect ratio")
    scales = c.setting("scales", 1 if older else 2)
    sizes = None if older else c.whole("sizes", 3)
    axes = [a % c.x.ndim for a in c.at("axes", range(c.x.ndim))]
    out = c.x
    for i, axis in enumerate(axes):
        length = out.shape[axis]
        scale = sizes[i] / length if sizes else float(np.asarray(scales)[i])
        new = sizes[i] if sizes else math.floor(length * scale)
        if new == length and scale == 1:
            continue
        at = _coordinates(how, new, length, scale)
        if mode == "nearest":
            rounding = "floor" if older else c.at("nearest_mode", "round_prefer_floor")
            places = np.clip(_ROUNDINGS[rounding](at), 0, length - 1).astype(np.int64)
            out = c.xp.take(out, c.along(places), axis=axis)
            continue
        if mode == "linear":
            at = np.clip(at, 0, length - 1)
        near = np.floor(at)[:, None] + ((0, 1) if mode == "linear" else (-1, 0, 1, 2))
        far = np.abs(at[:, None] - near)
        shares = 1 - far if mode == "linear" else _cubic(far, c.at("cubic_coeff_a", -0.75))
        if mode == "cubic" and c.at("exclude_outside", 0):
            shares = shares * ((near >= 0) & (near < length))
            shares = shares / shares.sum(axis=1, keepdims=True)
        places = np.clip(near, 0, length - 1).astype(np.int64)
        beside = (-1, *(1,) * (out.ndim - axis - 1))
        out = sum(
            c.xp.take(out, c.along(place), axis=axis)
            * c.xp.astype(c.along(share.reshape(beside)), out.dtype)
            for place, share in zip(places.T, shares.T, strict=True)
        )
    return out


def _cubic(far: Values, a: float) -> Values:
    """The share of a value so far away, at most 2 (Keys 1981, equation 4 with a free `a`)."""
    inner = ((a + 2) * far - (a + 3)) * far**2 + 1
    outer = ((far - 5) * far + 8) * far * a - 4 * a
    return np.where(far <= 1, inner, outer)


_ROUNDINGS: dict[str, Callable[[Values], Values]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
}


def _coordinates(how: str, new: int, length: int, scale: float) -> Values:
    """Where the places of a resized axis lie on the axis before."""
    i = np.arange(new, dtype=np.float64)
    match how:
        case "align_corners":
            return i * (length - 1) / (new - 1) if new > 1 else 0 * i
        case "asymmetric":
            return i / scale
        case "pytorch_half_pixel" if new == 1:
            return 0 * i
        case _:
            return (i + 0.5) / scale - 0.5


def _gemm(c: Call) -> Array:
    a, b = c.inputs[:2]
    a = a.T if c.at("transA", 0) else a
    b = b.T if c.at("transB", 0) else b
    out, alpha, beta = a @ b, c.at("alpha", 1.0), c.at("beta", 1.0)
    out = out if alpha == 1 else alpha * out
    bias = c.input(2)
    return out if bias is None else out + (bias if beta == 1 else beta * bias)


def per_channel(x: Array, values: Array) -> Array:
    """Values of the second axis, beside all others."""
    return values.reshape((1, -1, *(1,) * (x.ndim - 2)))


def _batch_norm(c: Call) -> Array:
    if c.at("training_mode", 0):
        raise c.unread("it is in training mode, which mixes the inputs of a batch")
    scale, bias, mean, variance = (per_channel(c.x, v) for v in c.inputs[1:5])
    return (c.x - mean) / c.xp.sqrt(variance + c.at("epsilon", 1e-5)) * scale + bias


def standardised(c: Call, x: Array, axes: tuple[int, ...]) -> Array:
    """Minus its mean and over its deviation."""
    centred = x - c.xp.mean(x, axis=axes, keepdims=True)
    variance = c.xp.mean(centred * centred, axis=axes, keepdims=True)
    return centred / c.xp.sqrt(variance + c.at("epsilon", 1e-5))


def _layer_norm(c: Call) -> Array:
    axes = tuple(range(c.at("axis", -1) % c.x.ndim, c.x.ndim))
    out, bias = standardised(c, c.x, axes) * c.inputs[1], c.input(2)
    return out if bias is None else out + bias


def _instance_norm(c: Call) -> Array:
    unit = standardised(c, c.x, tuple(range(2, c.x.ndim)))
    return unit * per_channel(c.x, c.inputs[1]) + per_channel(c.x, c.inputs[2])


def _scale_of(c: Call, place: int) -> tuple[Array, Array]:
    """Scale and zero point of a quantisation, one for all or one for each place of an axis."""
    if c.at("block_size", 0):
        raise c.unread("it is quantised in blocks")
    scale, zero = c.inputs[place], c.input(place + 1)
    if scale.ndim == 1 and scale.shape[0] > 1:
        shape = [1] * c.x.ndim
        shape[c.at("axis", 1)] = -1
        scale, zero = (v if v is None else v.reshape(shape) for v in (scale, zero))
    return scale, zero


_QUANTA = {2: "uint8", 3: "int8", 4: "uint16", 5: "int16"}


def quantised(c: Call, x: Array, place: int, rounded: Callable[[Array], Array]) -> Array:
    """Whole numbers as floats: what follows takes them so, and a slope can pass."""
    scale, zero = _scale_of(c, place)
    known = c.host[place + 1] if place + 1 < len(c.host) else None
    code = c.at("output_dtype", 0) or 2  # without a zero point; it must be that of one
    if known is None and code not in _QUANTA:
        raise c.unread(f"it quantises to type {code}")
    info = np.iinfo(_QUANTA[code] if known is None else known.dtype)
    whole = rounded(x / scale)
    moved = whole if zero is None else whole + c.xp.astype(zero, whole.dtype)
    return c.xp.clip(moved, float(info.min), float(info.max))


def _quantise(c: Call) -> Array:
    return quantised(c, c.x, 1, c.xp.round)


def _dequantise(c: Call) -> Array:
    scale, zero = _scale_of(c, 1)
    x = c.xp.astype(c.x, scale.dtype)
    return (x if zero is None else x - c.xp.astype(zero, scale.dtype)) * scale


def extent(out: Sequence[int], kernel: Sequence[int], layout: WindowLayout) -> list[int]:
    """The length that the windows cover along each axis, padding included."""
    axes = zip(out, kernel, layout.strides, layout.dilations, strict=True)
    return [(o - 1) * s + (k - 1) * d + 1 for o, k, s, d in axes]


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of a pool: padding, and how many there are along each axis."""

    kernel: tuple[int, ...]
    layout: WindowLayout
    out: tuple[int, ...]
    pads: dict[int, tuple[int, int]]
    """Before and behind each axis, with what the last windows reach beyond the padding."""

    def places(self) -> Iterator[tuple[Any, ...]]:
        """One slice of the padded array for each place of the kernel, of the output's shape."""
        for place in product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(place, self.layout.dilations, strict=True)]
            axes = zip(starts, self.out, self.layout.strides, strict=True)
            yield (..., *(slice(b, b + (o - 1) * s + 1, s) for b, o, s in axes))


def windows_of(c: Call) -> Windows:
    """Where a pool looks; with `ceil_mode` a last window may reach beyond the padding."""
    kernel, space = tuple(c.at("kernel_shape")), tuple(c.x.shape[2:])
    layout = window_layout(c.node.attributes, space, kernel)
    out, pads = [], {}
    axes = zip(space, kernel, layout.pads, layout.strides, layout.dilations, strict=True)
    for axis, (size, k, (before, after), s, d) in enumerate(axes, 2):
        room = size + before + after - ((k - 1) * d + 1)
        count = (-(-room // s) if c.at("ceil_mode", 0) else room // s) + 1
        if (count - 1) * s >= size + before:  # it would begin in the padding
            count -= 1
        out.append(count)
        pads[axis] = (before, after + max(0, (count - 1) * s - room))
    return Windows(kernel, layout, tuple(out), pads)


def max_pool(c: Call) -> Array:
    """The greatest of each window."""
    w = windows_of(c)
    whole = padded(c, c.x, w.pads, -math.inf)
    return reduce(c.xp.maximum, (whole[place] for place in w.places()))


def window_counts(c: Call, w: Windows) -> Values:
    """How many values each window counts, with or without the padding."""
    ones = np.ones((1, 1, *c.x.shape[2:]))
    shown = [(0, 0), (0, 0), *w.layout.pads]
    counted = np.pad(ones, shown, constant_values=float(c.at("count_include_pad", 0)))
    beyond = [(0, w.pads[i][1] - after) for i, (_, after) in enumerate(w.layout.pads, 2)]
    counted = np.pad(counted, [(0, 0), (0, 0), *beyond])
    return np.asarray(np.add.reduce([counted[place] for place in w.places()]))


def _average_pool(c: Call) -> Array:
    w = windows_of(c)
    whole = padded(c, c.x, w.pads, 0.0)
    total = reduce(lambda a, b: a + b, (whole[place] for place in w.places()))
    return total / c.xp.astype(c.along(window_counts(c, w)), total.dtype)


def _global_pool(name: str) -> Operator:
    return lambda c: getattr(c.xp, name)(c.x, axis=tuple(range(2, c.x.ndim)), keepdims=True)


_CHUNK_VALUES = 1 << 24
"""Values of the windows of one piece, 128 MiB in float64: a whole batch would fill the memory."""


def convolve(a: Values, weights: Values, layout: WindowLayout, groups: int) -> Values:
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
        whole = np.pad(a[i : i + piece], [(0, 0), (0, 0), *layout.pads])
        windows = sliding_window_view(whole, spans, axis=tuple(range(2, 2 + rank)))
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


def _conv(c: Call) -> Values:
    layout = window_layout(c.node.attributes, c.x.shape[2:], c.inputs[1].shape[2:])
    out, bias = convolve(c.x, c.inputs[1], layout, c.at("group", 1)), c.input(2)
    return out if bias is None else out + per_channel(out, bias)


def transposed_pads(c: Call) -> tuple[WindowLayout, list[int]]:
    """What a transposed convolution cuts off its whole output, and what it adds behind."""
    kernel, space = c.inputs[1].shape[2:], c.x.shape[2:]
    plain = {k: v for k, v in c.node.attributes.items() if k != "auto_pad"}
    layout = window_layout(plain, space, kernel)
    more = list(c.at("output_padding", [0] * len(space)))
    auto, shape = c.at("auto_pad", "NOTSET"), c.at("output_shape")
    if shape is None and auto.startswith("SAME"):
        shape = [n * s for n, s in zip(space, layout.strides, strict=True)]
    if shape is None:
        return layout, more
    whole = extent(space, kernel, layout)
    pads = []
    for size, extra, wanted in zip(whole, more, shape[-len(space) :], strict=True):
        total = max(size + extra - wanted, 0)
        less = total // 2
        pads.append((less, total - less) if auto == "SAME_UPPER" else (total - less, less))
    return WindowLayout(pads, layout.strides, layout.dilations), more


def cut_transposed(c: Call, whole: Array, layout: WindowLayout, more: list[int]) -> Array:
    """The part of a transposed convolution's whole output that is kept, with the bias."""
    whole = padded(c, whole, {i + 2: (0, n) for i, n in enumerate(more) if n}, 0.0)
    lengths = zip(whole.shape[2:], layout.pads, strict=True)
    out = whole[(..., *(slice(before, n - after) for n, (before, after) in lengths))]
    bias = c.input(2)
    return out if bias is None else out + per_channel(out, bias)


def _conv_transpose(c: Call) -> Array:
    x, weights, groups = c.x, c.inputs[1], c.at("group", 1)
    layout, more = transposed_pads(c)
    kernel, space = weights.shape[2:], x.shape[2:]
    each, outputs = x.shape[1] // groups, weights.shape[1]
    whole = np.zeros((len(x), outputs * groups, *extent(space, kernel, layout)), x.dtype)
    for place in product(*map(range, kernel)):
        axes = zip(place, space, layout.strides, layout.dilations, strict=True)
        at: tuple[Any, ...] = (
            ...,
            *(slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in axes),
        )
        for g in range(groups):
            part = weights[(slice(g * each, (g + 1) * each), slice(None), *place)]
            moved = np.tensordot(x[:, g * each : (g + 1) * each], part, ([1], [0]))
            whole[:, g * outputs : (g + 1) * outputs][at] += np.moveaxis(moved, -1, 1)
    return cut_transposed(c, whole, layout, more)


OPERATORS: dict[str, Operator] = {
    **{name: _unary(name.lower()) for name in ("Abs", "Exp", "Log", "Sqrt", "Tanh", "Floor")},
    **{name: _unary(name.lower()) for name in ("Ceil", "Round", "Sign", "Sin", "Cos")},
    **{f"Reduce{name}": _reduction(name.lower()) for name in ("Mean", "Sum", "Max", "Min", "Prod")},
    "ReduceL1": _reduction("l1"),
    "ReduceL2": _reduction("l2"),
    "ReduceSumSquare": _reduction("square"),
    "Add": lambda c: c.inputs[0] + c.inputs[1],
    "And": _binary("logical_and"),
    "ArgMax": _argmax,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Celu": lambda c: _exponential(c, c.at("alpha", 1.0), unit=c.at("alpha", 1.0)),
    "Clip": lambda c: clipped(c, c.x, limit(c, "min", 1), limit(c, "max", 2)),
    "Concat": _concat,
    "ConstantOfShape": lambda c: np.full(
        [int(n) for n in c.x], np.asarray(c.at("value", np.zeros(1, np.float32))).reshape(())
    ),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "DequantizeLinear": _dequantise,
    "Div": _divide,
    "Einsum": lambda c: c.xp.einsum(c.at("equation"), *c.inputs),
    "Elu": lambda c: _exponential(c, c.at("alpha", 1.0)),
    "Equal": _binary("equal"),
    "Erf": _erf,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_pool("mean"),
    "GlobalMaxPool": _global_pool("max"),
    "Greater": _binary("greater"),
    "GreaterOrEqual": _binary("greater_equal"),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky,
    "Less": _binary("less"),
    "LessOrEqual": _binary("less_equal"),
    "LogSoftmax": _softmax,
    "MatMul": lambda c: c.inputs[0] @ c.inputs[1],
    "Max": _folded("maximum"),
    "MaxPool": max_pool,
    "Mean": lambda c: reduce(c.xp.add, c.inputs) / len(c.inputs),
    "Min": _folded("minimum"),
    "Mul": lambda c: c.inputs[0] * c.inputs[1],
    "Neg": lambda c: -c.x,
    "Not": _unary("logical_not"),
    "Or": _binary("logical_or"),
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": lambda c: c.x ** c.xp.astype(c.inputs[1], c.x.dtype),
    "QuantizeLinear": _quantise,
    "Range": lambda c: np.arange(*(v.reshape(()) for v in c.inputs)),
    "Reciprocal": lambda c: 1 / c.x,
    "Relu": lambda c: c.xp.where(c.x > 0, c.x, 0 * c.x),
    "Reshape": _reshape,
    "Resize": _resize,
    "Selu": lambda c: _exponential(
        c, c.at("alpha", 1.67326319217681884765625), c.at("gamma", 1.05070102214813232421875)
    ),
    "Shape": lambda c: np.array(c.x.shape[c.at("start", 0) : c.at("end", c.x.ndim)], np.int64),
    "Sigmoid": _sigmoid,
    "Size": lambda c: np.array(math.prod(c.x.shape), np.int64),
    "Slice": _slice,
    "Softmax": _softmax,
    "Softplus": _softplus,
    "Softsign": lambda c: c.x / (1 + c.xp.abs(c.x)),
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": lambda c: c.inputs[0] - c.inputs[1],
    "Sum": _folded("add"),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resize,
    "Where": lambda c: c.xp.where(*c.inputs),
}
"""Every operator that is read. Those that PyTorch has kernels for are run by these there."""
FROM_SHAPES = {"Shape", "Size"}
"""Operators whose output is known from the shape of their input."""
