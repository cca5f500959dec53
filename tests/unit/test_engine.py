"""The one loop: nothing but the study decides the result, also where something goes wrong."""

import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Counts, Severities
from surefoot.core.procedure import Pinned
from surefoot.core.tasks import Subject, Task
from surefoot.engine import sampling_bench
from surefoot.engine.batching import take_batch
from surefoot.engine.loop import measure
from surefoot.engine.progress import Progress
from surefoot.errors import ModelFailed, OutOfMemory, ReplayMismatch
from surefoot.executors.pool import Inline
from surefoot.store import MemoryJournal
from tests.refusals import failed, raised
from tests.worlds import SHAPE, Spy, every_batch_watched, linear, points, run, study


@pytest.fixture(scope="module")
def plain():
    return run()


@pytest.mark.parametrize("batch_size", [1, 7, 64, 5000])
def test_batch_size_never_changes_a_result(plain, batch_size):
    assert run(batch_size=batch_size) == plain


@pytest.mark.parametrize(("start", "end"), [(0, 8), (3, 12), (8, 16)])
def test_a_batch_is_cut_where_a_block_of_random_numbers_ends(start, end):
    """Blocks of four trials, batches of ten: no block is drawn twice."""
    queue = deque([Task(Subject("a", (0,)), 0.1, start, 100)])
    assert [(task.start, task.stop) for task in take_batch(queue, 10, 4)] == [(start, end)]
    assert [(task.start, task.stop) for task in queue] == [(end, 100)]


@pytest.mark.parametrize("workers", [2, 5])
def test_workers_never_change_a_result(plain, workers):
    with ThreadPoolExecutor(workers) as pool:
        assert run(pool=pool, in_flight=2 * workers, batch_size=33) == plain


def test_subject_order_never_changes_a_result(plain):
    setup = study()
    order = list(range(len(setup.fitted)))
    random.Random(3).shuffle(order)
    mixed = run(setup, subjects=[setup.fitted.subjects()[i] for i in order])
    assert mixed == [plain[i] for i in order]


def test_the_order_of_the_data_never_changes_a_study():
    inputs = points()
    back = sf.load_inputs(inputs.x[::-1].copy(), inputs.labels[::-1].copy(), ids=inputs.ids[::-1])
    first, second = study(inputs=inputs), study(inputs=back)
    assert first.digest == second.digest
    a, b = first.run(), second.run()
    assert (a.by_id, a.claims, a.details.classes) == (b.by_id, b.claims, b.details.classes)


def test_two_models_meet_the_same_perturbations():
    observed = {}

    def recording(name, sign):
        def model(x):
            observed.setdefault(name, []).append(x.copy())
            return sign * linear(x)

        return sf.load_model(model, shape=SHAPE)

    parts = {"inputs": sf.load_inputs(points().x), "method": sf.methods.Okamoto(0.3, 0.3)}
    for name, sign in (("a", 1.0), ("b", -1.0)):
        study(model=recording(name, sign), **parts).run(batch=16)
    first, second = (np.concatenate(observed[n]) for n in ("a", "b"))
    assert len(first) > 50
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("cache", [0, 2**21], ids=["piece by piece", "at once"])
def test_large_batches_reach_the_model_in_its_own_size(cache, monkeypatch):
    monkeypatch.setattr(sampling_bench, "_CACHE_BYTES", cache)
    bench, rows = study().bench(), []
    task, predict = Task(bench.inputs.subjects()[0], 0.4, 0, 21), bench.model.predict
    whole = bench.answer([task])
    monkeypatch.setattr(
        type(bench.model), "predict", lambda _, x: rows.append(len(x)) or predict(x)
    )
    assert replace(bench, rows_at_once=8).answer([task]) == whole
    assert rows == [8, 8, 5]


def test_no_trial_is_used_twice(plain):
    spy = Spy(study().bench())
    results = run(bench=spy, batch_size=50)
    assert len(spy.trials) == len(set(spy.trials)) == sum(r.trials for r in results)


class Crash(Exception):
    pass


class CrashingJournal(MemoryJournal):
    """Dies after a number of batches, like a killed process: the batch in flight is lost."""

    def __init__(self, batches):
        super().__init__()
        self.left = batches

    def append(self, answers):
        if self.left == 0:
            raise Crash
        self.left -= 1
        super().append(answers)


