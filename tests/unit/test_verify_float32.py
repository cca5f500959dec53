"""Float32: rounding bounds in rational arithmetic, networks that break, what a run measures."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.core.results import UNIT, Interval
from surefoot.graph.network import (
    Layer,
    Network,
    dense_layer,
    linear_layer,
    margin_question,
    with_normalisation,
)
from surefoot.graph.onnx_file import quiet_session
from surefoot.properties import GivenLabel
from surefoot.subject.protocols import CPU
from surefoot.verify import (
    BracketResult,
    bracket_radius,
    find_contradiction,
    margin_difference,
    points_near_ties,
    read_network,
)
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.float32 import lies_within
from surefoot.verify.layer_bounds import bound_layers
from tests.refusals import refused
from tests.unit.float32_networks import (
    BUILDERS,
    INPUTS,
    Build,
    Float32Network,
    narrow_band,
    onnx_chain,
    softmax_tie,
)
from tests.unit.small_networks import random_network
from tests.unit.test_graph_read_network import model, node

FOUND = [build for build in BUILDERS if build is not narrow_band]
DRAWS = 20_000


def runner(source: bytes) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    session = quiet_session(source)
    return lambda points: np.asarray(session.run(None, {"x": points})[0])


@pytest.mark.parametrize("build", FOUND)
def test_networks_built_against_float32_stand_out(build: Build) -> None:
    case: Float32Network = build()
    network = read_network(case.source, (INPUTS,))
    difference = margin_difference(
        network, runner(case.source), case.x[None], case.radius - 0.001, UNIT
    )
    assert difference.relative.value > 1e-3
    assert difference.labels > 0
    assert difference.points == 1 + 32 + 32


def test_a_natural_network_does_not() -> None:
    rng = np.random.default_rng(0)
    network = random_network(rng, 30, [20, 20], 4, [0.0])
    x = rng.random((5, 30)).astype(np.float32)

    def single(points: np.ndarray) -> np.ndarray:
        h = points
        for layer in network.layers:
            v = h @ layer.weights.matrix.astype(np.float32).T + layer.bias.astype(np.float32)
            h = np.maximum(v, layer.slope.astype(np.float32) * v)
        return h

    difference = margin_difference(network, single, x, 0.02, UNIT)
    assert 0 < difference.relative.value < 1e-4
    assert 0 < difference.absolute.value < 1e-4
    exact = margin_difference(network, network.outputs, x, 0.02, UNIT)
    assert (exact.absolute.value, exact.relative.value, exact.labels) == (0.0, 0.0, 0)


def test_outputs_that_are_not_finite_are_infinitely_far() -> None:
    rng = np.random.default_rng(1)
    network = random_network(rng, 8, [6], 3, [0.0])
    x = rng.random((1, 8)).astype(np.float32)
    difference = margin_difference(network, lambda p: np.full((len(p), 3), np.nan), x, 0.02, UNIT)
    assert difference.absolute.value == np.inf


def test_nothing_to_compare_is_refused() -> None:
    network = random_network(np.random.default_rng(1), 8, [6], 3, [0.0])
    refused("0 inputs", margin_difference, network, network.outputs, np.zeros((0, 8)), 0.1, UNIT)


def bracket(case: Float32Network, arithmetic: Arithmetic, where: str = CPU) -> BracketResult:
    """What the prover proves and refutes, with the model itself as replay, as in a study."""
    run = runner(case.source)
    with np.errstate(all="ignore"):
        return bracket_radius(
            read_network(case.source, (INPUTS,)),
            case.x,
            case.label,
            nodes=2_000,
            seconds=60,
            arithmetic=arithmetic,
            replay=lambda p: int(run(p.astype(np.float32)[None]).argmax()),
            where=where,
        )


def proved(case: Float32Network) -> float:
    return bracket(case, Arithmetic.REAL).low


@pytest.mark.parametrize("where", [CPU, "cpu:0"])
@pytest.mark.parametrize("build", BUILDERS)
def test_what_is_proved_in_float32_ends_before_the_known_point(build: Build, where: str) -> None:
    if where != CPU:
        pytest.importorskip("torch")
    case, run = build(), runner(build().source)
    ends = bracket(case, Arithmetic.FLOAT32, where)
    assert ends.low < case.share * case.radius
    assert ends.witness is not None
    assert run(ends.witness.astype(np.float32)[None]).argmax() != case.label
    assert not find_contradiction(
        read_network(case.source, (INPUTS,)),
        lambda p: run(p).argmax(axis=1), case.x, case.label, max(ends.low, 1e-6), UNIT, 0,
    )  # fmt: skip


@pytest.mark.parametrize("build", BUILDERS)
def test_the_known_point_is_inside_the_proved_radius_and_has_another_label_as_run(
    build: Build,
) -> None:
    case, run = build(), runner(build().source)
    radius = proved(case)
    assert case.radius - 0.0021 <= radius <= case.radius
    assert run(case.x[None]).argmax() == case.label
    assert run(case.point[None]).argmax() != case.label
    assert lies_within(case.point[None], case.x, radius, UNIT)[0]
    assert read_network(case.source, (INPUTS,)).label(case.point) == case.label
    assert 0.77 <= case.share <= 0.997


@pytest.mark.slow
@pytest.mark.parametrize("build", FOUND)
def test_the_contradiction_is_found_with_every_seed_where_uniform_draws_find_none(
    build: Build,
) -> None:
    case, run = build(), runner(build().source)
    network, radius = read_network(case.source, (INPUTS,)), proved(case)
    for seed in range(5):
        point = find_contradiction(
            network, lambda p: run(p).argmax(axis=1), case.x, case.label, radius, UNIT, seed
        )
        assert point is not None
        assert point.dtype == np.float32
        assert run(point[None]).argmax() != case.label
        for value, centre in zip(point, case.x, strict=True):
            assert abs(Fraction(float(value)) - Fraction(float(centre))) <= Fraction(radius)
    low, high = np.maximum(case.x - radius, 0), np.minimum(case.x + radius, 1)
    drawn = np.random.default_rng(1).uniform(low, high, (DRAWS, INPUTS)).astype(np.float32)
    assert (run(drawn).argmax(axis=1) == case.label).all()


def test_a_failure_that_nothing_leads_to_is_found_seldom() -> None:
    case = narrow_band()
    run, network = runner(case.source), read_network(case.source, (INPUTS,))
    contradictions = [
        find_contradiction(
            network, lambda p: run(p).argmax(axis=1), case.x, 0, case.radius - 0.002, UNIT, seed
        )
        is not None
        for seed in range(40)
    ]
    assert sum(contradictions) < 20  # measured: 4 of 50 with 128 points; docs say so


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("radius", [1e-9, 0.1, float(np.float32(0.1)), 0.7])
def test_every_point_is_float32_and_inside_in_exact_arithmetic(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 6, [5, 4], 3, [0.0, 0.2])
    x = rng.random(6).astype(np.float32)
    x[:2] = 0.0, 1.0
    bounds = Interval(0.0, 1.0) if seed % 2 else Interval(-0.3, 1.1)
    points = points_near_ties(network, x, network.label(x), radius, bounds, rng, 100)
    assert points.shape == (100, 6)
    assert points.dtype == np.float32
    for value, centre in zip(points.reshape(-1), np.tile(x, 100), strict=True):
        assert abs(Fraction(float(value)) - Fraction(float(centre))) <= Fraction(radius)
        assert bounds.low <= float(value) <= bounds.high


def test_within_sees_the_last_bit() -> None:
    x = np.array([0.3], np.float32)
    p = np.array([[0.55]], np.float32)
    exact = Fraction(float(p[0, 0])) - Fraction(float(x[0]))
    radius = float(exact)
    assert lies_within(p, x, radius, UNIT)[0] == (exact <= Fraction(radius))
    assert not lies_within(p, x, float(np.nextafter(radius, 0)), UNIT)[0]
    far, tiny = np.array([1e-20]), np.array([[1.0]], np.float32)
    assert lies_within(tiny, far, 1.0, UNIT)[0]
    assert not lies_within(tiny, -far, 1.0, Interval(-1.0, 1.0))[0]


def test_the_points_are_nearer_to_a_tie_than_random_ones() -> None:
    rng = np.random.default_rng(3)
    network = random_network(rng, 40, [30, 20], 4, [0.0])
    x = rng.uniform(0.2, 0.8, 40).astype(np.float32)
    label = network.label(x)

    def least(points: NDArray[Any]) -> float:
        scores = network.scores(points.astype(float))
        return float((scores[:, [label]] - np.delete(scores, label, axis=1)).min())

    near = points_near_ties(network, x, label, 0.05, UNIT, rng, 32)
    drawn = rng.uniform(x - 0.05, x + 0.05, (3200, 40))
    assert least(near) < least(drawn)


def test_a_wrong_radius_is_contradicted_and_a_right_one_is_not() -> None:
    rng = np.random.default_rng(8)
    network = random_network(rng, 10, [12], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 10).astype(np.float32)
    label = network.label(x)
    bracket = bracket_radius(network, x, label, tolerance=1e-3)

    def labels(points: NDArray[Any]) -> NDArray[Any]:
        return network.scores(points.astype(float)).argmax(axis=1)

    assert find_contradiction(network, labels, x, label, bracket.low, UNIT, 0) is None
    assert find_contradiction(network, labels, x, label, 1.05 * bracket.high, UNIT, 0) is not None


def test_a_tie_as_run_is_the_first_label_for_replay_and_check_alike() -> None:
    case = softmax_tie()
    run, network = runner(case.source), read_network(case.source, (INPUTS,))
    tied = run(case.point[None])
    assert tied[0, 0] == tied[0, 1]
    assert tied.argmax() == 0  # replay in a proof
    check = GivenLabel()
    assert check.severity(tied, np.array([0]))[0] <= check.limit
    assert check.severity(tied, np.array([1]))[0] > check.limit
    assert network.label(case.point) == 1  # not tied in real arithmetic
    assert network.ends_in_softmax


Singles = NDArray[np.float32]
SMALLEST = np.float32(2.0**-126)


def exact(array: NDArray[Any]) -> Any:
    flat = [Fraction(float(v)) for v in np.asarray(array).reshape(-1)]
    return np.array(flat, dtype=object).reshape(np.shape(array))


def flushed(values: Any) -> Any:
    """As a processor that rounds what is below the smallest normal number to 0."""
    return np.where(np.abs(values) < SMALLEST, np.float32(0), values).astype(np.float32)


def kept(values: Any) -> Any:
    return np.asarray(values, np.float32)


def in_order(terms: Singles, near_zero: Callable[[Any], Any], rng: np.random.Generator) -> Any:
    """Terms added in float32 in a random order, one after the other or in a random tree."""
    parts = [terms[..., i] for i in rng.permutation(terms.shape[-1])]
    caterpillar = rng.random() < 0.5
    while len(parts) > 1:
        i = 0 if caterpillar else int(rng.integers(len(parts) - 1))
        parts[i : i + 2] = [near_zero(parts[i] + parts[i + 1])]
    return parts[0]


def computed(
    layer: Layer, h: Singles, near_zero: Callable[[Any], Any], rng: np.random.Generator
) -> Singles:
    weights, bias = layer.weights.matrix.astype(np.float32), layer.bias.astype(np.float32)
    products = near_zero(near_zero(weights) * near_zero(h))
    terms = np.concatenate([products, near_zero(bias)[:, None]], axis=1)
    sums = in_order(terms, near_zero, rng)
    return np.where(sums > 0, sums, near_zero(layer.slope.astype(np.float32) * sums))


@pytest.mark.parametrize("near_zero", [kept, flushed])
@pytest.mark.parametrize("spread", [0.0, 3.0, 18.0])
def test_the_limit_of_rounding_holds_in_any_order(
    spread: float, near_zero: Callable[[Any], Any]
) -> None:
    rng = np.random.default_rng(int(spread))
    tightest = 0.0
    for _ in range(40):
        m, n = 3, int(rng.integers(1, 12))
        scale = 10 ** rng.uniform(-spread, spread, (m, n))
        weights = (rng.normal(size=(m, n)) * scale).astype(np.float32).astype(np.float64)
        bias = rng.normal(size=m).astype(np.float32).astype(np.float64)
        slope = np.array([0.0, 0.25, 1.0])
        layer = dense_layer(weights, bias, slope)
        low, high = np.sort(rng.normal(size=(2, n)).astype(np.float32), axis=0)
        ends = low.astype(np.float64), high.astype(np.float64)
        most = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        limit = layer.float32_errors(*ends, layer.sizes_at(most))
        for _ in range(6):
            h = np.clip(rng.uniform(low, high).astype(np.float32), low, high)
            out = exact(computed(layer, h, near_zero, rng))
            v = exact(weights) @ exact(h) + exact(bias)
            for i, s in enumerate(slope):
                # The output is max(v', s·v') of some v' that is within the limit of v.
                nearest = [max(u, Fraction(s) * u) for u in (v[i] - limit[i], v[i] + limit[i])]
                assert float(nearest[0]) <= float(out[i]) <= float(nearest[1])
                tightest = max(tightest, abs(float(out[i] - max(v[i], s * v[i]))) / limit[i])
    assert tightest > 0.03  # the limit is not idle


@pytest.mark.parametrize("seed", range(12))
def test_chains_of_operators_round_each_by_itself(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 6

    def numbers(*shape: int) -> Singles:
        return (rng.normal(size=shape) * 10 ** rng.uniform(-2, 2, shape)).astype(np.float32)

    s, t, w, b, g, c, w2 = (
        numbers(n), numbers(n), numbers(5, n), numbers(5), numbers(5), numbers(5), numbers(4, 5),
    )  # fmt: skip
    nodes = [
        node("Mul", "x s", "a"), node("Sub", "a t", "d"), node("Gemm", "d w b", "e", transB=1),
        node("Div", "e g", "f"), node("Add", "f c", "k"), node("Gemm", "k w2", "y", transB=1),
    ]  # fmt: skip
    constants = {"s": s, "t": t, "w": w, "b": b, "g": g, "c": c, "w2": w2}
    network = read_network(model(nodes, constants, [1, n]))
    mean, std = np.float32(0.45), np.float32(0.22)
    [layer] = with_normalisation(
        network, np.full(n, 1 / float(std)), np.full(n, -float(mean) / float(std))
    ).layers
    x = rng.random(n).astype(np.float32)
    wide = x.astype(np.float64)
    limit = layer.float32_errors(wide, wide, layer.sizes_at(wide))

    def run(numbers: Callable[[Any], Any], total: Callable[[Any], Any]) -> Any:
        z = (numbers(x) - numbers(mean)) / numbers(std) * numbers(s) - numbers(t)
        e = (total(numbers(w) * z) + numbers(b)) / numbers(g) + numbers(c)
        return total(numbers(w2) * e)

    real = run(exact, lambda terms: terms.sum(axis=1))
    for _ in range(6):
        as_run = run(kept, lambda terms: in_order(terms, kept, rng))
        off = [abs(float(r - a)) for r, a in zip(real, exact(as_run), strict=True)]
        assert (np.array(off) <= limit).all()


def label_runner(source: bytes) -> Callable[[Any], int]:
    session = quiet_session(source)
    return lambda p: int(session.run(None, {"x": np.asarray(p, np.float32)[None]})[0].argmax())


def pair(slope: float, base: float, *, softmax: bool) -> bytes:
    """Two scores of one value: base, and base + slope·x, as near as float32 has them."""
    numbers = np.array([0.0, slope], np.float32).astype(float), np.full(2, np.float32(base), float)
    return onnx_chain([(numbers[0][:, None], numbers[1])], softmax=softmax)


TRAPS = {
    "logits 0 and 2e-7·x before Softmax": pair(2e-7, 0.0, softmax=True),
    "scores 1 and 1 + 1e-6·x": pair(1e-6, 1.0, softmax=False),
    "1000 and 1000 + 0.001·x": pair(1e-3, 1000.0, softmax=False),
    "1000 and 1000 + 0.001·x before Softmax": pair(1e-3, 1000.0, softmax=True),
}


@pytest.mark.parametrize("name", TRAPS)
def test_every_float32_number_within_a_proved_radius_keeps_the_label(name: str) -> None:
    """In real arithmetic label 1 is kept from 0 on; x = 0.9, so the radius would be 0.9."""
    source = TRAPS[name]
    label_of, x = label_runner(source), np.array([0.9], np.float32)
    network = read_network(source, (1,))
    both = [
        bracket_radius(network, x, 1, tolerance=1e-3, nodes=200, arithmetic=a, replay=label_of)
        for a in (Arithmetic.REAL, Arithmetic.FLOAT32)
    ]
    real, as_run = both
    assert real.low == pytest.approx(0.9, abs=2e-3)
    assert as_run.low < real.low
    # Ever closer to the end, and every number next to it: where rounding decides.
    end = np.float32(0.9 - as_run.low)
    near = end + np.arange(2000, dtype=np.float32) * np.spacing(np.float32(0.9))
    points = np.unique(np.concatenate([near, np.linspace(end, 0.9 + as_run.low, 2001)]))
    points = points.astype(np.float32)[:, None]
    inside = np.abs(points[:, 0].astype(float) - 0.9) <= as_run.low
    session = quiet_session(source)
    labels = session.run(None, {"x": points[inside & (points[:, 0] <= 1)]})[0].argmax(axis=1)
    assert (labels == 1).all()
    if as_run.witness is not None:
        assert label_of(as_run.witness) != 1


def test_absorption_in_a_hundred_dimensions_is_subtracted() -> None:
    """A hundred terms of 0.005 beside 2²⁰: each of them, and their sum, can be lost."""
    first = np.full((1, 100), 2.0**-7), np.array([2.0**20])
    last = np.array([[1.0], [0.0]]), np.array([-(2.0**20), 2.0**-7])
    source, x = onnx_chain([first, last]), np.full(100, 0.6, np.float32)
    network = read_network(source, (100,))
    real = bracket_radius(network, x, 0, nodes=200, arithmetic=Arithmetic.REAL)
    assert real.low == pytest.approx(0.59, abs=2e-3)
    assert bracket_radius(network, x, 0, nodes=200, replay=label_runner(source)).low == 0.0


def test_natural_networks_lose_little() -> None:
    rng = np.random.default_rng(0)
    layers = [
        dense_layer(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b) / 4, np.zeros(b))
        for a, b in ((40, 30), (30, 30))
    ]
    last = linear_layer(rng.normal(size=(5, 30)) / 5, np.zeros(5))
    network, x = Network((*layers, last), (40,)), rng.random(40)
    real, as_run = (
        _without_branching(network, x, a) for a in (Arithmetic.REAL, Arithmetic.FLOAT32)
    )
    assert 0.999 * real < as_run < real


def _without_branching(network: Network, x: NDArray[np.float64], arithmetic: Arithmetic) -> float:
    question = margin_question(network, network.label(x), arithmetic=arithmetic)
    bounds = bound_layers(question, Box(x, 0.06, 0.0, 1.0), lambda: False)
    return float(bound_nodes(bounds, root_nodes(bounds), 0).radius.min())


def test_the_best_two_of_a_softmax_are_not_proved_in_float32() -> None:
    network = read_network(onnx_chain([(np.eye(3), np.zeros(3))], softmax=True), (3,))
    x = np.array([0.1, 0.2, 0.9])
    refused("can tie in float32", bracket_radius, network, x, 2, rank=2)
    assert bracket_radius(network, x, 2, rank=2, nodes=99, arithmetic=Arithmetic.REAL).low > 0
