"""Outcomes that were counted elsewhere: what is read, what is refused, and what is claimed."""

import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

import surefoot as sf
from surefoot.core.claims import Continues, Verdict
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcomes import rows
from surefoot.inputs.outcomes.rows import meaning_of_one
from surefoot.report.formatting import percent
from surefoot.report.sentences import sentence
from tests.refusals import refused
from tests.shell import in_shell

pytestmark = pytest.mark.usefixtures("cwd")


def csv(*lines, name="a.csv"):
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def outcomes(*values, name="a.csv", heading="outcome"):
    return csv(f"case,{heading}", *(f"q{i},{v}" for i, v in enumerate(values)), name=name)


def counted(result):
    """Failed trials and trials."""
    return result.claims[1].failed, result.claims[1].trials


@pytest.mark.parametrize("failed", [0, 1, 7, 29, 30])
def test_the_interval_is_the_exact_one_also_at_none_and_all(failed):
    result = sf.tally(outcomes(*["fail"] * failed, *["pass"] * (30 - failed)), confidence=0.99)
    exact = binomtest(failed, 30).proportion_ci(0.99, "exact")
    claim, count = result.claims
    assert (claim.interval.low, claim.interval.high) == pytest.approx((exact.low, exact.high))
    assert claim.continues is Continues.ONCE
    assert sentence(count) == f"{failed} of these 30 cases failed ({percent(failed / 30)})."
    assert "drawn at random and independently from the cases they stand for" in sentence(claim)


@pytest.mark.parametrize(
    ("heading", "values", "failed"),
    [
        ("outcome", ("pass", "FAIL", " Passed ", "error"), 2),
        ("passed", ("1", "0", "true", "False"), 2),
        ("failed", ("1", "0", "true", "no"), 2),
        ("failed", ("pass", "fail", "fail", "fail"), 3),
        ("acc", ("1.0", "0.0", "1", "1"), 1),
    ],
)
def test_outcomes_in_words_and_numbers_and_what_one_means_in_a_column_of_failures(
    heading, values, failed
):
    assert counted(sf.tally(outcomes(*values, heading=heading))) == (failed, 4)


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        ("fail", "incorrect wrong is_wrong has_failed test_failed fails not_ok mistake crashed "
                 "misclassified jailbroken isIncorrect FAILED answer_not_correct"),
        ("pass", "correct is_correct isCorrect ok acc_norm pass@1 exact_match no_error not_failed "
                 "prompt_level_strict_acc"),
        ("", "attack_success attack_failed refused error_free pass_fail correct_answer score wer "
             "wer_error word_perplexity loss outcome result status exit_code x not failover "
             "nicht_ok no_retry_ok correct_not Fehler"),
    ],
)  # fmt: skip
def test_what_one_means_is_read_from_names_of_known_words_alone_and_else_refused(meaning, names):
    for name in names.split():
        assert meaning_of_one(name) == meaning, name
        path = outcomes("1", "0", "0", "0", heading=name)
        if meaning:
            failed = {"fail": 1, "pass": 3}[meaning]
            result = sf.tally(path, outcome=name)
            assert counted(result) == (failed, 4)
            assert f"1 in column {name} = {meaning}ed" in result.explain()
        else:
            refused(f"{name} is 1, .* either.*--one-means pass", sf.tally, path, outcome=name)
        assert counted(sf.tally(path, outcome=name, one_means="fail")) == (1, 4)


