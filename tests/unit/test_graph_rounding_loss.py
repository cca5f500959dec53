"""What multiplying layers out loses is paid for: against rational arithmetic, and by a proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from surefoot.graph.network import Layer, linear_layer, with_normalisation
from surefoot.verify import Network, bracket_radius, read_network
from tests.unit.small_networks import random_network
from tests.unit.test_graph_read_network import model, node


def exact(array: np.ndarray) -> Any:
    """The numbers as fractions."""
    flat = [Fraction(float(v)) for v in array.reshape(-1)]
    return np.array(flat, dtype=object).reshape(array.shape)


def off(network: Network, scores: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the read rows are from `scores` at x, and the limit of that."""
    (layer,) = network.layers
    read = exact(layer.weights) @ exact(x) + exact(layer.bias)
    return np.array(
        [float(abs(a - b)) for a, b in zip(read, scores, strict=True)]
    ), layer.rounding_loss.at(float(np.abs(x).sum()))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [0.0, 6.0, 12.0])
def test_the_loss_of_affine_chains_limits_what_was_lost(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return (rng.normal(0, 1, shape) * 10 ** rng.uniform(-spread, spread, shape)).astype("f4")

    w1, b1, s, w2, b2, w3 = (
        weights(6, 5), weights(6), weights(6), weights(7, 6), weights(7), weights(3, 7),
    )  # fmt: skip
    nodes = [
        node("Gemm", "x w1 b1", "g1", transB=1),
        node("Mul", "g1 s", "m"),
        node("Sub", "m b1", "d"),
        node("Gemm", "d w2 b2", "g2", transB=1),
        node("Add", "g2 g2", "a"),
        node("Gemm", "a w3", "y", transB=1),
    ]
    constants = {"w1": w1, "b1": b1, "s": s, "w2": w2, "b2": b2, "w3": w3}
    network = read_network(model(nodes, constants, [1, 5]))
    x = rng.random(5)
    h = (exact(w1) @ exact(x) + exact(b1)) * exact(s) - exact(b1)
    h = 2 * (exact(w2) @ h + exact(b2))
    lost, limit = off(network, exact(w3) @ h, x)
    assert (lost <= limit).all()


def test_a_layer_of_its_own_loses_nothing() -> None:
    rng = np.random.default_rng(0)
    constants = {"w": rng.normal(0, 1, (3, 4)).astype("f4"), "b": rng.normal(0, 1, 3).astype("f4")}
    network = read_network(model([node("Gemm", "x w b", "y", transB=1)], constants, [1, 4]))
    assert (network.layers[0].rounding_loss.at(4.0) == 0).all()


def test_normalisation_before_the_network_is_paid_for() -> None:
    rng = np.random.default_rng(0)
    layer = Layer(rng.normal(0, 1, (3, 50)), rng.normal(0, 1, 3), np.ones(3))
    scale, shift = rng.uniform(1, 5, 50), rng.uniform(-1e6, 1e6, 50)
    network = with_normalisation(Network((layer,), (50,)), scale, shift)
    x = rng.random(50)
    real = exact(layer.weights) @ (exact(x) * exact(scale) + exact(shift)) + exact(layer.bias)
    lost, limit = off(network, real, x)
    assert (lost > 0).any()
    assert (lost <= limit + 1e-12).all()


def test_a_normalised_network_has_the_same_radius_in_its_unit() -> None:
    rng = np.random.default_rng(4)
    network = random_network(rng, 4, [6], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 4)
    plain = bracket_radius(network, x, network.label(x), tolerance=1e-4, seconds=5)
    wide = with_normalisation(network, np.full(4, 0.5), np.full(4, -1.0))
    there = bracket_radius(
        wide, 2 * x + 2, network.label(x), tolerance=1e-4, seconds=5, low=2.0, high=4.0
    )
    assert abs(there.low - 2 * plain.low) < 3e-4


def test_a_term_that_float64_absorbs_is_not_proved_away() -> None:
    # v = 2⁶⁰·x + x, then 2⁶⁰·x is taken away: x in real arithmetic, 0 in float64 and as run.
    big = np.float32(2.0**60)
    constants = {
        "w1": np.array([[big], [1.0]], "f4"),
        "w2": np.array([[1.0, 1.0], [1.0, 0.0]], "f4"),
        "w3": np.array([[0.0, 0.0], [1.0, -1.0]], "f4"),
        "b": np.array([0.5, 0.0], "f4"),
    }
    nodes = [
        node("Gemm", "x w1", "a", transB=1),
        node("Gemm", "a w2", "c", transB=1),
        node("Gemm", "c w3 b", "y", transB=1),
    ]
    network = read_network(model(nodes, constants, [1, 1]))
    bracket = bracket_radius(network, np.array([0.25]), 0, seconds=2)
    assert bracket.low <= 0.25  # label 1 beyond x = 1/2


def test_a_term_that_underflows_in_float64_is_not_proved_away() -> None:
    # x is scaled down to 1e-333 and up again: label 1 has the score x, label 0 has 0.3
    down = [Layer(np.diag([1e-37, 1.0]), np.zeros(2), np.zeros(2))] * 9
    up = [Layer(np.diag([1e37, 1.0]), np.zeros(2), np.zeros(2))] * 9
    first = Layer(np.array([[1.0], [0.0]]), np.array([0.0, 0.3]), np.zeros(2))
    last = linear_layer(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2))
    network = Network((first, *down, *up, last), (1,))
    with np.errstate(all="ignore"):
        bracket = bracket_radius(network, np.array([0.1]), 0, seconds=2)
    assert bracket.low <= 0.2
