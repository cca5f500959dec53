"""Every claim as a sentence: what it says, how sure it is, and nothing that was not shown."""

import re
from dataclasses import replace

import pytest

from surefoot.core.assumptions import Jointly, Stated, Together
from surefoot.core.claims import KINDS, Measured, Randomness, Required, Verdict
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.report.sentences import sentence
from tests.equality.canonical import RESULTS, read_lines
from tests.unit.example_claims import CLAIMS, LEVEL, SHARE, SOUND, changed

SENTENCES_BY_KIND = read_lines(RESULTS / "sentences.json")


def test_every_kind_of_claim_has_an_example_here_and_a_sentence():
    assert set(CLAIMS) == set(SENTENCES_BY_KIND) == set(KINDS)
    assert all(type(CLAIMS[kind]) is KINDS[kind] for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sentence_of_each_kind(kind):
    assert sentence(CLAIMS[kind]) == SENTENCES_BY_KIND[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_every_assumption_is_in_the_sentence(kind):
    made = CLAIMS[kind]
    more = (Stated("the first thing is so"), Stated("the second thing is so"))
    text = sentence(changed(made, guarantee=replace(made.guarantee, assumptions=more)))
    assert all(one.words in text for one in more)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CLAIMS[kind].guarantee.error > 0])
@pytest.mark.parametrize(("error", "confidence"), [(0.05, "95 %"), (0.0013, "99.87 %")])
def test_the_confidence_is_in_the_sentence_and_never_rounded_up(kind, error, confidence):
    made = CLAIMS[kind]
    if made.guarantee.footing is Footing.NONE:
        assert "without guarantee" in sentence(made)
        return
    promise = replace(made.guarantee, error=error, jointly=Jointly(Together.CURVES, 7))
    text = sentence(changed(made, guarantee=promise))
    assert f"confidence {confidence} for all 7 curves together" in text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CLAIMS[kind].guarantee.error == 0])
def test_a_proof_has_no_confidence(kind):
    assert "confidence" not in sentence(CLAIMS[kind])


@pytest.mark.parametrize("kind", ["curve_set", "curve_population"])
@pytest.mark.parametrize("verdict", [None, Verdict.PASS, Verdict.FAIL])
def test_fixed_draws_are_named_with_their_seed(kind, verdict):
    made = changed(CLAIMS[kind], random=Randomness.FIXED, seed=7, requirement=0.5, verdict=verdict)
    assert "for these draws of the noise (seed 7)" in sentence(made)
    fresh = changed(made, random=Randomness.FRESH, seed=None)
    assert "draws" not in sentence(fresh)


NOTHING_SHOWN = [
    kind
    for kind in KINDS
    if issubclass(KINDS[kind], Measured) and kind not in ("tail", "kappa", "all_kappa", "radius")
]


@pytest.mark.parametrize("kind", NOTHING_SHOWN)
def test_where_nothing_is_shown_the_sentence_says_undecided_and_no_number(kind):
    bare = changed(
        CLAIMS[kind],
        guarantee=Guarantee(Footing.NONE, 1.0),
        interval=None,
        value=None,
        reason="no input gave an estimate",
        names=(),
    )
    assert sentence(bare) == "Undecided: no input gave an estimate."


def test_an_input_that_was_not_decided_says_why_and_what_its_trials_show():
    made = changed(
        CLAIMS["kappa"], decision=Verdict.UNDECIDED, reason="10,000 trials did not suffice"
    )
    assert sentence(made) == "Input 17 is not decided: 10,000 trials did not suffice."
    counted = changed(made, interval=Interval(0.0, 0.01661))
    assert "0 % to 1.67 % of its perturbations fail (confidence 99 %)" in sentence(counted)
    refuted = changed(made, decision=Verdict.FAIL, reason="")
    assert "fails under more than 1 in 100 perturbations" in sentence(refuted)


