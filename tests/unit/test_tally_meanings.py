"""What the user says that outcomes mean: words, and scores from a number on."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.errors import InvalidArgument


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def outcomes(*values, heading="score"):
    rows = (f"q{i},{v}" for i, v in enumerate(values))
    Path("a.csv").write_text("\n".join([f"case,{heading}", *rows]) + "\n")
    return "a.csv"


def counted(result):
    """Failed trials and trials."""
    return result.claims[1].failed, result.claims[1].trials


def test_a_likely_column_is_proposed_and_not_read():
    with pytest.raises(InvalidArgument, match=r"among case, score: .*--outcome score, if it is"):
        sf.tally(outcomes("pass"))
    with pytest.raises(InvalidArgument, match=r"among case, x: name it with outcome \(--outcome\)"):
        sf.tally(outcomes("pass", heading="x"))


@pytest.mark.parametrize(
    ("option", "at", "failed"),
    [
        ("passes_at", 0.5, 2),
        ("fails_at", 0.5, 3),
        ("passes_at", 0, 0),
        ("passes_at", "1", 4),
        ("fails_at", 1.5, 0),
        ("passes_at", "1/2", 2),
    ],
)
def test_scores_at_the_number_are_on_its_upper_side(option, at, failed):
    path = outcomes("0", "0.49999", "0.5", "0.75e0", "1")
    assert counted(sf.tally(path, outcome="score", **{option: at})) == (failed, 5)


def test_the_result_says_the_number_and_what_is_on_which_side():
    path = outcomes("0.2", "0.9", "skipped", "fail")
    text = str(sf.tally(path, outcome="score", passes_at=0.5))
    assert "0.5 or more in column score = passed, as passes_at (--passes-at) says" in text
    assert "failed: where it is below 0.5 (1 row), fail (1 row)" in text
    assert "passed: where it is 0.5 or more (1 row)" in text
    text = str(sf.tally(outcomes("0.2", heading="error"), outcome="error", passes_at=0.1))
    assert "though its name says failed" in text


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "", "1e999", "0,5"])
def test_what_is_no_finite_number_is_on_no_side(value):
    path = outcomes("0.5", f'"{value}"')
    with pytest.raises(InvalidArgument, match="line 3: score is"):
        sf.tally(path, outcome="score", passes_at=0.5)


def test_words_mean_what_the_user_says_whatever_their_capitals():
    path = outcomes("refused", "Answered", "REFUSED", "timeout", "pass")
    with pytest.raises(InvalidArgument, match=r"--means refused=pass, --means refused=fail\)"):
        sf.tally(path, outcome="score")
    with pytest.raises(InvalidArgument, match="line 3: score is 'Answered'"):
        sf.tally(path, outcome="score", means="refused=fail")
    words = {"Refused": "fail", "answered": "pass", "timeout": "skip"}
    result = sf.tally(path, outcome="score", means=words)
    assert counted(result) == (2, 4)
    assert "refused = failed, answered = passed, timeout = skipped, as means" in str(result)
    said = "refused=fail, answered=pass,timeout=skip"
    done = CliRunner().invoke(app, ["tally", path, "--outcome", "score", "--means", said, "--json"])
    assert json.loads(done.stdout)["claims"] == json.loads(result.to_json())["claims"]


def test_words_that_are_not_there_or_mean_something_else_usually_are_noted():
    text = str(sf.tally(outcomes("error", "pass"), outcome="score", means="error=skip,no=fail"))
    assert "Note: meaning: no outcome is no, of which means (--means) speaks" in text
    assert "Note: meaning: error = skipped, though it is usually failed" in text
    assert counted(sf.tally("a.csv", outcome="score", means="pass=fail,error=fail")) == (2, 2)
    assert counted(sf.tally(outcomes("1", "0"), outcome="score", means="1=pass,0=fail")) == (1, 2)


def test_a_score_of_inspect_is_what_the_user_says():
    samples = [
        {"id": name, "epoch": 1, "scores": {"match": {"value": value}}}
        for name, value in (("a", "C"), ("b", "P"), ("c", "N"))
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    Path("log.json").write_text(json.dumps(log))
    with pytest.raises(InvalidArgument, match=r"partial score; .*--means P=fail"):
        sf.tally("log.json")
    assert counted(sf.tally("log.json", means="P=pass")) == (1, 3)
    left_out = sf.tally("log.json", means="P=pass,N=skip")
    assert counted(left_out) == (0, 2)
    assert "scored N and counted" not in str(left_out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"means": "refused"}, "=refused is no word and its meaning"),
        ({"means": "refused=bad"}, "write pairs with pass, fail, skip"),
        ({"means": "a=fail,A=pass"}, "a=pass is there twice"),
        ({"means": {"": "fail"}}, "is no word"),
        ({"passes_at": 0.5, "fails_at": 0.5}, "give one of them"),
        ({"passes_at": 0.5, "one_means": "pass"}, "give one of them"),
        ({"passes_at": "half"}, "passes_at"),
        ({"fails_at": 0.5}, r"fails_at \(--fails-at\) 0.5: a.csv has no outcome that is a number"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, said):
    with pytest.raises(InvalidArgument, match=said):
        sf.tally(outcomes("pass"), outcome="score", **options)


def test_junit_says_itself_what_its_outcomes_are():
    Path("s.xml").write_text("<testsuite><testcase name='a'/></testsuite>")
    for options in ({"means": "a=fail"}, {"passes_at": 0.5}):
        with pytest.raises(InvalidArgument, match="JUnit's XML says itself"):
            sf.tally("s.xml", **options)
