"""Anything with `predict_proba`, Python callables, and names of them."""

import functools
import hashlib
import os
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf
from surefoot.core.results import Interval
from surefoot.errors import ModelFailed, OutOfMemory, SurefootError
from surefoot.models import declared_shape, load_model
from surefoot.subject.protocols import Scores
from surefoot.testing import check_model
from tests.refusals import failed, refused
from tests.unit.small_models import (
    batch,
    by_hand,
    estimator,
    exported,
    linear_net,
    pooled_net,
    softmax,
)

SHAPE = (4,)


def pipeline(seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    return make_pipeline(StandardScaler(), PCA(3), estimator()).fit(x, y)


def forest(seed=0):
    rng = np.random.default_rng(seed)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    return forest.fit(rng.normal(size=(60, 4)), np.arange(60) % 3)


class Duck:
    """Not from scikit-learn, but speaks like it."""

    def __init__(self, seed=0):
        self.seed = seed

    def predict_proba(self, x):
        return softmax(by_hand(x, seed=self.seed))


@pytest.mark.parametrize("make", [estimator, pipeline, forest])
def test_an_estimator_says_its_shape_conforms_and_gives_its_probabilities(make):
    fitted = make()
    model, x = load_model(fitted), batch(6, SHAPE)
    assert model.signature.shape == SHAPE
    assert model.signature.classes == 3
    assert model.signature.scores is Scores.PROBABILITIES
    assert model.signature.covers.startswith("the whole object, and the answers")
    np.testing.assert_allclose(model.predict(x), fitted.predict_proba(x), rtol=1e-6)
    check_model(model, x)


@pytest.mark.parametrize("make", [estimator, pipeline, forest])
def test_the_digest_follows_what_an_estimator_was_fitted_on(make):
    digest = load_model(make(0)).signature.digest
    assert load_model(make(0)).signature.digest == digest
    assert load_model(make(1)).signature.digest != digest


def test_any_object_with_predict_proba_is_a_classifier():
    model = load_model(Duck(), shape=SHAPE, bounds=(0, 1))
    x = batch(5, SHAPE)
    np.testing.assert_allclose(model.predict(x), softmax(by_hand(x)))
    check_model(model, x)
    assert model.signature.bounds == Interval(0.0, 1.0)
    assert model.signature.digest != load_model(Duck(1), shape=SHAPE).signature.digest
    refused("shape=", load_model, Duck())


def test_an_object_that_cannot_be_pickled_says_what_little_its_digest_covers():
    duck = Duck()
    duck.handle = lambda: None
    signature = load_model(duck, shape=SHAPE).signature
    assert signature.covers.startswith("only")
    assert len(signature.digest) == 64


def test_a_function_conforms_and_says_what_its_digest_covers():
    model, x = load_model(by_hand, shape=SHAPE), batch(6, SHAPE)
    np.testing.assert_allclose(model.predict(x), by_hand(x))
    check_model(model, x)
    assert model.signature.scores is Scores.LOGITS
    assert "source text" in model.signature.covers
    assert model.signature.digest == load_model(by_hand, shape=SHAPE).signature.digest
    assert (
        model.signature.digest != load_model(lambda x: 2 * by_hand(x), shape=SHAPE).signature.digest
    )


def test_a_callable_without_source_says_that_only_its_name_is_covered():
    model = load_model(functools.partial(by_hand, seed=1), shape=SHAPE)
    assert model.signature.covers.startswith("only the name of the function, and the answers")
    x = batch(3, SHAPE)
    np.testing.assert_allclose(model.predict(x), by_hand(x, seed=1))


def test_a_function_may_return_lists_and_whole_numbers_of_votes():
    model = load_model(lambda x: [[3, 1, 1]] * len(x), shape=SHAPE)
    assert model.signature.classes == 3
    np.testing.assert_array_equal(model.predict(batch(2, SHAPE)), [[3, 1, 1]] * 2)


def test_a_function_is_given_normalised_values():
    batches = []

    def watching(x):
        batches.append(x)
        return by_hand(x)

    model, x = (
        load_model(watching, shape=(3, 2, 2), mean=[1, 2, 3], std=[2, 4, 8]),
        batch(2, (3, 2, 2)),
    )
    model.predict(x)
    by_channel = np.reshape([1, 2, 3], (3, 1, 1)), np.reshape([2, 4, 8], (3, 1, 1))
    np.testing.assert_allclose(batches[-1], (x - by_channel[0]) / by_channel[1], rtol=1e-6)
    assert batches[-1].dtype == np.float32


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (lambda x: by_hand(x).argmax(axis=1), "not labels"),
        (lambda x: by_hand(x).argmax(axis=1)[:, None], "not labels"),
        (lambda x: by_hand(x)[:, 0] > 0, "not labels"),
        (lambda x: np.array(["cat"] * len(x)), "not labels"),
        (lambda x: by_hand(x)[:-1], "first axis must be the batch"),
        (lambda x: by_hand(x).T, "first axis must be the batch"),
        (lambda x: 0.5, "first axis must be the batch"),
        (lambda x: None, "answered with objects"),
        (lambda x: np.zeros((len(x), 0)), "one row of scores"),
        (lambda x: np.zeros((len(x), 2, 3)), "one row of scores"),
    ],
)
def test_what_is_no_row_of_scores_is_refused(answer, match):
    failed(match, load_model, answer, shape=SHAPE)


