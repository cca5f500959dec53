"""Labels that were shifted or renamed are noticed; honest labels are not doubted."""

import re
from itertools import permutations

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom, hypergeom

import surefoot as sf
from surefoot.core.reasons import Why
from surefoot.engine.label_check import _most_renamed as most_renamed
from surefoot.engine.label_check import label_doubt, names_doubt, permuted, shifted
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.preflight import examine
from surefoot.records.record import CleanAnswers
from surefoot.statistics.plausible import permutation_p, skill_is_small
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
        assert label_doubt(*world(300, classes, accuracy), classes) is None


def test_a_missing_class_that_shifted_the_others_is_named():
    """The case of folders 0 to 9 without 6 that were numbered by their place."""
    true, predicted = world()
    kept = true != 6
    doubt = label_doubt(np.where(true > 6, true - 1, true)[kept], predicted[kept], 10)
    accuracy, reading, question, way_out = doubt.values
    assert doubt.why is Why.LABELS_READ_OTHERWISE
    assert accuracy > 0.9
    assert reading == "the labels from 6 on read as one higher"
    assert question == "are the labels shifted?"
    assert "--class-names" in way_out


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (1, "every label read as one lower"),
        (-1, "every label read as one higher"),
    ],
)
def test_classes_counted_from_one_are_noticed(shift, words):
    true, predicted = world()
    kept = true + shift >= 0
    assert label_doubt((true + shift)[kept], predicted[kept], 11).values[1] == words


def test_classes_in_another_order_are_noticed_with_the_accuracy_they_would_have():
    """Folders 0 to 11 numbered in the order of their texts: 10 and 11 come before 2."""
    true, predicted = world(400, 12)
    place = np.argsort(sorted(range(12), key=str))
    doubt = label_doubt(place[true], predicted, 12)
    assert "(2 as 10, 3 as 11, 4 as 2, …)" in doubt.values[1]
    assert doubt.values[2] == "are the classes in another order?"
    check = permuted(place[true], predicted)
    assert check.accuracy == pytest.approx((true == predicted).mean(), abs=0.02)


def test_two_gaps_are_a_renaming_because_one_shift_explains_too_little():
    true, predicted = world(600)
    kept = ~np.isin(true, (3, 6))
    place = np.cumsum(~np.isin(np.arange(10), (3, 6))) - 1
    doubt = label_doubt(place[true][kept], predicted[kept], 10)
    assert doubt.values[1] == "the labels renamed (3 as 4, 4 as 5, 5 as 7, …)"


def test_two_labels_are_never_read_as_one():
    """A constant answer gains by merging all labels into one, but that is no relabelling."""
    labels = np.array([0] * 270 + [1] * 30)
    constant = np.zeros(300, np.int64)
    assert shifted(labels, constant, 2) is None
    for given in (labels, 1 - labels):
        assert label_doubt(given, constant, 2) == Why.ONE_CLASS_GIVEN.of(2)


def test_few_inputs_do_not_cry_wolf():
    """Ten inputs of ten classes can always be renamed to fit."""
    rng = np.random.default_rng(0)
    assert all(permuted(np.arange(10), rng.permutation(10)) is None for _ in range(50))
    assert label_doubt(np.array([0, 1, 1]), np.array([0, 1, 0]), 2) is None
    assert label_doubt(np.array([0, 1]), np.array([1, 0]), 2).why is Why.FEW_TO_DOUBT


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_where_no_renaming_is_better_none_is_proposed(classes):
    """All readings are equally good: the boundary. Allowed: .001 of the runs."""
    rng = np.random.default_rng(classes)
    runs, alarms = 300, 0
    for _ in range(runs):
        labels, predicted = rng.integers(0, classes, (2, 60))
        alarms += bool(shifted(labels, predicted, classes) or permuted(labels, predicted))
    assert binom.sf(alarms - 1, runs, 0.001) > 0.001


