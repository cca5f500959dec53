"""Regressors, detectors and other models without classes: how they are loaded."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.properties import BoxesKept, SameLabel
from surefoot.testing import check_model
from tests.refusals import failed, refused
from tests.unit.test_study_of_outputs import (
    IMAGES,
    METHOD,
    NOISE,
    QUICK,
    Ridge,
    X,
    detection,
    masks,
    regression,
    total,
)


@pytest.mark.parametrize("source", [total, Ridge().predict], ids=["function", "method"])
def test_a_regressor_is_no_classifier(source):
    refused(r"no probability: for a regressor .*close:10", sf.load_model, source, shape=(3,))


def test_a_model_of_values_does_what_every_model_must():
    check_model(sf.load_model(total, shape=(3,), scores="values"), X)
    images = np.random.default_rng(3).uniform(0, 1, (4, 5, 5)).astype(np.float32)
    check_model(sf.load_model(masks, shape=(5, 5), scores="values"), images)


def test_an_estimator_that_only_predicts_is_a_regressor_where_values_are_stated():
    refused("Ridge has predict, but no predict_proba", sf.load_model, Ridge())
    model = sf.load_model(Ridge(), scores="values")
    np.testing.assert_allclose(model.predict(X)[:, 0], total(X), rtol=1e-5)


def test_a_column_that_leaves_zero_to_one_on_the_data_alone_is_refused_too():
    model = sf.load_model(lambda x: x[:, :1] / 10, shape=(3,))  # looks like a probability
    study = regression(model=model, inputs=sf.load_inputs(X * 100), property=SameLabel())
    refused("which is no probability", study.run, **QUICK)


def test_probabilities_of_several_labels_are_one_column_each():
    class Several:
        n_features_in_ = 3

        def predict_proba(self, x):
            return [np.stack([1 - x[:, i], x[:, i]], axis=1) for i in range(2)]

    model = sf.load_model(Several(), scores="values")
    np.testing.assert_allclose(model.predict(X), X[:, :2])


@pytest.mark.parametrize(
    ("answer", "scores", "match"),
    [
        (lambda x: [{"a": 1}] * len(x), None, 'pass scores="objects"'),
        (lambda x: x[:3], "values", "first axis must be the batch"),
        (lambda x: np.array(["a"] * len(x)), "values", "numbers are needed"),
        (lambda x: x.astype(complex), "values", "real numbers are needed"),
        (lambda x: np.zeros((len(x), 0)), "values", "at least one value"),
        (lambda x: {"boxes": []}, "objects", "with one dict: let it return a list"),
        (lambda x: [1], "objects", "with 1 objects: let it return a list"),
        (
            lambda x: np.zeros((len(x), 2, 4, 4)),
            None,
            'load a model without classes with scores="values"',
        ),
    ],
)
def test_an_output_that_is_not_what_was_stated_is_refused(answer, scores, match):
    failed(match, sf.load_model, answer, shape=(3,), scores=scores)


class Target:
    """MAITE's ObjectDetectionTarget."""

    def __init__(self, side):
        self.boxes = np.array([[0.0, 0.0, side, 5.0]])
        self.labels = np.array([1])
        self.scores = np.array([[0.1, 0.9]])


class Detector:
    """MAITE's object detection model: a list of images in, a list of targets out."""

    metadata = {"id": "detector"}  # noqa: RUF012

    def __call__(self, batch):
        assert isinstance(batch, list)
        return [Target(1 + 8 * float(np.mean(one))) for one in batch]


class Dataset:
    """MAITE's object detection dataset."""

    metadata = {"id": "data", "index2label": {0: "car", 1: "person"}}  # noqa: RUF012

    def __len__(self):
        return len(IMAGES)

    def __getitem__(self, i):
        return IMAGES[i][None], Target(1 + 8 * float(IMAGES[i].mean())), {"id": f"image-{i}"}


def test_a_detector_and_a_dataset_of_maite_are_taken_as_they_are():
    maite = pytest.importorskip("maite.protocols.object_detection")
    assert isinstance(Detector(), maite.Model)
    assert isinstance(Dataset(), maite.Dataset)
    inputs = sf.load_inputs(Dataset())
    assert inputs.ids[0] == "image-0"
    assert inputs.class_names == ("car", "person")
    assert inputs.labels is None
    model = sf.load_model(Detector(), shape=(1, 12, 12), bounds=(0, 1), scores="objects")
    prop = BoxesKept(0.95, of="true")
    result = sf.Study(model, inputs, NOISE, METHOD, property=prop).run(**QUICK)
    plain = detection().run(**QUICK)
    assert 0 < result.claims[0].value <= 1
    assert [r.result.trials for r in result.inputs] == [r.result.trials for r in plain.inputs]


def test_the_one_hot_targets_of_a_maite_classification_are_labels():
    rows = [(x, np.eye(3)[i % 3], {"id": i}) for i, x in enumerate(X)]
    inputs = sf.load_inputs(rows)
    assert inputs.labels.tolist() == [i % 3 for i in range(8)]
    assert inputs.ids[7] == "7"


def test_a_detector_of_torch_gets_a_list_and_a_regressor_a_batch(torch):
    class Boxes(torch.nn.Module):
        def forward(self, images):
            assert isinstance(images, list)
            return [
                {
                    "boxes": torch.tensor([[0.0, 0.0, 1 + 8 * float(one.mean()), 5.0]]),
                    "labels": torch.tensor([1]),
                    "scores": torch.tensor([0.9]),
                }
                for one in images
            ]

    class Sum(torch.nn.Module):
        def forward(self, x):
            return 100 * x.sum(dim=1)

    model = sf.load_model(Boxes().eval(), shape=(12, 12), bounds=(0, 1), scores="objects")
    assert model.as_list
    study = sf.Study(model, sf.load_inputs(IMAGES), NOISE, METHOD, property=BoxesKept(0.95))
    assert study.run(**QUICK).claims[0].value > 0
    refused("for a regressor", sf.load_model, Sum().eval(), shape=(3,))
    values = sf.load_model(Sum().eval(), shape=(3,), scores="values")
    assert regression(model=values).run(**QUICK).claims[0].value > 0