def breaking(error):
    def model(x):
        if len(x) == 5:
            raise error
        return by_hand(x)

    return load_model(model, shape=SHAPE)


def test_a_model_that_raises_has_failed_with_its_message():
    model = breaking(KeyError("lost the\n  tokenizer"))
    with pytest.raises(ModelFailed, match="the model raised KeyError") as caught:
        model.predict(batch(5, SHAPE))
    assert "lost the" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 3 GiB"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("CUDA Out Of Memory"),
        RuntimeError("Failed to allocate memory for requested buffer of size 9"),
        OSError("bad allocation"),
    ],
)
def test_a_batch_that_does_not_fit_is_out_of_memory(error):
    with pytest.raises(OutOfMemory) as caught:
        breaking(error).predict(batch(5, SHAPE))
    assert str(caught.value)


@pytest.mark.parametrize("error", [ModelFailed("our own"), OutOfMemory("ours too")])
def test_an_error_of_ours_passes_unchanged(error):
    with pytest.raises(SurefootError) as caught:
        breaking(error).predict(batch(5, SHAPE))
    assert caught.value is error


def test_stopping_the_program_is_no_failure_of_the_model():
    with pytest.raises(KeyboardInterrupt):
        breaking(KeyboardInterrupt()).predict(batch(5, SHAPE))


def test_a_wrong_number_of_rows_later_is_a_failure_of_the_model():
    model = load_model(lambda x: by_hand(x)[:8], shape=SHAPE)
    failed(r"answered 9 inputs with an output of shape \(8, 3\)", model.predict, batch(9, SHAPE))


@pytest.mark.parametrize("source", [3, None, [1, 2], {"a": 1}, object()])
def test_what_is_no_model_is_refused_with_what_is(source):
    refused("is no model: give a file", load_model, source, shape=SHAPE)


@pytest.fixture
def here(cwd, monkeypatch):
    """An empty current folder, with everything imported from it forgotten afterwards."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield cwd
    for name in set(sys.modules) - known:
        del sys.modules[name]


CODE = """
import numpy as np
class Holder:
    @staticmethod
    def scores(x):
        return np.stack([x.sum(axis=1), -x.sum(axis=1), 0 * x.sum(axis=1)], axis=1)
