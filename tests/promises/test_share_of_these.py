"""A share of exactly these inputs: neither verdict is wrong more often than the error allows."""

import pytest
from scipy.stats import binom

from surefoot.core.results import Decision, Undecided
from surefoot.population import all_robust, robust_of_these
from tests.promises.test_share import OPEN, decisions


@pytest.mark.parametrize(("a", "error"), [(0.05, 0.05), (0.01, 0.05), (0.2, 0.2), (0.1, 0.01)])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("least", [0.1, 0.5, 0.9, 0.95, 1.0])
def test_one_robust_input_too_few_is_seldom_held_exactly(n, a, error, least):
    """All others are declared rightly, and each fragile one robust with probability a."""
    required = next(m for m in range(n + 1) if m >= least * n - 1e-9)
    fragile = n - required + 1
    held = sum(
        binom.pmf(wrong, fragile, a)
        for wrong in range(fragile + 1)
        if _holds(n - fragile + wrong, n, least, a, error)
    )
    assert held <= error * (1 + 1e-9)


@pytest.mark.parametrize(("a", "error"), [(0.05, 0.05), (0.01, 0.05), (0.2, 0.2)])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("least", [0.5, 0.9, 1.0])
def test_just_enough_robust_inputs_are_seldom_refuted_exactly(n, a, error, least):
    required = next(m for m in range(n + 1) if m >= least * n - 1e-9)
    refuted = sum(
        binom.pmf(wrong, required, a)
        for wrong in range(required + 1)
        if _holds(required - wrong, n, least, a, error) is False
    )
    assert refuted <= error * (1 + 1e-9)


def _holds(robust, n, least, a, error):
    result = robust_of_these(decisions(robust, n - robust, error=a), least, error)
    return result.holds if isinstance(result, Decision) else None


@pytest.mark.parametrize("local", [decisions(4, 0), decisions(3, 1), decisions(0, 20), [OPEN]])
def test_a_share_of_one_is_all_of_them(local):
    assert robust_of_these(local, 1.0, 0.05) == all_robust(local)


def test_no_share_always_holds_and_nothing_decided_shows_nothing():
    assert robust_of_these(decisions(0, 5), 0.0, 0.05).holds
    assert isinstance(robust_of_these([OPEN] * 3, 0.5, 0.05), Undecided)


def test_an_open_requirement_says_what_either_verdict_takes():
    open_ = robust_of_these(decisions(17, 2, 1), 0.9, 0.05)
    assert isinstance(open_, Undecided)
    *counts, enough, against = open_.reason.values
    assert counts == [17, 20, 2]
    assert robust_of_these(decisions(enough, 0, 20 - enough), 0.9, 0.05).holds
    assert robust_of_these(decisions(20 - against, against), 0.9, 0.05).holds is False
