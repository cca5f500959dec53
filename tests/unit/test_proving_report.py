"""What is said of critical levels: quantiles, sampled points, pairs, and for other tools."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.engine.proving import OwnProver, ProvingBench, unpacked
from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.report.critical import Criticals
from surefoot.report.critical_tables import pair_table, quantile_table
from surefoot.results import Footing, Interval, Undecided
from surefoot.study.witnesses import write_properties
from surefoot.subject import Task
from tests.unit.test_proving import LINEAR, POINTS, linear_study, write


def test_the_quantile_alone_is_the_same_quantile(tmp_path):
    points = np.random.default_rng(3).random((40, 2))
    whole, path = linear_study(tmp_path, points)
    quick, _ = linear_study(tmp_path, points, sf.CriticalQuantile(1e-3, 5, 0.2, samples=50))
    full = linear_study(tmp_path, points, sf.CriticalLevel(1e-3, 5, 0.2))[0]
    (short,) = sf.prove(quick, path).records.values()
    (long,) = sf.prove(full, path).records.values()
    assert [row.id for row in short.rows] == [row.id for row in long.rows]
    assert abs(short.quantiles[0].value - long.quantiles[0].value) <= 1e-3
    assert short.quantiles[0].kind == "shortest-ranks"
    for row, point in zip(short.rows, whole.fitted.x, strict=True):
        assert row.low - 1e-6 <= abs(float(point.sum()) - 1) / 2 <= row.high + 1e-6


def test_inputs_are_taken_at_random_until_the_quantile_is_known(tmp_path):
    """Inputs sorted by radius: the first ones alone would give a wrong quantile."""
    points = np.sort(np.random.default_rng(4).random((300, 2)), axis=0)
    asked = sf.CriticalQuantile(1e-3, 5, 0.3, width=0.06, samples=0)
    study, path = linear_study(tmp_path, points, asked)
    (record,) = sf.prove(study, path).records.values()
    whole = record.quantiles[0]
    assert len(record.rows) < 300
    assert whole.high - whole.low <= 0.12
    true = np.quantile(np.abs(points.sum(axis=1) - 1) / 2, 0.3)
    assert whole.low <= true <= whole.high


def test_where_the_number_of_inputs_was_chosen_on_the_way_no_fixed_ranks_are_read(tmp_path):
    asked = sf.CriticalQuantile(1e-3, 5, 0.3, width=0.2, samples=0)
    study, path = linear_study(tmp_path, np.random.default_rng(4).random((60, 2)), asked)
    record = sf.prove(study, path).records[""]
    assert len(record.quantiles) == 1
    both = Criticals({"a": record, "b": record})
    assert pair_table(both.records) is None
    assert "not set against each other" in str(both)
    with pytest.raises(InvalidArgument, match="leave out --within or --by-class"):
        sf.prove(replace(study, by_class=True), path)


def test_points_are_drawn_within_what_is_proved_and_beyond(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    (record,) = sf.prove(study, path).records.values()
    for row in record.rows:
        inside, *beyond = row.sampled
        assert inside.radius < row.low
        assert (inside.trials, inside.slips) == (200, 0)
        assert all(s.radius >= row.high for s in beyond)
        assert not row.contradicted
    assert sum(s.slips for row in record.rows for s in row.sampled[-1:]) > 0
    assert "slipped; a proof allows none" in str(sf.prove(study, path))
    without, _ = linear_study(tmp_path, POINTS, sf.CriticalLevel(1e-3, 5, samples=0))
    assert all(not row.sampled for row in sf.prove(without, path).records[""].rows)


def test_a_proof_that_is_wrong_is_found_out_and_decides_nothing(tmp_path, monkeypatch):
    from importlib import import_module

    module = import_module("surefoot.verify.critical")
    true = module.critical

    def boastful(*args, **more):
        found = true(*args, **more)
        return module.Found(0.3, 0.31, found.witness, 1, 0.1, "closed")

    monkeypatch.setattr(module, "critical", boastful)
    study, path = linear_study(tmp_path, POINTS)
    found = sf.prove(study, path)
    assert "Contradiction: input" in str(found)
    assert isinstance(found.requires(0.0), Undecided)
    assert "Contradiction" in found.report(tmp_path / "c.html").read_text()


def test_a_later_try_goes_on_from_the_earlier_one(tmp_path):
    from surefoot.results import Interval
    from surefoot.subject import Task
    from surefoot.verify.graph import read_network

    study, path = linear_study(tmp_path, POINTS)
    prover = OwnProver(read_network(path))
    known = {0: Proof(0.0995, None, "", "out of time", 3, 1.0)}
    bench = ProvingBench(
        study.fitted, study.references, study.model, prover, Interval(0, 1), 1e-3, (5.0,), 1, known
    )
    subject = study.fitted.subjects()[0]
    (proof,) = bench.answer([Task(subject, 0.0, 0, 1)])
    assert proof.low >= 0.0995


def test_two_networks_are_compared_on_the_same_inputs(tmp_path):
    points = np.random.default_rng(5).random((80, 2))
    study, path = linear_study(tmp_path, points, sf.CriticalLevel(1e-3, 5, 0.5))
    (record,) = sf.prove(study, path).records.values()
    from dataclasses import replace

    weaker = replace(
        record, rows=tuple(replace(r, low=r.low / 9, high=r.high / 9) for r in record.rows)
    )
    told = str(sf.Criticals({"strong": record, "weak": weaker}))
    assert "Network against network" in told
    assert "strong is more robust" in told
    same = str(sf.Criticals({"one": record, "other": record}))
    assert "is more robust" not in same


def test_properties_have_a_file_each_and_hold_the_counterexample_as_the_graph_got_it(tmp_path):
    from surefoot.verify.vnnlib import read_property

    path = write(tmp_path / "n.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1), mean=(0.1, 0.4), std=(0.3, 0.7))
    x = np.random.default_rng(1).random((12, 2)).astype(np.float32)
    names = ["a/b", "a_b", "A_b", "..", "x" * 300, *(f"n{i}" for i in range(7))]
    study = sf.Study(
        model, sf.load_inputs(x, ids=names), sf.perturb.LinfNoise(0.1),
        sf.CriticalLevel(1e-3, 5, samples=0),
    )  # fmt: skip
    record = sf.prove(study, path).records[""]
    count = write_properties(study, record, tmp_path / "n.onnx", tmp_path / "v")
    assert len(list((tmp_path / "v").glob("*.vnnlib"))) == count > len(names)
    given = (tmp_path / "v" / "instances.csv").read_text().splitlines()
    refuted = [line.split(",")[1] for line in given if "refuted" in line]
    rows = [row for row in record.rows if row.high]
    for row, name in zip(rows, refuted, strict=True):
        box = read_property((tmp_path / "v" / name).read_text())
        point = model.normalise(unpacked(row.witness).astype(np.float32)[None])[0]
        assert ((point >= box.lower) & (point <= box.upper)).all()


def test_no_number_stands_where_an_estimator_gave_none(tmp_path):
    """Nothing is refuted, so the log-normal posterior says nothing."""
    path = write(tmp_path / "c.onnx", [([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0])])
    model = sf.load_model(path, bounds=(0, 1), scores="logits")
    inputs = sf.load_inputs(np.asarray(POINTS, np.float32))
    asked = sf.CriticalLevel(1e-3, 5, samples=0)
    told = sf.prove(sf.Study(model, inputs, sf.perturb.LinfNoise(0.1), asked), path)
    row = told.records[""].quantiles[2]
    assert row.kind == "log-normal"
    assert row.guarantee.footing is Footing.NONE
    (line,) = (cells for cells in quantile_table(told.records).rows if "log-normal" in cells[0])
    assert line[2:] == ("undecided", "none")


def test_all_radii_asked_for_share_one_limit_of_time(tmp_path, monkeypatch):
    verify = importlib.import_module("surefoot.verify.critical")
    given = []

    def slow(*_, seconds, **more):
        given.append(seconds)
        return verify.Found(0.0, float("inf"), None, 0, 0.4 * seconds, "out of time")

    monkeypatch.setattr(verify, "critical", slow)
    study, _ = linear_study(tmp_path, POINTS)
    known = {0: Proof(0.0, None, "", "", 0, 4.0)}
    bench = ProvingBench(
        study.fitted,
        study.references,
        study.model,
        OwnProver(None),
        Interval(0.0, 1.0),
        1e-3,
        (5.0,),
        1,
        known,
    )
    bench.answer([Task(study.fitted.subjects()[0], 0.1, 0, 1)])
    assert given == [pytest.approx(1.0)]


def test_the_legends_of_two_networks_stand_where_no_line_crosses_them(tmp_path):
    from surefoot.report.critical_figures import distribution

    study, path = linear_study(tmp_path, POINTS)
    (record,) = sf.prove(study, path).records.values()
    drawn = distribution({"one.onnx": record, "two.onnx": record}).to_dict()
    legends = [
        shown["legend"]
        for layer in drawn["layer"]
        for shown in layer["encoding"].values()
        if isinstance(shown.get("legend"), dict)
    ]
    assert {legend["orient"] for legend in legends} == {"top", "bottom"}
    assert all(x["symbolOpacity"] == 1 for x in legends if x["orient"] == "top")
