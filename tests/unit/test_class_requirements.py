"""A requirement of each class: what may be written, what is refused, what is decided."""

import re

import numpy as np
import pytest

import surefoot as sf
from surefoot.commands.values import class_shares
from surefoot.conclude.sampling_requirements import named_classes
from surefoot.core.claims import About
from surefoot.errors import InvalidArgument
from surefoot.report.sentences import sentence
from tests.claims.parts import QUICK, noise_study, normal_inputs
from tests.refusals import refused
from tests.worlds import linear_model, points, study

NAMES = {0: "stop", 1: "parking", 4: "3"}
ACCEPTED = {"accept_clean_accuracy": True}
"""The model knows nothing of the classes."""


def test_classes_are_written_with_their_numbers():
    assert class_shares("require_each", "stop=0.99, parking = 0.9") == {
        "stop": 0.99,
        "parking": 0.9,
    }
    assert class_shares("require_each", "0.9") == 0.9
    assert class_shares("require_each", {"stop": 0.5, 1: 0.2}) == {"stop": 0.5, "1": 0.2}


def test_a_name_may_have_commas_and_equal_signs():
    given = "a, b=0.5,x=y=1/2"
    assert class_shares("require_each", given) == {"a, b": 0.5, "x=y": 0.5}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("stop=", "is not a number"),
        ("=0.5", "no class before"),
        ("stop=0.5,stop=0.6", "names stop twice"),
        ("stop=0.5,parking", "no number for parking"),
        ("stop=2", "between 0 and 1"),
        ("stop=-0.1", "between 0 and 1"),
        ("stop=nan", "not a finite number"),
        ({"stop": 2}, "between 0 and 1"),
    ],
)
def test_what_is_no_share_is_refused(given, says):
    refused(says, class_shares, "require_each", given)


def test_a_class_is_named_by_its_name_or_its_number_and_the_name_goes_first():
    assert named_classes({"1": 0.2, "stop": 0.9}, NAMES) == {"stop": 0.9, "parking": 0.2}
    assert named_classes({3: 0.2}, {**NAMES, 3: "other"}) == {"3": 0.2}
    assert named_classes(0.5, NAMES) == dict.fromkeys(NAMES.values(), 0.5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"stpo": 0.9}, "do you mean stop?"),
        ({"nothing at all": 0.9}, "there are stop \\(0\\), parking \\(1\\), 3 \\(4\\)"),
        ({"7": 0.9}, "there is no class '7'"),
        ({"stop": 0.9, 0: 0.8}, "class stop is named twice"),
        ({}, "names no class"),
    ],
)
def test_a_class_that_is_not_there_is_refused_with_near_names(given, says):
    refused(says, named_classes, given, NAMES)


@pytest.fixture(scope="module")
def result():
    labels = np.repeat([0, 1], 40)
    p = np.where(labels == 0, 0.45, 0.0)
    inputs = normal_inputs(p, labels=labels.tolist())
    method, same = sf.methods.FixedSize(0.2, 0.05), sf.properties.SameLabel()
    return noise_study(p, method, 1, inputs=inputs, property=same).run(**QUICK)


def test_each_class_has_its_own_verdict_and_exit_codes_follow(result):
    both = result.require(of_each_class={"0": 0.3, "1": 0.9}, **ACCEPTED)
    together, *each = both.verdicts
    assert [c.verdict for c in both.verdicts] == [sf.Verdict.PASS] * 3
    assert [c.requirement.number for c in each] == pytest.approx([0.7, 0.1])
    assert (together.requirement.number, together.names) == (None, ("0", "1"))
    assert both.exit_code == 0
    refuted = result.require(of_each_class={"0": 0.9, "1": 0.8}, **ACCEPTED)
    assert [c.verdict for c in refuted.verdicts] == [
        sf.Verdict.FAIL, sf.Verdict.FAIL, sf.Verdict.PASS,
    ]  # fmt: skip
    assert refuted.exit_code == 1
    assert result.require(of_each_class={"0": 0.55, "1": 0.9}).exit_code == 2


def test_classes_are_checked_before_anything_runs():
    def never(batch):
        if len(batch) > 60:  # more than the clean inputs and the probes
            raise AssertionError("a trial was run")
        return np.stack([batch[:, 0], -batch[:, 0]], axis=1)

    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
    with pytest.raises(InvalidArgument, match="there is no class 'stop'"):
        sf.estimate(
            never, (x, [0, 1, 0, 1, 0, 1]), "gaussian:0.1", shape=(2,), store=None, batch=4096,
            require_each={"stop": 0.9},
        )  # fmt: skip


def test_the_trials_of_a_claim_about_a_class_are_those_of_its_inputs():
    result = study(by_class=True).run().require(0.9, of_each_class=0.9)
    of_class = [c for c in (*result.claims, *result.verdicts) if c.about.of is About.CLASS]
    own = {
        name: sum(row.result.trials for row in result.inputs if str(row.label) == name)
        for name in {c.about.name for c in of_class if c.about.name}
    }
    assert len(own) > 1
    assert {c.about.name: c.trials for c in of_class if c.about.name} == own
    assert sum(own.values()) == result.record.trials
    assert {c.requirement.number for c in result.verdicts} == {0.1}  # 1 - 0.9 is not


