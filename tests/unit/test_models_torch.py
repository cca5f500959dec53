"""PyTorch: modules in memory, exported files, scripted files."""

import warnings
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper

import surefoot as sf
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.graph.onnx_file import quiet_session
from surefoot.models import archive, load_model
from surefoot.models import exported as exports
from surefoot.models.scores import model_errors
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.onnx_models import onnx_model
from tests.refusals import failed, refused
from tests.unit.small_models import IMAGE, batch, by_hand, exported, module, scripted

torch = pytest.importorskip("torch")
nn = torch.nn


def exported_file(path):
    path.write_bytes(exported())
    return path


FILES = {".pt2": exported_file, ".PT2": exported_file, ".pt": scripted, ".ts": scripted}


def close(model, x, expected):
    np.testing.assert_allclose(model.predict(model.place(x)), expected, rtol=1e-4, atol=1e-5)


def test_a_module_in_memory_conforms_and_computes():
    model = load_model(module(), shape=IMAGE, bounds=(0, 1))
    x = batch(6)
    close(model, x, by_hand(x))
    check_model(model, x)
    signature = model.signature
    assert signature.shape == IMAGE
    assert signature.classes == 3
    assert signature.scores is Scores.LOGITS
    assert "weights" in signature.covers


@pytest.mark.parametrize("suffix", FILES)
def test_a_file_is_read_without_a_warning_conforms_and_computes(suffix, tmp_path):
    path = FILES[suffix](tmp_path / f"model{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_model(path, shape=IMAGE)
        x = batch(6)
        close(model, x, by_hand(x))
    check_model(model, x)
    assert model.signature.covers == "the bytes of the file"
    assert model.signature.classes == 3


@pytest.mark.parametrize("suffix", [".pt2", ".pt"])
def test_trust_changes_nothing_about_an_honest_file(suffix, tmp_path):
    path = FILES[suffix](tmp_path / f"model{suffix}")
    trusted, plain = (load_model(path, shape=IMAGE, trust=t) for t in (True, False))
    x = batch(5)
    close(trusted, x, np.asarray(plain.predict(plain.place(x))))
    assert trusted.signature == plain.signature


@pytest.mark.parametrize("suffix", [".pt2", ".pt"])
def test_the_digest_of_a_file_is_that_of_its_bytes(suffix, tmp_path):
    one = FILES[suffix](tmp_path / f"one{suffix}")
    two = tmp_path / f"two{suffix}"
    two.write_bytes(one.read_bytes())
    first, second = (load_model(p, shape=IMAGE).signature.digest for p in (one, two))
    assert first == second
    other = load_model(scripted(tmp_path / "other.pt", module(seed=1)), shape=IMAGE)
    assert other.signature.digest != first


class Pipeline(nn.Module):
    """Symbolic sizes, a constant, text arguments, no_grad: what an export writes down."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"first-layer": nn.Linear(8, 8)})
        self.last = nn.Linear(8, 3)
        self.scale = torch.full((8,), 2.0)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            x = x * self.scale
        x = self.layers["first-layer"](x.reshape(x.shape[0], -1)[:, : x.shape[1] // 2 * 2])
        x = torch.cat([x, x])[: x.shape[0]]
        x = nn.functional.gelu(x, approximate="tanh")
        return {"logits": torch.einsum("ij,kj->ik", x, self.last.weight)}


def test_what_exports_usually_hold_is_read_without_trust(tmp_path):
    pipeline, x = Pipeline().eval(), batch(6, (8,))
    program = torch.export.export(
        pipeline, (torch.zeros(4, 8),), dynamic_shapes=({0: torch.export.Dim.AUTO},)
    )
    torch.export.save(program, tmp_path / "model.pt2")
    model = load_model(tmp_path / "model.pt2", shape=(8,))
    close(model, x, pipeline(torch.from_numpy(x))["logits"].detach())


def test_a_file_that_is_no_model_is_one_sentence_with_the_path(tmp_path):
    path = tmp_path / "model.pt2"
    for content in (exported()[:-40], exported()[:2000], b"PK\x05\x06" + bytes(18)):
        path.write_bytes(content)
        assert str(path) in refused("", load_model, path, shape=IMAGE)


def test_a_module_in_training_mode_or_with_a_part_in_it_is_refused():
    refused(r"module\.eval\(\)", load_model, module().train(), shape=IMAGE)
    network = module()
    network[1].train()
    refused("training mode", load_model, network, shape=IMAGE)


def test_a_script_saved_in_training_mode_is_evaluated(tmp_path):
    model = load_model(scripted(tmp_path / "m.pt", module().train()), shape=IMAGE)
    close(model, batch(5), by_hand(batch(5)))


@pytest.mark.parametrize("suffix", ["", ".pt"])
def test_the_shape_has_to_be_said(suffix, tmp_path):
    source = FILES[suffix](tmp_path / f"m{suffix}") if suffix else module()
    refused("shape=", load_model, source)


def test_the_digest_follows_the_weights_and_the_structure():
    digest = load_model(module(), shape=IMAGE).signature.digest
    assert load_model(module(), shape=IMAGE).signature.digest == digest
    assert load_model(module(seed=1), shape=IMAGE).signature.digest != digest
    changed = module()
    with torch.no_grad():
        changed[2].bias[1] += 1e-6
    assert load_model(changed, shape=IMAGE).signature.digest != digest
    longer = nn.Sequential(*module(), nn.Softmax(dim=1)).eval()
    assert load_model(longer, shape=IMAGE).signature.digest != digest


class Remembering(nn.Module):
    """Has numbers without axes, half numbers and state that is no tensor."""

    def __init__(self, note: str) -> None:
        super().__init__()
        self.note = note
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("coarse", torch.ones(2, dtype=torch.bfloat16))
        self.register_buffer("empty", torch.zeros(0))

    def get_extra_state(self) -> str:
        return self.note

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def test_the_digest_covers_state_of_any_kind():
    one, two, three = (
        load_model(Remembering(note).eval(), shape=(3,)).signature.digest for note in "aab"
    )
    assert one == two != three


class Answer(NamedTuple):
    logits: torch.Tensor
    other: int


class Answering(nn.Module):
    def __init__(self, give) -> None:
        super().__init__()
        self.give = give
        self.inner = module()

    def forward(self, x: torch.Tensor):
        return self.give(self.inner(x))


@pytest.mark.parametrize(
    "give",
    [
        lambda z: (z, z.sum()),
        lambda z: [z],
        lambda z: Answer(z, 3),
        lambda z: {"logits": z, "loss": 0},
        lambda z: z[:, :, None, None],
        lambda z: z.double(),
    ],
    ids=["tuple", "list", "named", "dict", "rank four", "double"],
)
def test_scores_are_found_in_what_a_module_returns(give):
    model = load_model(Answering(give).eval(), shape=IMAGE)
    close(model, batch(5), by_hand(batch(5)))


def test_normalisation_equals_doing_it_by_hand():
    shape, mean, std = (3, 4, 5), (0.48, 0.45, 0.4), (0.23, 0.22, 0.21)
    model = load_model(module(shape=shape), shape=shape, mean=mean, std=std)
    x = batch(5, shape)
    ready = (x - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    close(model, x, by_hand(ready))
    check_model(model, x)


class Failing(nn.Module):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.inner = module()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) == 5:
            raise self.error
        return self.inner(x)


def test_a_module_that_raises_later_has_failed_with_its_message():
    model = load_model(Failing(ValueError("five is\n too many")).eval(), shape=IMAGE)
    failed("ValueError: five is too many", model.predict, model.place(batch(5)))


def test_a_full_device_is_out_of_memory():
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    model = load_model(Failing(error).eval(), shape=IMAGE)
    with pytest.raises(OutOfMemory, match=r"2\.00 GiB"):
        model.predict(model.place(batch(5)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_a_module_of_another_precision_gets_inputs_of_that_precision(dtype):
    module = torch.nn.Linear(4, 3).to(dtype).eval()
    model = load_model(module, shape=(4,))
    x = np.random.default_rng(0).random((5, 4), dtype=np.float32)
    check_model(model, x, tolerance=0.02)
    assert model.predict(model.place(x)).dtype == torch.float32


def test_half_precision_is_said_and_compared_with_full():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    half = sf.load_model(module.eval(), shape=(6,), half=True)
    full = sf.load_model(module.eval(), shape=(6,))
    assert half.signature.preparation == "run in half precision"
    assert half.full.signature == full.signature
    x = np.random.default_rng(0).random((40, 6), dtype=np.float32)
    ours, theirs = (m.predict(m.place(x)).numpy() for m in (half, full))
    assert not np.array_equal(ours, theirs)
    np.testing.assert_allclose(ours, theirs, atol=0.01)
    studies = [
        sf.Study(m, sf.load_inputs(x), sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.3, 0.3))
        for m in (half, full)
    ]
    assert studies[0].digest != studies[1].digest
    (check,) = [f for f in studies[0].run().record.findings if f.name == "half precision"]
    assert "of 160 perturbed inputs the label differs" in check.finding
    assert next(module.parameters()).dtype == torch.float32


def test_half_precision_is_for_pytorch_models():
    with pytest.raises(InvalidArgument, match="half precision is for PyTorch"):
        sf.load_model(str(files("surefoot") / "data" / "fashion_cnn.onnx"), half=True)


TOO_MANY = 10**14
"""Numbers that no machine has room for, so that nothing is taken before they are refused."""


def fill_numpy(path):
    np.empty(TOO_MANY, dtype=np.float32)


def fill_torch(path):
    torch.empty(TOO_MANY)


def fill_onnx_runtime(path):
    expand = [helper.make_node("Expand", ["x", "shape"], ["y"])]
    ends = [("x", ["n", 1])], [("y", None)]
    onnx.save(onnx_model(expand, *ends, {"shape": [1, TOO_MANY]}), path / "model.onnx")
    quiet_session(path / "model.onnx").run(None, {"x": np.zeros((1, 1), np.float32)})


@pytest.mark.parametrize("fill", [fill_numpy, fill_torch, fill_onnx_runtime])
def test_memory_that_a_package_does_not_get_is_out_of_memory(fill, tmp_path):
    with pytest.raises(OutOfMemory), model_errors():
        fill(tmp_path)


class Parts(nn.Module):
    """Sizes of the batch, values with several parts, a constant, normalisation, attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.last = nn.Linear(8, 16), nn.Linear(17, 3)
        self.attend = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.register_buffer("shift", torch.linspace(-1, 1, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        tokens = self.attend(self.embed(x.reshape(n * 4, 8)).reshape(n, 4, 16) + self.shift)
        best, _ = tokens.max(1)
        one, two = nn.functional.pad(best, (0, 1), value=0.5).chunk(2, 1)
        return self.last(torch.cat([torch.relu_(one + 0.0), torch.sigmoid(two)], 1))


def exported_parts(network, shape, tmp_path, **sizes):
    program = torch.export.export(network.eval(), (torch.zeros(4, *shape),), **sizes)
    torch.export.save(program, tmp_path / "model.pt2")
    return archive.read_parts(tmp_path / "model.pt2")


OPEN = {"dynamic_shapes": ({0: torch.export.Dim.AUTO},)}


@pytest.mark.parametrize(("network", "shape"), [(Parts(), (4, 8)), (module(), IMAGE)])
def test_a_plain_export_answers_as_pytorch_reads_it(network, shape, tmp_path):
    own = exports.read_exported(exported_parts(network, shape, tmp_path, **OPEN))
    theirs = torch.export.load(tmp_path / "model.pt2").module()
    for n in (1, 2, 7):
        x = torch.from_numpy(batch(n, shape))
        assert torch.equal(own(x), theirs(x))
    assert len(list(own.parameters())) == len(list(theirs.parameters()))
    with pytest.raises(RuntimeError, match="takes inputs of shape"):
        own(torch.zeros(2, *shape[:-1], shape[-1] + 1))


def test_what_only_pytorch_reads_is_left_to_it(tmp_path):
    parts = exported_parts(Parts(), (4, 8), tmp_path)  # for batches of four alone
    assert not exports.is_plain(parts)
    parts = exported_parts(Pipeline(), (8,), tmp_path, **OPEN)
    with pytest.raises(exports.NotPlain):
        exports.read_exported(parts)
    assert not exports.is_plain({"models/model.json": b"[]"})


def test_weights_that_reach_beyond_their_bytes_are_not_read(tmp_path):
    parts = dict(exported_parts(module(), IMAGE, tmp_path, **OPEN))
    parts["data/weights/weight_0"] = parts["data/weights/weight_0"][:-4]
    with pytest.raises(exports.NotPlain):
        exports.read_exported(parts)
