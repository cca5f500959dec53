"""Where it is weakest: inputs that were right and break, not those that are wrong when clean."""

import numpy as np
import pytest

import surefoot as sf
from tests.worlds import linear, points, study


def mislabelled(*wrong):
    """The points, of which some have the other label: a perturbation may even make them right."""
    base = points()
    labels = base.labels.copy()
    labels[list(wrong)] = 1 - labels[list(wrong)]
    return sf.load_inputs(base.x, labels, ids=list(base.ids))


def true_study(*wrong, **more):
    return study(inputs=mislabelled(*wrong), property=sf.properties.TrueLabel(), **more)


def test_inputs_that_are_wrong_when_clean_are_counted_and_are_no_examples():
    result = true_study(2, 5, 8).run()
    rows = {row.id: row.clean_kept for row in result.inputs}
    assert [name for name, kept in rows.items() if kept is False] == ["p2", "p5", "p8"]
    examples = [example.id for example in result.details.examples]
    assert examples
    assert not {"p2", "p5", "p8"} & set(examples)
    assert "3 of 12 inputs are wrong already when clean; they are counted" in str(result)


def test_where_all_are_wrong_when_clean_there_is_no_example():
    result = true_study(*range(12)).run()
    assert result.details.examples == ()
    text = str(result)
    assert "12 of 12 inputs are wrong already when clean" in " ".join(
        result.view.sections[-2].lines
    )
    assert "failed most often" not in text or "it fails already when clean" in text


def test_the_weakest_input_may_be_wrong_when_clean_and_says_so():
    worst = [c for c in true_study(0).run().claims if c.kind == "worst"]
    others = [c for c in study().run().claims if c.kind == "worst"]
    assert all(c.reason == ("it fails already when clean" if c.about.name == "p0" else "")
               for c in (*worst, *others))  # fmt: skip
    assert any(c.about.name == "p0" for c in worst)


@pytest.mark.parametrize("prop", [sf.properties.SameLabel(), sf.properties.NoConfidentMistake(0.9)])
def test_a_property_of_the_clean_label_keeps_every_clean_input(prop):
    model = sf.load_model(linear, shape=(6,), scores="logits")
    made = study(model=model, inputs=mislabelled(1, 2), property=prop)
    assert made.clean_kept.all()


def test_a_tie_is_no_clean_success():
    x = np.zeros((2, 6), dtype=np.float32)
    x[1] = 0.5
    made = study(inputs=sf.load_inputs(x, ids=["tie", "clear"]))
    assert made.clean_kept.tolist() == [False, True]
