"""Compiled searches and proofs: they find what NumPy finds, and prove what NumPy proves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot.compiled.library import compiled_library
from surefoot.core.assumptions import Arithmetic
from surefoot.graph.network import Layer, linear_layer, margin_question
from surefoot.verify import (
    Network,
    bracket_radius,
    bracket_search,
    compiled_search,
    dense_layer,
)
from surefoot.verify import linear_relaxation as relax
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import (
    NodeBatch,
    bound_nodes,
    choose_neuron,
    prove_nodes,
    root_nodes,
    search_nodes,
    split_nodes,
)
from surefoot.verify.compiled_search import UNKNOWN, SearchedNodes, search_compiled
from surefoot.verify.layer_bounds import Ends, Multipliers, bound_layers, optimise_multipliers
from surefoot.verify.linear_relaxation import ActivationLines, LayerBounds, LinearBounds
from surefoot.verify.neuron_trees import refine_neurons
from tests.unit.small_networks import exact_radius, random_network

pytestmark = pytest.mark.skipif(compiled_library() is None, reason="no C compiler")
RATES = (0.25, 0.3)


def grown_tree(seed: int, nodes: int = 41) -> tuple[LayerBounds, NodeBatch]:
    """Bounds of a random network, and nodes of its tree."""
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
    return bounds, grown


def tree(seed: int) -> tuple[LayerBounds, tuple]:
    """The same as a search takes them."""
    bounds, grown = grown_tree(seed)
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
        alpha, beta, best, _ = search_compiled(packed, nodes, steps, RATES)
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
    alpha, _, best, _ = search_compiled(packed, nodes, 20, RATES, enough)
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
    alpha, _, best, _ = search_compiled(
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


def with_any_multipliers(nodes: NodeBatch, rng: np.random.Generator) -> NodeBatch:
    """The nodes with slopes in and out of their range, and β on both sides that are fixed."""
    alpha = rng.uniform(-0.5, 1.5, nodes.alpha.shape).astype(np.float32)
    beta = rng.exponential(0.3, alpha.shape).astype(np.float32) * (nodes.sign != 0)
    return replace(nodes, alpha=alpha, beta=beta.astype(np.float32))


@pytest.mark.parametrize("seed", range(12))
def test_compiled_code_proves_what_numpy_proves(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    bounds, nodes = grown_tree(seed, int(rng.integers(1, 40)))
    for some in (nodes, with_any_multipliers(nodes, rng), nodes.take(slice(0, 0))):
        compiled = prove_nodes(bounds, some)
        assert bounds.packed is not None
        with monkeypatch.context() as without:
            without.setattr(relax, "compiled_library", lambda: None)
            plain = prove_nodes(replace(bounds, layers=replace(bounds.layers)), some)
        room = 10 * plain.rounding + 1e-15
        assert (abs(compiled.floor - plain.floor) <= room).all()
        assert compiled.rounding == pytest.approx(plain.rounding, rel=1e-9)
        assert compiled.radius == pytest.approx(plain.radius, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6])
def test_a_compiled_proof_is_below_its_bound_in_rational_numbers(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    layers = [
        dense_layer(scale * rng.normal(size=(m, n)), scale * rng.normal(size=m), slope)
        for n, m, slope in ((3, 5, np.zeros(5)), (5, 4, np.full(4, 0.1)))
    ]
    last = linear_layer(scale * rng.normal(size=(3, 4)), scale**3 * rng.normal(size=3))
    network = Network((*layers, last), (3,))
    x = rng.uniform(0, 1, 3)
    bounds = bound_layers(
        margin_question(network, network.label(x)), Box(x, 0.3, 0.0, 1.0), lambda: False
    )
    nodes = root_nodes(bounds)
    nodes = split_nodes(nodes, choose_neuron(bounds, nodes)[0])
    nodes = with_any_multipliers(nodes, rng)
    proofs, lines = prove_nodes(bounds, nodes), nodes.lines(bounds.slope)
    for n in range(len(nodes)):
        slopes, constant = rational_bound(bounds, nodes, lines, n)
        for radius, value in ((0.3, proofs.floor[n]), (proofs.radius[n], 0.0)):
            reach = [
                min(Fraction(radius), Fraction(v) if a > 0 else 1 - Fraction(v))
                for a, v in zip(slopes, x, strict=True)
            ]
            middle = constant + sum(a * Fraction(v) for a, v in zip(slopes, x, strict=True))
            exact = middle - sum(abs(a) * r for a, r in zip(slopes, reach, strict=True))
            assert Fraction(value) <= exact or radius == 0


def rational_bound(
    bounds: LayerBounds, nodes: NodeBatch, lines: ActivationLines, n: int
) -> tuple[list[Fraction], Fraction]:
    """The bound of one node by its lines and multipliers, without rounding."""
    layers, row = bounds.layers, nodes.row[n]
    k, constant = [Fraction(v) for v in bounds.rows[row]], Fraction(bounds.offsets[row])
    for j in range(len(layers.weights) - 1, -1, -1):
        z = [a * Fraction(s) for a, s in zip(k, layers.slope[j], strict=True)]
        places = np.arange(len(z))[layers.undecided[j]]
        for i, c in zip(places, range(len(bounds.lower))[layers.columns[j]], strict=True):
            ends = [Fraction(float(line[n, c])) for line in lines.for_undecided]
            above, lift, least, most = ends
            alpha = min(max(Fraction(float(nodes.alpha[n, c])), least), most)
            z[i] = k[i] * (above if k[i] < 0 else alpha)
            z[i] -= Fraction(float(nodes.beta[n, c])) * int(nodes.sign[n, c])
            constant += k[i] * lift if k[i] < 0 else 0
        matrix = layers.weights[j].matrix
        constant += sum(a * Fraction(b) for a, b in zip(z, layers.bias[j], strict=True))
        k = [
            sum((a * Fraction(w) for a, w in zip(z, column, strict=True)), Fraction(0))
            for column in matrix.T
        ]
    return k, constant


@pytest.mark.parametrize("seed", range(6))
def test_compiled_code_chooses_the_neuron_that_numpy_chooses(seed: int) -> None:
    bounds, nodes = grown_tree(seed)
    searched = search_nodes(bounds, nodes, 3)
    plain = choose_neuron(bounds, replace(searched, column=np.full(len(nodes), UNKNOWN)))
    kept = choose_neuron(bounds, searched)
    assert (searched.column > UNKNOWN).all()
    assert (kept[1] == plain[1]).all()
    assert np.mean(kept[0][kept[1]] == plain[0][plain[1]]) > 0.9  # sums are rounded otherwise
    assert (split_nodes(searched, kept[0]).column == UNKNOWN).all()


def test_nodes_that_do_not_fit_the_bounds_are_refused_before_they_are_read() -> None:
    bounds, nodes = grown_tree(1)
    for wrong in (
        replace(nodes, row=nodes.row + len(bounds.rows)),
        replace(nodes, row=nodes.row - len(bounds.rows)),
        replace(nodes, row=nodes.row[1:]),
        replace(nodes, beta=nodes.beta[:, 1:]),
        replace(nodes, radius=nodes.radius[1:]),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            prove_nodes(bounds, wrong)


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


def overflowing() -> Network:
    """Its sums exceed the largest float32; at 0.85 the label of 0.65 ends."""
    first = dense_layer(np.array([[1e39]]), np.array([-5e38]), np.zeros(1))
    second = dense_layer(np.array([[1.0]]), np.array([-3e38]), np.zeros(1))
    last = linear_layer(np.array([[-1.0], [0.0]]), np.array([5e37, 0.0]))
    return Network((first, second, last), (1,))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # searches in float32 overflow
@pytest.mark.parametrize("compiled", [True, False])
def test_ends_beyond_float32_prove_nothing_false(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(relax, "compiled_library", lambda: None)

    def refine(
        bounds: LayerBounds, layer: Layer, ends: Ends, lost: np.ndarray, share: float
    ) -> Ends:
        del share
        return refine_neurons(bounds, layer, ends, lost, lambda number: True)

    network, x, real = overflowing(), np.array([0.65]), Arithmetic.REAL
    question = margin_question(network, 0, 1, real)
    bounds = bound_layers(question, Box(x, 0.25, 0.0, 1.0), lambda: False, refine=refine)
    assert bound_nodes(bounds, root_nodes(bounds), 4).radius[0] <= 0.2
    trees_alone = bracket_search._raise_low
    alone = bracket_radius(network, x, 0, nodes=200, arithmetic=real, narrow=trees_alone)
    assert alone.low <= 0.2
    assert bracket_radius(network, x, 0, nodes=200, arithmetic=real).low <= 0.2


@pytest.mark.parametrize("seed", [1, 4])
def test_a_leaky_neuron_that_is_decided_is_not_split_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 3, [4, 3], 3, [0.1])
    x = rng.uniform(0, 1, 3)
    exact = exact_radius(network, x, network.label(x), 0.0, 1.0)
    bounds = bound_layers(
        margin_question(network, network.label(x)), Box(x, 1.05 * exact, 0.0, 1.0), lambda: False
    )
    nodes = root_nodes(bounds)
    for _ in range(len(bounds.lower)):
        nodes = search_nodes(bounds, nodes, 4)
        column, undecided = choose_neuron(bounds, nodes)
        chosen = np.arange(len(nodes)), column
        either = (nodes.lower < 0) & (nodes.upper > 0)
        assert (undecided == either.any(axis=1)).all()
        assert either[chosen][undecided].all()
        nodes = split_nodes(nodes.take(undecided), column[undecided])
    _, undecided = choose_neuron(bounds, search_nodes(bounds, nodes, 4))
    assert not undecided.any()


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
