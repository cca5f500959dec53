"""What a user types and what comes back, also with odd terminals, odd names and bad input."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from onnx import helper, save
from PIL import Image

import surefoot as sf
from surefoot.statistics.planning import simulate_trials
from tests.onnx_models import onnx_model
from tests.system.hold import SECONDS

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


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "30"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_any_terminal_gets_the_result(workspace, surroundings):
    spoken = surroundings.get("PYTHONIOENCODING", "utf-8")
    done = workspace.succeed(
        *QUICK, "--first", "4", env={**os.environ, **surroundings}, encoding=spoken
    )
    assert "ccuracy on these 4 inputs" in " ".join(done.stdout.split())


def test_the_package_runs_as_a_module(workspace):
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", "perturb", "fogg"], cwd=workspace.folder, text=True,
        capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 3
    assert "there is no perturbation 'fogg': do you mean fog?" in done.stderr


def test_a_image_with_an_undecodable_name(workspace):
    folder = workspace.folder / "images" / "0"
    folder.mkdir(parents=True)
    Image.fromarray(workspace.x[0]).save(os.fsencode(folder) + b"/\xff.png")
    workspace.succeed("estimate", "model.onnx", "images", "--perturb", "linf:0.1", "--each", "0.2")


@pytest.mark.parametrize(
    "words",
    [("--each", "1e-200"), ("--classes", "²"), ("--shape", "²"), ("--size", "²x²"),
     ("--confidence", "0.99999999999999"), ("--method", "fixed-size", "--each", "1e-6")],
)  # fmt: skip
def test_odd_numbers_are_refused_not_crashed_on(refusal, words):
    assert "a fault in surefoot" not in refusal(*QUICK, *words)


def test_what_the_preflight_wonders_about_is_said_with_the_result(workspace):
    workspace.save("raw.npz", x=workspace.x[:10].astype(np.float32), y=workspace.y[:10])
    words = ("--perturb", "linf:8/255", "--each", "0.2", "--report", "r.html")
    done = workspace.succeed("estimate", "model.onnx", "raw.npz", *words)
    assert "--scale 255" in done.stdout
    page = (workspace.folder / "r.html").read_text()
    assert "--scale 255 --bounds 0,1" in page
    assert "hardly a change" in done.stdout
    assert "hardly a change" in page


FILES = ("model.onnx", "test.npz")
OK = ("--perturb", "linf:8/255", "--each", "0.1", "--report", "report.html")
FINE = (*FILES, *OK)


def nan_model(path):
    """Zero over zero for every input."""
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("Sub", ["f", "f"], ["zero"]),
        helper.make_node("Div", ["zero", "zero"], ["y"]),
    ]
    save(onnx_model(nodes, [("x", ["n", 1, 28, 28])], [("y", ["n", 784])], {}), path)


PREPARE = {
    "corrupt": lambda d: (d.folder / "model.onnx").write_bytes(b"\x08\x07garbage"),
    "nan outputs": lambda d: nan_model(d.folder / "model.onnx"),
    "shape": lambda d: d.save("test.npz", x=d.x[:5, :20], y=d.y[:5]),
    "bounds": lambda d: d.save("test.npz", x=d.x[:5].astype(np.float32), y=d.y[:5]),
    "damaged npz": lambda d: (d.folder / "test.npz").write_bytes(b"PK\x03\x04 not a zip"),
    "": lambda d: None,
}

CASES = [  # one of each way to a refusal; what else is refused: the unit tests of each reader
    ("", ("nothing.onnx", "test.npz", *OK), "no model file nothing.onnx: check the path"),
    ("corrupt", FINE, "model.onnx cannot be read as an ONNX model"),
    ("nan outputs", FINE, "NaN"),
    ("shape", FINE, "takes inputs of shape (1, 28, 28), but test.npz holds (20, 28)"),
    ("bounds", (*FINE, "--bounds", "0,1"), "must lie within the bounds [0, 1], got 0 to 255"),
    ("damaged npz", FINE, "test.npz cannot be read"),
    ("", (*FILES, "--perturb", "linf:8"), "level must lie within [0, 1] for these bounds, got 8"),
    ("", (*FINE, "--store", "no/such/run.db"), "no folder"),
    ("", (*FINE, "--bathc", "3"), "No such option: --bathc (do you mean --batch?)"),
    ("", (*FINE, "--target", "y"), "No such option: --target (here it is --labels): try"),
    ("", ("model.onnx",), "Missing argument 'DATA'"),
    ("", ("no.such:function", "test.npz", *OK), "names nothing that can be imported"),
]  # fmt: skip


@pytest.mark.parametrize(("prepare", "words", "says"), CASES, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_sentence_and_exit_code_three(workspace, refusal, prepare, words, says):
    PREPARE[prepare](workspace)
    assert says in refusal("estimate", *words)


def run_limited(workspace, blocks, *words):
    """With a limit on file size in place of a full disk: the system refuses to write more."""
    limited = f"ulimit -f {blocks}; trap '' XFSZ; exec surefoot {' '.join(words)}"
    done = subprocess.run(
        ["bash", "-c", limited], cwd=workspace.folder, text=True, capture_output=True,
        timeout=SECONDS, check=False, env=workspace.environment(),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    return done.stderr


def test_a_full_disk_while_measuring_is_one_sentence(workspace):
    words = ("estimate", *FILES, "--perturb", "linf:8/255", "--batch", "4", "--each", "0.05")
    assert "disk is full or cannot be written" in run_limited(workspace, 96, *words)
    assert "report.html" not in workspace.files()
    workspace.succeed(*words)


def test_a_report_that_cannot_be_written_leaves_nothing_half_written(workspace):
    strong = ("--perturb", "linf:90/255", "--each", "0.2")
    assert workspace.run("estimate", *FILES, *strong).returncode == 0
    before = workspace.files()
    said = run_limited(workspace, 34, "report", "--out", "page.html")
    assert "nothing was left half-written" in said
    assert all(name.startswith("surefoot.db") for name in workspace.files() ^ before)
