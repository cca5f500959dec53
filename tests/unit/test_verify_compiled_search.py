"""Compiled searches of multipliers: they find what NumPy finds, and prove what NumPy proves."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.compiled.library import compiled_library
from surefoot.graph.network import linear_layer, margin_question
from surefoot.verify import Network, bracket_radius, compiled_search, dense_layer
from surefoot.verify import linear_relaxation as relax
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import choose_neuron, root_nodes, split_nodes
from surefoot.verify.compiled_search import SearchedNodes, search_compiled
from surefoot.verify.layer_bounds import Multipliers, bound_layers, optimise_multipliers
from surefoot.verify.linear_relaxation import LayerBounds, LinearBounds
from tests.unit.small_networks import exact_radius, random_network

pytestmark = pytest.mark.skipif(compiled_library() is None, reason="no C compiler")
RATES = (0.25, 0.3)


def tree(seed: int, nodes: int = 41) -> tuple[LayerBounds, tuple]:
    """Bounds of a random network, and nodes of its tree as a search takes them."""
    rng = np.random.default_rng(seed)
    widths = [int(rng.integers(3, 30)) for _ in range(int(rng.integers(1, 5)))]
    inputs = int(rng.integers(2, 70))
    network = random_network(rng, inputs, widths, 4, [0.0, 0.1])
    x = rng.uniform(0, 1, inputs)
    question = margin_question(network, network.label(x))
    bounds = bound_layers(question, Box(x, 0.2, 0.0, 1.0), lambda: False)
    grown = root_nodes(bounds)
    while len(grown) < nodes:
        column, undecided = choose_neuron(bounds, grown)
        if not undecided.all():
            break
        grown = split_nodes(grown, column)
    lines = grown.lines(bounds.slope)
    rows, offsets = bounds.rows[grown.row], bounds.offsets[grown.row]
    slopes = np.clip(grown.alpha, lines.least_slope, lines.most_slope).astype(np.float32)
    start = Multipliers(slopes, grown.beta)
    return bounds, (rows, offsets, lines, grown.sign.astype(np.float32), start)


def value(bounds: LayerBounds, known: tuple, found: Multipliers) -> np.ndarray:
    """The bounds that multipliers give, in float64 and without compiled code."""
    rows, offsets, lines, sign, _ = known
    alpha, beta = np.float64(found.alpha), np.float64(found.beta * sign)
    relaxed = relax.Relaxation(bounds.layers, rows, offsets, lines, alpha, beta)
    backward = relaxed.propagate_back()
    slopes = bounds.layers.scaled_weights.back(backward.sum_coefficients[0])
    return relaxed._value_by_inputs(backward, slopes)


@pytest.mark.parametrize("seed", range(12))
def test_compiled_code_finds_what_numpy_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, known = tree(seed)
    compiled = optimise_multipliers(bounds.layers.float32, *known, 12, RATES, 1e9)
    monkeypatch.setattr(relax, "compiled_library", lambda: None)
    layers = replace(bounds.layers)  # nothing is kept
    plain = optimise_multipliers(layers.float32, *known, 12, RATES, 1e9)
    ours, theirs = (value(bounds, known, found) for found in (compiled, plain))
    start = value(bounds, known, known[4])
    assert (ours >= start - 1e-4 * (1 + abs(start))).all()
    # the ways of two searches part where a sign hangs on rounding: they gain about as much
    assert (ours - start).sum() == pytest.approx((theirs - start).sum(), rel=0.02, abs=1e-3)
    assert np.median(abs(ours - theirs)) < 1e-4 * (1 + abs(start).max())
    _, _, lines, sign, _ = known
    assert (compiled.alpha >= lines.least_slope.astype(np.float32)).all()
    assert (compiled.alpha <= lines.most_slope.astype(np.float32)).all()
    assert (compiled.beta >= 0).all()
    assert (compiled.beta[sign == 0] == 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_it_returns_is_that_of_its_multipliers(seed: int) -> None:
    bounds, known = tree(seed)
    rows, offsets, lines, sign, start = known
    nodes = SearchedNodes(rows, offsets, lines.for_undecided, sign, start.alpha, start.beta)
    packed = bounds.layers.float32.packed
    for steps in (0, 1, 9):
        alpha, beta, best = search_compiled(packed, nodes, steps, RATES)
        expected = value(bounds, known, Multipliers(alpha, beta))
        assert best == pytest.approx(expected, rel=1e-4, abs=1e-4 * (1 + abs(expected).max()))
    again = search_compiled(packed, nodes, 0)
    assert (again[0] == start.alpha).all()  # without steps nothing is moved


def test_a_bound_above_what_is_enough_ends_the_search_of_its_node_alone() -> None:
    bounds, known = tree(3)
    rows, offsets, lines, sign, start = known
    nodes = SearchedNodes(rows, offsets, lines.for_undecided, sign, start.alpha, start.beta)
    packed = bounds.layers.float32.packed
    first = search_compiled(packed, nodes, 0)[2]
    enough = float(np.median(first))
    alpha, _, best = search_compiled(packed, nodes, 20, RATES, enough)
    above = first > enough
    assert (best[above] == first[above]).all()
    assert (alpha[above] == start.alpha[above]).all()
    assert (best[~above] > first[~above]).any()


def test_a_search_whose_time_is_over_leaves_the_later_nodes_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds, known = tree(5)
    rows, offsets, lines, sign, start = known
    nodes = SearchedNodes(rows, offsets, lines.for_undecided, sign, start.alpha, start.beta)
    monkeypatch.setattr(compiled_search, "_CALL_WORK", 1.0)
    alpha, _, best = search_compiled(
        bounds.layers.float32.packed, nodes, 5, RATES, expired=lambda: True
    )
    late = best == -np.inf
    assert 0 < late.sum() < len(late)
    assert (alpha[late] == start.alpha[late]).all()


def test_arrays_that_do_not_fit_the_layers_are_refused_before_they_are_read() -> None:
    bounds, known = tree(1)
    rows, offsets, lines, sign, start = known
    packed = bounds.layers.float32.packed
    about = lines.for_undecided
    for wrong in (
        [line[:, 1:] for line in about],
        [line[:0] for line in about],
        [about[0][:1], *about[1:]],
        about[:3],
    ):
        nodes = SearchedNodes(rows, offsets, wrong, sign, start.alpha, start.beta)
        with pytest.raises(ValueError, match="do not fit"):
            search_compiled(packed, nodes, 1)
    for nodes in (
        SearchedNodes(rows[:, 1:], offsets, lines.for_undecided, sign, start.alpha, start.beta),
        SearchedNodes(rows, offsets[1:], lines.for_undecided, sign, start.alpha, start.beta),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            search_compiled(packed, nodes, 1)


@pytest.mark.parametrize("unit", ["one", "each"])
def test_radii_are_proved_as_numpy_proves_them(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    for inputs in (1, 7, 8, 9, 100):
        x, rows = rng.uniform(0, 1, inputs), rng.normal(size=(60, inputs))
        own = 1.0 if unit == "one" else rng.choice([0.0, 0.5, 2.0], inputs)
        box = Box(x, 0.4, 0.0, 1.0, unit=own)
        lead = rng.uniform(-0.5, 1.0, 60) * abs(rows).sum(axis=1)
        linear = LinearBounds(rows, lead - rows @ x, np.zeros(60))
        start = np.zeros(60)
        compiled = relax.proved_radius(box, linear, start, 4)
        with monkeypatch.context() as without:
            without.setattr(relax, "compiled_library", lambda: None)
            plain = relax.proved_radius(box, linear, start, 4)
        assert compiled == pytest.approx(plain, rel=1e-8)  # of Newton's caution
        for one, radius in enumerate(compiled):  # the minimum within it, in closed form
            if radius:
                reach = np.minimum(radius * own, np.where(rows[one] > 0, x, 1 - x))
                assert lead[one] - abs(rows[one]) @ reach > -1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_without_a_compiler_brackets_hold_the_exact_radius_too(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(900 + seed)
    network = random_network(rng, 3, [4, 3], 3, [0.0])
    x = rng.uniform(0, 1, 3)
    exact = exact_radius(network, x, network.label(x), 0.0, 1.0)
    monkeypatch.setattr(relax, "compiled_library", lambda: None)
    bracket = bracket_radius(network, x, network.label(x), tolerance=1e-3)
    assert bracket.low <= exact + 1e-9 <= bracket.high + 2e-9


def test_a_layer_that_is_off_everywhere_is_left_to_numpy() -> None:
    hidden = dense_layer(np.eye(2), np.full(2, -9.0), np.zeros(2))
    network = Network((hidden, linear_layer(np.ones((2, 2)), np.array([1.0, 0.0]))), (2,))
    bounds = bound_layers(
        margin_question(network, 0), Box(np.ones(2), 0.5, 0.0, 2.0), lambda: False
    )
    assert bounds.layers.float32.packed is None
