"""Loaders of torch, datasets of Hugging Face, and sources that do not end."""

import itertools

import numpy as np
import pytest
from PIL import Image

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs

PIXELS = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
Y = [0, 2, 1, 0]
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


def test_a_loader_that_shuffles_is_refused(rows, data):
    with pytest.raises(InvalidArgument, match="shuffle=False"):
        load_inputs(data.DataLoader(rows, batch_size=2, shuffle=True))
    sampler = data.RandomSampler(rows)
    for loader in (
        data.DataLoader(rows, sampler=sampler),
        data.DataLoader(rows, batch_sampler=data.BatchSampler(sampler, 2, drop_last=False)),
    ):
        with pytest.raises(InvalidArgument, match="shuffles"):
            load_inputs(loader)


def test_a_loader_of_a_stream_may_have_no_end(torch, data):
    class Endless(data.IterableDataset):
        def __iter__(self):
            return ((torch.zeros(3), i % 2) for i in itertools.count())

    loader = data.DataLoader(Endless(), batch_size=50)
    assert len(load_inputs(loader, first=120)) == 120


def test_rows_without_an_end_are_read_to_a_stated_maximum(monkeypatch):
    monkeypatch.setattr("surefoot.inputs.datasets._MOST_ROWS_WITHOUT_LENGTH", 100)
    with pytest.raises(InvalidArgument, match=r"more than 100 rows .* pass first="):
        load_inputs((np.zeros(3), i % 2) for i in itertools.count())
    inputs = load_inputs(((np.full(3, i), i % 2) for i in itertools.count()), first=150)
    assert len(inputs) == 150
    assert inputs.x[-1, 0] == 149
    assert "at most the first 150 rows" in inputs.reading
    monkeypatch.setattr("surefoot.inputs.datasets._MOST_BYTES_WITHOUT_LENGTH", 1000)
    with pytest.raises(InvalidArgument, match="does not say how long"):
        load_inputs((np.zeros(50), 0) for _ in itertools.count())
    with pytest.raises(InvalidArgument, match="first must be"):
        load_inputs([(np.zeros(3), 0)], first=0)


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
    with pytest.raises(InvalidArgument, match=r"index 1 is .*pass --size"):
        load_inputs(rows)
    inputs = load_inputs(rows, shape=(3, 6, 8))
    assert inputs.x.shape == (2, 6, 8, 3)
    assert "1 of 2 images resized to 6 × 8" in inputs.reading
    assert load_inputs(rows, size=(2, 2)).x.shape == (2, 2, 2, 3)


def test_a_palette_in_a_dataset_is_read_as_colours_and_not_as_numbers():
    image = Image.fromarray(np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)).convert("P")
    inputs = load_inputs([(image, 0)])
    np.testing.assert_allclose(inputs.x[0], np.asarray(image.convert("RGB")) / 255, rtol=1e-6)


def test_images_among_arrays_are_refused():
    with pytest.raises(InvalidArgument, match="index 1 is no image"):
        load_inputs([(Image.fromarray(PIXELS[0]), 0), (PIXELS[1], 1)])
    with pytest.raises(InvalidArgument, match="images in files and datasets only"):
        load_inputs([(PIXELS[0], 0)], size=(2, 2))
    with pytest.raises(InvalidArgument, match="for files of images or sounds"):
        load_inputs([(PIXELS[0], 0)], label_pattern="(a)")
