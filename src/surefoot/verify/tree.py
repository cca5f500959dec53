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
from numpy.typing import NDArray

from surefoot.verify.attack import Target, descend_margins, polish, shrink
from surefoot.verify.leaf import settle_leaf
from surefoot.verify.network import Floats
from surefoot.verify.nodes import Nodes, Pool, above, below, join, roots, split
from surefoot.verify.relax import Array, Lines, Multipliers, descend, improve, value_only
from surefoot.verify.scene import Expired, Scene, proved_forms, proved_radius

_MEMORY = 1 << 30


@dataclass(frozen=True)
class Growth:
    """How a tree is grown; nothing here can make a proof wrong."""

    steps: int = 6
    root_steps: int = 24
    long_steps: int = 60
    long_every: int = 4
    rates: tuple[float, float] = (0.2, 0.15)
    batch: int = 512
    candidates: int = 3
    refresh: int = 0
    tries: int = 24


DEFAULT = Growth()


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
        some = pool.get(growth.batch, most)
        some = some.take(some.radius < aim())
        if not len(some):
            continue
        column, undecided = choose(scene, some, growth)
        for i in np.flatnonzero(~undecided):
            settled = min(settled, _leaf(scene, some.take(slice(i, i + 1)), upper, aim()))
        some, column = some.take(undecided), column[undecided]
        if not len(some):
            continue
        children = split(some, column)
        if int(some.depth.min()) < growth.refresh:
            children = refreshed(scene, children)
        count += 2 * len(some)
        if not len(children):
            continue
        children, a = _bound_children(scene, children, growth)
        _search(scene, target, children, a, upper, aim(), growth.tries)
        pool.put(children.take(children.radius < aim()))
    return Grown(min(settled, aim()), True, count)


def _bound_children(scene: Scene, nodes: Nodes, growth: Growth) -> tuple[Nodes, Floats]:
    """Bound nodes briefly; those that gained nothing get a long search every few levels.

    An empty region needs large multipliers, and on the way to them the bound first gets worse: a
    short search would come back to where it began in every generation.
    """
    inherited = nodes.radius
    nodes, a = bound(scene, nodes, growth.steps, growth.rates)
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


def choose(
    scene: Scene, nodes: Nodes, growth: Growth
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
    width = min(growth.candidates, loss.shape[1])
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


def refreshed(scene: Scene, nodes: Nodes) -> Nodes:
    """The nodes with tighter bounds of deeper neurons; those whose region is empty are gone."""
    lower, upper = nodes.lower.copy(), nodes.upper.copy()
    for k in range(1, scene.depth):
        inner, cols = scene.inner[k], scene.chain.columns[k]
        m = cols.stop - cols.start
        if inner is None or not m:
            continue
        prefix = slice(0, cols.start)
        piece = max(1, (1 << 21) // (2 * m * len(scene.box.x)))
        for i in range(0, len(nodes), piece):
            part = slice(i, i + piece)
            size = len(lower[part])
            lines = replace(nodes, lower=lower, upper=upper).take(part)
            seen = lines.take(np.repeat(np.arange(size), 2 * m))
            cut = replace(seen, lower=seen.lower[:, prefix], upper=seen.upper[:, prefix])
            forms = proved_forms(
                scene,
                k,
                np.tile(inner.rows, (size, 1)),
                np.tile(inner.constant, size),
                cut.lines(scene.slope[prefix]),
                np.tile(inner.alpha, (size, 1)),
                None,
            )
            floor = scene.box.floor(forms.a, forms.c).reshape(size, 2, m)
            lower[part, cols] = np.maximum(lower[part, cols], below(floor[:, 0]))
            upper[part, cols] = np.minimum(upper[part, cols], above(-floor[:, 1]))
    possible = (lower <= upper).all(axis=1)
    return replace(nodes, lower=lower, upper=upper).take(possible)


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
    points, margin = descend_margins(target, start, nodes.row[chosen], within, 15)
    if margin.min() <= 0:
        found = polish(target, shrink(target, points[int(margin.argmin())]), 6)
        upper.offer(found.astype(np.float64))


def _leaf(scene: Scene, node: Nodes, upper: Upper, aim: float) -> float:
    """The radius proved for a node without undecided neurons; its counterexample is offered."""
    settled = settle_leaf(scene, node, aim)
    if settled.point is not None:
        upper.offer(settled.point)
    return max(settled.radius, float(node.radius[0]))
