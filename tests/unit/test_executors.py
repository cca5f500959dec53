"""Where batches run does not matter: inline, in threads, in processes, killed or opened late."""

import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument, ModelChanged, StoreFailed, WorkerFailed
from surefoot.executors import dispatch, pool, worker
from surefoot.executors.devices import Work
from surefoot.executors.dispatch import Dispatch, WorkerLost
from surefoot.executors.pool import Inline
from surefoot.models import call_limit
from surefoot.system import child_process
from tests.refusals import failed, raised
from tests.unit import worker_models
from tests.unit.small_models import batch, linear_net
from tests.unit.worker_models import FLAG, STATE, shift
from tests.worlds import SHAPE, linear, study

NOISE = sf.perturb.LinfNoise(0.4)


def masked(result):
    """The record without what a clock decides."""
    record = result.record
    rows = [row if not hasattr(row.result, "seconds") else
            replace(row, result=replace(row.result, seconds=0.0))
            for row in record.inputs]  # fmt: skip
    return repr((record.digest, record.claims, rows, record.details, record.trials))


def test_an_executor_of_the_callers_own_is_used_and_left_open():
    plain = masked(study().run())
    with ThreadPoolExecutor(2) as own:
        assert masked(study().run(executor=own)) == plain
        closure = sf.load_model(lambda x: linear(x) + 0, shape=SHAPE)
        assert study(model=closure).run(executor=own).record.trials
        assert own.submit(int, "3").result() == 3


@pytest.mark.parametrize("executor", ["fibres", "", 3])
def test_what_is_no_executor_is_refused(executor):
    with pytest.raises(InvalidArgument, match="threads, processes or ray"):
        study().run(executor=executor)


def test_a_file_named_by_its_path_is_read_again_by_its_path(tmp_path, monkeypatch):
    source = "import numpy as np\ndef scores(x):\n    return np.stack([x.sum(1), -x.sum(1)], 1)\n"
    (tmp_path / "named_by_path.py").write_text(source)
    model = sf.load_model(f"{tmp_path}/named_by_path.py:scores", shape=SHAPE)
    package = worker.pack(study(model=model).bench())
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
    assert package.open().model.run.__name__ == "scores"


def test_a_function_of_a_perturbation_is_found_behind_the_name_of_the_perturbation():
    bench = worker.pack(study(perturbation=shift).bench()).open()
    assert bench.perturbation.function is shift.function


@pytest.mark.parametrize("where", ["lambda", "closure", "notebook"])
def test_what_cannot_be_sent_is_refused_with_the_way_out(where, monkeypatch):
    def inner(x):
        return linear(x)

    scores = {"lambda": lambda x: linear(x) + 0, "closure": inner}.get(where, inner)
    if where == "notebook":
        monkeypatch.setattr(inner, "__module__", "__main__")
        monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    setup = study(model=sf.load_model(scores, shape=SHAPE))
    with pytest.raises(InvalidArgument, match=r"mine\.py, and import them"):
        setup.run(workers=2, executor="processes")


def test_a_model_of_a_changed_file_is_refused(tmp_path):
    path = linear_net(tmp_path / "model.onnx")
    model, inputs = sf.load_model(path, bounds=(0, 1)), sf.load_inputs(batch(3))
    setup = sf.Study(model, inputs, NOISE, sf.methods.BuSun(0.2, 0.2))
    package = worker.pack(setup.bench())
    x = setup.fitted.x
    assert np.array_equal(package.open().model.predict(x), setup.model.predict(x))
    linear_net(path, seed=1)
    with pytest.raises(InvalidArgument, match=r"model\.onnx has changed since the run began"):
        package.open()


def test_a_model_that_answers_otherwise_in_another_process_is_refused(monkeypatch):
    monkeypatch.setitem(STATE, "sign", -1.0)
    setup = study(model=sf.load_model(worker_models.depends_on_state, shape=SHAPE))
    package = worker.pack(setup.bench())
    monkeypatch.setitem(STATE, "sign", 1.0)  # as an import elsewhere has it
    with pytest.raises(InvalidArgument, match="answers otherwise in another process"):
        package.open()


@pytest.mark.slow
def test_a_model_that_raises_in_a_worker_gives_the_sentence_of_one_worker():
    setup = study(model=sf.load_model(worker_models.fails_in_the_middle, shape=SHAPE))
    sentences = []
    for executor in (None, "processes"):
        words = failed("", setup.run, workers=1, executor=executor, batch=16)
        # which input is the first to fail, depends on which batches end together
        sentences.append(words.partition(": ")[2])
    assert sentences[0] == sentences[1]
    assert "endpoint lost" in sentences[0]


def killing_study():
    return study(model=sf.load_model(worker_models.kills_its_process_once, shape=SHAPE))


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_result_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv(FLAG, str(tmp_path / "killed"))
    with pytest.warns(
        UserWarning, match="a worker process was killed; a new one took over"
    ) as said:
        result = killing_study().run(workers=1, executor="processes", batch=16)
    assert len(said) == 1
    assert (tmp_path / "killed").exists()
    assert masked(result) == masked(killing_study().run(batch=16))


