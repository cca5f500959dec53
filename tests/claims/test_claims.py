"""No claim without an attack: whole studies where the truth is known, false claims counted."""

from itertools import chain

import pytest
from scipy.stats import binomtest

import surefoot as sf
from surefoot.core.claims import KINDS
from tests.claims import groups, tallies
from tests.claims.every_world import WORLDS
from tests.claims.parts import QUICK
from tests.claims.worlds import Outcome, World, add_up, missed, of_kind

LEVEL = 0.001
"""A world fails when its count of false claims would come this rarely at the stated error."""
RUNS = {0.0: 3, 0.1: 5, 0.2: 7}
"""By the error that is stated. Where that is none, no claim may be false; otherwise four false of
five, or six of seven, are too many, so that a claim which is false in 0.9 of the runs is noticed
with probability 0.85 at least. Runs that can no longer change the answer are left out: two true
ones are enough. The rate itself is for the promises, and for the thousand runs of
`benchmarks/claims.py`."""
FAST_RUNS = 2
"""In the fast tier: every kind of claim is made and compared with its truth, no rate is tested."""


def too_often(outcome: Outcome, error: float) -> bool:
    """Whether so many false claims reject the stated error."""
    if error == 0:
        return outcome.false > 0
    return bool(binomtest(outcome.false, outcome.claims, error, "greater").pvalue < LEVEL)


def test_every_kind_of_claim_has_a_world() -> None:
    assert set(WORLDS) == set(KINDS.values())


def runs_of(world: World) -> int:
    """As many as that error needs."""
    return next((runs for error, runs in RUNS.items() if world.error <= error), 7)


EVERY_WORLD = tuple(chain(*WORLDS.values()))


@pytest.mark.parametrize("world", EVERY_WORLD, ids=lambda w: f"{w.kind}: {w.name}")
def test_claims_are_false_no_more_often_than_stated(
    world: World, pytestconfig: pytest.Config
) -> None:
    runs = FAST_RUNS if pytestconfig.getoption("fast") else runs_of(world)
    outcome = Outcome(0, 0)
    for seed in range(runs):
        one = world.run(seed)
        outcome, rest = add_up([outcome, one]), (runs - seed - 1) * one.claims
        if not too_often(Outcome(outcome.claims + rest, outcome.false + rest), world.error):
            return
    pytest.fail(f"{outcome.false} of {outcome.claims} claims are false, stated {world.error}")


@pytest.mark.slow
def test_without_their_groups_the_same_inputs_make_claims_that_are_false_too_often() -> None:
    """20 groups of 50 inputs alike are no sample of 1,000: the world of `groups` without names."""
    outcomes = []
    for seed in range(12):
        study, truth = groups.alike(seed, named=False)
        outcomes.append(missed(of_kind(study.run(**QUICK).claims, "mean_population")[0], truth))
    assert too_often(add_up(outcomes), 0.1)


def test_a_claim_that_is_false_too_often_is_noticed() -> None:
    assert too_often(Outcome(1000, 140), 0.1)
    assert too_often(Outcome(40, 12), 0.1)
    assert not too_often(Outcome(1000, 120), 0.1)
    assert too_often(Outcome(5, 1), 0.0)


def test_trials_of_one_case_taken_for_cases_make_claims_that_are_false_too_often() -> None:
    """144 trials of 12 cases are no sample of 144: the world of `tallies` without their names."""
    outcomes = []
    for seed in range(20):
        result = sf.tally(tallies.epochs(seed, "row"), confidence=0.9)
        outcomes.append(missed(of_kind(result.claims, "case_failure")[0], 0.2))
    assert too_often(add_up(outcomes), 0.1)
