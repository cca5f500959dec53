"""The bracket of the critical radius: against exact answers, at edges, under a clock."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot.core.counts import closed_to
from surefoot.graph.network import linear_layer, margin_question
from surefoot.subject.protocols import CPU
from surefoot.verify import (
    Network,
    Proved,
    Refuted,
    Unknown,
    bracket_radius,
    bracket_search,
    dense_layer,
)
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.bracket import BracketState
from surefoot.verify.bracket_search import TreeProgress
from surefoot.verify.layer_bounds import bound_layers
from surefoot.verify.neuron_trees import refine_neurons
from tests.refusals import refused
from tests.unit.radius_verdict import verdict
from tests.unit.small_networks import exact_radius, margins_at, random_network

TOLERANCE = 1e-3


def two_ways(weights: list[float], bias: float, slope: float = 0.0) -> Network:
    """Score 0 is bias − act(weights·x), score 1 is 0."""
    hidden = dense_layer(np.array([weights]), np.zeros(1), np.array([slope]))
    return Network(
        (hidden, linear_layer(np.array([[-1.0], [0.0]]), np.array([bias, 0.0]))), (len(weights),)
    )


def ticking(step: float = 1.0):
    """A clock that advances by `step` whenever it is read."""
    count = itertools.count()
    return lambda: step * next(count)


def refinement(nodes: int, where: str = CPU):
    """Trees of single neurons, up to so many nodes for a layer."""

    def refine(bounds, layer, ends, lost, share):
        made = []

        def spend(more: int) -> bool:
            made.append(more)
            return sum(made) < nodes

        lower, upper = refine_neurons(bounds, layer, ends, lost, spend, where)
        assert (lower >= ends[0]).all()
        assert (upper <= ends[1]).all()
        return lower, upper

    return refine


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_brackets_hold_the_exact_radius_of_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = [[0.0], [0.0, 0.1], [0.0, 1.0, 0.3], [0.0]][seed % 4]
    widths = [[5], [3, 3], [3, 2, 2], [4, 2]][seed % 4]
    network = random_network(rng, 2 + seed % 3, widths, 3, slopes)
    x = rng.uniform(0, 1, network.shape)
    label = network.label(x)
    exact = exact_radius(network, x, label, 0.0, 1.0)
    bracket = bracket_radius(network, x, label, tolerance=TOLERANCE)
    assert bracket.low <= exact + 1e-7
    assert bracket.high >= exact - 1e-7
    if np.isfinite(exact):
        assert bracket.high - bracket.low <= TOLERANCE * 1.001
    else:
        assert bracket.reason == "proved for the whole domain"


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_last_relu_is_judged_as_argmax_judges_it(label: int, seed: int) -> None:
    side = np.linspace(0, 1, 201)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for more in itertools.count():
        rng = np.random.default_rng(100 * more + 10 * seed + label)
        plain = random_network(rng, 2, [6], 3, [0.0])
        network = Network(plain.layers, (2,), ends_in_relu=True)
        labels = network.scores(grid).argmax(axis=1)
        if (mine := grid[labels == label]).size:
            break
    x = mine[len(mine) // 2]
    wrong = grid[labels != label]
    nearest = np.abs(wrong - x).max(axis=1).min() if len(wrong) else np.inf
    bracket = bracket_radius(network, x, label, tolerance=TOLERANCE)
    assert bracket.low <= nearest
    if np.isfinite(nearest):
        assert bracket.high <= nearest + TOLERANCE
        assert bracket.high - bracket.low <= TOLERANCE * 1.001
        assert network.label(bracket.witness) != label


@pytest.mark.parametrize(("nodes", "where"), [(0, CPU), (400, CPU), (4000, CPU), (400, "cpu:0")])
def test_neuron_bounds_hold_at_every_point_of_the_box(nodes: int, where: str) -> None:
    if where != CPU:
        pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    network = random_network(rng, 3, [6, 5, 4], 3, [0.0, 0.2])
    x = rng.uniform(0, 1, 3)
    question = margin_question(network, network.label(x))
    box, refine = Box(x, 0.3, 0.0, 1.0), refinement(nodes, where)
    bounds = bound_layers(question, box, lambda: False, refine=refine)
    if nodes:
        plain = bound_layers(question, bounds.box, lambda: False)
        assert (bounds.upper - bounds.lower).sum() < (plain.upper - plain.lower).sum()
    points = rng.uniform(bounds.box.lower, bounds.box.upper, (4000, 3))
    h = points
    for j, cols in enumerate(bounds.layers.columns):
        sums = bounds.layers.weights[j].forward(h) + bounds.layers.bias[j]
        m = cols.stop - cols.start
        assert (sums[:, :m] >= bounds.lower[cols]).all()
        assert (sums[:, :m] <= bounds.upper[cols]).all()
        slope = bounds.layers.slope[j].copy()
        bent = np.maximum(sums, np.append(bounds.slope[cols], np.ones(len(slope) - m)) * sums)
        h = np.where(np.arange(len(slope)) < m, bent, sums * slope)
    margins = h @ bounds.rows.T + bounds.offsets
    expected = margins_at(margin_question(network, network.label(x)), points)
    assert np.allclose(margins, expected)


def test_the_domain_cuts_the_ball() -> None:
    # Only a fall of x below 0 would break the label, and the domain ends there.
    network = Network((linear_layer(np.array([[1.0], [0.0]]), np.array([0.1, 0.0])),), (1,))
    bracket = bracket_radius(network, np.array([0.3]), 0)
    assert bracket.reason == "proved for the whole domain"
    assert bracket.low == pytest.approx(0.7)
    assert bracket.high == np.inf
    assert bracket.witness is None
    wider = bracket_radius(network, np.array([0.3]), 0, low=-1.0, tolerance=1e-4)
    assert wider.low <= 0.4 <= wider.high


def test_an_input_on_the_border_of_the_domain() -> None:
    bracket = bracket_radius(two_ways([1.0, 1.0], 0.5), np.array([0.0, 0.0]), 0, tolerance=1e-4)
    assert bracket.low <= 0.25 <= bracket.high <= bracket.low + 1.001e-4


def test_constant_networks() -> None:
    clear = Network((linear_layer(np.zeros((2, 2)), np.array([1.0, 0.0])),), (2,))
    bracket = bracket_radius(clear, np.array([0.5, 0.5]), 0)
    assert (bracket.low, bracket.high) == (0.5, np.inf)
    tied = Network((linear_layer(np.zeros((2, 2)), np.zeros(2)),), (2,))
    unsure = bracket_radius(tied, np.array([0.5, 0.5]), 0)
    assert (unsure.low, unsure.high) == (0.0, np.inf)
    assert bracket_radius(tied, np.array([0.5, 0.5]), 1).reason == "misclassified"


@pytest.mark.parametrize("tolerance", [0.19, 0.1999, 0.2, 0.5])
def test_a_tolerance_as_wide_as_the_radius_ends_at_once(tolerance: float) -> None:
    network = two_ways([1.0, 1.0], 0.9)
    bracket = bracket_radius(network, np.array([0.2, 0.3]), 0, tolerance=tolerance)
    assert bracket.nodes <= 1
    assert 0 < bracket.low <= 0.2 <= bracket.high <= bracket.low + 1.001 * tolerance


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("side", [0.8, 1.2])
def test_a_goal_is_decided_as_the_full_bracket_decides_it(seed: int, side: float) -> None:
    rng = np.random.default_rng(40 + seed)
    network = random_network(rng, 4, [8, 6], 3, [0.0])
    x = rng.uniform(0, 1, 4)
    label = network.label(x)
    full = bracket_radius(network, x, label, tolerance=TOLERANCE)
    assert np.isfinite(full.high)
    goal = side * full.high
    bracket = bracket_radius(network, x, label, tolerance=TOLERANCE, goal=goal)
    if side < 1:
        assert bracket.low >= goal
        assert isinstance(verdict(network, x, label, goal), Proved)
    else:
        assert bracket.high <= goal
        answer = verdict(network, x, label, goal)
        assert isinstance(answer, Refuted)
        assert np.abs(answer.witness - x).max() <= goal
        assert network.label(answer.witness) != label


@pytest.mark.slow
def test_a_timeout_leaves_a_true_bracket() -> None:
    rng = np.random.default_rng(7)
    network = random_network(rng, 4, [4, 3], 3, [0.0])
    x = rng.uniform(0, 1, 4)
    label = network.label(x)
    exact = exact_radius(network, x, label, 0.0, 1.0)
    for reads in (1.0, 3.0, 6.0, 12.0, 30.0):
        bracket = bracket_radius(network, x, label, tolerance=1e-7, seconds=reads, clock=ticking())
        assert bracket.low <= exact + 1e-7, reads
        assert bracket.high >= exact - 1e-7, reads


def test_no_time_is_unknown_and_never_proved() -> None:
    rng = np.random.default_rng(1)
    network = random_network(rng, 12, [30, 30, 30], 4, [0.0])
    x = rng.uniform(0.3, 0.7, 12)
    label = network.label(x)
    high = bracket_radius(network, x, label, seconds=1, clock=ticking()).high
    answer = verdict(network, x, label, 0.97 * high, seconds=0.5, clock=ticking())
    assert isinstance(answer, Unknown | Refuted)


def test_brackets_are_told_as_they_tighten_and_end_as_returned() -> None:
    rng = np.random.default_rng(3)
    network = random_network(rng, 6, [12, 12], 3, [0.0])
    x = rng.uniform(0, 1, 6)
    brackets: list[tuple[float, float]] = []
    bracket = bracket_radius(
        network,
        x,
        network.label(x),
        on_bracket=lambda a, b: brackets.append((a, b)),
        tolerance=1e-4,
    )
    assert brackets[-1] == (bracket.low, bracket.high)
    for (low, high), (lower, higher) in itertools.pairwise(brackets):
        assert lower >= low
        assert higher <= high


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tolerance": 0.0}, "above 0"),
        ({"seconds": 0.0}, "above 0"),
        ({"goal": -1.0}, "above 0"),
        ({"low": 0.5}, "outside the valid range"),
        ({"low": 1.0, "high": 0.0}, "the lower first"),
    ],
)
def test_impossible_arguments_are_refused(change: dict[str, float], words: str) -> None:
    refused(words, bracket_radius, two_ways([1.0], 0.9), np.array([0.2]), 0, **change)


def test_inputs_and_labels_must_fit_the_network() -> None:
    refused("one input", bracket_radius, two_ways([1.0], 0.9), np.array([0.2, 0.2]), 0)
    refused("labels 0 to 1", margin_question, two_ways([1.0], 0.9), 5)
    refused("convex", dense_layer, np.ones((1, 1)), np.zeros(1), np.full(1, 2.0))


def test_the_model_as_run_says_what_is_misclassified() -> None:
    network, x = two_ways([1.0, 1.0], 0.9), np.array([0.2, 0.3])
    bracket = bracket_radius(network, x, 0, replay=lambda point: 1)
    assert (bracket.low, bracket.high, bracket.reason) == (0.0, 0.0, "misclassified")
    assert isinstance(verdict(network, x, 0, 0.1, replay=lambda point: 1), Refuted)


def test_an_input_that_only_the_network_as_read_loses_has_nothing_proved() -> None:
    network, x = two_ways([1.0, 1.0], 0.5), np.array([0.25, 0.2501])
    bracket = bracket_radius(network, x, 0, replay=lambda point: int(point.sum() > 0.5002))
    assert bracket.low == 0
    assert 5e-5 - 1e-8 <= bracket.high < 1e-4
    assert bracket.witness is not None
    assert bracket.witness.sum() > 0.5002
    assert "the network as read in float64 does not" in bracket.reason
    stubborn = bracket_radius(network, x, 0, replay=lambda point: 0)
    assert (stubborn.low, stubborn.high) == (0.0, np.inf)
    assert isinstance(verdict(network, x, 0, 0.1, replay=lambda point: 0), Unknown)


def test_a_witness_that_the_model_denies_is_no_witness() -> None:
    network, x = two_ways([1.0, 1.0], 0.9), np.array([0.2, 0.3])
    bracket = bracket_radius(network, x, 0, replay=lambda point: 0)
    assert bracket.witness is None
    assert bracket.discarded > 0
    assert bracket.low <= 0.2
    assert "not confirmed by the model" in bracket.reason


def test_a_witness_is_pushed_to_where_the_model_agrees() -> None:
    network, x = two_ways([1.0, 1.0], 0.9), np.array([0.2, 0.3])
    bracket = bracket_radius(
        network, x, 0, replay=lambda p: int(p.sum() > 0.9 + 1e-4), tolerance=0.01
    )
    assert bracket.witness is not None
    assert bracket.witness.sum() > 0.9 + 1e-4
    assert bracket.high < 0.201


def test_witnesses_are_exact_in_float32() -> None:
    network = two_ways([1.0, 0.3], 0.7)
    bracket = bracket_radius(network, np.array([0.1, 0.2]), 0)
    assert (bracket.witness == bracket.witness.astype(np.float32)).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_upper_end_is_never_below_the_exact_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 5, [6], 3, [0.0])
    x = (rng.random(5) * 10.0 ** rng.integers(-9, 1, 5)).astype(np.float32).astype(np.float64)
    bracket = bracket_radius(network, x, network.label(x))
    if bracket.witness is None:
        assert np.isinf(bracket.high)
        return
    pairs = zip(bracket.witness, x, strict=True)
    exact = max(abs(Fraction(float(a)) - Fraction(float(b))) for a, b in pairs)
    assert Fraction(bracket.high) >= exact
    assert bracket.high <= float(exact) * (1 + 1e-15)


def test_a_distance_that_float64_rounds_down_is_rounded_up() -> None:
    # 1 − 2⁻⁸⁰ is 1 in float64, and 1 + 2⁻⁸⁰ is above it
    network, x = two_ways([1.0], 0.5), np.array([-(2.0**-80)])
    bracket = BracketState(network, x, 0, InputSpace(-1.0, 1.0), None, lambda low, high: None)
    assert bracket.try_counterexample(np.array([1.0]))
    assert Fraction(bracket.high) >= 1 + Fraction(1, 2**80)


def test_a_bracket_is_closed_up_to_rounding_of_its_ends_and_never_without_a_counterexample() -> (
    None
):
    assert closed_to(0.1, 0.102, 0.002)
    assert closed_to(0.1, np.nextafter(0.102, 1), 0.002)
    assert not closed_to(0.1, 0.10201, 0.002)
    assert not closed_to(0.1, np.inf, 0.002)


def test_a_lower_end_that_rises_with_the_logarithm_is_forecast_exactly() -> None:
    progress = TreeProgress()
    for k in range(-8, 5):
        progress.record(2.0**k, 0.05 + 0.002 * k)
    # 0.058 at 16 s, 0.002 for each doubling: 0.064 at 128 s
    assert progress.expected_seconds(16.0, 0.064) == pytest.approx(128.0)
    assert progress.expected_seconds(16.0, 0.058) == 16.0


def test_a_tree_to_the_end_is_searched_at_once_where_it_is_likely_to_fit() -> None:
    # From .4 to 17 s over .015: .0022 more are another 30 s if it goes on like that.
    begun, rest = (0.4, 17.3), 0.0022
    step, expected = bracket_search._step_beyond(begun, 0.0149, rest, 25.0, 38.5)
    assert step == rest
    assert 30 < expected <= 0.9 * 38.5
    for changed in ({"left": 30.0}, {"rest": 0.03}):  # too long; too far to be known
        known = {"rest": rest, "left": 38.5} | changed
        step, expected = bracket_search._step_beyond(begun, 0.0149, effort=25.0, **known)
        assert step < rest
        assert expected == pytest.approx(25.0)


@pytest.mark.parametrize("first", [1e-9, 0.5, 1e6])
@pytest.mark.parametrize("second", [1e-9, 0.5, 1e6])
@pytest.mark.parametrize("rise", [5e-324, 1e-9, 0.1, 1e300])
@pytest.mark.parametrize("rest", [-1.0, 0.0, 1e-12, 0.05, math.inf])
def test_the_next_step_is_a_share_of_the_last(
    first: float, second: float, rise: float, rest: float
) -> None:
    step, expected = bracket_search._step_beyond((first, second), rise, rest, second, 60.0)
    assert step == rest or 0 <= step <= 1.5 * rise
    assert 0 <= expected <= max(second, 60.0)


@pytest.mark.parametrize(
    "unit", [0.0, -1.0, 1e-310, math.nan, math.inf, [1.0, -1.0], [1.0, 1e-310]]
)
def test_a_value_moves_by_a_positive_unit_or_never(unit: float | list[float]) -> None:
    own = np.array(unit) if isinstance(unit, list) else unit
    refused("unit, how far a value moves", InputSpace, unit=own)
    InputSpace(unit=np.array([1.0, 0.0]))