@pytest.mark.slow
def test_a_prediction_that_never_ends_in_a_worker_ends_the_run(monkeypatch):
    model = sf.load_model(worker_models.never_ends_in_a_worker, shape=SHAPE)
    setup = study(model=model)
    monkeypatch.setattr(call_limit._watch, "seconds", 0.5)
    failed(r"longer than 0.5 s.*--call-limit", setup.run, workers=2, executor="processes", batch=16)


def test_a_file_that_has_changed_since_it_was_imported_is_not_sent_on(tmp_path):
    file = tmp_path / "changing_model.py"
    text = "def scores(x):\n    flat = x.reshape(len(x), -1)\n    return flat[:, :2]\n"
    file.write_text(text)
    package = worker.pack(study(model=sf.load_model(f"{file}:scores", shape=SHAPE)).bench())
    assert package.open() is not None
    file.write_text(text.replace("[:, :2]", "[:, 1::-1]"))
    with pytest.raises(worker.CannotSend, match="has changed since it was imported"):
        package.open()


class Drifting:
    """Answers otherwise after so many rows."""

    def __init__(self, rows):
        self.left = rows

    def __call__(self, x):
        self.left -= len(x)
        return linear(x) if self.left > 0 else -linear(x)


def test_a_model_that_changes_during_a_run_has_no_result(tmp_path):
    store = str(tmp_path / "s.db")
    setup = study(model=sf.load_model(Drifting(1000), shape=SHAPE))
    raised(ModelChanged, "answers clean inputs otherwise", setup.run, store)
    raised(StoreFailed, "changed during an earlier run", setup.run, store)


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

    monkeypatch.setattr(pool, "open_processes", refused)
    with pytest.warns(UserWarning, match="2 threads, not processes: .*temporarily unavailable"):
        result = study().run(workers=2, batch=100)
    assert masked(result) == masked(study().run())


def test_processes_that_two_threads_end_at_once_end_once():
    own = pool.open_processes(worker.pack(study().bench()), 1)
    both = threading.Barrier(2)

    def end():
        both.wait()
        own.end()

    with ThreadPoolExecutor(3) as threads:
        waiting = threads.submit(own.wait_until_ready)
        for ended in [threads.submit(end), threads.submit(end)]:
            ended.result()
        with suppress(WorkerFailed):  # it may have been ready before
            waiting.result()


def test_an_error_that_cannot_travel_comes_as_its_words():
    class Local(Exception):
        """No other process finds its class."""

    def fails():
        raise Local("no")

    assert isinstance(worker._reply(fails)[1], WorkerFailed)
    assert worker._reply(int, "3") == (3, None)


def test_a_worker_process_starts_no_others(monkeypatch):
    monkeypatch.setattr(worker._state, "begun", True)
    with pytest.raises(InvalidArgument, match='if __name__ == "__main__"'):
        study().run(workers=2, executor="processes")


def test_variables_of_the_user_are_inherited_as_they_are(monkeypatch):
    """A worker has one thread where the user chose no other number."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    given = {}

    def refused(*_, env, **__):
        given.update(env)
        raise OSError("no more processes")

    refusing = SimpleNamespace(**{**vars(subprocess), "Popen": refused})
    monkeypatch.setattr(child_process, "subprocess", refusing)
    with pytest.raises(OSError, match="no more processes"):
        study().run(workers=1, executor="processes")
    assert (given["OMP_NUM_THREADS"], given["MKL_NUM_THREADS"]) == ("7", "1")
    assert "MKL_NUM_THREADS" not in os.environ


def test_before_processes_work_two_threads_do_and_the_rest_waits(monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE_SECONDS", 1000.0)
    begun, go = threading.Semaphore(0), threading.Event()

    class Slow:
        def answer(self, tasks):
            begun.release()
            go.wait()
            return tasks

    late = pool.LateProcesses(Work(Slow(), 8, "Python"), lambda _: None)
    with late:
        futures = [late.submit_tasks([i]) for i in range(6)]
        assert begun.acquire(timeout=600)
        assert begun.acquire(timeout=600)
        assert [future.running() for future in futures] == [True] * 2 + [False] * 4
        assert futures[5].cancel()
        go.set()
        assert [future.result(600) for future in futures[:5]] == [[i] for i in range(5)]


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
        raised(WorkerFailed, "", pool.submit, None, [2])
        first.result()


def test_workers_that_are_lost_before_they_work_end_the_run_with_one_sentence():
    fakes = Fakes(*(Fake(opened=lost([])) for _ in range(99)))
    raised(WorkerFailed, r"workers were lost 4 times \(killed\)", opened, fakes)
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
        raised(WorkerFailed, "begin the run again", future.result, SECONDS)
    assert never.ended
