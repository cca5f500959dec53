"""Models side by side, levels side by side, and a model against an earlier one."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.conclude.comparison import MODELS
from surefoot.conclude.not_worse import not_worse_than
from surefoot.core.claims import Verdict
from surefoot.core.reasons import Why
from surefoot.core.results import Interval, Undecided
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection
from surefoot.population import Mean, not_worse
from surefoot.records.record import EarlierModel
from surefoot.report.sentences import sentence
from surefoot.study.study import join_results
from tests.claims.curves import curve_of, noise_study
from tests.claims.parts import QUICK, Shift, line_inputs, line_model, radius_study
from tests.in_words import together
from tests.promises.local_results import counted
from tests.refusals import refused
from tests.worlds import SHAPE, linear, linear_model, points, study


def shifted(by):
    """The linear model, moved: its label flips earlier on one side."""

    def scores(x):
        return linear(x + np.float32(by))

    return sf.load_model(scores, shape=SHAPE)


def studies(n=40, method=None, **more):
    how = {"inputs": points(n), "method": method or sf.methods.FixedSize(0.2, 0.1), **more}
    return {"plain": study(**how), "moved": study(**{**how, "model": shifted(0.05)})}


def of_file(one):
    """The study with its model as if it were an exported file, whose digest covers all of it."""
    signature = dataclasses.replace(one.model.signature, covers="the bytes of the ONNX file")
    return dataclasses.replace(one, model=dataclasses.replace(one.model, signature=signature))


def test_two_functions_of_one_digest_are_no_identical_models():
    """A digest leaves out what code reads: equal results on the trials drawn show no identity."""
    one = studies()["plain"]
    result = sf.compare({"a": one, "b": one})
    (pair,) = result.details.differences
    assert pair.interval.low < 0 < pair.interval.high
    (required,) = result.require(not_worse=("a", 0.0)).verdicts
    assert required.verdict is sf.Verdict.UNDECIDED


def test_one_of_many_that_is_better_must_be_so_at_its_part_of_the_error():
    """Between what is decided at the error and at a third of it."""
    over, mine = Mean(0.05), [counted(k) for k in (10, 12, 14)] * 10
    better = [counted(k) for k in (17, 18, 19)] * 10
    enough, thirds = (over.difference(mine, better, 2 * e).high for e in (0.05, 0.05 / 3))
    assert enough < thirds < 0
    margin = -(enough + thirds) / 2
    local = {"a": mine, "b": better}
    assert not_worse(over, local, "a", margin).holds is False
    assert isinstance(not_worse(over, {**local, "c": mine, "d": mine}, "a", margin), Undecided)


def test_what_is_known_of_two_files_is_no_assumption():
    """That they are identical was observed; a third model makes the ranking conditional again."""
    by_name = {name: of_file(one) for name, one in studies().items()}
    twice = sf.compare({"a": by_name["plain"], "b": by_name["plain"]})
    assert twice.claims[0].guarantee.assumptions == ()
    (required,) = twice.require(not_worse=("a", 0.0)).verdicts
    assert (required.verdict, required.guarantee.assumptions) == (sf.Verdict.PASS, ())
    three = sf.compare({"a": by_name["plain"], "b": by_name["plain"], "c": by_name["moved"]})
    assert three.claims[0].kind == "best"
    assert three.claims[0].guarantee.footing is sf.results.Footing.CONDITIONAL


def test_a_worse_model_is_ranked_below_with_its_interval():
    noisy = study(
        inputs=points(150),
        method=sf.methods.FixedSize(0.1, 0.1),
        perturbation=sf.perturb.LinfNoise(0.4),
    )

    def guess(x):
        score = linear(x)
        score[x[:, 0] > 0.0] *= -1
        return score

    worse = dataclasses.replace(noisy, model=sf.load_model(guess, shape=SHAPE))
    result = sf.compare({"worse": worse, "good": noisy})
    assert [m.name for m in result.details.members] == ["good", "worse"]
    assert result.details.differences[0].better == "good"
    claim = next(c for c in result.claims if c.kind == "difference")
    assert claim.names == ("worse", "good")
    assert claim.value < 0  # it keeps its label less often
    assert claim.interval.high < 0
    verdict = {
        name: result.require(not_worse=(name, margin), accept_clean_accuracy=True)
        .verdicts[0]
        .verdict
        for name, margin in (("good", 0.0), ("worse", 0.01))
    }
    assert verdict == {"good": sf.Verdict.PASS, "worse": sf.Verdict.FAIL}


def test_the_error_is_shared_by_members_and_pairs():
    by_name = studies()
    result = sf.compare(by_name, error=0.08)
    assert {m.whole.guarantee.error for m in result.details.members} == {0.08 / 2 / 2}
    assert result.details.differences[0].guarantee.error == 0.04
    assert {c.guarantee.error for c in result.claims} == {0.08}
    assert {together(c.guarantee) for c in result.claims} == {"everything said of these 2 models"}
    alone = by_name["plain"].run()
    member = next(m for m in result.details.members if m.name == "plain")
    assert member.whole.value == alone.details.whole.value
    assert member.digest == alone.record.digest
    assert result.parts["plain"].claims == alone.claims


def test_a_reference_list_is_correlated():
    by_name = studies()
    third = {**by_name, "third": study(inputs=points(40), method=sf.methods.FixedSize(0.2, 0.1))}
    result = sf.compare(third, reference={"plain": 0.9, "moved": 0.8, "third": 0.9})
    assert not isinstance(result.details.agreement, Undecided)
    two = sf.compare(by_name, reference={"plain": 0.9, "moved": 0.8})
    assert isinstance(two.details.agreement, Undecided)
    refused("one number for each", sf.compare, by_name, reference={"plain": 0.9})


def test_levels_are_in_rising_order_and_share_the_error():
    result = sf.sweep(studies()["plain"], [0.4, 0.1, 0.4, 0.8])
    assert [m.name for m in result.details.members] == ["0.1", "0.4", "0.8"]
    values = [m.whole.value for m in result.details.members]
    assert values == sorted(values, reverse=True)
    assert {m.whole.guarantee.error for m in result.details.members} == {0.1 / 3}
    assert result.details.differences == ()
    assert [c.names for c in result.claims] == [("level 0.1",), ("level 0.4",), ("level 0.8",)]
    assert [c.value for c in result.claims] == pytest.approx([1 - v for v in values])
    refused("two different levels", sf.sweep, studies()["plain"], [0.1, 0.1])
    refused("compares models", result.require, not_worse=("0.1", 0.1))


def test_strangers_are_not_compared():
    by_name = studies()
    plain = by_name["plain"].run()
    moved = dataclasses.replace(points(40), x=points(40).x * np.float32(0.9))
    others = [
        ("property", {"property": sf.properties.TrueLabel()}),
        ("their method", {"method": sf.methods.FixedSize(0.3, 0.1)}),
        ("seed", {"seed": 2}),
        ("different inputs", {"inputs": points(41)}),
        ("different inputs", {"inputs": moved}),  # of the same ids
        ("different perturbations", {"perturbation": sf.perturb.LinfNoise(0.3)}),
    ]
    for what, change in others:
        refused(what, join_results, {"a": plain, "b": studies(**change)["plain"].run()}, MODELS)
    refused("two or more", join_results, {"a": plain}, MODELS)


def test_correct_for_all_models_means_for_each_of_them():
    inputs = points(60)
    both = [linear_model(), shifted(0.1)]
    chosen = sf.select(inputs, both, Selection(correct_only=True))
    for model in both:
        assert (model.predict(chosen.x).argmax(axis=1) == chosen.labels).all()
    alone = [len(sf.select(inputs, m, Selection(correct_only=True))) for m in both]
    assert len(chosen) <= min(alone)
    assert "all 2 models classify correctly" in chosen.selection


def test_classes_of_the_same_name_are_told_apart():
    data = dataclasses.replace(points(60), class_names=("a", "a"))
    result = study(inputs=data, method=sf.methods.FixedSize(0.2, 0.1)).run()
    assert [row.name for row in result.details.classes] == ["a (0)", "a (1)"]
    _, *each = result.require(of_each_class=0.2).verdicts
    assert [claim.about.name for claim in each] == ["a (0)", "a (1)"]


def test_finished_results_are_compared_without_a_run():
    studies = {
        name: study(inputs=points(12), method=sf.methods.FixedSize(0.2, 0.1), seed=seed)
        for name, seed in (("a", 1), ("b", 1))
    }
    ran = sf.compare(studies)
    results = {name: one.run() for name, one in studies.items()}
    compared = sf.compare(results)
    assert compared.claims == ran.claims
    assert compared.details == ran.details
    refused("studies or of results", sf.compare, {"a": results["a"], "b": studies["b"]})


def test_methods_of_different_kinds_are_not_compared():
    curve = study(
        inputs=points(40),
        perturbation=sf.perturb.LinfNoise(),
        method=sf.methods.UniformCurve(0.0, 0.4, (0.8,), levels=3),
    )
    refused("nothing to compare", sf.compare, {})
    refused("same kind", sf.compare, {"a": studies()["plain"], "b": curve})


def against(new, old, margin=0.0, error=0.2):
    of = EarlierModel(old.digest, ("new", "old"), margin, error)
    (claim,) = not_worse_than(new, old, of)
    return claim


@pytest.fixture(scope="module")
def radii():
    """Radii of 0.2 and 0.1 by one network, of 0.3 and 0.3 by another."""
    inputs = line_inputs(np.array([0.2, 0.1]), np.array([0.3, 0.3]))
    method = sf.methods.CriticalLevel(0.01, 2.0, samples=0)
    studies = (radius_study(method, inputs, 1, i) for i in range(2))
    return [study.run(workers=1).record for study in studies]


def test_the_mean_radius_of_the_same_inputs_is_compared_by_proofs(radii):
    small, large = radii
    assert against(large, small).verdict is Verdict.PASS
    refuted = against(small, large, margin=0.4)
    assert refuted.verdict is Verdict.FAIL
    assert refuted.guarantee.error == 0
    assert sentence(refuted).startswith(
        "FAIL: averaged over these 2 inputs, the critical radius with new is more than 40 % smaller"
        " than with old, if the model computes in float32"
    )
    near = against(small, large, margin=0.5)
    assert near.verdict is Verdict.UNDECIDED
    assert near.reason.why is Why.RADII_OPEN
    row = large.inputs[0]
    unrefuted = replace(row.result, interval=Interval(row.result.low, np.inf))
    open_ = replace(large, inputs=(replace(row, result=unrefuted), *large.inputs[1:]))
    assert against(small, open_, margin=0.9).verdict is Verdict.UNDECIDED


def test_radii_of_other_inputs_are_refused(radii):
    other = replace(radii[1], inputs=radii[1].inputs[:1])
    refused("radii are compared on the same ones: measure the", against, radii[0], other)


def test_an_exported_file_is_never_worse_than_itself(radii):
    """With another seed, brackets and curves are others; the model is the same."""
    assert against(radii[0], radii[0]).verdict is Verdict.PASS
    inputs, true = line_inputs(np.array([0.2, 0.1, 0.4])), sf.properties.TrueLabel()
    curves = [
        sf.Study(line_model(), inputs, Shift(), curve_of(0.6, 0.5), property=true, seed=seed)
        for seed in (1, 2)
    ]
    claim = against(*(study.run(**QUICK).record for study in curves))
    assert (claim.verdict, claim.guarantee.error) == (Verdict.PASS, 0.0)


@pytest.mark.parametrize(
    "methods",
    [
        [sf.methods.FixedSize(0.2, 0.1), sf.methods.FixedSize(0.3, 0.05)],
        [sf.methods.KappaTest(0.2, 0.1), sf.methods.KappaTest(0.2, 0.05)],
        [sf.methods.NormalTail(draws=40), sf.methods.NormalTail(draws=60)],
    ],
)
def test_at_one_level_an_exported_file_is_not_worse_than_itself_whatever_its_method(methods):
    """Another requirement in a study file changes the error of its methods, and so each result."""
    inputs = line_inputs(np.array([0.2, 0.1, 0.05, 0.4]))
    new, old = (
        sf.Study(line_model(), inputs, sf.perturb.LinfNoise(0.3), one, seed=seed).run(**QUICK)
        for seed, one in enumerate(methods)
    )
    assert new.by_id != old.by_id
    claim = against(new.record, old.record)
    assert (claim.verdict, claim.guarantee.error) == (Verdict.PASS, 0.0)
    part = replace(old.record, inputs=old.record.inputs[:2])
    assert against(new.record, part).verdict is Verdict.PASS
    row = old.record.inputs[0]
    otherwise = replace(row, predicted=1 - row.predicted)  # as with another library
    changed = replace(old.record, inputs=(otherwise, *old.record.inputs[1:]))
    assert against(new.record, changed).verdict is Verdict.UNDECIDED


def test_curves_of_other_draws_are_refused():
    method = curve_of(0.75, assume="monotone", fixed_draws=True)
    runs = [noise_study(np.full(9, 0.5), method, seed).run(**QUICK).record for seed in (1, 2)]
    refused(r"other draws \(seed 2, and here 1\): use the same", against, *runs)


def test_curves_whose_errors_do_not_fit_are_refused_and_other_questions_too():
    methods = (curve_of(threshold, fixed_draws=True) for threshold in (0.75, 0.7))
    runs = [noise_study(np.full(9, 0.5), one, 1).run(**QUICK).record for one in methods]
    refused("measured by another kind of study", against, *runs)
    with pytest.raises(InvalidArgument, match=r"comparison may be with 0\.1: state the same conf"):
        against(runs[0], runs[0], error=0.1)


def test_curves_by_a_method_that_promises_nothing_are_not_decided():
    scan = sf.methods.UniformCurve(0.0, 1.0, (0.75,), levels=3)
    run = noise_study(np.full(9, 0.5), scan, 1).run(**QUICK).record
    claim = against(run, run)
    assert claim.verdict is Verdict.UNDECIDED
    assert claim.reason == Why.NO_PROMISE.of()
