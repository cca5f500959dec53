"""The proof tree and its bounds: true at every point, in every norm, also where rounding hides."""

import itertools
import time
from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.network import MarginQuestion, SumSizes, linear_layer, margin_question
from surefoot.subject.protocols import Ball
from surefoot.verify import Network, Proved, Refuted, bracket_radius, branch_and_bound, dense_layer
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.bracket_search import CLOSED, WHOLE_DOMAIN
from surefoot.verify.branch_and_bound import (
    TreeSettings,
    TreeWatch,
    bound_nodes,
    prove_by_branching,
    root_nodes,
)
from surefoot.verify.counterexample_search import attack_problem
from surefoot.verify.layer_bounds import bound_layers
from surefoot.verify.linear_relaxation import Relaxation, proved_linear_bounds
from tests.refusals import refused
from tests.unit.radius_verdict import verdict
from tests.unit.small_networks import exact_radius, random_network
from tests.unit.test_verify_bracket_search import refinement


class FixedUpper:
    """An upper end that accepts no point."""

    def __init__(self, high: float) -> None:
        self.high = high

    def try_counterexample(self, point: np.ndarray) -> bool:
        return False


class FallingUpper(FixedUpper):
    """An upper end that comes nearer whenever it is looked at."""

    def __init__(self, high: float, least: float, step: float) -> None:
        self.last, self.least, self.step = high, least, step

    @property
    def high(self) -> float:
        self.last = max(self.least, self.last - self.step)
        return self.last


def never() -> bool:
    return False


NEVER = TreeWatch(never)


def known_radius(seed: int) -> tuple[Network, np.ndarray, float]:
    """A random network, an input and its exact radius, which takes a second to compute."""
    rng = np.random.default_rng(60 + seed)
    network = random_network(rng, 3, [3, 3, 2], 3, [0.0])
    x = rng.uniform(0, 1, 3)
    return network, x, exact_radius(network, x, network.label(x), 0.0, 1.0)


def test_an_invalid_operation_in_single_precision_is_no_warning() -> None:
    """BLAS may raise its flag for numbers that are no part of the product."""
    network, x, _ = known_radius(0)
    problem = attack_problem(margin_question(network, network.label(x)), x, InputSpace(0.0, 1.0))
    odd = replace(problem, rows=problem.rows * np.float32(0), offsets=problem.offsets + np.nan)
    points, row = problem.x[None], np.array([0])
    endless = replace(odd, bias=tuple(b + np.float32(np.inf) for b in odd.bias))
    assert np.isnan(endless.margins(points)).all()  # infinity times 0
    assert np.isnan(endless.margin_and_gradient(points, row)[0]).all()
    assert np.isnan(endless.margin_at(problem.x, row)[0])


