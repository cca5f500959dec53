"""ONNX files that keep their weights in another file."""

import os
from functools import partial

import numpy as np
import onnx
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.graph.onnx_file import read_weight_files
from surefoot.models import load_model
from tests.unit.small_models import batch, linear_net
from tests.unit.small_networks import random_network, write_onnx


def split(folder, location="m.onnx.data", write=linear_net):
    """A model whose weights lie beside it, and the same model in one file."""
    whole, path = write(folder / "whole.onnx"), folder / "m.onnx"
    onnx.save_model(
        onnx.load(whole), path, save_as_external_data=True, location=location, size_threshold=0
    )
    return path, whole


def rewritten(path, change):
    """The file with the entries of its external data changed."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        entries = {e.key: e.value for e in tensor.external_data}
        change(entries)
        del tensor.external_data[:]
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    return path


def test_weights_beside_the_file_give_the_same_answers(tmp_path):
    path, whole = split(tmp_path)
    model, x = load_model(path), batch(5)
    np.testing.assert_array_equal(model.predict(x), load_model(whole).predict(x))
    assert model.signature.covers == "the bytes of the ONNX file and of its weights"
    assert load_model(whole).signature.covers == "the bytes of the ONNX file"


def test_proofs_and_gradients_read_the_weights_too(tmp_path):
    network = random_network(np.random.default_rng(1), 4, [5], 3, [0.0])
    path, whole = split(tmp_path, write=partial(write_onnx, network))
    one, other = (load_model(p, bounds=(0, 1)) for p in (path, whole))
    x, labels = batch(3, (4,)), np.zeros(3, np.int64)
    for a, b in zip(
        one.margin_and_gradient(x, labels, labels + 1),
        other.margin_and_gradient(x, labels, labels + 1),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    brackets = []
    for model in (one, other):
        inputs = sf.load_inputs(np.random.default_rng(1).uniform(0.2, 0.8, (3, 4)))
        method = sf.methods.CriticalLevel(error=0.1, quantile=0.5, tolerance=0.01, samples=0)
        result = sf.Study(model, inputs, sf.perturb.LinfNoise(), method, seed=1).run()
        brackets.append([row.result.interval for row in result.record.inputs])
    assert brackets[0] == brackets[1]


def test_weights_that_change_after_loading_are_refused_for_proofs(tmp_path):
    path, _ = split(tmp_path)
    model = load_model(path)
    beside = tmp_path / "m.onnx.data"
    beside.write_bytes(beside.read_bytes()[::-1])
    with pytest.raises(InvalidArgument, match="its weights beside it have changed"):
        _ = model.graph.content


def test_missing_weights_are_named_with_the_way_out(tmp_path):
    path, _ = split(tmp_path)
    (tmp_path / "m.onnx.data").unlink()
    with pytest.raises(InvalidArgument, match=r"m\.onnx\.data, which is not beside it: put"):
        load_model(path)
    os.mkfifo(tmp_path / "m.onnx.data")
    with pytest.raises(InvalidArgument, match="not beside it"):
        load_model(path)


@pytest.mark.parametrize(
    "location", ["../weights.bin", "{outside}/weights.bin", "a/../../weights.bin", "..\\w", "C:\\w"]
)
def test_weights_outside_the_folder_are_refused_and_not_read(location, tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    path, _ = split(folder, location="weights.bin")
    (folder / "weights.bin").rename(tmp_path / "weights.bin")
    place = location.format(outside=tmp_path)
    rewritten(path, lambda entries: entries.update(location=place))
    with pytest.raises(InvalidArgument, match="outside its own folder"):
        load_model(path)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    path, _ = split(folder, location="weights.bin")
    (folder / "weights.bin").rename(tmp_path / "elsewhere.bin")
    (folder / "weights.bin").symlink_to(tmp_path / "elsewhere.bin")
    with pytest.raises(InvalidArgument, match="outside its own folder"):
        load_model(path)


def test_the_location_is_read_whatever_the_order_of_the_entries(tmp_path):
    """Protobuf allows the value before the key; a search for bytes would miss it."""
    path, _ = split(tmp_path)
    content = path.read_bytes()
    key, value = b"\n\x08location", b"\x12\x0bm.onnx.data"
    assert key + value in content
    path.write_bytes(content.replace(key + value, value + key))
    assert set(read_weight_files(path).beside) == {"m.onnx.data"}
    before = load_model(path).signature.digest
    beside = tmp_path / "m.onnx.data"
    beside.write_bytes(beside.read_bytes()[::-1])
    assert load_model(path).signature.digest != before


@pytest.mark.parametrize(
    "change",
    [{"offset": 10**9}, {"length": 10**9}, {"offset": -4}, {"offset": "x"}, {"length": "-1"}],
)
def test_an_offset_outside_the_weights_is_refused(change, tmp_path):
    path, _ = split(tmp_path)
    digest = read_weight_files(path).digest
    rewritten(path, lambda entries: entries.update(change))
    with pytest.raises(InvalidArgument):
        load_model(path)
    from surefoot.graph.onnx_file import whole_content

    files = read_weight_files(path)
    assert files.digest != digest
    with pytest.raises(InvalidArgument, match="lie outside their file"):
        whole_content(files, files.digest)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_is_refused_or_read_in_one_sentence(seed, tmp_path):
    path, _ = split(tmp_path)
    rng, content = np.random.default_rng(seed), bytearray(path.read_bytes())
    for _ in range(3):
        content[rng.integers(len(content))] = rng.integers(256)
    path.write_bytes(bytes(content))
    try:
        read_weight_files(path)
    except InvalidArgument as error:
        assert "\n" not in str(error)


def test_a_location_that_is_no_file_name_is_refused(tmp_path):
    path, _ = split(tmp_path)
    rewritten(path, lambda entries: entries.update(location="m\0.data"))
    with pytest.raises(InvalidArgument, match=r"which is no name of a file: export it again"):
        load_model(path)
