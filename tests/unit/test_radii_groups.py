"""Groups of critical radii in a file: splits, labels and trainings."""

import pytest

from surefoot.core.claims import About
from surefoot.errors import InvalidArgument
from surefoot.population import unpaired_quantile_difference
from surefoot.report.sentences import sentence
from surefoot.study.external import brackets
from tests.in_words import together
from tests.unit.test_radii_summaries import WRONG, file, of_kind, rows

__all__ = ["file"]


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


def test_too_few_inputs_of_a_split_have_the_lower_end_0_and_it_is_said(file):
    result = brackets(file(rows(3) + rows(80, split="train")), by="split")
    few = of_kind(result, "radius_quantile")[0]
    assert few.interval.low == 0
    assert "3 inputs are too few" in sentence(few)


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
    with pytest.raises(InvalidArgument, match=message):
        brackets(file(text), **options)
