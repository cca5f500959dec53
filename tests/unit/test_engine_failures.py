"""The one loop when something goes wrong: no room, a failing model, a procedure that misbehaves."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.procedure import Pinned
from surefoot.core.tasks import Subject
from surefoot.engine.loop import measure
from surefoot.engine.progress import Progress
from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.executors.pool import Inline
from surefoot.store import MemoryJournal
from tests.refusals import failed
from tests.worlds import SHAPE, every_batch_watched, linear, run, study


@pytest.fixture(scope="module")
def plain():
    return run()


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