REQUIRED = {
    "all_kappa": {},
    "mean_set": {"requirement": 0.05},
    "mean_population": {"requirement": 0.05},
    "share_kappa": {"requirement": 0.9},
    "curve_set": {"requirement": 0.5, "quantity": SHARE},
    "curve_population": {"requirement": 0.5},
    "radius_quantile": {"requirement": 0.01},
    "case_failure": {"requirement": 0.05},
    "not_worse": {"requirement": 0.02},
    "curve_not_worse": {"requirement": 0.02},
    "radius_not_worse": {"requirement": 0.1},
}
DEMANDS = {
    "all_kappa": "every one of these 300 inputs fails under at most 1 in 100 perturbations",
    "mean_set": "at most 5 % of the perturbations make the model fail on these 300 inputs",
    "mean_population": "at most 5 % of the perturbations make the model fail",
    "share_kappa": "at least 90 % of inputs of this kind fail under at most 1 in 100 perturbations",
    "curve_set": "accuracy on these 300 inputs, for these draws of the noise (seed 3), is 80 % or "
    "more at 50 % or more of the levels of blur from 0 to 2",
    "curve_population": "is 80 % or more at 50 % or more of the levels of blur from 0 to 2",
    "radius_quantile": "all but 5 % of inputs of this kind have a critical radius of 0.01 or more",
    "case_failure": "at most 5 % of such cases fail",
    "not_worse": "b.onnx fails at most 2 points more often than a.onnx",
    "curve_not_worse": "from 0 to 2 that is at most 2 points smaller than with a.onnx",
    "radius_not_worse": "the critical radius with b.onnx is at most 10 % smaller than with a.onnx",
}


def test_every_kind_that_can_be_required_is_here():
    required = {kind for kind, one in KINDS.items() if issubclass(one, Required)}
    assert set(REQUIRED) == set(DEMANDS) == required


@pytest.mark.parametrize("kind", REQUIRED)
def test_a_verdict_repeats_the_requirement_and_what_it_rests_on(kind):
    made = changed(CLAIMS[kind], **REQUIRED[kind])
    refuted = {
        "all_kappa": "at least one of these",
        "mean_set": "more than",
        "mean_population": "more than",
        "share_kappa": "fewer than",
        "curve_set": "less than",
        "curve_population": "less than",
        "radius_quantile": "more than 5 % of inputs of this kind have a critical radius below 0.01",
        "case_failure": "more than 5 % of such cases fail",
        "not_worse": "b.onnx fails over 2 points more often than a.onnx",
        "curve_not_worse": "from 0 to 2 that is more than 2 points smaller than with a.onnx",
        "radius_not_worse": "radius with b.onnx is more than 10 % smaller than with a.onnx",
    }
    for verdict, words in ((Verdict.PASS, DEMANDS[kind]), (Verdict.FAIL, refuted[kind])):
        text = sentence(changed(made, verdict=verdict))
        assert text.startswith(f"{verdict}: ")
        assert words in text
        assert ("one-sided" in text) == (not kind.startswith(("curve", "mean_set", "radius_not")))
        assert ("confidence 9" in text) == (kind != "radius_not_worse")
        assert all(one.words in text for one in made.guarantee.assumptions)
        assert text.endswith(".")


@pytest.mark.parametrize("kind", REQUIRED)
def test_an_undecided_requirement_says_why(kind):
    made = changed(CLAIMS[kind], **REQUIRED[kind], verdict=Verdict.UNDECIDED, reason="too few")
    text = sentence(made)
    assert text.startswith("UNDECIDED: ")
    assert "whether" in text
    assert DEMANDS[kind] in text
    assert text.endswith("; too few.")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)]


@pytest.mark.parametrize(
    "low", [0.0, 1e-7, 0.04299999, 0.12345678, 0.9999999, 12.3456789, 250.00001]
)
def test_a_proved_radius_is_never_rounded_up_and_a_counterexample_never_down(low):
    high = low + 1.234567e-5
    made = changed(CLAIMS["radius"], interval=Interval(low, high))
    text = sentence(made)
    if low > 0:
        proved = numbers(re.search(r"up to (\S+) changes", text)[1])[0]
        assert low * (1 - 1e-3) <= proved <= low * (1 + 1e-11)
    else:
        assert "nothing is proved" in text.lower()
    counterexample = numbers(re.search(r"one of size (\S+) does", text)[1])[0]
    assert high * (1 - 1e-11) <= counterexample <= high * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize("kind", ["failure", "worst", "mean_set", "mean_population", "share_kappa"])
@pytest.mark.parametrize("low", [0.0, 0.00001, 0.05409, 0.29, 0.57, 0.99991])
@pytest.mark.parametrize("width", [0.0, 0.000001, 0.00005, 0.3])
def test_the_ends_of_an_interval_are_rounded_outwards(kind, low, width):
    high = min(1.0, low + width)
    text = sentence(changed(CLAIMS[kind], value=low, interval=Interval(low, high)))
    ends = re.search(r"([\d.]+) % to ([\d.]+) %", text)
    one = re.search(r"(?:\(|under |, |^)([\d.]+) %(?:,| of the per| of inputs)", text)
    a, b = (float(ends[1]), float(ends[2])) if ends else (float(one[1]), float(one[1]))
    assert a <= 100 * low + 1e-9
    assert b >= 100 * high - 1e-9
    assert a >= 100 * low - 0.011
    assert b <= 100 * high + 0.011


