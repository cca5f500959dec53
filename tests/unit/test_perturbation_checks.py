"""A broken rule is named with the way out: by `check_perturbation`, and before a run."""

import random

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.results import Interval
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.perturbation_checks import check_repeats
from surefoot.perturb import OneByOne
from surefoot.subject.protocols import View
from surefoot.testing import check_perturbation
from tests.claims.parts import Shift
from tests.refusals import raised
from tests.worlds import linear_model

calls = []


def counting(x, rng, level):
    calls.append(1)
    return x * (1 - level * (len(calls) % 7 / 7))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, u, level: x * 0.5, "next to level 0.*scale the change with the level"),
        (lambda x, u, level: x + level * u.mean(axis=0), "rest of the batch: compute row i from"),
        (lambda x, u, level: x + level * np.random.rand(), "np.random or random.*from rng"),  # noqa: NPY002
        (lambda x, rng, level: x * (1 - level * random.random()), "np.random or random.*from rng"),
        (lambda x, u, level: x + np.nan * u, "NaN or infinite values"),
        (lambda x, u, level: x[:, :2], r"must return shape \(16, 6\), got shape \(16, 2\)"),
        (lambda x, rng, level: x[:2], r"must return shape \(6,\), got shape \(2,\)"),
        (counting, "the same draws give two results: take every random number from rng"),
        (lambda x, rng, level: x / [], "raised ValueError"),
    ],
)
def test_a_broken_rule_is_one_sentence_with_the_way_out(function, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_perturbation(sf.perturb.custom(function, 0.5, name="mine"), (6,))
    assert "\n" not in str(caught.value)


def changed_in_place(x, drawn, level, bounds):
    x -= np.reshape(level, (-1, 1))
    return np.broadcast_to(x, (len(drawn), *x.shape[1:])).copy()


def test_a_class_that_changes_its_input_or_does_not_clip_is_told_what_to_write():
    for name, apply, says in (
        ("InPlace", changed_in_place, "x = x.copy"),
        ("Wide", lambda x, d, level, b: (x - np.reshape(level, (-1, 1))).astype("f4"), "np.clip"),
        ("Double", lambda x, d, level, b: (x + 0.0).astype("f8"), "astype.np.float32"),
        ("Same", lambda x, d, level, b: x, "return x.copy"),
        ("Always", lambda x, d, level, b: x * 0.5, "level 0 must return the input"),
    ):
        parts = {
            "apply": lambda self, *a, apply=apply: apply(*a),
            "levels": lambda self, bounds: Interval(0.0, 10.0),
        }
        own = type(name, (Shift,), parts)
        with pytest.raises(AssertionError, match=says):
            check_perturbation(own(0.5), (6,))


def shout(text, rng, level):
    return text.upper() if rng.random() < level else text


def turn(data, rng, level):
    return data[::-1] if rng.random() < level else data


TEXTS = ["one", "two words", "", "ünï"]


def test_a_function_of_items_that_keeps_the_rules_passes():
    check_perturbation(sf.perturb.custom(shout, 0.5), items=TEXTS)
    check_perturbation(sf.perturb.custom(shout, (0, 0.5)), items=TEXTS)
    check_perturbation(sf.perturb.custom(turn, 0.5), items=[b"", b"ab"])
    check_perturbation(sf.perturb.Chain((sf.perturb.custom(shout, 0.5),)), items=TEXTS)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda text, rng, level: text + "!", "next to level 0 the function changes an item"),
        (lambda text, rng, level: text + str(random.random()), "np.random or random"),
        (lambda text, rng, level: text.encode(), "must return str, as it was given, got bytes"),
        (lambda text, rng, level: None, "got NoneType"),
        (lambda text, u, level: text, "is for arrays"),
        (lambda text, rng, level: text[9:][0], "raised IndexError"),
    ],
)
def test_a_broken_rule_of_items_is_one_sentence_with_the_way_out(function, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_perturbation(sf.perturb.custom(function, 0.5, name="mine"), items=TEXTS)
    assert "\n" not in str(caught.value)


def test_a_function_that_remembers_is_noticed():
    texts = []

    def remembers(text, rng, level):
        texts.append(text)
        return text + "!" * (level > 1e-6 and len(texts) % 3)

    with pytest.raises(AssertionError, match="two results: take every random number"):
        check_perturbation(sf.perturb.custom(remembers, 0.5), items=["a"])


def test_a_shape_or_items_are_given_and_not_both():
    for more in ({}, {"shape": (3,), "items": TEXTS}, {"items": []}):
        with pytest.raises(AssertionError, match=r"give the shape=|at least one"):
            check_perturbation(sf.perturb.custom(shout, 0.5), **more)
    with pytest.raises(AssertionError, match="is for arrays"):
        check_perturbation(sf.perturb.LinfNoise(0.1), items=TEXTS)
    with pytest.raises(AssertionError, match="is for arrays"):
        check_perturbation(sf.perturb.OneByOne(0.1, shout, view=View.IMAGE), items=TEXTS)


X = np.random.default_rng(3).uniform(0.1, 0.9, (6, 2)).astype(np.float32)


def checked(perturbation, x=X):
    return check_repeats(sf.load_inputs(x, [0] * len(x)), linear_model(), perturbation)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u, level: x * (1 - level * u.mean()),
        lambda x, u, level: x + level * np.sort(u, axis=0),
        lambda x, u, level: x + level * (x - x.mean(axis=0)),
        lambda x, u, level: x * (1 - level / len(x)),
    ],
)
def test_a_row_that_depends_on_the_batch_is_refused_with_the_way_out(function):
    status, finding = checked(sf.perturb.custom(function, 0.5, name="mine"))
    assert status is CheckStatus.FAILED
    assert "row i of the result depend on row i of x and u only" in finding


def test_a_function_that_returns_the_first_input_it_ever_had_is_refused():
    kept = []

    def first_ever(x, rng, level):
        kept.append(x)
        return kept[0]

    status, finding = checked(OneByOne(0.5, first_ever, "mine", View.VALUES))
    assert status is CheckStatus.FAILED and "every input becomes 0, the first one" in finding


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u, level: x * (1 - level * u),
        lambda x, u, level: x + level * (u - u.mean(axis=1, keepdims=True)),
        lambda x, u, level: x @ np.array([[0.9, 0.1], [0.2, 0.8]], np.float32),
        lambda x, rng, level: x * (1 - level * rng.random()),
        lambda x, rng, level: x * 0,
        lambda x, rng, level: x,
    ],
)
@pytest.mark.parametrize("x", [X, X[:1], np.zeros((2, 2), np.float32), np.eye(2, dtype="f4") * 0.5])
def test_a_function_of_its_own_row_passes(function, x):
    status, finding = checked(sf.perturb.custom(function, 0.5, name="mine"), x)
    assert status is CheckStatus.OK, finding


def test_a_study_with_such_a_function_does_not_run():
    own = sf.perturb.custom(lambda x, u, level: x * (1 - level * u.mean()), 0.5, name="mine")
    method = sf.methods.ExactSequential(width=0.5, error=0.05)
    model = sf.load_model(lambda x: x, shape=(2,), bounds=(0, 1), scores="logits")
    study = sf.Study(model, sf.load_inputs(X), own, method)
    raised(sf.errors.SurefootError, "row i of the result", study.run)
