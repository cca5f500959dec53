"""Branch and bound whose nodes are valued by the radius proved for them.

Every open node is split on a neuron that may still be on either side; a node is closed when its
margin is proved positive up to the aim, when its region is proved empty, or, when no neuron is
left, by the multipliers of an exact linear program. The least radius over all open nodes is proved
at any moment, so a tree that is cut short still gives a lower end.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count, takewhile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import SurefootError
from surefoot.graph.network import Floats
from surefoot.subject.protocols import CPU, Array, Ball, array_namespace, to_host
from surefoot.verify import linear_relaxation as relax
from surefoot.verify.ball import Box
from surefoot.verify.compiled_search import LOWER_LINE_WEIGHT, UNKNOWN
from surefoot.verify.counterexample_search import AttackProblem, descend_margins, refine_lowest
from surefoot.verify.device import like_device, share_of_memory, to_device
from surefoot.verify.layer_bounds import Expired, Multipliers, optimise_multipliers
from surefoot.verify.linear_relaxation import ActivationLines, LayerBounds, LinearBounds


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """A batch of nodes; the columns are the undecided neurons of the box.

    `sign` is +1 or −1 where branching fixed a neuron's side, `radius` what is proved for the node,
    `column` the neuron to be split next, −1 where there is none, if its search has chosen.
    Bounds are float32 rounded outwards. What has columns may be on another device.
    """

    row: NDArray[np.intp]
    depth: NDArray[np.intp]
    radius: Floats
    column: NDArray[np.intp]
    lower: Array
    upper: Array
    sign: Array
    alpha: Array
    beta: Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: Any) -> NodeBatch:  # noqa: ANN401  whatever indexes an array
        """Some of the nodes."""
        if getattr(index, "dtype", None) == np.bool_:
            if index.all():
                return self
            index = np.flatnonzero(index)
        host = self.row[index], self.depth[index], self.radius[index], self.column[index]
        if isinstance(index, slice) or not isinstance(self.alpha, np.ndarray):
            there = index if isinstance(index, slice) else like_device(index, self.alpha)
            return NodeBatch(*host, *(part[there] for part in self._columns))
        return NodeBatch(*host, *(part.take(index, axis=0) for part in self._columns))

    def moved(self, change: Callable[[Any], Array]) -> NodeBatch:
        """The same on another device."""
        host = self.row, self.depth, self.radius, self.column
        return NodeBatch(*host, *map(change, self._columns))

    def lines(self, slope: Array) -> ActivationLines:
        """The lines about the undecided neurons of each node, in the precision of the slopes."""
        xp = array_namespace(self.lower)
        lower, upper = (xp.astype(end, slope.dtype, copy=False) for end in (self.lower, self.upper))
        return relax.activation_lines(lower, upper, slope[None])

    @property
    def least_undecided(self) -> int:
        """The least number of neurons that are on either side, of any node."""
        either = (self.lower < 0) & (self.upper > 0)
        return int(array_namespace(either).count_nonzero(either, axis=1).min())

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.lower, self.upper, self.sign, self.alpha, self.beta


def join_nodes(parts: Sequence[NodeBatch]) -> NodeBatch:
    """The nodes one after the other."""
    if len(parts) == 1:
        return parts[0]
    values = ([getattr(p, part.name) for p in parts] for part in fields(NodeBatch))
    return NodeBatch(*(array_namespace(each[0]).concat(each) for each in values))


def root_nodes(bounds: LayerBounds) -> NodeBatch:
    """One node for each margin; fixed are neurons that only a tree of their own has decided."""
    count, columns = len(bounds.rows), len(bounds.lower)

    def each(a: Array) -> Array:
        return np.repeat(a[None], count, axis=0)

    infinity = np.float32(np.inf)  # rounded outwards: bounds in float32 must hold too
    lower = np.nextafter(bounds.lower.astype(np.float32), -infinity)
    upper = np.nextafter(bounds.upper.astype(np.float32), infinity)
    slopes = np.where(bounds.upper > -bounds.lower, 1.0, np.maximum(bounds.slope, 0.0))
    side = (bounds.lower >= 0).astype(np.int8) - (bounds.upper <= 0).astype(np.int8)
    decided = np.where(bounds.slope < 0, np.int8(0), side)  # curves keep their ends
    lower[decided > 0], upper[decided < 0] = 0, 0
    beta = np.zeros((count, columns), np.float32)
    sign = np.repeat(decided[None], count, axis=0)
    sides = each(lower), each(upper), sign, each(slopes.astype(np.float32)), beta
    column = np.full(count, UNKNOWN)
    return NodeBatch(np.arange(count), np.zeros_like(column), np.zeros(count), column, *sides)


def split_nodes(nodes: NodeBatch, column: NDArray[np.intp]) -> NodeBatch:
    """Both children of every node: first all with the neuron on its upper side, then the lower."""
    twins = join_nodes([nodes, nodes])
    count, lower, upper, sign = len(nodes), twins.lower, twins.upper, twins.sign
    every = like_device(np.arange(2 * count), lower)
    up, down, column = every[:count], every[count:], like_device(column, lower)
    sign[up, column], sign[down, column] = 1, -1  # twins are arrays of their own
    clip = array_namespace(lower).clip
    lower[up, column] = clip(lower[up, column], 0.0, None)
    upper[down, column] = clip(upper[down, column], None, 0.0)
    return replace(twins, depth=twins.depth + 1, column=np.full(2 * count, UNKNOWN))


@dataclass(eq=False)
class OpenNodes:
    """Open nodes in blocks of about `block`, the least proved block first."""

    block: int
    blocks: list[tuple[float, int, NodeBatch]] = field(default_factory=list)
    size: int = 0
    _count: int = 0

    def put(self, nodes: NodeBatch) -> None:
        """Add nodes to be branched later."""
        order = np.argsort(nodes.radius, kind="stable")
        for i in range(0, len(order), self.block):
            block = nodes.take(order[i : i + self.block])
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


_TIE_BREAK = 1e-30
"""Added to undecided neurons, so that one without any loss is still preferred to a decided one."""


def choose_neuron(
    bounds: LayerBounds, nodes: NodeBatch
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """For each node the neuron with the largest share in the loss, and whether there is one."""
    if (nodes.column > UNKNOWN).all():
        return nodes.column, nodes.column >= 0
    layers, count = bounds.layers.float32, len(nodes)
    xp, row = array_namespace(bounds.rows), like_device(nodes.row, bounds.rows)
    lines = nodes.lines(xp.astype(bounds.slope, xp.float32))
    rows = xp.astype(bounds.rows[row], xp.float32)
    offsets = xp.astype(bounds.offsets[row], xp.float32)
    signed_beta = nodes.beta * nodes.sign
    relaxed = relax.Relaxation(layers, rows, offsets, lines, nodes.alpha, signed_beta)
    backward = relaxed.propagate_back()
    per_layer = zip(backward.output_coefficients, layers.undecided, strict=True)
    coefficients = xp.concat([part[:, own] for part, own in per_layer], axis=1)
    undecided = (nodes.lower < 0) & (nodes.upper > 0)
    weight = xp.where(coefficients < 0, -coefficients, LOWER_LINE_WEIGHT * coefficients)
    height = lines.upper_offset
    if lines.lower_offset is not None:
        weight = np.where(bounds.slope < 0, np.abs(coefficients), weight)
        height = height - lines.lower_offset
    if not weight.shape[1]:
        return np.zeros(count, np.intp), np.zeros(count, np.bool_)
    loss = xp.where(undecided, weight * height + _TIE_BREAK, -1.0)
    column = xp.argmax(loss, axis=1)[:, None]
    splittable = xp.take_along_axis(undecided, column, axis=1)
    return to_host(column)[:, 0], to_host(splittable)[:, 0]


_BROKEN_MARGIN = -1e-6
"""Margin that the proposed counterexample is to have: at 0 the solver's tolerance would
decide about the label. The point is tried, so only the time depends on it."""
_LEAST_SLOPE_SHARE = 1e-12
"""Slopes below this share of their row's constant are not enlarged to 1: the solver takes numbers
above 1e20 as infinite. Only proposals depend on it."""
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
    """A leaf holds where slopes·x + constants ≤ 0; the first row is the margin, to be broken.

    Rows are divided by a `scale` of their own: the solver's tolerances are absolute.
    """

    slopes: Floats
    constants: Floats
    scale: Floats


def solve_leaf(bounds: LayerBounds, node: NodeBatch, aim: float) -> LeafResult:
    """The radius proved for one leaf; a point is proposed where `aim` cannot be proved."""
    if (bounds.slope < 0).any():  # no linear program: curves are not linear on either side
        return LeafResult(0.0, None)
    region = _region(bounds, node)
    if not (np.isfinite(region.slopes).all() and np.isfinite(region.constants).all()):
        return LeafResult(0.0, None)
    box = bounds.box.norm is Ball.LINF
    weights = _infeasibility_weights(bounds, region, aim) if box else None
    if weights is not None:
        proved = _radius_by_weights(bounds, node, weights / region.scale)
        if proved >= aim:
            return LeafResult(proved, None)
    return _nearest_counterexample(bounds, node, region)


def _region(bounds: LayerBounds, node: NodeBatch) -> _LeafRegion:
    """All sides fixed by branching, in the order of their columns, after the margin."""
    layers, sign = bounds.layers, node.sign[0]
    slopes, constants = [], []
    matrix, shift = np.eye(len(bounds.box.x)), np.zeros(len(bounds.box.x))
    for j, cols in enumerate(layers.columns):
        own, linear = layers.undecided[j], layers.weights[j]
        sums, shift = linear.forward(matrix.T).T, linear.forward(shift) + layers.bias[j]
        fixed = np.flatnonzero(sign[cols])
        side = -sign[cols][fixed].astype(np.float64)
        slopes.extend(side[:, None] * sums[own][fixed])
        constants.extend(side * shift[own][fixed])
        slope = layers.slope[j].copy()
        slope[own] = np.where(node.lower[0, cols] >= 0, 1.0, bounds.slope[cols])
        matrix, shift = sums * slope[:, None], shift * slope
    row = bounds.rows[node.row[0]]
    slopes.insert(0, row @ matrix)
    constants.insert(0, row @ shift + bounds.offsets[node.row[0]])
    rows, shifts = np.array(slopes), np.array(constants)
    largest = np.maximum(abs(rows).max(axis=1), _LEAST_SLOPE_SHARE * abs(shifts))
    scale = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))  # no digit is lost
    return _LeafRegion(rows / scale[:, None], shifts / scale, scale)


def _infeasibility_weights(bounds: LayerBounds, region: _LeafRegion, aim: float) -> Floats | None:
    """Weights of the constraints that cannot all hold within `aim`, if it seems so."""
    from scipy.optimize import linprog

    box, n = bounds.box, len(bounds.box.x)
    rows = np.hstack([region.slopes, -np.ones((len(region.slopes), 1))])
    within = replace(box, radius=aim)
    limits = [*zip(within.lower, within.upper, strict=True), (None, None)]
    solved = linprog(np.eye(n + 1)[n], rows, -region.constants, bounds=limits, method="highs")
    if solved.status != 0 or solved.fun <= 0:
        return None
    return np.asarray(np.maximum(-solved.ineqlin.marginals, 0.0))


def _radius_by_weights(bounds: LayerBounds, node: NodeBatch, weights: Floats) -> float:
    """The radius that these weights of margin and constraints prove."""
    region_columns = np.flatnonzero(node.sign[0])
    signed_beta = np.zeros((1, len(bounds.lower)))
    signed_beta[0, region_columns] = weights[1:] * node.sign[0, region_columns]
    rows, offsets = weights[0] * bounds.rows[node.row], weights[0] * bounds.offsets[node.row]
    lines, start = node.lines(bounds.slope), np.full(1, bounds.box.radius)
    proved = relax.proved_linear_bounds(bounds, rows, offsets, lines, node.alpha, signed_beta)
    return float(relax.proved_radius(bounds.box, proved, start, _NEWTON_STEPS)[0])


def _nearest_counterexample(
    bounds: LayerBounds, node: NodeBatch, region: _LeafRegion
) -> LeafResult:
    """The nearest counterexample of the leaf, and what its multipliers prove."""
    solve = _nearest_l2 if bounds.box.norm is Ball.L2 else _nearest_linear
    beyond = region.constants.copy()  # where the margin is broken without what rounding takes
    beyond[0] += 2 * bounds.first_run_loss[node.row[0]] / region.scale[0]
    solved = solve(bounds.box, replace(region, constants=beyond))
    if solved is None:
        return LeafResult(0.0, None)
    point, weights = solved[0], solved[1] / region.scale
    return LeafResult(
        _radius_by_weights(bounds, node, weights), np.clip(point, bounds.box.low, bounds.box.high)
    )


def _nearest_linear(box: Box, region: _LeafRegion) -> tuple[Floats, Floats] | None:
    """The nearest point of the region in L∞ or L1 and the weights of its constraints, if any.

    Beside the point there is one distance for all its values, or one for each.
    """
    from scipy.optimize import linprog

    n = len(box.x)
    one = box.norm is Ball.LINF
    far = np.broadcast_to(box.unit, n)[:, None] if one else np.eye(n)
    rows = np.hstack([region.slopes, np.zeros((len(region.slopes), far.shape[1]))])
    table = np.vstack([rows, np.hstack([np.eye(n), -far]), np.hstack([-np.eye(n), -far])])
    right = np.concatenate([-region.constants, box.x, -box.x])
    right[0] += _BROKEN_MARGIN
    ends = (np.broadcast_to(end, n) for end in (box.low, box.high))
    limits = [*zip(*ends, strict=True), *[(0.0, None)] * far.shape[1]]
    price = np.concatenate([np.zeros(n), np.ones(far.shape[1])])
    solved = linprog(price, table, right, bounds=limits, method="highs")
    if solved.status != 0:
        return None
    return solved.x[:n], np.maximum(-solved.ineqlin.marginals[: len(region.slopes)], 0.0)


def _nearest_l2(box: Box, region: _LeafRegion) -> tuple[Floats, Floats] | None:
    """The same in L2, by least squares without negative weights (Lawson & Hanson 1974, ch. 23)."""
    from scipy.optimize import nnls

    n = len(box.x)
    slopes = np.vstack([-region.slopes, np.eye(n), -np.eye(n)])
    least = np.concatenate(
        [region.constants + region.slopes @ box.x, box.low - box.x, box.x - box.high]
    )
    least[0] -= _BROKEN_MARGIN
    table = np.vstack([slopes.T, least])
    try:
        weights, _ = nnls(table, np.eye(n + 1)[n])
    except RuntimeError:  # it did not converge
        return None
    rest = table @ weights - np.eye(n + 1)[n]
    if not rest[n] < 0:
        return None
    return box.x - rest[:n] / rest[n], weights[: len(region.slopes)]


BYTES_PER_NEURON = 17
"""Of one node: lower, upper, alpha and beta in float32 and the sign in one byte."""
_BLOCKS = 8
"""Blocks of a batch in which nodes are queued, so that the queue stays short. Chosen by hand;
results do not depend on it, only the time."""
_UNDECIDED = 16
"""Neurons that must be on either side for a node to be split unbounded: with fewer it would soon
be a leaf, whose region may be empty. Chosen by hand; proofs are true whatever it is."""
_CHECKED = 8
"""Nodes of each batch of a device that are bounded on the processor too, at least: a device whose
sums are less exact differs in all of them. Chosen by hand."""
_LEAST_BATCH = 16
"""Nodes of the smallest batch, also in a large network: fewer do not fill a matrix product. Chosen
by hand; proofs are true whatever it is."""
_BATCHES_AN_ATTACK = 4
"""Batches from one attack to the next: attacks of each took a tenth of the time. Chosen by hand; a
proof does not depend on it."""
_ATTACK_STEPS = 15
_ATTACK_FIRST_STEP = 0.25
"""Steps of a descent from a node's worst point, and the first as a share of the radius: the point
is already near, long steps would leave it. Chosen by hand; a proof does not depend on them."""
_ATTACK_RADIUS = 0.97
"""A counterexample is sought up to this share of the distance of the best so far, or up to the
middle between that and the aim, if that is farther: one that is hardly nearer is not worth a
search. Chosen by hand; a proof does not depend on it."""
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
    `most_steps` where it is not, fewer with more undecided neurons than half a `batch`: few fill a
    product then. `root_steps` at the root, `long_steps` every `long_every` levels for nodes that
    gained nothing; `rates` are its step sizes for α and β. `batch` is the largest number of nodes
    bounded at once, `work` their multiplications and `values` the multipliers that NumPy searches
    together: more fall out of a processor's cache, and a node of 2,700 neurons takes half as long
    again. `tries` are the descents for a counterexample after some batches. From `memory` bytes of
    open nodes on the newest are branched first, so that the queue stops growing. Fewer nodes than
    this `fill` of a batch are split several times before
    they are bounded: few take nearly as long as many. `steps`, `long_steps`, `long_every`, `fill`
    and the fewer steps are measured (docs/decisions/prover.md), the others chosen by hand.
    """

    steps: int = 4
    most_steps: int = 60
    root_steps: int = 24
    long_steps: int = 60
    long_every: int = 2
    rates: tuple[float, float] = (0.25, 0.3)
    batch: int = 1024
    work: float = 3e9
    values: int = 1 << 17
    memory: int = 1 << 30
    fill: float = 0.5
    tries: int = 8


