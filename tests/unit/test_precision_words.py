"""What a run to a precision says beside its mean: inputs without a trial, and what narrows it."""

import numpy as np
import pytest

from surefoot.catalogue.methods import PopulationMean, SetMean
from surefoot.core.counts import Counts
from surefoot.population.precision import likely_width
from surefoot.statistics.bounds import clopper_pearson
from tests.claims.parts import QUICK, noise_study
from tests.unit.test_precision import run

RARE = np.full(250, 0.005)


def narrower_as_said(p: float, size: int, seed: int) -> bool:
    """Whether the mean of the population is narrower than first trials say, where it is said."""
    world, precision, error = np.full(size, p), 0.02, 0.05
    these = run(SetMean(precision, error, size), world, seed)
    first = [c for c in these.first.values() if c.trials]
    now = clopper_pearson(Counts(len(first), sum(c.kept for c in first)), error).width
    likely = likely_width(precision, error, size, these.failure.value)
    if len(first) == size or likely >= now:
        return True
    dedicated = PopulationMean(precision, error, size)
    return bool(run(dedicated, world, seed + 100).failure.interval.width < now)


@pytest.mark.parametrize(("p", "size"), [(0.0, 900), (0.02, 900), (0.1, 300)])
def test_about_population_likely_narrows_the_interval_where_it_is_said(p, size):
    assert sum(narrower_as_said(p, size, seed) for seed in range(5)) >= 4


def test_a_run_names_the_option_that_narrows_the_interval_of_the_population():
    these = noise_study(RARE, SetMean(0.05, 0.05), 3).run(**QUICK)
    population = noise_study(RARE, PopulationMean(0.05, 0.05), 3).run(**QUICK)
    assert "--about population" in these.view.claims_note
    assert these.view.claims_note in these.explain()
    assert population.view.claims_note == ""
    wide, narrow = (
        next(c.interval for c in result.claims if c.kind == "mean_population")
        for result in (these, population)
    )
    assert narrow.width < wide.width


def test_nothing_is_proposed_where_every_input_had_its_first_trial_at_once():
    few = noise_study(np.full(10, 0.2), SetMean(0.05, 0.05), 3).run(**QUICK)
    assert few.view.claims_note == ""
