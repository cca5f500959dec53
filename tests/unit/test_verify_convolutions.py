"""Proofs through convolutions, Sigmoid and Tanh: against points, matrices and patterns."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.core.assumptions import Arithmetic
from surefoot.graph import activation
from surefoot.graph.activation import CURVE_ERROR, CURVES, SIGMOID, TANH
from surefoot.graph.linear_map import (
    Convolution,
    Dense,
    LinearMap,
    Selection,
    Several,
    convolution,
    dense_rows,
)
from surefoot.graph.network import Layer, linear_layer, margin_question
from surefoot.graph.onnx_file import WindowLayout, quiet_session
from surefoot.verify import Network, bracket_radius, read_network
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.layer_bounds import INTERVALS, MOST_SEARCH_WORK, bound_layers
from surefoot.verify.linear_relaxation import activation_lines
from tests.unit.small_networks import exact_radius, margins_at, random_network
from tests.unit.test_graph_read_network import image, model, node

TOLERANCE = 0.002
LIMITS = {"tolerance": TOLERANCE, "nodes": 3000, "seconds": 600.0}
"""No clock decides."""


def convolved(
    rng: np.random.Generator, taken: tuple[int, ...], outputs: int, pad: int, stride: int
) -> Convolution:
    """A random convolution of windows of 2 × 2."""
    layout = WindowLayout([(pad, 0), (0, pad)], [stride, stride], [1, 1])
    return convolution(rng.normal(0, 1.2, (outputs, taken[0], 2, 2)), layout, 1, taken)


def activated(rng: np.random.Generator, linear: LinearMap, slope: float) -> Layer:
    """A layer with this slope below zero."""
    rows = linear.shape[0]
    return Layer(linear, rng.normal(0, 0.4, rows), np.full(rows, slope))


def network_of(rng: np.random.Generator, side: int, channels: int, slope: float) -> Network:
    """Two convolutions, the second beside a branch that skips it, their sum, and two classes."""
    first = convolved(rng, (1, side, side), channels, 0, 1)
    n = first.shape[0]
    second = convolved(rng, (channels, *first.space), channels, 1, 1)
    m = second.shape[0]
    carried = Several((second, Selection(np.arange(n), n)), stacked=True)
    hidden = activated(rng, carried, slope)
    skip = replace(hidden, slope=np.where(np.arange(n + m) < m, slope, 1.0))
    both = Several(
        (Selection(np.arange(m), n + m), Selection(m + np.arange(n), n + m)), stacked=False
    )
    third = activated(rng, both, 0.0)
    last = linear_layer(rng.normal(0, 1, (2, m)), rng.normal(0, 0.1, 2))
    return Network((activated(rng, first, slope), skip, third, last), (1, side, side))


def as_matrices(network: Network) -> Network:
    """The same network of matrices."""
    layers = network.layers
    dense = (
        replace(layer, weights=Dense(dense_rows(layer.weights, slice(None)))) for layer in layers
    )
    return replace(network, layers=tuple(dense))


@pytest.mark.parametrize("work", [MOST_SEARCH_WORK, INTERVALS])
@pytest.mark.parametrize(("side", "channels", "radius"), [(4, 2, 0.05), (6, 3, 0.02), (9, 5, 0.1)])
def test_bounds_through_convolutions_hold_at_every_point(
    side: int, channels: int, radius: float, work: float
) -> None:
    rng = np.random.default_rng(side)
    network = network_of(rng, side, channels, 0.1)
    x = rng.uniform(0, 1, side**2)
    question = margin_question(network, network.label(x))
    box = Box(x, radius, 0.0, 1.0)
    bounds = bound_layers(question, box, lambda: False, work)
    points = rng.uniform(box.lower, box.upper, (500, len(x)))
    points[1::2] = np.where(points[1::2] > x, box.upper, box.lower)
    h = points
    for j, layer in enumerate(question.hidden[:-1]):  # the last is a matrix' neighbour
        sums, own = layer.weights.forward(h) + layer.bias, bounds.layers.undecided[j]
        columns = bounds.layers.columns[j]
        decided = np.delete(sums, own, axis=1)
        assert (sums[:, own] >= bounds.lower[columns] - 1e-9).all()
        assert (sums[:, own] <= bounds.upper[columns] + 1e-9).all()
        on_one_side = (decided >= 0).all(axis=0) | (decided <= 0).all(axis=0)
        linear = np.delete(layer.slope, own) == 1
        assert (on_one_side | linear).all()
        h = layer(h)
    nodes = bound_nodes(bounds, root_nodes(bounds), 5)
    margins = margins_at(question, points)
    assert (margins[:, nodes.radius >= radius] > 0).all()


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_bracket_is_that_of_the_same_network_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(rng, 5, 2, 0.0)
    x = rng.uniform(0, 1, 25)
    label = network.label(x)
    here = bracket_radius(network, x, label, **LIMITS)
    there = bracket_radius(as_matrices(network), x, label, **LIMITS)
    assert here.low <= there.high and there.low <= here.high
    assert here.high - here.low <= TOLERANCE * 1.001


def test_the_bracket_holds_the_exact_radius() -> None:
    rng = np.random.default_rng(3)
    first = convolved(rng, (1, 3, 3), 2, 0, 1)
    last = linear_layer(rng.normal(0, 1, (2, first.shape[0])), np.zeros(2))
    network = Network((activated(rng, first, 0.0), last), (1, 3, 3))
    x = rng.uniform(0, 1, 9)
    label = network.label(x)
    exact = exact_radius(as_matrices(network), x, label, 0.0, 1.0)
    bracket = bracket_radius(network, x, label, **LIMITS)
    assert bracket.low <= exact * (1 + 1e-9) and exact <= bracket.high * (1 + 1e-9)
    assert bracket.high - bracket.low <= TOLERANCE * 1.001


@pytest.mark.parametrize("work", [0.0, MOST_SEARCH_WORK])
def test_bounds_through_a_pool_hold_at_every_point(work: float) -> None:
    rng = np.random.default_rng(5)
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    body = [node("Conv", "x w", "c", pads=[1] * 4), node("Relu", "c", "r")]
    body += [node("MaxPool", "r", "p", **pool), node("Conv", "p v", "d", pads=[1] * 4)]
    weights = {name: rng.normal(0, 0.5, (2, 2, 3, 3)).astype(np.float32) for name in "wv"}
    network = read_network(image([*body, node("Relu", "d", "s")], weights, "s", 18))
    x = rng.random(72)
    question = margin_question(network, network.label(x), arithmetic=Arithmetic.FLOAT32)
    box = Box(x, 0.01, 0.0, 1.0)
    bounds = bound_layers(question, box, lambda: False, work)
    nodes = bound_nodes(bounds, root_nodes(bounds), 10)
    points = rng.uniform(box.lower, box.upper, (2000, 72))
    margins, far = margins_at(question, points), np.abs(points - x).max(axis=1)
    assert nodes.radius.max() > 0
    for row, radius in enumerate(nodes.radius):
        assert (margins[far <= radius, row] > 0).all()
    h = points
    for k, layer in enumerate(question.hidden):
        sums = layer.weights.forward(h) + layer.bias
        own, columns = bounds.layers.undecided[k], bounds.layers.columns[k]
        if isinstance(own, np.ndarray):
            assert (sums[:, own] >= bounds.lower[columns]).all()
            assert (sums[:, own] <= bounds.upper[columns]).all()
        h = layer(h)


KINDS = [0.0, SIGMOID, TANH, 0.1]


@pytest.mark.parametrize("curve", CURVES.values())
@pytest.mark.parametrize("scale", [0.0, 1e-8, 1e-2, 1.0, 10.0, 1e4])
def test_lines_lie_on_both_sides_of_a_curve(scale: float, curve: float) -> None:
    rng = np.random.default_rng(1)
    middle, reach = rng.normal(0, scale, 200), np.abs(rng.normal(0, scale, 200))
    lower, upper, slope = middle - reach, middle + reach, np.full((1, 200), curve)
    lower[:50], upper[50:100] = 0.0, 0.0  # as branching leaves them
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    lines = activation_lines(lower[None], upper[None], slope)
    v = np.clip(lower + np.linspace(0, 1, 1001)[:, None] * (upper - lower), lower, upper)
    run = activation.activated(v, slope)
    above = lines.upper_slope * v + lines.upper_offset - run
    below = run - lines.least_slope * v - lines.lower_offset
    assert min(above.min(), below.min()) >= CURVE_ERROR
    assert np.array_equal(lines.least_slope, lines.most_slope)
    touching = np.maximum(above.min(axis=0), below.min(axis=0))
    assert scale > 10 or touching.max() < 3e-2


@pytest.mark.parametrize("kind", CURVES)
def test_a_runtime_is_as_close_to_a_curve_as_proofs_allow(kind: str) -> None:
    every = np.arange(0, 0x7F800000, 4099, dtype=np.uint32).view(np.float32)
    x = np.concatenate([every, -every])
    real = activation.activated(x.astype(np.float64), np.full(len(x), CURVES[kind]))
    session = quiet_session(model([node(kind, "x", "y")], {}, ["N"]))
    (run,) = session.run(None, {"x": x})
    assert np.abs(run - real).max() <= CURVE_ERROR / 2
    torch = pytest.importorskip("torch")
    theirs = getattr(torch, kind.lower())(torch.from_numpy(x)).numpy()
    assert np.abs(theirs - real).max() <= CURVE_ERROR / 2


@pytest.mark.parametrize("work", [INTERVALS, 0.0, MOST_SEARCH_WORK])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_at_every_point(seed: int, work: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 3, [6, 5, 4], 3, KINDS)
    x = rng.random(3)
    question = margin_question(network, network.label(x), arithmetic=Arithmetic.FLOAT32)
    box = Box(x, 0.3, 0.0, 1.0)
    bounds = bound_layers(question, box, lambda: False, work)
    nodes = bound_nodes(bounds, root_nodes(bounds), 20)
    points = rng.uniform(box.lower, box.upper, (4000, 3))
    margins, far = margins_at(question, points), np.abs(points - x).max(axis=1)
    for row, radius in enumerate(nodes.radius):
        assert (margins[far <= radius, row] > 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_contradicts_a_bracket(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 2, [5, 4], 3, KINDS)
    x = rng.random(2)
    label = network.label(x)
    result = bracket_radius(network, x, label, nodes=300, seconds=600.0)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 301)] * 2), axis=-1).reshape(-1, 2)
    other = grid[network.scores(grid).argmax(axis=1) != label]
    nearest = np.abs(other - x).max(axis=1).min(initial=np.inf)
    assert 0 < result.low <= nearest
    assert result.low <= result.high
    if result.witness is not None:
        assert network.label(result.witness) != label


def test_curves_that_tie_as_run_have_no_radius() -> None:
    # in real arithmetic sigmoid(30) > sigmoid(29) everywhere, in float32 both are 1
    nodes = [node("Gemm", "x w b", "z", transB=1), node("Sigmoid", "z", "y")]
    constants = {"w": np.zeros((2, 2), np.float32), "b": np.array([29, 30], np.float32)}
    network = read_network(model(nodes, constants, [1, 2]))
    x = np.full(2, 0.5)
    assert network.label(x) == 1
    assert bracket_radius(network, x, 1, nodes=50).low == 0.0
