"""Trees on a device of PyTorch: what they prove is true, and as on the processor."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.graph.network import margin_question
from surefoot.subject.protocols import CPU, Ball
from surefoot.verify import Network, bracket_radius, branch_and_bound, dense_layer, device
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.branch_and_bound import (
    DEFAULT_SETTINGS,
    TreeSettings,
    TreeWatch,
    bound_nodes,
    prove_by_branching,
    root_nodes,
    settings_on,
)
from surefoot.verify.counterexample_search import attack_problem
from surefoot.verify.device import to_device
from surefoot.verify.layer_bounds import bound_layers
from tests.refusals import raised
from tests.unit.small_networks import exact_radius, random_network
from tests.unit.test_verify_branch_and_bound import FixedUpper, known_radius, never
from tests.unit.test_verify_convolutions import network_of

pytest.importorskip("torch")
TORCH = "cpu:0"
"""A device of PyTorch, which cpu alone is not."""


def small(seed: int) -> tuple[Network, np.ndarray]:
    """A network whose radius is known by trying every pattern, and an input."""
    rng = np.random.default_rng(seed)
    slopes = [[0.0], [0.0, 0.1], [0.0, 1.0, 0.3], [0.0]][seed % 4]
    widths = [[5], [3, 3], [3, 2, 2], [4, 2]][seed % 4]
    network = random_network(rng, 2 + seed % 3, widths, 3, slopes)
    return network, rng.uniform(0, 1, network.shape)


@pytest.mark.parametrize("seed", range(8))
def test_brackets_hold_the_exact_radius(seed):
    network, x = small(seed)
    label = network.label(x)
    exact = exact_radius(network, x, label, 0.0, 1.0)
    bracket = bracket_radius(network, x, label, tolerance=1e-3, where=TORCH)
    assert bracket.low <= exact + 1e-7
    assert bracket.high >= exact - 1e-7
    if np.isfinite(exact):
        assert bracket.high - bracket.low <= 1e-3 * 1.001


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_closes_below_the_exact_radius_and_never_above(seed):
    network, x, exact = known_radius(seed)
    question = margin_question(network, network.label(x))
    problem = attack_problem(question, x, InputSpace(0.0, 1.0))
    for share in (0.95, 1.2):
        radius = share * (exact if np.isfinite(exact) else 1.0)
        bounds = bound_layers(question, Box(x, radius, 0.0, 1.0), never, 0.0)
        how = FixedUpper(np.inf), 0.0, 1e-3, TreeWatch(never), DEFAULT_SETTINGS, TORCH
        grown = prove_by_branching(bounds, problem, *how)
        assert grown.closed
        assert grown.low <= exact + 1e-9
        assert radius > exact or grown.low == radius


def bounded(network: Network, x: np.ndarray, radius: float, steps: int, where: str) -> np.ndarray:
    """How far the roots are proved, there."""
    question = margin_question(network, network.label(x))
    bounds = bound_layers(question, Box(x.reshape(-1), radius, 0.0, 1.0), never, 0.0)
    nodes = root_nodes(bounds)
    if where != CPU:
        change = to_device(where)
        bounds, nodes = bounds.moved(change), nodes.moved(change)
    return bound_nodes(bounds, nodes, steps, settings_on(where, DEFAULT_SETTINGS)).radius


@pytest.mark.parametrize("seed", range(4))
def test_nodes_are_bounded_alike_on_both_sides(seed):
    rng = np.random.default_rng(seed)
    dense = random_network(rng, 6, [12, 8], 3, [0.0, 0.1])
    for network in (dense, network_of(rng, 4, 2, 0.1)):
        x = rng.uniform(0, 1, network.shape)
        here, there = (bounded(network, x, 0.2, 0, where) for where in (CPU, TORCH))
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
        here, there = (bounded(network, x, 0.2, 20, where) for where in (CPU, TORCH))
        np.testing.assert_allclose(there, here, rtol=0.02)


def test_a_device_that_rounds_more_than_float64_is_refused(monkeypatch):
    def coarse(where: str):
        change = to_device(where)

        def rounded(a: np.ndarray):
            a = np.asarray(a)
            return change(a.astype(np.float32).astype(a.dtype) if a.dtype == float else a)

        return rounded

    monkeypatch.setattr(branch_and_bound, "to_device", coarse)
    rng = np.random.default_rng(3)
    network = random_network(rng, 6, [12, 8], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 6)
    words, label = "a bound made on the device differs from the processor's", network.label(x)
    raised(SurefootError, words, bracket_radius, network, x, label, where=TORCH)


def test_without_memory_on_the_device_trees_are_searched_on_the_processor(monkeypatch):
    import torch

    calls = []

    def full(where: str):
        calls.append(where)
        raise torch.OutOfMemoryError("none is left")

    monkeypatch.setattr(branch_and_bound, "to_device", full)
    network, x, exact = known_radius(1)
    bracket = bracket_radius(network, x, network.label(x), tolerance=1e-3, where=TORCH)
    assert calls
    assert bracket.high - bracket.low <= 1e-3 * 1.001
    assert bracket.low <= exact + 1e-7

    def broken(where: str):
        raise RuntimeError("another fault")

    monkeypatch.setattr(branch_and_bound, "to_device", broken)
    with pytest.raises(RuntimeError, match="another fault"):
        bracket_radius(network, x, network.label(x), tolerance=1e-3, where=TORCH)


def test_few_nodes_are_split_several_times(monkeypatch):
    rng = np.random.default_rng(0)
    network = random_network(rng, 6, [24, 24], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 6)
    question = margin_question(network, network.label(x))
    problem = attack_problem(question, x, InputSpace(0.0, 1.0))
    bounds = bound_layers(question, Box(x, 0.3, 0.0, 1.0), never, 0.0)
    monkeypatch.setattr(branch_and_bound, "settings_on", lambda where, settings: settings)
    first = {}
    for where, fill in itertools.product((CPU, TORCH), (0.0, 0.5)):
        new: list[int] = []
        watch = TreeWatch(lambda new=new: len(new) > 1, on_nodes=new.append)
        settings = TreeSettings(batch=128, values=1 << 20, fill=fill)
        how = FixedUpper(np.inf), 0.0, 1e-3, watch, settings, where
        prove_by_branching(bounds, problem, *how)
        assert new[0] == len(question.rows)
        first[where, fill] = new[1]
    for where in (CPU, TORCH):
        assert 2 <= first[where, 0.0] <= 2 * len(question.rows)
        assert 8 * first[where, 0.0] <= first[where, 0.5] <= 64


@pytest.mark.parametrize("nodes", [50, 400])
def test_a_limit_in_nodes_is_kept(nodes):
    rng = np.random.default_rng(1)
    network = random_network(rng, 8, [24, 24, 24], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 8)
    bracket = bracket_radius(network, x, network.label(x), nodes=nodes, tolerance=1e-4, where=TORCH)
    assert bracket.nodes <= nodes + 2 * len(network.layers)
    assert bracket.low > 0


def test_other_balls_and_curves_are_proved_on_the_processor():
    network, x = small(1)
    label = network.label(x)
    here, there = (
        bracket_radius(network, x, label, norm=Ball.L2, nodes=100, where=where)
        for where in (CPU, TORCH)
    )
    assert (here.low, here.high, here.nodes) == (there.low, there.high, there.nodes)
    curve = dense_layer(np.eye(2), np.zeros(2), np.full(2, -1.0))
    curved = Network((curve, network_of_two()), (2,))
    assert bracket_radius(curved, np.array([0.9, 0.1]), 0, where=TORCH).low > 0


def network_of_two():
    """Scores that are the two values."""
    return replace(dense_layer(np.eye(2), np.zeros(2), np.ones(2)))


def test_batches_fill_no_more_than_a_share_of_a_device(monkeypatch):
    small_settings = settings_on(TORCH, DEFAULT_SETTINGS)
    monkeypatch.setattr(device.os, "cpu_count", lambda: 1)
    one = settings_on(TORCH, DEFAULT_SETTINGS)
    assert one.values >= small_settings.values and one.memory > small_settings.memory
    assert settings_on(CPU, DEFAULT_SETTINGS) is DEFAULT_SETTINGS
