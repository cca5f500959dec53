"""First radii of many inputs at once: as of each by itself, with NumPy and PyTorch, never above."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.core.assumptions import Arithmetic
from surefoot.subject.protocols import CPU, Ball
from surefoot.verify import Network, first_bounds
from surefoot.verify.ball import InputSpace
from surefoot.verify.branch_and_bound import bound_nodes, root_nodes
from surefoot.verify.first_bounds import InputBatch, first_radii, proved_at, proved_within
from surefoot.verify.layer_bounds import INTERVALS, OutOfTime, bound_layers
from tests.unit.small_networks import exact_radius, random_network
from tests.unit.test_verify_convolutions import network_of

TORCH = "cpu:0"
"""A device of PyTorch, which cpu alone is not."""


@pytest.fixture(params=[CPU, TORCH])
def where(request):
    if request.param == TORCH:
        pytest.importorskip("torch")
    return request.param


def mixed(seed: int, network: Network | None = None, **more) -> InputBatch:
    """Inputs of all labels, of which some lie in corners, some are wrong; some neurons are dead."""
    rng = np.random.default_rng(seed)
    network = network or random_network(rng, 3, [5, 4], 3, [0.0, 0.2])
    first, *rest = network.layers
    dead = np.where(np.arange(len(first.bias)) == 1, -100.0, first.bias)
    network = replace(network, layers=(replace(first, bias=dead), *rest))
    x = rng.uniform(0, 1, (12, first.weights.shape[1]))
    x[::4] = np.round(x[::4])
    labels = network.scores(x).argmax(axis=1)
    labels[5] = (labels[5] + 1) % network.classes
    return InputBatch(network, x, labels, InputSpace(), **more)


def alone(batch: InputBatch, i: int, radius: float, work: float) -> float:
    """What bounds of one input prove."""
    question, x = batch.questions[int(batch.labels[i])], batch.x[i]
    bounds = bound_layers(question, batch.space.box(x, radius), lambda: False, work)
    nodes = bound_nodes(bounds, root_nodes(bounds), 0)
    return float(np.sort(nodes.radius)[question.rank - 1])


def batches() -> dict[str, InputBatch]:
    rng = np.random.default_rng(8)
    relu = replace(random_network(rng, 3, [6], 3, [0.0]), ends_in_relu=True)
    widths = np.array([1.0, 0.0, 2.0])
    low, high = np.zeros(3), np.array([1.0, 1.0, 1.5])
    uneven = replace(mixed(4), space=InputSpace(low, high, unit=widths))
    return {
        "dense": mixed(2),
        "real": mixed(3, arithmetic=Arithmetic.REAL),
        "widths": uneven,
        "last relu": mixed(5, relu),
        "second best": mixed(6, random_network(rng, 3, [5, 4], 6, [0.0]), rank=2),
        "convolutions and a branch": mixed(7, network_of(rng, 4, 2, 0.1)),
    }


@pytest.mark.parametrize("name", batches())
def test_a_batch_proves_what_bounds_of_each_input_prove(name, where):
    batch = batches()[name]
    radius = np.random.default_rng(1).uniform(0.01, 0.6, len(batch.x))
    intervals = proved_within(batch, radius, INTERVALS, where)
    single = [alone(batch, i, r, INTERVALS) for i, r in enumerate(radius)]
    np.testing.assert_allclose(intervals, single, rtol=1e-4, atol=1e-9)
    through = proved_within(batch, radius, 0.0, where)
    single = np.array([alone(batch, i, r, 0.0) for i, r in enumerate(radius)])
    assert (through[single >= radius] == radius[single >= radius]).all()
    assert (single >= radius).any() and (single < radius).any()
    every = np.arange(len(radius))
    one = [proved_within(batch.take([i]), radius[[i]], 0.0, where)[0] for i in every]
    np.testing.assert_allclose(through, one, rtol=1e-9, atol=1e-12)


def test_pytorch_proves_what_numpy_does():
    pytest.importorskip("torch")
    for batch in batches().values():
        radius = np.full(len(batch.x), 0.07)
        for work in (INTERVALS, 0.0):
            here, there = (proved_within(batch, radius, work, place) for place in (CPU, TORCH))
            np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)


def test_no_radius_is_above_the_exact_one(where):
    batch = mixed(20, random_network(np.random.default_rng(20), 3, [3, 2], 3, [0.0, 0.2]))
    batch = batch.take(slice(0, 8))
    radii = first_radii(batch, where)
    assert (radii > 0).sum() >= 5
    for x, label, radius in zip(batch.x, batch.labels, radii, strict=True):
        right = batch.network.label(x) == label
        assert radius <= (exact_radius(batch.network, x, int(label), 0.0, 1.0) if right else 0.0)


def test_a_level_is_proved_or_not():
    batch = mixed(30)
    proved = proved_at(batch, 0.01)
    assert set(proved) == {0.0, 0.01}
    assert proved[5] == 0  # misclassified


def test_other_balls_have_no_bounds_of_a_batch():
    batch = replace(mixed(31), space=InputSpace(norm=Ball.L2))
    assert not first_radii(batch).any() and not proved_at(batch, 0.01).any()


def test_what_is_proved_when_a_device_is_full_is_the_answer(monkeypatch):
    torch = pytest.importorskip("torch")
    batch = mixed(33)

    def full(*known):
        raise torch.OutOfMemoryError("none is left")

    def broken(*known):
        raise RuntimeError("another fault")

    monkeypatch.setattr(first_bounds, "proved_within", full)
    assert not first_radii(batch, TORCH).any()
    monkeypatch.setattr(first_bounds, "proved_within", broken)
    with pytest.raises(RuntimeError, match="another fault"):
        first_radii(batch, TORCH)


def test_what_is_proved_when_the_time_ends_is_the_answer():
    batch, left = mixed(32), iter([False] * 4)
    radii = first_radii(batch, CPU, lambda: next(left, True))
    assert (radii <= first_radii(batch)).all() and radii.any()
    with pytest.raises(OutOfTime):
        proved_within(batch, np.full(12, 0.1), 0.0, CPU, lambda: True)
    assert not first_radii(batch, CPU, lambda: True).any()
