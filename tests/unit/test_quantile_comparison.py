"""Two models' quantiles on the same inputs."""

import math

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.population import ApartRanks, PairedBootstrap, quantile_differences
from surefoot.results import Footing, Interval
from tests.quantiles import never_refuted, on_grid, points

BOTH = [ApartRanks(), PairedBootstrap()]


def levels(n, seed=1):
    return np.random.default_rng(seed).gamma(3, 0.02, n) + 0.01


@pytest.mark.parametrize("over", BOTH)
def test_a_model_does_not_differ_from_itself(over):
    local = on_grid(levels(150))
    (found,) = quantile_differences(over, {"a": local, "b": local}, 0.05)
    assert found.better is None
    assert found.value == 0
    assert found.guarantee.footing is Footing.CONDITIONAL


@pytest.mark.parametrize("over", BOTH)
def test_a_much_more_robust_model_is_better_in_either_order(over):
    values = levels(200)
    weak, strong = on_grid(values), on_grid(values + 0.1)
    (ahead,) = quantile_differences(over, {"strong": strong, "weak": weak}, 0.05)
    (behind,) = quantile_differences(over, {"weak": weak, "strong": strong}, 0.05)
    assert ahead.better == behind.better == "strong"
    assert ahead.value == pytest.approx(0.1, abs=0.003)
    assert ahead.interval.low == pytest.approx(-behind.interval.high)


def test_pairing_cancels_what_both_share():
    values = levels(200)
    a, b = points(values), points(values + 0.003)
    paired = PairedBootstrap().difference(b, a, 0.05)
    apart = ApartRanks().difference(b, a, 0.05)
    assert paired.low == pytest.approx(0.003) and paired.high == pytest.approx(0.003)
    assert apart.low < 0 < apart.high


def test_a_bracket_widens_a_paired_difference():
    values = levels(200)
    local = on_grid(values)
    found = PairedBootstrap().difference(local, local, 0.05)
    assert found.low < 0 < found.high


def test_three_models_share_the_error():
    groups = {name: on_grid(levels(200, seed)) for seed, name in enumerate("abc")}
    found = quantile_differences(ApartRanks(), groups, 0.06)
    alone = ApartRanks().difference(groups["a"], groups["b"], 0.02)
    assert len(found) == 3
    assert found[0].interval == alone


@pytest.mark.parametrize("over", BOTH)
def test_never_refuted_inputs_leave_a_difference_open(over):
    open_, known = [never_refuted(0.1)] * 100, on_grid(levels(100))
    found = over.difference(open_, known, 0.05)
    assert found.high == math.inf
    assert found.low > -1
    assert over.difference(open_, open_, 0.05) == Interval(-math.inf, math.inf)


@pytest.mark.parametrize("over", BOTH)
def test_inputs_must_be_the_same(over):
    with pytest.raises(InvalidArgument, match="a: 3, b: 2"):
        quantile_differences(over, {"a": points([1, 2, 3]), "b": points([1, 2])}, 0.05)
    with pytest.raises(InvalidArgument, match="two or more models"):
        quantile_differences(over, {"a": points([1, 2, 3])}, 0.05)
    with pytest.raises(InvalidArgument, match="no inputs to compare"):
        quantile_differences(over, {"a": [], "b": []}, 0.05)


def test_too_few_draws_are_refused():
    with pytest.raises(InvalidArgument, match="draws"):
        PairedBootstrap(draws=5)
