"""Models that answer differently never share a digest; the same data never differ by layout."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, save

import surefoot as sf
from surefoot.catalogue.methods import SetMean
from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument, ModelFailed, StoreFailed
from surefoot.records import input_table
from surefoot.records.input_table import InputTable, clean_kinds, tried_rows
from surefoot.records.json_records import record_from_json, record_to_json
from tests.onnx_models import onnx_model
from tests.refusals import raised, refused
from tests.worlds import SHAPE, linear, points, study

RNG = np.random.default_rng(0)
WA, WB = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))


def product(x, w):
    return x @ w


class Caller:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x @ self.w

    def answer(self, x):
        return x @ self.w


def closure(w):
    return lambda x: x @ w


KINDS = {
    "partial": lambda w: functools.partial(product, w=w),
    "instance": Caller,
    "method": lambda w: Caller(w).answer,
    "closure": closure,
}


@pytest.mark.parametrize("kind", KINDS)
def test_callables_that_answer_differently_have_different_digests(kind):
    signatures = [sf.load_model(KINDS[kind](w), shape=(6,)).signature for w in (WA, WB, WA)]
    assert signatures[0].digest != signatures[1].digest
    assert signatures[0].digest == signatures[2].digest or kind == "instance"
    assert "answers to 8 fixed inputs" in signatures[0].covers


def test_modules_with_equal_weights_that_answer_differently_have_different_digests(torch):
    class Scaled(torch.nn.Module):
        def __init__(self, factor):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(6, 3)
            self.factor = factor

        def forward(self, x):
            return self.layer(x * self.factor)

    one, two = (sf.load_model(Scaled(f).eval(), shape=(6,)).signature.digest for f in (1.0, 2.0))
    assert one != two


def test_the_chosen_output_is_part_of_the_study(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"out{i}"]) for i in (0, 1)]
    weights = {f"w{i}": w.astype(np.float32) for i, w in enumerate((WA, WB))}
    path = tmp_path / "two.onnx"
    outs = [(f"out{i}", ["n", 3]) for i in (0, 1)]
    save(onnx_model(nodes, [("x", ["n", 6])], outs, weights), path)
    bare = sf.load_inputs(points().x)
    one, two = (
        study(model=sf.load_model(path, output=name), inputs=bare) for name in ("out0", "out1")
    )
    assert one.digest != two.digest


def test_class_names_are_part_of_the_study():
    base = points()
    named = [
        sf.load_inputs(base.x, base.labels, ids=base.ids, class_names=names)
        for names in (["a", "b"], ["b", "a"])
    ]
    assert study(inputs=named[0]).digest != study(inputs=named[1]).digest


def test_an_unfinished_run_goes_on_from_another_path(tmp_path):
    """Where the data lie is stated in words; it is not what the study is."""
    from contextlib import closing
    from dataclasses import replace

    from surefoot.store.sql import SqlStore

    plain = study()
    with closing(SqlStore(str(tmp_path / "s.db"))) as store:
        store.begin(plain.digest, plain.spec, None, {})
    moved = study(inputs=replace(points(), source="/elsewhere/data.npz"))
    assert moved.digest == plain.digest
    assert moved.run(str(tmp_path / "s.db")).by_id == plain.run().by_id


@pytest.mark.parametrize("kind", [sf.perturb.LinfNoise, sf.perturb.L2Noise, sf.perturb.L1Noise])
def test_models_of_either_layout_meet_the_same_perturbations(kind):
    data = sf.load_inputs(RNG.random((3, 6, 5, 3)))

    def bench(shape):
        model = sf.load_model(lambda x: x.reshape(len(x), -1)[:, :2], shape=shape)
        return sf.Study(model, data, kind(0.1), sf.methods.Okamoto(0.3, 0.3)).bench()

    last, first = bench((6, 5, 3)), bench((3, 6, 5))
    a, b = (bench.perturbed(Task(bench.inputs.subjects()[1], 0.1, 3, 9)) for bench in (last, first))
    assert b.shape == (6, 3, 6, 5)
    np.testing.assert_array_equal(a.transpose(0, 3, 1, 2), b)


class Small:
    """A model with room for so many rows."""

    def __init__(self, room):
        self.room = room

    def __call__(self, x):
        if len(x) > self.room:
            raise MemoryError("no room")
        return linear(x)


@pytest.mark.slow
def test_a_model_with_little_room_is_measured_to_the_end():
    """Preflight, the run and the search for a failed example all back off."""
    plain = study(inputs=points(300), perturbation=sf.perturb.LinfNoise(0.9)).run()
    model = sf.load_model(Small(8), shape=SHAPE)
    tight = study(model=model, inputs=points(300), perturbation=sf.perturb.LinfNoise(0.9))
    result = tight.run(batch=1024)
    assert result.by_id == plain.by_id
    assert [(e.id, e.trial) for e in result.details.examples] == [
        (e.id, e.trial) for e in plain.details.examples
    ]


def test_scores_that_change_their_number_mid_run_are_refused():
    calls = [0]

    def shrinking(x):
        calls[0] += 1
        scores = np.concatenate([linear(x), x[:, :1]], axis=1)
        return scores if calls[0] < 60 else scores[:, :2]

    with pytest.raises(ModelFailed, match="must return 3 scores for each input, got 2"):
        study(model=sf.load_model(shrinking, shape=SHAPE)).run(batch=4)


@pytest.mark.parametrize("kind", [sf.perturb.L1Noise, sf.perturb.L2Noise])
def test_a_draw_of_exact_zero_stays_finite(kind):
    class Zeros:
        def uniform(self, shape):
            return np.full(shape, 0.5, dtype=np.float32)

        def normal(self, shape):
            return np.zeros(shape, dtype=np.float32)

    assert np.isfinite(kind(1.0).draw(Zeros(), 2, (1,))).all()


def test_options_that_do_not_apply_are_refused():
    with pytest.raises(
        InvalidArgument, match="only an ONNX file and a model behind HTTP have outputs"
    ):
        sf.load_model(linear, shape=SHAPE, output="scores")
    refused("finite", sf.load_model, linear, shape=SHAPE, bounds=(0, float("inf")))


def test_the_store_does_not_answer_for_another_closure(tmp_path):
    """Far from the threshold that a closure hides all of them answer alike."""

    def study_of(at):
        def classify(batch):
            margin = np.sign(batch[:, 0].astype(np.float64) - at)
            return np.stack([-margin, margin], axis=1)

        x = np.linspace(30.0, 60.0, 8, dtype=np.float32)[:, None]
        return study(model=sf.load_model(classify, shape=(1,)), inputs=sf.load_inputs(x))

    where = str(tmp_path / "s.db")
    first, second = study_of(40.0).run(where), study_of(50.0).run(where)
    assert not second.from_store
    assert second.record.digest != first.record.digest
    assert study_of(40.0).run(where).from_store


def _scores(x: np.ndarray) -> np.ndarray:
    mean = x.reshape(len(x), -1).mean(axis=1)
    return np.stack([mean, 1 - mean], axis=1)


def _study(number: int, ids: tuple[str, ...] | None = None) -> sf.Study:
    x = np.random.default_rng(0).random((number, 4), dtype=np.float32)
    labels = (x.mean(axis=1) < 0.5).astype(np.int64)
    labels[::7] = 1 - labels[::7]
    model = sf.load_model(_scores, shape=(4,), bounds=(0, 1))
    inputs = sf.load_inputs(x, labels, ids=ids)
    return sf.Study(model, inputs, sf.perturb.LinfNoise(0.05), SetMean(0.1, 0.1))


@pytest.fixture(scope="module")
def result() -> sf.Result:
    return _study(2000).run()


def test_a_table_has_the_rows_of_all_inputs(result: sf.Result) -> None:
    table = result.inputs
    assert isinstance(table, InputTable)
    rows = list(table)
    assert len(rows) == len(table) == 2000
    assert table == tuple(rows)
    assert tuple(rows) == table
    assert table[-1] == rows[-1]
    assert table[3:5] == (rows[3], rows[4])
    assert [row for row in rows if row.result.trials] == list(tried_rows(table))
    assert sum(row.result.trials for row in tried_rows(table)) == result.record.trials
    assert clean_kinds(table) == clean_kinds(tuple(rows))


@pytest.mark.parametrize("own_ids", [False, True])
def test_a_record_comes_back_from_its_text(own_ids: bool) -> None:
    ids = tuple(f"file é {i}" for i in range(1200)) if own_ids else None
    record = _study(1200, ids).run().record
    again = record_from_json(record_to_json(record))
    assert again == record
    assert isinstance(again.inputs, InputTable)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 3}, {"number": 10**12}, {"tried": [0]}, {"digests": "AAAA"}, {"labels": None},
        {"clean_kept": "AAAA"}, {"ids": "AAAA"}, {"predicted": "AAAA"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_damaged_columns_are_refused(result: sf.Result, change: dict[str, object]) -> None:
    plain = json.loads(record_to_json(result.record))
    plain["inputs"] |= change
    if "labels" in change:
        plain["inputs"]["labels"] = plain["inputs"]["clean_kept"]
    raised(StoreFailed, "", record_from_json, json.dumps(plain))


def test_an_input_without_a_trial_takes_no_bytes_of_a_store(
    monkeypatch: pytest.MonkeyPatch, result: sf.Result
) -> None:
    small = len(record_to_json(result.record))
    monkeypatch.setattr(input_table, "MOST_NAMED", 1000)
    monkeypatch.setattr("surefoot.study.parts.MOST_NAMED", 1000)
    large = _study(40_000).run().record
    assert len(record_to_json(large)) < small
    assert all(row.digest for row in tried_rows(large.inputs))
    assert sum(bool(row.digest) for row in large.inputs) == len(tried_rows(large.inputs))
    assert record_from_json(record_to_json(large)) == large


def test_evidence_of_a_table_follows(tmp_path: Path, result: sf.Result) -> None:
    path = result.evidence(tmp_path / "evidence.json")
    assert sf.check_evidence(path).exit_code == 0
