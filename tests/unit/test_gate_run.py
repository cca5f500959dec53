"""The studies of a file are run together: lines, exit code, files, and what is not run again."""

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
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.errors import InvalidArgument
from surefoot.gate import Outcome
from surefoot.store import reading
from tests.unit.test_evidence_file import statement_of
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "models.py").write_text(MODELS)
    rows = np.tile([-ndtri(0.05), 0.001], (60, 1)).astype(np.float32)
    rows[:, 1] += 1e-6 * np.arange(60)  # no copies
    np.savez(tmp_path / "test.npz", x=rows, y=np.ones(60, int))
    np.savez(tmp_path / "few.npz", x=rows[:4], y=np.ones(4, int))
    return tmp_path


def write(*studies):
    Path("surefoot.toml").write_text("\n".join([DEFAULTS, *studies]))


def run(*studies, words=()):
    write(*studies)
    return CliRunner().invoke(app, ["run", *words], standalone_mode=False)


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
        "passed", "refuted", "undecided", "passed", "measured",
    ]  # fmt: skip
    assert lines[-1].startswith("4 studies, 4 verdicts: 2 passed, 1 refuted, 1 undecided. ")
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
    assert "| **passed** | kept\\_well | accuracy on inputs of" in summary

    again = run(*studies, words=["--junit", "other.xml", "--undecided", "skip"])
    assert [line.removesuffix(" [recorded earlier]") for line in again.stdout.splitlines()] == (
        [*every[:-1], again.stdout.splitlines()[-1]]
    )
    assert again.stdout.count("[recorded earlier]") == 5
    assert again.stdout.endswith("All of it was recorded earlier: no trial was run.\n")
    assert ElementTree.parse(folder / "other.xml").getroot().get("skipped") == "1"

    one = run(*studies, words=["--only", "open", "--json"])
    data = json.loads(one.stdout)
    assert (one.return_value, data["outcome"]) == (2, "undecided")
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
    assert error.split()[:2] == ["error", "broken:"] and "a | b" in error
    assert refuted.split()[:2] == ["refuted", "bad:"] and "Note: " in note
    assert "1 refuted, 1 study with an error." in last
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
    assert [o for o, _ in outcomes] == ["refuted", "undecided", "passed", "undecided"]
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
    assert outcome == "refuted"
    assert "less accurate than models.py:good of noise.evidence.json" in sentences[0]
    (same, _), = verdicts(run(study("noise", ""), words=against))  # fmt: skip
    assert same == "passed"

    other = run(study("noise", "", PERTURB.replace("gaussian:1", "gaussian:0.9")), words=against)
    (error,) = json.loads(other.stdout)["studies"]
    assert error["outcome"] == "error"
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
    assert outcome == "passed"
    assert said.endswith("; compared on the 40 inputs that both runs have.")
    worse = study("noise", "model = 'models.py:bad'\ndata = 'other.npz'")
    rows = np.tile([-ndtri(0.05), 0.0011], (80, 1)).astype(np.float32)
    np.savez("other.npz", x=rows, y=np.ones(80, int))
    (outcome, [said]), = verdicts(run(worse, words=against))  # fmt: skip
    assert outcome == "refuted"
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
    assert (first, second) == ("passed", "refuted")
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
    assert outcome == "passed" and "(confidence 98 %)" in said
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
    for one in outcome.studies:  # the command of each, typed, is the same run
        assert "surefoot.toml" not in one.result.command
        again = CliRunner().invoke(app, shlex.split(one.result.command)[1:], standalone_mode=False)
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
