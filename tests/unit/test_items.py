"""Inputs that are text, bytes or other items: files, digests, loading, and whole studies."""

import csv
import json
import random
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.subject.items import copy_item, item_digest, same_item
from tests.refusals import failed, refused

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
    refused("holds itself", sf.load_inputs, [circle], read_as="items")


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
    refused(says, sf.load_inputs, TEXTS, **more)
    refused("holds no inputs", sf.load_inputs, np.array([], dtype=object))


QUICK = sf.methods.ExactSequential(0.2, 0.1)


def classify(texts):
    assert isinstance(texts, list)
    good = np.array([text.count("good") for text in texts], float)
    return np.stack([0.5 - good, good - 0.5], axis=1)


def replace_letters(text, rng, level):
    return "".join("#" if rng.random() < level else letter for letter in text)


def study(texts=TEXTS, labels=LABELS, perturbation=None, method=QUICK, **more):
    inputs = sf.load_inputs(texts, labels, **more)
    model = sf.load_model(classify, examples=inputs)
    return sf.Study(model, inputs, perturbation or sf.perturb.custom(replace_letters, 0.2), method)


def test_neither_batch_nor_order_nor_workers_nor_resume_change_a_result(tmp_path):
    whole = study().run(batch=64, workers=1)
    rows = {row.id: row for row in whole.inputs}
    for options in ({"batch": 1}, {"batch": 3, "workers": 2}, {"batch": 4096, "workers": 3}):
        assert study().run(**options).record.inputs == whole.record.inputs
    backwards = study(TEXTS[::-1], LABELS[::-1], ids=[f"{i}" for i in range(6)][::-1])
    assert backwards.digest == study(ids=[f"{i}" for i in range(6)]).digest
    assert {row.id: row for row in backwards.run().inputs} == rows
    store = str(tmp_path / "s.db")

    class Stopped(BaseException):
        pass

    def stop(progress):
        if progress.trials:
            raise Stopped

    with pytest.raises(Stopped):
        study().run(store, batch=4, on_progress=stop)
    resumed = study().run(store, batch=7)
    assert resumed.record.inputs == whole.record.inputs
    assert study().run(store).from_store


def test_the_same_text_twice_has_trials_of_its_own():
    """The name of an input is its id: two equal texts are two draws of the population."""
    one = study()
    assert {one.replay("0", i).perturbed for i in range(20)} != {
        one.replay("5", i).perturbed for i in range(20)
    }
    assert one.replay("0", 3).perturbed == one.replay("0", 3).perturbed
    assert one.replay("2", 3).perturbed == ""


def test_other_texts_labels_functions_and_levels_are_other_studies():
    def other(text, rng, level):
        return text[: int(len(text) * (1 - level))]

    digests = {
        study().digest,
        study(["a good film.", *TEXTS[1:]]).digest,
        study(labels=[0, *LABELS[1:]]).digest,
        study(perturbation=sf.perturb.custom(replace_letters, 0.3)).digest,
        study(perturbation=sf.perturb.custom(replace_letters, (0, 0.2))).digest,
        study(perturbation=sf.perturb.custom(other, 0.2)).digest,
    }
    assert len(digests) == 6


def test_an_estimator_of_texts_works_as_it_is():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(text.TfidfVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)
    inputs = sf.load_inputs(TEXTS, LABELS)
    model = sf.load_model(pipeline, examples=inputs)
    assert model.signature.scores == "probabilities" and model.signature.shape == ()
    np.testing.assert_array_equal(model.predict(inputs.x), pipeline.predict_proba(TEXTS))
    perturbation = sf.perturb.custom(replace_letters, 0.1)
    assert sf.Study(model, inputs, perturbation, QUICK).run().claims


def test_a_model_that_writes_into_its_items_changes_nobodys():
    def careless(rows):
        words = np.array([len(row["words"]) for row in rows], float)
        for row in rows:
            row["words"].clear()
        return np.stack([2.5 - words, words - 2.5], axis=1)

    def drop(row, rng, level):
        row["words"] = [word for word in row["words"] if rng.random() >= level]
        return row

    rows = [{"words": list("abcdef")}, {"words": ["a"]}]
    inputs = sf.load_inputs(rows, [1, 0])
    model = sf.load_model(careless, examples=inputs)
    result = sf.Study(model, inputs, sf.perturb.custom(drop, 0.3), QUICK).run()
    assert rows == [{"words": list("abcdef")}, {"words": ["a"]}]
    assert result.inputs[0].result.trials > 10


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sf.load_model(classify), "pass shape="),
        (lambda: sf.load_model(classify, examples=[]), "at least one item"),
        (lambda: sf.load_model(classify, examples="text"), "must be a few items"),
        (lambda: sf.load_model(classify, examples=TEXTS, bounds=(0, 1)), "bounds is for arrays"),
        (lambda: sf.load_model(classify, examples=TEXTS, mean=0.5), "mean or std is for arrays"),
        (lambda: sf.load_model(classify, examples=TEXTS, shape=(3,)), "shape is for arrays"),
        (lambda: sf.load_model(3, examples=TEXTS), "cannot classify items"),
        (lambda: study(perturbation=sf.perturb.LinfNoise(0.1)), "linf is for arrays of numbers"),
        (lambda: study(perturbation=sf.perturb.GaussianBlur(1.0)), "holds text"),
        (lambda: study(perturbation=sf.perturb.custom(lambda x, u, level: x, 1.0)), "rng, level"),
        (lambda: study(perturbation=sf.perturb.Chain((sf.perturb.LinfNoise(0.1),))), "linf is for"),
        (lambda: study(method=sf.methods.CriticalLevel()), "around an array of numbers"),
        (lambda: study(method=sf.methods.SequentialCurve(0, 1, (0.8,))),
         r"leave out the level 0.2 of replace-letters, as in sf.perturb.custom\(replace_letters\)"),
        (lambda: study(perturbation=sf.perturb.custom(replace_letters)), "level=0.1"),
    ],
)  # fmt: skip
def test_what_needs_numbers_or_says_too_little_is_refused(make, says):
    refused(says, make)


