"""The exact test at planned looks keeps its error."""

import math

import pytest

from surefoot.core.reasons import Why
from surefoot.statistics import ExactBinomial, PublishedDoubling, falsely_robust
from surefoot.statistics.kappa import tail_above, tail_below
from tests.promises.test_kappa import drive


def binomial_rates(procedure, p):
    """P(certified), P(refuted) of the test at planned looks, exactly."""
    yes = no = 0.0
    alive, before, share = {0: 1.0}, 0, procedure.error / len(procedure.sizes())
    for size in procedure.sizes():
        grown: dict[int, float] = {}
        m = size - before
        for failed, chance in alive.items():
            for more in range(m + 1):
                mass = chance * math.comb(m, more) * p**more * (1 - p) ** (m - more)
                grown[failed + more] = grown.get(failed + more, 0.0) + mass
        alive, before = {}, size
        for failed, mass in grown.items():
            if tail_below(failed, size, procedure.kappa) <= share:
                yes += mass
            elif tail_above(failed, size, procedure.kappa) <= share:
                no += mass
            else:
                alive[failed] = mass
    return yes, no


@pytest.mark.parametrize("looks", [1, 3, 6])
@pytest.mark.parametrize("p", [0.05, 0.1, 0.11, 0.2])
def test_the_exact_test_at_planned_looks_keeps_its_error(looks, p):
    yes, no = binomial_rates(ExactBinomial(0.1, 0.1, max_trials=200, looks=looks), p)
    if p >= 0.1:
        assert yes <= 0.1
    if p <= 0.1:
        assert no <= 0.1


def test_the_exact_test_decides_and_stays_undecided():
    test = ExactBinomial(0.01, 0.05, max_trials=4000)
    assert test.sizes()[-1] == 4000
    assert drive(test, [0] * 8)[1].holds
    assert not drive(test, [20])[1].holds
    _, open_end = drive(ExactBinomial(0.01, 0.05, max_trials=200, looks=2), [1, 1])
    assert open_end.reason.why is Why.KAPPA_OPEN


@pytest.mark.parametrize(
    ("answers", "why"),
    [([0, 0, 0], Why.DECLARED_ROBUST), ([4], Why.DECLARED_FRAGILE), ([2] * 3, None)],
)
def test_the_published_rule_decides_nothing_and_says_what_it_declares(answers, why):
    rule = PublishedDoubling(0.1, 0.05, max_trials=60)
    assert rule.sizes() == [10, 20, 40]
    _, end = drive(rule, answers)
    assert end.counted is None
    assert end.reason.why is (why or Why.DECLARED_NOTHING)
    assert rule.measured_error == falsely_robust(0.1, 0.05, [10, 20, 40])
    assert PublishedDoubling(0.1, 0.05, max_trials=2000).measured_error > 0.13
    assert PublishedDoubling(0.1, 0.05, max_trials=7).sizes() == [7]
