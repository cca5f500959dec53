"""Claims, reasons and numbers in words: what they say, and nothing that was not shown."""

import json
import math
import re
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.cli.main import app
from surefoot.cli.parsing import refused_word
from surefoot.cli.terminal import print_own_warnings
from surefoot.commands.caller import SecondsLeft, TimeLeft, progress_words
from surefoot.commands.request import named_models
from surefoot.core.assumptions import Assumed, Jointly, Stated, Together
from surefoot.core.claims import KINDS, Measured, Required, Verdict
from surefoot.core.reasons import Reason, Why, several, stated
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.engine.progress import Progress
from surefoot.errors import SurefootWarning
from surefoot.records.json_records import result_from_plain
from surefoot.records.record import Source
from surefoot.report import formatting
from surefoot.report.key_figure import key_figure
from surefoot.report.reasons import WORDS, reason_words
from surefoot.report.sentences import sentence, sentences
from surefoot.report.views.sampling_tables import replay_command, weakest_section
from tests.equality.canonical import RESULTS, read_lines
from tests.unit.example_claims import CLAIMS, CLAIMS_IN_WORDS, REQUIRED, changed
from tests.worlds import points, study

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


USED = Why.INPUTS_USED.of(25, 1200, Why.SHORT_ENOUGH.of(0.012))
EXAMPLES = [
    (Why.STATED.of("as the author says it"), "as the author says it"),
    (several([Why.RANDOM_ORDER.of(), Why.NO_MORE_INPUTS.of()]),
     "the order is random; there are no more"),
    (USED, "algorithm 1 used 25 of 1,200 inputs: the interval is no longer than 0.012"),
    (Why.EVIDENCE_OPEN.of(Why.LIKELY_DECIDES.of(1800, "cases", 0.81)),
     "the evidence is not enough for either answer: with about 1,800 cases in all the chance to "
     "decide it is 81 %"),
    (Why.MANY_MAY_DECIDE.of(64_000, "groups", 0.3),
     "even with 64,000 groups the chance to decide it is 30 %: the truth may be what is required"),
    (Why.CLASSES_OPEN.of(1, "x"), "the evidence does not decide it for class x"),
    (Why.CLASSES_OPEN.of(7, *"abcde"),
     "the evidence does not decide it for 7 classes (a, b, c, d, e, …)"),
    (Why.KAPPA_OPEN.of(0, 2000, 0.001, 0.00165),
     "0 of 2,000 trials failed, which does not decide whether the failure probability is at most "
     "0.001; it does show at most 0.00165"),
    (Why.FAILURE_OPEN.of(0.02, 0.08, Why.MORE_TIME_MAY_DECIDE.of(), Why.TRIALS_NEEDED.of(2994)),
     "2 % to 8 % fail: more time may decide it; at least 2,900 trials are needed to show it"),
    (Why.FAILURE_OPEN.of(0.0, 0.08, Why.OUT_OF_REACH.of(math.inf)),
     "0 % to 8 % fail: no number of trials shows it: require less, or prove it (surefoot "
     "critical)"),
    (Why.OUT_OF_REACH.of(3e11),
     "at least 300,000,000,000 trials are needed to show it: require less, or prove it (surefoot "
     "critical)"),
    (Why.PRECISION_LIMITED.of(1, 0.475, 96),
     "1 input allows ± 0.47, and more trials would hardly narrow it; about 96 inputs would be "
     "enough"),
    (Why.NOT_NORMAL.of(5.0, "none", "box-cox yeo-johnson"),
     "the severities are not normal at the 5 % level (tried: none; box-cox needs severities above "
     "0; yeo-johnson needs severities that stay finite and vary after it)"),
    (Why.NOT_NORMAL.of(5.0, "", "logit"),
     "the severities are not normal at the 5 % level (tried: none could be; logit needs severities "
     "and a limit between 0 and 1)"),
    (Why.QUANTILE_ZERO.of(1, 9), "1 of 9 inputs is wrong or tied when clean, so the quantile is 0"),
    (Why.LOWER_END_ZERO.of(2, 3, 9),
     "2 of 9 inputs are wrong or tied when clean and nothing was proved for 3 of 9 inputs, so the "
     "lower end is 0"),
    (Why.LOWER_END_ZERO.of(0, 3, 9), "nothing was proved for 3 of 9 inputs, so the lower end is 0"),
    (Why.GROUPS_LOWER_END_ZERO.of(1, 0.05),
     "with one group the lower end of the 0.05-quantile is 0: more groups, or more seconds for the "
     "inputs without a proof, may raise it"),
    (Why.RADII_OPEN.of("new", 0.1, math.inf, "old", 0.2, 0.25),
     "it is 0.1 or more with new and 0.2 to 0.25 with old: narrower brackets (--tolerance, more "
     "seconds or nodes for each input) or a larger margin may decide it"),
    (Why.NOT_TESTED.of(Why.NEVER_REFUTED.of(1)), "not tested: 1 input was never refuted"),
    (Why.REJECTED.of(5.0, 1e-23),
     "log-normal rejected at the 5 % level (Anderson-Darling, p < 1e-23)"),
    (Why.NOT_REJECTED.of(5.0, 0.123),
     "log-normal not rejected at the 5 % level (Anderson-Darling, p = 0.12)"),
    (Why.STOPPED_TOO_SOON.of(1, 1200, Why.NO_MORE_INPUTS.of(), 20, "shortest-ranks"),
     "algorithm 1 stopped after 1 input of 1,200 (there are no more), and below 20 its interval "
     "misses far more often than stated: use the estimator shortest-ranks, which needs no "
     "distribution"),
    (Why.SHARE_OF_THESE_OPEN.of(17, 20, 2, None, 4),
     "17 of 20 inputs were decided to be at most that, 2 above, 1 undecided; no number of "
     "decisions at this error can give PASS, FAIL 4 above, or stronger evidence against fewer "
     "(--method exact-binomial --looks 1)"),
    (Why.ASSUMED_INSTEAD.of(Why.INPUTS_COME_BACK.of(0.5, 1), "accuracy", 0.5),
     "an input fails at a weaker level and not at 0.5; it is assumed instead that the accuracy "
     "rises by at most 0.5 points"),
    (Why.STOPPED_EARLY.of(1), "stopped early: the time limit was reached after 1 level"),
]  # fmt: skip


