"""The model as run has the last word on inputs and counterexamples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.core.counts import closed_to
from surefoot.verify import Refuted, Unknown, bracket_radius
from surefoot.verify.bracket import BracketState
from tests.unit.radius_verdict import verdict
from tests.unit.small_networks import random_network
from tests.unit.test_verify_bracket_search import two_ways


def test_misclassified_inputs_have_radius_zero() -> None:
    bracket = bracket_radius(two_ways([1.0], 0.9), np.array([0.2]), 1)
    assert (bracket.low, bracket.high, bracket.reason) == (0.0, 0.0, "misclassified")


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
    bracket = BracketState(network, x, 0, (-1.0, 1.0), None, lambda low, high: None)
    assert bracket.try_counterexample(np.array([1.0]))
    assert Fraction(bracket.high) >= 1 + Fraction(1, 2**80)


def test_a_bracket_is_closed_up_to_rounding_of_its_ends_and_never_without_a_counterexample() -> (
    None
):
    assert closed_to(0.1, 0.102, 0.002)
    assert closed_to(0.1, np.nextafter(0.102, 1), 0.002)
    assert not closed_to(0.1, 0.10201, 0.002)
    assert not closed_to(0.1, np.inf, 0.002)
