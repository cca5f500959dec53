"""A node without undecided neurons is a linear program; its multipliers are proved in float64.

The solver is trusted for nothing: it proposes multipliers, and the bound they give is computed here
with its rounding subtracted, or it proposes a point, and the point is tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from surefoot.graph.network import Floats
from surefoot.verify.proof_nodes import NodeBatch
from surefoot.verify.proved_bounds import LayerBounds, proved_linear_bounds, proved_radius

_BROKEN_MARGIN = -1e-6
"""Margin that the proposed counterexample is to have: at 0 the solver's tolerance would
decide about the label. The point is tried, so only the time depends on it."""
_NEWTON_STEPS = 8
"""Steps for the radius that a leaf's multipliers prove; there are few leaves, and more steps prove
more. Chosen by hand."""


@dataclass(frozen=True, eq=False)
class LeafResult:
    """What is proved for the leaf, and where its nearest counterexample seems to lie."""

    radius: float
    point: Floats | None


@dataclass(frozen=True, eq=False)
class _LeafRegion:
    """A leaf holds where slopes·x + constants ≤ 0; the first row is the margin, to be broken."""

    slopes: Floats
    constants: Floats


def solve_leaf(bounds: LayerBounds, node: NodeBatch, aim: float) -> LeafResult:
    """The radius proved for one leaf; a point is proposed where `aim` cannot be proved."""
    region = _region(bounds, node)
    weights = _infeasibility_weights(bounds, region, aim)
    if weights is not None:
        proved = _radius_by_weights(bounds, node, weights)
        if proved >= aim:
            return LeafResult(proved, None)
    return _nearest_counterexample(bounds, node, region)


def _region(bounds: LayerBounds, node: NodeBatch) -> _LeafRegion:
    """All sides fixed by branching, in the order of their columns, after the margin."""
    layers, sign = bounds.layers, node.sign[0]
    slopes, constants = [], []
    matrix, shift = np.eye(len(bounds.box.x)), np.zeros(len(bounds.box.x))
    for j, cols in enumerate(layers.columns):
        sums, shift = layers.weights[j] @ matrix, layers.weights[j] @ shift + layers.bias[j]
        for i in range(cols.start, cols.stop):
            if sign[i]:
                slopes.append(-sign[i] * sums[i - cols.start])
                constants.append(-sign[i] * shift[i - cols.start])
        slope = layers.slope[j].copy()
        m = cols.stop - cols.start
        slope[:m] = np.where(node.lower[0, cols] >= 0, 1.0, bounds.slope[cols])
        matrix, shift = sums * slope[:, None], shift * slope
    row = bounds.rows[node.row[0]]
    slopes.insert(0, row @ matrix)
    constants.insert(0, row @ shift + bounds.offsets[node.row[0]])
    return _LeafRegion(np.array(slopes), np.array(constants))


def _infeasibility_weights(bounds: LayerBounds, region: _LeafRegion, aim: float) -> Floats | None:
    """Weights of the constraints that cannot all hold within `aim`, if it seems so."""
    box, n = bounds.box, len(bounds.box.x)
    rows = np.hstack([region.slopes, -np.ones((len(region.slopes), 1))])
    lower = np.maximum(box.x - aim, box.low)
    upper = np.minimum(box.x + aim, box.high)
    limits = [*zip(lower, upper, strict=True), (None, None)]
    solved = linprog(np.eye(n + 1)[n], rows, -region.constants, bounds=limits, method="highs")
    if solved.status != 0 or solved.fun <= 0:
        return None
    return np.asarray(np.maximum(-solved.ineqlin.marginals, 0.0))


def _radius_by_weights(bounds: LayerBounds, node: NodeBatch, weights: Floats) -> float:
    """The radius that these weights of margin and constraints prove."""
    region_columns = np.flatnonzero(node.sign[0])
    signed_beta = np.zeros((1, len(bounds.lower)))
    signed_beta[0, region_columns] = weights[1:] * node.sign[0, region_columns]
    lines = node.lines(bounds.slope)
    linear_bounds = proved_linear_bounds(
        bounds,
        bounds.depth,
        weights[0] * bounds.rows[node.row],
        weights[0] * bounds.offsets[node.row],
        lines,
        node.alpha,
        signed_beta,
    )
    return float(
        proved_radius(bounds.box, linear_bounds, np.full(1, bounds.box.radius), _NEWTON_STEPS)[0]
    )


def _nearest_counterexample(
    bounds: LayerBounds, node: NodeBatch, region: _LeafRegion
) -> LeafResult:
    """The nearest counterexample of the leaf, and what its multipliers prove."""
    box, n = bounds.box, len(bounds.box.x)
    rows = np.hstack([region.slopes, np.zeros((len(region.slopes), 1))])
    away = np.hstack([np.eye(n), -np.ones((n, 1))])
    back = np.hstack([-np.eye(n), -np.ones((n, 1))])
    right = np.concatenate([-region.constants, box.x, -box.x])
    right[0] += _BROKEN_MARGIN
    limits = [*[(box.low, box.high)] * n, (0.0, None)]
    solved = linprog(
        np.eye(n + 1)[n], np.vstack([rows, away, back]), right, bounds=limits, method="highs"
    )
    if solved.status != 0:
        return LeafResult(0.0, None)
    weights = np.maximum(-solved.ineqlin.marginals[: len(region.slopes)], 0.0)
    return LeafResult(
        _radius_by_weights(bounds, node, weights), np.clip(solved.x[:n], box.low, box.high)
    )
