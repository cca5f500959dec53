"""Files of outcomes as other tools write them: lm-evaluation-harness, Inspect, JUnit."""

import json
import zipfile
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcomes import rows
from tests.unit.test_tally import counted

pytestmark = pytest.mark.usefixtures("cwd")


def test_samples_of_lm_evaluation_harness_and_their_filters():
    rows = [
        {"doc_id": i, "filter": f, "metrics": ["exact_match"], "exact_match": float(i == 0 or easy)}
        for i in range(4)
        for f, easy in (("strict-match", False), ("flexible-extract", True))
    ]
    Path("s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InvalidArgument, match="under the filters strict-match and flexible"):
        sf.tally("s.jsonl")
    assert counted(sf.tally("s.jsonl", outcome="exact_match,strict-match")) == (3, 4)
    rows = [{**row, "metrics": ["acc", "acc_norm"], "acc": 1, "acc_norm": 0} for row in rows]
    Path("m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(
        InvalidArgument, match=r"--outcome acc,strict-match or .* or acc_norm,flexi"
    ):
        sf.tally("m.jsonl")
    Path("m.jsonl").write_text("\n".join(map(json.dumps, rows[::2])))
    with pytest.raises(InvalidArgument, match="--outcome acc or acc_norm"):
        sf.tally("m.jsonl")
    assert counted(sf.tally("s.jsonl", outcome="exact_match,flexible-extract")) == (0, 4)
    for text, said in (("{", "line 1 is not JSON"), ("[1]", "each line is one object"),
                       ("[" * 100_000, "not JSON"), ("", "has no lines"),
                       ('{"id": 1, "acc": 1}\n{"id": 2}', "has no 'acc'")):  # fmt: skip
        Path("t.jsonl").write_text(text)
        with pytest.raises(InvalidArgument, match=said):
            sf.tally("t.jsonl")


def samples(name, **fields):
    lines = [{"doc_id": i, "acc": 1.0, **{k: f"{v}{i}" for k, v in fields.items()}} for i in (0, 1)]
    Path(name).write_text("\n".join(map(json.dumps, lines)))
    return name


def test_documents_of_several_tasks_are_not_taken_for_one_case():
    """Every task counts its documents from 0."""
    with pytest.raises(InvalidArgument, match="case 0 has another content"):
        sf.tally(samples("a.jsonl", doc="sums"), samples("b.jsonl", doc="poems"))
    assert "on the same 2 cases" in str(sf.tally("a.jsonl", samples("c.jsonl", doc="sums")))
    with pytest.raises(InvalidArgument, match="has the content"):
        Path("ab.jsonl").write_text("\n".join(Path(p).read_text() for p in ("a.jsonl", "b.jsonl")))
        sf.tally("ab.jsonl")
    day = "2026-01-02T03-04-05.678"
    new, old, other = (
        samples(f"samples_{task}_{day}{i}.jsonl") for i, task in enumerate(("arc", "arc", "law_1"))
    )
    assert "on the same 2 cases" in str(sf.tally(new, old))
    with pytest.raises(InvalidArgument, match=r"different tasks \(arc, law_1\) and only number"):
        sf.tally(new, other)
    Path("both.jsonl").write_text(Path(new).read_text() + "\n" + Path(other).read_text())
    with pytest.raises(InvalidArgument, match="doc_id 0 is there twice"):
        sf.tally("both.jsonl")
    assert sf.tally("both.jsonl", case="doc_id").claims[1].trials == 4


def log(*samples, status="success", task="t"):
    """A log of Inspect: id, epoch, value of the score."""
    return {
        "version": 2,
        "status": status,
        "eval": {"task": task},
        "samples": [
            {"id": i, "epoch": e, "scores": {"match": {"value": v}}, "metadata": {"topic": "a"}}
            for i, e, v in samples
        ],
    }


def test_logs_of_inspect_as_json_and_as_an_archive():
    whole = log(("x", 1, "C"), ("x", 2, "I"), ("y", 1, "N"), ("y", 2, "C"), status="cancelled")
    Path("l.json").write_text(json.dumps(whole))
    result = sf.tally("l.json", by="topic")
    assert counted(result) == (2, 4)
    assert result.claims[0].about.inputs == 2
    assert "status 'cancelled'" in result.explain()
    assert "1 answer is scored N and counted as failed" in result.explain()
    header = {key: value for key, value in whole.items() if key != "samples"}
    for parts in (
        {"summaries.json": whole["samples"]},
        {f"samples/{s['id']}_{s['epoch']}.json": s for s in whole["samples"]},
    ):
        with zipfile.ZipFile("l.eval", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in {"header.json": header, **parts}.items():
                archive.writestr(name, json.dumps(content))
        assert sf.tally("l.eval").claims == sf.tally("l.json").claims
    refused = {
        "match_error is 1, which may mean either": json.loads(
            json.dumps(log(("x", 1, 1))).replace("match", "match_error")
        ),
        "is 'P', a partial score": log(("x", 1, "P")),
        "match is 0.3": log(("x", 1, 0.3)),
        "has no scores": {**header, "samples": [{"id": 1}]},
        "no log of Inspect": {"samples": 3},
        "ended with an error": {
            **header,
            "samples": [log((1, 1, "C"))["samples"][0], {"id": 2, "error": {"message": "no"}}],
        },
    }
    for said, content in refused.items():
        Path("m.json").write_text(json.dumps(content))
        with pytest.raises(InvalidArgument, match=said):
            sf.tally("m.json")
    Path("n.eval").write_bytes(b"PK\3\4 no archive")
    with pytest.raises(InvalidArgument, match="cannot be unpacked"):
        sf.tally("n.eval")
    Path("o.json").write_text(json.dumps(log(("x", 1, "C"), task="another")))
    assert "different tasks (t, another)" in str(sf.tally("l.json", "o.json"))


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused_wherever_the_damage_is(kind):
    with zipfile.ZipFile("d.eval", "w", kind) as archive:
        archive.writestr("header.json", json.dumps({"status": "success", "noise": "abc" * 20}))
    whole = Path("d.eval").read_bytes()
    for place in range(0, len(whole), 2):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        Path("d.eval").write_bytes(damaged)
        with pytest.raises(InvalidArgument):
            sf.tally("d.eval")


def test_a_header_of_very_many_columns_is_refused_and_one_of_many_names_its_double():
    Path("c.csv").write_text(",".join(map(str, range(10_001))) + "\n")
    with pytest.raises(InvalidArgument, match="10,001 columns, more than 10,000: keep"):
        sf.tally("c.csv")
    Path("c.csv").write_text(",".join(map(str, [*range(9_000), 7])) + "\n")
    with pytest.raises(InvalidArgument, match="two columns '7': rename one"):
        sf.tally("c.csv")


def test_an_archive_that_unpacks_to_very_much_is_refused(monkeypatch):
    monkeypatch.setattr(rows, "MOST_BYTES", 100_000)
    with zipfile.ZipFile("z.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", " " * 1_000_000)
    with pytest.raises(InvalidArgument, match="unpacks to more than"):
        sf.tally("z.eval")


def asked(*questions, **more):
    """A log of Inspect whose samples, numbered from 1, have these inputs; all are right."""
    whole = log(*((i, 1, "C") for i in range(1, len(questions) + 1)))
    samples = [
        {**sample, "input": question, "target": "x"}
        for sample, question in zip(whole["samples"], questions, strict=True)
    ]
    return {**whole, "samples": samples, **more}


def written(name, content):
    Path(name).write_text(json.dumps(content))
    return name


def test_logs_of_inspect_are_compared_only_on_the_same_questions():
    long = "a" * 6000
    message = {"role": "user", "content": "b", "id": "r1"}
    a = written("a.json", asked("What is 1+1?", [message], long))
    summary = long[:5120] + "...\n(content truncated)"
    b = written("b.json", asked("What is 1+1?", [{**message, "id": "r2"}], summary))
    assert "on the same 3 cases" in str(sf.tally(a, b))
    Path("c.csv").write_text("case,passed\n1,1\n2,1\n3,0\n")
    assert "on the same 3 cases" in str(sf.tally(a, "c.csv"))
    other = written("o.json", asked("What is 1+1?", "Prove Fermat", long))
    with pytest.raises(InvalidArgument, match="case 2 has another content"):
        sf.tally(a, other)
    shuffled = [asked("Which?", "Why?") for _ in range(2)]
    for content, choices, target in zip(shuffled, (["p", "q"], ["q", "p"]), "AB", strict=True):
        content["samples"][0] |= {"choices": choices, "target": target}
    pair = [written(f"s{i}.json", content) for i, content in enumerate(shuffled)]
    assert "on the same 2 cases" in str(sf.tally(*pair))


def test_logs_of_inspect_must_have_the_samples_that_they_count():
    whole = log(*((i, e, "C") for i in range(5) for e in (1, 2)))
    assert counted(sf.tally(written("w.json", {**whole, "results": {"total_samples": 10}})))
    cut = {**whole, "results": {"total_samples": 40, "completed_samples": 10}}
    with pytest.raises(InvalidArgument, match="total_samples=40, and it has 10 samples"):
        sf.tally(written("m.json", cut))
    stopped = {**cut, "results": {**cut["results"], "early_stopping": {"manager": "m"}}}
    for content in ({**cut, "status": "cancelled"}, stopped):
        assert "10 of 40 samples" in str(sf.tally(written("n.json", content)))
    for samples, said in (
        ([("a", 1, "C"), ("a", 1, "I")], "sample a, epoch 1 is there twice"),
        ([(1, 1, "C"), ("1", 2, "I")], "a number and a text"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            sf.tally(written("d.json", log(*samples)))
    two = asked("one", "another")
    two["samples"][1] |= {"id": 1, "epoch": 2}
    with pytest.raises(InvalidArgument, match="another input or target in epoch 2"):
        sf.tally(written("e.json", two))


def test_copies_of_a_case_are_noted():
    rows = [{"doc_id": i, "acc": 1.0, "doc_hash": f"h{i % 2}"} for i in range(30)]
    Path("c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert "28 of 30 cases are copies of another one" in str(sf.tally("c.jsonl"))
    cut = written("l.json", asked(*(f"{'a' * 6000}{i}" for i in range(9))))
    assert "copies" not in str(sf.tally(cut))  # they may differ in what is not compared


def test_a_column_of_weights_is_noted():
    Path("w.csv").write_text("case,passed,weight\na,0,1000\nb,1,1\nc,1,1\n")
    assert "the column weight is not used: every case counts the same" in str(sf.tally("w.csv"))


JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite name="s">
<testcase classname="m" name="a"/>
<testcase classname="m" name="b"><failure message="no">text</failure></testcase>
<testcase classname="n" name="a"><error/></testcase>
<testcase classname="n" name="c"><skipped/></testcase>
<testcase classname="n" name="d"><flakyFailure/><system-out>x</system-out></testcase>
</testsuite></testsuites>"""


def test_test_cases_of_junit_and_entities_refused():
    Path("j.xml").write_text(JUNIT)
    result = sf.tally("j.xml", by="classname")
    assert counted(result) == (3, 4), "what passed when run again failed at first"
    assert [row.id for row in result.inputs] == ["m::a", "m::b", "n::a", "n::d"]
    assert "1 case that failed was run again, and 1 passed then" in result.explain()
    assert counted(sf.tally("j.xml", reruns="last")) == (2, 4)
    assert sf.tally("j.xml", reruns="all").claims[1].trials == 5
    failed_thrice = suite("", FAILURE + "<rerunFailure/><rerunError/>", PASSED)
    assert counted(sf.tally(failed_thrice)) == (1, 2)
    assert sf.tally(failed_thrice, reruns="all").claims[1].trials == 4
    for text, said in (
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "declares a document type"),
        ("<testsuite>", "cannot be read as XML"),
        ("<testsuite/>", "has no testcase"),
        ("<testsuite><testcase/></testsuite>", "line 1: the testcase has no name"),
        ('<?xml version="1.0" encoding="nonsense"?><a/>', "cannot be read as XML"),
    ):
        Path("k.xml").write_text(text)
        with pytest.raises(InvalidArgument, match=said):
            sf.tally("k.xml")
    with pytest.raises(InvalidArgument, match="leave it out"):
        sf.tally("j.xml", outcome="failure")


def suite(head, *cases, after=""):
    Path("s.xml").write_text(
        f"<testsuites><testsuite name='s' {head}>"
        + "".join(f"<testcase name='t{i}' {case}</testcase>" for i, case in enumerate(cases))
        + f"{after}</testsuite></testsuites>"
    )
    return "s.xml"


PASSED, FAILURE, ERROR, SKIPPED = ">", "><failure/>", "><error/>", "><skipped/>"


@pytest.mark.parametrize(
    ("head", "cases", "after", "said"),
    [
        ("tests='1000' failures='900' errors='50'", [PASSED] * 50, "",
         "says tests=1000, failures=900, errors=50, and the file has 50 of its testcases, 0 with"),
        ("failures='1'", [PASSED] * 5, "", "says failures=1"),
        ("tests='5' failures='0' errors='0'", [FAILURE] * 5, "", "5 with a failure"),
        ("tests='6'", [PASSED] * 5, "", "says tests=6"),
        ("tests='5' skipped='4'", [PASSED] * 5, "", "says tests=5, skipped=4"),
        ("tests='many'", [PASSED], "", "tests is 'many'; write a whole number"),
        ("", [PASSED], "<error message='no'/>", "error stands outside of every testcase"),
        ("", ["><warning/>"], "", "the testcase has 'warning', which may be a failure"),
        ("", ["status='odd'>"], "", "the status 'odd', which is not known"),
        ("", ["status='passed'><failure/>"], "", "the status passed and 'failure'"),
        ("", ["status='passed' result='failed'>"], "", "is failed and passed by its attributes"),
    ],
)  # fmt: skip
def test_failures_of_junit_that_are_not_in_its_cases_are_refused(head, cases, after, said):
    with pytest.raises(InvalidArgument, match=f"^s.xml, line 1.*{said}"):
        sf.tally(suite(head, *cases, after=after))


def test_failures_of_junit_are_read_however_a_runner_writes_them():
    cases = (PASSED, FAILURE, ERROR, SKIPPED, "status='failed'>", "status='notrun'>",
             "><Failure/>", "><j:failure/>", "status='run'><failure/><failure/>")  # fmt: skip
    for head in ("", "tests='9' failures='6' errors='1' skipped='2'", "tests='7' failures='5'"):
        result = sf.tally(suite(head, *cases))
        assert counted(result) == (6, 7)
        assert (
            "failed: where it is failure (4 rows), error (1 row), failed (1 row)"
            in result.explain()
        )
    inner = "<testsuite name='u' tests='1'><testcase name='x'><failure/></testcase></testsuite>"
    for tests, failures in ((2, 1), (1, 0)):
        path = suite(f"tests='{tests}' failures='{failures}'", PASSED, after=inner)
        assert counted(sf.tally(path)) == (1, 2)
    with pytest.raises(InvalidArgument, match=r"one_means \(--one-means\) fail: JUnit"):
        sf.tally("s.xml", one_means="fail")