@pytest.mark.parametrize("share", [0.5, 0.96, 0.99])
def test_counterexamples_are_sought_up_to_the_middle_of_what_is_open(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, x, _ = known_radius(1)
    question = margin_question(network, network.label(x))
    problem = attack_problem(question, x, InputSpace(0.0, 1.0))
    bounds, sought = bound_layers(question, Box(x, 0.5, 0.0, 1.0), never), []

    def descend(problem: object, start: np.ndarray, row: np.ndarray, radius: float, *how: float):
        sought.append(radius)
        return start, np.ones(len(start))

    monkeypatch.setattr(branch_and_bound, "descend_margins", descend)
    branch_and_bound._attack(bounds, problem, root_nodes(bounds), FixedUpper(0.4), share * 0.4, 4)
    assert sought == pytest.approx([0.4 * max(0.97, (1 + share) / 2)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_way_of_growing_proves_only_what_is_true(seed: int) -> None:
    network, x, exact = known_radius(seed)
    question = margin_question(network, network.label(x))
    problem = attack_problem(question, x, InputSpace(0.0, 1.0))
    ways = TreeSettings(), TreeSettings(batch=4), TreeSettings(steps=0)
    for share, settings in itertools.product((0.95, 1.2), ways):
        radius = share * (exact if np.isfinite(exact) else 1.0)
        refine = refinement(200) if settings == TreeSettings() else None
        bounds = bound_layers(question, Box(x, radius, 0.0, 1.0), never, refine=refine)
        grown = prove_by_branching(bounds, problem, FixedUpper(np.inf), 0.0, 1e-3, NEVER, settings)
        assert grown.low <= exact + 1e-9
        assert grown.closed
        if radius < exact:
            assert grown.low == radius


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_lower_end_never_passes_what_closed_nodes_were_proved_to(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 6, [12, 8], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 6)
    question = margin_question(network, network.label(x))
    problem = attack_problem(question, x, InputSpace(0.0, 1.0))
    radius = bracket_radius(network, x, network.label(x)).low
    upper = FallingUpper(1.5 * radius, 1.001 * radius, 0.002 * radius)
    bounds = bound_layers(question, Box(x, radius, 0.0, 1.0), never)
    lows_and_aims: list[tuple[float, float]] = []

    def record(low: float) -> None:
        lows_and_aims.append((low, upper.last - 0.5 * radius))

    settings, watch = TreeSettings(batch=1, steps=1), TreeWatch(never, record)
    prove_by_branching(bounds, problem, upper, 0.5 * radius, 10.0, watch, settings)
    assert all(low <= aim for low, aim in lows_and_aims)


def exactly(question: MarginQuestion, x: list[Fraction]) -> list[Fraction]:
    """The margins in rational numbers."""
    h = x
    for layer in question.hidden:
        sums = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(b))
            for row, b in zip(layer.weights.matrix, layer.bias, strict=True)
        ]
        h = [max(v, Fraction(s) * v) for v, s in zip(sums, layer.slope, strict=True)]
    return [
        sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(o))
        for row, o in zip(question.rows, question.offsets, strict=True)
    ]


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_rounding_is_paid_for(scale: float, shift: float) -> None:
    # With a large shift every neuron is active: the bound equals the margin, up to rounding alone.
    rng = np.random.default_rng(int(scale + shift))
    layers = [
        dense_layer(
            scale * rng.normal(size=(5, 3)), scale * (rng.normal(size=5) + shift), np.zeros(5)
        ),
        dense_layer(
            scale * rng.normal(size=(4, 5)), np.full(4, 60 * scale**2 * shift), np.zeros(4)
        ),
        linear_layer(rng.normal(size=(3, 4)), rng.normal(size=3)),
    ]
    network = Network(tuple(layers), (3,))
    for _ in range(10):
        x = rng.uniform(0, 1, 3)
        question = margin_question(network, network.label(x))
        bounds = bound_layers(question, Box(x, 0.05, 0.0, 1.0), never)
        nodes = bound_nodes(bounds, root_nodes(bounds), 4)
        lines = nodes.lines(bounds.slope)
        linear_bounds = proved_linear_bounds(
            bounds, bounds.rows, bounds.offsets, lines, nodes.alpha, None
        )
        for point in rng.uniform(bounds.box.lower, bounds.box.upper, (5, 3)):
            rational = [Fraction(v) for v in point]
            for a, c, margin in zip(
                linear_bounds.a, linear_bounds.c, exactly(question, rational), strict=True
            ):
                form = sum((Fraction(v) * p for v, p in zip(a, rational, strict=True)), Fraction(c))
                assert form <= margin


def test_what_rounding_loses_widens_the_bounds_of_every_neuron() -> None:
    weights, none = np.array([[1.0, -1.0], [2.0, -1.5]]), np.zeros(2)
    sums = SumSizes(None, none, np.full(2, 0.04), none, none)
    layer = dense_layer(weights, np.array([-0.1, -0.2]), np.zeros(2), sums)
    last = linear_layer(np.array([[1.0, 0.5], [0.0, 1.0]]), np.zeros(2))
    box = Box(np.array([0.6, 0.5]), 0.2, 0.0, 1.0)
    plain, wider = (
        bound_layers(margin_question(Network((layer, last), (2,)), 0, 1, arithmetic), box, never)
        for arithmetic in (Arithmetic.REAL, Arithmetic.FLOAT32)
    )
    assert plain.lower == pytest.approx([-0.4, -0.45])
    assert wider.lower == pytest.approx(plain.lower - 0.04)
    assert wider.upper == pytest.approx(plain.upper + 0.04)


