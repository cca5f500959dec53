"""Activations of neurons, one number for each: max(v, slope·v) by its slope, or a curve."""

from __future__ import annotations

import numpy as np

from surefoot.subject.protocols import Array, array_namespace

SIGMOID, TANH = -1.0, -2.0
"""In place of a slope. Both are shift + half·tanh(half·v), with a half of ½ or 1."""
CURVES = {"Sigmoid": SIGMOID, "Tanh": TANH}
CURVE_ERROR = 2.0**-20
"""How far a run in float32 may be from the exact curve: that proofs allow for, in real arithmetic
too. On every seventh float32 from 2⁻³⁰ to 2⁸ onnxruntime was off by up to 3.3e-7, PyTorch by 9e-8;
what is below stays below."""


def halves(slope: Array) -> Array:
    """The halves of curves."""
    return np.where(slope == SIGMOID, 0.5, 1.0).astype(slope.dtype)


def activated(v: Array, slope: Array) -> Array:
    """Outputs of sums."""
    out = array_namespace(v).maximum(v, slope * v)
    if (slope < 0).any():
        half = halves(slope)
        curve = half * np.tanh(half * v) + (1 - half)
        out = np.where(slope < 0, curve, out)
    return out


def steepness(v: Array, slope: Array) -> Array:
    """Slopes of outputs at sums."""
    out = np.where(v > 0, slope.dtype.type(1), slope)
    if (slope < 0).any():
        half = halves(slope)
        out = np.where(slope < 0, half * half * (1 - np.tanh(half * v) ** 2), out)
    return out


def output_ends(lower: Array, upper: Array, slope: Array) -> tuple[Array, Array]:
    """Between what outputs lie where sums lie between `lower` and `upper`."""
    off = 2 * CURVE_ERROR * (slope < 0)
    return activated(lower, slope) - off, activated(upper, slope) + off
