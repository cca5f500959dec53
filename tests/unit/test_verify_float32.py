"""How far a model as run is from real arithmetic: measured, and said to be no more than that."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.core.results import UNIT
from surefoot.errors import InvalidArgument
from surefoot.verify import margin_difference, read_network
from surefoot.verify.float32 import PointKind
from tests.unit.float32_networks import BUILDERS, INPUTS, Float32Network, narrow_band
from tests.unit.small_networks import random_network
from tests.unit.test_verify_near_ties import Build, runner

_SEEN = [build for build in BUILDERS if build is not narrow_band]


@pytest.mark.parametrize("build", _SEEN)
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
            v = h @ layer.weights.astype(np.float32).T + layer.bias.astype(np.float32)
            h = np.maximum(v, layer.slope.astype(np.float32) * v)
        return h

    difference = margin_difference(network, single, x, 0.02, UNIT)
    assert 0 < difference.relative.value < 1e-4
    assert 0 < difference.absolute.value < 1e-4
    exact = margin_difference(network, network.outputs, x, 0.02, UNIT)
    assert (exact.absolute.value, exact.relative.value, exact.labels) == (0.0, 0.0, 0)


def test_where_it_is_largest_is_told() -> None:
    rng = np.random.default_rng(1)
    network = random_network(rng, 8, [6], 3, [0.0])
    x = rng.random((3, 8)).astype(np.float32)

    def off_at_the_second(points: np.ndarray) -> np.ndarray:
        scores = network.outputs(points)
        scores[(points == x[1]).all(axis=1)] += [1.0, 0.0, 0.0]
        return scores

    difference = margin_difference(network, off_at_the_second, x, 0.02, UNIT)
    assert (difference.absolute.input, difference.absolute.place) == (1, PointKind.CLEAN)
    assert difference.absolute.value == pytest.approx(1.0)


def test_outputs_that_are_not_finite_are_infinitely_far() -> None:
    rng = np.random.default_rng(1)
    network = random_network(rng, 8, [6], 3, [0.0])
    x = rng.random((1, 8)).astype(np.float32)
    difference = margin_difference(network, lambda p: np.full((len(p), 3), np.nan), x, 0.02, UNIT)
    assert difference.absolute.value == np.inf


def test_its_words_promise_nothing() -> None:
    rng = np.random.default_rng(1)
    network = random_network(rng, 8, [6], 3, [0.0])
    words = margin_difference(network, network.outputs, rng.random((2, 8)), 0.1, UNIT).sentence
    assert "130 points tried" in words
    assert "were not tried and may differ more" in words


def test_nothing_to_compare_is_refused() -> None:
    network = random_network(np.random.default_rng(1), 8, [6], 3, [0.0])
    with pytest.raises(InvalidArgument, match="0 inputs"):
        margin_difference(network, network.outputs, np.zeros((0, 8)), 0.1, UNIT)
