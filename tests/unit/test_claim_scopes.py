"""Which inputs and classes a claim is about: of labels, of predictions, of a selection."""

import re

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import About
from surefoot.errors import InvalidArgument
from surefoot.report.sentences import sentence


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
    with pytest.raises(InvalidArgument, match=r"nothing of class \w+ is studied .*=0.8,"):
        of_animals(**more)


def test_the_record_of_a_part_knows_the_classes_that_it_leaves_out():
    result = of_animals(first=80, least={"0": 0.8})
    with pytest.raises(InvalidArgument, match="nothing of class 2 is studied"):
        result.require(of_each_class=0.8)


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
    with pytest.raises(InvalidArgument, match="nothing of class safety is studied here"):
        sf.tally(path, by="topic", require_each=0.8)
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
