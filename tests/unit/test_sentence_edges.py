"""Sentences at their edges: none, one, all, and inputs that fail when clean."""

from dataclasses import replace

import pytest

from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, CleanFault, Randomness, Scope, Verdict
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence, sentences
from tests.unit.example_claims import CLAIMS, LEVEL, SHARE, changed


def test_a_quantile_of_zero_says_that_inputs_fail_when_clean():
    made = changed(CLAIMS["radius_quantile"], interval=Interval(0.0, 0.0), reason="7 of 100 tie")
    text = sentence(made)
    assert text.startswith("On 5 % or more of inputs of this kind the model fails when they are")
    assert text.endswith("; 7 of 100 tie.")


@pytest.mark.parametrize(
    ("differ", "pairs", "classes", "words"),
    [
        (0, 1, 2, "No difference in how often the model fails is shown between the two classes ("),
        (0, 1, 7, "is shown between the two classes that have more than one input ("),
        (0, 45, 10, "is shown between any of the 45 pairs of classes"),
        (45, 45, 10, "in 45 of the 45 pairs of classes the model fails more often on one class"),
    ],
)
def test_classes_that_are_not_shown_to_differ_are_not_said_to_be_alike(
    differ, pairs, classes, words
):
    text = sentence(changed(CLAIMS["classes"], differ=differ, pairs=pairs, classes=classes))
    assert words in text
    assert ("in the others" in text) is (0 < differ < pairs)


def test_few_decisions_against_may_all_be_wrong():
    few = changed(CLAIMS["count_kappa"], fragile=1, at_least=0)
    assert "1 of these 300 inputs was decided to fail" in sentence(few)
    assert "that any truly does is not shown: a few decisions may be wrong" in sentence(few)
    none = changed(few, fragile=0)
    assert "wrong" not in sentence(none)


def test_a_count_without_a_bound_has_the_confidence_of_each_decision():
    """Beside "at least 5 truly fail" the confidence is that of the 5."""
    each = "for each decision, not for all together)."
    none = changed(CLAIMS["count_kappa"], fragile=0, at_least=0)
    assert sentence(none).endswith(each)
    assert not sentence(CLAIMS["count_kappa"]).endswith(each)
    assert "truly" not in key_figure(none).line
    assert "confidence" not in key_figure(none).line


@pytest.mark.parametrize("kind", ["mean_population", "share_kappa"])
def test_an_interval_from_0_to_100_percent_is_said_to_say_nothing(kind):
    text = sentence(changed(CLAIMS[kind], interval=Interval(0.0, 1.0)))
    assert text.startswith("The inputs say nothing about how")
    assert "%" not in text
    nearly = sentence(changed(CLAIMS[kind], interval=Interval(0.0, 0.99)))
    assert "say nothing" not in nearly


@pytest.mark.parametrize("kind", ["mean_set", "count_kappa", "all_kappa"])
def test_one_input_is_not_counted_in_the_plural(kind):
    made = CLAIMS[kind]
    count = {"fragile": 0, "robust": 1, "at_least": 0} if kind == "count_kappa" else {}
    one = sentence(changed(made, about=replace(made.about, inputs=1), **count))
    assert "these 1" not in one
    assert "this input" in one.lower() or "of 1 input" in one


def test_a_share_of_these_inputs_may_be_required():
    made = changed(CLAIMS["all_kappa"], requirement=0.95)
    assert "at least 95 % of these 300 inputs fail under at most 1 in 100" in sentence(made)
    assert "fewer than 95 % of these 300 inputs" in sentence(changed(made, verdict=Verdict.FAIL))


def test_the_weakest_input_says_so_where_it_fails_when_clean():
    made = changed(CLAIMS["worst"], clean_fault=CleanFault.FAILS)
    assert sentence(made).endswith("; it fails already when clean.")


@pytest.mark.parametrize("level", ["degrees", "pixels", "dB"])
def test_a_level_has_its_unit(level):
    made = changed(
        CLAIMS["curve_set"], quantity=replace(LEVEL, perturbation="rotation", unit=level)
    )
    assert f"up to rotation 1.31 {level} (" in sentence(made)
    share = replace(SHARE, perturbation="rotation", unit=level)
    every = changed(made, quantity=share, requirement=0.5, verdict=Verdict.PASS)
    assert f"of the levels of rotation from 0 to 2 {level}" in sentence(every)


def test_an_assumption_is_referred_to_only_where_it_is_the_last_one_said():
    sampled, other = CLAIMS["mean_population"], CLAIMS["classes"]
    sampled = changed(sampled, guarantee=replace(sampled.guarantee, assumptions=(Assumed.SAMPLED,)))
    first, again, others, third = sentences([sampled, sampled, other, sampled])
    assert first == third == sentence(sampled)
    assert again.startswith("If the inputs are a random sample, as above, ")
    assert others == sentence(other)


def test_two_undecided_claims_both_give_their_reason():
    """What a claim without guarantee says is a reason, not an assumption to refer to."""
    nothing = Guarantee(Footing.NONE, 1.0, (Assumed.NO_BOUND,))
    undecided = changed(CLAIMS["curve_set"], guarantee=nothing)
    first, again = sentences([undecided, undecided])
    assert first == again == "Undecided: no bound on the error is known."


def test_an_undecided_verdict_says_no_assumption_and_none_refers_to_it():
    open_ = changed(
        CLAIMS["mean_population"], requirement=0.05, verdict=Verdict.UNDECIDED, reason="too few"
    )
    lines = sentences([open_, CLAIMS["mean_population"]])
    assert lines[1] == sentence(CLAIMS["mean_population"])


def test_where_nothing_is_random_inputs_are_counted_and_not_perturbations():
    counted = changed(
        CLAIMS["mean_set"], random=Randomness.NOTHING, value=0.06, interval=Interval(0.06, 0.06),
        guarantee=Guarantee(Footing.SOUND, 0.0),
    )  # fmt: skip
    said = sentence(counted)
    assert said == "18 of these 300 inputs fail when perturbed (counted: nothing is random)."
    assert key_figure(counted).meaning == "share of these 300 inputs that fail when perturbed"
    one = changed(counted, about=Scope(About.THESE, 1), value=0.0, interval=Interval(0.0, 0.0))
    assert "this input" in sentence(one)
    assert "counted" not in sentence(one)
    of_all = changed(CLAIMS["mean_population"], random=Randomness.NOTHING)
    assert "of inputs of this kind fail when perturbed (confidence" in sentence(of_all)
    required = changed(of_all, requirement=0.1, verdict=Verdict.FAIL)
    assert sentence(required).startswith("FAIL: more than 10 % of inputs of this kind fail when")
