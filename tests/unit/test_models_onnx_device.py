"""ONNX files on a device: run by PyTorch, in free batches, in bound memory; what is refused."""

import pickle
import sys

import numpy as np
import onnx
import pytest

import surefoot as sf
from surefoot.engine.preflight import examine
from surefoot.errors import MissingPackage
from surefoot.graph import evaluate
from surefoot.graph.onnx_file import quiet_session
from surefoot.models import onnx as onnx_models
from surefoot.models.onnx import OnnxModel, bound_run
from surefoot.models.torch import TorchModel
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.refusals import failed, raised, refused
from tests.unit.exported_networks import NETWORKS
from tests.unit.small_models import batch, linear_net, margin_and_gradient
from tests.unit.test_graph_networks import mixing

torch = pytest.importorskip("torch")
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = ["cpu:0", pytest.param("cuda:0", marks=GPU)]


def saved(proto, path):
    onnx.save(proto, path)
    return path


def x_for(model, n=9):
    return batch(n, model.signature.shape)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [1, "n"])
@pytest.mark.parametrize("name", ["residual", "transformer", "quantised", "sequence"])
def test_a_file_runs_on_a_device_as_onnxruntime_runs_it(name, rows, device, tmp_path):
    path = saved(NETWORKS[name](rows), tmp_path / "m.onnx")
    plain = sf.load_model(path, bounds=(0, 1), mean=0.4, std=0.7)
    placed = sf.load_model(path, bounds=(0, 1), mean=0.4, std=0.7, device=device)
    assert isinstance(plain, OnnxModel)
    assert isinstance(placed, TorchModel)
    # of whole numbers one that lies on the edge may be rounded to either side
    assert placed.difference < (1e-6 if (device, name != "quantised") == ("cpu:0", True) else 1e-2)
    assert plain.signature.digest == placed.signature.digest
    assert (plain.signature.preparation, plain.signature.covers) == (
        placed.signature.preparation, placed.signature.covers,
    )  # fmt: skip
    x = x_for(plain)
    ours = placed.predict(placed.place(x)).cpu().numpy()
    np.testing.assert_allclose(ours, plain.predict(x), atol=2e-3)
    check_model(placed, x)