def test_one_means_is_said_and_refused_where_it_has_no_effect():
    path = outcomes("success", "success", "failed", heading="attack_result")
    refused("whether success is a passed or a failed case", sf.tally, path, outcome="attack_result")
    text = sf.tally(path, outcome="attack_result", one_means="fail").explain()
    assert "failed: where it is success (2 rows); passed: where it is failed (1 row)" in text
    assert "rows: 3 rows, 3 cases, 1 trial of each" in text
    text = sf.tally(outcomes("1", "0", heading="correct"), one_means="fail").explain()
    assert "Note: meaning: 1 in column correct = failed, as one_means (--one-means) says, " in text
    refused("has no outcome that is 1 or 0", sf.tally, outcomes("pass", "fail"), one_means="fail")
    refused("must be pass or fail, got 'failed'", sf.tally, path, one_means="failed")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("case,outcome", "a,pass", "b,maybe"), "line 3: outcome is 'maybe'; write pass or fail"),
        (("case,outcome", "a,"), "line 2: outcome is ''"),
        (("case,acc", "a,0.5"), "line 2: acc is '0.5'"),
        (("case,status", "a,0"), "status is 0, which may mean either"),
        (("case,outcome", ",pass"), "line 2: case is ''; give it a name"),
        (("case,outcome", "a"), "not as many cells"),
        (("case,outcome", "a,pass,pass"), "not as many cells"),
        (("case,case,outcome", "a,b,pass"), "two columns 'case'"),
        (("case,x", "a,pass"), r"no column whose name .* among case, x: name it with .*--outcome"),
        (("case,passed,correct", "a,1,1"), "the columns passed and correct: name one with"),
        (("case,outcome",), "has no outcomes"),
        (("case,outcome", "a,skipped"), "every case was skipped"),
        (("trials,failures", "10,1"), r"no column says of which case.*write none"),
        (("case,trials", "a,3"), "not from none"),
        (("case,trials,failures", "a,3,4"), "must add up"),
        (("case,trials,failures,passed", "a,3,1,1"), "failures is 1 and passed is 1; .*add up"),
        (("case,trials,failures", "a,-3,1"), "trials is '-3'; write a whole number"),
        (("case,trials,failures", f"a,{'9' * 5000},1"), "write a whole number"),
        (("id,class,outcome", "1,maths,pass", "1,law,pass"), "case 1 has the class 'law', and"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place_and_the_way_out(lines, said):
    refused(said, sf.tally, csv(*lines))


def test_a_column_cannot_be_two_things_at_once():
    refused("the column case is both case", sf.tally, outcomes("pass", "fail"), by="case")
    refused("do you mean outcome", sf.tally, outcomes("pass"), outcome="outcom")
    refused("separate columns by commas", sf.tally, csv("case;outcome", "a;pass"))
    refused("has no header", sf.tally, csv(""))


def test_files_that_are_no_files_of_outcomes_are_refused(monkeypatch):
    Path("a.txt").write_text("")
    Path("folder.csv").mkdir()
    for name, said in (
        ("a.txt", "tally reads .csv"),
        ("none.csv", "there is no file none.csv"),
        ("x" * 300 + ".csv", "there is no file"),
        ("a\0.csv", "there is no file"),
        ("folder.csv", r"folder\.csv is no plain file, but a folder"),
    ):
        refused(said, sf.tally, name)
    refused("needs a file", sf.tally)
    many = csv("trials,failures", "200001,1")
    refused("take a random choice", sf.tally, many, case="none")
    monkeypatch.setattr(rows, "MOST_BYTES", 10)
    refused("more than", sf.tally, many)


def test_trials_of_one_case_are_one_value_of_the_sample():
    rows = [f"{i},{t},{int(i < 3)}" for i in range(12) for t in range(50)]
    path = csv("id,epoch,failed", *rows)
    result = sf.tally(path)
    assert result.claims[0].interval.low < 3 / 12 - 0.15
    assert "such cases fail in" in sentence(result.claims[0])
    assert "12 cases failed in 150 of 600 trials" in sentence(result.claims[1])
    same = csv("case,trials,failures", *(f"{i},50,{50 * (i < 3)}" for i in range(12)), name="b.csv")
    assert sf.tally(same).claims[0].interval == result.claims[0].interval
    apart = sf.tally(csv("trials,failures", "600,150", name="c.csv"), case="none").claims[0]
    assert apart.interval.low > 0.2
    assert [r["failed"] for r in sf.tally(path).to_frame().to_dict("records")][:4] == [50] * 3 + [0]


@pytest.mark.parametrize(
    ("heading", "way_out"),
    [
        ("epoch,item,correct", "--case item"),
        ("item,epoch,correct", "--case item"),
        ("question_text,x,correct", "--case question_text"),
        ("imageId,x,correct", "--case imageId"),
        ("url,x,correct", "--case url"),
    ],
)
def test_rows_that_may_be_trials_of_one_case_are_no_cases_unless_it_is_said(heading, way_out):
    first, second, _ = heading.split(",")
    turned = first == "epoch"
    rows = [f"{e},{q},1" if turned else f"{q},{e},1" for e in range(10) for q in range(3)]
    path = csv(heading, *rows)
    said = rf"in 30 rows, so that rows may be trials .*\({way_out}\), or say case=none"
    refused(said, sf.tally, path)
    result = sf.tally(path, case=second if turned else first)
    assert "rows: 30 rows, 3 cases, 10 trials of each" in result.explain()
    assert "0 of these 30 cases failed" in sf.tally(path, case="none").explain()
    numbered = csv(f"id,{heading}", *(f"{i},{row}" for i, row in enumerate(rows)))
    if "url" not in heading:  # which cases of different names may share
        refused(r"or say case=id \(--case id\)", sf.tally, numbered)
    assert "0 of these 30 cases failed" in sf.tally(numbered, case="id").explain()


def test_rows_without_any_such_column_are_cases_with_a_note():
    for heading in ("item,x,correct", "x,y,correct", "y,epoch,correct"):
        constant = csv(heading, *(f"{i},7,1" for i in range(9)))
        assert "Note: cases: every row is taken for a case of its own; if" in str(
            sf.tally(constant)
        )
        assert "Note: cases" not in sf.tally(constant, case="none").explain()
    refused("the column item has 1 value in 9 rows", sf.tally, csv("item,correct", *["q,1"] * 9))


def test_unequal_numbers_of_trials_are_an_assumption_and_skipped_cases_a_note():
    text = sf.tally(csv("case,outcome", "a,pass", "a,fail", "b,pass", "c,skipped")).explain()
    assert "how many trials a case has does not depend on their outcomes" in text
    assert "1 row was skipped and is left out" in text
    assert "2 cases" in text


RERUN = ("a,fail", "a,pass", "b,pass", "c,fail", "c,fail", "c,pass", "d,fail", "d,fail", "e,pass")


def test_of_cases_that_were_run_until_they_passed_the_first_attempt_counts():
    path = csv("case,outcome", *RERUN)
    result = sf.tally(path)
    assert counted(result) == (3, 5), "c failed twice and is one case, d never passed"
    assert "3 cases that failed were run again, and 2 passed then; each case counts by" in str(
        result
    )
    assert "how many trials a case has" not in result.explain()
    assert counted(sf.tally(path, reruns="last")) == (1, 5)
    assert result.claims[0].interval != sf.tally(path, reruns="all").claims[0].interval
    assert sf.tally(path, reruns="all").claims[1].trials == len(RERUN)
    repeated = csv("case,outcome", *(f"{c},{o}" for c in "abcd" for o in ("fail", "pass")))
    assert sf.tally(repeated).claims[1].trials == 8, "every case was run twice, whatever came first"
    missing = [f"{c},{'fail' if c % 2 else 'pass'}" for c in range(20) for _ in range(3 - (c == 7))]
    assert sf.tally(csv("case,outcome", *missing)).claims[1].trials == 59, (
        "fewer trials show no rerun"
    )
    with pytest.raises(InvalidArgument) as refusal:
        sf.tally("a.csv", reruns="second")
    assert (refusal.value.option, refusal.value.value) == ("reruns", "second")
    with pytest.raises(InvalidArgument, match="not say in which order"):
        sf.tally(csv("case,trials,failures", "a,2,1", "b,1,0"), reruns="first")


def test_reruns_that_are_likely_no_accident_are_counted_once():
    """Whole classes are run again: some cases passed before, most failed."""
    rows = [f"p{i},pass" for i in range(60)] + [f"x{i},{'fail' if i else 'pass'}" for i in range(9)]
    again = [f"x{i},pass" for i in range(9)]
    assert sf.tally(csv("case,outcome", *rows, *again)).claims[1].trials == 69
    assert (
        sf.tally(csv("case,outcome", *rows, "p1,pass", "p2,pass", "x3,pass")).claims[1].trials == 72
    )


def test_a_column_called_group_is_used_only_where_it_is_named():
    path = csv("case,group,outcome", *(f"{i},{i // 5},{'pf'[i < 5]}".replace("p", "pass")
                                       .replace("f", "fail") for i in range(50)))  # fmt: skip
    plain, grouped = sf.tally(path), sf.tally(path, group="group")
    assert "the column group is not used" in str(plain)
    assert grouped.claims[0].about.groups == 10
    assert grouped.claims[0].interval.high > 1.5 * plain.claims[0].interval.high
    assert "averaged over groups" in sentence(grouped.claims[0])
    assert len(sf.tally(path, by="group", require_each=0.5).verdicts) == 11
    with pytest.raises(InvalidArgument, match="several classes"):
        sf.tally(csv("case,group,class,failed", "1,g,a,0", "2,g,b,0"), group="group")


def test_verdicts_give_exit_codes_and_share_the_error():
    path = csv("case,topic,failed", *(f"{i},{'ab'[i % 2]},{int(i == 3)}" for i in range(80)))
    words = ["tally", path, "--by", "topic", "--require-each"]
    codes = [in_shell(*words, r).return_value
             for r in ("0.8", "0.97", "a=0.8,b=0.8", "1")]  # fmt: skip
    assert codes == [0, 2, 0, 1]  # one failure refutes that every case passes
    verdicts = sf.tally(path, by="topic", require=0.9, require_each=0.8).verdicts
    assert [v.verdict for v in verdicts] == [Verdict.PASS] * 4
    assert {v.guarantee.error for v in verdicts} == {0.025}
    refused("no classes to require", sf.tally, path, require_each=0.9)
    refused("there is no class 'c'", sf.tally, path, by="topic", require_each="c=0.9")
    printed = in_shell("tally", path, "--json").stdout
    assert json.loads(printed)["claims"][0]["kind"] == "case_failure"


def test_two_files_are_matched_by_case_and_what_is_in_one_alone_is_named():
    new = outcomes(*["pass"] * 60)
    old = csv("case,outcome", *(f"q{i},{'fail' if i % 2 else 'pass'}" for i in range(3, 63)),
              name="inputs.csv")  # fmt: skip
    result = sf.tally(new, old, not_worse=0)
    difference = result.claims[0]
    assert difference.names == ("a.csv", "inputs.csv")
    assert difference.about.inputs == 57
    assert difference.interval.high < 0
    assert result.verdicts[0].verdict is Verdict.PASS
    assert "3 cases of a.csv are not in every file (q0, q1, q2) and left out" in result.explain()
    worse = sf.tally(old, new, not_worse=0.02)
    assert worse.exit_code == 1
    same = sf.tally(new, outcomes(*["pass"] * 60, name="c.csv"), not_worse=0.02)
    assert same.exit_code == 2  # sixty cases without a difference do not show two points
    assert "inputs" not in sentence(same.verdicts[0])
    assert set(result.to_frame()["part"]) == {"a.csv", "inputs.csv"}


def test_files_that_cannot_be_compared_are_refused():
    a, b = outcomes("pass", "fail"), csv("case,outcome", "x,pass", name="b.csv")
    for files, options, said in (
        ((a, b), {}, "no case in common"),
        ((a, a), {}, "given twice"),
        ((a, csv("outcome", "pass", name="c.csv")), {}, "c.csv does not name its cases"),
        ((a, b), {"require": 0.9}, "is about one file"),
        ((a, b), {"by": "topic"}, "is about one file"),
        ((a,), {"not_worse": 0.1}, "give two"),
        ((a,), {"confidence": 1}, "must lie between 0 and 1"),
    ):
        refused(said, sf.tally, *files, **options)
    line = '{{"doc_id": 1, "acc": 1.0, "doc_hash": "{}"}}'
    Path("a.jsonl").write_text(line.format("p"))
    Path("b.jsonl").write_text(line.format("q"))
    refused("case 1 has another content", sf.tally, "a.jsonl", "b.jsonl")


def scores(*values, heading="score"):
    return outcomes(*values, heading=heading)


def test_a_likely_column_is_proposed_and_not_read():
    refused(r"among case, score: .*--outcome score, if it is", sf.tally, scores("pass"))
    with pytest.raises(InvalidArgument, match=r"among case, x: name it with outcome \(--outcome\)"):
        sf.tally(scores("pass", heading="x"))


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
    path = scores("0", "0.49999", "0.5", "0.75e0", "1")
    assert counted(sf.tally(path, outcome="score", **{option: at})) == (failed, 5)


def test_the_result_says_the_number_and_what_is_on_which_side():
    path = scores("0.2", "0.9", "skipped", "fail")
    text = sf.tally(path, outcome="score", passes_at=0.5).explain()
    assert "0.5 or more in column score = passed, as passes_at (--passes-at) says" in text
    assert "failed: where it is below 0.5 (1 row), fail (1 row)" in text
    assert "passed: where it is 0.5 or more (1 row)" in text
    text = sf.tally(scores("0.2", heading="error"), outcome="error", passes_at=0.1).explain()
    assert "though its name says failed" in text


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "", "1e999", "0,5"])
def test_what_is_no_finite_number_is_on_no_side(value):
    path = scores("0.5", f'"{value}"')
    refused("line 3: score is", sf.tally, path, outcome="score", passes_at=0.5)


