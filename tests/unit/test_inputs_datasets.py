"""Datasets by iteration, as torch and Hugging Face have them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs
from tests.refusals import refused

torch = pytest.importorskip("torch")

X = np.arange(24, dtype=np.float32).reshape(4, 6) / 24
Y = [0, 2, 1, 0]


class Indexed:
    """Only `__len__` and `__getitem__`, as torch asks for."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        if i >= len(self.rows):
            raise RuntimeError("asked beyond the end")
        return self.rows[i]


class Iterated(Indexed):
    """Rows as dicts, with `features`, as Hugging Face gives them."""

    def __init__(self, rows, names=()):
        super().__init__(rows)
        self.features = {"label": SimpleNamespace(names=list(names))}

    def __iter__(self):
        return iter(self.rows)


def as_tensors():
    return torch.utils.data.TensorDataset(torch.from_numpy(X), torch.tensor(Y))


def as_pairs():
    return Indexed(list(zip(X, Y, strict=True)))


def as_list():
    return [[list(row), label] for row, label in zip(X, Y, strict=True)]


def as_generator():
    return ((row, label) for row, label in zip(X, Y, strict=True))


def as_subset():
    return torch.utils.data.Subset(as_tensors(), range(4))


def as_dicts():
    return Iterated([{"image": row, "label": label} for row, label in zip(X, Y, strict=True)])


@pytest.mark.parametrize("make", [as_tensors, as_pairs, as_list, as_generator, as_subset, as_dicts])
def test_every_kind_of_dataset_gives_the_same_inputs(make):
    inputs = load_inputs(make())
    np.testing.assert_array_equal(inputs.x, X)
    np.testing.assert_array_equal(inputs.labels, Y)
    assert inputs.ids == ("0", "1", "2", "3")
    assert inputs.digest() == load_inputs(X, Y).digest()


@pytest.mark.parametrize("point", ["image", "img", "pixel_values", "x", "input", "features"])
@pytest.mark.parametrize("label", ["label", "labels", "y", "target", "fine_label"])
def test_the_usual_keys_of_a_row_are_known(point, label):
    rows = [{"id": 7, point: row, label: y} for row, y in zip(X, Y, strict=True)]
    inputs = load_inputs(Iterated(rows))
    np.testing.assert_array_equal(inputs.x, X)
    np.testing.assert_array_equal(inputs.labels, Y)


def test_class_names_come_from_the_dataset_where_it_has_them():
    rows = [{"image": row, "label": y} for row, y in zip(X, Y, strict=True)]
    assert load_inputs(Iterated(rows, ["r", "s", "t"])).class_names == ("r", "s", "t")
    torchvision_like = as_pairs()
    torchvision_like.classes = ["u", "v", "w"]
    assert load_inputs(torchvision_like).class_names == ("u", "v", "w")


@pytest.mark.parametrize("features", [torch.ones(3, 2), ["a", "b"], X, None, {"image": 1}])
def test_a_dataset_may_call_anything_features(features):
    dataset = as_pairs()
    dataset.features = features
    assert load_inputs(dataset).class_names == ()


def test_images_in_a_dataset_are_pixels():
    pixels = np.arange(60, dtype=np.uint8).reshape(2, 5, 6)
    rows = [{"image": Image.fromarray(p), "label": 1} for p in pixels]
    inputs = load_inputs(Iterated(rows))
    np.testing.assert_allclose(inputs.x, pixels / 255, rtol=1e-6)
    np.testing.assert_array_equal(load_inputs(Iterated(rows), scale=1).x, pixels)
    assert inputs.frame == (5, 6)


def test_labels_may_be_missing():
    assert load_inputs(Iterated([{"image": row} for row in X])).labels is None
    assert load_inputs([(row, None) for row in X]).labels is None


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([], "holds no inputs"),
        ([(X[0], 0), (X[1][:3], 1)], r"shapes \(3,\) and \(6,\): resize"),
        ([{"caption": "hello", "label": 0}], "holds caption, label: none is called image"),
        ([X[0]], "give .input, label. pairs or dicts"),
        ([(X[0], 0, 1)], "give .input, label. pairs or dicts"),
        (["path/to/a.png"], "a row of the dataset is str"),
        ([(X[0], 0.5)], r"index 0: label 0\.5 is no whole number"),
        ([(X[0], 0), (X[1], None)], "index 1 has no label"),
        ([(X[0], 0), (X[1], np.nan)], "index 1: label nan is missing"),
        ([(X[0], -1)], "negative"),
        ([(X[0] * np.nan, 0)], "NaN"),
    ],
)
def test_a_dataset_that_makes_no_inputs_is_one_sentence(rows, match):
    refused(match, load_inputs, Indexed(rows) if rows else rows)


PIXELS = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
NAMES = ["ant", "bee", "cat"]


@pytest.fixture
def data(torch):
    return pytest.importorskip("torch.utils.data")


@pytest.fixture
def rows(torch, data):
    return data.TensorDataset(torch.from_numpy(PIXELS), torch.tensor(Y))


