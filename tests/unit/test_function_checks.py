"""Functions of the user are checked before a run: trials repeat, and are the same in any batch."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.perturbation_checks import check_repeats
from surefoot.perturb import OneByOne
from surefoot.subject.protocols import View
from tests.worlds import linear_model

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
    with pytest.raises(sf.errors.SurefootError, match="row i of the result"):
        study.run()
