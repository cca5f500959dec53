"""Closer bounds of a layer's neurons: a small tree of branch and bound for each end of each neuron.

The bounds of a layer decide how much is lost in every node of every later tree. Splitting neurons
of the layers before, for one row at a time, takes off what their relaxations lose, and decides
neurons that a bound without branching leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.linear_map import Dense
from surefoot.graph.network import Floats, Layer
from surefoot.subject.protocols import CPU
from surefoot.verify.branch_and_bound import (
    BYTES_PER_NEURON,
    DEFAULT_SETTINGS,
    NodeBatch,
    check_device,
    choose_neuron,
    join_nodes,
    prove_nodes,
    root_nodes,
    search_nodes,
    settings_on,
    split_nodes,
)
from surefoot.verify.device import to_device
from surefoot.verify.linear_relaxation import LayerBounds

Spend = Callable[[int], bool]
"""Counts so many new nodes, and says whether there may be more."""

_STEPS = 6
"""Steps of Adam for each node of such a tree. Chosen by hand; bounds are true whatever it is."""
SPLIT_AT_ONCE, _DEVICE_SPLITS, _LEAST_SPLIT = 192, 16384, 16
"""Nodes of all rows that are split together, at most, on a device, and in a large network: fewer do
not fill a matrix product, more split leaves that are not the least. Chosen by hand; bounds are true
whatever it is."""


def refine_neurons(
    bounds: LayerBounds,
    layer: Layer,
    ends: tuple[Floats, Floats],
    lost: Floats,
    spend: Spend,
    where: str = CPU,
) -> tuple[Floats, Floats]:
    """Closer ends of the undecided neurons of the layer behind `bounds`.

    `lost` is what rounding takes from each. A neuron that is decided on the way is left at 0.
    """
    lower, upper = ends
    own = np.flatnonzero((lower < 0) & (upper > 0) & (layer.slope < 1))
    if not (len(own) and len(bounds.lower) and isinstance(layer.weights, Dense)):
        return ends
    matrix, bias, n = layer.weights.matrix[own], layer.bias[own], len(own)
    part = replace(
        bounds,
        rows=np.concatenate([matrix, -matrix]),
        offsets=np.concatenate([bias, -bias]) - np.tile(lost[own], 2),
    )
    floor = _raise_floors(part, np.concatenate([lower[own], -upper[own]]), spend, where)
    lower, upper = lower.copy(), upper.copy()
    lower[own], upper[own] = floor[:n], -floor[n:]
    return lower, upper


def _raise_floors(host: LayerBounds, known: Floats, spend: Spend, where: str) -> Floats:
    """Lower bounds of all rows, from those known; none above 0: a neuron is decided there."""
    count, leaves, value, part = len(known), root_nodes(host), known, host
    each = 8.0 * _STEPS * sum(w.work for w in part.layers.weights)
    settings, columns = settings_on(where, DEFAULT_SETTINGS), len(host.lower)
    together = SPLIT_AT_ONCE if where == CPU else _DEVICE_SPLITS
    most = int(min(together, max(_LEAST_SPLIT, settings.work / max(1.0, each))))
    room = settings.memory // (BYTES_PER_NEURON * columns)
    any_fixed = leaves.sign.any()
    if where != CPU:
        change = to_device(where)
        part, leaves = host.moved(change), leaves.moved(change)
        most = min(most, max(_LEAST_SPLIT, settings.values // (2 * columns)))

    def bounded(leaves: NodeBatch, known: Floats, steps: int) -> tuple[NodeBatch, Floats]:
        leaves = search_nodes(part, leaves, steps, settings, lambda: not spend(0))
        proofs = prove_nodes(part, leaves)
        if where != CPU:
            check_device(host, leaves, proofs)
        return leaves, np.fmax(known, proofs.floor)  # NaN, of sums that overflow, proves nothing

    if any_fixed:
        leaves, value = bounded(leaves, known, settings.root_steps)
    ended = np.zeros(count)  # the least of the leaves of each row that are not split any more
    while len(leaves) < room and spend(0):
        floor = _least_of_rows(ended, leaves, value)
        wanted = (floor < 0) & (np.roll(floor, count // 2) < 0) & (floor < ended)
        worst = _worst_leaves(leaves, value, wanted)[:most]
        if not len(worst):
            break
        parents, bound = leaves.take(worst), value[worst]
        rest = np.ones(len(leaves), np.bool_)
        rest[worst] = False
        column, splittable = choose_neuron(part, parents)
        np.minimum.at(ended, parents.row[~splittable], bound[~splittable])
        parents, column, bound = parents.take(splittable), column[splittable], bound[splittable]
        spend(2 * len(parents))
        children = split_nodes(parents, column)
        children, bound = bounded(children, np.tile(bound, 2), _STEPS)
        open_children = ~(bound >= 0)
        leaves = join_nodes([leaves.take(rest), children.take(open_children)])
        value = np.concatenate([value[rest], bound[open_children]])
    return _least_of_rows(ended, leaves, value)


def _least_of_rows(ended: Floats, leaves: NodeBatch, value: Floats) -> Floats:
    floor = ended.copy()
    np.minimum.at(floor, leaves.row, value)
    return floor


def _worst_leaves(leaves: NodeBatch, value: Floats, wanted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The leaves of the rows that are wanted, the least of each first."""
    index = np.flatnonzero(wanted[leaves.row])
    index = index[np.argsort(value[index])]
    row = leaves.row[index]
    by_row = np.argsort(row.astype(_few(len(wanted))), kind="stable")
    of_row = np.bincount(row, minlength=len(wanted))
    place = np.empty(len(row), np.intp)
    place[by_row] = np.arange(len(row)) - np.repeat(np.cumsum(of_row) - of_row, of_row)
    return index[np.argsort(place.astype(_few(of_row.max(initial=0))), kind="stable")]


def _few(count: int) -> type[np.unsignedinteger[Any]]:
    """A type for numbers below it; those of 16 bits are sorted in a tenth of the time."""
    return np.uint16 if count < 1 << 16 else np.uint64
