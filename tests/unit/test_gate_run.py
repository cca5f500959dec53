"""Studies of a file are run together: lines, exit code, files, and the evidence of all it says."""

import hashlib
import json
import os
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.special import ndtri

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.evidence.answers import Status
from surefoot.gate import Outcome
from surefoot.store import reading
from tests.shell import done_in_shell, in_shell
from tests.unit.test_evidence_file import exit_code, statement_of
from tests.unit.test_evidence_file import write as write_evidence

UNDECIDED = Outcome.UNDECIDED
MODELS = """
import numpy as np

def scores(margin):
    return np.stack([-margin, margin], axis=1)

def good(batch):  # fails under 5 % of the noise
    return scores(batch[:, 0])

def bad(batch):  # fails under 50 %
    return scores(batch[:, 1])

def broken(batch):  # of a whole batch of trials
    if len(batch) > 64:
        raise ValueError("a | b\\n<script>")
    return scores(batch[:, 0])
"""
DEFAULTS = """
error = 0.08
[defaults]
model = "models.py:good"
data = "test.npz"
workers = 1
batch = 4096
"""
PERTURB = 'command = "estimate"\nperturb = "gaussian:1"\nproperty = "true"\neach = 0.3\n'


def study(name, more, text=PERTURB):
    return f'[[study]]\nname = "{name}"\n{text}{more}\n'


