"""Branch and bound whose nodes are valued by the radius proved for them.

Every open node is split on a neuron that may still be on either side; a node is closed when its
margin is proved positive up to the aim, when its region is proved empty, or, when no neuron is
left, by the multipliers of an exact linear program. The least radius over all open nodes is proved
at any moment, so a tree that is cut short still gives a lower end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from surefoot.graph.network import Floats
from surefoot.verify.branching import choose_neuron
from surefoot.verify.counterexample_search import (
    AttackProblem,
    descend_margins,
    refine_lowest,
)
from surefoot.verify.layer_bounds import Expired
from surefoot.verify.leaf_lp import solve_leaf
from surefoot.verify.multiplier_search import Multipliers, optimise_multipliers
from surefoot.verify.proof_nodes import NodeBatch, OpenNodes, join_nodes, root_nodes, split_nodes
from surefoot.verify.proved_bounds import (
    LayerBounds,
    LinearBounds,
    proved_linear_bounds,
    proved_radius,
)

_NODE_MEMORY = 1 << 30
"""Bytes of open nodes from which on the newest are branched first, so that the queue stops growing.
1 GiB, chosen by hand; proofs are true whatever it is."""
_BYTES_PER_NEURON = 17
"""Of one node: lower, upper, alpha and beta in float32 and the sign in one byte."""
_LEAST_BATCH = 16
"""Nodes of the smallest batch, also in a large network: fewer do not fill a matrix product. Chosen
by hand; proofs are true whatever it is."""
_ATTACK_STEPS = 15
_ATTACK_FIRST_STEP = 0.25
"""Steps of a descent from a node's worst point, and the first as a share of the radius: the point
is already near, long steps would leave it. Chosen by hand; a proof does not depend on them."""
_ATTACK_RADIUS = 0.97
"""A counterexample is sought up to this share of the distance of the best so far: one that is
hardly nearer is not worth a search. Chosen by hand; a proof does not depend on it."""
_POINTLESS = 0.1
"""Share of the tolerance by which the aim may fall below the tree's radius before the tree is given
up for a smaller box. Chosen by hand; a proof does not depend on it."""
_FLOAT32_SLACK = 1e-6
"""A float32 bound above this share of its terms is most likely positive in float64 too; eight units
of float32's rounding. It only ends a search."""


@dataclass(frozen=True)
class TreeSettings:
    """How a tree is searched; nothing here can make a proof wrong.

    Steps are steps of Adam for the multipliers of a node: `steps` where a batch is full, up to
    `most_steps` where it is not, `root_steps` at the root, `long_steps` every `long_every` levels
    for nodes that gained nothing; `rates` are its step sizes for α and β. `batch` is the largest
    number of nodes bounded at once and `work` their multiplications. `candidates` are the neurons
    tried for a split, `tries` the descents for a counterexample after each batch. `steps`,
    `long_steps` and `long_every` are measured (docs/decisions/prover.md), the others chosen by
    hand.
    """

    steps: int = 4
    most_steps: int = 60
    root_steps: int = 24
    long_steps: int = 60
    long_every: int = 2
    rates: tuple[float, float] = (0.25, 0.3)
    batch: int = 512
    work: float = 3e9
    candidates: int = 3
    tries: int = 24


DEFAULT_SETTINGS = TreeSettings()
LONG_SEARCH = TreeSettings(steps=12)
"""Fewer nodes, each searched longer: what one of the two does not close, the other may."""


class UpperEnd(Protocol):
    """The upper end of a bracket while a tree is searched."""

    @property
    def high(self) -> float:
        """The distance of the nearest counterexample so far."""

    def try_counterexample(self, point: Floats) -> bool:
        """Whether the point was accepted as a nearer counterexample."""


@dataclass(frozen=True)
class TreeResult:
    """What a tree proved: the label is kept within `low`. `closed`: up to where it was meant to."""

    low: float
    closed: bool


@dataclass(frozen=True, eq=False)
class TreeWatch:
    """What ends a tree, and what is called with a higher lower end or a number of new nodes.

    `nodes_left` nodes may still be made, apart from those that the tree begins with.
    """

    expired: Expired
    on_low: Callable[[float], None] = lambda low: None
    on_nodes: Callable[[int], None] = lambda number: None
    nodes_left: Callable[[], float] = lambda: math.inf