scores = Holder.scores
number = 3
"""


def test_the_current_folder_comes_last_so_that_no_module_of_python_is_replaced(here):
    (here / "own_scores.py").write_text(CODE)
    load_model("own_scores:scores", shape=SHAPE)
    assert sys.path.index(str(here)) > sys.path.index(os.path.dirname(os.__file__))


@pytest.mark.parametrize("name", ["mine_one:scores", "mine_one:Holder.scores"])
def test_a_name_is_looked_up_in_the_current_folder(name, here):
    (here / "mine_one.py").write_text(CODE)
    model = load_model(name, shape=SHAPE)
    x = batch(4, SHAPE)
    np.testing.assert_allclose(model.predict(x)[:, 0], x.sum(axis=1))
    check_model(model, x)


def test_a_name_in_a_package_is_looked_up(here):
    (here / "mine_two").mkdir()
    (here / "mine_two" / "__init__.py").write_text("")
    (here / "mine_two" / "inner.py").write_text(CODE)
    assert load_model("mine_two.inner:scores", shape=SHAPE).signature.classes == 3


def test_the_digest_follows_the_text_of_a_named_function(here):
    (here / "mine_three.py").write_text(CODE)
    (here / "mine_four.py").write_text(CODE.replace("-x.sum", "-2 * x.sum"))
    one, two = (load_model(f"mine_{n}:scores", shape=SHAPE) for n in ("three", "four"))
    assert one.signature.digest != two.signature.digest
    assert one.signature.digest != hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("mine_five:nothing", "names nothing that can be imported.*nothing"),
        ("mine_five:scores.nothing", "names nothing that can be imported"),
        ("mine_absent:scores", "names nothing that can be imported.*mine_absent"),
        ("mine_five.deeper:scores", "names nothing that can be imported"),
        ("mine_five:number", "int is no model"),
        ("mine_broken:scores", "cannot be imported: its module raised SyntaxError"),
        ("mine_raising:scores", "cannot be imported: its module raised ZeroDivisionError"),
        ("mine_five:", "there is no model file"),
        (":scores", "there is no model file"),
        ("5:scores", "there is no model file"),
    ],
)
def test_a_name_of_nothing_is_one_sentence(name, match, here):
    (here / "mine_five.py").write_text(CODE)
    (here / "mine_broken.py").write_text("def scores(x)\n    return x\n")
    (here / "mine_raising.py").write_text("1 / 0\n")
    refused(match, load_model, name, shape=SHAPE)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        (
            "few.py",
            r"few.py is a Python file: name the function in it, few.py:scores or few.py:main$",
        ),
        ("few.py:scoers", "^few.py has no function scoers: write few.py:scores$"),
        ("few.py:npp", "write few.py:scores or few.py:main$"),
        ("few.py:zzz", "^few.py has no function zzz: write few.py:scores or few.py:main$"),
        ("many.py:zzz", "many.py:FUNCTION"),
        ("broken.py", "broken.py:FUNCTION"),
        ("empty.py", "empty.py:FUNCTION"),
    ],
)
def test_a_file_of_python_names_the_functions_that_it_has(name, match, here):
    more = "import numpy as np\ndef main(): pass\ndef _own(): pass\n"
    (here / "few.py").write_text("def scores(x): return x\n" + more)
    (here / "many.py").write_text("".join(f"def f{i}(x): return x\n" for i in range(9)))
    (here / "broken.py").write_text("def scores(x)\n")
    (here / "empty.py").write_text("")
    refused(match, load_model, name, shape=SHAPE)
    if ":" not in name:
        refused(match, load_model, name, examples=["a text"])
        refused(match, declared_shape, name)


def test_an_exported_file_says_its_own_shape(torch, tmp_path):
    path = tmp_path / "m.pt2"
    path.write_bytes(exported())
    assert declared_shape(path) == (1, 4, 4)
    assert load_model(path).signature.shape == (1, 4, 4)
    assert load_model(path, data_shape=(4, 4)).signature.shape == (1, 4, 4)
    refused(
        r"takes inputs of shape \(1, 4, 4\), got \(4, 4, 1\)", load_model, path, shape=(4, 4, 1)
    )


def test_an_onnx_file_says_its_own_shape_and_contradictions_are_refused(tmp_path):
    path = linear_net(tmp_path / "m.onnx")
    assert declared_shape(str(path)) == (1, 4, 4)
    assert load_model(path, shape=(1, 4, 4)).signature.shape == (1, 4, 4)
    assert load_model(path, data_shape=(9, 9)).signature.shape == (1, 4, 4)
    for wrong in [(4, 4), (1, 4, 5), (16,)]:
        refused("leave out --shape", load_model, path, shape=wrong)


@pytest.mark.parametrize("data", [(2, 5, 6), (5, 6, 2)])
def test_an_open_shape_is_that_of_the_data_in_the_layout_of_the_model(data, tmp_path):
    path = pooled_net(tmp_path / "m.onnx")
    assert declared_shape(path) == (2, None, None)
    assert load_model(path, data_shape=data).signature.shape == (2, 5, 6)
    assert load_model(path, data_shape=data, shape=(2, 7, 7)).signature.shape == (2, 7, 7)
    refused(r"\(2, \?, \?\) open, and the data", load_model, path, data_shape=(3, 3))


def test_an_estimator_says_how_many_columns_it_takes():
    class Estimator:
        n_features_in_ = 6

        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    assert load_model(Estimator(), data_shape=(2, 3)).signature.shape == (6,)
    refused(r"the estimator takes inputs of shape \(6\)", load_model, Estimator(), shape=(7,))


@pytest.mark.parametrize(
    "name", ["gone.onnx", "gone", "gone.pt2", "no_such_module:scores", "os:no_such_name", "a/b:c"]
)
def test_a_model_that_is_not_there_is_reported_as_that(name, cwd):
    refused(f"there is no model file {name}", load_model, name)


def test_a_folder_is_no_model_file(tmp_path):
    for name in ("model", "model.onnx"):
        (tmp_path / name).mkdir()
        for load in (load_model, declared_shape):
            refused("it is a folder; give the file in it", load, str(tmp_path / name))


def test_a_forest_has_the_same_digest_each_time_it_is_loaded(tmp_path):
    joblib = pytest.importorskip("joblib")
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    x = rng.random((60, 4))
    forest = RandomForestClassifier(12, random_state=0).fit(x, (x[:, 0] > 0.5).astype(int))
    path = tmp_path / "forest.joblib"
    joblib.dump(forest, path)
    digests = {sf.load_model(path, trust=True, bounds=(0, 1)).signature.digest for _ in range(4)}
    assert len(digests) == 1
    assert sf.load_model(path, trust=True).signature.covers == "the bytes of the pickle"
