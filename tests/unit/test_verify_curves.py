"""Proofs through Sigmoid and Tanh: their lines, what runtimes make of them, and whole networks."""

import numpy as np
import pytest

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.activation import CURVE_ERROR, CURVES, SIGMOID, TANH, activated
from surefoot.graph.network import margin_question
from surefoot.graph.onnx_file import quiet_session
from surefoot.verify import bracket_radius, read_network
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.layer_bounds import INTERVALS, MOST_SEARCH_WORK, bound_layers
from surefoot.verify.linear_relaxation import activation_lines
from tests.unit.small_networks import margins_at, random_network
from tests.unit.test_graph_read_network import model, node

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
    run = activated(v, slope)
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
    real = activated(x.astype(np.float64), np.full(len(x), CURVES[kind]))
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
    nodes, _ = bound_nodes(bounds, root_nodes(bounds), 20, (0.2, 0.2))
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