def prove_by_branching(
    bounds: LayerBounds,
    problem: AttackProblem,
    upper: UpperEnd,
    spare: float,
    tolerance: float,
    watch: TreeWatch,
    settings: TreeSettings = DEFAULT_SETTINGS,
) -> TreeResult:
    """Prove the label up to min(the box's radius, upper end − `spare`), or as far as time allows.

    Stops early when a counterexample makes the box's radius pointless.
    """
    radius = bounds.box.radius
    open_nodes, leaves_low = OpenNodes(), radius
    batch = _batch_size(bounds, settings)
    most = max(settings.batch, _NODE_MEMORY // (_BYTES_PER_NEURON * max(1, len(bounds.lower))))

    def aim() -> float:
        return min(radius, upper.high - spare)

    watch.on_nodes(len(bounds.rows))
    root, slopes = bound_nodes(bounds, root_nodes(bounds), settings.root_steps, settings.rates)
    open_nodes.put(root.take(root.radius < aim()))
    proved = min(float(root.radius.min(initial=radius)), radius)
    while open_nodes.size:
        # Nodes closed so far are proved up to the aim, which only falls, not up to the radius.
        low = min(open_nodes.least(), leaves_low, aim())
        if low > proved:
            proved = low
            watch.on_low(low)
        if watch.expired() or upper.high <= radius or aim() < radius - _POINTLESS * tolerance:
            return TreeResult(proved, False)
        room = watch.nodes_left() // 2
        nodes = open_nodes.get(int(min(batch, room)), most)
        nodes = nodes.take(nodes.radius < aim())
        if len(nodes) > room:  # blocks are larger than the room that is left
            open_nodes.put(nodes.take(slice(int(room), None)))
            nodes = nodes.take(slice(int(room)))
        if not len(nodes):
            continue
        column, undecided = choose_neuron(bounds, nodes, settings.candidates)
        for i in np.flatnonzero(~undecided):
            if watch.expired():
                return TreeResult(proved, False)
            leaf = nodes.take(slice(i, i + 1))
            leaves_low = min(leaves_low, _leaf_radius(bounds, leaf, upper, aim()))
        nodes, column = nodes.take(undecided), column[undecided]
        if not len(nodes):
            continue
        watch.on_nodes(2 * len(nodes))
        steps = min(settings.most_steps, settings.steps * max(1, batch // len(nodes)))
        children, slopes = _bound_children(bounds, split_nodes(nodes, column), steps, settings)
        _attack(bounds, problem, children, slopes, upper, aim(), settings.tries)
        open_nodes.put(children.take(children.radius < aim()))
    return TreeResult(min(leaves_low, aim()), True)


def _batch_size(bounds: LayerBounds, settings: TreeSettings) -> int:
    """How many nodes at once: fewer in a large network, so that the clock is read often enough."""
    each = 8.0 * settings.steps * sum(w.size for w in bounds.layers.weights)
    return int(min(settings.batch, max(_LEAST_BATCH, settings.work / max(1.0, each))))


def _bound_children(
    bounds: LayerBounds, nodes: NodeBatch, steps: int, settings: TreeSettings
) -> tuple[NodeBatch, Floats]:
    """Bound nodes briefly; those that gained nothing get a long search every second level.

    An empty region needs large multipliers, and on the way to them the bound first gets worse: a
    short search would come back to where it began in every generation.
    """
    inherited = nodes.radius
    nodes, slopes = bound_nodes(bounds, nodes, steps, settings.rates)
    stuck = (nodes.radius <= inherited) & (nodes.radius < bounds.box.radius)
    stuck &= nodes.depth % settings.long_every == 0
    if not stuck.any():
        return nodes, slopes
    longer, longer_slopes = bound_nodes(
        bounds, nodes.take(stuck), settings.long_steps, settings.rates
    )
    return join_nodes([nodes.take(~stuck), longer]), np.concatenate([slopes[~stuck], longer_slopes])


def bound_nodes(
    bounds: LayerBounds, nodes: NodeBatch, steps: int, rates: tuple[float, float]
) -> tuple[NodeBatch, Floats]:
    """The nodes with better multipliers and the radius they prove; and their bounds' slopes."""
    lines = nodes.lines(bounds.slope)
    rows, offsets = bounds.rows[nodes.row], bounds.offsets[nodes.row]
    alpha = np.clip(nodes.alpha, lines.least_slope, lines.most_slope).astype(np.float32)
    best = optimise_multipliers(
        bounds.layers_float32,
        bounds.depth,
        rows.astype(np.float32),
        offsets.astype(np.float32),
        lines.astype(np.float32),
        nodes.sign.astype(np.float32),
        Multipliers(alpha, nodes.beta),
        steps,
        rates,
        _positive_in_float32(bounds),
    )
    proved = proved_linear_bounds(
        bounds, bounds.depth, rows, offsets, lines, best.alpha, best.beta * nodes.sign
    )
    least = bounds.box.floor(proved.a, proved.c)
    radius = np.where(least > 0, bounds.box.radius, nodes.radius)
    short = np.flatnonzero(least <= 0)
    if len(short):
        part = LinearBounds(proved.a[short], proved.c[short])
        better = proved_radius(bounds.box, part, nodes.radius[short])
        radius[short] = np.maximum(radius[short], better)
    return replace(nodes, alpha=best.alpha, beta=best.beta, radius=radius), proved.a


def _positive_in_float32(bounds: LayerBounds) -> float:
    """A float32 value that float64 will most likely confirm as positive."""
    return float(_FLOAT32_SLACK * (np.abs(bounds.rows) @ bounds.largest[-1]).max())


def _attack(
    bounds: LayerBounds,
    problem: AttackProblem,
    nodes: NodeBatch,
    slopes: Floats,
    upper: UpperEnd,
    aim: float,
    tries: int,
) -> None:
    """Look for a counterexample from the worst points of open nodes, the weakest and some others.

    Any point nearer than the upper end is welcome, also one beyond the radius of the tree.
    """
    order = np.argsort(nodes.radius, kind="stable")
    order = order[nodes.radius[order] < aim]
    if not len(order):
        return
    others = order[tries // 2 :: max(1, 2 * len(order) // tries)]
    chosen = np.concatenate([order[: tries // 2], others])
    radius = max(aim, _ATTACK_RADIUS * upper.high) if np.isfinite(upper.high) else aim
    start = bounds.box.worst(slopes[chosen]).astype(np.float32)
    points, margin = descend_margins(
        problem, start, nodes.row[chosen], radius, _ATTACK_STEPS, _ATTACK_FIRST_STEP
    )
    if margin.min() <= 0:
        upper.try_counterexample(refine_lowest(problem, points, margin).astype(np.float64))


def _leaf_radius(bounds: LayerBounds, node: NodeBatch, upper: UpperEnd, aim: float) -> float:
    """The radius proved for a node without undecided neurons; its counterexample is tried."""
    leaf = solve_leaf(bounds, node, aim)
    if leaf.point is not None:
        upper.try_counterexample(leaf.point)
    return max(leaf.radius, float(node.radius[0]))
