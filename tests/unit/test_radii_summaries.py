"""What is said of critical radii: accuracy, severity, means, groups, quantiles, pairs, tools."""

import importlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot import population
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Verdict
from surefoot.core.counts import Counts, Proof
from surefoot.core.reasons import Why
from surefoot.core.results import Interval, Undecided
from surefoot.core.tasks import Task
from surefoot.engine.proof_bench import BuiltInProver, ProofBench, decode_point
from surefoot.graph.read_network import read_network
from surefoot.population import (
    mean_radii,
    mean_radius,
    robust_accuracy,
    robust_share,
    unpaired_quantile_difference,
)
from surefoot.region.critical_level import FIRST_BOUNDS, ProofLimits
from surefoot.report.key_figure import key_figure
from surefoot.report.views.radii_tables import quantile_table
from surefoot.statistics.bounds import clopper_pearson
from surefoot.study.export_counterexamples import write_properties
from surefoot.study.external import brackets
from surefoot.study.study import join_results
from surefoot.verify.ball import InputSpace
from tests.in_words import together
from tests.quantiles import bracket, never_refuted, points
from tests.refusals import refused
from tests.unit.test_radii_study import LINEAR, POINTS, linear_study, truth, write

HEAD = "network,split,image,lower,upper,runtime_s,label,training\n"
WRONG = "net,test,0,0,0,1,a,plain\n"


def rows(number, *, network="net", split="test", low=0.02, label="a", training="plain"):
    """Brackets of growing radii."""
    return "".join(
        f"{network},{split},{i},{low + i / 1000:.4f},{low + (i + 2) / 1000:.4f},{i},{label},"
        f"{training}\n"
        for i in range(1, number + 1)
    )


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "brackets.csv"
        path.write_text(HEAD + text, encoding="utf-8")
        return path

    return write


def of_kind(result, kind):
    return [claim for claim in result.claims if claim.kind == kind]


@pytest.mark.parametrize(
    ("count", "says"),
    [(lambda: robust_accuracy([], math.inf), "finite"), (lambda: mean_radii([]), "at least one")],
)
def test_radii_that_mean_nothing_are_refused(count, says):
    refused(says, count)


def test_open_inputs_count_against_the_low_end_and_for_the_high_end():
    local = [bracket(0, 0), bracket(0, 0.05), bracket(0.05, 0.2), *points([0.3] * 7)]
    counts = robust_accuracy(local, 0.1)
    assert (counts.proved, counts.refuted, counts.open, counts.clean) == (7, 2, 1, 1)
    assert counts.share == Interval(0.7, 0.8)
    assert counts.frequency == Interval(0.2, 0.3)
    around = robust_share(local, 0.1, 0.05)
    assert around.low == clopper_pearson(Counts(10, 7), 0.05).low
    assert around.high == clopper_pearson(Counts(10, 8), 0.05).high


def test_the_share_of_groups_weighs_each_group_the_same():
    weak, strong = [bracket(0, 0.01)] * 9, [bracket(0.5, 0.6)]
    groups = [population.Group(tuple(weak)) for _ in range(20)] + [
        population.Group(tuple(strong)) for _ in range(20)
    ]
    around = robust_share(groups, 0.1, 0.05)
    assert around.low < 0.5 < around.high
    assert around.low > 0.25


def test_severity_lies_between_proofs_and_counterexamples_of_the_refuted_alone():
    local = [bracket(0, 0), bracket(0.02, 0.04), bracket(0.05, 0.2), never_refuted(0.01)]
    severity = robust_accuracy(local, 0.1).severity
    assert severity.low == pytest.approx(0.01)
    assert severity.high == pytest.approx(0.02)
    assert robust_accuracy([never_refuted(0.2)], 0.1).severity is None


def test_the_mean_has_an_upper_end_only_where_every_input_is_refuted():
    assert mean_radii(points([0.0, 0.2])).between == Interval(0.1, 0.1)
    open_ = mean_radii([bracket(0.1, 0.3), never_refuted(0.2)])
    assert math.isinf(open_.between.high)
    assert (open_.distance, open_.counterexamples) == (0.3, 1)
    assert mean_radii([bracket(0, 0)]).between == Interval(0.0, 0.0)


