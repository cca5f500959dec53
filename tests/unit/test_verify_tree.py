"""The proof tree and its bounds: true at every point, also where rounding could hide a failure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.graph.network import Question, keeps, linear
from surefoot.verify import Layer, Network, critical
from surefoot.verify.box import Box
from surefoot.verify.branch_and_bound import Growth, bound, grow
from surefoot.verify.counterexample_search import target_of
from surefoot.verify.layer_bounds import look, proved_forms
from surefoot.verify.linear_relaxation import value_and_gradient
from surefoot.verify.node_pool import roots
from tests.unit.small_networks import exact_radius, random_network


class FixedUpper:
    """An upper end that accepts no point."""

    def __init__(self, high: float) -> None:
        self.high = high

    def offer(self, point: np.ndarray) -> bool:
        return False


class FallingUpper(FixedUpper):
    """An upper end that comes nearer whenever it is looked at."""

    def __init__(self, high: float, least: float, step: float) -> None:
        self.last, self.least, self.step = high, least, step

    @property
    def high(self) -> float:
        self.last = max(self.least, self.last - self.step)
        return self.last


def never() -> bool:
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("growth", [Growth(), Growth(batch=4), Growth(steps=0)])
def test_every_way_of_growing_proves_only_what_is_true(seed: int, growth: Growth) -> None:
    rng = np.random.default_rng(60 + seed)
    network = random_network(rng, 3, [3, 3, 2], 3, [0.0])
    x = rng.uniform(0, 1, 3)
    label = network.label(x)
    exact = exact_radius(network, x, label, 0.0, 1.0)
    question = keeps(network, label)
    target = target_of(question, x, 0.0, 1.0)
    for share in (0.95, 1.2):
        radius = share * (exact if np.isfinite(exact) else 1.0)
        scene = look(question, Box(x, radius, 0.0, 1.0), never)
        grown = grow(scene, target, FixedUpper(np.inf), 0.0, 1e-3, never, growth)
        assert grown.low <= exact + 1e-9
        assert grown.closed
        if radius < exact:
            assert grown.low == radius


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_lower_end_never_passes_what_closed_nodes_were_proved_to(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 6, [12, 8], 3, [0.0])
    x = rng.uniform(0.3, 0.7, 6)
    question = keeps(network, network.label(x))
    target = target_of(question, x, 0.0, 1.0)
    radius = critical(network, x, network.label(x)).low
    upper = FallingUpper(1.5 * radius, 1.001 * radius, 0.002 * radius)
    scene = look(question, Box(x, radius, 0.0, 1.0), never)
    told: list[tuple[float, float]] = []

    def tell(low: float) -> None:
        told.append((low, upper.last - 0.5 * radius))

    grow(scene, target, upper, 0.5 * radius, 10.0, never, Growth(batch=1, steps=1), tell)
    assert all(low <= aim for low, aim in told)


def exactly(question: Question, x: list[Fraction]) -> list[Fraction]:
    """The margins in rational numbers."""
    h = x
    for layer in question.hidden:
        sums = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(b))
            for row, b in zip(layer.weights, layer.bias, strict=True)
        ]
        h = [max(v, Fraction(s) * v) for v, s in zip(sums, layer.slope, strict=True)]
    return [
        sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(o))
        for row, o in zip(question.rows, question.offsets, strict=True)
    ]


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_rounding_is_paid_for(scale: float, shift: float) -> None:
    # With a large shift every neuron is active: the bound equals the margin, up to rounding alone.
    rng = np.random.default_rng(int(scale + shift))
    layers = [
        Layer(scale * rng.normal(size=(5, 3)), scale * (rng.normal(size=5) + shift), np.zeros(5)),
        Layer(scale * rng.normal(size=(4, 5)), np.full(4, 60 * scale**2 * shift), np.zeros(4)),
        linear(rng.normal(size=(3, 4)), rng.normal(size=3)),
    ]
    network = Network(tuple(layers), (3,))
    for _ in range(10):
        x = rng.uniform(0, 1, 3)
        question = keeps(network, network.label(x))
        scene = look(question, Box(x, 0.05, 0.0, 1.0), never)
        nodes, _ = bound(scene, roots(scene), 4, (0.2, 0.15))
        lines = nodes.lines(scene.slope)
        forms = proved_forms(scene, 2, scene.rows, scene.offsets, lines, nodes.alpha, None)
        for point in rng.uniform(scene.box.lower, scene.box.upper, (5, 3)):
            rational = [Fraction(v) for v in point]
            for a, c, margin in zip(forms.a, forms.c, exactly(question, rational), strict=True):
                form = sum((Fraction(v) * p for v, p in zip(a, rational, strict=True)), Fraction(c))
                assert form <= margin


def test_the_gradient_is_the_slope_of_the_bound() -> None:
    rng = np.random.default_rng(4)
    network = random_network(rng, 4, [7, 6, 5], 3, [0.0, 0.2])
    x = rng.uniform(0, 1, 4)
    scene = look(keeps(network, network.label(x)), Box(x, 0.3, 0.0, 1.0), never)
    nodes = roots(scene)
    lines = nodes.lines(scene.slope)
    alpha = rng.uniform(lines.least, lines.most)
    push = rng.normal(0, 0.1, alpha.shape)
    args = (scene.chain, scene.depth, scene.rows, scene.offsets, lines)
    slopes = value_and_gradient(*args, alpha, push)
    for _ in range(20):
        i = rng.integers(alpha.shape[1])
        for which, gradient in enumerate((slopes.alpha, slopes.push)):
            moved = [alpha.copy(), push.copy()]
            moved[which][:, i] += 1e-7
            change = (value_and_gradient(*args, *moved).value - slopes.value) / 1e-7
            assert np.allclose(change, gradient[:, i], atol=1e-4, rtol=1e-4)