def test_every_reason_has_words():
    assert set(WORDS) == set(Why)


@pytest.mark.parametrize(("reason", "words"), EXAMPLES)
def test_the_words_of_a_reason(reason, words):
    assert sf.reason_words(reason) == words


def test_no_procedure_of_ours_says_its_reason_as_text():
    files = Path(sf.__file__).parent.rglob("*.py")
    texts = {file: re.search(r"Undecided\(\s*f?[\"']", file.read_text("utf-8")) for file in files}
    assert texts
    assert not any(texts.values()), texts


def test_text_of_an_author_stays_as_it_is_and_nothing_is_said_of_none():
    assert (reason_words("so few"), reason_words(None)) == ("so few", "")
    assert sf.Undecided("so few").because == Why.STATED.of("so few")
    assert stated("") is several([]) is None


@pytest.mark.parametrize("reason", [reason for reason, _ in EXAMPLES])
def test_a_reason_comes_back_from_json_as_it_was(reason):
    """An infinite number too, which JSON does not know."""
    made = sf.Undecided(reason, 3)
    plain = json.loads(json.dumps(made, default=vars))
    assert result_from_plain(plain) == made
    assert all(isinstance(part, Reason) for part in result_from_plain(plain).reason.parts)


@dataclass(frozen=True)
class Mute:
    """A method of a user's own that never has a number."""

    error: float = 0.1
    needs = sf.methods.FixedSize.needs
    evidence = sf.methods.FixedSize.evidence

    def steps(self):
        counts = yield 10
        return sf.Undecided("so few", counts.trials)


def test_where_nothing_is_known_of_an_input_nothing_is_counted_of_it():
    result = study(method=Mute()).run()
    assert {row.result.reason for row in result.inputs} == {"so few"}
    assert not any("failed in no trial" in line for line in result.view.facts)


RANGE = r"([\d.]+) % to ([\d.]+) % of the perturbations"


