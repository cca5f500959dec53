"""Radii in L2, L1, per feature and for the best k, against closed forms and points tried."""

from itertools import count

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.network import linear_layer, margin_question
from surefoot.subject.protocols import Ball
from surefoot.verify import Network, bracket_radius, dense_layer
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.bracket_search import CLOSED, WHOLE_DOMAIN
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.layer_bounds import bound_layers
from tests.refusals import refused
from tests.unit.small_networks import random_network

DUAL = {
    Ball.LINF: lambda rows: np.abs(rows).sum(axis=1),
    Ball.L2: lambda rows: np.linalg.norm(rows, axis=1),
    Ball.L1: lambda rows: np.abs(rows).max(axis=1),
}
NORM = {
    Ball.LINF: lambda rows: np.abs(rows).max(axis=1),
    Ball.L2: lambda rows: np.linalg.norm(rows, axis=1),
    Ball.L1: lambda rows: np.abs(rows).sum(axis=1),
}


def single(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n, dtype=np.float32).astype(np.float64)


@pytest.mark.parametrize("norm", Ball)
@pytest.mark.parametrize("n", [2, 100])
def test_the_radius_of_a_linear_network_is_its_margin_over_the_dual_norm(
    norm: Ball, n: int
) -> None:
    rng = np.random.default_rng(n)
    network = Network((linear_layer(rng.normal(size=(4, n)), rng.normal(size=4)),), (n,))
    x = single(rng, n)
    label, [layer] = network.label(x), network.layers
    question = margin_question(network, label, arithmetic=Arithmetic.REAL)
    rows = np.delete(layer.weights.matrix[label] - layer.weights.matrix, label, axis=0)
    margins = np.delete(network.scores(x[None])[0, label] - network.scores(x[None])[0], label)
    exact = (margins / DUAL[norm](rows)).min()
    bounds = bound_layers(question, Box(x, 2 * exact, -1e3, 1e3, norm), lambda: False)
    proved = bound_nodes(bounds, root_nodes(bounds), 0, (0.0, 0.0))[0].radius.min()
    assert exact * (1 - 1e-8) < proved < exact
    found = bracket_radius(
        network,
        x,
        network.label(x),
        low=-1e3,
        high=1e3,
        norm=norm,
        tolerance=0.05 * exact,
        nodes=99,
    )
    assert found.low <= exact <= found.high <= found.low + 0.05 * exact


@pytest.mark.parametrize("norm", [Ball.L2, Ball.L1])
def test_bounds_within_the_domain_are_minima_from_below(norm: Ball) -> None:
    rng = np.random.default_rng(5)
    x = np.where(rng.random(90) < 0.5, 0.0, single(rng, 90))
    a, c = rng.normal(size=(6, 90)), rng.normal(size=6)
    radius = np.array([0.0, 0.01, 0.5, 1.0, 3.0, 60.0])
    least, _ = Box(x, 60.0, 0.0, 1.0, norm).least(a, c, radius)
    for row in range(6):
        room = np.where(a[row] > 0, x, 1 - x)
        exact = a[row] @ x + c[row] - _farthest(norm, np.abs(a[row]), room, radius[row])
        assert exact - 0.02 * radius[row] <= least[row] <= exact + 1e-12


def _farthest(norm: Ball, size: np.ndarray, room: np.ndarray, radius: float) -> float:
    """max size·d with 0 ≤ d ≤ room and ‖d‖ ≤ radius."""
    if norm is Ball.L1:
        solved = linprog(-size, np.ones((1, len(size))), [radius], bounds=[(0, r) for r in room])
        return -float(solved.fun)
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(np.minimum(room, middle * size)) <= radius:
            low = middle
        else:
            high = middle
    return float(size @ np.minimum(room, low * size))


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("norm", Ball)
def test_no_point_that_fails_lies_within_a_proved_radius(norm: Ball, rank: int) -> None:
    rng = np.random.default_rng(10 + rank)
    for _ in range(4):
        network, x = random_network(rng, 3, [5, 4], 4, [0.0]), single(rng, 3)
        label = network.label(x)
        found = bracket_radius(
            network, x, label, norm=norm, rank=rank, tolerance=0.01, nodes=2000,
            clock=count().__next__, seconds=1e9,
        )  # fmt: skip
        points = rng.random((20_000, 3))
        scores = network.scores(points)
        fails = (scores >= scores[:, [label]]).sum(axis=1) > rank
        assert NORM[norm](points[fails] - x).min(initial=np.inf) > found.low
        if found.witness is not None:
            assert not network.keeps(found.witness, label, rank)
            assert NORM[norm](found.witness[None] - x)[0] <= found.high
        assert rank > 1 or found.reason in (CLOSED, WHOLE_DOMAIN)


def test_widths_of_features_are_another_unit_for_each() -> None:
    rng = np.random.default_rng(8)
    unit = np.array([1.0, 4.0, 0.5])
    network, x = random_network(rng, 3, [5], 3, [0.0]), single(rng, 3)
    first, last = network.layers
    scaled = Network(
        (dense_layer(first.weights.matrix / unit, first.bias, first.slope), last), (3,)
    )
    plain = bracket_radius(network, x, network.label(x), low=-9.0, high=9.0, nodes=99)
    moved = bracket_radius(
        scaled, x * unit, network.label(x), low=-9.0 * unit, high=9.0 * unit, unit=unit, nodes=99
    )
    assert moved.low == pytest.approx(plain.low, abs=0.002)
    assert moved.high == pytest.approx(plain.high, abs=0.002)


def test_a_feature_of_width_0_never_moves() -> None:
    network = Network(
        (linear_layer(np.array([[0.0, 0.0], [9.0, 1.0]]), np.array([0.5, 0.0])),), (2,)
    )
    found = bracket_radius(network, np.zeros(2), 0, unit=np.array([0.0, 1.0]), nodes=99)
    assert found.low <= 0.5 <= found.high
    assert found.witness is not None and found.witness[0] == 0


def test_a_last_relu_ties_below_zero_also_among_the_best() -> None:
    weights, bias = np.array([[-1.0], [0.0], [0.0]]), np.array([0.5, -1.0, -2.0])
    network = Network((linear_layer(weights, bias),), (1,), ends_in_relu=True)
    found = bracket_radius(network, np.zeros(1), 0, rank=2, nodes=99)
    assert found.low <= 0.5 <= found.high <= 0.51


def test_widths_are_for_boxes_alone() -> None:
    refused("", InputSpace, 0.0, 1.0, Ball.L2, np.array([1.0, 2.0]))
