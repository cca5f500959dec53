"""A forecast for a suite that is undecided comes true about as often as it says."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import UNIT
from surefoot.population.cells import Cell, CellMean, CellPasses, mean_of_cells, outlook_of_cells
from surefoot.population.requirement import more_inputs
from surefoot.statistics.bounds import two_sided
from surefoot.statistics.counted import rung

ERROR, LEVELS, PASSES = 0.1, (0.3, 0.7, 1.0, 1.5, 2.5), 400
UNEVEN = np.array([0.0] * 12 + [0.01] * 4 + [0.1, 0.3, 0.5, 0.7, 0.95, 1.0])


def measured(method, tape):
    """The cell whose trials are read from a tape, input by input, so that others find them too."""
    steps, read = method.steps(), np.zeros(len(tape), dtype=int)
    asks = next(steps)
    while True:
        answers = []
        for ask in asks:
            start = read[ask.subject]
            read[ask.subject] += ask.units
            failed = int(tape[ask.subject, start : start + ask.units].sum())
            answers.append(Counts(ask.units, ask.units - failed))
        try:
            asks = steps.send(answers)
        except StopIteration as ended:
            kept = ended.value.failure
            counts = Counts(kept.trials, round((1 - kept.value) * kept.trials))
            part = counts if isinstance(method, CellPasses) else ended.value.part
            return Cell(UNIT, part, False)


def decided(cells, most, run):
    around = mean_of_cells(cells, two_sided(rung(ERROR, run)))
    return around.high <= most or around.low > most


def within_inputs(tapes):
    """From the first pass alone: outcomes of an input at neighbouring levels."""
    first = [tape[:, 0].astype(float) for tape in tapes]
    others = [1 - first[0], *first]
    pairs = zip(first, others, strict=False)
    return np.mean([min(y.mean() * (1 - y.mean()), ((y - z) ** 2).mean() / 2) for y, z in pairs])


@pytest.mark.parametrize("failing", [np.full(30, 0.3), np.tile(UNEVEN, 2)], ids=["even", "uneven"])
def test_followed_by_more_passes_it_comes_true_about_as_often_as_it_says(failing):
    rng, kept, points = np.random.default_rng(7), [], -ndtri(np.clip(failing, 1e-9, 1 - 1e-9))
    every = [ndtr(-points / level) for level in LEVELS]
    method = CellPasses(1, ERROR, len(LEVELS), size=len(failing))
    for _ in range(120):
        tapes = [rng.random((len(failing), PASSES)) < p[:, None] for p in every]
        most = float(np.mean(every) + rng.uniform(-0.1, 0.1))
        cells = [measured(method, tape) for tape in tapes]
        if decided(cells, most, 0):
            continue
        later = outlook_of_cells(cells, most, rung(ERROR, 1), within_inputs(tapes), 0.0)
        said = more_inputs(later.chance, 1, "passes")
        if said.why is Why.LIKELY_DECIDES and (passes := said.values[0]) <= PASSES:
            more = CellPasses(passes, ERROR, len(LEVELS), size=len(failing))
            kept.append(decided([measured(more, tape) for tape in tapes], most, 1))
    assert len(kept) > 25
    assert 0.7 <= np.mean(kept) <= 0.95


def test_where_nothing_failed_yet_a_forecast_is_not_certain():
    """20 trials without a failure leave open whether 3 in 100 fail; it said 100 %, and 0 came."""
    later = outlook_of_cells([Cell(UNIT, Counts(20, 20), False)], 0.03, 0.01, 0.0, 0.0)
    assert later.chance(60) < 0.8 < later.chance(600) < 0.99


def test_of_a_smaller_precision_the_ends_lie_as_far_out_as_forecast():
    rng, points = np.random.default_rng(5), -ndtri(np.clip(UNEVEN, 1e-9, 1 - 1e-9))
    every = [ndtr(-points / level) for level in LEVELS]
    coarse, fine = [], []
    for seed in range(2):
        tapes = [rng.random((len(UNEVEN), 2000), np.float32) < p[:, None] for p in every]
        for precision, known in ((0.1, coarse), (0.05, fine)):
            method = CellMean(precision, ERROR / 6, len(LEVELS), size=len(UNEVEN), seed=seed)
            cells = [measured(method, tape) for tape in tapes]
            known.append(outlook_of_cells(cells, 0.5, 0.01, 0.0, precision))
    for of in ("reach", "spread"):
        before, after = (np.mean([getattr(one, of) for one in known]) for known in (coarse, fine))
        assert 0.75 <= after / (before / 2) <= 1.35
