"""Nodes of the proof tree, many at once: which neurons are fixed, how far each is proved."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats
from surefoot.verify.linear_relaxation import ActivationLines, Array, activation_lines
from surefoot.verify.proved_bounds import LayerBounds

_BLOCK_NODES = 64
"""Nodes that are queued together, so that the queue stays short. Chosen by hand; results do not
depend on it, only the time."""


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """A batch of nodes; the columns are the undecided neurons of the box.

    `sign` is +1 or −1 where branching fixed a neuron's side, `radius` what is proved for the node.
    Bounds are float32 rounded outwards.
    """

    row: NDArray[np.intp]
    depth: NDArray[np.intp]
    lower: Array
    upper: Array
    sign: NDArray[np.int8]
    alpha: Array
    beta: Array
    radius: Floats

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: Any) -> NodeBatch:  # noqa: ANN401  whatever indexes an array
        """Some of the nodes."""
        return NodeBatch(*(getattr(self, part.name)[index] for part in fields(self)))

    def lines(self, slope: Floats) -> ActivationLines:
        """The lines about the undecided neurons of each node, in float64."""
        return activation_lines(self.lower.astype(float), self.upper.astype(float), slope[None])


def join_nodes(parts: Sequence[NodeBatch]) -> NodeBatch:
    """The nodes one after the other."""
    if len(parts) == 1:
        return parts[0]
    return NodeBatch(
        *(np.concatenate([getattr(p, part.name) for p in parts]) for part in fields(NodeBatch))
    )


def rounded_down(a: Floats) -> Array:
    """Float32 values that are not above."""
    return np.nextafter(a.astype(np.float32), np.float32(-np.inf))


def rounded_up(a: Floats) -> Array:
    """Float32 values that are not below."""
    return np.nextafter(a.astype(np.float32), np.float32(np.inf))


def root_nodes(bounds: LayerBounds) -> NodeBatch:
    """One node for each margin, nothing fixed."""
    count, columns = len(bounds.rows), len(bounds.lower)

    def each(a: Array) -> Array:
        return np.repeat(a[None], count, axis=0)

    flat = np.zeros((count, columns), np.float32)
    slopes = np.where(bounds.upper > -bounds.lower, 1.0, bounds.slope).astype(np.float32)
    return NodeBatch(
        np.arange(count),
        np.zeros(count, np.intp),
        each(rounded_down(bounds.lower)),
        each(rounded_up(bounds.upper)),
        np.zeros((count, columns), np.int8),
        each(slopes),
        flat,
        np.zeros(count),
    )


def split_nodes(nodes: NodeBatch, column: NDArray[np.intp]) -> NodeBatch:
    """Both children of every node: first all with the neuron on its upper side, then the lower."""
    twins = join_nodes([nodes, nodes])
    count = len(nodes)
    lower, upper, sign = twins.lower.copy(), twins.upper.copy(), twins.sign.copy()
    up, down = np.arange(count), np.arange(count, 2 * count)
    sign[up, column], sign[down, column] = 1, -1
    lower[up, column] = np.maximum(lower[up, column], 0)
    upper[down, column] = np.minimum(upper[down, column], 0)
    return replace(twins, lower=lower, upper=upper, sign=sign, depth=twins.depth + 1)


@dataclass(eq=False)
class OpenNodes:
    """Open nodes in small blocks, the least proved block first."""

    blocks: list[tuple[float, int, NodeBatch]] = field(default_factory=list)
    size: int = 0
    _count: int = 0

    def put(self, nodes: NodeBatch) -> None:
        """Add nodes to be branched later."""
        order = np.argsort(nodes.radius, kind="stable")
        for i in range(0, len(order), _BLOCK_NODES):
            block = nodes.take(order[i : i + _BLOCK_NODES])
            heapq.heappush(self.blocks, (float(block.radius[0]), self._count, block))
            self._count += 1
            self.size += len(block)

    def least(self) -> float:
        """The radius proved for every open node."""
        return self.blocks[0][0] if self.blocks else np.inf

    def get(self, count: int, most: int) -> NodeBatch:
        """About `count` of the least proved nodes; the newest when more than `most` are open."""
        parts: list[NodeBatch] = []
        taken = 0
        while self.blocks and taken < count:
            if self.size > most:
                index = max(range(len(self.blocks)), key=lambda i: self.blocks[i][1])
                block = self.blocks.pop(index)[2]
                heapq.heapify(self.blocks)
            else:
                block = heapq.heappop(self.blocks)[2]
            parts.append(block)
            taken += len(block)
            self.size -= len(block)
        return join_nodes(parts)