def test_items_and_models_of_arrays_do_not_mix():
    texts = sf.load_inputs(TEXTS, LABELS)
    arrays = sf.load_inputs(np.zeros((2, 1), np.float32), [0, 1])
    of_arrays = sf.load_model(lambda x: np.hstack([x, -x]), shape=(1,))
    of_texts = sf.load_model(classify, examples=texts)
    noise = sf.perturb.custom(replace_letters, 0.1)
    refused(r"takes arrays of shape .1,.*holds text", sf.Study, of_arrays, texts, noise, QUICK)
    refused(r"takes a list of items.*arrays of shape", sf.Study, of_texts, arrays, noise, QUICK)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda text, rng, level: None, "must return str, as it was given, got NoneType"),
        (lambda text, rng, level: text.encode(), "must return str, as it was given, got bytes"),
        (lambda text, rng, level: text[99], "raised IndexError"),
        (lambda text, rng, level: text + str(random.random()), "gives two results"),
    ],
)
def test_a_function_that_breaks_a_rule_stops_the_run(function, says):
    refused(says, study(perturbation=sf.perturb.custom(function, 0.1)).run)


def test_a_model_that_answers_nonsense_is_named():
    with pytest.raises(ModelFailed, match="scores of the classes are needed"):
        sf.load_model(lambda texts: np.array(["pos"] * len(texts)), examples=TEXTS)
    failed("answered 6 inputs", sf.load_model, lambda texts: np.zeros((1, 2)), examples=TEXTS)


def test_a_curve_of_texts_begins_at_level_0():
    method = sf.methods.SequentialCurve(0, 1, (0.8,), error=0.1, resolution=0.1)
    result = study(perturbation=sf.perturb.custom(replace_letters), method=method).run(batch=512)
    assert result.claims[0].kind == "curve_set"

    def always(text, rng, level):
        return text + "!"

    with pytest.raises(InvalidArgument, match="next to level 0 the function changes input"):
        study(perturbation=sf.perturb.custom(always), method=method).run()


def test_chains_mixtures_and_random_levels_of_functions_are_perturbations_of_items():
    def upper(text, rng, level):
        return text.upper() if rng.random() < level else text

    parts = (sf.perturb.custom(replace_letters, 0.2), sf.perturb.custom(upper, 0.5))
    for perturbation in (sf.perturb.Chain(parts), sf.perturb.Mixture(parts)):
        one = study(perturbation=perturbation)
        texts = {one.replay("0", i).perturbed for i in range(40)}
        assert len(texts) > 5 and any(text.isupper() for text in texts)
    random_level = sf.perturb.custom(replace_letters, level=(0, 1))
    lengths = [
        study(perturbation=random_level).replay("0", i).perturbed.count("#") for i in range(60)
    ]
    assert min(lengths) <= 1 and max(lengths) >= 9


LINES = ["a good film", 'with "quotes", commas', "", "two\nlines", "separator \u2028 é😀", "tab\t"]
WORDS = ["pos", "neg", "neg", "pos", "pos", "neg"]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_texts_of_a_jsonl_file_are_read_as_they_are(tmp_path):
    path = tmp_path / "reviews.jsonl"
    write_jsonl(
        path, [{"text": t, "label": y, "more": 1} for t, y in zip(LINES, WORDS, strict=True)]
    )
    inputs = sf.load_inputs(path)
    assert inputs.x.tolist() == LINES
    assert inputs.class_names == ("neg", "pos") and inputs.labels.tolist() == [1, 0, 0, 1, 1, 0]
    assert inputs.ids == ("0", "1", "2", "3", "4", "5")
    write_jsonl(path, [{"text": t, "id": f"r{i}"} for i, t in enumerate(LINES)])
    inputs = sf.load_inputs(path)
    assert inputs.labels is None and inputs.ids[0] == "r0"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "label": 0}\r\n{"text": "b", "label": 3}')
    assert sf.load_inputs(path).x.tolist() == ["a", "b"]


def test_a_csv_file_with_text_and_label_is_read(tmp_path):
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(LINES, WORDS, strict=True)])
    inputs = sf.load_inputs(path)
    assert inputs.x.tolist() == LINES and inputs.labels.tolist() == [1, 0, 0, 1, 1, 0]
    same = tmp_path / "same.jsonl"
    write_jsonl(same, [{"text": t, "label": y} for t, y in zip(LINES, WORDS, strict=True)])
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
