"""A PyTorch file of unknown origin cannot take all memory, nor run for ever."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.models import load_model, torch_modules
from surefoot.models.archive import is_formula

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Large(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :2] + torch.zeros([3000000000])[0]


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        i = 0
        while i >= 0:
            i = (i + 1) % 1000
        return x[:, :2]


class Wide(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[1] > 9
        return x[:, :2]


def scripted(path: Path, module: torch.nn.Module) -> Path:
    torch.jit.script(module).save(str(path))
    return path


def test_a_script_that_allocates_too_much_is_refused_and_trusted_on_request(tmp_path) -> None:
    path = scripted(tmp_path / "large.pt", Large())
    with pytest.raises(InvalidArgument, match=r"takes more than 4 GiB .* pass --trust"):
        load_model(path, shape=(3,))


def test_a_script_without_end_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torch_modules, "CPU_SECONDS", 1)
    path = scripted(tmp_path / "endless.pt", Endless())
    with pytest.raises(InvalidArgument, match=r"takes more than 1 s .* pass --trust"):
        load_model(path, shape=(3,))


def test_a_script_that_raises_says_so_itself(tmp_path) -> None:
    path = scripted(tmp_path / "wide.pt", Wide())
    with pytest.raises(ModelFailed, match="AssertionError"):
        load_model(path, shape=(3,))
    assert load_model(path, shape=(12,)).signature.classes == 2


def test_weights_that_unpack_to_far_more_than_the_file_are_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data/0", bytes(2**28 + 2**20))
    with pytest.raises(InvalidArgument, match="unpacks to more than"):
        load_model(tmp_path / "a.pt", shape=(3,))


def test_weights_alone_that_do_not_fit_are_refused_by_the_child(tmp_path, monkeypatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise RuntimeError("can't allocate memory")

    path = tmp_path / "weights.pt"
    torch.save({"w": torch.zeros(2)}, path, _use_new_zipfile_serialization=False)
    monkeypatch.setattr(torch, "load", load)
    with pytest.raises(InvalidArgument, match="GiB to read"):
        load_model(path, shape=(3,))


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("2**2**2**2**2**2", False),
        ("Pow(Integer(9), Integer(999999999))", False),
        ("Pow(b=2, e=99999)", False),
        ("LShift(1, 10000000000)", False),
        ("1 << s0", False),
        ("(((((2**9)**9)**9)**9)**9)", False),
        ("+".join(["s0"] * 3000), False),
        ("Pow(Symbol('s0', positive=True, integer=True), Integer(2))", True),
        ("FloorDiv(s0**2 - 1, 2) + Pow(s1, Integer(-1))", True),
    ],
)
def test_a_formula_of_sizes_computes_with_small_numbers_only(text: str, harmless: bool) -> None:
    assert is_formula(text) is harmless
