"""The evidence that a gate writes says what the gate said: no verdict is left out of it."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.evidence.answers import Status
from tests.unit.test_evidence_file import exit_code, statement_of, write
from tests.unit.test_gate_run import CURVE, PERTURB, folder, run, study  # noqa: F401
from tests.unit.test_gate_run import write as write_studies

BAD = "model = 'models.py:bad'\n"
BEFORE = "previous-model = 'models.py:good'"
WORSE = "models.py:bad is over 1 point less accurate than models.py:good"
TESTED = 'perturb = "gaussian:1"\nproperty = "true"\n'


def evidence_of(*studies, words=()):
    done = run(*studies, words=["--evidence", "new", *words])
    assert done.exception is None, done.exception
    return done.return_value


def latest(path="latest.json"):
    done = CliRunner().invoke(app, ["evidence", "latest", "-o", path], standalone_mode=False)
    assert done.exception is None, done.exception
    return sf.check_evidence(path)


@pytest.mark.usefixtures("folder")
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
    assert f"so are 2 verdicts. But 1 of 2 verdicts is not PASS: FAIL: {WORSE}" in check.conclusion
    assert str(check).splitlines()[0] == check.conclusion
    assert json.loads(check.to_json())["unmet"] == list(check.unmet)
    assert latest().unmet == check.unmet
    assert sf.read_result("surefoot.db").record.source.model == "models.py:bad"


@pytest.mark.usefixtures("folder")
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


@pytest.mark.usefixtures("folder")
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


@pytest.mark.usefixtures("folder")
def test_a_verdict_on_an_earlier_model_cannot_be_forged_or_dropped():
    evidence_of(study("n", BAD + BEFORE))
    path = Path("new/n.evidence.json")
    honest = statement_of(path)
    assert honest["predicate"]["verdicts"][0]["requirement"]["verdict"] == "FAIL"
    assert "Nothing was required" not in sf.check_evidence(path).explain()

    def changed(change):
        stated = json.loads(json.dumps(honest))
        change(stated["predicate"])
        return write(Path("forged.json"), stated)

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


@pytest.mark.usefixtures("folder")
def test_the_file_of_an_earlier_run_is_carried_in_and_named_where_it_is_missing():
    run(study("n", "require = 0.7"), words=["--evidence", "old"])
    against = ["--not-worse-than", "old/n.evidence.json"]
    assert evidence_of(study("n", BAD), words=against) == 1
    check = sf.check_evidence("new/n.evidence.json")
    assert (check.exit_code, len(check.verdicts)) == (0, 1)
    assert f"But the verdict is not PASS: FAIL: {WORSE} of n.evidence.json" in check.conclusion
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


@pytest.mark.usefixtures("folder")
def test_an_earlier_run_on_other_inputs_is_not_taken_for_forged_where_trials_are_run_again():
    run(study("n", ""), words=["--evidence", "old"])
    rows = np.tile([-ndtri(0.05), 0.0011], (80, 1)).astype(np.float32)
    np.savez("other.npz", x=rows, y=np.ones(80, int))
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


@pytest.mark.usefixtures("folder")
def test_the_printed_command_runs_both_models_again_and_wrong_data_are_named_once():
    evidence_of(study("n", f"{BAD}{BEFORE}\ntrust = true"))
    path = "new/n.evidence.json"
    assert "(with --trust" in sf.check_evidence(path).explain()
    command = again_command(path)
    assert "--trust" not in command
    done = CliRunner().invoke(app, command[1:], standalone_mode=False)
    assert done.return_value == 0, done.stdout
    np.savez("other.npz", x=np.zeros((60, 2), np.float32), y=np.ones(60, int))
    wrong = [*command[1 : command.index("--data")], "--data", "other.npz"]
    done = CliRunner().invoke(app, wrong, standalone_mode=False)
    assert done.return_value == 1
    assert done.stdout.count("No: these are not the inputs of the run") == 1


@pytest.mark.usefixtures("folder")
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
        assert sorted(check.unmet) == sorted(unmet)


def margins(outcome):
    return [f.finding for f in outcome.record.findings if f.name == "margins"]


@pytest.mark.usefixtures("folder")
def test_the_output_says_that_margins_add_up_from_release_to_release():
    """Of runs in a store, of an evidence file, of comparisons; not against a fixed baseline."""
    releases = [
        f"def {name}(batch):\n    return good(batch)" for name in ("first", "second", "third")
    ]
    Path("models.py").write_text("\n\n".join([Path("models.py").read_text(), *releases]))

    def gate(model, *words):
        write_studies(study("n", f"model = 'models.py:{model}'\nmargin = 0.3\n"))
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