@pytest.mark.parametrize("kind", ["failure", "mean_set"])
def test_none_and_all_are_never_said_by_rounding(kind):
    made = CLAIMS[kind]
    for value, words in (
        (1e-7, "below 0.01 % of the perturbations"),
        (1 - 1e-7, "above 99.99 % of the perturbations"),
        (0.0, "0 % of the perturbations"),
        (1.0, "100 % of the perturbations"),
    ):
        text = sentence(changed(made, value=value, interval=Interval(0.0, 1.0)))
        assert f" {words}" in text


def test_a_small_difference_is_not_said_to_be_none():
    made = changed(CLAIMS["difference"], value=1e-6, interval=Interval(1e-7, 2e-6))
    text = sentence(made)
    assert "fails less than 0.01 points more often" in text
    assert "(+0.00 to +0.01" in text
    same = changed(made, value=0.0, interval=Interval(0.0, 0.0))
    assert sentence(same) == "a.onnx and b.onnx are the same model: they fail equally often."


def test_a_difference_says_which_way():
    made = changed(CLAIMS["difference"], value=0.03, interval=Interval(0.01, 0.05))
    assert "a.onnx fails 3.00 points more often than b.onnx" in sentence(made)
    assert sentence(made).endswith(": shown to differ.")
    share = changed(made, kappa=0.01)
    assert "a.onnx has a robust share that is 3.00 points larger than that of b.onnx" in (
        sentence(share)
    )


def test_nothing_proved_and_nothing_found_are_said():
    made = changed(CLAIMS["radius"], interval=Interval(0.0, float("inf")))
    assert sentence(made) == "Nothing is proved of input 17; no counterexample was found."
    wrong = changed(CLAIMS["radius"], interval=Interval(0.0, 0.0))
    assert sentence(wrong) == "Nothing is proved of input 17; it fails when clean."


def test_a_quantile_with_a_lower_end_of_zero_shows_no_radius():
    made = changed(CLAIMS["radius_quantile"], interval=Interval(0.0, float("inf")), reason="few")
    text = sentence(made)
    assert "no size of perturbation is shown that all but 5 % of inputs of this kind withstand" in (
        text.lower()
    )
    assert "0 or more" in text
    assert text.endswith("; few.")


def test_one_of_several_models_or_all_of_them_may_be_the_best():
    one = changed(CLAIMS["best"], names=("a.onnx",), guarantee=SOUND)
    assert sentence(one).startswith("a.onnx is the most robust of 3 models")
    every = changed(CLAIMS["best"], names=("a", "b", "c"))
    assert "none of the 3 models is shown to be less robust than another" in sentence(every)


def test_a_name_keeps_its_letters():
    made = changed(CLAIMS["mean_population"], names=("my_net.onnx",))
    assert sentence(made).startswith("my_net.onnx: if the inputs are a random sample, 2.9 %")


def test_a_curve_that_never_falls_needs_no_share():
    made = changed(CLAIMS["curve_population"], value=1.0, interval=Interval(1.0, 1.0))
    text = sentence(made)
    assert "stays at 80 % or more at all levels of blur from 0 to 2 (confidence 95 %)" in text
    below = changed(made, value=0.0, interval=Interval(0.0, 0.0))
    assert "is below 80 % at all levels of blur from 0 to 2" in sentence(below)


def test_a_population_crosses_between_two_levels():
    made = changed(CLAIMS["curve_population"], quantity=LEVEL, interval=Interval(1.10001, 1.49999))
    assert sentence(made) == (
        "If the inputs are a random sample, accuracy on inputs of this kind crosses 80 % between "
        "blur 1.1 and 1.5 (confidence 95 %), provided that the curve falls."
    )


@pytest.mark.parametrize("kind", ["curve_set", "curve_population"])
def test_the_whole_range_is_no_finding(kind):
    whole = changed(CLAIMS[kind], quantity=SHARE, interval=Interval(0, 1), reason="few inputs")
    text = sentence(whole)
    assert text.startswith("It is not located where accuracy on ")
    assert text.endswith("crosses 80 %: few inputs.")


def test_levels_of_several_perturbations_are_called_levels():
    chain = replace(LEVEL, perturbation="blur + jpeg")
    assert "up to level 1.31 of blur + jpeg (" in sentence(
        changed(CLAIMS["curve_set"], quantity=chain)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_forbidden_word_and_one_full_stop(kind):
    text = sentence(CLAIMS[kind])
    assert text.endswith(".")
    assert "  " not in text
    assert "()" not in text
    words = re.findall(r"[a-z]+", text.lower())
    assert not {"undisturbed", "slip", "slips", "slipped", "disturbed", "told", "alteration"} & (
        set(words)
    )
