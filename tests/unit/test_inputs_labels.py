"""Labels in every form: a number stays its number, a name is never guessed in silence."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs
from surefoot.inputs.labels import ClassNames, read_class_names, read_labels
from tests.refusals import refused

LAW = settings(deadline=None, database=None, derandomize=True, max_examples=40)
DIGITS = [name for name in "0123456789" if name != "6"]


def folders(root, names):
    """One image a folder, its first pixel the folder's place in `names`."""
    for place, name in enumerate(names):
        (root / name).mkdir(parents=True)
        Image.fromarray(np.full((5, 5), place, np.uint8)).save(root / name / "a.png")
    return root


def listed(root, labels):
    """A CSV of one image a label."""
    rows = ["file,label"]
    for i, label in enumerate(labels):
        Image.fromarray(np.full((5, 5), i, np.uint8)).save(root / f"{i}.png")
        rows.append(f"{i}.png,{label}")
    path = root / "list.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    return path


def stored(root, labels):
    np.savez(root / "d.npz", x=np.zeros((len(labels), 2)), y=labels)
    return root / "d.npz"


def beside(root, labels):
    np.save(root / "x.npy", np.zeros((len(labels), 2)))
    np.save(root / "y.npy", np.asarray(labels))
    return root / "x.npy"


READERS = {
    "arrays": lambda root, labels: load_inputs(np.zeros((len(labels), 2)), labels),
    "dataset": lambda root, labels: load_inputs([(np.zeros(2), label) for label in labels]),
    "csv": lambda root, labels: load_inputs(listed(root, labels)),
    "npz": lambda root, labels: load_inputs(stored(root, labels)),
    "npy": lambda root, labels: load_inputs(beside(root, labels), root / "y.npy"),
}


@pytest.fixture(params=READERS)
def read(request, tmp_path):
    return lambda labels: READERS[request.param](tmp_path, labels)


def test_a_folder_named_with_a_number_is_that_class(tmp_path):
    inputs = load_inputs(folders(tmp_path / "digits", DIGITS))
    assert dict(zip(inputs.ids, inputs.labels.tolist(), strict=True)) == {
        f"{name}/a.png": int(name) for name in DIGITS
    }
    assert inputs.class_name(7) == "7"
    assert inputs.reading.endswith("labels are numbers and read as such")


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["0", "1", "cat"], r"mixes numbers and words as labels: '0' \(folder 0\) and 'cat'"),
        (["0", "1", "-1"], "folder -1: label -1 is negative"),
        (["0", "1.5"], r"folder 1\.5: label 1\.5 is no whole number"),
        (["1", "01"], r"class 1 in two ways, '01' \(folder 01\) and '1' \(folder 1\)"),
    ],
)
def test_folders_that_could_mean_two_things_are_refused(names, match, tmp_path):
    refused(match, load_inputs, folders(tmp_path / "f", names))


def test_a_class_list_says_where_each_folder_goes(tmp_path):
    """Also numbers: a model trained on the folders in the order of their texts."""
    by_text = sorted(str(i) for i in range(12))
    inputs = load_inputs(folders(tmp_path / "f", by_text), class_names=by_text)
    assert inputs.labels.tolist() == list(range(12))
    assert inputs.class_name(2) == "10"
    assert "names of the list of classes, numbered in its order" in inputs.reading
    mixed = load_inputs(folders(tmp_path / "g", ["0", "cat"]), class_names=["cat", "0"])
    assert mixed.labels.tolist() == [1, 0]


def test_numbers_are_numbers_in_every_reader(read):
    assert read([3, 0, 12, 7]).labels.tolist() == [3, 0, 12, 7]
    assert read([3, 0, 12, 7]).class_names == ()


@pytest.mark.parametrize("labels", [["3", "0", "12"], ["3.0", " 0 ", "12"], ["03", "00", "12"]])
def test_numbers_as_text_are_the_numbers_in_every_reader(labels, read):
    inputs = read(labels)
    assert inputs.labels.tolist() == [3, 0, 12]
    assert inputs.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "place", "match"),
    [
        ([*"0123456789", "-1"], 10, "label -1 is negative"),
        ([0, 1, -1], 2, "label -1 is negative"),
        ([0.0, 1.5], 1, r"label 1\.5 is no whole number"),
        (["0", "1.5"], 1, r"label 1\.5 is no whole number"),
        (["0", "1e300"], 1, "label 1e300 is too large"),
    ],
)
def test_a_number_that_is_no_class_is_refused_with_its_place(labels, place, match, read):
    refused(f"(index {place}|row {place + 1}): {match}", read, labels)


@pytest.mark.parametrize("word", ["cat", "²", "1 of 2", "inf", "0x1"])
def test_numbers_mixed_with_words_are_refused_with_one_of_each(word, read):
    with pytest.raises(InvalidArgument) as caught:
        read(["4", "4", word, "5"])
    message = str(caught.value)
    assert "mixes numbers and words" in message
    assert "'4'" in message
    assert "index 2" in message or "row 3" in message
    assert "--class-names" in message


