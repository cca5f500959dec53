"""PyTorch: modules in memory, exported files, scripted files."""

import warnings

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.models import load_model
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.unit.small_models import (
    IMAGE,
    batch,
    by_hand,
    exported,
    module,
    scripted,
)

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
        with pytest.raises(InvalidArgument) as caught:
            load_model(path, shape=IMAGE)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_module_in_training_mode_is_refused():
    with pytest.raises(InvalidArgument, match=r"module\.eval\(\)"):
        load_model(module().train(), shape=IMAGE)


def test_a_module_with_a_part_in_training_mode_is_refused():
    network = module()
    network[1].train()
    with pytest.raises(InvalidArgument, match="training mode"):
        load_model(network, shape=IMAGE)


def test_a_script_saved_in_training_mode_is_evaluated(tmp_path):
    model = load_model(scripted(tmp_path / "m.pt", module().train()), shape=IMAGE)
    close(model, batch(5), by_hand(batch(5)))


@pytest.mark.parametrize("suffix", ["", ".pt"])
def test_the_shape_has_to_be_said(suffix, tmp_path):
    source = FILES[suffix](tmp_path / f"m{suffix}") if suffix else module()
    with pytest.raises(InvalidArgument, match="shape="):
        load_model(source)


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
