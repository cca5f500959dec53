"""Every way to run a study gives the same record: executor, workers, store, an interruption."""

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest

import surefoot as sf
from tests.refusals import refused
from tests.unit.test_radii_study import write
from tests.unit.worker_models import shift
from tests.worlds import study

CLOCKS = {"seconds", "started"}
"""Fields of a record that a clock decides."""


def masked(result):
    """All that a result says, as JSON, without what a clock decides."""

    def mask(value):
        if isinstance(value, dict):
            return {name: mask(part) for name, part in value.items() if name not in CLOCKS}
        return [mask(part) for part in value] if isinstance(value, list) else value

    return mask(json.loads(result.to_json()))


@contextmanager
def options(**kwargs):
    yield kwargs


@contextmanager
def own_pool():
    """One pool for all runs, as a caller keeps it open: one process, with two batches in hand."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield {"workers": 2, "executor": pool}


KINDS = ("estimate", "mean", "certify", "tail", "curve", "compare", "critical", "quantile")
EXECUTORS = {
    "threads": (lambda: options(workers=2, executor="threads"), KINDS),
    "processes": (lambda: options(workers=1, executor="processes"), ("critical",)),
    "own pool": (own_pool, ("estimate", "tail", "curve", "critical")),
}
"""How a run is started otherwise than inline, and what is run so: processes of their own start anew
for each run, and test_executors.py runs more kinds in them. test_ray.py has its own cluster."""


@pytest.fixture(params=EXECUTORS, scope="module")
def executor(request):
    """The arguments of `run`, and the kinds of studies."""
    opened, kinds = EXECUTORS[request.param]
    with opened() as arguments:
        yield arguments, kinds


class Interrupts(ThreadPoolExecutor):
    """Ctrl-C after so many batches, each of them in the store by then."""

    def __init__(self, batches):
        super().__init__(1)
        self.batches = batches

    def submit(self, *args, **kwargs):
        if self.batches == 0:
            raise KeyboardInterrupt
        self.batches -= 1
        return super().submit(*args, **kwargs)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Two hidden layers whose proofs need more nodes than they get."""
    folder, sizes, models = tmp_path_factory.mktemp("networks"), [8, 24, 24, 3], []
    for seed in (2, 3):
        rng = np.random.default_rng(seed)
        layers = [(rng.normal(0, (2 / a) ** 0.5, (b, a)), np.zeros(b)) for a, b in pairwise(sizes)]
        write(folder / f"{seed}.onnx", layers)
        models.append(sf.load_model(folder / f"{seed}.onnx", bounds=(0, 1)))
    return models


@pytest.fixture(scope="module")
def studies(networks):
    """Of each kind a study, or several to compare."""
    inputs = sf.load_inputs(np.random.default_rng(5).random((3, 8)).astype(np.float32))

    def radii(method):
        return sf.Study(networks[0], inputs, sf.perturb.LinfNoise(), method)

    def sampled(model):
        return sf.Study(model, inputs, sf.perturb.LinfNoise(0.4), sf.methods.BuSun(0.2, 0.2))

    return {
        "estimate": study(method=sf.methods.BuSun(0.2, 0.2), perturbation=shift),
        "mean": study(method=sf.methods.SetMean(0.05, 0.05)),
        "certify": study(method=sf.methods.KappaTest(0.2, 0.2)),
        "tail": study(
            method=sf.methods.NormalTail(draws=40, transforms=("none",)),
            property=sf.properties.NoConfidentMistake(0.6),
        ),
        "curve": study(
            method=sf.methods.SequentialCurve(0.0, 1.0, (0.8,), resolution=0.2),
            perturbation=sf.perturb.LinfNoise(),
        ),
        "compare": {"one": sampled(networks[0]), "other": sampled(networks[1])},
        "critical": radii(
            sf.methods.CriticalLevel(1e-3, quantile=0.5, error=0.4, samples=10, nodes_per_input=20)
        ),
        "quantile": radii(
            sf.methods.CriticalQuantile(
                1e-3, quantile=0.5, error=0.4, samples=0, nodes_per_input=20
            )
        ),
    }


def run(one, **kwargs):
    """Run a study, or compare several."""
    return sf.compare(one, **kwargs) if isinstance(one, dict) else one.run(**kwargs)


@pytest.fixture(scope="module")
def plain(studies):
    """The result of each kind in one worker, in memory, in large batches."""
    return {kind: masked(run(one, workers=1)) for kind, one in studies.items()}