@pytest.mark.parametrize("batches", [0, 1, 2, 5, 11, 17])
@pytest.mark.parametrize("batch_after", [13, 64, 1000])
def test_a_run_that_died_goes_on_and_ends_the_same(plain, batches, batch_after):
    journal = CrashingJournal(batches)
    with pytest.raises(Crash):
        run(journal=journal, batch_size=40)
    kept = sum(e.stop - e.start for entries in journal.replay().values() for e in entries)
    journal.left = -1
    spy = Spy(study().bench())
    assert run(bench=spy, journal=journal, batch_size=batch_after) == plain
    assert len(spy.trials) == sum(r.trials for r in plain) - kept


def test_a_finished_run_repeats_no_work(plain):
    journal = MemoryJournal()
    run(journal=journal)
    spy = Spy(study().bench())
    assert run(bench=spy, journal=journal) == plain
    assert spy.batches == []


def test_overlapping_evidence_of_two_writers_counts_once(plain):
    journal = MemoryJournal()
    run(journal=journal, batch_size=40)
    run_again = MemoryJournal()
    run(journal=run_again, batch_size=77)
    for name, entries in run_again.replay().items():
        subject = next(s for s in study().fitted.subjects() if s.name == name)
        journal.append([(Task(subject, e.level, e.start, e.stop), e.evidence) for e in entries])
    assert run(journal=journal) == plain


@pytest.mark.parametrize(
    "other",
    [{"method": sf.methods.Okamoto(0.3, 0.3)}, {"perturbation": sf.perturb.LinfNoise(0.3)},
     {"inputs": points(5)}],
)  # fmt: skip
def test_a_journal_of_another_study_is_refused(other):
    journal = MemoryJournal()
    run(journal=journal)
    raised(ReplayMismatch, "belongs to another study", run, study(**other), journal=journal)


def test_severities_keep_the_order_of_trials():
    """Evidence that does not commute passes through the same loop."""

    class Collect:
        def steps(self):
            observed = yield 100
            return observed

    setup = study()
    bench = replace(setup.bench(), collect=Severities)
    subjects = setup.fitted.subjects()
    how = {"journal": MemoryJournal(), "batch_size": 7, "in_flight": 6}
    with ThreadPoolExecutor(3) as pool:
        mixed = measure(Pinned(Collect(), 0.4), bench, subjects, pool=pool, **how)
    whole = bench.severities([Task(s, 0.4, 0, 100) for s in subjects]).reshape(-1, 100)
    assert [m.values for m in mixed] == [tuple(row.tolist()) for row in whole]


@pytest.mark.parametrize("perturbation", [sf.perturb.Contrast(0.5), sf.perturb.LinfNoise(0.4)])
def test_what_leaves_nothing_to_chance_is_run_once_an_input(perturbation):
    """And each trial counts as it would if it had been run."""
    batch_sizes = []

    def scores(batch):
        batch_sizes.append(len(batch))
        return linear(batch.reshape(len(batch), -1) - 0.5)

    images = np.random.default_rng(1).random((7, 1, 4, 4), dtype=np.float32)
    model = sf.load_model(scores, shape=(1, 4, 4), bounds=(0, 1))
    setup = study(model=model, inputs=sf.load_inputs(images), perturbation=perturbation)
    bench = replace(setup.bench(), collect=Severities)
    subjects = enumerate(setup.fitted.subjects(), 1)
    tasks = [Task(subject, perturbation.level, 3, 3 + n) for n, subject in subjects]
    trials = sum(task.units for task in tasks)
    batch_sizes.clear()
    result = bench.severities(tasks)
    certain = isinstance(perturbation, sf.perturb.Contrast)
    assert sum(batch_sizes) == (len(tasks) if certain else trials)
    alone = [bench.severities([replace(t, start=i, stop=i + 1)]) for t in tasks
             for i in range(t.start, t.stop)]  # fmt: skip
    assert result.tolist() == pytest.approx(np.concatenate(alone).tolist(), abs=1e-6)


class Limited:
    """A bench with room for so many trials, like a device with little memory."""

    def __init__(self, bench, room):
        self.bench, self.room, self.refused, self.block = bench, room, 0, bench.block

    def answer(self, tasks):
        if sum(t.units for t in tasks) > self.room:
            self.refused += 1
            raise OutOfMemory("no room")
        return self.bench.answer(tasks)


def test_out_of_memory_halves_the_batch_and_goes_on_with_workers_too(plain):
    bench = Limited(study().bench(), room=30)
    assert run(bench=bench, batch_size=500) == plain
    assert 1 <= bench.refused <= 10
    with ThreadPoolExecutor(2) as pool:
        assert run(bench=bench, batch_size=500, pool=pool, in_flight=4) == plain


