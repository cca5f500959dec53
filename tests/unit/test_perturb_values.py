"""Noise on tables: each feature in its own units, as its description says."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb.table import TableNoise
from surefoot.perturb.table_columns import Feature, OneHot, describe_misfits, load_features
from surefoot.testing import check_perturbation
from tests.refusals import refused

AGE = Feature("age", 2.0, low=0, high=120, whole=True)
DOSE = Feature("dose", 0.5, shape="uniform")
SEX = Feature("sex", 0.25, values=(0, 1))
GRADE = Feature("grade", 0.5, values=(1, 2, 5, 7))
SITE = Feature("site")
HUE = OneHot(("red", "green", "blue"), 0.4)
SIZE = OneHot(("small", "large"), 0.2)
WEIGHT = Feature("weight", 3.0, low=40)
ALL = (AGE, SEX, HUE, DOSE, SITE, GRADE, SIZE, WEIGHT)
ROW = np.array([[50, 1, 0, 1, 0, 2.5, 9, 5, 1, 0, 70.25]], dtype=np.float32)


def perturbed(noise, x, n, level=None, like=None, block=0):
    """n perturbations of x as a run draws them."""
    drawn = noise.draw(
        stream(7, "s", noise.kind, block, x if like is None else like), n, x.shape[1:]
    )
    return noise.apply(x, drawn, noise.level if level is None else level, None)


@pytest.mark.parametrize(
    "features",
    [ALL, (WEIGHT,), (DOSE, DOSE.__class__("other", 0.1)), (SEX,), (HUE,), (SITE, Feature("b"))],
)
def test_every_table_conforms(features):
    noise = TableNoise(0.8, features)
    check_perturbation(noise, (len(noise.columns),))


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("rows", [1, 32])
def test_numpy_and_torch_agree_value_for_value(torch, level, rows):
    noise, x = TableNoise(1.0, ALL), np.repeat(ROW, rows, axis=0)
    ours = perturbed(noise, x, 32, level)
    theirs = perturbed(noise, torch.from_numpy(x), 32, level, like=torch.from_numpy(x))
    assert theirs.dtype == torch.float32
    assert np.array_equal(theirs.numpy(), ours)


def test_numbers_move_by_noise_of_the_stated_size_in_their_own_units():
    out = perturbed(TableNoise(0.5, (WEIGHT, DOSE)), np.array([[700.0, 2.5]], np.float32), 4000)
    assert kstest((out[:, 0] - 700.0) / 1.5, "norm").pvalue > 0.001
    assert kstest((out[:, 1] - 2.25) / 0.5, "uniform").pvalue > 0.001


def test_an_immutable_feature_never_changes():
    assert (perturbed(TableNoise(50.0, ALL), ROW, 500)[:, 6] == 9).all()


def test_ranges_hold_and_whole_numbers_stay_whole():
    out = perturbed(TableNoise(40.0, ALL), ROW, 500)
    assert out[:, 0].min() == 0 and out[:, 0].max() == 120
    assert np.array_equal(out[:, 0], np.round(out[:, 0]))
    assert out[:, -1].min() == 40


def test_a_value_outside_its_range_is_not_moved_further_out_and_does_not_jump_in():
    x = np.array([[-5.0]], dtype=np.float32)
    out = perturbed(TableNoise(1.0, (Feature("f", 0.01, low=0, high=1),)), x, 500)
    assert out.min() == -5.0
    assert out.max() < -4.9


def test_rounding_is_to_the_nearest_so_small_noise_on_whole_numbers_changes_nothing():
    x = np.array([[3.0]], dtype=np.float32)
    tiny, fair = (TableNoise(level, (Feature("f", 1.0, whole=True),)) for level in (0.05, 1.0))
    assert (perturbed(tiny, x, 1000) == 3).all()
    drawn = fair.draw(stream(1, "s", "table", 0, x), 1000, (1,))
    expected = [3 + round(float(z)) for z in drawn[0][:, 0]]
    assert fair.apply(x, drawn, 1.0, None)[:, 0].tolist() == expected


@pytest.mark.parametrize("level", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("code", [1, 5, 7])
def test_a_code_changes_with_its_probability_to_all_others_alike(level, code):
    n = 1024 * 8
    noise = TableNoise(level, (GRADE,))
    x = np.array([[code]], dtype=np.float32)
    out = np.concatenate([perturbed(noise, x, 1024, block=b) for b in range(8)])[:, 0]
    chance = min(1.0, 0.5 * level)
    for value in set(GRADE.values) - {code}:
        share, spread = chance / 3, math.sqrt(chance / 3 * (1 - chance / 3) / n)
        assert abs(np.mean(out == value) - share) < 4.5 * spread
    assert np.isin(out, GRADE.values).all()


def test_a_one_hot_group_stays_one_and_moves_with_its_probability():
    n = 1024 * 8
    noise = TableNoise(1.0, (HUE,))
    x = np.array([[0.0, 1.0, 0.0]], dtype=np.float32)
    out = np.concatenate([perturbed(noise, x, 1024, block=b) for b in range(8)])
    assert (out.sum(axis=1) == 1).all() and np.isin(out, (0, 1)).all()
    spread = math.sqrt(0.2 * 0.8 / n)
    assert abs(out[:, 0].mean() - 0.2) < 4.5 * spread
    assert abs(out[:, 2].mean() - 0.2) < 4.5 * spread


def test_what_changes_at_one_level_changes_alike_at_every_higher_one():
    noise = TableNoise(1.0, (SEX, GRADE, HUE))
    x = np.array([[1, 5, 0, 0, 1]], dtype=np.float32)
    before = np.zeros((256, 5), dtype=bool)
    last = np.repeat(x, 256, axis=0)
    for level in (0.2, 0.5, 1.0, 2.0, 4.0):
        out = perturbed(noise, x, 256, level)
        assert np.array_equal(out[before], last[before])
        before, last = out != x, out
    assert before[:, :2].all()


def test_a_code_that_is_none_of_the_values_counts_as_the_last_of_them():
    out = perturbed(TableNoise(2.0, (GRADE,)), np.array([[3.0]], np.float32), 1000)
    assert sorted(set(out[:, 0].tolist())) == [1, 2, 5]


def test_rows_of_another_width_are_refused_with_both_numbers():
    with pytest.raises(InvalidArgument, match=r"11 columns are described, .* shape \(4,\)"):
        TableNoise(1.0, ALL).draw(stream(1, "s", "table", 0, ROW), 2, (4,))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Feature("", 1), "must be a word, got ''"),
        (lambda: Feature("f", -1), "noise must be ≥ 0, got -1"),
        (lambda: Feature("f", math.nan), "noise must be a number, got nan"),
        (lambda: Feature("f", 1, low=3, high=2), "low must be less than high, got 3 and 2"),
        (lambda: Feature("f", 1, low="a"), "low must be a number, got 'a'"),
        (lambda: Feature("f", 1, high=1.5, whole=True), "whole numbers too, got 1.5"),
        (lambda: Feature("f", 1, whole="yes"), "true or false, got 'yes'"),
        (lambda: Feature("f", 1, shape="cauchy"), "one of normal, uniform, got 'cauchy'"),
        (lambda: Feature("f", 0.5, values=(1,)), r"two different numbers, got \(1,\)"),
        (lambda: Feature("f", 0.5, values=(1, 1)), "two different numbers"),
        (lambda: Feature("f", 0.5, values="ab"), "list of numbers, got 'ab'"),
        (lambda: Feature("f", 2, values=(0, 1)), "probability, at most 1, got 2"),
        (lambda: Feature("f", 0.5, values=(0, 1), low=0), "leave out low"),
        (lambda: OneHot("ab"), "must be a list, got 'ab'"),
        (lambda: OneHot(("a",)), "at least two columns"),
        (lambda: OneHot(("a", "b"), 1.5), "at most 1, got 1.5"),
        (lambda: TableNoise(1.0, ()), "at least one feature"),
        (lambda: TableNoise(1.0, (AGE, AGE)), "'age' comes twice"),
        (lambda: TableNoise(1.0, ("age",)), "got 'age'"),
        (lambda: TableNoise(-1.0, ALL), "≥ 0 .*, got -1"),
    ],
)
def test_what_means_nothing_is_refused_with_its_value(make, says):
    refused(says, make)


FILE = """
[[feature]]
name = "age"
noise = 2
low = 0
high = 120
whole = true