@pytest.mark.parametrize("size", [1, 3, 4, None])
def test_a_loader_gives_the_rows_of_its_batches(size, rows, data):
    inputs = load_inputs(data.DataLoader(rows, batch_size=size))
    assert inputs.digest() == load_inputs(PIXELS, Y).digest()
    np.testing.assert_array_equal(inputs.labels, Y)


def test_a_loader_of_dicts_and_its_class_names(data):
    class Named(data.Dataset):
        classes = NAMES

        def __len__(self):
            return 4

        def __getitem__(self, i):
            return {"image": PIXELS[i], "label": Y[i]}

    inputs = load_inputs(data.DataLoader(Named(), batch_size=2))
    assert inputs.class_names == tuple(NAMES)
    np.testing.assert_array_equal(inputs.labels, Y)


def test_a_loader_of_a_stream_may_have_no_end(torch, data):
    class Endless(data.IterableDataset):
        def __iter__(self):
            return ((torch.zeros(3), i % 2) for i in itertools.count())

    loader = data.DataLoader(Endless(), batch_size=50)
    assert len(load_inputs(loader, first=120)) == 120


def test_rows_without_an_end_are_read_to_a_stated_maximum(monkeypatch):
    monkeypatch.setattr("surefoot.inputs.load._MOST_ROWS_WITHOUT_LENGTH", 100)
    with pytest.raises(InvalidArgument, match=r"more than 100 rows .* pass first="):
        load_inputs((np.zeros(3), i % 2) for i in itertools.count())
    inputs = load_inputs(((np.full(3, i), i % 2) for i in itertools.count()), first=150)
    assert len(inputs) == 150
    assert inputs.x[-1, 0] == 149
    assert "at most the first 150 rows" in inputs.reading
    monkeypatch.setattr("surefoot.inputs.load._MOST_BYTES_WITHOUT_LENGTH", 1000)
    with pytest.raises(InvalidArgument, match="does not say how long"):
        load_inputs((np.zeros(50), 0) for _ in itertools.count())
    refused("first must be", load_inputs, [(np.zeros(3), 0)], first=0)


def as_images(pixels):
    return [Image.fromarray(p) for p in pixels]


def hugging_face(columns, **features):
    datasets = pytest.importorskip("datasets")
    label = {"label": datasets.ClassLabel(names=NAMES)} if "label" in columns else {}
    kinds = {"image": datasets.Image(), **label, **features}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


@pytest.mark.parametrize("form", [None, "numpy", "torch"])
@pytest.mark.filterwarnings("ignore")
def test_a_dataset_of_hugging_face_is_read_as_it_is(form, torch):
    dataset = hugging_face({"image": as_images(PIXELS), "label": Y})
    inputs = load_inputs(dataset if form is None else dataset.with_format(form))
    np.testing.assert_allclose(inputs.x.reshape(PIXELS.shape), PIXELS / 255, rtol=1e-6)
    np.testing.assert_array_equal(inputs.labels, Y)
    assert inputs.class_names == tuple(NAMES)
    assert inputs.source == "Dataset"


@pytest.mark.filterwarnings("ignore")
def test_names_come_from_the_column_that_holds_the_labels():
    datasets = pytest.importorskip("datasets")
    fine = datasets.ClassLabel(names=["x", "y", "z"])
    dataset = hugging_face({"image": as_images(PIXELS), "fine_label": Y}, fine_label=fine)
    assert load_inputs(dataset).class_names == ("x", "y", "z")


@pytest.mark.filterwarnings("ignore")
def test_several_splits_are_refused_with_their_names():
    datasets = pytest.importorskip("datasets")
    one = hugging_face({"image": as_images(PIXELS), "label": Y})
    with pytest.raises(InvalidArgument, match=r"train, test.*dataset\['test'\]"):
        load_inputs(datasets.DatasetDict({"train": one, "test": one}))
    stream = one.to_iterable_dataset()
    np.testing.assert_array_equal(load_inputs(stream).labels, Y)
    assert len(load_inputs(stream, first=2)) == 2


def test_images_of_a_dataset_are_resized_to_what_the_model_takes():
    wide = Image.fromarray(np.zeros((3, 9, 3), np.uint8))
    rows = [(Image.fromarray(PIXELS[0]), 0), (wide, 1)]
    refused(r"index 1 is .*pass --size", load_inputs, rows)
    inputs = load_inputs(rows, shape=(3, 6, 8))
    assert inputs.x.shape == (2, 6, 8, 3)
    assert "1 of 2 images resized to 6 × 8" in inputs.reading
    assert load_inputs(rows, size=(2, 2)).x.shape == (2, 2, 2, 3)


def test_a_palette_in_a_dataset_is_read_as_colours_and_not_as_numbers():
    image = Image.fromarray(np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)).convert("P")
    inputs = load_inputs([(image, 0)])
    np.testing.assert_allclose(inputs.x[0], np.asarray(image.convert("RGB")) / 255, rtol=1e-6)


def test_images_among_arrays_are_refused():
    refused("index 1 is no image", load_inputs, [(Image.fromarray(PIXELS[0]), 0), (PIXELS[1], 1)])
    refused("images in files and datasets only", load_inputs, [(PIXELS[0], 0)], size=(2, 2))
    refused("for files of images or sounds", load_inputs, [(PIXELS[0], 0)], label_pattern="(a)")