def test_one_number_written_two_ways_is_refused(read):
    refused(r"class 1 in two ways, '01' .* and '1' ", read, ["1", "01", "2"])


@pytest.mark.parametrize("empty", ["", "  ", "nan", "NaN"])
def test_an_empty_label_is_refused_and_no_class_of_its_own(empty, read):
    refused(r"has no label|row 2 lacks a file or a label", read, ["cat", empty, "dog"])


def test_names_are_numbered_alphabetically_and_the_reading_says_so(read):
    inputs = read(["dog", " ant", "dog ", "cow"])
    assert inputs.labels.tolist() == [2, 0, 2, 1]
    assert inputs.class_names == ("ant", "cow", "dog")
    assert "numbered alphabetically (0 is ant, 2 is dog)" in inputs.reading


def test_names_follow_the_list_that_is_given_or_stored(tmp_path):
    names = ["dog", "bee", "ant"]
    inputs = load_inputs(np.zeros((3, 2)), ["ant", "dog", "dog"], class_names=names)
    assert inputs.labels.tolist() == [2, 0, 0]
    path = tmp_path / "d.npz"
    np.savez(path, x=np.zeros((2, 2)), y=np.array([b"ant", b"dog"]), class_names=names)
    assert load_inputs(path).labels.tolist() == [2, 0]
    assert load_inputs(path, class_names=["ant", "dog"]).labels.tolist() == [0, 1]
    with pytest.raises(InvalidArgument, match=r"index 1: label 'dog' is none of the class names"):
        load_inputs(path, class_names=["ant", "cow"])
    refused("hold 'ant' 2 times", load_inputs, path, class_names=["ant", "ant", "dog"])


def test_class_numbers_keep_their_number_beside_a_list():
    inputs = load_inputs(np.zeros((2, 2)), [1, 0], class_names=["7", "1"])
    assert inputs.labels.tolist() == [1, 0]
    text = load_inputs(np.zeros((2, 2)), ["1", "0"], class_names=["cat", "dog"])
    assert text.labels.tolist() == [1, 0]
    assert text.class_name(1) == "dog"


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[0], [1], [1]]),
        [0.0, 1.0, 1.0],
        np.array([0, 1, 1], np.uint8),
        [False, True, True],
        np.array([False, True, True]),
        np.array([0, True, 1.0], dtype=object),
        np.array(["0", 1, 1.0], dtype=object),
    ],
)
def test_whole_numbers_of_any_type_are_class_numbers(labels):
    assert read_labels(labels, "d").numbers.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.eye(4), r"got shape \(4, 4\) of float64: for a one-hot table give y\.argmax"),
        ([[0], [1, 2]], "one class number or class name an input"),
        (3, "one class number or class name an input"),
        ([0, 1j], "one class number or class name an input"),
        ([0, np.nan], "index 1: label nan is missing"),
        ([0, np.inf], "index 1: label inf is"),
        ([0, None], "index 1 has no label"),
        ([0, object()], "index 1: a label is object"),
        (np.ma.array([0, 1], mask=[False, True]), "some labels are masked"),
        (np.array([2**63], dtype=np.uint64), "too large"),
        (np.array(["2024-01-01"], dtype="datetime64[D]"), "one class number or class name"),
    ],
)
def test_what_is_no_label_is_refused_in_one_sentence(labels, match):
    refused(match, read_labels, labels, "d")


@LAW
@given(st.lists(st.integers(0, 10**6), min_size=1), st.randoms(use_true_random=False))
def test_text_and_numbers_agree_whatever_is_missing_in_between(numbers, random):
    pad = random.choice(["{}", "{:07d}", " {} ", "{}.0"])
    read = read_labels([pad.format(n) for n in numbers], "d")
    assert read.numbers.tolist() == numbers


@LAW
@given(st.lists(st.text(st.characters(categories=["L"]), min_size=4), min_size=1))
def test_every_input_gets_the_number_of_its_own_name(words):
    read = read_labels(words, "d")
    assert [read.names[n] for n in read.numbers] == [w.strip() for w in words]
    back = read_labels(words, "d", read.names[::-1])
    assert [back.names[n] for n in back.numbers] == [w.strip() for w in words]


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


def test_a_text_with_commas_is_the_list_itself(cwd):
    assert read_class_names("cat, dog,cow").names == ("cat", "dog", "cow")
    assert read_class_names("cat").names == ("cat",)
    assert read_class_names("").names == read_class_names(()).names == ()
    assert read_class_names({0: "a", 1: "b"}).names == ("a", "b")
    assert read_class_names(np.array(["a", "b"])).names == ("a", "b")
    written(cwd, "x\ny", "cat,dog")
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
    assert str(path) in refused(match, read_class_names, path)


def test_a_file_that_is_not_there_is_not_taken_for_a_name(tmp_path):
    refused(r"there is no file names\.txt", read_class_names, "names.txt")
    refused("no file of class names", read_class_names, tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    refused("no file of class names", read_class_names, tmp_path / "pipe.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    refused("UTF-8", read_class_names, tmp_path / "bytes.txt")
