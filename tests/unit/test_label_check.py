"""Labels that were shifted or renamed are noticed; honest labels are not doubted."""

import re

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom

import surefoot as sf
from surefoot.engine.input_check import guessed, label_doubt, names_doubt, permuted, shifted
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.preflight import examine
from tests.worlds import SHAPE, linear_model, points

NAME = "labels and clean accuracy"


def world(n=300, classes=10, accuracy=0.95, seed=0):
    """True classes and what a model of this accuracy predicts; its mistakes go anywhere."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, classes, n)
    wrong = (true + rng.integers(1, classes, n)) % classes
    return true, np.where(rng.random(n) < accuracy, true, wrong)


def test_honest_labels_are_not_doubted():
    for classes, accuracy in [(10, 0.95), (10, 0.5), (3, 0.7), (2, 0.8), (1000, 0.4)]:
        assert label_doubt(*world(300, classes, accuracy), classes) == ""


def test_a_missing_class_that_shifted_the_others_is_named():
    """The case of folders 0 to 9 without 6 that were numbered by their place."""
    true, predicted = world()
    kept = true != 6
    message = label_doubt(np.where(true > 6, true - 1, true)[kept], predicted[kept], 10)
    assert (
        "with the labels from 6 on read as one higher (6 as 7, 7 as 8, …) it would be 9" in message
    )
    assert "are the labels shifted?" in message
    assert "--class-names" in message


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (1, "every label read as one lower (1 as 0, 2 as 1, …)"),
        (-1, "every label read as one higher (0 as 1, 1 as 2, …)"),
    ],
)
def test_classes_counted_from_one_are_noticed(shift, words):
    true, predicted = world()
    kept = true + shift >= 0
    assert words in label_doubt((true + shift)[kept], predicted[kept], 11)


def test_classes_in_another_order_are_noticed_with_the_accuracy_they_would_have():
    """Folders 0 to 11 numbered in the order of their texts: 10 and 11 come before 2."""
    true, predicted = world(400, 12)
    place = np.argsort(sorted(range(12), key=str))
    message = label_doubt(place[true], predicted, 12)
    assert "(2 as 10, 3 as 11, 4 as 2, …)" in message
    assert "are the classes in another order?" in message
    check = permuted(place[true], predicted)
    assert check.accuracy == pytest.approx((true == predicted).mean(), abs=0.02)


def test_two_gaps_are_a_renaming_because_one_shift_explains_too_little():
    true, predicted = world(600)
    kept = ~np.isin(true, (3, 6))
    place = np.cumsum(~np.isin(np.arange(10), (3, 6))) - 1
    message = label_doubt(place[true][kept], predicted[kept], 10)
    assert "the labels renamed (3 as 4, 4 as 5, 5 as 7, …) it would be 9" in message


def test_two_labels_are_never_read_as_one():
    """A constant answer gains by merging all labels into one, but that is no relabelling."""
    labels = np.array([0] * 270 + [1] * 30)
    constant = np.zeros(300, np.int64)
    assert shifted(labels, constant, 2) is None
    for given in (labels, 1 - labels):
        message = label_doubt(given, constant, 2)
        assert message.startswith(
            ", no better than always answering the most frequent class (90.0 %)"
        )


def test_few_inputs_do_not_cry_wolf():
    """Ten inputs of ten classes can always be renamed to fit."""
    rng = np.random.default_rng(0)
    assert all(permuted(np.arange(10), rng.permutation(10)) is None for _ in range(50))
    assert label_doubt(np.array([0, 1, 1]), np.array([0, 1, 0]), 2) == ""
    assert label_doubt(np.array([0, 1]), np.array([1, 0]), 2) == ""


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_where_no_renaming_is_better_none_is_proposed(classes):
    """All readings are equally good: the boundary. Allowed: .001 of the runs."""
    rng = np.random.default_rng(classes)
    runs, alarms = 1000, 0
    for _ in range(runs):
        labels, predicted = rng.integers(0, classes, (2, 60))
        alarms += bool(shifted(labels, predicted, classes) or permuted(labels, predicted))
    assert binom.sf(alarms - 1, runs, 0.001) > 0.001


def test_a_reading_that_is_exactly_as_good_is_not_proposed():
    """Predictions are the label or the next one, equally often. Allowed: .001 of the runs."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 9, (2000, 50))
    predicted = labels + rng.integers(0, 2, labels.shape)
    alarms = sum(
        bool(shifted(y, z, 10) or permuted(y, z)) for y, z in zip(labels, predicted, strict=True)
    )
    assert binom.sf(alarms - 1, 2000, 0.001) > 0.001


