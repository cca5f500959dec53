"""A time limit: nothing new is begun, what is known is concluded, and the run can go on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.core.counts import Outcomes
from surefoot.core.tasks import Entry, Subject
from surefoot.engine import loop, progress
from surefoot.engine.loop import measure
from surefoot.engine.subject_run import SubjectRun
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.executors.pool import Inline
from surefoot.store import MemoryJournal
from tests.early_curve import STOPPED, Climb, Stubborn, slow_study
from tests.refusals import refused

ALL = Subject("all", (0,))
SHORT, LONG = 1 / 16, 60.0


class Clock:
    """The module `time` of the engine: only benches and `sleep` make time pass."""

    def __init__(self):
        self.now, self.lock = 0.0, threading.Lock()

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        with self.lock:
            self.now += seconds


CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(CLOCK, "now", 0.0)
    for module in (loop, progress):
        monkeypatch.setattr(module, "time", CLOCK)


class Slow:
    """A bench that takes its time for each batch; trial t is kept if t is even."""

    block = 1

    def __init__(self, seconds=0.01):
        self.seconds, self.answered, self.batches = seconds, 0, 0
        self.lock = threading.Lock()

    def answer(self, tasks):
        CLOCK.sleep(self.seconds)
        with self.lock:
            self.batches += 1
            self.answered += sum(task.units for task in tasks)
        return [Outcomes("".join("10"[t % 2] for t in range(k.start, k.stop))) for k in tasks]


def run(procedure=None, bench=None, journal=None, subjects=(ALL,), **more):
    return measure(
        procedure or Climb(),
        bench or Slow(),
        list(subjects),
        **{
            "pool": Inline(),
            "journal": MemoryJournal() if journal is None else journal,
            "batch_size": 8,
            **more,
        },
    )


@pytest.fixture(scope="module")
def whole():
    """What the run ends with where there is no limit."""
    return run(bench=Slow(0.0))[0]


def test_when_the_time_is_up_what_was_measured_is_concluded(whole):
    ended = []
    (curve,) = run(time_limit=SHORT, on_time_up=lambda: ended.append(True))
    assert curve.notes == (STOPPED,)
    assert ended == [True]
    assert len(curve.points) < len(whole.points)
    assert curve.points == whole.points[: len(curve.points)]


def test_no_batch_begins_after_the_limit():
    """A batch takes a quarter of the limit, so a fifth would begin after it."""
    bench = Slow(SHORT / 4)
    run(bench=bench, time_limit=SHORT)
    assert bench.batches == 4


def test_a_limit_that_passes_before_the_first_batch_ends_the_run():
    ended = []
    (curve,) = run(
        time_limit=SHORT,
        watch=lambda _: CLOCK.sleep(2 * SHORT),
        on_time_up=lambda: ended.append(True),
    )
    assert curve.trials == 0
    assert ended == [True]


def test_a_run_that_ends_in_time_is_as_without_a_limit(whole):
    ended = []
    assert run(time_limit=LONG, on_time_up=lambda: ended.append(True), bench=Slow(0.0)) == [whole]
    assert ended == []


@pytest.mark.parametrize("workers", [1, 3])
def test_all_that_was_answered_is_in_the_journal(workers):
    journal, bench = MemoryJournal(), Slow()
    with ThreadPoolExecutor(workers) as pool:
        (curve,) = run(
            bench=bench, journal=journal, pool=pool, in_flight=2 * workers, time_limit=SHORT
        )
    entries = journal.replay()["all"]
    assert sum(e.stop - e.start for e in entries) == bench.answered
    assert curve.trials <= bench.answered < curve.trials + Climb().trials


@pytest.mark.parametrize("batch_after", [5, 1000])
def test_the_run_goes_on_from_its_journal_and_ends_the_same(whole, batch_after):
    journal, bench = MemoryJournal(), Slow()
    run(bench=bench, journal=journal, time_limit=SHORT)
    rest = Slow(0.0)
    assert run(bench=rest, journal=journal, batch_size=batch_after) == [whole]
    assert bench.answered + rest.answered == whole.trials


def test_several_short_runs_make_one_whole(whole):
    journal, rounds = MemoryJournal(), 0
    while rounds < 200:
        rounds += 1
        (curve,) = run(bench=Slow(0.001), journal=journal, time_limit=0.03)
        if not curve.notes:
            break
    assert curve == whole
    assert rounds > 1


class Crash(Exception):
    pass


class Dying(MemoryJournal):
    """Fails after a number of batches, as a killed process ends."""

    def __init__(self, batches):
        super().__init__()
        self.left = batches

    def append(self, answers):
        self.left -= 1
        if self.left < 0:
            raise Crash
        super().append(answers)


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_a_killed_run_under_a_limit_goes_on_with_a_limit_of_its_own(whole, batches):
    journal = Dying(batches)
    with pytest.raises(Crash):
        run(journal=journal, time_limit=LONG)
    journal.left = 10**9
    (curve,) = run(journal=journal, time_limit=SHORT)
    assert curve.points == whole.points[: len(curve.points)]
    assert len(curve.points) * Climb().trials >= (8 * batches) // 40 * 40
    assert run(journal=journal, bench=Slow(0.0)) == [whole]


def test_subjects_that_are_done_keep_their_result(whole):
    quick = replace(Climb(), levels=2, trials=8)
    subjects = [Subject(name, (0,)) for name in ("long", "quick")]
    own = {"long": Climb(), "quick": quick}
    long, done = run(own, subjects=subjects, time_limit=4 * SHORT, batch_size=64)
    assert long.notes == (STOPPED,)
    assert done.notes == ()
    assert len(done.points) == 2


def test_a_batch_that_does_not_fit_when_the_time_is_up_is_not_tried_again():
    class Full(Slow):
        def answer(self, tasks):
            super().answer(tasks)
            raise OutOfMemory("too much")

    bench = Full(2 * SHORT)
    (curve,) = run(bench=bench, time_limit=SHORT)
    assert (curve.points, curve.notes) == ((), (STOPPED,))
    assert bench.batches == 1


def test_evidence_of_an_open_question_is_left_for_the_next_run():
    entries = [Entry(0.0, 0, 8, Outcomes("10" * 4))]
    one = SubjectRun([ALL], Climb(), {ALL.name: entries})
    assert [(t.start, t.stop) for t in one.advance()] == [(8, 40)]
    one.conclude()
    assert one.finished
    assert (one.answered_trials, one.missing_trials) == (8, 0)
    assert one.session.result.trials == 0


@pytest.mark.parametrize("method", [Stubborn(), sf.methods.BuSun(0.1, 0.1)])
def test_a_method_that_cannot_conclude_early_is_refused_before_anything_runs(method):
    bench = Slow()
    with pytest.raises(InvalidArgument) as refusal:
        run(method, bench, time_limit=LONG)
    assert (refusal.value.option, refusal.value.value) == ("time_limit", LONG)
    assert bench.batches == 0


@pytest.mark.parametrize("seconds", [0.0, -3.0, float("nan"), float("inf")])
def test_a_limit_that_is_no_time_is_refused(seconds):
    refused(r"time_limit is a number of seconds above 0, got ", run, time_limit=seconds)
    with pytest.raises(InvalidArgument, match=r"time_limit is a number of seconds above 0, got "):
        slow_study().run(time_limit=seconds)