def test_words_mean_what_the_user_says_whatever_their_capitals():
    path = scores("refused", "Answered", "REFUSED", "timeout", "pass")
    refused(r"--means refused=pass, --means refused=fail\)", sf.tally, path, outcome="score")
    refused("line 3: score is 'Answered'", sf.tally, path, outcome="score", means="refused=fail")
    words = {"Refused": "fail", "answered": "pass", "timeout": "skip"}
    result = sf.tally(path, outcome="score", means=words)
    assert counted(result) == (2, 4)
    assert "refused = failed, answered = passed, timeout = skipped, as means" in result.explain()
    said = "refused=fail, answered=pass,timeout=skip"
    done = in_shell("tally", path, "--outcome", "score", "--means", said, "--json")
    assert json.loads(done.stdout)["claims"] == json.loads(result.to_json())["claims"]


def test_words_that_are_not_there_or_mean_something_else_usually_are_noted():
    text = sf.tally(scores("error", "pass"), outcome="score", means="error=skip,no=fail").explain()
    assert "Note: meaning: no outcome is no, of which means (--means) speaks" in text
    assert "Note: meaning: error = skipped, though it is usually failed" in text
    assert counted(sf.tally("a.csv", outcome="score", means="pass=fail,error=fail")) == (2, 2)
    assert counted(sf.tally(scores("1", "0"), outcome="score", means="1=pass,0=fail")) == (1, 2)


def test_a_score_of_inspect_is_what_the_user_says():
    samples = [
        {"id": name, "epoch": 1, "scores": {"match": {"value": value}}}
        for name, value in (("a", "C"), ("b", "P"), ("c", "N"))
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    Path("log.json").write_text(json.dumps(log))
    refused(r"partial score; .*--means P=fail", sf.tally, "log.json")
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
def test_a_meaning_that_cannot_be_is_refused(options, said):
    refused(said, sf.tally, scores("pass"), outcome="score", **options)


def test_junit_says_itself_what_its_outcomes_are():
    Path("s.xml").write_text("<testsuite><testcase name='a'/></testsuite>")
    for options in ({"means": "a=fail"}, {"passes_at": 0.5}):
        refused("JUnit's XML says itself", sf.tally, "s.xml", **options)
