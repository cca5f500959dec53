"""Requirements of a population, paid for when one looks again; forecasts that come true."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import bdtrc, ndtr, ndtri
from scipy.stats import binom

import surefoot as sf
from surefoot.core.claims import Continues
from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import UNIT, Decision, Estimate, Guarantee, Interval, Undecided
from surefoot.population import Mean
from surefoot.population.cells import (
    Cell,
    CellMean,
    CellPasses,
    mean_of_cells,
    outlook_of_cells,
    outlook_of_sample,
)
from surefoot.population.comparison import _spent_by_pair
from surefoot.population.requirement import more_inputs, requirement, spent_by
from surefoot.statistics import clopper_pearson
from surefoot.statistics.bounds import two_sided
from surefoot.statistics.counted import Side, Sides, rung
from tests.in_words import said_of_earlier_runs
from tests.rates import Runs
from tests.refusals import refused

ERROR = 0.05


def rate(kept, trials):
    value = kept / trials
    return Estimate(value, UNIT, Guarantee.sound(0.01), trials, value, trials)


def rates(rng, n, truth, spread, trials):
    """Inputs whose probabilities have this mean: all alike, or 0 and 1."""
    p = truth + np.zeros(n) if not spread else (rng.random(n) < truth).astype(float)
    return [rate(int(k), trials) for k in rng.binomial(trials, p)]


def test_all_runs_of_a_study_together_spend_no_more_than_the_error():
    shares = [rung(ERROR, j) for j in range(60)]
    assert shares[0] == pytest.approx(0.8 * ERROR)
    assert sum(shares) <= ERROR * (1 + 1e-12)


@pytest.mark.parametrize(("spread", "trials"), [(False, 20), (True, 1), (True, 20)])
def test_one_who_follows_every_forecast_is_deceived_rarely(spread, trials):
    """The mean is a hair below what is required; three runs, each as large as the last proposed.

    Verdicts that are false in 0.25 of the runs are noticed with probability 0.9.
    """
    rng, runs = np.random.default_rng([2, spread, trials]), Runs(60, ERROR)
    for _ in runs:
        local = rates(rng, 60, 0.9, spread, trials)
        for run in range(3):
            answer = requirement(Mean(ERROR), local, 0.9 + 1e-12, run)
            if isinstance(answer, Decision):
                runs.false += answer.holds
                break
            many = min(answer.reason.parts[0].values[0], 400)
            local += rates(rng, max(0, many - len(local)), 0.9, spread, trials)
    assert not runs.too_often


@pytest.mark.parametrize(("truth", "least"), [(0.99, 0.95), (0.95, 0.9), (0.7, 0.6)])
@pytest.mark.parametrize("trials", [1, 8])
def test_a_verdict_takes_few_inputs_more_than_the_exact_binomial_test(truth, least, trials):
    """Where inputs fail always or never: power of the first run at 1.2 times its inputs."""
    rng, runs = np.random.default_rng(5), 100
    k = np.arange(2000)
    textbook = next(
        n
        for n in range(10, 2000)
        if binom.sf(next(int(x) for x in k if bdtrc(x, n, least) <= ERROR), n, truth) >= 0.8
    )
    decided = sum(
        requirement(
            Mean(ERROR), rates(rng, round(1.2 * textbook), truth, True, trials), least, 0
        ).__class__
        is Decision
        for _ in range(runs)
    )
    assert binom.cdf(decided, runs, 0.8) > 0.001


@pytest.mark.parametrize(("n", "truth"), [(6, 0.2468), (25, 0.8754)])
def test_two_trials_of_few_inputs_leave_the_draw_to_chance(n, truth):
    """They have few outcomes: were the draw named by these alone, 10 to 16 % would pass."""
    rng, runs = np.random.default_rng(7), 400
    passed = sum(
        Side(rng.binomial(2, truth, n) / 2, inputs=str(i)).p_value(truth + 1e-5, ERROR)
        <= rung(ERROR, 0)
        for i in range(runs)
    )
    assert binom.sf(passed - 1, runs, rung(ERROR, 0)) > 0.001


def test_several_trials_of_inputs_that_do_not_vary_cost_little():
    for n, kept in ((50, 50), (100, 93), (400, 200)):
        exact = clopper_pearson(Counts(n, kept), ERROR).width
        ones = np.repeat([1.0, 0.0], [kept, n - kept])
        assert Sides(Side(ones), Side(1 - ones)).interval(ERROR).width <= 1.1 * exact


def test_forecasts_come_true_about_as_often_as_they_say():
    """Truths of all kinds; those who were undecided follow the forecast to the second run."""
    rng, followed, decided = np.random.default_rng(8), 0, 0
    for _ in range(100):
        truth = 1 - 0.3 * rng.random()
        local = rates(rng, 80, truth, True, 1)
        first = requirement(Mean(ERROR), local, 0.9, 0)
        if isinstance(first, Decision) or (many := first.reason.parts[0].values[0]) > 5_000:
            continue
        more = local + rates(rng, many - 80, truth, True, 1)
        followed, decided = (
            followed + 1,
            decided + isinstance(requirement(Mean(ERROR), more, 0.9, 1), Decision),
        )
    assert followed > 25
    assert 0.7 <= decided / followed <= 0.95


def test_bets_alone_may_be_read_again_at_any_time():
    over = Mean(ERROR, anytime=True)
    local = rates(np.random.default_rng(4), 100, 0.95, True, 8)
    assert over.continues is Continues.ANYTIME
    assert over.conclude(local, ERROR).interval.width > (
        replace(over, anytime=False).conclude(local, ERROR).interval.width
    )


@pytest.mark.parametrize(
    ("n", "truth", "least"), [(248, 0.99, 0.95), (358, 0.95, 0.9), (286, 0.7, 0.6)]
)
def test_without_a_plan_twice_the_inputs_of_the_exact_test_decide(n, truth, least):
    """`n` is twice what the exact binomial test takes for a power of 80 %."""
    needed = Side(np.zeros(0), single=True, anytime=True).needed(n, least, ERROR)
    assert binom.sf(needed - 1, n, truth) >= 0.8


@pytest.mark.parametrize("least", [0.95, 0.6])
def test_without_a_plan_one_who_looks_after_every_input_is_deceived_rarely(least):
    """Exactly, up to 400 inputs: probabilities of all counts that no look has decided."""
    side, alive, passed = Side(np.zeros(0), single=True, anytime=True), np.ones(1), 0.0
    for n in range(1, 401):
        alive = np.convolve(alive, (1 - least, least))
        needed = side.needed(n, least, ERROR)
        passed, alive[needed:] = passed + float(alive[needed:].sum()), 0.0
    assert 0.3 * ERROR < passed <= ERROR


@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize(("truth", "planned"), [(0.9, 60), (0.6, 40)])
def test_with_a_plan_one_may_look_after_every_input(truth, planned, trials):
    """The mean is what is required; looks before the planned number, at it and beyond."""
    rng, runs = np.random.default_rng([9, planned, trials]), Runs(100, ERROR)
    for _ in runs:
        p = rng.beta(truth, 1 - truth, 2 * planned) if trials > 1 else np.full(2 * planned, truth)
        values = rng.binomial(trials, p) / trials
        runs.false += any(
            Side(values[:n], single=trials == 1, anytime=True, planned=planned).p_value(
                truth + 1e-12, ERROR
            )
            <= ERROR
            for n in (*range(10, planned, 10), planned, *range(planned + 1, 2 * planned, 10))
        )
    assert not runs.too_often


@pytest.mark.parametrize(("n", "kept", "least"), [(125, 124, 0.95), (150, 143, 0.9)])
def test_a_plan_is_almost_as_sharp_as_the_exact_test(n, kept, least):
    """Where bets alone take up to twice the inputs."""
    ones = [rate(1, 1)] * kept + [rate(0, 1)] * (n - kept)
    planned, bets = Mean(ERROR, anytime=n), Mean(ERROR, anytime=True)
    assert requirement(planned, ones, least).holds
    assert isinstance(requirement(bets, ones, least), Undecided)
    assert planned.conclude(ones, ERROR).interval.low > bets.conclude(ones, ERROR).interval.low
    open_ = requirement(planned, ones[-60:], least).reason.parts[0]
    assert open_.why is Why.LIKELY_DECIDES


def test_a_plan_is_part_of_the_question_and_of_the_evidence(tmp_path):
    x = np.linspace(-1, 1, 20)[:, None]
    data = (x, (x[:, 0] > 0).astype(int))

    def run(**options):
        return sf.estimate(
            lambda x: np.hstack([-x, x]), data, "gaussian:0.5", each=0.2, store=None, **options
        )

    result = run(anytime=True, planned=30)
    assert result.record.study.population.anytime == 30
    assert result.record.digest != run(anytime=True).record.digest
    result.evidence(tmp_path / "e.json")
    refused("anytime", run, planned=30)


def test_every_pair_of_runs_of_two_models_may_be_compared():
    """Runs 0 to k of each: 2m + 1 pairs have number m as the later one."""
    spent = [_spent_by_pair(Mean(ERROR), m) for m in range(40)]
    assert sum((2 * m + 1) * one for m, one in enumerate(spent)) <= ERROR * (1 + 1e-12)
    assert spent[0] == rung(ERROR, 0)
    anytime = [spent_by(Mean(ERROR, anytime=True), run) for run in (0, 1)]
    assert anytime == [ERROR, rung(ERROR, 1)]


def test_a_later_run_of_a_study_knows_of_the_earlier_ones(tmp_path):
    store, last = str(tmp_path / "s.db"), None
    x = np.linspace(-1, 1, 40)[:, None]

    def model(x):
        return np.hstack([-x, x])

    def run(n, perturb="gaussian:0.5", **options):
        data = (x[:n], (x[:n, 0] > 0).astype(int))
        nonlocal last
        last = sf.estimate(
            model, data, perturb=perturb, store=store, confidence=0.9, **{"each": 0.2} | options
        )
        return last.record.rung

    assert [run(10), run(20), run(20), run(10), run(40, seed=3)] == [0, 1, 1, 0, 2]
    for least, said in ((last.claims[1].value, "note"), (1e-9, "fact")):
        assert said_of_earlier_runs(last.require(least), last.record) == said
    assert run(40, each=None, precision=0.1) == 3
    assert run(10, perturb="gaussian:0.4") == 0
    at_will = {"perturb": "gaussian:0.3", "anytime": True}
    runs = [run(11, **at_will), run(20, **at_will), run(20, **at_will, seed=2), run(40, **at_will)]
    assert runs == [0, 0, 2, 0]  # inputs may be added, seeds not be tried
    assert run(10, group=list(range(10))) == 4  # the same inputs under another description


def test_no_trial_is_drawn_of_inputs_that_nothing_names():
    local = rates(np.random.default_rng(4), 30, 0.9, True, 2)
    unnamed, at_will = (Mean(ERROR, inputs=None), Mean(ERROR, anytime=True))
    assert unnamed.conclude(local, ERROR).interval == at_will.conclude(local, ERROR).interval
    once = [rate(1, 1)] * 30
    assert unnamed.conclude(once, ERROR).interval == Mean(ERROR).conclude(once, ERROR).interval


def test_nothing_shows_that_every_input_of_a_kind_is_kept():
    (forecast,) = requirement(Mean(ERROR), [rate(20, 20)] * 50, 1.0, 0).reason.parts
    assert forecast.why is Why.OUT_OF_REACH


SUITE_ERROR, LEVELS, PASSES = 0.1, (0.3, 0.7, 1.0, 1.5, 2.5), 400
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
    around = mean_of_cells(cells, two_sided(rung(SUITE_ERROR, run)))
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
    method = CellPasses(1, SUITE_ERROR, len(LEVELS), size=len(failing))
    for _ in range(120):
        tapes = [rng.random((len(failing), PASSES)) < p[:, None] for p in every]
        most = float(np.mean(every) + rng.uniform(-0.1, 0.1))
        cells = [measured(method, tape) for tape in tapes]
        if decided(cells, most, 0):
            continue
        later = outlook_of_cells(cells, most, rung(SUITE_ERROR, 1), within_inputs(tapes), 0.0)
        said = more_inputs(later.chance, 1, "passes")
        if said.why is Why.LIKELY_DECIDES and (passes := said.values[0]) <= PASSES:
            more = CellPasses(passes, SUITE_ERROR, len(LEVELS), size=len(failing))
            kept.append(decided([measured(more, tape) for tape in tapes], most, 1))
    assert len(kept) > 25
    assert 0.7 <= np.mean(kept) <= 0.95


def test_followed_by_more_inputs_of_a_population_it_comes_true_about_as_often_as_it_says():
    """Cells share their inputs, one trial each; the mean is that of the ends of all cells."""
    rng, kept, points = np.random.default_rng(8), [], -ndtri(np.clip(UNEVEN, 1e-9, 1 - 1e-9))
    truth = 1 - np.mean([ndtr(-points / level) for level in LEVELS])

    def around(values, run):
        error = two_sided(rung(SUITE_ERROR, run) / len(LEVELS))
        sides = (Sides.of_counts(Counts(len(v), int(v.sum())), v) for v in values)
        ends = [one.interval(error) for one in sides]
        return Interval(np.mean([e.low for e in ends]), np.mean([e.high for e in ends]))

    for _ in range(150):
        inputs = rng.choice(points, 20_000)
        values = [(rng.random(len(inputs)) >= ndtr(-inputs / one)) * 1.0 for one in LEVELS]
        first, least = [v[:80] for v in values], truth + rng.uniform(-0.15, 0.15)
        if not (known := around(first, 0)).low < least <= known.high:
            continue
        names = [dict(enumerate(v)) for v in first]
        later = outlook_of_sample(names, least, around(first, 1))
        said = more_inputs(lambda n, later=later: later.chance(n / 80), 80)
        if said.why is Why.LIKELY_DECIDES and (many := said.values[0]) <= len(inputs):
            known = around([v[:many] for v in values], 1)
            kept.append(not known.low < least <= known.high)
    assert len(kept) > 60
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
            method = CellMean(precision, SUITE_ERROR / 6, len(LEVELS), size=len(UNEVEN), seed=seed)
            cells = [measured(method, tape) for tape in tapes]
            known.append(outlook_of_cells(cells, 0.5, 0.01, 0.0, precision))
    for of in ("reach", "spread"):
        before, after = (np.mean([getattr(one, of) for one in known]) for known in (coarse, fine))
        assert 0.75 <= after / (before / 2) <= 1.35
