"""Words of reasons: every one has some, and those that depend on their values are right."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.core.reasons import Reason, Why, several, stated
from surefoot.records.json_records import result_from_plain
from surefoot.report.reasons import WORDS, reason_words
from tests.worlds import study

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