FORMATTED = {
    formatting.percent: [
        (1.0, "100 %"), (0.0, "0 %"), (0.99999, "above 99.99 %"), (0.00001, "below 0.01 %"),
        (0.29, "29 %"), (0.98765, "98.77 %"), (0.5, "50 %"),
    ],
    formatting.percent_range: [
        (Interval(0.0, 1e-15), "0 % to 0.01 %"), (Interval(1 - 1e-15, 1.0), "99.99 % to 100 %"),
        (Interval(0.68 - 1e-9, 0.68 + 1e-9), "67.99 % to 68.01 %"),
    ],
    formatting.points_range: [(Interval(-1e-15, 1e-15), "-0.01 to +0.01")],
    formatting.points_apart: [
        (0.0, "0.00 points"), (0.00001, "less than 0.01 points"), (-0.0123, "1.23 points"),
    ],
    formatting.signed_range: [
        (Interval(0.00123456, 0.0065432), "+0.001234 to +0.006544"),
        (Interval(-0.00123456, -0.00012345), "-0.001235 to -0.0001234"),
        (Interval(-0.5, 0.25), "-0.5 to +0.25"), (Interval(0.1, inf), "+0.1 or more"),
        (Interval(-inf, 0.1), "+0.1 or less"), (Interval(-inf, inf), "not known"),
    ],
    formatting.of_perturbations: [
        (0.01, "1 in 100 perturbations"), (1e-5, "1 in 100,000 perturbations"),
        (0.03, "3 % of the perturbations"), (0.0123456789, "1.23456789 % of the perturbations"),
    ],
    formatting.error_odds: [
        (0.01, "wrong at most 1 time in 100"), (0.05, "wrong at most 1 time in 20"),
        (0.03, "wrong at most 3 times in 100"), (0.001, "wrong at most 1 time in 1,000"),
        (1e-12, "wrong with probability at most 1e-12"),
        (4e-7, "wrong with probability at most 4e-07"),
    ],
    formatting.confidence: [
        (0.01, "99 %"), (0.05, "95 %"), (0.001, "99.9 %"), (0.005, "99.5 %"), (0.025, "97.5 %"),
        (0.05 / 3, "98.33 %"), (0.0125, "98.75 %"), (0.00625, "99.37 %"), (4e-7, "99.99996 %"),
    ],
}  # fmt: skip
"""Never rounded to none, to all, or to more than was shown."""


@pytest.mark.parametrize("said", FORMATTED, ids=lambda said: said.__name__)
def test_no_number_is_rounded_to_certainty(said):
    assert [said(value) for value, _ in FORMATTED[said]] == [text for _, text in FORMATTED[said]]


def test_every_share_of_up_to_200_inputs_is_printed_exactly_where_two_decimals_do():
    for n in range(1, 201):
        for k in range(n + 1):
            text = formatting.percent_range(Interval(k / n, k / n))
            ends = [Fraction(end.removesuffix(" %")) for end in text.split(" to ")]
            exact = Fraction(100 * k, n)
            if (100 * exact).denominator == 1:
                assert ends == [exact], text
            else:
                assert ends == [Fraction(int(100 * exact), 100), ends[0] + Fraction(1, 100)], text
            gap = formatting.points_range(Interval(-k / n, k / n)).split(" to ")
            assert [Fraction(end) for end in gap] == [-ends[-1], ends[-1]]


@pytest.mark.parametrize("low", [0.0, 0.012, 0.0429999, 12.345678, 123.456789, 60000.1234567])
@pytest.mark.parametrize("wider", [0.0, 0.0000031, 0.1, 7.7777777])
def test_levels_are_rounded_outwards_however_large(low, wider):
    text = formatting.radius_range(Interval(low, low + wider))
    a, b = (float(end) for end in (text.split(" to ") * 2)[:2])
    assert 0.999 * low <= a <= low * (1 + 1e-11)
    assert (low + wider) * (1 - 1e-11) <= b <= 1.001 * (low + wider)


@pytest.mark.parametrize(("least", "text"), [(0.9876546, "98.76546 %"), (0.9999996, "99.99996 %")])
def test_a_requirement_is_repeated_to_the_last_digit(least, text):
    (claim,) = study().run().require(least).verdicts
    assert f"{text} of the perturbations" in sentence(claim)


def test_a_replay_command_survives_a_shell():
    record = study().run(source=Source("m", "d")).record
    text = replay_command(record, "it's -x", 3, "my store.db")
    assert "'it'\"'\"'s -x' 3 --store 'my store.db'" in text
    dashed = replay_command(record, "-x", 3, "s.db")
    assert dashed == f"surefoot replay --store s.db -- {record.digest[:12]} -x 3"


def test_a_study_in_memory_is_replayed_in_python():
    record = study().run().record
    assert replay_command(record, 'a"b', 3, "s.db") == "study.replay('a\"b', 3)"


def weakest_table(made):
    result = made.run()
    return weakest_section(result.record, result.details, "").terminal_table


