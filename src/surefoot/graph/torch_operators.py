"""The operators that PyTorch has kernels for, and whose gradients its autograd knows best."""

from __future__ import annotations

import torch
from torch.nn import functional

from surefoot.graph.onnx_file import WindowLayout, window_layout
from surefoot.graph.operators import (
    OPERATORS,
    Call,
    Operator,
    cut_transposed,
    limit,
    max_pool,
    quantised,
    softmax_axis,
    transposed_pads,
    windows_of,
)

_CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}
_MAX_POOLS = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def _even(layout: WindowLayout) -> list[int] | None:
    """The padding of each axis where it is the same before and behind."""
    same = all(before == after for before, after in layout.pads)
    return [before for before, _ in layout.pads] if same else None


def _conv(c: Call) -> torch.Tensor:
    weights, rank = c.inputs[1], c.x.ndim - 2
    layout = window_layout(c.node.attributes, tuple(c.x.shape[2:]), tuple(weights.shape[2:]))
    pads, x = _even(layout), c.x
    if pads is None:
        flat = [n for both in layout.pads[::-1] for n in both]
        x, pads = functional.pad(x, flat), [0] * rank
    return _CONVOLUTIONS[rank](
        x, weights, c.input(2), layout.strides, pads, layout.dilations, c.at("group", 1)
    )


def _conv_transpose(c: Call) -> torch.Tensor:
    layout, more = transposed_pads(c)
    how = {"stride": layout.strides, "dilation": layout.dilations, "groups": c.at("group", 1)}
    run, pads = _TRANSPOSED[c.x.ndim - 2], _even(layout)
    if pads is not None and not any(more):
        return run(c.x, c.inputs[1], c.input(2), padding=pads, **how)
    return cut_transposed(c, run(c.x, c.inputs[1], **how), layout, more)


def _max_pool(c: Call) -> torch.Tensor:
    w = windows_of(c)
    pads, layout = _even(w.layout), w.layout
    exact = pads is not None and list(w.pads.values()) == layout.pads
    if not exact or any(2 * p > k for p, k in zip(pads or (), w.kernel, strict=False)):
        return max_pool(c)
    return _MAX_POOLS[len(w.kernel)](c.x, w.kernel, layout.strides, pads, layout.dilations)


def _gemm(c: Call) -> torch.Tensor:
    plain = not c.at("transA", 0) and c.at("alpha", 1.0) == 1 and c.at("beta", 1.0) == 1
    bias = c.input(2)
    if not plain or (bias is not None and bias.ndim != 1):
        return OPERATORS["Gemm"](c)
    weights = c.inputs[1] if c.at("transB", 0) else c.inputs[1].T
    if bias is not None and bias.shape[0] != weights.shape[0]:
        return OPERATORS["Gemm"](c)
    return functional.linear(c.x, weights, bias)


def _batch_norm(c: Call) -> torch.Tensor:
    if c.at("training_mode", 0):
        return OPERATORS["BatchNormalization"](c)
    scale, bias, mean, variance = c.inputs[1:5]
    return functional.batch_norm(c.x, mean, variance, scale, bias, eps=c.at("epsilon", 1e-5))


def _layer_norm(c: Call) -> torch.Tensor:
    shape = c.x.shape[c.at("axis", -1) % c.x.ndim :]
    if c.inputs[1].shape != shape:
        return OPERATORS["LayerNormalization"](c)
    return functional.layer_norm(c.x, shape, c.inputs[1], c.input(2), c.at("epsilon", 1e-5))


def _softmax(c: Call) -> torch.Tensor:
    axis, shape = softmax_axis(c)
    run = torch.log_softmax if c.node.op == "LogSoftmax" else torch.softmax
    return run(c.x.reshape(shape), axis).reshape(c.x.shape)


def _rounded(x: torch.Tensor) -> torch.Tensor:
    """To the nearest whole number; its slope counts as 1, else there would be none."""
    return x + (torch.round(x) - x).detach()


def _clip(c: Call) -> torch.Tensor:
    low, high = limit(c, "min", 1), limit(c, "max", 2)
    return c.x if low is None and high is None else torch.clamp(c.x, low, high)


TORCH_OPERATORS: dict[str, Operator] = {
    **OPERATORS,
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Erf": lambda c: torch.erf(c.x),
    "Gelu": lambda c: functional.gelu(c.x, approximate=c.at("approximate", "none")),
    "Gemm": _gemm,
    "HardSwish": lambda c: functional.hardswish(c.x),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": lambda c: functional.leaky_relu(c.x, c.at("alpha", 0.01)),
    "LogSoftmax": _softmax,
    "MaxPool": _max_pool,
    "QuantizeLinear": lambda c: quantised(c, c.x, 1, _rounded),
    "Relu": lambda c: torch.relu(c.x),
    "Sigmoid": lambda c: torch.sigmoid(c.x),
    "Softmax": _softmax,
}
