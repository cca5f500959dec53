"""A node without undecided neurons is a linear program; its multipliers are proved in float64.

The solver is trusted for nothing: it proposes multipliers, and the bound they give is computed here
with its rounding paid, or it proposes a point, and the point is tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from surefoot.graph.network import Floats
from surefoot.verify.layer_bounds import Scene, proved_forms, proved_radius
from surefoot.verify.node_pool import Nodes

_INSIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Settled:
    """What is proved for the leaf, and where its nearest counterexample seems to lie."""

    radius: float
    point: Floats | None


@dataclass(frozen=True, eq=False)
class _Region:
    """A leaf holds where slopes·x + constants ≤ 0; the first row is the margin, to be broken."""

    slopes: Floats
    constants: Floats


def settle_leaf(scene: Scene, node: Nodes, aim: float) -> Settled:
    """The radius proved for one leaf; a point is proposed where `aim` cannot be proved."""
    region = _region(scene, node)
    empty = _deepest(scene, region, aim)
    if empty is not None:
        proved = _proved(scene, node, empty)
        if proved >= aim:
            return Settled(proved, None)
    return _nearest(scene, node, region)


def _region(scene: Scene, node: Nodes) -> _Region:
    """All sides fixed by branching, in the order of their columns, after the margin."""
    chain, sign = scene.chain, node.sign[0]
    slopes, constants = [], []
    matrix, shift = np.eye(len(scene.box.x)), np.zeros(len(scene.box.x))
    for j, cols in enumerate(chain.columns):
        sums, shift = chain.weights[j] @ matrix, chain.weights[j] @ shift + chain.bias[j]
        for i in range(cols.start, cols.stop):
            if sign[i]:
                slopes.append(-sign[i] * sums[i - cols.start])
                constants.append(-sign[i] * shift[i - cols.start])
        slope = chain.slope[j].copy()
        m = cols.stop - cols.start
        slope[:m] = np.where(node.lower[0, cols] >= 0, 1.0, scene.slope[cols])
        matrix, shift = sums * slope[:, None], shift * slope
    row = scene.rows[node.row[0]]
    slopes.insert(0, row @ matrix)
    constants.insert(0, row @ shift + scene.offsets[node.row[0]])
    return _Region(np.array(slopes), np.array(constants))


def _deepest(scene: Scene, region: _Region, aim: float) -> Floats | None:
    """Weights of the constraints that cannot all hold within `aim`, if it seems so."""
    box, n = scene.box, len(scene.box.x)
    rows = np.hstack([region.slopes, -np.ones((len(region.slopes), 1))])
    lower = np.maximum(box.x - aim, box.low)
    upper = np.minimum(box.x + aim, box.high)
    bounds = [*zip(lower, upper, strict=True), (None, None)]
    solved = linprog(np.eye(n + 1)[n], rows, -region.constants, bounds=bounds, method="highs")
    if solved.status != 0 or solved.fun <= 0:
        return None
    return np.asarray(np.maximum(-solved.ineqlin.marginals, 0.0))


def _proved(scene: Scene, node: Nodes, weights: Floats) -> float:
    """The radius that these weights of margin and constraints prove."""
    region_columns = np.flatnonzero(node.sign[0])
    push = np.zeros((1, len(scene.lower)))
    push[0, region_columns] = weights[1:] * node.sign[0, region_columns]
    lines = node.lines(scene.slope)
    forms = proved_forms(
        scene,
        scene.depth,
        weights[0] * scene.rows[node.row],
        weights[0] * scene.offsets[node.row],
        lines,
        node.alpha,
        push,
    )
    return float(proved_radius(scene.box, forms, np.full(1, scene.box.radius), 8)[0])


def _nearest(scene: Scene, node: Nodes, region: _Region) -> Settled:
    """The nearest counterexample of the leaf, and what its multipliers prove."""
    box, n = scene.box, len(scene.box.x)
    rows = np.hstack([region.slopes, np.zeros((len(region.slopes), 1))])
    away = np.hstack([np.eye(n), -np.ones((n, 1))])
    back = np.hstack([-np.eye(n), -np.ones((n, 1))])
    right = np.concatenate([-region.constants, box.x, -box.x])
    right[0] -= _INSIDE
    bounds = [*[(box.low, box.high)] * n, (0.0, None)]
    solved = linprog(
        np.eye(n + 1)[n], np.vstack([rows, away, back]), right, bounds=bounds, method="highs"
    )
    if solved.status != 0:
        return Settled(0.0, None)
    weights = np.maximum(-solved.ineqlin.marginals[: len(region.slopes)], 0.0)
    return Settled(_proved(scene, node, weights), np.clip(solved.x[:n], box.low, box.high))