@pytest.fixture(autouse=True)
def folder(cwd, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (cwd / "models.py").write_text(MODELS)
    rows = np.tile([-ndtri(0.05), 0.001], (60, 1)).astype(np.float32)
    rows[:, 1] += 1e-6 * np.arange(60)  # no copies
    np.savez(cwd / "test.npz", x=rows, y=np.ones(60, int))
    np.savez(cwd / "few.npz", x=rows[:4], y=np.ones(4, int))
    return cwd


def write_others():
    """Other inputs of the same kind."""
    rows = np.tile([-ndtri(0.05), 0.0011], (80, 1)).astype(np.float32)
    np.savez("other.npz", x=rows, y=np.ones(80, int))


def write(*studies):
    Path("surefoot.toml").write_text("\n".join([DEFAULTS, *studies]))


def run(*studies, words=()):
    write(*studies)
    return in_shell("run", *words)


def test_a_line_for_each_requirement_one_exit_code_and_nothing_is_run_twice(folder, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    studies = (
        study("kept_well", "require = 0.7"),
        study("too.strict", "require = 0.9\nmodel = 'models.py:bad'"),
        study("open", "require = 0.95\nrequire-each = 0.5"),
        study("no requirement", "first = 5"),
    )
    first = run(*studies, words=["--junit", "junit.xml"])
    every = first.stdout.splitlines()
    lines = [line for line in every if not line.startswith("  ")]
    notes = [line for line in every if line not in lines]
    assert all("Note: " in line for line in notes)
    assert sum("bounds" in line for line in notes) == 4  # of each study: its values have none
    assert len(notes) == 5  # the one that is open is a later run of the first one's question
    case = ElementTree.parse(folder / "junit.xml").getroot().find(".//testcase")
    assert "Note: " in case.find("system-out").text
    assert [line.split()[0] for line in lines[:5]] == [
        "PASS", "FAIL", "UNDECIDED", "PASS", "measured",
    ]  # fmt: skip
    assert lines[-1].startswith("4 studies, 4 verdicts: 2 PASS, 1 FAIL, 1 UNDECIDED. ")
    assert "0.08 (each 0.02)" in lines[-1]
    assert first.return_value == 1
    root = ElementTree.parse(folder / "junit.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("5", "2")
    measured = lines[1][lines[1].index("Measured: ") :]
    assert re.match(r"Measured: [45].* % \(4.* % to 5.* %, confidence 98 %\): ", measured)
    assert measured in root.findall(".//failure")[0].get("message")
    assert "Measured: " in lines[0] and "Measured: " in lines[2]
    with reading("surefoot.db") as store:
        named = [line.study for line in store.listing().lines()]
    assert named == ["kept_well", "too.strict", "open", "no requirement"]
    summary = Path("summary.md").read_text()
    assert "| **PASS** | kept\\_well | accuracy on inputs of" in summary

    again = run(*studies, words=["--junit", "other.xml", "--undecided", "skip"])
    assert [line.removesuffix(" [recorded earlier]") for line in again.stdout.splitlines()] == (
        [*every[:-1], again.stdout.splitlines()[-1]]
    )
    assert again.stdout.count("[recorded earlier]") == 5
    assert again.stdout.endswith("All of it was recorded earlier: no trial was run.\n")
    assert ElementTree.parse(folder / "other.xml").getroot().get("skipped") == "1"

    one = run(*studies, words=["--only", "open", "--json"])
    data = json.loads(one.stdout)
    assert (one.return_value, data["outcome"]) == (2, "UNDECIDED")
    assert [s["name"] for s in data["studies"]] == ["open"]
    assert data["studies"][0]["recorded"]  # at the same share of the error as with all
    assert sf.run_studies(only=["kept_well"]).exit_code == 0


def test_an_error_in_one_study_keeps_no_other_from_running_and_wins(folder, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    done = run(
        study("broken", "require = 0.7\nmodel = 'models.py:broken'"),
        study("bad", "require = 0.9\nmodel = 'models.py:bad'\nreport = 'page.html'"),
        words=["--junit", "junit.xml"],
    )
    error, refuted, note, last = done.stdout.splitlines()
    assert error.split()[:2] == ["ERROR", "broken:"] and "a | b" in error
    assert refuted.split()[:2] == ["FAIL", "bad:"] and "Note: " in note
    assert "1 FAIL, 1 study with an error." in last
    assert done.return_value == 3
    assert "share an error of 0.08 (each 0.04)" in Path("page.html").read_text()
    assert ElementTree.parse(folder / "junit.xml").getroot().get("errors") == "1"
    row = next(row for row in Path("summary.md").read_text().splitlines() if "broken" in row)
    assert "a \\| b" in row
    assert "<" not in row


def test_no_trial_is_run_where_one_study_cannot_be(folder):
    done = run(
        study("fine", "require = 0.7"),
        study("nowhere", "perturb = 'nowhere:1'", PERTURB.replace('perturb = "gaussian:1"\n', "")),
        study("much", "first = 5\nrequire = 90"),
        study("class", "require-each = { stop = 0.9 }"),
    )
    assert isinstance(done.exception, InvalidArgument)
    named = re.findall(r"study (\w+): ", str(done.exception))  # all of them, the sound one apart
    assert named == ["nowhere", "much", "class"]
    assert not Path("surefoot.db").exists()


def verdicts(done):
    assert done.exception is None, done.exception
    return [(s["outcome"], [r["sentence"] for r in s["requirements"]]) for s in json.loads(
        done.stdout)["studies"]]  # fmt: skip


def test_a_model_is_compared_with_an_earlier_one_on_the_same_trials(folder):
    worse = study("worse", "model = 'models.py:bad'\nprevious-model = 'models.py:good'")
    same = study("same", "previous-model = 'models.py:good'\nmargin = 0")
    better = study("better", "model = 'models.py:good'\nprevious-model = 'models.py:bad'")
    few = study("few", "data = 'few.npz'\nprevious-model = 'models.py:bad'\nmargin = 0.01")
    outcomes = verdicts(run(worse, same, better, few, words=["--json"]))
    assert [o for o, _ in outcomes] == ["FAIL", "UNDECIDED", "PASS", "UNDECIDED"]
    sentence = outcomes[0][1][0]
    assert "models.py:bad is over 1 point less accurate than models.py:good" in sentence
    assert "confidence 98 %" in sentence


def test_a_model_is_compared_with_the_evidence_of_an_earlier_one(folder):
    noise = study("noise", "require = 0.7")
    done = run(noise, words=["--evidence", "old"])
    assert done.return_value == 0
    newer = study(
        "noise", "model = 'models.py:bad'\neach = 0.4", PERTURB.replace("each = 0.3\n", "")
    )
    against = ["--not-worse-than", "old/noise.evidence.json", "--margin", "0.1", "--json"]
    (outcome, sentences), = verdicts(run(newer, words=against))  # fmt: skip
    assert outcome == "FAIL"
    assert "less accurate than models.py:good of noise.evidence.json" in sentences[0]
    (same, _), = verdicts(run(study("noise", ""), words=against))  # fmt: skip
    assert same == "PASS"

    other = run(study("noise", "", PERTURB.replace("gaussian:1", "gaussian:0.9")), words=against)
    (error,) = json.loads(other.stdout)["studies"]
    assert error["outcome"] == "ERROR"
    assert "was measured with another perturbation" in error["message"]
    unknown = statement_of("old/noise.evidence.json")
    told = unknown["predicate"]
    told["study"]["method"]["kind"] = "mine.Method"
    spec = {name: value for name, value in told["study"].items() if name != "words"}
    told["run"] = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()
    write_evidence(Path("unknown.json"), unknown)
    renamed = run(newer, words=["--not-worse-than", "unknown.json"])
    assert "its results were not recomputed" in str(renamed.exception)
    envelope = json.loads(Path("old/noise.evidence.json").read_text())
    envelope["payload"] = envelope["payload"][:-8]
    Path("old/noise.evidence.json").write_text(json.dumps(envelope))
    damaged = run(newer, words=against)
    assert "was not run: study noise: old/noise.evidence.json" in str(damaged.exception)


def test_an_earlier_run_on_other_inputs_is_compared_by_what_both_are_about(folder):
    noise = study("noise", "")
    run(noise, words=["--evidence", "old"])
    against = ["--not-worse-than", "old/noise.evidence.json", "--margin", "0.2", "--json"]
    (outcome, [said]), = verdicts(run(study("noise", "first = 40"), words=against))  # fmt: skip
    assert outcome == "PASS"
    assert said.endswith("; compared on the 40 inputs that both runs have.")
    worse = study("noise", "model = 'models.py:bad'\ndata = 'other.npz'")
    write_others()
    (outcome, [said]), = verdicts(run(worse, words=against))  # fmt: skip
    assert outcome == "FAIL"
    assert said.endswith("and the inputs of both runs stand for the same population.")


def test_nothing_is_required_of_an_earlier_model(folder):
    more = "require = 0.7\nprevious-model = 'models.py:bad'"
    assert run(study("noise", more)).return_value == 0
    new, old = sorted(
        (sf.read_result("surefoot.db", one.digest).record for one in sf.runs("surefoot.db")),
        key=lambda one: one.required is None,
    )
    assert (len(new.verdicts), old.required, old.verdicts) == (2, None, ())


CURVE = 'command = "curve"\nperturb = "gaussian:0..1"\nresolution = 0.3\nfixed-draws = true\n'


def test_curves_are_compared_by_their_intervals_with_the_errors_of_both(folder):
    curve = study("c", "threshold = 0.7\nrequire = 0.5", CURVE)
    worse = study("w", "threshold = 0.7\nmodel = 'models.py:bad'", CURVE)
    before = ["--previous-model", "models.py:good", "--json"]
    (first, sentences), (second, [refuted]) = verdicts(run(curve, worse, words=before))
    assert (first, second) == ("PASS", "FAIL")
    assert "(confidence 98.66 %)" in sentences[0] and "(confidence 97.33 %)" in sentences[1]
    assert "at a share of the levels of gaussian from 0 to 1 that is more than 1 points" in refuted
    measured = run(worse, words=before[:2]).stdout  # of each model what is compared, not the level
    assert measured.count("share of the levels of gaussian from 0 to 1, around the clean one") == 2

    run(curve, words=["--evidence", "old"])
    against = ["--not-worse-than", "old/c.evidence.json"]
    refusal = str(run(curve, words=against).exception)
    assert "is wrong with probability up to 0.08 and that of this curve with 0.02" in refusal
    stated = study("c", "threshold = 0.7\nconfidence = 0.99", CURVE)
    run(stated, words=["--evidence", "old"])
    (outcome, [said]), = verdicts(run(stated, words=[*against, "--json"]))  # fmt: skip
    assert outcome == "PASS" and "(confidence 98 %)" in said
    few = study("c", "threshold = 0.7\nconfidence = 0.99\nfirst = 40", CURVE)
    (error,) = json.loads(run(few, words=[*against, "--json"]).stdout)["studies"]
    assert "a curve is about its own inputs alone" in error["message"]


def test_the_verdicts_of_every_kind_of_study_spend_no_more_than_the_file_has(folder):
    """Each verdict states the error it holds with, and these add up."""
    tested = 'perturb = "gaussian:1"\nproperty = "true"\n'
    more = "require = 0.5\nrequire-each = 0.3\nprevious-model = 'models.py:good'\nfirst = 9"
    models = "model = ['models.py:good', 'models.py:bad']"
    curve = "perturb = ['gaussian:0..1', 'linf:0..1']\nthreshold = [0.9, 0.3]\nresolution = 0.3\n"
    write(
        *(study(f"mean {i}", more) for i in range(2)),
        study("rare", "kappa = 0.3\nrequire = 0.1\nrequire-these = 0.5",
              f'command = "certify"\n{tested}'),
        study("tail", "property = 'true'\ndraws = 20\nrequire = 0.5\nprevious-model = "
              "'models.py:good'", 'command = "tail"\nperturb = "gaussian:1"\n'),
        study("models", f"{models}\nnot-worse = 0.5", PERTURB.replace("estimate", "compare")),
        study("curves", f"require = 0.1\n{models}", f'command = "curve"\n{curve}'),
        study("precise", "precision = 0.2\nrequire = 0.5\nconfidence = 0.99",
              f'command = "estimate"\n{tested}'),
    )  # fmt: skip
    outcome = sf.run_studies()
    assert outcome.gate.requirements == 13
    missed = study("few", "precision = 0.01\nabout = 'population'\nrequire = 0.1\nfirst = 9",
                   f'command = "estimate"\n{tested}')  # fmt: skip
    said = run(missed, words=["--junit", "few.xml"]).stdout.splitlines()[1]
    assert said.lstrip(" -").startswith("Note: ± 0.01 is not reached: 9 inputs allow")
    assert "Note: ± 0.01 is not reached" in Path("few.xml").read_text()
    nobody_asked = study("usual", "about = 'population'\nrequire = 0.1\nfirst = 9",
                         f'command = "estimate"\n{tested}')  # fmt: skip
    assert "is not reached" not in run(nobody_asked).stdout
    for one in outcome.studies:  # the command of each, typed, is the same run
        assert "surefoot.toml" not in one.result.command
        again = in_shell(*shlex.split(one.result.command)[1:])
        assert "was already finished" in again.stderr, (one.result.command, again.exception)
        assert again.return_value == one.result.exit_code or one.name[:4] in ("mean", "tail")
    spent = {}
    for one in outcome.studies:
        assert one.outcome is not Outcome.ERROR, one.message
        errors = [v.claim.guarantee.error for v in one.verdicts if v.outcome is not UNDECIDED]
        joint = one.name == "curves"  # whose verdicts state the error of all of them
        spent[one.name] = max(errors) if joint else sum(errors)
    assert spent["precise"] == 0.01
    assert 0.04 < sum(spent.values()) <= outcome.gate.error == 0.08


@pytest.mark.parametrize(
    "junit",
    ["surefoot.toml", "test.npz", "models.py", "surefoot.db", "ev/noise.evidence.json",
     "ev/noise-a.evidence.json"],
)  # fmt: skip
def test_test_cases_replace_no_file_of_the_studies(folder, junit):
    noise = study("noise", "require = 0.7")
    done = run(noise, words=["--junit", junit, "--evidence", "ev"])
    assert isinstance(done.exception, InvalidArgument), done.exception
    assert not (folder / "surefoot.db").exists()
    assert "noise" in (folder / "surefoot.toml").read_text()


def test_pages_and_figures_of_studies_replace_no_file_of_another(folder):
    (folder / "link.html").symlink_to("surefoot.toml")
    for page in ("link.html", "a.html"):
        first = study("one", "report = 'a.html'\nstore = 'other.db'")
        done = run(first, study("two", f"report = '{page}'"))
        assert "is the same file as" in str(done.exception)
    assert [p.suffix for p in folder.iterdir() if p.suffix in (".db", ".html")] == [".html"]
    done = run(study("one", "first = 5\nreport = 'a.html'"))
    assert run(study("one", "first = 5\nreport = 'a.html'")).return_value == done.return_value == 0


def test_evidence_is_said_to_be_written_where_it_is(folder):
    done = run(study("noise", "model = 'models.py:broken'"), words=["--evidence", "ev"])
    assert done.return_value == 3
    assert "no evidence was written\n" in done.stderr
    assert not (folder / "ev").exists()


def test_a_summary_that_nobody_reads_holds_nothing_up(folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "pipe"))
    done = run(study("noise", "first = 5"))
    assert done.return_value == 0
    assert "pipe cannot be written" in done.stderr


BAD = "model = 'models.py:bad'\n"
BEFORE = "previous-model = 'models.py:good'"
WORSE = "models.py:bad is over 1 point less accurate than models.py:good"
TESTED = 'perturb = "gaussian:1"\nproperty = "true"\n'


def evidence_of(*studies, words=()):
    done = run(*studies, words=["--evidence", "new", *words])
    assert done.exception is None, done.exception
    return done.return_value


def latest(path="latest.json"):
    done_in_shell("evidence", "latest", "-o", path)
    return sf.check_evidence(path)


def test_a_refuted_comparison_is_in_the_evidence_beside_a_passed_requirement():
    required = f"{BAD}require = 0.1\nconfidence = 0.97\n"
    evidence_of(study("n", required))  # the studied model is recorded before the earlier one
    assert evidence_of(study("n", required + BEFORE)) == 1
    check = sf.check_evidence("new/n.evidence.json")
    assert check.exit_code == 0
    assert [one.subject.split(":")[0] for one in check.verdicts] == ["PASS", "FAIL"]
    assert check.conclusion.startswith(
        "Recomputed from the recorded trials of an unsigned file: all "
    )
    assert (
        f"so are 2 verdicts. The file itself says that 1 of 2 verdicts is not PASS: FAIL: {WORSE}"
        in check.conclusion
    )
    assert str(check).splitlines()[0] == check.conclusion
    assert json.loads(check.to_json())["unmet"] == list(check.unmet)
    assert latest().unmet == check.unmet
    assert sf.read_result("surefoot.db").record.source.model == "models.py:bad"


def test_the_gate_on_the_next_model_leaves_the_verdict_of_the_earlier_one():
    evidence_of(study("n", "require = 0.7\nconfidence = 0.97"))
    before = sf.read_result("surefoot.db").record
    assert "--require 0.7" in before.source.command
    evidence_of(study("n", f"{BAD}{BEFORE}\nconfidence = 0.97"))
    assert sf.read_result("surefoot.db").record.source.model == "models.py:bad"
    kept = sf.read_result("surefoot.db", before.digest).record
    assert (kept.required, kept.verdicts) == (before.required, before.verdicts)
    assert kept.source == before.source
    sf.write_evidence(before.digest, "kept.json", store="surefoot.db")
    assert [one.subject[:4] for one in sf.check_evidence("kept.json").verdicts] == ["PASS"]
    evidence_of(study("n", "confidence = 0.97"))  # the gate requires nothing of it now
    evidence = statement_of(Path("new/n.evidence.json"))["predicate"]
    assert (evidence["required"], evidence["verdicts"]) == (None, [])
    assert "--require" not in sf.check_evidence("new/n.evidence.json").about[-1]


def test_a_comparison_leaves_what_was_required_of_it_and_of_its_parts():
    options = {"each": 0.3, "store": "surefoot.db"}
    sf.estimate("models.py:good", "test.npz", "linf:1", require=0.7, **options)
    alone = sf.read_result("surefoot.db").record
    words = (["models.py:good", "models.py:bad"], "test.npz", "linf:1")
    sf.compare(*words, not_worse=0.1, **options)
    both = sf.read_result("surefoot.db").record
    assert both.verdicts
    sf.compare(*words, **options)
    assert sf.read_result("surefoot.db", both.digest).record == both
    assert sf.read_result("surefoot.db", alone.digest).record == alone
    sf.compare(*words, attack=True, **options)  # adds to the records of the parts
    kept = sf.read_result("surefoot.db", alone.digest).record
    assert kept.details.attack is not None
    assert (kept.required, kept.verdicts) == (alone.required, alone.verdicts)
    sf.write_evidence(alone.digest, "kept.json", store="surefoot.db")


def test_a_verdict_on_an_earlier_model_cannot_be_forged_or_dropped():
    evidence_of(study("n", BAD + BEFORE))
    path = Path("new/n.evidence.json")
    honest = statement_of(path)
    assert honest["predicate"]["verdicts"][0]["requirement"]["verdict"] == "FAIL"
    assert "Nothing was required" not in sf.check_evidence(path).explain()

    def changed(change):
        stated = json.loads(json.dumps(honest))
        change(stated["predicate"])
        return write_evidence(Path("forged.json"), stated)

    forgeries = (
        lambda stated: stated["verdicts"][0]["requirement"].update(verdict="PASS"),
        lambda stated: stated["verdicts"].clear(),
        lambda stated: stated.update(required=None),
        lambda stated: stated["required"]["earlier"].update(margin=0.9),
        lambda stated: stated["required"]["earlier"].update(error=0.5),
        lambda stated: stated["required"]["earlier"].update(run="0" * 64),
        lambda stated: stated["required"]["earlier"].update(names=["a", "a"]),
        lambda stated: stated["earlier"]["claims"].pop(),
        lambda stated: stated["earlier"].update(earlier=honest["predicate"]["earlier"]),
        lambda stated: stated["earlier"].update(required=stated["required"]),
        lambda stated: (stated.update(earlier=None), stated["verdicts"].clear()),
    )
    assert exit_code(changed(lambda _: None)) == 0
    for number, change in enumerate(forgeries):
        assert exit_code(changed(change)) in (1, 3), number


def test_the_file_of_an_earlier_run_is_carried_in_and_named_where_it_is_missing():
    run(study("n", "require = 0.7"), words=["--evidence", "old"])
    against = ["--not-worse-than", "old/n.evidence.json"]
    assert evidence_of(study("n", BAD), words=against) == 1
    check = sf.check_evidence("new/n.evidence.json")
    assert (check.exit_code, len(check.verdicts)) == (0, 1)
    assert (
        f"The file itself says that the verdict is not PASS: FAIL: {WORSE} of n.evidence.json"
        in check.conclusion
    )
    again = sf.check_evidence(
        "new/n.evidence.json", model=["models.py:bad", "models.py:good"], data="test.npz", seed=1
    )
    assert again.exit_code == 0, str(again)
    assert evidence_of(study("m", BAD), words=["--not-worse-than", "m=new/n.evidence.json"]) == 2

    Path("surefoot.db").rename("old.db")  # a store without the earlier run
    assert evidence_of(study("n", BAD), words=against) == 1
    assert sf.check_evidence("new/n.evidence.json").exit_code == 0
    alone = latest()
    assert alone.exit_code == 2
    assert [one.status for one in alone.verdicts] == [Status.OPEN]
    assert "is not in this file: so it was decided where both runs were" in str(alone)
    assert alone.conclusion.startswith(
        "Undecided: 5 of 5 claims of an unsigned file were recomputed"
    )
    assert f"FAIL: {WORSE}" in alone.conclusion


def test_an_earlier_run_on_other_inputs_is_not_taken_for_forged_where_trials_are_run_again():
    run(study("n", ""), words=["--evidence", "old"])
    write_others()
    other = study("n", BAD + "data = 'other.npz'")
    assert evidence_of(other, words=["--not-worse-than", "old/n.evidence.json"]) == 1
    path = "new/n.evidence.json"
    assert sf.check_evidence(path).exit_code == 0
    check = sf.check_evidence(path, model="models.py:bad", data="other.npz", seed=1)
    assert check.exit_code == 2
    assert "it was run on other inputs than these" in check.explain()
    assert again_command(path)[3:] == ["--model", "models.py:bad", "--data", "other.npz"]


def again_command(path):
    """What a check says to type for running trials again."""
    said = next(line for line in sf.check_evidence(path).not_covered if "some again: " in line)
    words = said.split("some again: ")[1].split(" (")[0].removesuffix(".")
    return [path if word == "FILE" else word for word in shlex.split(words)]


def test_the_printed_command_runs_both_models_again_and_wrong_data_are_named_once():
    evidence_of(study("n", f"{BAD}{BEFORE}\ntrust = true"))
    path = "new/n.evidence.json"
    assert "(with --trust" in sf.check_evidence(path).explain()
    command = again_command(path)
    assert "--trust" not in command
    done = in_shell(*command[1:])
    assert done.return_value == 0, done.stdout
    np.savez("other.npz", x=np.zeros((60, 2), np.float32), y=np.ones(60, int))
    wrong = [*command[1 : command.index("--data")], "--data", "other.npz"]
    done = in_shell(*wrong)
    assert done.return_value == 1
    assert done.stdout.count("No: these are not the inputs of the run") == 1


def test_every_kind_of_study_has_one_file_with_all_its_verdicts():
    two = "model = ['models.py:bad', 'models.py:good']\n"
    studies = {
        "models": (two + "not-worse = 0.1", PERTURB.replace("estimate", "compare"), 1),
        "levels": ("levels = '0.5,1'", 'command = "estimate"\nproperty = "true"\nperturb = '
                   '"gaussian:1"\neach = 0.3\n', 0),
        "curves": (two + "threshold = 0.7\nrequire = 0.5", CURVE, 2),
        "curve": (f"{BAD}threshold = 0.7\n{BEFORE}", CURVE, 1),
        "share": (f"{BAD}kappa = 0.3\n{BEFORE}", f'command = "certify"\n{TESTED}', 1),
        "tail": (f"{BAD}property = 'true'\ndraws = 20\n{BEFORE}",
                 'command = "tail"\nperturb = "gaussian:1"\n', 1),
    }  # fmt: skip
    done = run(*(study(name, *one[:2]) for name, one in studies.items()),
               words=["--evidence", "new", "--json"])  # fmt: skip
    assert sorted(p.name for p in Path("new").iterdir()) == sorted(
        f"{name}.evidence.json" for name in studies
    )
    for one in json.loads(done.stdout)["studies"]:
        check = sf.check_evidence(f"new/{one['name']}.evidence.json")
        assert check.exit_code == 0, str(check)
        assert len(check.verdicts) == len(one["requirements"]) == studies[one["name"]][2]
        said = [r["sentence"] for r in one["requirements"]]
        assert [v.subject for v in check.verdicts] == said
        unmet = [text for text in said if not text.startswith("PASS")]
        brief, exact = ([text.partition(", if ")[0] for text in t] for t in (check.unmet, unmet))
        assert sorted(brief) == sorted(exact)  # assumptions are in a few words


def margins(outcome):
    return [f.finding for f in outcome.record.findings if f.name == "margins"]


def test_the_output_says_that_margins_add_up_from_release_to_release():
    """Of runs in a store, of an evidence file, of comparisons; not against a fixed baseline."""
    releases = [
        f"def {name}(batch):\n    return good(batch)" for name in ("first", "second", "third")
    ]
    Path("models.py").write_text("\n\n".join([Path("models.py").read_text(), *releases]))

    def gate(model, *words):
        write(study("n", f"model = 'models.py:{model}'\nmargin = 0.3\n"))
        choice = dict(zip(("previous_model", "not_worse_than"), words, strict=False))
        return sf.run_studies("surefoot.toml", evidence=model, **choice).studies[0]

    assert not margins(gate("first", "models.py:good").result)
    assert not margins(gate("second", "models.py:good").result), "a fixed baseline"
    assert not margins(gate("good", "models.py:first").result), "back again is no chain"
    chained = gate("second", "models.py:first")
    assert margins(chained.result)[0].startswith(
        "models.py:first was itself allowed to be worse than models.py:good: 2 margins add up to "
        "0.6; "
    )
    assert any("2 margins add up" in line for line in chained.cautions)
    assert "3 margins add up to 0.9" in margins(gate("third", "models.py:second").result)[0]
    assert margins(sf.read_result("surefoot.db")), "kept with what was required"
    Path("surefoot.db").unlink()
    by_file = gate("third", None, "second/n.evidence.json")
    assert "2 margins add up to 0.6" in margins(by_file.result)[0]
    compared = {"each": 0.3, "property": "true", "store": "c.db", "workers": 1, "not_worse": 0.1}
    pairs = [["models.py:first", "models.py:good"], ["models.py:second", "models.py:first"]]
    notes = [margins(sf.compare(p, "test.npz", "gaussian:1", **compared)) for p in pairs * 2]
    assert [len(note) for note in notes] == [0, 1, 0, 1]
    listed = {run.digest: run.trials for run in sf.runs("c.db")}
    compared = sf.read_result("c.db")
    parts = [part.record.digest for part in compared.parts.values()]
    assert listed[compared.record.digest] == sum(listed[part] for part in parts) > 0
