"""Tiny networks, completely: every pattern of two inputs, ties, borders, what is known by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest

from surefoot.graph.network import linear_layer
from surefoot.verify import Layer, Network, Proved, Refuted, bracket_radius
from tests.unit.radius_verdict import verdict
from tests.unit.small_networks import exact_radius, random_network


@pytest.mark.slow
@pytest.mark.parametrize("corner", [(0.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.5, 0.5)])
@pytest.mark.parametrize("seed", range(5))
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


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, 1.0], [2.0, -3.0], [0.15, 0.1]])
@pytest.mark.parametrize("margin", [0.01, 0.1, 0.3])
def test_a_linear_network_breaks_at_its_margin_over_its_weights(
    weights: list[float], margin: float
) -> None:
    x, row = np.array([0.5, 0.5]), np.array(weights)
    network = Network(
        (linear_layer(np.array([row, np.zeros(2)]), np.array([margin - row @ x, 0.0])),), (2,)
    )
    true = margin / np.abs(row).sum()
    bracket = bracket_radius(network, x, 0, tolerance=1e-5)
    if true > 0.5:
        assert bracket.reason == "proved for the whole domain"
    else:
        assert bracket.low <= true * (1 + 1e-12)
        assert true * (1 - 1e-6) <= bracket.high <= bracket.low + 1.001e-5


def test_a_tie_at_the_input_is_kept_by_the_first_label_and_never_proved() -> None:
    # Both scores are relu(x): tied everywhere; argmax says 0.
    hidden = Layer(np.array([[1.0]]), np.zeros(1), np.zeros(1))
    network = Network((hidden, linear_layer(np.array([[1.0], [1.0]]), np.zeros(2))), (1,))
    bracket = bracket_radius(network, np.array([0.5]), 0)
    assert bracket.low == 0.0
    assert bracket.witness is None
    assert bracket_radius(network, np.array([0.5]), 1).reason == "misclassified"


def test_a_tie_in_a_part_of_the_box_ends_the_proof_there_and_says_so() -> None:
    # margin relu(x − 0.3): positive above 0.3, a tie below, where label 0 still wins
    hidden = Layer(np.array([[1.0]]), np.array([-0.3]), np.zeros(1))
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
