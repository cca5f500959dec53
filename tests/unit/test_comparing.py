"""Models side by side, levels side by side: the same inputs, the same noise, one error."""

import dataclasses
import json

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection
from surefoot.report.comparison import side_by_side
from tests.worlds import SHAPE, linear, linear_model, points, study


def shifted(by):
    """The linear model, moved: its label flips earlier on one side."""

    def scores(x):
        return linear(x + np.float32(by))

    return sf.load_model(scores, shape=SHAPE)


def studies(n=40, procedure=None, **more):
    how = {"inputs": points(n), "procedure": procedure or sf.FixedSize(0.2, 0.1), **more}
    return {"plain": study(**how), "moved": study(**{**how, "model": shifted(0.05)})}


def test_a_model_against_itself_differs_by_exactly_nothing():
    """Common random numbers: the same trials, so every input's difference is 0."""
    made = studies()
    found = sf.compare({"a": made["plain"], "b": made["plain"]})
    (pair,) = found.differences
    assert pair.value == 0
    assert pair.better is None
    assert pair.interval.low == pytest.approx(-pair.interval.high)
    assert {m.rank.worst for m in found.members} == {2}
    assert "indistinguishable" in str(found)


def test_a_worse_model_is_ranked_below_with_its_interval():
    noisy = study(
        inputs=points(150), method=sf.FixedSize(0.1, 0.1), perturbation=sf.perturb.LinfNoise(0.4)
    )

    def guess(x):
        score = linear(x)
        score[x[:, 0] > 0.0] *= -1
        return score

    worse = dataclasses.replace(noisy, model=sf.load_model(guess, shape=SHAPE))
    found = sf.compare({"worse": worse, "good": noisy})
    assert [m.name for m in found.members] == ["good", "worse"]
    assert found.differences[0].better == "good"
    assert "good is the most robust of 2 models" in str(found)
    assert found.not_worse("good", 0.0).holds
    assert found.not_worse("worse", 0.01).holds is False


def test_the_error_is_shared_by_members_and_pairs():
    made = studies()
    found = sf.compare(made, error=0.08)
    assert {m.whole.guarantee.error for m in found.members} == {0.08 / 2 / 2}
    assert found.differences[0].guarantee.error == 0.04
    alone = made["plain"].run()
    member = next(m for m in found.members if m.name == "plain")
    assert member.whole.value == alone.population.value
    assert member.digest == alone.record.digest


def test_a_reference_list_is_correlated():
    made = studies()
    third = {**made, "third": study(inputs=points(40), method=sf.FixedSize(0.2, 0.1))}
    found = sf.compare(third, reference={"plain": 0.9, "moved": 0.8, "third": 0.9})
    assert found.agreement is not None
    assert "Against the reference list" in str(found)
    two = sf.compare(made, reference={"plain": 0.9, "moved": 0.8})
    assert "too few" in str(two)
    with pytest.raises(InvalidArgument, match="one number for each"):
        sf.compare(made, reference={"plain": 0.9})


def test_levels_are_in_rising_order_and_share_the_error():
    found = sf.sweep(studies()["plain"], [0.4, 0.1, 0.4, 0.8])
    assert [m.name for m in found.members] == ["0.1", "0.4", "0.8"]
    values = [m.whole.value for m in found.members]
    assert values == sorted(values, reverse=True)
    assert {m.whole.guarantee.error for m in found.members} == {0.1 / 3}
    assert found.differences == ()
    assert "From level 0.1 to 0.8" in str(found)
    with pytest.raises(InvalidArgument, match="two different levels"):
        sf.sweep(studies()["plain"], [0.1, 0.1])
    with pytest.raises(InvalidArgument, match="compare models"):
        found.not_worse("0.1", 0.1)