def test_the_first_of_sorted_inputs_pass_nothing_about_the_population():
    whole = points(40)
    ordered = whole.subset(np.argsort(whole.labels, kind="stable"))
    first = sf.select(ordered, linear_model(), sf.Selection(first=12))
    test = sf.methods.KappaTest(kappa=0.5, error=0.1)
    result = study(inputs=first, method=test, perturbation=sf.perturb.LinfNoise(0.01)).run()
    of_population, of_these = result.require(0.1, of_these=0.5).verdicts[::-1]
    assert of_these.verdict is sf.Verdict.PASS
    assert of_population.verdict is sf.Verdict.UNDECIDED
    (doubt,) = of_population.reason.values
    assert "first 12 inputs are all of class 0, and the data have 2 classes" in doubt
    assert "no random sample" in result.view.urgent[0]


def stop_taken_for_cat(batch):
    """Cats and dogs never fail; what stops is taken for a cat, and half of its trials fail."""
    stops = batch[:, 1] > 5
    margin = np.where(stops, 1e-3, 3 * np.sign(batch[:, 0]))
    margin = margin + np.where(stops, batch[:, 0], 0.0)
    return np.stack([margin, -margin, np.full(len(batch), -9.0)], axis=1)


ANIMALS = np.repeat(np.array([[5, 0], [-5, 0], [0, 10]], np.float32), 40, axis=0)
POPULATIONS = (About.CLASS, About.POPULATION)
OF_ANIMALS = {"shape": (2,), "store": None, "each": 0.2}


def of_animals(labels=True, least=0.8, number=120, **more):
    x, y = ANIMALS[:number], np.repeat([0, 1, 2], 40)[:number]
    data = (x, y) if labels else x
    return sf.estimate(
        stop_taken_for_cat, data, "gaussian:0.1", **OF_ANIMALS, require_each=least, **more
    )


@pytest.mark.parametrize(
    "more",
    [
        {"correct_only": True, "class_names": ("cat", "dog", "stop")},
        {"first": 80, "class_names": ("cat", "dog", "stop")},
        {"first": 80},
        {"number": 80, "class_names": ("cat", "dog", "stop")},
        {"labels": False, "class_names": ("cat", "dog", "stop")},
    ],
)
def test_nothing_is_said_of_every_class_where_one_has_no_input(more):
    refused(r"nothing of class \w+ is studied .*=0.8,", of_animals, **more)


def test_the_record_of_a_part_knows_the_classes_that_it_leaves_out():
    result = of_animals(first=80, least={"0": 0.8})
    refused("nothing of class 2 is studied", result.require, of_each_class=0.8)


def test_the_classes_that_were_chosen_are_every_class_of_the_data():
    verdict, *each = of_animals(classes=(0, 1)).verdicts
    assert verdict.verdict is sf.Verdict.PASS
    assert len(each) == 2
    assert "on inputs of every class of these data" in sentence(verdict)


def test_nothing_is_said_of_every_class_where_all_cases_of_one_were_skipped(tmp_path):
    of = {"maths": "pass", "law": "pass", "safety": "skip"}
    rows = [f"{topic}{i},{topic},{of[topic]}" for topic in of for i in range(40)]
    path = tmp_path / "outcomes.csv"
    path.write_text("\n".join(["case,topic,outcome", *rows]))
    refused("nothing of class safety is studied here", sf.tally, path, by="topic", require_each=0.8)
    assert sf.tally(path, by="topic", require_each={"maths": 0.8, "law": 0.8}).exit_code == 0


def test_classes_without_labels_are_called_predicted_wherever_they_are_named(tmp_path):
    """Half of the trials of what stops fail, and none of a cat's: it is the predicted class."""
    result = of_animals(
        labels=False, least={"0": 0.4, "1": 0.9}, class_names=("cat", "dog", "stop")
    )
    text, page = result.explain(), result.report(tmp_path / "page.html").read_text()
    ours = [c for c in (*result.claims, *result.verdicts) if c.about.of is About.CLASS]
    assert all(claim.about.predicted for claim in ours)
    for words in (text, page, " ".join(map(sentence, (*result.claims, *result.verdicts)))):
        assert not re.findall(
            r"(?<!predicted )\b[Cc]lass(?:es)? (?!does|means)\w*(?:cat|dog)", words
        )
    assert "inputs of predicted class cat" in sentence(ours[0])
    assert "for the 2 predicted classes and all inputs together" in text
    assert "Requirement for each predicted class" in text
    assert "each of the predicted classes cat and dog" in text
    assert not any(c.about.predicted for c in of_animals(least={"0": 0.8}).claims)


def test_the_claim_says_that_only_inputs_are_meant_that_the_model_gets_right():
    """No cat or dog ever fails; of all inputs, a third fails in half of its trials."""
    result = of_animals(least={"0": 0.8, "1": 0.8}, correct_only=True, require=0.8)
    said = [sentence(c) for c in (*result.claims, *result.verdicts) if c.about.of in POPULATIONS]
    assert len(said) == 10
    assert all("inputs of" in text or "mong inputs" in text for text in said)
    assert all("that the model classifies correctly" in text for text in said), said
    assert sf.Verdict.PASS in {claim.verdict for claim in result.verdicts}
    whole = of_animals(least={"0": 0.8, "1": 0.8}, require=0.8)
    assert "classifies correctly" not in whole.explain()


def test_models_side_by_side_say_which_inputs_all_of_them_get_right():
    models = {"a": stop_taken_for_cat, "b": lambda x: 2 * stop_taken_for_cat(x)}
    x = ANIMALS[[0, 40, 80] * 4]
    result = sf.compare(models, (x, [0, 1, 2] * 4), "gaussian:0.1", **OF_ANIMALS, correct_only=True)
    for claim in result.require(not_worse=("a", 0.5)).verdicts + result.claims:
        if claim.about.of is About.POPULATION:
            assert "inputs that all 2 models classify correctly" in sentence(claim).replace(
                " of this kind", ""
            )
