"""Several devices: every one has a copy of the model, and results do not depend on how many."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.tasks import Task
from surefoot.engine import devices
from surefoot.engine.devices import device_benches
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory, WorkerFailed
from surefoot.executors.devices import DeviceBench, Devices
from surefoot.models.torch_modules import device_names
from tests.refusals import refused
from tests.unit.small_models import IMAGE, batch, exported, module
from tests.unit.test_executors import masked
from tests.worlds import run

NOISE = sf.perturb.LinfNoise(0.3)
GPUS = ("NVIDIA A100", "NVIDIA H200", "NVIDIA H200")


def inputs(n=6):
    return sf.load_inputs(batch(n), np.arange(n) % 3)


def study_on(device, source=None, **changes):
    how = {"shape": IMAGE, "bounds": (0, 1), "half": changes.pop("half", False)}
    model = sf.load_model(source or module(), device=device, **how)
    parts = {"perturbation": NOISE, "method": sf.methods.BuSun(0.2, 0.2)} | changes
    return sf.Study(model, inputs(), **parts)


STUDIES = {
    "estimate": {},
    "half precision": {"half": True},
    "probabilities": {"property": sf.properties.NoConfidentMistake(0.6)},
    "attack": {"method": sf.methods.Attack(starts=1, iterations=2)},
}


@pytest.mark.parametrize("parts", STUDIES.values(), ids=STUDIES)
def test_one_two_and_three_devices_give_the_same_record(parts, torch):
    notes, records = [], []
    for device in ("cpu", "cpu:0,1", "cpu:2,0,1"):
        own = study_on(device, **parts)
        records.append(masked(own.run(batch=50, on_workers=notes.append)))
    assert len(set(records)) == 1
    assert [note.sentence for note in notes] == [
        "2 threads on 2 devices: cpu:0, cpu:1",
        "3 threads on 3 devices: cpu:2, cpu:0, cpu:1",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_an_exported_file_runs_on_several_devices(half, torch, tmp_path):
    (tmp_path / "model.pt2").write_bytes(exported())
    one, two = (
        study_on(device, tmp_path / "model.pt2", half=half) for device in ("cpu", "cpu:0,1")
    )
    assert masked(one.run(batch=50)) == masked(two.run(batch=50))


def test_an_executor_of_the_callers_own_gets_one_copy_and_that_is_said(torch):
    notes = []
    with ThreadPoolExecutor(1) as own:
        study_on("cpu:0,1").run(executor=own, batch=50, on_workers=notes.append)
    assert notes[0].fallback and "only cpu:0 is used" in str(notes[0])


@pytest.fixture
def three_gpus(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(GPUS))
    monkeypatch.setattr(torch.cuda, "get_device_name", GPUS.__getitem__)


def test_cuda_is_every_gpu_and_numbers_choose(three_gpus):
    assert device_names("cuda") == ("cuda:0", "cuda:1", "cuda:2")
    assert device_names("cuda:1") == ("cuda:1",)
    assert device_names("cuda:2, 0") == ("cuda:2", "cuda:0")
    assert device_names("cpu") == ("cpu",)
    assert device_names(None) == ()


@pytest.mark.parametrize("device", ["cuda:3", "cuda:0,7"])
def test_a_gpu_that_is_not_there_is_refused_and_those_that_are_there_are_named(device, three_gpus):
    with pytest.raises(InvalidArgument, match=r"cuda:0 \(NVIDIA A100\), cuda:1") as caught:
        sf.load_model(module(), shape=IMAGE, device=device)
    assert f"there is no cuda:{device[-1]}" in str(caught.value)


def test_a_device_that_is_named_twice_is_refused(three_gpus):
    refused("names cuda:1 twice", device_names, "cuda:1,0,1")


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_without_a_gpu_the_processor_is_named(device, torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    refused("only cpu; pass cpu", device_names, device)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:one", "cpu:0,"])
def test_what_is_no_device_is_one_sentence(device, torch):
    refused("cannot be used", sf.load_model, module(), shape=IMAGE, device=device)


def test_a_module_that_cannot_be_copied_is_refused_on_several_devices_only(torch):
    network = module()
    network.lock = threading.Lock()
    assert sf.load_model(network, shape=IMAGE, device="cpu").signature.classes == 3
    refused("choose one device", sf.load_model, network, shape=IMAGE, device="cpu:0,1")


class Faulty:
    """Answers, unless its device has no room or has failed."""

    def __init__(self, bench, error=None, room=10**9):
        self.bench, self.error, self.room = bench, error, room
        self.asked = threading.Event()

    def __getattr__(self, name):
        return getattr(self.bench, name)

    def perturbed_all(self, tasks):
        self.asked.set()
        return self.bench.perturbed_all(tasks)

    def answer(self, tasks):
        self.asked.set()
        if self.error is not None:
            raise self.error
        if sum(task.units for task in tasks) > self.room:
            raise OutOfMemory("no room")
        return self.bench.answer(tasks)


class Patient(Faulty):
    """Answers batches when the other device has a batch too, however the threads are scheduled."""

    def __init__(self, bench, other):
        super().__init__(bench)
        self.other = other

    def answer(self, tasks):
        assert self.other.asked.wait(60)
        return super().answer(tasks)


def answered_by_two(setup, second):
    """Batches that a device and then this second one answer."""
    benches = [DeviceBench("gpu:0", Patient(setup.bench(), second)), DeviceBench("gpu:1", second)]
    task = Task(setup.fitted.subjects()[0], setup.level, 0, 500)
    with Devices(benches, 2) as pool:
        futures = [pool.submit(setup.bench().answer, [task]) for _ in range(8)]
        return [future.result() for future in futures]


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (RuntimeError("CUDA error:\nan illegal memory access"), WorkerFailed, "gpu:1 failed"),
        (ModelFailed("input 3: the model raised"), ModelFailed, r"raised \(on gpu:1\)"),
    ],
)
def test_an_error_of_one_device_is_one_sentence_that_names_it(error, kind, words, torch):
    setup = study_on("cpu")
    with pytest.raises(kind, match=words) as caught:
        answered_by_two(setup, Faulty(setup.bench(), error))
    assert "\n" not in str(caught.value)


def test_a_device_that_answers_otherwise_is_not_used(torch):
    setup, other = study_on("cpu"), study_on("cpu", module(seed=1))
    with pytest.raises(WorkerFailed, match="answers otherwise on gpu:1 than on gpu:0"):
        answered_by_two(setup, Faulty(other.bench()))


def test_a_device_with_little_memory_halves_the_batch_for_all(torch):
    setup = study_on("cpu")
    small = DeviceBench("gpu:0", Faulty(setup.bench(), room=20))
    with Devices([small, DeviceBench("gpu:1", setup.bench())], 2) as pool:
        shared = run(setup, pool=pool, batch_size=160, in_flight=4)
    assert shared == run(setup, batch_size=160)


def test_devices_that_draw_other_random_numbers_are_refused(torch, monkeypatch):
    names = iter(["philox-rows-cuda", "torch-cuda"])
    monkeypatch.setattr(devices, "generator_for", lambda _: next(names))
    refused("choose GPUs of one kind", device_benches, study_on("cpu:0,1").bench())


def test_a_full_gpu_is_out_of_memory_also_while_inputs_are_perturbed(torch):
    class Hungry(sf.perturb.LinfNoise):
        def apply(self, x, drawn, level, bounds):
            raise torch.OutOfMemoryError("CUDA out of memory")

    setup = study_on("cpu", perturbation=NOISE)
    object.__setattr__(setup, "perturbation", Hungry(0.1))
    with pytest.raises(OutOfMemory, match="out of memory"):
        setup.bench().answer([Task(setup.fitted.subjects()[0], 0.1, 0, 4)])
