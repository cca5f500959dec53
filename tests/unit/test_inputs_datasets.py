"""Datasets by iteration, as torch and Hugging Face have them."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs

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


def test_the_source_is_called_by_its_kind():
    assert load_inputs(as_tensors()).source == "TensorDataset"


def test_ids_and_class_names_can_be_said():
    inputs = load_inputs(as_pairs(), ids=list("abcd"), class_names=["r", "s", "t"])
    assert inputs.ids == ("a", "b", "c", "d")
    assert inputs.class_names == ("r", "s", "t")


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
    with pytest.raises(InvalidArgument, match=match) as caught:
        load_inputs(Indexed(rows) if rows else rows)
    assert "\n" not in str(caught.value)