[[feature]]
name = "sex"
noise = 0.25
values = [0, 1]

[[feature]]
names = ["red", "green", "blue"]
noise = 0.4

[[feature]]
name = "site"
"""


def test_features_are_read_from_a_file(tmp_path):
    path = tmp_path / "features.toml"
    path.write_text(FILE)
    assert load_features(path) == (AGE, SEX, HUE, SITE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "describes no features"),
        ("[[feature]", "is no TOML file"),
        ('[[feature]]\nname = "a"\n[other]\n', "got an entry 'other'"),
        ("feature = [1]", "feature 1: .* got 1"),
        ("[[feature]]\nnoise = 1\n", "feature 1: it has no name, got {'noise': 1}"),
        ('[[feature]]\nname = "a"\nnose = 3\n', r"feature 1 \(a\): there is no nose = 3"),
        (FILE + "noise = -2\n", "feature 4: site: noise must be ≥ 0, got -2"),
        ('[[feature]]\nname = "a"\nnoise = "2"\n', "feature 1: a: noise must be a number, got '2'"),
    ],
)
def test_a_wrong_file_is_refused_with_file_feature_and_value(tmp_path, text, says):
    path = tmp_path / "features.toml"
    path.write_text(text)
    words = refused(rf"features\.toml.*{says}", load_features, path)
    assert str(path) in words


def test_a_file_that_is_not_there_is_named(tmp_path):
    refused(r"cannot be read from .*none\.toml", load_features, tmp_path / "none.toml")


def test_rows_that_do_not_fit_their_description_are_named():
    assert describe_misfits(ALL, ROW) == ()
    x = np.repeat(ROW, 2, axis=0)
    x[1, [0, 1, -1]] = 30.5, 3, 20
    assert [sentence.split(",")[0] for sentence in describe_misfits(ALL, x)] == [
        "age is 30.5",
        "sex is 3",
        "weight is 20",
    ]
