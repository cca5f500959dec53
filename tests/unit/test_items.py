"""Inputs that are text, bytes or other items: digests, loading, models, whole studies."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.subject.items import copy_item, item_digest, same_item

TEXTS = ["a good film", "a bad film", "", "good <b>bad</b> & good", "gööd 😀 good", "a good film"]
LABELS = [1, 0, 0, 1, 1, 1]


@dataclass(frozen=True)
class Record:
    text: str
    value: float


DIFFERENT = [
    "1", b"1", 1, 1.0, True, None, "", b"", bytearray(b"1"), "a\0b", "a", "\ud800", ("a", "b"),
    ["a", "b"], ("ab",), ("a", ("b",)), (), [], {}, {"a": 1}, {"a": 1.0}, {"a": 1, "b": 2},
    {"b": 2, "a": 1}, {1, 2}, frozenset({1, 2}), np.arange(3), np.arange(3.0), np.zeros((1, 3)),
    np.zeros((3, 1)), np.float32(1), np.array(["a", None], object), Record("a", 1.0),
    Record("a", 2.0), Image.new("L", (2, 3)), Image.new("L", (3, 2)), Image.new("RGB", (2, 3)),
    Image.new("L", (2, 3), 1), 1 + 2j,
]  # fmt: skip


def test_different_items_have_different_names_and_a_copy_has_the_same():
    names = [item_digest(item) for item in DIFFERENT]
    assert len(set(names)) == len(DIFFERENT)
    assert [item_digest(copy_item(item)) for item in DIFFERENT] == names


def test_an_item_has_the_same_name_in_another_process():
    item = {"text": "gööd", "set": {"a", "b", "c"}, "parts": [b"\0", 1.5, ("x",)]}
    code = (
        "from surefoot.subject.items import item_digest; "
        f"print(item_digest({item!r}))"  # hashes of texts differ between processes
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == item_digest(item)


def test_an_item_without_a_name_is_refused_with_the_way_out():
    class Anything:
        def __init__(self, word):
            self.word = word

    things = [Anything("good"), Anything("bad")]
    with pytest.raises(InvalidArgument, match=r"input 0: an item is Anything.*pass digest="):
        sf.load_inputs(things, [1, 0], read_as="items")
    inputs = sf.load_inputs(things, [1, 0], read_as="items", digest=lambda thing: thing.word)
    assert len(set(inputs.row_digests())) == 2
    assert inputs.subset([1]).row_digests() == inputs.row_digests()[1:]
    with pytest.raises(InvalidArgument, match="must return text or bytes"):
        sf.load_inputs(things, read_as="items", digest=lambda thing: 3)
    circle: list = []
    circle.append(circle)
    with pytest.raises(InvalidArgument, match="holds itself"):
        sf.load_inputs([circle], read_as="items")


def test_a_copy_of_an_item_can_be_written_to():
    item = {"words": ["a"]}
    copy_item(item)["words"].append("b")
    assert item == {"words": ["a"]}
    image = Image.new("L", (2, 2))
    copy_item(image).putpixel((0, 0), 9)
    assert image.getpixel((0, 0)) == 0


@pytest.mark.parametrize(
    "source",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        [text.encode() for text in TEXTS],
        [{"text": text} for text in TEXTS],
        [(text, 1) for text in TEXTS],
        [Image.new("L", (2 + i, 3)) for i in range(6)],
    ],
    ids=["list", "tuple", "array", "objects", "bytes", "dicts", "tuples", "images"],
)
def test_items_with_labels_are_inputs(source):
    inputs = sf.load_inputs(source, LABELS)
    assert inputs.holds_items and inputs.x.shape == (6,)
    assert all(same_item(item, one) for item, one in zip(inputs.x, source, strict=True))
    assert inputs.labels.tolist() == LABELS


def test_a_dataset_of_texts_and_labels_is_read():
    pairs = sf.load_inputs(list(zip(TEXTS, LABELS, strict=True)))
    rows = [{"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True)]
    assert pairs.x.tolist() == TEXTS and pairs.labels.tolist() == LABELS
    assert sf.load_inputs(rows).digest() == pairs.digest()


def test_numbers_stay_arrays():
    assert not sf.load_inputs([(1, 2), (3, 4)], [0, 1]).holds_items
    assert not sf.load_inputs([Image.new("L", (8, 8))] * 2, [0, 1]).holds_items
    assert sf.load_inputs([(1, 2), (3, 4)], [0, 1], read_as="items").holds_items


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"labels": [1]}, "6 inputs but 1 labels"),
        ({"ids": ["a"] * 6}, "as many different ids"),
        ({"scale": 255.0}, "for arrays and images"),
        ({"read_as": "words"}, "choose one of items, text, bytes"),
    ],
)
def test_what_does_not_fit_items_is_refused(more, says):
    with pytest.raises(InvalidArgument, match=says):
        sf.load_inputs(TEXTS, **more)
    with pytest.raises(InvalidArgument, match="holds no inputs"):
        sf.load_inputs(np.array([], dtype=object))


def test_replaced_fields_keep_items():
    inputs = replace(sf.load_inputs(TEXTS, LABELS), selection="some")
    assert inputs.subset([2, 0]).x.tolist() == ["", TEXTS[0]]