def test_a_radius_beyond_the_ceiling_counts_as_the_ceiling():
    capped = mean_radius([never_refuted(9.0)] * 50, 0.4, 0.05)
    assert 0.3 < capped.low < capped.high == pytest.approx(0.4)
    nothing = mean_radius([never_refuted(0.0)] * 50, 0.4, 0.05)
    assert (nothing.low, nothing.high) == (0.0, pytest.approx(0.4))
    assert mean_radius([], 0.4, 0.05) == Interval(0.0, 0.4)
    for ceiling in (0.0, math.inf, math.nan):
        refused("ceiling must be a radius above 0", mean_radius, points([0.1]), ceiling, 0.05)


def test_several_radii_share_the_error_and_one_does_not(file):
    path = file(WRONG + rows(19))
    one = of_kind(brackets(path, at=(0.03,)), "robust_accuracy_population")[0]
    two = of_kind(brackets(path, at=(0.03, 0.01, 0.03)), "robust_accuracy_population")
    assert len(two) == 2
    assert one.interval == robust_share([r.result for r in brackets(path).inputs], 0.03, 0.05)
    assert two[0].interval.low < one.interval.low
    assert (together(one.guarantee), together(two[0].guarantee)) == ("", "both radii")
    assert one.guarantee.error == two[0].guarantee.error == 0.05


def test_what_is_said_of_a_file_rests_on_the_file(file):
    result = brackets(file(WRONG + rows(5)), at=(0.023,))
    for kind in ("robust_accuracy", "severity", "mean_radius", "robust_accuracy_population"):
        (claim,) = of_kind(result, kind)
        assert Assumed.PUBLISHED in claim.guarantee.assumptions, kind


def test_the_mean_of_the_population_needs_a_ceiling(file):
    path = file(rows(8))
    without = brackets(path)
    assert not of_kind(without, "mean_radius_population")
    (claim,) = of_kind(brackets(path, ceiling=0.4), "mean_radius_population")
    assert claim.ceiling == 0.4
    refused(r"ceiling \(--ceiling\) must be a radius above 0", brackets, path, ceiling=-1.0)


def test_a_network_of_ours_is_searched_up_to_the_width_of_its_bounds(tmp_path):
    result = linear_study(tmp_path, np.random.default_rng(0).random((6, 2))).run()
    assert of_kind(result, "mean_radius_population")[0].ceiling == 1.0
    named = result.at_radius(0.05)
    assert [t.title for t in named.view.tables][1:3] == [
        "Robust accuracy",
        "Adversarial frequency and severity",
    ]
    assert "Time" in {t.title for t in result.view.tables}
    written = json.loads(named.to_json())
    assert {"severity", "robust_accuracy_population"} <= {c["kind"] for c in written["claims"]}
    refused("one radius or more", result.at_radius)


def test_times_of_each_network_and_the_inputs_without_an_end(file):
    text = rows(3, network="a") + "b,test,1,,0.2,30,,\nb,test,2,0.1,,50,,\nb,test,3,0.1,0.2,,,\n"
    (table,) = (t for t in brackets(file(text)).view.tables if t.title == "Time")
    assert table.rows == (("a", "3", "6", "2", "3", "0"), ("b", "2", "80", "50", "50", "2"))


def test_a_number_alone_and_a_note_of_the_population_name_the_sample(file):
    text = rows(80) + rows(80, network="b", low=0.03)
    result = brackets(file(text), quantile=0.2, at=(0.05,), ceiling=0.4)
    sampled = "if the inputs are a random sample"
    first = result.explain().splitlines()[0]
    assert first.endswith(f"net: 20 % quantile of the critical radius, {sampled}")
    for claim in result.claims:
        is_of_population = claim.about.of is About.POPULATION
        assert key_figure(claim).meaning.endswith(sampled) == is_of_population, claim.kind
    notes = {table.title: table.note for table in result.view.tables}
    for title in ("Robust accuracy", "Mean radii", "Pairs of networks"):
        assert sampled in notes[title]


def test_two_independent_samples_are_compared_more_sharply_than_two_intervals():
    first, second = points(np.linspace(0.2, 0.4, 300)), points(np.linspace(0.1, 0.3, 200))
    around = population.unpaired_quantile_difference(first, second, 0.5, 0.05)
    one, other = (
        population.ShortestRanks(0.5).conclude(local, 0.025).interval for local in (first, second)
    )
    assert 0 < around.low < 0.1 < around.high
    assert around.width < 0.85 * (one.high - other.low - (one.low - other.high))
    back = population.unpaired_quantile_difference(second, first, 0.5, 0.05)
    assert (back.low, back.high) == (-around.high, -around.low)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 200), (72, 5)])
