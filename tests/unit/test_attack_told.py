"""What is told of an attack: where there is none, what is kept, tables and words."""

import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.report.attacks import attack_words, baseline_table
from surefoot.store.records import record_from_json, record_to_json
from surefoot.store.sql import SqlStore
from surefoot.study.attacking import attacked
from surefoot.subject import Ball
from tests.unit import small_models as small
from tests.unit.test_attack import QUICK, Cut, as_module, as_onnx, made
from tests.worlds import linear_model, points


def odd_onnx(folder):
    """A linear net behind a sine."""
    matrix, bias = small.weights(small.PICTURE, 3)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("Sin", ["flat"], ["waves"]),
        helper.make_node("Gemm", ["waves", "matrix", "bias"], ["scores"]),
    ]
    place = ("x", TensorProto.FLOAT, ["n", *small.PICTURE])
    return sf.load_model(
        small.save_graph(
            folder / "sin.onnx",
            nodes,
            [place],
            [("scores", TensorProto.FLOAT)],
            {"matrix": matrix, "bias": bias},
        )
    )


REFUSED = {
    "rotation has none": {"perturbation": sf.perturb.Rotation(5.0)},
    "gaussian has none": {"perturbation": sf.perturb.GaussianNoise(0.1)},
    "the property is topk": {"property": sf.TopK(2)},
    "scores but no gradients": {
        "model": lambda _: sf.load_model(small.by_hand, shape=small.PICTURE)
    },
    "the operator Sin is not known": {"model": odd_onnx},
    "no gradient flows": {"model": lambda _: sf.load_model(Cut().eval(), shape=small.PICTURE)},
}


@pytest.mark.parametrize("says", REFUSED)
def test_where_there_is_no_attack_the_column_is_empty_and_says_why(says, tmp_path):
    more = dict(REFUSED[says])
    model = more.pop("model", as_onnx)(tmp_path)
    x = small.batch(3)
    inputs = sf.load_inputs(x, np.zeros(3, int))
    found = attacked(made(model, x, inputs=inputs, **more), QUICK)
    assert found.failure_rate is None
    assert says in found.reason
    (line,) = attack_words({"a": found})
    assert line.startswith("a: No attack failure rate: ")
    assert line.endswith(".")


def test_an_onnx_file_without_the_package_names_the_line_that_installs_it(tmp_path, monkeypatch):
    model = as_onnx(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    found = attacked(made(model, small.batch(2)), QUICK)
    assert "pip install 'surefoot[verify]'" in found.reason


@pytest.fixture
def stored(tmp_path):
    model = sf.load_model(small.module(), shape=small.PICTURE, bounds=(0, 1))
    return made(model, small.batch(9), 0.15), str(tmp_path / "run.db")


def test_an_attack_is_added_to_a_finished_run_and_kept(stored):
    study, path = stored
    doing = []
    plain = study.run(path).record
    first = study.run(path, attack=QUICK, watch=lambda now: doing.append(now.doing)).record
    assert plain.attack is None
    assert replace(first, attack=None) == plain
    assert set(doing) == {"attacking"}
    assert 0 < first.attack.failure_rate < 1
    assert record_from_json(record_to_json(first)) == first
    with closing(SqlStore(path, create=False)) as store:
        assert store.record() == first

    def never(now):
        raise AssertionError("it was attacked again")

    assert study.run(path, attack=QUICK, watch=never).record == first
    again = study.run(path, attack=sf.Attack(starts=1, steps=3)).record.attack
    assert (again.starts, again.steps, again.rivals) == (1, 3, 2)


def test_an_old_record_has_no_attack(stored):
    text = record_to_json(stored[0].run().record)
    assert '"attack": null' in text
    assert record_from_json(text.replace(', "attack": null', "")).attack is None


def test_stopping_an_attack_keeps_what_was_measured(stored):
    study, path = stored

    def stop(now):
        if now.doing == "attacking":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(path, attack=QUICK, watch=stop)
    found = study.run(path, attack=QUICK)
    assert found.from_store
    assert found.record.attack == replace(
        study.run(attack=QUICK).record.attack, seconds=found.record.attack.seconds
    )


def test_the_table_stands_beside_accuracy_and_the_robust_share(stored):
    record = stored[0].run(attack=QUICK).record
    table = baseline_table(record)
    assert table.headings[1:4] == ("accuracy undisturbed", "attack failure rate", "robust share")
    assert len(table.rows) == 1
    assert "2 descents of 10 steps towards each of 2 rival classes" in table.note


def test_models_are_attacked_on_the_same_inputs_and_strangers_say_why(tmp_path):
    x = small.batch(8)
    studies = {
        name: made(model, x, 0.15)
        for name, model in (
            ("net", as_onnx(tmp_path)),
            ("module", as_module(tmp_path)),
            ("function", sf.load_model(small.by_hand, shape=small.PICTURE)),
        )
    }
    found = sf.compare(studies, attack=QUICK)
    rates = {m.name: m.attack.failure_rate for m in found.members}
    assert rates["net"] == rates["module"]
    assert 0 < rates["net"] < 1
    assert rates["function"] is None
    told = str(found)
    assert "attack failure rate" in told
    assert "function: No attack failure rate: the model gives scores but no gradients" in told
    page = found.report(tmp_path / "c.html").read_text()
    assert '<th class="number">attack failure rate</th>' in page
    assert "attack failure rate" not in str(sf.compare(studies))


@pytest.mark.parametrize("part", ["starts", "steps", "rivals"])
def test_an_attack_of_no_effort_is_refused(part):
    with pytest.raises(sf.InvalidArgument, match=f"attack: {part} must be a whole number from 1"):
        sf.Attack(**{part: 0})


def test_a_perturbation_that_says_ball_draws_from_all_of_it():
    assert sf.perturb.LinfNoise(0.1).ball is Ball.LINF
    assert sf.perturb.L2Noise(0.1).ball is Ball.L2
    assert attacked(sf.Study(linear_model(), points(), sf.perturb.L1Noise(0.1),
                             sf.KappaTest(0.1, 0.1, 60)), QUICK).reason  # fmt: skip
