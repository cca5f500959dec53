"""Worker processes that are opened late, not at all, or ended while they start."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument, WorkerFailed
from surefoot.executors import pool, processes, worker
from surefoot.executors.pool import Inline
from tests.unit.test_executors import masked
from tests.worlds import SHAPE, linear, study


@pytest.fixture
def at_once(monkeypatch):
    """Processes are opened with the first batch, before the next one."""

    def executor(workers, thread_name_prefix):
        return Inline() if thread_name_prefix == "opener" else ThreadPoolExecutor(workers)

    monkeypatch.setattr(pool, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(pool, "ThreadPoolExecutor", executor)


def test_where_processes_cannot_be_had_threads_go_on_and_say_why(at_once):
    setup = study(model=sf.load_model(lambda x: linear(x) + 0, shape=SHAPE))
    with pytest.warns(UserWarning, match=r"2 threads, not processes: .*<lambda> .* cannot be sent"):
        result = setup.run(workers=2, batch=2)
    assert masked(result) == masked(study(model=setup.model).run())


def test_where_the_system_starts_no_process_threads_go_on_and_say_why(at_once, monkeypatch):
    def refused(*_):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "Processes", refused)
    with pytest.warns(UserWarning, match="2 threads, not processes: .*temporarily unavailable"):
        result = study().run(workers=2, batch=100)
    assert masked(result) == masked(study().run())


def test_processes_that_two_threads_end_at_once_end_once():
    pool = processes.Processes(worker.pack(study().bench()), 1)
    both = threading.Barrier(2)

    def end():
        both.wait()
        pool.end()

    with ThreadPoolExecutor(3) as threads:
        waiting = threads.submit(pool.wait_until_ready)
        for ended in [threads.submit(end), threads.submit(end)]:
            ended.result()
        with suppress(WorkerFailed):  # it may have been ready before
            waiting.result()


def test_what_is_cancelled_while_processes_are_awaited_is_one_sentence():
    """As by a thread that ends them between two steps of the pool."""
    pool = processes.Processes(worker.pack(study().bench()), 1)

    class Ends:
        def submit(self, *_):
            pool._closed = True
            cancelled = Future()
            cancelled.cancel()
            return cancelled

        def shutdown(self, **_):
            pass

    own, pool._pool = pool._pool, Ends()
    own.shutdown()
    with pytest.raises(WorkerFailed, match="were ended: begin the run again"):
        pool.wait_until_ready()


def test_a_worker_process_starts_no_others(monkeypatch):
    monkeypatch.setattr(processes.worker._state, "begun", True)
    with pytest.raises(InvalidArgument, match='if __name__ == "__main__"'):
        study().run(workers=2, executor="processes")


def test_libraries_have_one_thread_in_new_processes_and_as_many_as_before_in_this_one(monkeypatch):
    first, *others = processes.ONE_THREAD
    monkeypatch.setenv(first, "7")
    for name in others:
        monkeypatch.delenv(name, raising=False)
    with processes.inherited(**processes.ONE_THREAD):
        assert [os.environ[name] for name in processes.ONE_THREAD] == ["7", "1", "1"]
    assert [os.environ.get(name) for name in processes.ONE_THREAD] == ["7", None, None]
