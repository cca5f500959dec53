"""Files of Keras: what they name is checked before Keras reads them."""

import json
import sys
import types
import zipfile

import numpy as np
import pytest

import surefoot as sf
from surefoot.models.load import declared_shape
from tests.refusals import refused
from tests.unit.small_models import batch, by_hand

DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}}
INPUT = {"module": "keras.layers", "class_name": "InputLayer",
         "config": {"batch_shape": [None, 1, 4, 4]}}  # fmt: skip


def archive(path, *layers, **parts):
    config = {"module": "keras", "class_name": "Sequential", "config": {"layers": list(layers)}}
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", json.dumps(config | parts))
    return path


@pytest.fixture
def keras(monkeypatch):
    """What Keras is to us: it reads a file and runs a batch."""

    class Network:
        input_shape = (None, *batch(1).shape[1:])

        def __call__(self, x, training):
            assert training is False
            return by_hand(x)

    loads = []

    def load_model(path, **options):
        loads.append(options)
        return Network()

    fake = types.ModuleType("keras")
    fake.__version__ = "3"
    fake.saving = types.SimpleNamespace(load_model=load_model)
    fake.ops = types.SimpleNamespace(convert_to_numpy=np.asarray)
    monkeypatch.setitem(sys.modules, "keras", fake)
    return loads


HOSTILE = {
    "lambda": {"class_name": "Lambda", "config": {}},
    "byte code": {**DENSE, "config": {"activation": {"class_name": "__lambda__", "config": {}}}},
    "another module": {"module": "os", "class_name": "system", "config": "true"},
    "another module of keras": {"module": "keras.utils", "class_name": "get_file", "config": {}},
    "inner": {"module": "keras", "class_name": "Sequential", "config": {"layers": [
        {"module": "keras.layers", "class_name": "TimeDistributed", "config": {"layer": {
            "module": "keras.layers", "class_name": "Lambda", "config": {}}}}]}},
    "lookup": {"module": "keras.layers", "class_name": "StringLookup", "config": {}},
    "inner losses": {"module": "keras", "class_name": "Sequential", "config": {},
                     "compile_config": {"loss": {"module": "builtins", "class_name": "function"}}},
}  # fmt: skip


@pytest.mark.parametrize("layer", HOSTILE.values(), ids=HOSTILE)
def test_what_can_run_code_is_refused_before_keras_is_asked(tmp_path, keras, layer):
    path = archive(tmp_path / "m.keras", INPUT, layer)
    refused(r"can run code: .* --trust", sf.load_model, path, bounds=(0, 1))
    assert not keras
    sf.load_model(path, bounds=(0, 1), trust=True)
    assert keras == [{"compile": False, "safe_mode": False}]


def test_a_plain_network_is_read_in_safe_mode_and_gives_its_scores(tmp_path, keras):
    trained = {"compile_config": {"loss": {"module": "mine", "class_name": "function"}}}
    path = archive(tmp_path / "m.keras", INPUT, DENSE, **trained)
    assert declared_shape(path) == (1, 4, 4)
    model = sf.load_model(path, bounds=(0, 1))
    assert keras == [{"compile": False, "safe_mode": True}]
    np.testing.assert_array_equal(model.predict(batch(5)), by_hand(batch(5)))
    assert model.signature.covers == "the bytes of the file"


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path, name):
    (tmp_path / name).write_bytes(b"no archive")
    with pytest.raises(sf.errors.SurefootError, match=r"no model of Keras|pip install h5py"):
        sf.load_model(tmp_path / name)


def test_two_parts_of_one_name_are_refused(tmp_path, keras):
    path = archive(tmp_path / "m.keras", INPUT, DENSE)
    with zipfile.ZipFile(path, "a") as made, pytest.warns(UserWarning, match="Duplicate"):
        made.writestr("config.json", "{}")
    refused("two of its parts", sf.load_model, path)


def test_a_file_of_keras_2_is_given_an_input_layer_in_place_of_the_shape_of_its_first(
    tmp_path, keras, monkeypatch
):
    written, attrs = [], {}

    class File:  # what h5py is to us
        def __init__(self, path, mode):
            self.path, self.mode, self.attrs = path, mode, dict(attrs)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            if self.mode != "r":
                written.append((self.path, json.loads(self.attrs["model_config"])))

    h5py = types.ModuleType("h5py")
    h5py.File = File
    monkeypatch.setitem(sys.modules, "h5py", h5py)
    first = {"class_name": "Dense", "config": {"batch_input_shape": [None, 1, 4, 4]}}
    for layers in ([first], {"layers": [first]}):  # as Keras 1 and Keras 2 write it
        attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": layers})
        path = tmp_path / f"{len(written)}.h5"
        path.write_bytes(b"")
        assert sf.load_model(path, bounds=(0, 1)).signature.shape == (1, 4, 4)
        own = written[-1][1]["config"]
        added, same = own["layers"] if isinstance(own, dict) else own
        assert (added["class_name"], added["config"]["batch_input_shape"][1:]) == (
            "InputLayer",
            [1, 4, 4],
        )
        assert same == {"class_name": "Dense", "config": {}}
        assert written[-1][0] != path  # the file itself stays