DEFAULT_SETTINGS = TreeSettings()
LONG_SEARCH = TreeSettings(steps=12)
"""Fewer nodes, each searched longer: what one of the two does not close, the other may."""
_ON_DEVICE = TreeSettings(most_steps=40, batch=1 << 16, work=3e12, values=1 << 24, fill=0.25)
"""Batches that fill a GPU; `values` is the most of them, where the memory allows it."""
_BYTES_A_VALUE, _QUEUE_SHARE = 1600, 1 / 8
"""Bytes of a device for each multiplier of a batch, twice what was measured (mnist_relu_3_100 on an
H200), since PyTorch keeps pieces; and the share of the memory that open nodes may take, of which
there are copies. Proofs are true whatever these are."""


def settings_on(where: str, settings: TreeSettings) -> TreeSettings:
    """The same with batches that fill another device, whose memory all cores share."""
    if where == CPU:
        return settings
    share = share_of_memory(where)
    values = max(1 << 16, min(_ON_DEVICE.values, share // _BYTES_A_VALUE))
    queue = int(_QUEUE_SHARE * share)
    return replace(_ON_DEVICE, steps=settings.steps, values=values, memory=queue)


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

    `nodes_left` nodes may still be made, apart from those that the tree begins with. `time_over`
    also ends searches within the tree.
    """

    expired: Expired
    on_low: Callable[[float], None] = lambda low: None
    on_nodes: Callable[[int], None] = lambda number: None
    nodes_left: Callable[[], float] = lambda: math.inf
    time_over: Expired = lambda: False


def prove_by_branching(
    bounds: LayerBounds,
    problem: AttackProblem,
    upper: UpperEnd,
    spare: float,
    tolerance: float,
    watch: TreeWatch,
    settings: TreeSettings = DEFAULT_SETTINGS,
    where: str = CPU,
) -> TreeResult:
    """Prove the label up to min(the box's radius, upper end − `spare`), or as far as time allows.

    Stops early when a counterexample makes the box's radius pointless. Where the label may come
    behind some rivals, that many margins, the least proved ones, are left alone. Nodes are searched
    and bounded `where` it is said; some of each batch are bounded here once more.
    """
    radius, leaves_low = float(bounds.box.radius), float(bounds.box.radius)
    columns, settings = max(1, len(bounds.lower)), settings_on(where, settings)
    # Fewer nodes at once in a large network, so that the clock is read often enough.
    each = 8.0 * settings.steps * sum(w.work for w in bounds.layers.weights)
    batch = int(min(settings.batch, max(_LEAST_BATCH, settings.work / max(1.0, each))))
    filled = min(1.0, settings.batch / (2 * columns))
    longest = max(2 * settings.steps, int(settings.most_steps * filled))
    most = max(settings.batch, settings.memory // (BYTES_PER_NEURON * columns))
    root, there = root_nodes(bounds), bounds
    if where != CPU:
        change = to_device(where)
        root, there = root.moved(change), bounds.moved(change)
        batch = max(_LEAST_BATCH, min(batch, settings.values // columns))
    tree = _Tree(bounds, there, settings, watch, int(settings.fill * batch))
    open_nodes = OpenNodes(max(1, batch // _BLOCKS))

    def aim() -> float:
        return min(radius, upper.high - spare)

    watch.on_nodes(len(bounds.rows))
    root = tree.bound(root, settings.root_steps)
    root = root.take(np.argsort(root.radius, kind="stable")[problem.rank - 1 :])
    open_nodes.put(root.take(root.radius < aim()))
    proved = min(float(root.radius.min(initial=radius)), radius)
    for number in takewhile(lambda _: open_nodes.size, count()):
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
        column, undecided = choose_neuron(there, nodes)
        for i in np.flatnonzero(~undecided):
            if watch.expired():
                return TreeResult(proved, False)
            node = nodes.take(slice(i, i + 1)).moved(to_host)
            leaf = solve_leaf(bounds, node, aim())
            if leaf.point is not None:
                upper.try_counterexample(leaf.point)
            leaves_low = min(leaves_low, max(leaf.radius, float(node.radius[0])))
        if not undecided.any():
            continue
        nodes = tree.split(nodes.take(undecided), column[undecided], 2 * room)
        steps = min(longest, settings.steps * max(1, 2 * batch // len(nodes)))
        children = tree.bound_children(nodes, steps)
        tries = 0 if number % _BATCHES_AN_ATTACK else settings.tries
        _attack(bounds, problem, children, upper, aim(), tries)
        open_nodes.put(children.take(children.radius < aim()))
    return TreeResult(min(leaves_low, aim()), True)


@dataclass(frozen=True, eq=False)
class _Tree:
    """The layers' bounds here, and `there`, where nodes are searched and bounded."""

    here: LayerBounds
    there: LayerBounds
    settings: TreeSettings
    watch: TreeWatch
    fill: int

    def bound(self, nodes: NodeBatch, steps: int) -> NodeBatch:
        """The nodes with better multipliers; what is bounded elsewhere is checked here."""
        nodes = search_nodes(self.there, nodes, steps, self.settings, self.watch.time_over)
        proofs = prove_nodes(self.there, nodes)
        if self.there is not self.here:
            check_device(self.here, nodes, proofs)
        return replace(nodes, radius=np.maximum(nodes.radius, proofs.radius))

    def split(self, nodes: NodeBatch, column: NDArray[np.intp], most: float) -> NodeBatch:
        """Both children of every node, and their children where there are few."""
        nodes = split_nodes(nodes, column)
        while 2 * len(nodes) <= min(self.fill, most) and nodes.least_undecided >= _UNDECIDED:
            column, _ = choose_neuron(self.there, nodes)
            nodes = split_nodes(nodes, column)
        self.watch.on_nodes(len(nodes))
        return nodes

    def bound_children(self, nodes: NodeBatch, steps: int) -> NodeBatch:
        """Bound nodes briefly; those that gained nothing get a long search every second level.

        An empty region needs large multipliers, and on the way to them the bound first gets worse:
        a short search would come back to where it began in every generation.
        """
        inherited, radius = nodes.radius, self.here.box.radius
        nodes = self.bound(nodes, steps)
        stuck = (nodes.radius <= inherited) & (nodes.radius < radius)
        stuck &= nodes.depth % self.settings.long_every == 0
        if not stuck.any():
            return nodes
        longer = self.bound(nodes.take(stuck), self.settings.long_steps)
        return join_nodes([nodes.take(~stuck), longer])


@dataclass(frozen=True, eq=False)
class NodeProofs:
    """What the multipliers of nodes prove: the radius of each, the minimum of its margin over the
    box, and what rounding may have taken from that here."""

    radius: Floats
    floor: Floats
    rounding: Floats


def prove_nodes(bounds: LayerBounds, nodes: NodeBatch, *, packed: bool = True) -> NodeProofs:
    """What is proved for the nodes, in float64, whatever their multipliers are.

    To have layers `packed` for compiled code takes time and memory: not for one bound alone.
    """
    if packed and isinstance(nodes.alpha, np.ndarray) and bounds.packed is not None:
        columns = nodes.lower, nodes.upper, nodes.alpha, nodes.beta, nodes.sign
        newton = relax.newton_steps()
        return NodeProofs(*bounds.packed.prove(nodes.row, columns, nodes.radius, newton))
    proved = node_bounds(bounds, nodes)
    radius = relax.proved_radius(bounds.box, proved, like_device(nodes.radius, proved.a))
    floor = bounds.box.floor(proved.a, proved.c)
    return NodeProofs(*map(to_host, (radius, floor, proved.rounding)))


def bound_nodes(
    bounds: LayerBounds,
    nodes: NodeBatch,
    steps: int,
    settings: TreeSettings = DEFAULT_SETTINGS,
    time_over: Expired = lambda: False,
) -> NodeBatch:
    """The nodes with better multipliers and the radius they prove."""
    nodes = search_nodes(bounds, nodes, steps, settings, time_over)
    radius = prove_nodes(bounds, nodes, packed=steps > 0).radius
    return replace(nodes, radius=np.maximum(nodes.radius, radius))


def node_bounds(bounds: LayerBounds, nodes: NodeBatch) -> LinearBounds:
    """The linear bounds that the nodes' multipliers prove."""
    row = like_device(nodes.row, bounds.rows)
    known = bounds.rows[row], bounds.offsets[row], nodes.lines(bounds.slope)
    return relax.proved_linear_bounds(bounds, *known, nodes.alpha, nodes.beta * nodes.sign)


def check_device(bounds: LayerBounds, nodes: NodeBatch, proofs: NodeProofs) -> None:
    """Bound some nodes here too: no more than the rounding that each side subtracts is between.

    Proofs on a device rest on sums of float64 as the standard has them; some offer less exact ones.
    """
    some = np.arange(0, len(nodes), max(1, len(nodes) // _CHECKED))
    here = prove_nodes(bounds, nodes.take(some).moved(to_host))
    apart = abs(here.floor - proofs.floor[some])
    far = apart > here.rounding + proofs.rounding[some]
    if far.any():
        raise SurefootError(
            f"a bound made on the device differs from the processor's by {apart[far].max():.3g}, "
            f"where rounding allows {here.rounding[far].max():.3g}: its sums are not those of "
            "float64, so nothing is proved there; use prove_on cpu (--prove-on cpu)"
        )


def search_nodes(
    bounds: LayerBounds,
    nodes: NodeBatch,
    steps: int,
    settings: TreeSettings = DEFAULT_SETTINGS,
    time_over: Expired = lambda: False,
) -> NodeBatch:
    """The nodes with better multipliers, found in float32; some of them at a time."""
    if not steps:
        return nodes
    xp, row = array_namespace(bounds.rows), like_device(nodes.row, bounds.rows)
    lines, rows = nodes.lines(xp.astype(bounds.slope, xp.float32)), bounds.rows[row]
    positive = float(_FLOAT32_SLACK * xp.max(abs(bounds.rows) @ bounds.largest[-1]))
    likely = bounds.offsets[row] - bounds.first_run_loss[row]
    sign, how = xp.astype(nodes.sign, xp.float32), (steps, settings.rates, positive, time_over)
    alpha = xp.minimum(xp.maximum(nodes.alpha, lines.least_slope), lines.most_slope)
    piece, parts = max(_LEAST_BATCH, settings.values // max(1, len(bounds.lower))), []
    if bounds.layers.float32.packed is not None:  # it takes a few nodes at a time by itself
        piece = max(1, len(nodes))
    every = like_device(np.arange(len(nodes)), rows)
    for i in range(0, max(1, len(nodes)), piece):
        one = slice(i, i + piece)
        own = lines if piece >= len(nodes) else lines.take(every[one])
        start = Multipliers(alpha[one], nodes.beta[one])
        known = rows[one], likely[one], own, sign[one], start
        parts.append(optimise_multipliers(bounds.layers.float32, *known, *how))
    alpha, beta = (xp.concat([getattr(p, name) for p in parts]) for name in ("alpha", "beta"))
    column = nodes.column if parts[0].column is None else parts[0].column
    return replace(nodes, alpha=alpha, beta=beta, column=column)


def _attack(
    bounds: LayerBounds,
    problem: AttackProblem,
    nodes: NodeBatch,
    upper: UpperEnd,
    aim: float,
    tries: int,
) -> None:
    """Look for a counterexample from the worst points of open nodes, the weakest and some others.

    Any point nearer than the upper end is welcome, also one beyond the radius of the tree.
    """
    order = np.argsort(nodes.radius, kind="stable")
    order = order[nodes.radius[order] < aim]
    if not (len(order) and tries):
        return
    others = order[tries // 2 :: max(1, 2 * len(order) // tries)]
    chosen = np.concatenate([order[: tries // 2], others])
    nearest = max(_ATTACK_RADIUS * upper.high, (aim + upper.high) / 2)
    radius = max(aim, nearest) if np.isfinite(upper.high) else aim
    slopes = node_bounds(bounds, nodes.take(chosen).moved(to_host)).a
    start = bounds.box.worst(slopes).astype(np.float32)
    points, margin = descend_margins(
        problem, start, nodes.row[chosen], radius, _ATTACK_STEPS, _ATTACK_FIRST_STEP
    )
    if margin.min() <= 0:
        upper.try_counterexample(refine_lowest(problem, points, margin).astype(np.float64))