def test_the_weakest_inputs_have_their_true_class_where_it_is_known():
    inputs = points()
    named = sf.load_inputs(inputs.x, inputs.labels, class_names=("sun", "rain"))
    table = weakest_table(study(inputs=named))
    place = table.headings.index("true class")
    assert table.rows
    for row in table.rows:
        assert row[place] in ("sun", "rain")
        assert row[place] == row[table.headings.index("clean")]
        assert row[place] != row[table.headings.index("perturbed")]
    bare = weakest_table(study(inputs=sf.load_inputs(inputs.x)))
    assert "true class" not in bare.headings
    assert {len(row) for row in bare.rows} == {len(bare.headings)}


def test_a_weak_input_has_an_interval_and_its_confidence_not_a_bare_number():
    result = study().run()
    table = weakest_section(result.record, result.details, "").terminal_table
    for row in table.rows:
        interval = result.by_id[row[0]].interval
        low, high = map(float, re.fullmatch(RANGE, row[1]).groups())
        assert low <= 100 * (1 - interval.high) + 1e-9
        assert high >= 100 * (1 - interval.low) - 1e-9
    assert table.note == "Confidence 90 % for each input by itself, not for all together."


def test_progress_says_how_much_time_is_left(monkeypatch):
    clock = iter([10.0, 19.0, 21.0, 30.0])
    monkeypatch.setattr("surefoot.commands.caller.time.monotonic", lambda: next(clock))
    left = TimeLeft()
    assert left.update(Progress(0, 100, 0, 5)) is None
    assert left.update(Progress(2, 100, 0, 5)) is None  # the first batch waits for imports
    assert left.update(Progress(22, 100, 1, 5, most=302)) == SecondsLeft(7.8, 28.0)
    assert left.update(Progress(5, 100, 0, 5)) is None  # the next of several studies
    left = SecondsLeft(8.0)
    words = progress_words(Progress(20, 100, 1, 5), "inputs", left)
    assert words == "measuring: 20 of about 100 trials, 1/5 inputs done, about 8 s left"
    words = progress_words(Progress(20, 100, 1, 5, most=300), "inputs", SecondsLeft(8.0, 28.0))
    assert "of about 100 trials (at most 300)" in words
    assert words.endswith("about 8 s left (at most 28 s)")
    words = progress_words(Progress(20, 100, 1, 5, most=5000), "inputs", left)
    assert "of about 100 trials or more" in words
    assert words.endswith("about 8 s left or more")
    words = progress_words(Progress(20, 100, 0, 5, most=100), "inputs", left)
    assert words.startswith("measuring: 20 of at most 100 trials")
    assert words.endswith("at most 8 s left")


ADDRESSES = {
    ("https://a.org/v2/models/net", "http://b.org/v2/models/old/"): ["net", "old"],
    ("https://a.org/v2/models/net/versions/1", "https://a.org/v2/models/net/versions/2"): [
        "net version 1",
        "net version 2",
    ],
    ("https://a.org/v2/models/net", "https://b.org:8443/x/v2/models/net/versions/3", "n.onnx"): [
        "net",
        "net version 3",
        "n.onnx",
    ],
    ("https://a.org/v2/models/net", "http://a.org:80/v2/models/net", "d/n.onnx"): [
        "net on a.org",
        "net on a.org:80",
        "d/n.onnx",
    ],
    ("d/n.onnx", "e/n.onnx"): ["d/n.onnx", "e/n.onnx"],
}


@pytest.mark.parametrize("models", ADDRESSES)
def test_a_model_behind_an_address_has_its_own_name_and_the_host_where_two_share_it(models):
    assert list(named_models(list(models))) == ADDRESSES[models]


def test_our_warnings_are_sentences_on_a_terminal_and_others_stay_as_they_are(monkeypatch, capsys):
    others = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: others.append(str(message)))
    print_own_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("the server did not answer at once", SurefootWarning, stacklevel=1)
        warnings.warn("theirs", stacklevel=1)
    assert capsys.readouterr().err == "the server did not answer at once\n"
    assert others == ["theirs"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["key", "mykey"], "action must be new, got mykey"),
        (["estimate", "m", "d", "--seed=x"], "--seed must be an integer ≥ 0, got x"),
        (["export", "--to", "pdf"], "--to must be one of model-card,"),
    ],
)
def test_words_that_cannot_be_read_are_refused_in_our_words(words, said):
    with pytest.raises(Exception, match=r".") as raised:
        app(words, standalone_mode=False)
    assert refused_word(raised.value, raised.value.ctx).startswith(said)
