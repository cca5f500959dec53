"""Text files and folders of files as inputs: .txt, .jsonl, CSV with text and label, any bytes."""

import csv
import json

import numpy as np
import pytest

import surefoot as sf
from tests.refusals import refused

TEXTS = ["a good film", 'with "quotes", commas', "", "two\nlines", "separator \u2028 é😀", "tab\t"]
LABELS = ["pos", "neg", "neg", "pos", "pos", "neg"]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_texts_of_a_jsonl_file_are_read_as_they_are(tmp_path):
    path = tmp_path / "reviews.jsonl"
    write_jsonl(
        path, [{"text": t, "label": y, "more": 1} for t, y in zip(TEXTS, LABELS, strict=True)]
    )
    inputs = sf.load_inputs(path)
    assert inputs.x.tolist() == TEXTS
    assert inputs.class_names == ("neg", "pos") and inputs.labels.tolist() == [1, 0, 0, 1, 1, 0]
    assert inputs.ids == ("0", "1", "2", "3", "4", "5")
    write_jsonl(path, [{"text": t, "id": f"r{i}"} for i, t in enumerate(TEXTS)])
    inputs = sf.load_inputs(path)
    assert inputs.labels is None and inputs.ids[0] == "r0"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "label": 0}\r\n{"text": "b", "label": 3}')
    assert sf.load_inputs(path).x.tolist() == ["a", "b"]


def test_a_csv_file_with_text_and_label_is_read(tmp_path):
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    inputs = sf.load_inputs(path)
    assert inputs.x.tolist() == TEXTS and inputs.labels.tolist() == [1, 0, 0, 1, 1, 0]
    same = tmp_path / "same.jsonl"
    write_jsonl(same, [{"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True)])
    assert sf.load_inputs(same).digest() == inputs.digest()


def test_a_text_file_has_one_input_a_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("one\r\n two \nthree \u2028 é\n".encode())
    assert sf.load_inputs(path).x.tolist() == ["one", " two ", "three \u2028 é"]
    assert sf.load_inputs(path, [1, 0, 1]).labels.tolist() == [1, 0, 1]
    (tmp_path / "labels.txt").write_text("1\n0\n1\n")
    assert sf.load_inputs(path, tmp_path / "labels.txt").labels.tolist() == [1, 0, 1]
    np.save(tmp_path / "y.npy", [1, 0, 1])
    assert sf.load_inputs(path, str(tmp_path / "y.npy")).labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"one\n\ntwo\n", "line 2 is empty"),
        ("a.txt", b"", "holds no inputs"),
        ("a.txt", b"\xff\xfe", "is not UTF-8"),
        ("a.jsonl", b"", "holds no inputs"),
        ("a.jsonl", b'{"text": "a"}\n\n', "line 2 is no JSON"),
        ("a.jsonl", b'{"text": 3}\n', "line 1 holds the fields text"),
        ("a.jsonl", b'["a"]\n', "line 1 holds no object"),
        ("a.jsonl", b'{"sentence": "a"}\n', "the fields sentence"),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "b"}\n', "line 2 has no label"),
        ("a.jsonl", b'{"text": "a", "label": [1]}\n', "a label is list"),
        ("a.jsonl", b'{"text": "a", "id": 1}\n{"text": "b", "id": 1}\n', "different ids"),
        ("a.jsonl", b"[" * 100_000, "line 1 is no JSON"),
        ("a.csv", b"text,label\na,b,1\n", "row 1 has 3 cells below 2 columns"),
        ("a.csv", b"text,label\n", "holds no inputs"),
        ("a.csv", b"text,label,extra\na,1,2\n", "file"),
        ("a.csv", b'text,label\n"a,1\n', "cannot be read as CSV"),
    ],
)
def test_a_file_that_could_mean_two_things_is_refused_with_its_line(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    refused(says, sf.load_inputs, path)


@pytest.fixture
def folder(tmp_path):
    for name, content in {"good/a.bin": b"\0\1", "good/b": b"", "bad/a.bin": b"\xff"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "good" / ".hidden").write_bytes(b"no")
    return tmp_path


def test_every_file_of_a_folder_is_one_input(folder):
    inputs = sf.load_inputs(folder, read_as="bytes")
    assert inputs.x.tolist() == [b"\xff", b"\0\1", b""]
    assert inputs.ids == ("bad/a.bin", "good/a.bin", "good/b")
    assert inputs.class_names == ("bad", "good") and inputs.labels.tolist() == [0, 1, 1]
    flat = sf.load_inputs(folder / "good", read_as="text")
    assert flat.x.tolist() == ["\0\1", ""] and flat.labels is None


def test_a_folder_is_read_as_stated_or_refused(folder):
    for more, says in (
        ({"read_as": "text"}, "a.bin is not UTF-8.*--read-as bytes"),
        ({"read_as": "items"}, "as text or as bytes"),
        ({}, "no images.*--read-as bytes"),
        ({"read_as": "bytes", "scale": 2.0}, "scale=.*are for arrays"),
        ({"read_as": "bytes", "labels": [1]}, "labels of its own"),
    ):
        refused(says, sf.load_inputs, folder, **more)
    (folder / "beside").write_bytes(b"")
    refused("beside, beside folders, such as bad", sf.load_inputs, folder, read_as="bytes")
    (folder / "empty").mkdir()
    refused("holds no files", sf.load_inputs, folder / "empty", read_as="bytes")
    refused("is one file", sf.load_inputs, folder / "beside", read_as="bytes")
    refused("there is no data", sf.load_inputs, folder / "none", read_as="bytes")
