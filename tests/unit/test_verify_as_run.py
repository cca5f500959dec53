"""Proofs for the model as run: rounding bounds in rational arithmetic, and networks that break."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.network import (
    Layer,
    Network,
    dense_layer,
    linear_layer,
    margin_question,
    with_normalisation,
)
from surefoot.graph.onnx_file import quiet_session
from surefoot.verify import bracket_radius, read_network
from surefoot.verify.ball import Box
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.layer_bounds import bound_layers
from tests.refusals import refused
from tests.unit.float32_networks import onnx_chain
from tests.unit.test_graph_read_network import model, node

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


def runner(source: bytes) -> Callable[[Any], int]:
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
    label_of, x = runner(source), np.array([0.9], np.float32)
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
    assert bracket_radius(network, x, 0, nodes=200, replay=runner(source)).low == 0.0


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
    return float(bound_nodes(bounds, root_nodes(bounds), 0, (0.0, 0.0))[0].radius.min())


def test_the_best_two_of_a_softmax_are_not_proved_in_float32() -> None:
    network = read_network(onnx_chain([(np.eye(3), np.zeros(3))], softmax=True), (3,))
    x = np.array([0.1, 0.2, 0.9])
    refused("can tie in float32", bracket_radius, network, x, 2, rank=2)
    assert bracket_radius(network, x, 2, rank=2, nodes=99, arithmetic=Arithmetic.REAL).low > 0
