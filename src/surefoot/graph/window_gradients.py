"""How convolutions and pools pass a gradient back, in any number of dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.onnx_session import quiet_session

Values = NDArray[Any]


def _per_axis(attributes: Mapping[str, Any], name: str, n: int) -> list[int]:
    return [int(v) for v in attributes.get(name, [1] * n)]


def _front_padding(
    attributes: Mapping[str, Any], size: list[int], out: list[int], kernel: list[int]
) -> list[int]:
    """The padding in front of each axis."""
    n = len(size)
    mode = attributes.get("auto_pad", b"NOTSET")
    mode = mode.decode() if isinstance(mode, bytes) else mode
    if mode == "NOTSET":
        return [int(p) for p in attributes.get("pads", [0] * 2 * n)[:n]]
    if mode == "VALID":
        return [0] * n
    stride, dilation = _per_axis(attributes, "strides", n), _per_axis(attributes, "dilations", n)
    whole = [
        max((o - 1) * s + (k - 1) * d + 1 - i, 0)
        for i, o, k, s, d in zip(size, out, kernel, stride, dilation, strict=True)
    ]
    return [w // 2 if mode == "SAME_UPPER" else w - w // 2 for w in whole]


def convolution_gradient(
    attributes: Mapping[str, Any], x: Values, weights: Values, g: Values
) -> Values:
    """The transposed convolution, by onnxruntime."""
    n = x.ndim - 2
    kernel, size, out = list(weights.shape[2:]), list(x.shape[2:]), list(g.shape[2:])
    front = _front_padding(attributes, size, out, kernel)
    stride, dilation = _per_axis(attributes, "strides", n), _per_axis(attributes, "dilations", n)
    extent = [
        (o - 1) * s + (k - 1) * d + 1
        for o, k, s, d in zip(out, kernel, stride, dilation, strict=True)
    ]
    # what the windows cover, less the padding in front; a rest behind was not covered
    run = _transposed(
        tuple(kernel), tuple(stride), tuple(dilation), int(attributes.get("group", 1))
    )
    fed = {"g": np.ascontiguousarray(g, np.float32), "w": weights.astype(np.float32)}
    (covered,) = run.run(None, fed)
    gradient = np.zeros(x.shape, np.float32)
    into, take = [slice(None)] * 2, [slice(None)] * 2
    for b, r, i in zip(front, extent, size, strict=True):
        covered_size = min(r - b, i)
        into.append(slice(0, covered_size))
        take.append(slice(b, b + covered_size))
    gradient[tuple(into)] = covered[tuple(take)]
    return gradient


@lru_cache(maxsize=256)
def _transposed(
    kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], group: int
) -> Any:  # noqa: ANN401  a session
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


class _Windows:
    """The windows of a pool: for each place of the kernel, a slice of the padded input."""

    def __init__(self, attributes: Mapping[str, Any], x: Values, y: Values) -> None:
        n = x.ndim - 2
        self.kernel = [int(k) for k in attributes["kernel_shape"]]
        self.size, self.out = list(x.shape[2:]), list(y.shape[2:])
        self.stride, self.dilation = (
            _per_axis(attributes, "strides", n),
            _per_axis(attributes, "dilations", n),
        )
        self.front = _front_padding(attributes, self.size, self.out, self.kernel)
        self.padded_size = [
            max((o - 1) * s + (k - 1) * d + 1, b + i)
            for o, k, s, d, b, i in zip(
                self.out,
                self.kernel,
                self.stride,
                self.dilation,
                self.front,
                self.size,
                strict=True,
            )
        ]

    @property
    def inner(self) -> tuple[slice, ...]:
        """Where the input lies in the padded array."""
        return (
            slice(None),
            slice(None),
            *(slice(b, b + i) for b, i in zip(self.front, self.size, strict=True)),
        )

    def padded(self, x: Values, value: float) -> Values:
        """The input among such values."""
        padded = np.full((*x.shape[:2], *self.padded_size), value, np.float32)
        padded[self.inner] = x
        return padded

    def places(self) -> Iterator[tuple[slice, ...]]:
        """One slice of the padded array for each place of the kernel, of the output's shape."""
        for place in product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(place, self.dilation, strict=True)]
            yield (
                slice(None),
                slice(None),
                *(
                    slice(b, b + (o - 1) * s + 1, s)
                    for b, o, s in zip(starts, self.out, self.stride, strict=True)
                ),
            )


def max_pool_gradient(attributes: Mapping[str, Any], x: Values, y: Values, g: Values) -> Values:
    """To the first of the places that attain the maximum."""
    windows = _Windows(attributes, x, y)
    among, gradient = windows.padded(x, -np.inf), windows.padded(np.zeros_like(x), 0.0)
    free = np.ones(y.shape, bool)
    for place in windows.places():
        here = free & (among[place] == y)
        gradient[place] += np.where(here, g, 0.0)
        free &= ~here
    return gradient[windows.inner]


def average_pool_gradient(attributes: Mapping[str, Any], x: Values, y: Values, g: Values) -> Values:
    """Evenly to all places that were counted."""
    windows = _Windows(attributes, x, y)
    counts = windows.padded(np.ones((1, 1, *x.shape[2:]), np.float32), 0.0)
    if attributes.get("count_include_pad", 0):
        pads = [int(p) for p in attributes.get("pads", [0] * 2 * len(windows.size))]
        behind = pads[len(windows.size) :]
        ends = [b + i + e for b, i, e in zip(windows.front, windows.size, behind, strict=True)]
        counts[(slice(None), slice(None), *(slice(0, e) for e in ends))] = 1.0
    counted = np.add.reduce([counts[place] for place in windows.places()])
    gradient, share = windows.padded(np.zeros_like(x), 0.0), g / counted
    for place in windows.places():
        gradient[place] += share
    return gradient[windows.inner]
