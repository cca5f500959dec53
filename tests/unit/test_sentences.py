"""Every claim as a sentence: what it says, how sure it is, and nothing that was not shown."""

import re
from dataclasses import replace
from itertools import product

import pytest

from surefoot.core.assumptions import Assumed, Jointly, Stated, Together
from surefoot.core.claims import KINDS, Measured, Required, Verdict
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence, sentences
from tests.equality.canonical import RESULTS, read_lines
from tests.unit.example_claims import CLAIMS, CLAIMS_IN_WORDS, REQUIRED, changed

KEPT = read_lines(RESULTS / "sentences.json")
"""`python -m tests.equality sentences --write` keeps what they are today."""


def test_every_kind_of_claim_has_an_example_here_and_a_sentence():
    assert set(KEPT) == set(CLAIMS_IN_WORDS)
    assert {kind: type(claim) for kind, claim in CLAIMS.items()} == KINDS
    assert set(REQUIRED) == {kind for kind, one in KINDS.items() if issubclass(one, Required)}


@pytest.mark.parametrize("name", CLAIMS_IN_WORDS)
def test_the_sentence_of_each_claim(name):
    claim, text = CLAIMS_IN_WORDS[name], sentence(CLAIMS_IN_WORDS[name])
    assert text == KEPT[name]
    assert text.endswith(".")
    assert "  " not in text
    assert "()" not in text
    if claim.verdict in (Verdict.PASS, Verdict.FAIL):
        assert all(one.words in text for one in claim.guarantee.assumptions)


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


NAMED_WHEN_OPEN = ("tail", "kappa", "all_kappa", "radius", "rare_failure")
NOTHING_SHOWN = [
    kind for kind in KINDS if issubclass(KINDS[kind], Measured) and kind not in NAMED_WHEN_OPEN
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
        proved = numbers(re.search(r"up to (\S+) makes", text)[1])[0]
        assert low * (1 - 1e-3) <= proved <= low * (1 + 1e-11)
    else:
        assert "nothing is proved" in text.lower()
    counterexample = numbers(re.search(r"one of size (\S+) does", text)[1])[0]
    assert high * (1 - 1e-11) <= counterexample <= high * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize("kind", ["failure", "worst", "mean_set", "mean_population", "share_kappa"])
def test_the_ends_of_an_interval_are_rounded_outwards(kind):
    lows, widths = (0.0, 0.00001, 0.05409, 0.29, 0.57, 0.99991), (0.0, 0.000001, 0.00005, 0.3)
    for low, width in product(lows, widths):
        high = min(1.0, low + width)
        text = sentence(changed(CLAIMS[kind], value=low, interval=Interval(low, high)))
        ends = re.search(r"([\d.]+) % to ([\d.]+) %", text)
        one = re.search(r"(?:\(|under |, |^)([\d.]+) %(?:,| of the per| of inputs)", text)
        a, b = (float(ends[1]), float(ends[2])) if ends else (float(one[1]), float(one[1]))
        assert 100 * low - 0.011 <= a <= 100 * low + 1e-9, text
        assert 100 * high - 1e-9 <= b <= 100 * high + 0.011, text


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


def test_a_count_without_a_bound_has_no_confidence_of_all_together():
    none = CLAIMS_IN_WORDS["count_kappa, none"]
    assert "truly" not in key_figure(none).line
    assert "confidence" not in key_figure(none).line


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
    open_, plain = CLAIMS_IN_WORDS["mean_population: UNDECIDED"], CLAIMS["mean_population"]
    assert sentences([open_, plain])[1] == sentence(plain)
