"""Robust accuracy, severity, means, times and groups of critical radii, as users read them."""

import json
import math

import numpy as np
import pytest

from surefoot import population
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About
from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.population import (
    mean_radii,
    mean_radius,
    robust_accuracy,
    robust_share,
    unpaired_quantile_difference,
)
from surefoot.report.key_figure import key_figure
from surefoot.statistics.bounds import clopper_pearson
from surefoot.study.external import brackets
from tests.in_words import together
from tests.quantiles import bracket, never_refuted, points
from tests.refusals import refused
from tests.unit.test_radii_study import linear_study

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
