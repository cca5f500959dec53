"""Which shape a model takes: its own, the one said, that of the data; and names of no model."""

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.models import declared_shape, load_model
from tests.unit.small_models import linear_net, pooled_net


def exported(torch, path, shape=(1, 4, 4), free=(0,)):
    """A torch.export file; `free` are the axes whose length it leaves open."""
    network = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()).eval()
    dims = {axis: torch.export.Dim.DYNAMIC for axis in free}
    program = torch.export.export(network, (torch.zeros(2, *shape),), dynamic_shapes=(dims,))
    torch.export.save(program, path)
    return path


def test_an_exported_file_says_its_own_shape(torch, tmp_path):
    path = exported(torch, tmp_path / "m.pt2")
    assert declared_shape(path) == (1, 4, 4)
    model = load_model(path)
    assert model.signature.shape == (1, 4, 4)
    assert load_model(path, data_shape=(4, 4)).signature.shape == (1, 4, 4)
    with pytest.raises(
        InvalidArgument, match=r"takes inputs of shape \(1, 4, 4\), got \(4, 4, 1\)"
    ):
        load_model(path, shape=(4, 4, 1))


def test_an_onnx_file_says_its_own_shape_and_contradictions_are_refused(tmp_path):
    path = linear_net(tmp_path / "m.onnx")
    assert declared_shape(str(path)) == (1, 4, 4)
    assert load_model(path, shape=(1, 4, 4)).signature.shape == (1, 4, 4)
    assert load_model(path, data_shape=(9, 9)).signature.shape == (1, 4, 4)
    for wrong in [(4, 4), (1, 4, 5), (16,)]:
        with pytest.raises(InvalidArgument, match="leave out --shape"):
            load_model(path, shape=wrong)


@pytest.mark.parametrize("data", [(2, 5, 6), (5, 6, 2)])
def test_an_open_shape_is_that_of_the_data_in_the_layout_of_the_model(data, tmp_path):
    path = pooled_net(tmp_path / "m.onnx")
    assert declared_shape(path) == (2, None, None)
    assert load_model(path, data_shape=data).signature.shape == (2, 5, 6)
    assert load_model(path, data_shape=data, shape=(2, 7, 7)).signature.shape == (2, 7, 7)
    with pytest.raises(InvalidArgument, match=r"\(2, \?, \?\) open, and the data"):
        load_model(path, data_shape=(3, 3))


def test_an_estimator_says_how_many_columns_it_takes():
    class Estimator:
        n_features_in_ = 6

        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    assert load_model(Estimator(), data_shape=(2, 3)).signature.shape == (6,)
    with pytest.raises(InvalidArgument, match=r"the estimator takes inputs of shape \(6\)"):
        load_model(Estimator(), shape=(7,))


@pytest.mark.parametrize(
    "name", ["gone.onnx", "gone", "gone.pt2", "no_such_module:scores", "os:no_such_name", "a/b:c"]
)
def test_a_model_that_is_not_there_is_reported_as_that(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=f"there is no model file {name}") as caught:
        load_model(name)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_model_file(tmp_path):
    for name in ("model", "model.onnx"):
        (tmp_path / name).mkdir()
        for load in (load_model, declared_shape):
            with pytest.raises(InvalidArgument, match="it is a folder; give the file in it"):
                load(str(tmp_path / name))


def test_other_models_state_no_shape(tmp_path):
    assert declared_shape("os:getcwd") is None
    assert declared_shape(lambda x: x) is None
    (tmp_path / "m.pt").write_bytes(b"anything")
    assert declared_shape(tmp_path / "m.pt") is None