def interrupt(one, store, batches):
    """Run it in small batches until a Ctrl-C that leaves it unfinished."""
    with pytest.raises(KeyboardInterrupt), Interrupts(batches) as pool:
        run(one, store=store, workers=1, executor=pool, **batch_of(one, 7))


def batch_of(one, trials):
    """Proofs have no batches."""
    return (
        {} if not isinstance(one, dict) and hasattr(one.method, "tolerance") else {"batch": trials}
    )


@pytest.mark.slow
def test_an_executor_gives_the_record_of_one_worker(studies, plain, executor, tmp_path):
    arguments, kinds = executor
    for kind in kinds:
        one = studies[kind]
        assert masked(run(one, **arguments, **batch_of(one, 300))) == plain[kind], kind
    store, last = str(tmp_path / "s.db"), studies[kinds[-1]]
    interrupt(last, store, 1)
    assert masked(run(last, store=store, **arguments)) == plain[kinds[-1]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_run_goes_on_to_the_same_record(studies, plain, tmp_path, kind):
    store, one = str(tmp_path / "s.db"), studies[kind]
    interrupt(one, store, 1)
    interrupt(one, store, 1)
    assert masked(run(one, store=store, workers=3, executor="threads")) == plain[kind]
    again = run(one, store=store)
    assert all(part.from_store for part in (again.parts or {"": again}).values())
    assert masked(again) == plain[kind]


@pytest.mark.slow
def test_a_server_holds_the_record_of_a_file(studies, plain, postgres):
    for kind, one in studies.items():
        store = postgres.new_database()
        interrupt(one, store, 1)
        assert masked(run(one, store=store, workers=2, executor="threads")) == plain[kind]
        again = run(one, store=store)
        assert all(part.from_store for part in (again.parts or {"": again}).values())
        assert masked(again) == plain[kind]


@pytest.mark.slow
def test_proofs_that_nodes_end_do_not_depend_on_the_speed_of_the_machine(
    studies, plain, monkeypatch
):
    from surefoot.engine import proof_bench

    class SlowTime:
        seconds = 0.0

        @classmethod
        def thread_time(cls):
            cls.seconds += 10.0
            return cls.seconds

    monkeypatch.setattr(proof_bench, "time", SlowTime)
    for kind in ("critical", "quantile"):
        assert masked(run(studies[kind], workers=1)) == plain[kind]
    ended = [row["result"]["reason"] for row in plain["critical"]["inputs"]]
    assert "stopped after 20 nodes" in ended


def threads():
    """Of each library of matrix products that NumPy has loaded."""
    from threadpoolctl import ThreadpoolController

    return {one["num_threads"] for one in ThreadpoolController().select(user_api="blas").info()}


def test_proofs_multiply_in_one_thread_however_many_there_are():
    from threadpoolctl import threadpool_limits

    from surefoot.verify.bracket import _libraries, one_blas_thread

    _libraries.cache_clear()  # other tests have loaded libraries since it looked
    with threadpool_limits(3, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {3}


def test_a_limit_in_nodes_takes_the_place_of_the_one_in_seconds(studies):
    level, quantile = sf.methods.CriticalLevel, sf.methods.CriticalQuantile
    for method in (level, quantile):
        assert method().seconds_per_input == 60
        assert method(nodes_per_input=9).seconds_per_input is None
        assert method(seconds_per_input=3, nodes_per_input=9).seconds_per_input == 3
        for nodes in (0, 1, True, 2.5):
            refused(r"nodes_per_input .* ≥ 2, got", method, nodes_per_input=nodes)
    refused("does not count nodes", level, verifier="tool {onnx} {vnnlib}", nodes_per_input=9)
    critical = studies["critical"]
    more = replace(critical, method=replace(critical.method, nodes_per_input=21))
    assert critical.digest != more.digest


def test_of_two_limits_the_first_to_be_reached_is_said(studies):
    critical = studies["critical"]
    short = replace(critical.method, seconds_per_input=1e-6)
    ended = replace(critical, method=short).run(workers=1).inputs
    assert {row.result.reason for row in ended} == {"out of time"}
    assert sum(row.result.trials for row in ended) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["critical", "quantile"])
def test_proofs_conclude_when_the_time_is_up_and_go_on_later(studies, plain, tmp_path, kind):
    store, one = str(tmp_path / "s.db"), studies[kind]
    early = one.run(store, workers=1, time_limit=1e-6)
    assert early.record.stopped_early
    assert {row.result.reason for row in early.inputs} == {"not reached"}
    assert masked(one.run(store, workers=1)) == plain[kind]