@pytest.mark.parametrize("procedure", [sf.KappaTest(0.1, 0.1, most=500), sf.NormalTail(draws=60)])
def test_certificates_and_tails_can_be_compared_too(procedure, tmp_path):
    scores = sf.load_model(
        lambda x: 1 / (1 + np.exp(-3 * linear(x))), shape=SHAPE, scores="probabilities"
    )
    held = sf.NoConfidentMistake(0.6) if isinstance(procedure, sf.NormalTail) else sf.SameLabel()
    made = studies(procedure=procedure, property=held)
    if isinstance(procedure, sf.NormalTail):
        made = {"a": dataclasses.replace(made["plain"], model=scores)}
        made["b"] = dataclasses.replace(made["a"], model=scores)
    found = sf.compare(made)
    assert len(found.members) == 2
    page = found.report(tmp_path / "c.html").read_text()
    assert found.members[0].name in page
    assert json.loads(found.to_json())["kind"] == found.kind


def test_strangers_are_not_compared():
    made = studies()
    record = made["plain"].run().record
    others = {
        "property": study(inputs=points(40), method=sf.FixedSize(0.2, 0.1),
                          property=sf.TrueLabel()),
        "procedure": study(inputs=points(40), method=sf.FixedSize(0.3, 0.1)),
        "seed": study(inputs=points(40), method=sf.FixedSize(0.2, 0.1), seed=2),
        "different inputs": study(inputs=points(41), method=sf.FixedSize(0.2, 0.1)),
        "different perturbations": study(
            inputs=points(40), method=sf.FixedSize(0.2, 0.1),
            perturbation=sf.perturb.LinfNoise(0.3),
        ),
    }  # fmt: skip
    for what, other in others.items():
        with pytest.raises(InvalidArgument, match=what):
            side_by_side({"a": record, "b": other.run().record})
    with pytest.raises(InvalidArgument, match="two or more"):
        side_by_side({"a": record})


def test_correct_for_all_models_means_for_each_of_them():
    inputs = points(60)
    both = [linear_model(), shifted(0.1)]
    chosen = sf.select(inputs, both, Selection(correct_only=True))
    for model in both:
        assert (model.predict(chosen.x).argmax(axis=1) == chosen.labels).all()
    alone = [len(sf.select(inputs, m, Selection(correct_only=True))) for m in both]
    assert len(chosen) <= min(alone)
    assert "all 2 models classify correctly" in chosen.selection


def test_a_requirement_of_each_class_is_one_call():
    found = studies(80)["plain"].run()
    each = found.requires_of_each_class(0.2)
    assert set(each.classes) == {"0", "1"}
    assert each.together.holds
    assert found.requires_of_each_class(0.999).together != each.together


def test_the_record_tells_the_strongest_claims_and_the_inputs_themselves():
    found = studies(60)["plain"].run()
    assert found.strongest()[0].claim.startswith("the mean robustness of the population")
    assert found.record.studied.guarantee.footing is sf.Footing.SOUND
    assert found.record.studied.interval.width < found.population.interval.width
    assert "Of these 60 inputs themselves" in str(found)
    assert "Strongest claims" in str(found)


def test_classes_of_the_same_name_are_told_apart():
    data = dataclasses.replace(points(60), class_names=("a", "a"))
    found = study(inputs=data, method=sf.FixedSize(0.2, 0.1)).run()
    assert [row.name for row in found.classes] == ["a (0)", "a (1)"]
    assert set(found.requires_of_each_class(0.2).classes) == {"a (0)", "a (1)"}


def test_other_points_under_the_same_ids_are_not_compared():
    one, other = (
        study(inputs=points(12, seed=s), method=sf.FixedSize(0.2, 0.1)).run().record
        for s in (7, 7)
    )
    assert len(side_by_side({"a": one, "b": other}).members) == 2
    moved = dataclasses.replace(points(12), x=points(12).x * np.float32(0.9))
    stranger = study(inputs=moved, method=sf.FixedSize(0.2, 0.1)).run().record
    with pytest.raises(InvalidArgument, match="different inputs"):
        side_by_side({"a": one, "b": stranger})
