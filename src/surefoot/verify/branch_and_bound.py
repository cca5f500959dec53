"""Branch and bound whose nodes are valued by the radius proved for them.

Every open node is split on a neuron that may still be on either side; a node is closed when its
margin is proved positive up to the target radius, when its region is proved empty, or, when no
neuron is left, by the multipliers of an exact linear program. The least radius over all open nodes
is proved at any moment, so a tree that is cut short still gives a lower end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from surefoot.graph.network import Floats
from surefoot.verify.branching import choose
from surefoot.verify.counterexample_search import Target, descend_margins, polish, shrink
from surefoot.verify.layer_bounds import Expired, Scene, proved_forms, proved_radius
from surefoot.verify.leaf_lp import settle_leaf
from surefoot.verify.linear_relaxation import Multipliers, improve
from surefoot.verify.node_pool import Nodes, Pool, join, roots, split

_MEMORY = 1 << 30
_LEAST = 16
_CAREFUL = 0.25


@dataclass(frozen=True)
class Growth:
    """How a tree is grown; nothing here can make a proof wrong."""

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


DEFAULT = Growth()
PATIENT = Growth(steps=12)


class Upper(Protocol):
    """The upper end while a tree grows: `offer` takes a point that may be a counterexample."""

    @property
    def high(self) -> float:
        """The distance of the nearest counterexample so far."""

    def offer(self, point: Floats) -> bool:
        """Whether the point was accepted as a nearer counterexample."""


@dataclass(frozen=True)
class Grown:
    """What a tree proved: the label is kept within `low`. `closed`: up to where it was meant to."""

    low: float
    closed: bool
    nodes: int


def grow(
    scene: Scene,
    target: Target,
    upper: Upper,
    spare: float,
    tolerance: float,
    expired: Expired,
    growth: Growth = DEFAULT,
    on_low: Callable[[float], None] = lambda low: None,
) -> Grown:
    """Prove the label up to min(the scene's radius, upper end − `spare`), or as far as time allows.

    Stops early when a counterexample makes the scene's radius pointless.
    """
    radius = scene.box.radius
    pool, count, settled = Pool(), len(scene.rows), radius
    batch = _batch(scene, growth)
    most = max(growth.batch, _MEMORY // (17 * max(1, len(scene.lower))))

    def aim() -> float:
        return min(radius, upper.high - spare)

    nodes, a = bound(scene, roots(scene), growth.root_steps, growth.rates)
    pool.put(nodes.take(nodes.radius < aim()))
    reached = min(float(nodes.radius.min(initial=radius)), radius)
    while pool.size:
        # Nodes closed so far are proved up to the aim, which only falls, not up to the radius.
        low = min(pool.least(), settled, aim())
        if low > reached:
            reached = low
            on_low(low)
        if expired() or upper.high <= radius or aim() < radius - 0.1 * tolerance:
            return Grown(reached, False, count)
        some = pool.get(batch, most)
        some = some.take(some.radius < aim())
        if not len(some):
            continue
        column, undecided = choose(scene, some, growth.candidates)
        for i in np.flatnonzero(~undecided):
            if expired():
                return Grown(reached, False, count)
            settled = min(settled, _leaf(scene, some.take(slice(i, i + 1)), upper, aim()))
        some, column = some.take(undecided), column[undecided]
        if not len(some):
            continue
        children = split(some, column)
        count += 2 * len(some)
        steps = min(growth.most_steps, growth.steps * max(1, batch // len(some)))
        children, a = _bound_children(scene, children, steps, growth)
        _search(scene, target, children, a, upper, aim(), growth.tries)
        pool.put(children.take(children.radius < aim()))
    return Grown(min(settled, aim()), True, count)


def _batch(scene: Scene, growth: Growth) -> int:
    """How many nodes at once: fewer in a large network, so that the clock is read often enough."""
    each = 8.0 * growth.steps * sum(w.size for w in scene.chain.weights)
    return int(min(growth.batch, max(_LEAST, growth.work / max(1.0, each))))


def _bound_children(scene: Scene, nodes: Nodes, steps: int, growth: Growth) -> tuple[Nodes, Floats]:
    """Bound nodes briefly; those that gained nothing get a long search every second level.

    An empty region needs large multipliers, and on the way to them the bound first gets worse: a
    short search would come back to where it began in every generation.
    """
    inherited = nodes.radius
    nodes, a = bound(scene, nodes, steps, growth.rates)
    stuck = (nodes.radius <= inherited) & (nodes.radius < scene.box.radius)
    stuck &= nodes.depth % growth.long_every == 0
    if not stuck.any():
        return nodes, a
    again, slopes = bound(scene, nodes.take(stuck), growth.long_steps, growth.rates)
    return join([nodes.take(~stuck), again]), np.concatenate([a[~stuck], slopes])


def bound(
    scene: Scene, nodes: Nodes, steps: int, rates: tuple[float, float]
) -> tuple[Nodes, Floats]:
    """The nodes with better multipliers and the radius they prove; and the forms' slopes."""
    lines = nodes.lines(scene.slope)
    rows, offsets = scene.rows[nodes.row], scene.offsets[nodes.row]
    found = improve(
        scene.single,
        scene.depth,
        rows.astype(np.float32),
        offsets.astype(np.float32),
        lines.astype(np.float32),
        nodes.sign.astype(np.float32),
        Multipliers(np.clip(nodes.alpha, lines.least, lines.most).astype(np.float32), nodes.beta),
        steps,
        rates,
        _enough(scene),
    )
    forms = proved_forms(
        scene, scene.depth, rows, offsets, lines, found.alpha, found.beta * nodes.sign
    )
    whole = scene.box.floor(forms.a, forms.c)
    radius = np.where(whole > 0, scene.box.radius, nodes.radius)
    short = np.flatnonzero(whole <= 0)
    if len(short):
        part = type(forms)(forms.a[short], forms.c[short])
        better = proved_radius(scene.box, part, nodes.radius[short])
        radius[short] = np.maximum(radius[short], better)
    return replace(nodes, alpha=found.alpha, beta=found.beta, radius=radius), forms.a


def _enough(scene: Scene) -> float:
    """A float32 value that float64 will most likely confirm as positive."""
    return float(1e-6 * (np.abs(scene.rows) @ scene.tops[-1]).max())


def _search(
    scene: Scene, target: Target, nodes: Nodes, a: Floats, upper: Upper, aim: float, tries: int
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
    within = max(aim, 0.97 * upper.high) if np.isfinite(upper.high) else aim
    start = scene.box.worst(a[chosen]).astype(np.float32)
    points, margin = descend_margins(target, start, nodes.row[chosen], within, 15, _CAREFUL)
    if margin.min() <= 0:
        found = polish(target, shrink(target, points[int(margin.argmin())]), 6)
        upper.offer(found.astype(np.float64))


def _leaf(scene: Scene, node: Nodes, upper: Upper, aim: float) -> float:
    """The radius proved for a node without undecided neurons; its counterexample is offered."""
    settled = settle_leaf(scene, node, aim)
    if settled.point is not None:
        upper.offer(settled.point)
    return max(settled.radius, float(node.radius[0]))
