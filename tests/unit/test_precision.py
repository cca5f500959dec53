"""A mean to a stated precision: what it takes, when it stops, what it says."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.methods import PopulationMean, SetMean
from surefoot.core.claims import About, Continues, Sampling, Verdict
from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.core.reasons import Why
from surefoot.core.results import Estimate, Undecided
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument
from surefoot.population.precision import likely_width
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.stratified_mean import MeanBounds, Round, allocate
from tests.claims.parts import QUICK, noise_study, normal_inputs
from tests.refusals import refused
from tests.worlds import points, study


def run(method, p: np.ndarray, seed: int = 1):
    rng, session = np.random.default_rng(seed), Session(method)
    while session.question is not None:
        asks = session.question
        failed = rng.binomial([a.units for a in asks], p[[a.subject for a in asks]]).tolist()
        session.tell([Counts(a.units, a.units - k) for a, k in zip(asks, failed, strict=True)])
    return session.result


WORLDS = {
    "never": np.zeros(50),
    "always": np.ones(50),
    "half": np.full(50, 0.5),
    "one input": np.array([0.2]),
    "one that always fails": np.eye(1, 50)[0],
    "mixed": np.linspace(0, 1, 50) ** 4,
}


@pytest.mark.parametrize("precision", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("name", WORLDS)
def test_the_mean_of_these_inputs_is_known_to_the_precision(name: str, precision: float) -> None:
    p = WORLDS[name]
    mean = run(SetMean(precision, 0.001, len(p)), p).failure
    assert mean.interval.width <= 2 * precision + 1e-12
    assert float(p.mean()) in mean.interval
    assert mean.value in mean.interval


@pytest.mark.parametrize("precision", [0.02, 0.01, 0.005])
def test_thousands_of_inputs_that_never_fail_take_few_trials(precision: float) -> None:
    """Over the allocation that knows every probability."""
    known = allocate(np.zeros(3000), MeanBounds(3000), precision, 0.01).total
    assert run(SetMean(precision, 0.01, 3000), np.zeros(3000)).failure.trials <= 1.3 * known


def test_single_trials_of_fewer_inputs_keep_the_promise() -> None:
    """Picked with replacement: the trials of an input that comes again are new ones."""
    p, missed = np.repeat([0.0, 1.0, 0.3], 200), 0
    for seed in range(40):
        mean = run(SetMean(0.03, 0.1, len(p), seed=seed), p, seed=seed).failure
        missed += float(p.mean()) not in mean.interval
    assert missed <= 10  # 4 expected at most; more with probability 0.002


@pytest.mark.parametrize("guess", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("inclusion", [1.0, 0.25])
@pytest.mark.parametrize("truth", [0.0, 0.01, 0.4, 1.0])
def test_each_end_is_a_supermartingale_whatever_the_guess(
    truth: float, inclusion: float, guess: float
) -> None:
    """One trial of one input: the expectation of both factors, by summing over both outcomes."""
    one = Round(0.5, np.array([1]), np.array([inclusion]), np.array([guess])).bounded()
    fails = truth * inclusion
    upper = lower = 0.0
    for outcome, chance in ((1, fails), (0, 1 - fails)):
        bounds = MeanBounds(1).after(one, np.array([outcome]))
        upper += chance * np.exp(one.weight * truth - bounds.upper)
        lower += chance * np.exp(bounds.lower - one.weight * truth)
    assert upper <= 1 + 1e-12
    assert lower <= 1 + 1e-12


def test_the_mirror_image_of_bounds_is_about_being_kept() -> None:
    one = Round(3.0, np.array([5, 9]), np.ones(2), np.array([0.2, 0.4]))
    bounds = MeanBounds(2).after(one, np.array([1, 4]))
    plain, mirrored = bounds.interval(0.1), bounds.mirrored().interval(0.1)
    assert plain.low == pytest.approx(1 - mirrored.high)
    assert plain.high == pytest.approx(1 - mirrored.low)
    assert bounds.mirrored().mirrored().upper == pytest.approx(bounds.upper)


def test_what_a_perturbation_that_draws_nothing_does_is_known_after_one_trial_each() -> None:
    p = np.array([0.0, 1.0, 0.0, 0.0])
    result = run(SetMean(0.01, 0.05, 4, fresh=False), p)
    assert result.failure.trials == 4
    assert result.failure.interval == sf.results.Interval(0.25, 0.25)


@pytest.mark.parametrize("n", [1, 2, 30, 400])
def test_the_population_needs_one_trial_of_each_input_where_inputs_differ_most(n: int) -> None:
    p = (np.arange(n) % 10 == 0) * 1.0
    result = run(PopulationMean(0.001, 0.05, n), p)
    assert result.failure.trials <= 4 * n
    assert result.failure.interval.width < 1
    assert result.note.why is Why.PRECISION_LIMITED


def test_the_population_takes_more_trials_of_inputs_that_are_alike() -> None:
    once = run(PopulationMean(0.04, 0.05, 300), (np.arange(300) % 10 < 3) * 1.0)
    alike = run(PopulationMean(0.04, 0.05, 300), np.full(300, 0.3))
    assert alike.failure.interval.width < 0.08 < once.failure.interval.width
    assert not alike.note


def test_enough_inputs_stop_as_soon_as_the_design_says() -> None:
    result = run(PopulationMean(0.05, 0.05, 1000), np.full(1000, 0.02))
    assert 50 < result.failure.trials < 400
    assert not result.note


def test_a_quota_of_classes_is_never_stopped_early() -> None:
    stratified = PopulationMean(0.05, 0.05, 1000, sampling=Sampling.STRATIFIED)
    assert run(stratified, np.full(1000, 0.02)).failure.trials == 1000


@pytest.mark.parametrize("precision", [0.0, -0.1, 0.5, float("nan")])
def test_a_precision_that_is_none_is_refused(precision: float) -> None:
    for method in (SetMean, PopulationMean):
        refused("precision must lie between", method, precision, 0.05)


# Whole studies


def test_levels_of_a_precision_are_refused_before_any_trial() -> None:
    started: list[str] = []
    with pytest.raises(InvalidArgument, match="--each"):
        sf.sweep(noise_study(P, SetMean(0.02, 0.05), 3), [0.1, 0.2], on_start=started.append)
    assert started == []


P = np.array([0.0] * 20 + [0.1, 0.4, 0.9])


def test_the_mean_that_was_asked_for_comes_first_and_pays_for_nothing_else() -> None:
    result = noise_study(P, SetMean(0.02, 0.05), 3).run(**QUICK)
    first = result.claims[0]
    assert (first.kind, first.about.of, first.continues) == (
        "mean_set", About.THESE, Continues.ANYTIME,
    )  # fmt: skip
    assert first.interval is not None
    assert first.interval.width <= 0.04
    assert not any(c.about.of is About.CLASS for c in result.claims)


def test_of_the_population_the_note_says_how_many_inputs_are_needed() -> None:
    claim = noise_study(P, PopulationMean(0.02, 0.05), 3).run(**QUICK).claims[0]
    assert claim.about.of is About.POPULATION
    assert (claim.reason.why, claim.reason.values[0]) == (Why.PRECISION_LIMITED, 23)


def test_a_run_about_the_population_has_one_estimate_unless_these_inputs_are_counted() -> None:
    result = noise_study(P, PopulationMean(0.02, 0.05), 3).run(**QUICK)
    assert result.record.trials > len(P)
    assert [c.kind for c in result.claims] == ["mean_population"]


def test_trials_are_those_of_any_other_study(tmp_path) -> None:
    """Trial i of an input is the same whichever method asks for it."""
    study = noise_study(P, SetMean(0.03, 0.05), 3)
    result = study.run(**QUICK)
    row = result.record.inputs[-1]
    assert isinstance(row.result, Estimate)
    kept = [study.replay(row.id, i).kept for i in range(row.result.trials)]
    assert sum(kept) == round(row.result.value * row.result.trials)


def test_inputs_without_a_trial_are_listed_as_that() -> None:
    result = noise_study(np.tile(P, 30), SetMean(0.1, 0.05), 3).run(**QUICK)
    rows = [row.result for row in result.record.inputs]
    assert any(isinstance(r, Undecided) and r.reason == Why.NO_TRIAL.of() for r in rows)
    assert any(isinstance(r, Estimate) for r in rows)


@pytest.mark.parametrize(
    ("least", "verdict"),
    [(0.5, Verdict.PASS), (0.99, Verdict.FAIL), (1 - P.mean(), Verdict.UNDECIDED)],
)
def test_a_requirement_is_of_the_mean_that_was_asked_for(least: float, verdict: Verdict) -> None:
    result = noise_study(P, SetMean(0.02, 0.05), 3).run(**QUICK).require(least)
    assert [claim.verdict for claim in result.verdicts] == [verdict]
    assert "these 23 inputs" in str(result)


@pytest.mark.parametrize(
    ("method", "copies"), [(SetMean, 1), (PopulationMean, 1), (SetMean, 40), (PopulationMean, 40)]
)
def test_a_finer_precision_takes_up_the_trials_of_a_coarser_one(
    method, copies: int, tmp_path, monkeypatch
) -> None:
    """Rounds, more trials of each input, and single trials until a design says stop."""
    where, asked, answer = str(tmp_path / "s.db"), list[int](), SamplingBench.answer
    counted = lambda bench, tasks: asked.append(sum(t.units for t in tasks)) or answer(bench, tasks)  # noqa: E731
    fine, coarse = (
        noise_study(np.tile(P, copies), method(precision, 0.05), 3) for precision in (0.03, 0.05)
    )
    alone = fine.run(**QUICK)
    first = coarse.run(**QUICK, store=where)
    monkeypatch.setattr(SamplingBench, "answer", counted)
    second = fine.run(**QUICK, store=where)
    assert second.claims == alone.claims
    assert second.record.extends == first.record.digest
    assert sum(asked) <= second.record.trials - 0.99 * first.record.trials


def test_a_mean_of_the_population_has_one_of_each_class() -> None:
    """All inputs have a trial, also where a design would have stopped; classes have half."""
    p, labels = np.tile(P, 40), [i % 2 for i in range(40 * len(P))]
    inputs = normal_inputs(p, labels=labels)
    method, kept = PopulationMean(0.05, 0.05), sf.properties.SameLabel()
    result = noise_study(p, method, 3, inputs=inputs, property=kept, by_class=True).run(**QUICK)
    whole, *classes = result.claims
    assert (whole.about.of, whole.guarantee.error) == (About.POPULATION, 0.05)
    assert whole.guarantee.jointly is not None
    assert [c.about.of for c in classes] == [About.CLASS] * 2
    assert [c.about.inputs for c in classes] == [460, 460]
    first = result.record.details.once.kept
    exact = sum(len(p) // 2 * row.result.value for row in result.record.details.classes)
    assert exact == pytest.approx(first)


def test_what_a_precision_cannot_do_is_refused() -> None:
    refused("says nothing by class", noise_study, P, SetMean(0.02, 0.05), 3, by_class=True)
    result = noise_study(P, SetMean(0.05, 0.05), 3).run(**QUICK)
    refused("one requirement", result.require, 0.9, of_each_class=0.9)
    studies = {name: noise_study(P, SetMean(0.05, 0.05), 3) for name in "ab"}
    refused("in place of --precision", sf.compare, studies)


def test_a_plan_says_what_the_number_of_inputs_does_not_allow() -> None:
    plan = noise_study(P, PopulationMean(0.02, 0.05), 3).plan([0.9], workers=1)
    assert plan.together
    assert "needs about" in plan.notes[0]
    assert "there are 23" in plan.notes[0]
    of_these = noise_study(P, SetMean(0.05, 0.05), 3).plan([1.0, 0.9], workers=1)
    assert not of_these.notes
    assert of_these.trials(of_these.rehearsals[0]) < of_these.trials(of_these.rehearsals[1])


def test_where_nothing_is_drawn_one_trial_an_input_is_forecast_and_taken() -> None:
    clipped = {"perturbation": sf.perturb.ClipSignal(0.1), "inputs": points(20)}
    progress = []
    settled = study(method=SetMean(0.02, 0.05), **clipped)
    result = settled.run(on_progress=progress.append, **QUICK)
    assert (result.record.trials, progress[0].expected) == (20, 20)
    assert [r.mean for r in settled.plan([1.0, 0.5], workers=1).rehearsals] == [20, 20]
    each = study(**clipped).plan([1.0, 0.5], workers=1)
    assert [r.p for r in each.rehearsals] == [1.0, 0.0]


def test_trials_may_be_added_only_where_rounds_were_used() -> None:
    rounds = noise_study(P, SetMean(0.02, 0.05), 3).run(**QUICK).claims[0]
    picked = noise_study(np.tile(P, 30), SetMean(0.1, 0.05), 3).run(**QUICK).claims[0]
    assert (rounds.continues, picked.continues) == (Continues.ANYTIME, Continues.ONCE)


def test_without_a_trial_there_is_no_value() -> None:
    result = noise_study(P, SetMean(0.001, 0.05), 3).run(time_limit=1e-9, **QUICK)
    claim = result.claims[0]
    assert claim.value is None
    assert claim.interval == sf.results.Interval(0.0, 1.0)


def test_the_inputs_that_would_be_enough_are_enough() -> None:
    *_, enough = run(PopulationMean(0.005, 0.05, 30), np.zeros(30)).note.values
    assert run(PopulationMean(0.005, 0.05, enough), np.zeros(enough)).note is None
    assert enough < 500


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