def test_few_inputs_leave_the_difference_open(sizes):
    n, m = sizes
    around = population.unpaired_quantile_difference(
        points([0.3] * n), points([0.1] * m), 0.05, 0.05
    )
    assert around.low < 0
    assert around.high > 0.2 - 1e-9
    refused("got 0 and 1", population.unpaired_quantile_difference, [], points([0.1]), 0.05, 0.05)


def test_brackets_that_are_open_only_widen_the_difference():
    rng = np.random.default_rng(1)
    radii = rng.uniform(0, 0.4, (2, 90))
    exact = population.unpaired_quantile_difference(*(points(r) for r in radii), 0.3, 0.05)
    wide = [[bracket(0.9 * r, 1.1 * r) for r in rs] for rs in radii]
    around = population.unpaired_quantile_difference(*wide, 0.3, 0.05)
    assert around.low < exact.low < exact.high < around.high


def test_splits_are_never_paired_though_their_images_have_the_same_names(file):
    text = rows(40, split="test") + rows(60, split="train", low=0.3)
    result = brackets(file(text), by="split", quantile=0.5)
    assert list(result.parts) == ["test", "train"]
    ids = [{row.id for row in part.inputs} for part in result.parts.values()]
    assert not ids[0] & ids[1]
    test, train = of_kind(result, "radius_quantile")
    (difference,) = of_kind(result, "quantile_difference")
    local = [[row.result for row in part.inputs] for part in result.parts.values()]
    assert difference.interval == unpaired_quantile_difference(*local, 0.5, 0.05)
    assert difference.interval.high < 0
    assert together(test.guarantee) == together(train.guarantee) == "both quantiles"
    assert together(difference.guarantee) == ""
    alone = brackets(file(text), split="test", quantile=0.5, error=0.025).claims[0]
    assert test.interval == alone.interval
    assert (test.guarantee.error, len(test.names)) == (0.05, 1)


def test_splits_of_several_networks_share_the_error_within_a_network(file):
    text = "".join(rows(9, network=net, split=split) for net in "ab" for split in ("test", "train"))
    result = brackets(file(text), by="split", quantile=0.5, at=(0.025,))
    assert list(result.parts) == ["a, test", "a, train", "b, test", "b, train"]
    assert [c.names for c in of_kind(result, "quantile_difference")] == [
        ("a, test", "a, train"),
        ("b, test", "b, train"),
    ]
    assert len(of_kind(result, "robust_accuracy")) == 4
    assert len(result.require(0.001).verdicts) == 4


def test_labels_are_classes_of_each_network_in_the_order_of_numbers(file):
    text = "".join(rows(1, label=str(k)).replace(",test,1,", f",test,{k},") for k in (10, 9, 2))
    result = brackets(file(text), by="label", quantile=0.5)
    classes = [c for c in result.claims if c.about.of is About.CLASS]
    assert [c.about.name for c in classes] == ["2", "9", "10"]
    every = [result.claims[0], *classes]
    assert {together(c.guarantee) for c in every} == {"the 3 classes and all inputs"}
    assert all(c.interval.low == 0 for c in classes)


def test_networks_of_a_training_are_pooled_on_the_inputs_that_all_have(file):
    text = rows(30, network="a") + rows(25, network="b", low=0.01)
    text += rows(30, network="c", low=0.4, training="robust")
    result = brackets(file(text), by="training", quantile=0.5)
    plain, robust = of_kind(result, "radius_quantile")
    assert (plain.about.inputs, robust.about.inputs) == (25, 30)
    assert not of_kind(result.parts["plain"], "mean_radius")
    assert [c.names for c in result.require(0.001).verdicts] == [("plain",), ("robust",)]


