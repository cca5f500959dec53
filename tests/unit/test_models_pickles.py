"""Pickles in all their disguises are refused without trust, and read with it."""

import io
import os
import pickle
import sys
import types
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.models import load_model
from surefoot.system.user_code import missing_code
from surefoot.testing import check_model
from tests.unit.small_models import IMAGE, batch, by_hand, estimator, module, scripted

torch = pytest.importorskip("torch")


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def old_torch(value: object, path: Path) -> None:
    torch.save(value, path, _use_new_zipfile_serialization=False)


def plain_pickle(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


def tail_of_a_zip(value: object, path: Path) -> None:
    """A pickle that is also an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("anything/else", b"")
    path.write_bytes(pickle.dumps(value) + buffer.getvalue())


WRITERS = {
    ".pt": torch.save,
    ".pth": old_torch,
    ".PT": plain_pickle,
    ".pt2": torch.save,
    ".Pt2": tail_of_a_zip,
    ".ts": plain_pickle,
    ".jit": tail_of_a_zip,
    ".pkl": plain_pickle,
    ".PKL": plain_pickle,
    ".pickle": plain_pickle,
    ".joblib": joblib.dump,
    ".JobLib": joblib.dump,
    ".onnx": plain_pickle,
    ".ONNX": tail_of_a_zip,
    ".bin": plain_pickle,
    "": plain_pickle,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_pickle_is_refused_whatever_it_is_called(suffix, tmp_path):
    marker, path = tmp_path / "marker", tmp_path / f"model{suffix}"
    WRITERS[suffix](Bomb(marker), path)
    with pytest.raises(InvalidArgument) as caught:
        load_model(path, shape=IMAGE)
    assert str(path) in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pkl", ".PKL", ".joblib", ".JobLib"])
def test_the_pickles_of_these_tests_do_run_code_where_they_are_trusted(suffix, tmp_path):
    marker, path = tmp_path / "marker", tmp_path / f"model{suffix}"
    WRITERS[suffix](Bomb(marker), path)
    with pytest.raises(InvalidArgument):
        load_model(path, shape=IMAGE, trust=True)
    assert marker.exists()


@pytest.mark.parametrize("suffix", [".onnx", ".pt", ".pt2"])
def test_a_link_is_judged_by_what_it_leads_to(suffix, tmp_path):
    marker, real = tmp_path / "marker", tmp_path / "model.pkl"
    plain_pickle(Bomb(marker), real)
    os.symlink(real, tmp_path / f"model{suffix}")
    with pytest.raises(InvalidArgument):
        load_model(tmp_path / f"model{suffix}", shape=IMAGE)
    assert not marker.exists()


def scripted_parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(scripted(path)) as archive:
        return {n: archive.read(n) for n in archive.namelist()}


def rewrite(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def test_a_script_is_read_without_the_pickles_that_lie_beside_it(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.pt"
    bomb = pickle.dumps(Bomb(marker))
    parts = scripted_parts(path)
    extra = {"model/extra.pkl": bomb, "model/.data/ts_code/0.pkl": bomb, "model/code/x.pkl": bomb}
    loaded = load_model(rewrite(path, {**parts, **extra}), shape=IMAGE)
    x = batch(5)
    np.testing.assert_allclose(loaded.predict(loaded.place(x)), by_hand(x), rtol=1e-4, atol=1e-5)
    assert not marker.exists()


def test_a_script_whose_data_are_a_python_pickle_is_refused(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.pt"
    parts = {**scripted_parts(path), "model/data.pkl": pickle.dumps(Bomb(marker), protocol=2)}
    with pytest.raises(InvalidArgument):
        load_model(rewrite(path, parts), shape=IMAGE)
    assert not marker.exists()


@pytest.mark.parametrize(
    "line",
    [
        b'ops.image.write_file("f", x)',
        b"ops . image.write_file(x)",
        b"o = ops",
        b'ops.aten.from_file("f", True, 9)',
        b'torch . save(x, "f")',
        b"__torch__.torch.classes.mine.Thing()",
    ],
)
def test_a_script_that_calls_more_than_arithmetic_is_refused(line, tmp_path):
    path = tmp_path / "model.pt"
    parts = scripted_parts(path)
    name = next(n for n in parts if n.endswith("container.py"))
    parts[name] += b"    " + line + b"\n"
    with pytest.raises(InvalidArgument, match="trust"):
        load_model(rewrite(path, parts), shape=IMAGE)


def test_a_pickled_module_is_read_with_trust(tmp_path):
    path = tmp_path / "model.pt"
    torch.save(module().train(), path)
    loaded = load_model(path, shape=IMAGE, trust=True)
    check_model(loaded, batch(6))
    x = batch(5)
    np.testing.assert_allclose(loaded.predict(loaded.place(x)), by_hand(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_weights_alone_are_no_network_even_with_trust(suffix, tmp_path):
    path = tmp_path / f"weights{suffix}"
    weights = module().state_dict()
    for content in (weights, {"epoch": 3, "model": weights}):
        for zipped in (True, False):
            torch.save(content, path, _use_new_zipfile_serialization=zipped)
            for trust in (True, False):
                with pytest.raises(InvalidArgument, match=r"holds weights .*load_state_dict") as e:
                    load_model(path, shape=IMAGE, trust=trust)
                assert str(path) in str(e.value)
                assert "--trust" not in str(e.value)


def test_what_is_neither_weights_nor_a_network_is_not_called_weights(tmp_path):
    path = tmp_path / "plain.pt"
    for content in ({"epoch": 3}, [torch.zeros(2)]):
        torch.save(content, path)
        with pytest.raises(InvalidArgument, match=r"is a pickle; .*--trust"):
            load_model(path, shape=IMAGE)
        with pytest.raises(InvalidArgument, match=f"holds {type(content).__name__}, not a network"):
            load_model(path, shape=IMAGE, trust=True)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PKL", ".JOBLIB"])
def test_a_pickled_estimator_is_read_with_trust(suffix, tmp_path):
    path, fitted = tmp_path / f"model{suffix}", estimator()
    (joblib.dump if suffix.lower() == ".joblib" else plain_pickle)(fitted, path)
    loaded = load_model(path, trust=True)
    x = batch(6, (4,))
    check_model(loaded, x)
    np.testing.assert_allclose(loaded.predict(x), fitted.predict_proba(x))


@pytest.mark.parametrize(("suffix", "content"), [(".pkl", b"x"), (".joblib", b""), (".pt", b"x")])
def test_a_damaged_pickle_is_one_sentence_with_the_path(suffix, content, tmp_path):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument) as caught:
        load_model(path, shape=IMAGE, trust=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pickle_of_something_else_is_no_classifier(tmp_path):
    path = tmp_path / "model.pkl"
    plain_pickle({"accuracy": 0.99}, path)
    with pytest.raises(InvalidArgument, match="dict is no model"):
        load_model(path, trust=True)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (AttributeError("Can't get attribute 'Net' on <module '__main__' from 'x'>"),
         "the class Net must be importable where surefoot runs, from a module and not from the"),
        (AttributeError("Can't get attribute 'Net' on <module 'nets' from 'x'>"),
         "the class Net must be importable where surefoot runs"),
        (ModuleNotFoundError("No module named 'nets'", name="nets"), "the module nets must be"),
        (ValueError("damaged"), ""),
    ],
)  # fmt: skip
def test_a_pickle_of_code_that_is_not_here_says_which(error, sentence):
    assert missing_code(error).startswith(sentence)
    assert bool(missing_code(error)) is bool(sentence)


def test_a_pickled_module_whose_class_is_gone_names_it_and_the_export(tmp_path, monkeypatch):
    path, nets = tmp_path / "net.pth", types.ModuleType("nets")
    nets.Net = type("Net", (torch.nn.Linear,), {"__module__": "nets"})
    monkeypatch.setitem(sys.modules, "nets", nets)
    torch.save(nets.Net(2, 2), path)
    monkeypatch.delitem(sys.modules, "nets")
    with pytest.raises(InvalidArgument, match=r"module nets must be .*; or export it with torch"):
        load_model(path, shape=(2,), trust=True)