@pytest.mark.parametrize("name", ["residual", "sequence"])
def test_gradients_are_the_same_on_a_device_and_for_tensors(name, tmp_path):
    path = saved(NETWORKS[name](1), tmp_path / "m.onnx")
    plain = sf.load_model(path, bounds=(0, 1), std=0.5)
    placed = sf.load_model(path, bounds=(0, 1), std=0.5, device="cpu:0")
    x, labels = x_for(plain, 4), np.arange(4) % 5
    known = margin_and_gradient(plain, x, labels, (labels + 1) % 5)
    tensors = [torch.from_numpy(v) for v in (x, labels, (labels + 1) % 5)]
    by_hand = [plain._gradient_by_hand(x, np.arange(4), lambda s, _: np.ones_like(s) * s)]
    by_hand += [plain._gradient_by_torch(x, np.arange(4), lambda s, _: np.ones_like(s) * s)]
    for ours in (margin_and_gradient(placed, *tensors), margin_and_gradient(plain, *tensors)):
        for a, b in zip(ours, known, strict=True):
            np.testing.assert_allclose(a.numpy(), b, atol=1e-5)
    for a, b in zip(*by_hand, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    assert np.abs(known[1]).max() > 1e-3


def test_without_pytorch_gradients_are_walked_back(tmp_path, monkeypatch):
    plain = sf.load_model(saved(NETWORKS["residual"](1), tmp_path / "m.onnx"), bounds=(0, 1))
    x, labels = x_for(plain, 3), np.arange(3)
    known = margin_and_gradient(plain, x, labels, labels + 1)
    monkeypatch.setattr(onnx_models.importlib.util, "find_spec", lambda _: None)
    for a, b in zip(margin_and_gradient(plain, x, labels, labels + 1), known, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    raised(MissingPackage, "pip install torch", sf.load_model, plain.path, device="cuda")


def test_a_model_of_whole_numbers_has_a_slope(tmp_path):
    path = linear_net(tmp_path / "m.onnx", shape=(4,), kind=onnx.TensorProto.UINT8)
    plain, placed = (sf.load_model(path, bounds=(0, 255), device=d) for d in (None, "cpu:0"))
    x = np.array([[0.4, 0.6, 254.6, 7.0], [3.0, 300.0, 1.49, 1.51]], np.float32)
    np.testing.assert_allclose(placed.predict(torch.from_numpy(x)), plain.predict(x), atol=1e-3)
    assert placed.signature.whole_numbers
    _, slope = margin_and_gradient(plain, x, np.array([0, 1]), np.array([1, 2]))
    assert (slope != 0).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_a_freed_file_says_so_and_survives_another_process(rows, tmp_path):
    model = sf.load_model(saved(NETWORKS["residual"](rows), tmp_path / "m.onnx"), bounds=(0, 1))
    assert model.batch is None
    assert model.freed < 1e-6
    inputs = sf.load_inputs(x_for(model), np.arange(9) % 5)
    checks = {c.name: c for c in examine(inputs, model, None)}
    assert checks["how the file is run"].status.value == "ok"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(inputs.x), model.predict(inputs.x))
    placed = sf.load_model(model.path, bounds=(0, 1), device="cpu:0")
    content = pickle.dumps(placed)
    assert len(content) < 10_000
    x = torch.from_numpy(inputs.x)
    np.testing.assert_array_equal(pickle.loads(content).predict(x), placed.predict(x))


def test_a_batch_that_stays_is_stated_and_refused_on_a_device(tmp_path):
    path = saved(mixing(2, ("Softmax", {"axis": 0})), tmp_path / "m.onnx")
    model = sf.load_model(path, bounds=(0, 1), scores="logits")
    assert model.batch == 2
    well, how = model.run_note
    assert not well
    assert "export it with a free batch axis" in how
    assert model.predict(x_for(model, 3)).shape == (3, 5)
    refused("cannot be made free", sf.load_model, path, scores="logits", device="cpu:0")


def test_what_differs_from_onnxruntime_is_refused(tmp_path, monkeypatch):
    path = saved(NETWORKS["dense"]("n"), tmp_path / "m.onnx")
    wrong = evaluate.torch_graph

    def doubled(*arguments):
        module = wrong(*arguments)
        for weights in module.parameters():
            weights.data *= 1.001
        return module

    monkeypatch.setattr(evaluate, "torch_graph", doubled)
    failed("differs from onnxruntime by", sf.load_model, path, bounds=(0, 1), device="cpu:0")


def test_half_precision_on_a_device(tmp_path):
    path = saved(NETWORKS["residual"](1), tmp_path / "m.onnx")
    model = sf.load_model(path, bounds=(0, 1), device="cpu:0", half=True)
    assert "half precision" in model.signature.preparation
    plain = sf.load_model(path, bounds=(0, 1))
    x = x_for(plain)
    np.testing.assert_allclose(model.predict(model.place(x)), plain.predict(x), atol=2e-2)


def test_a_softmax_at_the_end_is_left_out_of_the_gradient(tmp_path):
    path = saved(NETWORKS["sequence"]("n"), tmp_path / "m.onnx")
    model = sf.load_model(path, device="cpu:0")
    assert model.signature.scores is Scores.PROBABILITIES
    x = torch.from_numpy(x_for(model, 3))
    logits = model.logits(x)
    np.testing.assert_allclose(torch.softmax(logits, 1), model.predict(x), atol=1e-6)
    assert abs(torch.logsumexp(logits, 1)).max() > 1e-3


def test_bound_memory_gives_what_a_run_gives():
    proto = NETWORKS["residual"]("n")
    session = quiet_session(proto.SerializeToString())
    x = np.random.default_rng(1).random((7, 3, 8, 8), dtype=np.float32)
    ours = bound_run(session, "x", "y", torch.from_numpy(x))
    assert torch.is_tensor(ours)
    np.testing.assert_array_equal(ours.numpy(), session.run(["y"], {"x": x})[0])


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_provider_that_does_not_start_is_not_passed_over(tmp_path, monkeypatch):
    import onnxruntime

    path = saved(NETWORKS["dense"](1), tmp_path / "m.onnx")
    names = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    monkeypatch.setattr(onnx_models.modules, "device_names", lambda _: ("cuda:0",))
    assert "does not start" in refused("CUDA provider", sf.load_model, path, device="cuda")


def test_loading_a_file_needs_no_pytorch(tmp_path):
    """A fixed batch is made free by onnx and onnxruntime alone."""
    import subprocess

    path = saved(NETWORKS["dense"](1), tmp_path / "m.onnx")
    code = (
        "import sys; sys.modules['torch'] = None; import surefoot as sf; "
        f"m = sf.load_model({str(path)!r}); print(m.batch)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "None"
