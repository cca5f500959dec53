"""Names of classes from lists and from files as people have them."""

import json
import os

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs
from surefoot.inputs.labels import ClassNames, read_class_names

THREE = ("tench, Tinca tinca", "goldfish", "great white shark")
IDS = ("n01440764", "n01443537", "n01484850")
FILES = {
    "lines": "\n".join(THREE) + "\n\n",
    "windows": "\ufeff" + "\r\n".join(THREE),
    "list": json.dumps(THREE),
    "numbers": json.dumps({str(i): name for i, name in enumerate(THREE)}),
    "unordered": json.dumps({str(i): THREE[i] for i in (2, 0, 1)}),
    "python": "{" + ",\n".join(f"{i}: {name!r}" for i, name in enumerate(THREE)) + "}",
    "reversed": json.dumps({name: i for i, name in enumerate(THREE)}),
    "numbered lines": "\n".join(f"{i}: {name}" for i, name in enumerate(THREE)),
}
WITH_IDS = {
    "pairs": json.dumps({str(i): [IDS[i], THREE[i]] for i in range(3)}),
    "list of pairs": json.dumps([[IDS[i], THREE[i]] for i in range(3)]),
    "lines": "\n".join(f"{code} {name}" for code, name in zip(IDS, THREE, strict=True)),
}


def written(tmp_path, text, name="names.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_of_names_is_read_in_the_order_of_the_classes(kind, as_text, tmp_path):
    path = written(tmp_path, FILES[kind], "names")
    assert read_class_names(str(path) if as_text else path) == ClassNames(THREE)


@pytest.mark.parametrize("kind", WITH_IDS)
def test_ids_in_the_file_name_the_classes_too(kind, tmp_path):
    path = written(tmp_path, WITH_IDS[kind])
    assert read_class_names(path) == ClassNames(THREE, IDS)
    points = np.ones((2, 4))
    inputs = load_inputs(points, ["n01484850", "n01440764"], class_names=path)
    np.testing.assert_array_equal(inputs.labels, [2, 0])
    assert inputs.class_names == THREE
    assert "labels are ids of the list of classes" in inputs.reading
    np.testing.assert_array_equal(
        load_inputs(points, ["goldfish", "goldfish"], class_names=path).labels, [1, 1]
    )
    with pytest.raises(InvalidArgument, match="label 'goldfish' is none"):
        load_inputs(points, ["n01484850", "goldfish"], class_names=path)


def test_a_text_with_commas_is_the_list_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_class_names("cat, dog,cow").names == ("cat", "dog", "cow")
    assert read_class_names("cat").names == ("cat",)
    assert read_class_names("").names == read_class_names(()).names == ()
    assert read_class_names({0: "a", 1: "b"}).names == ("a", "b")
    assert read_class_names(np.array(["a", "b"])).names == ("a", "b")
    written(tmp_path, "x\ny", "cat,dog")
    assert read_class_names("cat,dog").names == ("x", "y")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a\n\nb\n", "class 1 has no name"),
        ('["a", ""]', "class 1 has no name"),
        ('["a", ["b"]]', "class 1 has no name"),
        ('{"0": "a", "2": "b"}', "numbered 0, 1, 2 and so on without a gap"),
        ('{"1": "a", "2": "b"}', "without a gap"),
        ('{"a": "b"}', "without a gap"),
        ('{"a": 0, "b": 0}', "without a gap"),
        ("{}", "without a gap"),
        ('{"0": "a", "0": "b"}', "has a key twice"),
        ("[1, 2", "cannot be read as class names"),
        ("{0: __import__('os').getcwd()}", "cannot be read as class names"),
        ("[" * 100_000, "cannot be read as class names"),
        ('[["n1", "a"], ["n1", "b"]]', "n1 stands there twice"),
    ],
)
def test_a_file_that_is_no_list_of_names_is_one_sentence(text, match, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(InvalidArgument, match=match) as caught:
        read_class_names(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_not_taken_for_a_name(tmp_path):
    with pytest.raises(InvalidArgument, match=r"there is no file names\.txt"):
        read_class_names("names.txt")
    with pytest.raises(InvalidArgument, match="no file of class names"):
        read_class_names(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InvalidArgument, match="no file of class names"):
        read_class_names(tmp_path / "pipe.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgument, match="UTF-8"):
        read_class_names(tmp_path / "bytes.txt")
