"""What is said of critical radii: quantiles, sampled points, pairs, and for other tools."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Verdict
from surefoot.core.counts import Proof
from surefoot.core.reasons import Why
from surefoot.core.results import Undecided
from surefoot.core.tasks import Task
from surefoot.engine.proof_bench import BuiltInProver, ProofBench, decode_point
from surefoot.graph.read_network import read_network
from surefoot.region.critical_level import ProofLimits
from surefoot.report.views.radii_tables import quantile_table
from surefoot.study.export_counterexamples import write_properties
from surefoot.study.study import join_results
from surefoot.verify.ball import InputSpace
from tests.in_words import together
from tests.refusals import refused
from tests.unit.test_radii_study import LINEAR, POINTS, linear_study, truth, write


@pytest.mark.slow
def test_the_quantile_alone_is_the_same_quantile(tmp_path):
    points = np.random.default_rng(3).random((20, 2))
    short = linear_study(
        tmp_path, points, sf.methods.CriticalQuantile(1e-3, 5, 0.2, samples=50)
    ).run()
    long = linear_study(tmp_path, points, sf.methods.CriticalLevel(1e-3, 5, 0.2)).run()
    assert [row.id for row in short.inputs] == [row.id for row in long.inputs]
    one, other = (result.details.quantiles[0] for result in (short, long))
    assert abs(one.result.value - other.result.value) <= 1e-3
    assert one.estimator == other.estimator == "shortest-ranks"
    for row, point in zip(short.inputs, points.astype(np.float32), strict=True):
        assert row.result.low - 1e-6 <= truth(point.astype(float)) <= row.result.high + 1e-6


def test_where_the_number_of_inputs_was_chosen_on_the_way_no_fixed_ranks_are_read(tmp_path):
    method = sf.methods.CriticalQuantile(1e-3, 5, 0.3, within=0.2, samples=0)
    study = linear_study(tmp_path, np.random.default_rng(4).random((60, 2)), method)
    result = study.run()
    assert len(result.details.quantiles) == 1
    both = join_results({"a": result, "b": result}, "curve")
    assert {claim.kind for claim in both.claims} == {"radius_quantile", "mean_radius"}
    whole = result.at_radius(0.1).claims[-1]
    assert (whole.kind, whole.interval) == ("robust_accuracy_population", None)
    assert whole.reason == Why.INPUTS_CHOSEN.of()
    assert both.details.differences == ()
    (alone,), (one, other) = result.require(0.01).verdicts, both.require(0.01).verdicts
    assert one.guarantee.error == other.guarantee.error == 2 * alone.guarantee.error
    assert together(one.guarantee) == "all 2 networks"
    assert "Pairs of networks" not in str(both)
    refused(r"leave out within \(--within\) or by_class", replace, study, by_class=True)


def test_points_are_drawn_within_what_is_proved_and_beyond(tmp_path):
    result = linear_study(tmp_path, POINTS).run()
    brackets = [row.result for row in result.inputs]
    for bracket in brackets:
        inside, *beyond = bracket.sampled
        assert inside.radius < bracket.low
        assert (inside.trials, inside.failed) == (200, 0)
        *beyond, near = beyond
        assert all(s.radius >= bracket.high for s in beyond)
        assert (near.radius, near.failed, near.near_ties) == (bracket.low, 0, True)
        assert not bracket.contradicted
    assert sum(s.failed for bracket in brackets for s in bracket.sampled[-2:]) > 0
    assert "failed; a proof allows none" in result.explain()
    without = linear_study(tmp_path, POINTS, sf.methods.CriticalLevel(1e-3, 5, samples=0)).run()
    assert all(not row.result.sampled for row in without.inputs)


def test_a_proof_that_is_wrong_is_found_out_and_decides_nothing(tmp_path, monkeypatch):
    module = importlib.import_module("surefoot.verify.bracket_search")
    true = module.bracket_radius

    def boastful(network, x, *args, **more):
        result = true(network, x, *args, **more)
        wrong = module.BracketResult(0.3, 0.31, result.witness, 1, 0.1, "closed")
        return wrong if np.allclose(x, POINTS[0]) else result

    monkeypatch.setattr(module, "bracket_radius", boastful)
    result = linear_study(tmp_path, POINTS).run()
    assert "Contradiction: input" in result.explain()
    assert sum(row.result.contradicted for row in result.inputs) == 1
    for least in (1e-6, 0.9):  # without the contradiction the second would be refuted
        (claim,) = result.require(least).verdicts
        assert claim.verdict is Verdict.UNDECIDED
    assert "Contradiction" in result.report(tmp_path / "c.html").read_text()


def bench_of(study, prover):
    return ProofBench(
        study.fitted,
        study.references,
        study.model,
        prover,
        InputSpace(0.0, 1.0),
        1e-3,
        (ProofLimits(5.0),),
        1,
    )


def test_a_later_try_goes_on_from_the_earlier_one(tmp_path):
    study = linear_study(tmp_path, POINTS)
    prover = BuiltInProver(read_network(study.model.graph.path))
    known = Proof(0.0995, None, "", "out of time", 3, 1.0)
    task = Task(study.fitted.subjects()[0], 0.0, 0, 1, known=known)
    (proof,) = bench_of(study, prover).answer([task])
    assert proof.low >= 0.0995


def test_properties_have_a_file_each_and_hold_the_counterexample_as_the_graph_got_it(tmp_path):
    from surefoot.verify.vnnlib import read_property

    path = write(tmp_path / "n.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1), mean=(0.1, 0.4), std=(0.3, 0.7))
    x = np.random.default_rng(1).random((12, 2)).astype(np.float32)
    names = ["a/b", "a_b", "A_b", "..", "x" * 300, *(f"n{i}" for i in range(7))]
    study = sf.Study(
        model, sf.load_inputs(x, ids=names), sf.perturb.LinfNoise(),
        sf.methods.CriticalLevel(1e-3, 5, samples=0),
    )  # fmt: skip
    record = study.run().record
    count = write_properties(study, record, tmp_path / "n.onnx", tmp_path / "v")
    assert len(list((tmp_path / "v").glob("*.vnnlib"))) == count > len(names)
    lines = (tmp_path / "v" / "instances.csv").read_text().splitlines()
    refuted = [line.split(",")[1] for line in lines if "refuted" in line]
    brackets = [row.result for row in record.inputs if 0 < row.result.high <= 1]
    for bracket, name in zip(brackets, refuted, strict=True):
        box = read_property((tmp_path / "v" / name).read_text())
        point = model.graph.prepared(decode_point(bracket.witness).astype(np.float32)[None])[0]
        assert ((point >= box.lower) & (point <= box.upper)).all()


def test_no_number_stands_where_an_estimator_gave_none(tmp_path):
    """Nothing is refuted, so the log-normal posterior says nothing."""
    path = write(tmp_path / "c.onnx", [([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0])])
    model = sf.load_model(path, bounds=(0, 1), scores="logits")
    inputs = sf.load_inputs(np.asarray(POINTS, np.float32))
    method = sf.methods.CriticalLevel(1e-3, 5, samples=0)
    result = sf.Study(model, inputs, sf.perturb.LinfNoise(), method).run()
    row = result.details.quantiles[2]
    assert row.estimator == "log-normal"
    assert isinstance(row.result, Undecided)
    (line,) = (
        cells for cells in quantile_table({"": result.record}).rows if "log-normal" in cells[0]
    )
    assert line[2] == "undecided"
    assert line[3] == sf.reason_words(row.result.reason)


def test_all_radii_asked_for_share_one_limit_of_time(tmp_path, monkeypatch):
    verify = importlib.import_module("surefoot.verify.bracket_search")
    limits = []

    def slow(*_, seconds, **more):
        limits.append(seconds)
        return verify.BracketResult(0.0, float("inf"), None, 0, 0.4 * seconds, "out of time")

    monkeypatch.setattr(verify, "bracket_radius", slow)
    study = linear_study(tmp_path, POINTS)
    known = Proof(0.0, None, "", "", 0, 4.0)
    task = Task(study.fitted.subjects()[0], 0.1, 0, 1, known=known)
    bench_of(study, BuiltInProver(None)).answer([task])
    assert limits == [pytest.approx(1.0)]
