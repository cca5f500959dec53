"""Workers that may be lost, slow or never come: what is submitted is answered, or a sentence."""

from concurrent.futures import Future, wait

import pytest

from surefoot.errors import InvalidArgument, WorkerFailed
from surefoot.executors import dispatch
from surefoot.executors.dispatch import Dispatch, WorkerLost

SECONDS = 60
"""For a thread to get its turn, on a busy machine."""


def done(value=None, error=None):
    future = Future()
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
    return future


class Fake:
    """A worker that doubles the tasks; `plan` says what else it does with each batch."""

    def __init__(self, plan=lambda tasks: None, placed=None, opened=None):
        self.plan, self.ended = plan, False
        self.placed, self.opened = placed or done(), opened or done()

    def answer(self, tasks):
        return self.plan(tasks) or done([2 * task for task in tasks])

    def end(self):
        self.ended = True


class Fakes:
    """Starts the workers of a list, then plain ones, and remembers them."""

    def __init__(self, *first):
        self.next, self.started = list(first), []

    def __call__(self):
        self.started.append(self.next.pop(0) if self.next else Fake())
        return self.started[-1]


def opened(fakes, workers=1, **options):
    return Dispatch(fakes, workers, lambda: "0 CPU are free", **options).wait_until_ready()


def answers(pool, batches):
    return [f.result(SECONDS) for f in [pool.submit(None, batch) for batch in batches]]


def lost(_tasks):
    return done(error=WorkerLost("killed"))


def test_every_batch_is_answered_once_in_its_own_future():
    fakes = Fakes()
    with opened(fakes, workers=3) as pool:
        assert answers(pool, [[i] for i in range(100)]) == [[2 * i] for i in range(100)]
    assert all(worker.ended for worker in fakes.started)
    assert len(fakes.started) == 3


def test_a_lost_worker_is_replaced_and_its_batch_answered_by_another():
    fakes = Fakes(Fake(lost))
    with opened(fakes) as pool:
        assert answers(pool, [[1], [2]]) == [[2], [4]]
    assert len(fakes.started) == 2


def test_a_batch_that_ends_its_workers_ends_the_run_with_one_sentence():
    fakes = Fakes(*(Fake(lost) for _ in range(99)))
    with pytest.raises(WorkerFailed, match=r"lost its worker 4 times.*--batch"), \
            opened(fakes, workers=20) as pool:  # fmt: skip
        first = pool.submit(None, [1])
        wait([first], SECONDS)
        with pytest.raises(WorkerFailed):
            pool.submit(None, [2])
        first.result()


def test_workers_that_are_lost_before_they_work_end_the_run_with_one_sentence():
    fakes = Fakes(*(Fake(opened=lost([])) for _ in range(99)))
    with pytest.raises(WorkerFailed, match=r"workers were lost 4 times \(killed\)"):
        opened(fakes)
    assert all(worker.ended for worker in fakes.started)


def test_a_worker_that_cannot_open_its_bench_says_why():
    refusal = InvalidArgument("mine.py is not there")
    with pytest.raises(InvalidArgument, match=r"mine\.py is not there"):
        opened(Fakes(Fake(opened=done(error=refusal))))


def test_where_no_worker_gets_a_place_the_sentence_says_what_is_free(monkeypatch):
    monkeypatch.setattr(dispatch, "SECONDS_TO_PLACE", 0.05)
    with pytest.raises(WorkerFailed, match=r"within 0\.05 seconds: 0 CPU are free"):
        opened(Fakes(Fake(placed=Future(), opened=Future())))


def test_an_idle_worker_gets_a_slow_batch_and_the_first_answer_counts(monkeypatch):
    monkeypatch.setattr(dispatch, "SLOW_SECONDS", 0.05)
    slow, copies = Future(), []

    def plan(tasks):
        copies.extend(tasks if tasks == [7] else [])
        return slow if copies == [7] and tasks == [7] else None

    with opened(Fakes(Fake(plan), Fake(plan)), workers=2) as pool:
        answers(pool, [[0]])
        assert answers(pool, [[7], [8], [9]]) == [[14], [16], [18]]
        slow.set_result(["too late"])
        assert answers(pool, [[1], [2]]) == [[2], [4]]
    assert copies == [7, 7]


def test_where_no_batch_is_repeated_an_idle_worker_waits(monkeypatch):
    monkeypatch.setattr(dispatch, "SLOW_SECONDS", 0.0)
    slow, replaced = Future(), []

    def plan(tasks):
        return slow if tasks == [7] else None

    fakes = Fakes(Fake(plan), Fake(plan))
    with opened(fakes, 2, repeat_slow=False, on_replace=lambda: replaced.append(1)) as pool:
        answers(pool, [[0]])
        first = pool.submit(None, [7])
        assert answers(pool, [[8], [9]]) == [[16], [18]]
        assert not first.done()
        for fake in fakes.started:
            fake.plan = lambda _: None
        slow.set_exception(WorkerLost("killed"))
        assert first.result(SECONDS) == [14]
    assert len(fakes.started) == 3
    assert replaced == [1]


def test_an_exception_of_the_bench_is_that_of_its_batch_alone():
    broken = Fake(lambda tasks: done(error=ValueError("no")) if tasks == [1] else None)
    with opened(Fakes(broken)) as pool:
        with pytest.raises(ValueError, match="no"):
            pool.submit(None, [1]).result(SECONDS)
        assert answers(pool, [[2]]) == [[4]]


def test_what_is_running_when_an_executor_is_ended_is_not_awaited():
    never = Fake(lambda _: Future())
    pool = opened(Fakes(never))
    running, waiting = pool.submit(None, [1]), pool.submit(None, [2])
    pool.end()
    for future in (running, waiting):
        with pytest.raises(WorkerFailed, match="begin the run again"):
            future.result(SECONDS)
    assert never.ended
