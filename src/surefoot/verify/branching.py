"""Which neuron to split: both children of the likeliest ones are bounded without search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from surefoot.verify.linear_relaxation import ActivationLines, Array, propagate_back, value_only
from surefoot.verify.proof_nodes import NodeBatch
from surefoot.verify.proved_bounds import LayerBounds

_LOWER_LINE_WEIGHT = 0.05
"""Weight of a neuron bounded by its lower line, whose slope is searched, beside one bounded by its
chord, which loses for certain. Chosen by hand; only the time depends on it."""
_BETTER_CHILD_WEIGHT = 0.3
"""Weight of the better child's bound beside the worse child's, which must be closed as well. Chosen
by hand; only the time depends on it."""
_TIE_BREAK = 1e-30
"""Added to undecided neurons, so that one without any loss is still preferred to a decided one."""


def choose_neuron(
    bounds: LayerBounds, nodes: NodeBatch, candidates: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The neuron to split for each node, and whether there is one.

    The neurons with the largest share in the bound's loss are tried by bounding both children
    without search (filtered smart branching, De Palma et al. 2021).
    """
    layers, count = bounds.layers_float32, len(nodes)
    lines = nodes.lines(bounds.slope).astype(np.float32)
    rows = bounds.rows[nodes.row].astype(np.float32)
    offsets = bounds.offsets[nodes.row].astype(np.float32)
    signed_beta = nodes.beta * nodes.sign
    backward = propagate_back(layers, bounds.depth, rows, offsets, lines, nodes.alpha, signed_beta)
    per_layer = zip(backward.output_coefficients, layers.columns, strict=True)
    parts = [part[:, : columns.stop - columns.start] for part, columns in per_layer]
    coefficients = np.concatenate(parts, axis=1)
    undecided = lines.most_slope > lines.least_slope
    weight = np.where(coefficients < 0, -coefficients, _LOWER_LINE_WEIGHT * coefficients)
    loss = weight * lines.upper_offset + _TIE_BREAK * undecided
    width = min(candidates, loss.shape[1])
    if width == 0:
        return np.zeros(count, np.intp), np.zeros(count, np.bool_)
    tried = np.argpartition(-loss, width - 1, axis=1)[:, :width]
    splittable = np.take_along_axis(undecided, tried, axis=1)
    children = _child_bounds(bounds, lines, rows, offsets, nodes.alpha, signed_beta, tried)
    value = np.minimum(children, 0)
    gain = value.min(axis=0) + _BETTER_CHILD_WEIGHT * value.max(axis=0)
    best = np.where(splittable, gain, -np.inf).argmax(axis=1)
    each = np.arange(count)
    return tried[each, best], splittable[each, best]


def _child_bounds(
    bounds: LayerBounds,
    lines: ActivationLines,
    rows: Array,
    offsets: Array,
    alpha: Array,
    signed_beta: Array,
    columns: NDArray[np.intp],
) -> Array:
    """The bounds (side, node, column) after fixing one column, all multipliers as they are."""
    count, width = columns.shape
    node = np.repeat(np.arange(count), width)
    row, column = np.arange(count * width), columns.reshape(-1)
    upper_slope, upper_offset = lines.upper_slope[node], lines.upper_offset[node]
    slopes = alpha[node]
    upper_offset[row, column] = 0
    child_lines = replace(lines, upper_slope=upper_slope, upper_offset=upper_offset)
    values = []
    for slope in (np.float32(1), bounds.slope[column]):
        upper_slope[row, column] = slope
        slopes[row, column] = slope
        values.append(
            value_only(
                bounds.layers_float32,
                bounds.depth,
                rows[node],
                offsets[node],
                child_lines,
                slopes,
                signed_beta[node],
            )
        )
    return np.stack(values).reshape(2, count, width)
