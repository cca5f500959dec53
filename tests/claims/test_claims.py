"""No claim without an attack: whole studies where the truth is known, false claims counted."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from surefoot.claims import KINDS
from tests.claims import curves, levels, models, outputs, sampled  # noqa: F401  enter worlds
from tests.claims.worlds import WORLDS, Outcome, World, add_up

LEVEL = 0.001
"""A world fails when its count of false claims would come this rarely at the stated error."""
RUNS = {
    "radius": 8,
    "robust_accuracy": 15,
    "radius_quantile": 20,
    "quantile_difference": 12,
    "curve_set": 20,
    "curve_population": 20,
    "not_worse": 20,
}
"""Fewer runs of the slower worlds; the others have 40. `benchmarks/claims.py` has a thousand."""
FAST_RUNS = 2
"""In the fast tier: every kind of claim is made and compared with its truth, no rate is tested."""


def too_often(outcome: Outcome, error: float) -> bool:
    """Whether so many false claims reject the stated error."""
    if error == 0:
        return outcome.false > 0
    return bool(binomtest(outcome.false, outcome.claims, error, "greater").pvalue < LEVEL)


def test_every_kind_of_claim_has_a_world() -> None:
    assert {world.kind for world in WORLDS} == set(KINDS)


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: f"{w.kind}: {w.name}")
def test_claims_are_false_no_more_often_than_stated(
    world: World, pytestconfig: pytest.Config
) -> None:
    runs = FAST_RUNS if pytestconfig.getoption("fast") else RUNS.get(world.kind, 40)
    outcome = add_up([world.run(seed) for seed in range(runs)])
    assert not too_often(outcome, world.error), (
        f"{outcome.false} of {outcome.claims} claims are false, stated {world.error}"
    )


def test_a_claim_that_is_false_too_often_is_noticed() -> None:
    assert too_often(Outcome(1000, 140), 0.1)
    assert too_often(Outcome(40, 12), 0.1)
    assert not too_often(Outcome(1000, 120), 0.1)
    assert too_often(Outcome(5, 1), 0.0)