def test_pooled_networks_count_inputs_or_say_pairs(file):
    wrong = WRONG.replace("net,", "a,") + WRONG.replace("net,", "b,")
    text = wrong + rows(39, network="a") + rows(39, network="b")
    text += rows(40, network="c", low=0.4, training="robust")
    result = brackets(file(text), by="training", quantile=0.5)
    view = result.view
    assert "(40 inputs)" in view.about
    notes = {table.title: table.note for table in view.tables}
    assert notes["Weakest inputs, plain"].startswith("2 of 80 pairs of input and network are wrong")
    means = next(table for table in view.tables if table.title == "Mean radii")
    assert means.headings[:2] == ("training", "pairs")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (rows(2), {"by": "colour"}, "must be split, label or training, got 'colour'"),
        (rows(2), {"by": "split"}, r"two or more values, got 1 \(test\): leave it out"),
        (rows(2) + rows(2, split="train"), {"by": "split", "split": "test"}, "two or more values"),
        (rows(2, label=""), {"by": "label"}, "needs a label in every row of net"),
        (rows(2, training=""), {"by": "training"}, "needs a training in every row"),
        (rows(2), {"by": "training"}, r"two or more values, got 1 \(plain\)"),
        (rows(1) + rows(2, training="other"), {"by": "training", "at": (0.1,)}, "leave out one"),
        (rows(2) + rows(2), {"by": "split"}, "2 rows of net, image 1 of split test"),
        (rows(1) + WRONG.replace("plain", "other"), {"by": "training"}, "give each network one"),
    ],
)
def test_groups_that_mean_nothing_are_refused_with_the_way_out(file, text, options, message):
    refused(message, brackets, file(text), **options)


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
    assert {claim.kind for claim in both.claims} == {"radius_quantile"}
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
    for own in brackets:
        inside, *beyond = own.sampled
        assert inside.radius < own.low
        assert (inside.trials, inside.failed) == (200, 0)
        *beyond, near = beyond
        assert all(s.radius >= own.high for s in beyond)
        assert (near.radius, near.failed, near.near_ties) == (own.low, 0, True)
        assert not own.contradicted
    assert sum(s.failed for own in brackets for s in own.sampled[-2:]) > 0
    assert "failed; a proof allows none" in result.explain()
    without = linear_study(tmp_path, POINTS, sf.methods.CriticalLevel(1e-3, 5, samples=0)).run()
    assert all(not row.result.sampled for row in without.inputs)


def test_a_proof_that_is_wrong_is_found_out_and_decides_nothing(tmp_path, monkeypatch):
    module = importlib.import_module("surefoot.verify.bracket_search")
    true = module.bracket_radius

    def boastful(network, x, *args, **more):
        result = true(network, x, *args, **more)
        wrong = module.BracketResult(0.3, 0.3005, result.witness, 1, 0.1, "closed")
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


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_first_bounds_of_all_are_made_together_and_those_at_a_level_need_no_search(
    tmp_path, device
):
    if device != "cpu":  # in place of a GPU
        pytest.importorskip("torch")
    study = linear_study(tmp_path, POINTS, labels=[0, 0, 1, 1, 1])  # the last is wrong
    prover = BuiltInProver(read_network(study.model.graph.path), device=device)
    bench, subjects = bench_of(study, prover), study.fitted.subjects()
    first = bench.answer([Task(subject, 0.0, 0, 1) for subject in subjects])
    for proof, point in zip(first[:4], POINTS, strict=False):
        assert 0.9 * truth(point) < proof.low <= truth(point)
        assert proof.high is None and proof.reason == FIRST_BOUNDS
    assert (first[4].far, first[4].reason) == (0.0, "misclassified")
    level = 0.07
    answers = bench.answer([Task(subject, level, 0, 1) for subject in subjects])
    for proof, point in zip(answers[:4], POINTS, strict=False):
        beyond = truth(point) > level
        assert (proof.low >= level) == beyond
        assert (proof.far > level) == beyond
    assert (answers[4].far, answers[4].reason) == (0.0, "misclassified")
    alone = [bench.answer([Task(subject, 0.0, 0, 1)])[0] for subject in subjects]
    assert [proof.low for proof in alone] == [proof.low for proof in first]


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
    for own, name in zip(brackets, refuted, strict=True):
        box = read_property((tmp_path / "v" / name).read_text())
        point = model.graph.prepared(decode_point(own.witness).astype(np.float32)[None])[0]
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
    bench_of(study, BuiltInProver(None, device="")).answer([task])
    assert limits == [pytest.approx(1.0)]
