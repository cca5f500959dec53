"""What is said of an attack beside sampling: where there is none, what is kept, tables, words."""

import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.report.views.attack import attack_notes
from surefoot.store.sql import SqlStore
from tests.unit import small_models as small
from tests.unit import test_attack
from tests.unit.test_attack import QUICK, Cut, as_onnx, as_softmax

SAMPLED = sf.methods.KappaTest(0.1, 0.1, 60)


def sampled_study(model, x, level=0.1, **more):
    """A study that samples; the attack goes beside it."""
    return test_attack.attack_study(model, x, level, **{"method": SAMPLED, **more})


def odd_onnx(folder):
    """A linear net behind a sine."""
    matrix, bias = small.weights(small.IMAGE, 3)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("Hardmax", ["flat"], ["waves"]),
        helper.make_node("Gemm", ["waves", "matrix", "bias"], ["scores"]),
    ]
    place = ("x", TensorProto.FLOAT, ["n", *small.IMAGE])
    return sf.load_model(
        small.save_graph(
            folder / "odd.onnx",
            nodes,
            [place],
            [("scores", TensorProto.FLOAT)],
            {"matrix": matrix, "bias": bias},
        )
    )


REFUSED = {
    "rotation offers none": {"perturbation": sf.perturb.Rotation(5.0)},
    "gaussian offers none": {"perturbation": sf.perturb.GaussianNoise(0.1)},
    "the property 'confidence' is not": {
        "property": sf.properties.Confidence(),
        "model": as_softmax,
    },
    "scores but no gradients": {"model": lambda _: sf.load_model(small.by_hand, shape=small.IMAGE)},
    "the operator Hardmax": {"model": odd_onnx},
    "no gradient flows": {"model": lambda _: sf.load_model(Cut().eval(), shape=small.IMAGE)},
}


@pytest.mark.parametrize("says", REFUSED)
def test_where_there_is_no_attack_the_column_is_empty_and_says_why(says, tmp_path):
    more = dict(REFUSED[says])
    model = more.pop("model", as_onnx)(tmp_path)
    x = small.batch(3)
    inputs = sf.load_inputs(x, np.zeros(3, int))
    result = sampled_study(model, x, inputs=inputs, **more).run(attack=QUICK)
    summary = result.details.attack
    assert summary.withstood is None
    assert says in summary.reason
    (line,) = attack_notes({"a": summary})
    assert line.startswith("a: No attack: ")
    assert line.endswith(".")
    assert all(claim.kind != "robust_accuracy" for claim in result.claims)


def test_an_onnx_file_without_the_package_names_the_line_that_installs_it(tmp_path, monkeypatch):
    model = as_onnx(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    summary = sampled_study(model, small.batch(2)).run(attack=QUICK).details.attack
    assert "pip install 'surefoot[verify]'" in summary.reason


@pytest.fixture
def stored(tmp_path):
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    return sampled_study(model, small.batch(9), 0.15), str(tmp_path / "run.db")


def test_an_attack_is_added_to_a_finished_run_and_kept(stored):
    study, path = stored
    plain = study.run(path).record
    progress = []
    first = study.run(path, attack=QUICK, on_progress=progress.append).record
    assert plain.details.attack is None
    assert progress
    assert progress[-1].subjects == 9
    sampled = tuple(claim for claim in first.claims if claim.kind != "robust_accuracy")
    assert sampled == plain.claims
    assert replace(first.details, attack=None) == plain.details
    assert first.inputs == plain.inputs
    assert 0 < first.details.attack.withstood < 1
    assert record_from_json(record_to_json(first)) == first
    with closing(SqlStore(path, create=False)) as store:
        assert store.record(first.digest) == first
        assert store.record() == first  # not the run of the attack itself

    def never(_):
        raise AssertionError("it was attacked again")

    assert study.run(path, attack=QUICK, on_progress=never).record == first
    again = study.run(path, attack=sf.methods.Attack(starts=1, iterations=3)).details.attack
    assert (again.starts, again.iterations, again.targets) == (1, 3, 2)


def test_stopping_an_attack_keeps_what_was_measured(stored):
    study, path = stored
    study.run(path)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(path, attack=QUICK, on_progress=stop)
    result = study.run(path, attack=QUICK)
    assert result.from_store
    assert result.details.attack == study.run(attack=QUICK).details.attack
