"""Which neuron to split: both children of the likeliest ones are bounded without search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from surefoot.verify.layer_bounds import Scene
from surefoot.verify.linear_relaxation import Array, Lines, descend, value_only
from surefoot.verify.node_pool import Nodes


def choose(
    scene: Scene, nodes: Nodes, candidates: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The neuron to split for each node, and whether there is one.

    The neurons with the largest share in the bound's loss are tried by bounding both children
    without search (filtered smart branching, De Palma et al. 2021).
    """
    chain, count = scene.single, len(nodes)
    lines = nodes.lines(scene.slope).astype(np.float32)
    rows = scene.rows[nodes.row].astype(np.float32)
    offsets = scene.offsets[nodes.row].astype(np.float32)
    push = nodes.beta * nodes.sign
    fall = descend(chain, scene.depth, rows, offsets, lines, nodes.alpha, push)
    lam = np.concatenate(
        [part[:, : c.stop - c.start] for part, c in zip(fall.after, chain.columns, strict=True)],
        axis=1,
    )
    undecided = lines.most > lines.least
    loss = np.where(lam < 0, -lam, 0.05 * lam) * lines.lift + 1e-30 * undecided
    width = min(candidates, loss.shape[1])
    if width == 0:
        return np.zeros(count, np.intp), np.zeros(count, np.bool_)
    best = np.argpartition(-loss, width - 1, axis=1)[:, :width]
    open_ = np.take_along_axis(undecided, best, axis=1)
    value = np.minimum(_tried(scene, lines, rows, offsets, nodes.alpha, push, best), 0)
    gain = np.where(open_, value.min(axis=0) + 0.3 * value.max(axis=0), -np.inf)
    picked = gain.argmax(axis=1)
    here = np.arange(count)
    return best[here, picked], open_[here, picked]


def _tried(
    scene: Scene,
    lines: Lines,
    rows: Array,
    offsets: Array,
    alpha: Array,
    push: Array,
    columns: NDArray[np.intp],
) -> Array:
    """The bounds (side, node, column) after fixing one column, all multipliers as they are."""
    count, width = columns.shape
    each = np.repeat(np.arange(count), width)
    here, column = np.arange(count * width), columns.reshape(-1)
    above, lift, slopes = lines.above[each], lines.lift[each], alpha[each]
    lift[here, column] = 0
    wide = replace(lines, above=above, lift=lift)
    values = []
    for slope in (np.float32(1), scene.slope[column]):
        above[here, column] = slope
        slopes[here, column] = slope
        values.append(
            value_only(
                scene.single, scene.depth, rows[each], offsets[each], wide, slopes, push[each]
            )
        )
    return np.stack(values).reshape(2, count, width)
