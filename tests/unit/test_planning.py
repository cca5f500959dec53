"""A rehearsal tells what a run costs."""

import numpy as np
import pytest

from surefoot.statistics import ExactSequential, KappaTest, Okamoto, design_for, okamoto
from surefoot.statistics.designs import expected_trials
from surefoot.statistics.planning import simulate, simulate_trials


def test_a_fixed_number_is_simulated_exactly():
    simulated = simulate_trials(Okamoto(0.1, 0.1), 0.3, runs=5)
    assert (simulated.mean, simulated.most, simulated.decided) == (
        okamoto(0.1, 0.1),
        okamoto(0.1, 0.1),
        1,
    )


@pytest.mark.parametrize("p", [1.0, 0.99, 0.7])
def test_a_rehearsal_agrees_with_the_exact_expectation(p):
    simulated = simulate_trials(ExactSequential(0.05, 0.05), p, runs=400)
    assert simulated.mean == pytest.approx(expected_trials(design_for(0.05, 0.05), p), rel=0.05)


def test_a_budget_that_is_too_small_shows_as_undecided():
    assert simulate_trials(KappaTest(0.01, 0.05, max_trials=1000), 0.99, runs=50).decided < 0.5


def test_a_simulated_run_says_what_it_asked():
    result, questions = simulate(KappaTest(0.01, 0.05), 1.0, np.random.default_rng(0))
    assert result.trials == sum(questions) == 327
