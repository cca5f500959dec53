"""What a user types, and what comes back on stdout, on stderr and as exit code."""

import json
import re

import numpy as np

import surefoot as sf
from surefoot.statistics.planning import simulate_trials

QUICK = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:32/255", "--each", "0.2")


def test_estimate_prints_the_claim_and_keeps_stdout_clean(workspace):
    done = workspace.succeed(*QUICK, "--confidence", "0.95", "--report", "report.html")
    headline, *others = done.stdout.splitlines()
    assert re.search(r"[\d.]+ % \([\d.]+ % to [\d.]+ %, confidence 95 %\)", headline)
    assert others[-1].startswith("next: ")
    assert len(done.stdout.split()) < 90
    in_full = workspace.succeed(*QUICK, "--explain").stdout
    assert {"Assumptions", "What was run"} <= set(in_full.splitlines())
    assert "evidence in surefoot.db" in done.stderr
    assert "measuring" not in done.stdout
    assert {"surefoot.db", "report.html"} <= workspace.files()
    assert not any(name.endswith(("-wal", "-shm", ".tmp")) for name in workspace.files())


def test_json_is_one_object_with_the_guarantee(workspace):
    done = workspace.run(*QUICK, "--json", "--first", "5", "--require", "0.01")
    output = json.loads(done.stdout)
    whole = next(c for c in output["claims"] if c["kind"] == "accuracy_population")
    assert whole["guarantee"]["footing"] == "conditional"
    assert whole["guarantee"]["assumptions"]
    assert set(whole["interval"]) == {"low", "high"}
    assert all(claim["sentence"].endswith(".") for claim in output["claims"])
    assert len(output["inputs"]) == 5
    (required,) = output["verdicts"]
    assert required["verdict"] == {0: "PASS", 2: "UNDECIDED"}[done.returncode]
    assert required["requirement"] == 0.01
    assert required["sentence"].startswith(required["verdict"])
    assert all(row["result"]["guarantee"]["footing"] == "sound" for row in output["inputs"])


def test_doctor_exits_with_three_when_something_is_bad(workspace):
    """1 is kept for a requirement that is refuted."""
    workspace.save("test.npz", x=workspace.x[:40], y=workspace.y[:40] + 50)
    done = workspace.run("doctor", "model.onnx", "test.npz")
    assert done.returncode == 3
    assert "BAD" in done.stdout
    assert "labels must be below 10" in done.stdout


def test_show_report_and_replay_read_the_store(workspace):
    first = workspace.run(*QUICK, "--json")
    record = json.loads(first.stdout)
    listed = workspace.run("show", "--list")
    assert record["digest"][:12] in listed.stdout
    row = next(line for line in listed.stdout.splitlines() if record["digest"][:12] in line)
    assert all(
        cell in row for cell in ("finished", "estimate", "model.onnx", "test.npz", "linf:32/255")
    )
    (listed_run,) = json.loads(workspace.run("show", "--list", "--json").stdout)
    assert listed_run["command"].startswith("surefoot estimate model.onnx test.npz")
    shown = workspace.run("show", record["digest"][:8], "--json")
    assert json.loads(shown.stdout)["claims"] == record["claims"]
    assert workspace.run("report", "--out", "page.html").returncode == 0
    page = (workspace.folder / "page.html").read_text()
    example = record["details"]["examples"][0]
    words = ("replay", record["digest"][:12], example["id"], str(example["trial"]))
    assert f"surefoot {' '.join(words)}" in page
    output = json.loads(workspace.run(*words, "--json", "--save", "failed.png").stdout)
    assert output["kept"] is False
    assert output["perturbed"] == example["failed_class"]
    assert (workspace.folder / "failed.png").read_bytes().startswith(b"\x89PNG")


def test_replay_refuses_a_model_that_has_changed(workspace):
    record = json.loads(workspace.run(*QUICK, "--json", "--first", "4").stdout)
    model = workspace.folder / "model.onnx"
    with np.load(workspace.folder / "test.npz") as stored:
        x, y = stored["x"].copy(), stored["y"]
    x[0, 0, 0] += 1
    workspace.save("test.npz", x=x, y=y)
    done = workspace.run("replay", record["digest"][:12], record["inputs"][0]["id"], "0")
    assert done.returncode == 3
    assert "the digests differ" in done.stderr
    assert model.exists()


def test_selection_and_names_reach_the_result(workspace):
    names = "shirt,trouser," + ",".join(f"kind {i}" for i in range(2, 10))
    chosen = ("--classes", "0,1", "--random", "6", "--correct-only", "--class-names", names)
    done = workspace.succeed(*QUICK, *chosen, "--json")
    record = json.loads(done.stdout)
    said = record["spec"]["inputs"]["selection"]
    assert "classes shirt, trouser" in said
    assert "drawn at random (seed 1)" in said
    assert "classifies correctly" in said
    assert {row["name"] for row in record["details"]["classes"]} <= {"shirt", "trouser"}
    assert all(row["label"] == row["predicted"] for row in record["inputs"])


def test_plan_tells_trials_and_time_and_keeps_nothing(workspace):
    before = workspace.files()
    plan = ("plan", "model.onnx", "test.npz", "--perturb", "linf:8/255")
    both = workspace.run(*plan, "--each", "0.1", "--kappa", "0.1")
    assert both.returncode == 3
    assert "either each (--each) or precision (--precision)" in both.stderr
    done = workspace.succeed(*plan, "--json", "--confidence", "0.99", "--each", "0.02")
    output = json.loads(done.stdout)
    assert output["inputs"] == 40
    assert output["rate"] > 0
    by_p = {row["p"]: row for row in output["rehearsals"]}
    assert by_p[1.0]["mean"] == 361
    assert by_p[0.5]["mean"] > 4000
    shown = workspace.run(*plan, "--kappa", "1e-2", "--confidence", "0.95", "--assume", "1,0.99")
    clean = simulate_trials(sf.methods.KappaTest(1e-2, 0.05, 20_000), 1.0).mean
    assert 299 <= clean <= 330  # between ln(20)/kappa and 1.1 times that
    assert f"{clean:.0f}" in shown.stdout
    assert "concluded" in shown.stdout
    assert workspace.files() == before
