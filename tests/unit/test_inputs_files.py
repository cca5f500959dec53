"""Array files: .npz and .npy."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from surefoot.inputs import load_inputs
from tests.refusals import refused
from tests.unit.small_models import Bomb

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 2, 0])


def npz(path, **stored):
    np.savez(path, **stored)
    return path


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ("x", "y"),
        ("x_test", "y_test"),
        ("images", "labels"),
        ("X", "Y"),
        ("data", "target"),
        ("inputs", "targets"),
        ("features", "label"),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".NPZ"])
def test_inputs_and_labels_are_found_by_their_usual_names(points, labels, suffix, tmp_path):
    path = npz(tmp_path / "d.npz", **{points: X, labels: Y}).rename(tmp_path / f"d{suffix}")
    inputs = load_inputs(path)
    np.testing.assert_array_equal(inputs.x, X)
    np.testing.assert_array_equal(inputs.labels, Y)
    assert inputs.source == str(path)


def test_ids_and_class_names_are_read_along(tmp_path):
    path = npz(tmp_path / "d.npz", x=X, y=Y, ids=list("abcd"), class_names=["cat", "dog", "cow"])
    inputs = load_inputs(str(path))
    assert inputs.ids == ("a", "b", "c", "d")
    assert inputs.class_names == ("cat", "dog", "cow")
    assert inputs.class_name(2) == "cow"


def test_what_the_caller_says_goes_before_what_the_file_says(tmp_path):
    path = npz(tmp_path / "d.npz", x=X, y=Y, ids=list("abcd"), class_names=["cat", "dog", "cow"])
    inputs = load_inputs(path, [1, 1, 1, 1], ids=range(4), class_names=["x", "y"])
    np.testing.assert_array_equal(inputs.labels, [1, 1, 1, 1])
    assert inputs.ids == ("0", "1", "2", "3")
    assert inputs.class_names == ("x", "y")


def test_labels_in_a_file_of_their_own_belong_to_either_kind(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    for path in (tmp_path / "x.npy", npz(tmp_path / "d.npz", x=X)):
        assert load_inputs(path).labels is None
        for labels in (tmp_path / "y.npy", str(tmp_path / "y.npy"), Y, Y.tolist()):
            np.testing.assert_array_equal(load_inputs(path, labels).labels, Y)


def test_labels_that_are_not_wanted_are_left_out(tmp_path):
    inputs = load_inputs(npz(tmp_path / "d.npz", x=X, y=Y), labels="none")
    np.testing.assert_array_equal(inputs.x, X)
    assert inputs.labels is None


def test_the_same_inputs_have_one_digest_wherever_they_lie(tmp_path):
    np.save(tmp_path / "x.npy", X)
    in_file = load_inputs(npz(tmp_path / "d.npz", x=X, y=Y))
    assert in_file.digest() == load_inputs(X, Y).digest()
    assert in_file.digest() == load_inputs(tmp_path / "x.npy", Y).digest()


def test_pixels_in_a_file_are_scaled_as_in_memory(tmp_path):
    pixels = np.arange(60, dtype=np.uint8).reshape(2, 5, 6)
    path = npz(tmp_path / "d.npz", x=pixels)
    np.testing.assert_allclose(load_inputs(path).x, pixels / 255, rtol=1e-6)
    np.testing.assert_array_equal(load_inputs(path, scale=1).x, pixels)
    np.save(tmp_path / "x.npy", pixels)
    np.testing.assert_array_equal(load_inputs(tmp_path / "x.npy", scale=2).x, pixels / 2)


@pytest.mark.parametrize(
    ("stored", "match"),
    [
        ({"a": X, "b": Y}, "holds a, b: name the inputs x and the labels y"),
        ({}, "holds nothing: name the inputs x"),
        ({"x": X, "y": Y[:3]}, "4 inputs but 3 labels"),
        ({"x": X[:0], "y": Y[:0]}, "holds no inputs"),
        ({"x": X, "y": Y - 1}, "negative"),
        ({"x": X, "ids": ["a", "a", "b", "c"]}, "different ids"),
        ({"x": np.full((2, 3), np.nan)}, "NaN"),
    ],
)
def test_a_file_that_makes_no_inputs_is_one_sentence_with_the_path(stored, match, tmp_path):
    path = npz(tmp_path / "d.npz", **stored)
    assert str(path) in refused(match, load_inputs, path)


def test_arrays_of_objects_are_refused_and_run_nothing(tmp_path):
    marker = tmp_path / "marker"
    bombs = np.array([[Bomb(marker)]], dtype=object)
    np.save(tmp_path / "x.npy", bombs, allow_pickle=True)
    np.save(tmp_path / "good.npy", X)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Bomb(marker)))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Bomb(marker)))
    archive = npz(tmp_path / "zip.npz", x=X).read_bytes()
    (tmp_path / "both.npz").write_bytes(pickle.dumps(Bomb(marker)) + archive)
    sources = [
        (npz(tmp_path / "d.npz", x=bombs), None),
        (npz(tmp_path / "e.npz", x=X, y=bombs), None),
        (npz(tmp_path / "f.npz", x=X, ids=bombs), None),
        (tmp_path / "x.npy", None),
        (tmp_path / "pickle.npy", None),
        (tmp_path / "pickle.npz", None),
        (tmp_path / "both.npz", None),
        (tmp_path / "good.npy", tmp_path / "x.npy"),
    ]
    for path, labels in sources:
        refused("", load_inputs, path, labels)
    assert not marker.exists()
    np.load(tmp_path / "x.npy", allow_pickle=True)
    assert marker.exists(), "the bomb is a dud: it proves nothing"


def header(shape):
    buffer = io.BytesIO()
    message = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, message)
    return buffer.getvalue()


@pytest.mark.parametrize("shape", [(10**7, 10**7), (9, 9)])
def test_a_header_that_promises_more_than_there_is_is_refused(shape, tmp_path):
    (tmp_path / "x.npy").write_bytes(header(shape))
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("x.npy", header(shape))
    for name in ("x.npy", "d.npz"):
        refused(name, load_inputs, tmp_path / name)


def test_an_archive_that_unpacks_to_more_than_we_take_is_refused_unread(tmp_path):
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header((9, 9)))
        archive.infolist()[0].file_size = 2**34 + 1
    refused("unpacks to 16 GiB", load_inputs, path)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("content", [b"", b"text\nof two lines", b"PK\x03\x04 cut", b"\x93NUMPY"])
def test_a_damaged_file_is_one_sentence_with_the_path(suffix, content, tmp_path):
    path = tmp_path / f"d{suffix}"
    path.write_bytes(content)
    assert str(path) in refused("", load_inputs, path)


def test_a_cut_archive_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(40, 9)))
    whole = bytearray(path.read_bytes())
    for at in range(60, len(whole) - 200, 97):
        spoiled = whole.copy()
        spoiled[at] ^= 255
        path.write_bytes(bytes(spoiled))
        refused(r"d\.npz", load_inputs, path)


@pytest.mark.parametrize("name", ["d.feather", "d", "d.npz.gz", "d.pkl"])
def test_another_kind_of_file_is_refused_with_those_we_read(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(r"\.npz, \.npy .*folders of images", load_inputs, tmp_path / name)


def test_a_path_that_leads_nowhere_is_refused(tmp_path):
    message = refused("there is no data at", load_inputs, tmp_path / "gone.npz")
    assert str(tmp_path / "gone.npz") in message
    np.save(tmp_path / "x.npy", X)
    refused(r"gone\.npy", load_inputs, tmp_path / "x.npy", tmp_path / "gone.npy")
