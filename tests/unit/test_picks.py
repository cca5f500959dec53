"""Subjects whose trials pick an input at random: independent trials at every level."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.core.counts import Outcomes
from surefoot.core.tasks import Subject, Task
from surefoot.engine.streams import base_of, picks, row_keys
from tests.refusals import refused
from tests.worlds import SHAPE, points, study

FAR = 2**50
"""A trial number as large as a curve gives its last levels."""
SUBJECT = Subject("all", tuple(range(12)), picks=True)
SIGMA = 0.6


def bench(**changes):
    made = study(perturbation=sf.perturb.GaussianNoise(SIGMA), **changes).bench()
    return replace(made, collect=Outcomes)


@pytest.mark.parametrize("start", [0, 17 * 2**20, FAR])
@pytest.mark.parametrize("size", [2, 7, 97])
def test_picks_are_uniform(start, size):
    counts = np.bincount(picks(1, "all", size, start, start + 100_000), minlength=size)
    assert len(counts) == size
    assert stats.chisquare(counts).pvalue > 1e-4


def test_neighbouring_picks_and_those_of_neighbouring_levels_are_independent():
    """Pairs of trials that are 1 and 2^20 apart: all 7 × 7 pairs are equally likely."""
    for distance in (1, 2**20):
        one = picks(1, "all", 7, 0, 100_000)
        other = picks(1, "all", 7, distance, distance + 100_000)
        pairs = np.bincount(7 * one + other, minlength=49)
        assert stats.chisquare(pairs).pvalue > 1e-4


def test_seeds_and_subjects_pick_by_themselves():
    plain = picks(1, "all", 10, 0, 10_000)
    for other in (picks(2, "all", 10, 0, 10_000), picks(1, "class 1", 10, 0, 10_000)):
        assert 800 < np.count_nonzero(plain == other) < 1200


@pytest.mark.parametrize("start", [0, 2**20 - 50, FAR - 37])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_trial_is_the_same_however_trials_are_cut_into_batches(start, size):
    made, stop = bench(), start + 130
    whole = made.perturbed(Task(SUBJECT, 0.3, start, stop))
    parts = [Task(SUBJECT, 0.3, a, min(a + size, stop)) for a in range(start, stop, size)]
    np.testing.assert_array_equal(made.perturbed_all(parts), whole)
    backwards = np.concatenate([made.perturbed(task)[::-1] for task in parts[::-1]])
    np.testing.assert_array_equal(backwards[::-1], whole)


@pytest.mark.parametrize("start", [0, FAR])
def test_every_trial_has_its_own_draw(start):
    made = bench()
    task = Task(SUBJECT, 1.0, start, start + 4000)
    noise = made.perturbed(task) - made.inputs.x[made.rows_of_task(task)]
    assert len(np.unique(noise[:, 0])) > 3990
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 0.06
    assert abs(noise.mean()) < 0.03
    assert abs(noise.std() - 1.0) < 0.03
    rows = made.rows_of_task(task)
    for row in range(3):
        assert abs(noise[rows == row].mean()) < 0.1, "noise depends on the input picked"


@pytest.mark.parametrize("start", [0, 5 * 2**20])
def test_the_mean_is_the_accuracy_over_inputs_and_noise(start):
    """Each input of the linear model is kept with probability Φ(|sum| / (σ √d))."""
    made, trials = bench(), 40_000
    sums = np.abs(made.inputs.x.astype(np.float64).sum(axis=1))
    exact = stats.norm.cdf(sums / (SIGMA * np.sqrt(SHAPE[0]))).mean()
    (outcomes,) = made.answer([Task(SUBJECT, SIGMA, start, start + trials)])
    spread = np.sqrt(exact * (1 - exact) / trials)
    assert abs(outcomes.goodness.mean() - exact) < 4 * spread


def test_trials_are_judged_by_the_label_of_the_input_they_picked():
    made = bench()
    (outcomes,) = made.answer([Task(SUBJECT, 0.0, 0, 500)])
    assert outcomes.marks == "1" * 500
    references = np.where(np.arange(12) == 4, 1 - made.references, made.references)
    wrong = replace(made, references=references)
    (outcomes,) = wrong.answer([Task(SUBJECT, 0.0, 0, 500)])
    expected = picks(1, "all", 12, 0, 500) != 4
    np.testing.assert_array_equal(outcomes.goodness == 1, expected)


def test_a_perturbation_that_draws_nothing_still_picks():
    made = study(perturbation=sf.perturb.ClipSignal(0.1)).bench()
    assert made._draws_nothing
    task = Task(SUBJECT, 0.1, 0, 64)
    assert len(np.unique(made.perturbed(task)[:, 0])) > 6


def test_picks_follow_the_rows_of_the_subject():
    made = bench()
    some = Subject("some", (3, 8), picks=True)
    rows = made.rows_of_task(Task(some, 0.3, FAR, FAR + 1000))
    assert set(rows.tolist()) == {3, 8}
    assert 420 < np.count_nonzero(rows == 3) < 580
    in_turn = made.rows_of_task(Task(replace(some, picks=False), 0.3, 0, 5))
    assert in_turn.tolist() == [3, 8, 3, 8, 3]


@pytest.fixture
def torch_model(torch):
    class Linear(torch.nn.Module):
        def forward(self, x):
            total = x.to(torch.float64).sum(dim=1)
            return torch.stack([total, -total], dim=1)

    return sf.load_model(Linear().eval(), shape=SHAPE)


def test_torch_on_the_cpu_meets_the_same_trials(torch_model):
    ours, theirs = bench(), bench(model=torch_model)
    task = Task(SUBJECT, 0.5, FAR - 10, FAR + 200)
    np.testing.assert_array_equal(theirs.perturbed(task).numpy(), ours.perturbed(task))
    assert theirs.answer([task]) == ours.answer([task])


def test_rows_and_keys_of_a_device_are_those_of_each_trial(torch_model):
    """The arithmetic of a GPU, on the CPU: a batch of several subjects with large trial numbers."""
    made = bench(model=torch_model)
    one = Subject("p3", (3,))
    tasks = [Task(SUBJECT, 0.5, FAR, FAR + 5), Task(one, 0.5, 7, 9), Task(SUBJECT, 0.5, 0, 4)]
    keys, rows = made._keys_and_rows(tasks)
    assert rows.tolist() == np.concatenate([made.rows_of_task(t) for t in tasks]).tolist()
    expected = [
        int(row_keys(base_of(1, t.subject.name, "gaussian"), np.array([i], dtype=np.int64))[0])
        for t in tasks
        for i in range(t.start, t.stop)
    ]
    assert keys.tolist() == expected
    assert len(set(expected)) == len(expected)


def test_a_trial_of_a_curve_is_not_replayed_and_the_reason_is_said():
    curve = sf.methods.SequentialCurve(0.0, 1.0, (0.8,))
    made = study(perturbation=sf.perturb.GaussianNoise(), method=curve, inputs=points(30))
    refused("has no trials at one level to replay", made.replay, "p0", 3)