def test_no_room_for_one_trial_is_an_error_that_names_it():
    with pytest.raises(ModelFailed, match="input p0, trials 0 to 0: a batch of one trial"):
        run(bench=Limited(study().bench(), room=0), batch_size=500)


def breaks_after(calls, how):
    left = [calls]

    def model(x):
        left[0] -= 1
        if left[0] < 0:
            return how(x)
        return linear(x)

    return sf.load_model(model, shape=SHAPE)


def raising(x):
    raise ConnectionError("endpoint lost")


def test_a_model_that_fails_mid_run_names_the_trials_and_keeps_the_evidence():
    setup, journal = study(model=breaks_after(12, raising)), MemoryJournal()
    failed(r"input p\d+, trials \d+ to \d+.*endpoint lost", run, setup, journal=journal)
    assert journal.replay()


class Counted(MemoryJournal):
    """Counts its transactions."""

    appended = 0

    def append(self, answers):
        self.appended += 1
        super().append(answers)


class FailingBatch:
    """A bench whose batch number `bad` fails in its own way."""

    def __init__(self, bench, bad, how):
        self.bench, self.bad, self.how, self.answered = bench, bad, how, []
        self.block, self.calls = bench.block, 0

    def answer(self, tasks):
        self.calls += 1
        if self.calls == self.bad:
            return self.how(self.bench.answer(tasks))
        self.answered += tasks
        return self.bench.answer(tasks)


def too_few(answers):
    return answers[:-1]


@pytest.mark.parametrize(("how", "error"), [(raising, ConnectionError), (too_few, ValueError)])
def test_what_came_back_together_with_a_batch_that_failed_is_kept_and_nothing_of_it(how, error):
    bench, journal = FailingBatch(study().bench(), 3, how), Counted()
    with pytest.raises(error):
        run(bench=bench, journal=journal, batch_size=40, in_flight=6)
    kept = {(name, e.start, e.stop) for name, own in journal.replay().items() for e in own}
    before_it = {(t.subject.name, t.start, t.stop) for t in bench.answered}
    assert kept <= before_it
    assert kept
    assert journal.appended == 1


def test_nan_in_the_outputs_mid_run_is_an_error_that_names_the_trial():
    def nan(x):
        scores = linear(x)
        scores[5] = np.nan
        return scores

    failed(r"input p\d+, trial \d+: the model returned NaN", run, study(model=breaks_after(6, nan)))


class Coins:
    """A bench that counts: input `n` is kept with probability `rates[n]`."""

    def __init__(self, rates):
        self.rates, self.random = rates, np.random.default_rng(1)

    def answer(self, tasks):
        draw = self.random.binomial
        return [Counts(t.units, int(draw(t.units, self.rates[t.subject.rows[0]]))) for t in tasks]


HARD_ONES_LAST = {
    "estimate": (sf.methods.ExactSequential(0.02, 0.05), [0.99] * 40 + [0.5] * 10, 0.9, 1.2),
    "bu-sun": (sf.methods.BuSun(0.02, 0.05), [0.99] * 40 + [0.5] * 10, 0.9, 1.2),
    "certify": (sf.methods.KappaTest(0.01, 0.05), [1.0] * 40 + [0.985] * 10, 0.5, 2.0),
    "binomial": (sf.methods.ExactBinomial(0.01, 0.05, 10**5), [1.0] * 40 + [0.985] * 10, 0.5, 2.0),
}


@pytest.mark.parametrize("name", HARD_ONES_LAST)
def test_inputs_that_finish_last_are_expected_while_the_easy_ones_finish(name):
    """The mean of the finished inputs is too small: half the trials are left when 4 of 5 are."""
    method, rates, low, high = HARD_ONES_LAST[name]
    reports: list[Progress] = []
    with every_batch_watched():
        measure(
            Pinned(method, 1.0), Coins(rates), [Subject(str(n), (n,)) for n in range(50)],
            pool=Inline(), journal=MemoryJournal(), batch_size=10**6, watch=reports.append,
        )  # fmt: skip
    final = reports[-1].trials
    later = [r for r in reports if r.trials > 0.4 * final]
    assert low * final < min(r.expected for r in later)
    assert max(r.expected for r in later) < high * final
    assert all(r.most >= final and r.most >= r.expected for r in reports)
    assert reports[-1].most == reports[-1].expected == final
