"""A requirement as an assertion: shown, refuted or undecided, and nothing left behind."""

import pickle
import re
import subprocess
import sys
import unittest

import pytest

import surefoot as sf
from surefoot.core.claims import About
from surefoot.errors import SurefootWarning
from surefoot.report.sentences import sentence
from surefoot.testing import NotRobust, RobustnessUndecided, assertions
from tests.refusals import refused
from tests.worlds import linear_model, points

pytestmark = pytest.mark.filterwarnings("ignore::surefoot.errors.SurefootWarning")
REFUTED = "linf:0.4"
"""Far above 5 % of failures, on these points and the model."""


def check(perturbation="linf:0.02", n=12, **options):
    return sf.assert_robust(linear_model(), points(n), perturbation, **options)


def message(kind, *arguments, **options):
    with pytest.raises(kind) as raised:
        check(*arguments, **options)
    return str(raised.value)


def test_a_requirement_that_is_shown_passes_with_a_warning_at_most_and_leaves_no_file(cwd, capfd):
    with pytest.warns(SurefootWarning, match="bounds") as warned:
        result = check()
    assert len(warned) == 1  # what the checks before the run found odd, and nothing else
    assert [claim.verdict for claim in result.verdicts] == [sf.Verdict.PASS]
    assert capfd.readouterr() == ("", "")
    assert list(cwd.iterdir()) == []
    check(store=cwd / "kept.db")
    assert (cwd / "kept.db").exists()


def test_a_refuted_one_raises_the_claim_and_names_the_worst_inputs_in_a_line():
    with pytest.raises(NotRobust) as raised:
        check(REFUTED)
    (claim,) = raised.value.result.verdicts
    first, measured, second = str(raised.value).splitlines()
    assert first == sentence(claim)
    assert measured.startswith("Measured: 8") and claim.verdict is sf.Verdict.FAIL
    assert second.startswith("Failed most often in this run: p4 (")
    assert isinstance(raised.value, AssertionError)
    assert str(pickle.loads(pickle.dumps(NotRobust("why")))) == "why"


def test_undecided_is_its_own_outcome_with_a_way_out():
    open_question = {"perturbation": REFUTED, "about": "population"}
    words = message(RobustnessUndecided, **open_question)
    assert words.startswith("UNDECIDED: whether accuracy on inputs")
    assert re.search(r"with (about )?[\d,]+ inputs( in all)? the chance to decide it is", words)
    assert "A larger error than 0.01 may decide it too" in words
    assert "\nNote: ± 0.0125 is not reached: 12 inputs allow" in words
    near = message(RobustnessUndecided, REFUTED, at_least=0.88, precision=0.1)
    assert "a smaller precision may decide it" in near
    assert message(unittest.SkipTest, **open_question, undecided="skip") == words
    assert check(**open_question, undecided="pass").exit_code == 2
    assert not issubclass(RobustnessUndecided, NotRobust)


def test_a_test_run_may_say_what_undecided_does_and_a_test_may_say_otherwise():
    open_question, notes = {"perturbation": REFUTED, "about": "population"}, []
    with assertions.undecided_policy(assertions.UndecidedPolicy("pass", notes.append)):
        check(**open_question)
        message(RobustnessUndecided, **open_question, undecided="fail")
    message(RobustnessUndecided, **open_question)
    assert len(notes) == 1


def test_decisions_about_kappa_are_of_these_inputs_or_of_the_population():
    (every,) = check(kappa=0.1, at_least=1).verdicts
    (share,) = check(kappa=0.1, at_least=0.5, about="population").verdicts
    assert every.verdict is share.verdict is sf.Verdict.PASS
    assert (every.about.of, share.about.of) == (About.THESE, About.POPULATION)
    words = message(RobustnessUndecided, kappa=0.1, at_least=1, max_trials=2)
    assert "More trials for each of the 12 undecided inputs (a larger max_trials)" in words


def test_that_nothing_fails_is_shown_by_no_number_of_trials_but_where_nothing_is_drawn():
    words = message(RobustnessUndecided, at_least=1, n=3)
    assert "no number of trials shows it" in words
    assert "may decide it" not in words
    words = message(RobustnessUndecided, at_least=0.99999999999, n=3, precision=0.05)
    assert "at least 460,000,000,000 trials are needed" in words
    assert "may decide it" not in words
    words = message(RobustnessUndecided, at_least=0.99999, n=3, precision=0.05)
    assert "may decide it; at least 460,000 trials are needed to show it" in words
    assert "are needed" not in message(RobustnessUndecided, REFUTED, at_least=0.86, precision=0.2)
    (claim,) = check("clip:0.01", at_least=1).verdicts
    assert claim.verdict is sf.Verdict.PASS


def test_a_name_of_an_input_cannot_write_on_the_terminal():
    inputs = points(12)
    ids = [f"\x1b[31m{name}\n" for name in inputs.ids[:11]] + ["x" * 500]
    hostile = sf.load_inputs(inputs.x, inputs.labels, ids=ids)
    with pytest.raises(NotRobust) as raised:
        sf.assert_robust(linear_model(), hostile, REFUTED, precision=0.05)
    words = str(raised.value)
    assert "\x1b" not in words
    assert len(words.splitlines()) == 3
    assert len(words) < 400


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        *[({"at_least": wrong}, "at_least must be a number") for wrong in (95, True, "0.9")],
        *[({"error": wrong}, "error must lie between") for wrong in (0, 0.999, 1e-13)],
        ({"error": float("nan")}, "error must be a number between 0 and 1, got nan"),
        ({"about": "all"}, "about must be these or population, got 'all'"),
        ({"undecided": "maybe"}, "undecided must be fail, skip or pass"),
        ({"confidence": 0.9}, "assert_robust takes no confidence: use error"),
        ({"require": 0.9}, "takes no require: use at_least"),
        ({"each": 0.1}, "add about='population'"),
        ({"presicion": 0.1}, "do you mean precision"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_is_no_failed_assertion(options, refusal):
    refused(refusal, check, **options)


def test_the_plugin_that_every_pytest_run_loads_imports_nothing_heavy():
    code = (
        "import pytest, sys; before = set(sys.modules); import surefoot.testing.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    inner = ("core", "core.assumptions", "core.claims", "core.reasons", "core.results", "errors",
             "testing", "testing.assertions")  # fmt: skip
    names = ["surefoot", *(f"surefoot.{name}" for name in (*inner, "testing.pytest_plugin"))]
    assert loaded.stdout.split() == names