def test_a_reading_that_is_exactly_as_good_is_not_proposed():
    """Predictions are the label or the next one, equally often. Allowed: .001 of the runs."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 9, (600, 50))
    predicted = labels + rng.integers(0, 2, labels.shape)
    alarms = sum(
        bool(shifted(y, z, 10) or permuted(y, z)) for y, z in zip(labels, predicted, strict=True)
    )
    assert binom.sf(alarms - 1, 600, 0.001) > 0.001


@pytest.mark.parametrize("n", [30, 100, 300, 3000])
def test_three_classes_at_forty_percent_do_not_pass(n):
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 3
    for _ in range(20):
        right = rng.permutation(n) < round(0.4 * n)
        doubt = label_doubt(
            labels, np.where(right, labels, (labels + rng.integers(1, 3, n)) % 3), 3
        )
        assert doubt.why in (Why.LITTLE_SKILL, Why.CHANCE_EXPLAINS)


def test_fifteen_percent_of_ten_classes_is_doubted_and_96_beside_a_majority_of_95_is_not():
    assert label_doubt(*world(1000, 10, 0.15), 10).why is Why.LITTLE_SKILL
    labels = np.array([0] * 950 + [1] * 50)
    predicted = labels.copy()
    predicted[:10], predicted[950:980] = 1, 0  # 99 % of the majority, 40 % of the others
    assert (labels == predicted).mean() == 0.96
    assert label_doubt(labels, predicted, 2) is None
    chance = np.random.default_rng(0).permutation(labels)
    assert label_doubt(labels, chance, 2).why in (Why.LITTLE_SKILL, Why.CHANCE_EXPLAINS)


def test_fewer_than_thirty_inputs_are_only_remarked_upon():
    labels, predicted = np.arange(29) % 10, (np.arange(29) + np.arange(29) // 10 + 1) % 10
    assert label_doubt(labels, predicted, 10).why is Why.FEW_TO_DOUBT


def test_a_perfect_model_passes_though_one_input_alone_has_another_class():
    labels = np.array([0] * 39 + [1])
    assert label_doubt(labels, labels, 2) is None
    assert permutation_p(labels, labels) is None


def test_two_of_a_thousand_classes_are_no_two_class_problem():
    """Half of the cats and dogs are called something else: far better than a guess."""
    labels = np.array([207] * 50 + [281] * 50)
    predicted = np.where(np.arange(100) % 2, labels, np.arange(100) + 300)
    assert label_doubt(labels, predicted, 1000) is None


def test_the_permutation_test_is_fishers_where_there_are_two_classes():
    """Two classes with fixed margins: the hits are hypergeometric."""
    labels = np.repeat([0, 1], [40, 20])
    for moved in (10, 12, 13, 14):
        predicted = labels.copy()
        predicted[:moved], predicted[-moved:] = 1, 0
        p = hypergeom.sf(20 - moved - 1, 60, 20, 20)
        assert permutation_p(labels, predicted) == pytest.approx(p, abs=0.02 + 0.4 * p)


_SHARES = {"two": [0.5, 0.5], "ten": [0.1] * 10, "95 %": [0.95, 0.05], "uneven": [0.6, 0.3, 0.1]}


@pytest.mark.parametrize(("n", "mass"), [(30, "even"), (200, "first classes")])
@pytest.mark.parametrize("shares", _SHARES.values(), ids=_SHARES)
def test_a_model_of_a_quarter_of_the_skill_is_doubted_once_in_a_hundred_at_most(shares, n, mass):
    """At the boundary: the skill is just .25, in every class or all of it in the first ones."""
    rng, classes, runs = np.random.default_rng(n), len(shares), 60
    mean = 1 / classes + 0.25 * (1 - 1 / classes)
    recall = np.full(classes, mean)
    if mass != "even":
        recall = np.clip(classes * mean - np.arange(classes), 0, 1)
    doubted = 0
    for _ in range(runs):
        labels = rng.permutation(
            np.concatenate([np.arange(classes), rng.choice(classes, n, p=shares)])
        )
        wrong = (labels + rng.integers(1, classes, len(labels))) % classes
        predicted = np.where(rng.random(len(labels)) < recall[labels], labels, wrong)
        doubted += skill_is_small(labels, predicted)
    assert binom.sf(doubted - 1, runs, 0.01) > 0.001


def test_inputs_of_one_class_are_doubted_where_hardly_one_gets_it():
    labels = np.full(40, 7)
    assert label_doubt(labels, labels, 10) is None
    assert label_doubt(labels, np.full(40, 3), 10).why is Why.LABELS_READ_OTHERWISE
    assert label_doubt(labels, np.arange(40) % 10, 10).why is Why.LITTLE_SKILL


def test_the_preflight_says_what_the_labels_would_have_to_be():
    inputs = points(60)
    turned = sf.load_inputs(inputs.x, 1 - inputs.labels)
    check = {c.name: c for c in examine(turned, linear_model(), None)}[NAME]
    assert check.status is CheckStatus.WARNING
    assert (check.clean.right, check.clean.inputs) == (0, 60)
    assert check.clean.doubt.values[:2] == (1.0, "the labels renamed (0 as 1, 1 as 0)")


@pytest.mark.parametrize(
    ("hits", "why"), [(5, Why.LABELS_READ_OTHERWISE), (60, Why.PREPARED_OTHERWISE)]
)
def test_of_two_cures_the_one_with_which_more_are_right_is_said(hits, why, monkeypatch):
    """Labels that are turned round, and a preparation that puts some of them right by chance."""
    prepared = Why.PREPARED_OTHERWISE.of("0.5/0.5", hits, 0, 60)
    monkeypatch.setattr("surefoot.engine.preflight.preparation_doubt", lambda *_, **__: prepared)
    inputs = points(59)
    turned = sf.load_inputs(inputs.x, 1 - inputs.labels)
    check = {c.name: c for c in examine(turned, linear_model(), None)}[NAME]
    assert check.clean.doubt.why is why


@pytest.mark.parametrize(
    ("classes", "number", "said"), [(1, 10, True), (1, 9, False), (2, 10, False)]
)
def test_one_answer_for_all_inputs_is_said_where_no_labels_say_whether_it_is_right(
    classes, number, said
):
    def few_classes(x):
        return np.eye(3)[(classes - 1) * (x[:, 0] > 0.5).astype(int)]

    x = np.linspace(0, 1, number, dtype=np.float32)[:, None]
    model = sf.load_model(few_classes, shape=(1,), bounds=(0, 1))
    check = {c.name: c for c in examine(sf.load_inputs(x), model, None)}[NAME]
    assert check.status is CheckStatus.WARNING
    assert (f"all {number} inputs class 0" in check.finding) is said


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
        return next(c.clean for c in checks if c.name == NAME)

    way_out = finding().doubt.values[3]
    proposed = re.search(r"--class-names (\S+) \(class_names=\)", way_out)[1]
    assert finding(class_names=proposed) == CleanAnswers(60, 60)


def test_numbers_get_the_line_that_renumbers_them():
    true, predicted = world(300, 3)
    order = np.array([2, 0, 1])
    way_out = label_doubt(order[true], predicted, 3).values[3]
    line = re.search(r"y = np\.array\(\[(.*)\]\)\[y\]", way_out)[1]
    again = np.array([int(k) for k in line.split(",")])[order[true]]
    assert (again == true).all()


def test_no_renaming_hits_more_than_the_bound():
    rng = np.random.default_rng(4)
    for _ in range(50):
        labels, predicted = rng.integers(0, 4, 20), rng.integers(0, 4, 20)
        best = max((np.array(p)[labels] == predicted).sum() for p in permutations(range(4)))
        assert most_renamed(labels, predicted) >= best
    assert most_renamed(np.arange(4), np.zeros(4, int)) == 1