@pytest.mark.slow
@pytest.mark.parametrize("corner", [(0.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.5, 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_every_pattern_of_two_inputs_from_the_border_and_the_middle(
    seed: int, corner: tuple[float, float]
) -> None:
    network = random_network(np.random.default_rng(900 + seed), 2, [4, 2], 3, [0.0, 0.0, 0.2])
    x = np.array(corner)
    label = network.label(x)
    exact = exact_radius(network, x, label, 0.0, 1.0)
    bracket = bracket_radius(network, x, label, tolerance=1e-4)
    assert bracket.low <= exact + 1e-9
    if np.isinf(exact):
        assert bracket.reason == "proved for the whole domain"
        return
    assert exact - 1e-7 <= bracket.high <= exact + 1.001e-4
    assert bracket.witness.min() >= 0
    assert bracket.witness.max() <= 1
    assert isinstance(verdict(network, x, label, 0.98 * exact), Proved)
    beyond = verdict(network, x, label, 1.02 * exact)
    assert isinstance(beyond, Refuted)
    assert np.abs(beyond.witness - x).max() <= 1.02 * exact


def test_a_tie_at_the_input_is_kept_by_the_first_label_and_never_proved() -> None:
    # Both scores are relu(x): tied everywhere; argmax says 0.
    hidden = dense_layer(np.array([[1.0]]), np.zeros(1), np.zeros(1))
    network = Network((hidden, linear_layer(np.array([[1.0], [1.0]]), np.zeros(2))), (1,))
    bracket = bracket_radius(network, np.array([0.5]), 0)
    assert bracket.low == 0.0
    assert bracket.witness is None
    assert bracket_radius(network, np.array([0.5]), 1).reason == "misclassified"


def test_a_tie_in_a_part_of_the_box_ends_the_proof_there_and_says_so() -> None:
    # margin relu(x − 0.3): positive above 0.3, a tie below, where label 0 still wins
    hidden = dense_layer(np.array([[1.0]]), np.array([-0.3]), np.zeros(1))
    network = Network((hidden, linear_layer(np.array([[1.0], [0.0]]), np.zeros(2))), (1,))
    bracket = bracket_radius(network, np.array([0.5]), 0, tolerance=1e-3)
    assert bracket.low <= 0.2
    assert bracket.low > 0.19
    assert bracket.high == np.inf
    assert "tie" in bracket.reason


def test_time_is_kept_on_a_deep_network() -> None:
    rng = np.random.default_rng(2)
    network = random_network(rng, 200, [120] * 6, 5, [0.0])
    x = rng.uniform(0.2, 0.8, 200)
    bracket = bracket_radius(network, x, network.label(x), seconds=0.5, clock=time.thread_time)
    assert (bracket.reason, bracket.seconds < 2.5) == ("out of time", True)


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
    proved = bound_nodes(bounds, root_nodes(bounds), 0).radius.min()
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


@pytest.mark.parametrize("width", [3, 9])  # the shorter of two sums gives the bound
@pytest.mark.parametrize("norm", Ball)
def test_a_bound_is_the_same_with_its_gradient_and_without(norm: Ball, width: int) -> None:
    rng = np.random.default_rng(6)
    network, x = random_network(rng, 6, [width, 5], 3, [0.0]), rng.uniform(0, 1, 6)
    question = margin_question(network, network.label(x))
    bounds = bound_layers(question, Box(x, 0.3, 0.0, 1.0, norm), never)
    root = root_nodes(bounds)
    known = root.lines(bounds.slope), root.alpha, root.beta * root.sign
    relaxed = Relaxation(bounds.layers, bounds.rows, bounds.offsets, *known)
    exact = proved_linear_bounds(bounds, bounds.rows, bounds.offsets, *known)
    value = relaxed.value()
    assert relaxed.value_and_gradient().value == pytest.approx(value, rel=1e-6, abs=1e-9)
    proved = bounds.box.floor(exact.a, exact.c)
    assert proved == pytest.approx(value, rel=1e-3, abs=1e-4)


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