@pytest.mark.parametrize("n", [30, 100, 300, 3000])
def test_three_classes_at_forty_percent_do_not_pass(n):
    assert "better than" in guessed(round(0.4 * n), np.arange(n) % 3, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 40, 200])
@pytest.mark.parametrize("shares", [(1,), (1, 1), (1, 1, 1), (9, 1), (98, 1, 1)])
def test_a_model_halfway_to_perfect_is_doubted_once_in_a_hundred_at_most(n, shares):
    """Exactly: the probability of all counts of hits that lead to the remark."""
    labels = np.repeat(np.arange(len(shares)), shares)[np.arange(n) * sum(shares) // n]
    classes = 10
    frequent = np.bincount(labels).max() / n
    chance = max(1 / classes, frequent if frequent < 1 else 0)
    doubted = [hits for hits in range(n + 1) if guessed(hits, labels, classes)]
    assert binom.pmf(doubted, n, (1 + chance) / 2).sum() <= 0.01 + 1e-12


def test_inputs_of_one_class_are_compared_with_guessing_only():
    assert guessed(24, np.full(30, 7), 10) == ""
    assert "no better than guessing (10.0 %)" in guessed(2, np.full(30, 7), 10)


def test_the_preflight_says_what_the_labels_would_have_to_be():
    inputs = points(60)
    turned = sf.load_inputs(inputs.x, 1 - inputs.labels)
    check = {c.name: c for c in examine(turned, linear_model(), None)}[NAME]
    assert check.status is CheckStatus.WARNING
    assert "0.0 % of 60 clean inputs get their true label; with the labels renamed" in check.finding
    assert "(0 as 1, 1 as 0) it would be 100.0 %" in check.finding


def test_the_preflight_refuses_names_of_fewer_classes_than_the_model_has():
    """Of three classes only two are in the data: alphabetical numbers may be wrong."""
    model = sf.load_model(lambda x: x[:, :3], shape=SHAPE)
    inputs = sf.load_inputs(np.eye(6)[[0, 1] * 5], ["ant", "bee"] * 5)
    check = {c.name: c for c in examine(inputs, model, None)}[NAME]
    assert check.status is CheckStatus.FAILED
    assert "the data name 2 classes and the model has 3" in check.finding
    assert names_doubt(3, 3) == names_doubt(0, 3) == ""


def bright_first(x):
    """Class 0 is bright, class 1 is dark."""
    brightness = x.reshape(len(x), -1).mean(axis=1) - 0.5
    return np.stack([brightness, -brightness], axis=1)


def files_of_two_classes(folder, kind):
    """Sixty inputs, of which `ant` is dark and so the model's class 1, and `bee` bright."""
    values, names = np.tile([20, 230], 30).astype(np.uint8), ["ant", "bee"] * 30
    if kind == "folder":
        for i, (value, name) in enumerate(zip(values, names, strict=True)):
            (folder / name).mkdir(exist_ok=True)
            Image.fromarray(np.full((2, 2), value)).save(folder / name / f"{i}.png")
        return {"source": folder}
    if kind == "array":
        return {"source": values[:, None], "labels": names}
    numbers = {"ant": "0", "bee": "1"} if kind == "numbers" else {}
    rows = zip(values / 255, names, strict=True)
    text = "".join(f"{v},{numbers.get(name, name)}\n" for v, name in rows)
    (folder / "t.csv").write_text("a,kind\n" + text)
    return {"source": folder / "t.csv", "labels": "kind"}


@pytest.mark.parametrize("kind", ["folder", "array", "table", "numbers"])
def test_the_proposed_class_names_put_the_labels_right(kind, tmp_path):
    data = files_of_two_classes(tmp_path, kind)
    shape = sf.load_inputs(**data).x.shape[1:]
    model = sf.load_model(bright_first, shape=shape, bounds=(0, 1))

    def finding(**how):
        checks = examine(sf.load_inputs(**data, **how), model, None)
        return next(c.finding for c in checks if c.name == NAME)

    proposed = re.search(r"--class-names (\S+) \(class_names=\)", finding())[1]
    assert finding(class_names=proposed) == "100.0 % of 60 clean inputs get their true label"


def test_numbers_get_the_line_that_renumbers_them():
    true, predicted = world(300, 3)
    order = np.array([2, 0, 1])
    message = label_doubt(order[true], predicted, 3)
    line = re.search(r"y = np\.array\(\[(.*)\]\)\[y\]", message)[1]
    again = np.array([int(k) for k in line.split(",")])[order[true]]
    assert (again == true).all()
