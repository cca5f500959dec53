"""`certify`, `tail`, `compare`, `--levels` and `design` as a user meets them."""

import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from surefoot.statistics import design_for, fixed_size, okamoto
from surefoot.statistics.designs import expected_trials
from tests.system.hold import SECONDS

TAIL = ("tail", "model.onnx", "test.npz", "--perturb", "linf:16/255", "--first", "12",
        "--draws", "100")  # fmt: skip
BOTH = ("compare", "model.onnx", "noisy.onnx", "test.npz", "--perturb", "linf:16/255",
        "--first", "20", "--each", "0.2")  # fmt: skip


@pytest.fixture
def pair(workspace):
    """A second network: the first with noise on its weights."""
    made, rng = onnx.load(str(workspace.folder / "model.onnx")), np.random.default_rng(1)
    for tensor in made.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and values.ndim > 1:
            moved = (values + 0.05 * rng.normal(size=values.shape)).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    onnx.save(made, str(workspace.folder / "noisy.onnx"))
    return workspace


def test_a_tail_in_json_carries_footing_none_and_its_trials_can_be_replayed(workspace):
    output = json.loads(workspace.run(*TAIL, "--report", "t.html", "--json").stdout)
    assert 'id="tails"' in (workspace.folder / "t.html").read_text()
    footing = {claim["kind"]: claim["guarantee"]["footing"] for claim in output["claims"]}
    expected = {"tail": "none", "mean_set": "sound", "mean_population": "conditional"}
    assert expected.items() <= footing.items()
    whole = output["details"]["whole"]
    assert whole["guarantee"]["footing"] == "none"
    assert whole["counted"]["guarantee"]["footing"] == "conditional"
    assert output["spec"]["method"]["kind"] == "normal-tail"
    again = json.loads(workspace.run("show", "--json").stdout)
    assert (again["claims"], again["details"]) == (output["claims"], output["details"])
    done = workspace.succeed(
        "replay", output["digest"][:12], output["inputs"][3]["id"], "7", "--json"
    )
    assert json.loads(done.stdout)["kept"] in (True, False)


def test_levels_are_one_line_and_resume_from_the_store(workspace):
    words = ("tail", "model.onnx", "test.npz", "--perturb", "linf", "--levels", "8/255,0.2",
             "--first", "6", "--draws", "60", "--figure", "l.json")  # fmt: skip
    first, second = workspace.run(*words), workspace.run(*words)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    for level in ("8/255", "0.2"):
        assert re.search(rf"(level |│ ?){level}\b", first.stdout)
    assert "level 8/255 (1 of 2)" in first.stderr
    (points,) = json.loads((workspace.folder / "l.json").read_text())["datasets"].values()
    output = json.loads(workspace.run(*words, "--json").stdout)["details"]["members"]
    for point, member in zip(points, output, strict=True):
        counted = member["whole"]["counted"]
        assert point["level"] == member["level"]
        assert point["extrapolated"] == 100 * member["whole"]["failure"]
        drawn_at = (point["value"], point["low"], point["high"])
        kept = (counted["value"], counted["interval"]["high"], counted["interval"]["low"])
        assert drawn_at == pytest.approx([100 * (1 - share) for share in kept])
    runs = json.loads(workspace.run("show", "--list", "--json").stdout)
    assert len(runs) == 3  # two levels, and both together


@pytest.mark.parametrize("command", ["estimate", "certify"])
def test_every_measuring_command_takes_levels(workspace, command):
    how = {"estimate": ("--each", "0.3"), "certify": ("--kappa", "0.2", "--max-trials", "50")}
    done = workspace.succeed(command, "model.onnx", "test.npz", "--perturb", "linf:0.1", "--levels",
                    "0.05,0.3", "--first", "5", *how[command], "--json")  # fmt: skip
    assert [m["level"] for m in json.loads(done.stdout)["details"]["members"]] == [0.05, 0.3]
    assert "0.1 in perturb (--perturb) linf:0.1 is not used with levels (--levels)" in done.stderr


def test_not_worse_is_the_exit_code(pair):
    assert pair.run(*BOTH, "--not-worse", "0.9").returncode == 0
    strict = pair.run(*BOTH, "--not-worse", "0", "--json")
    assert strict.returncode in (1, 2)
    assert len(json.loads(strict.stdout)["verdicts"]) == 1


def test_a_reference_may_be_a_file(pair):
    (pair.folder / "ref.csv").write_text("model,accuracy\nmodel,0.9\nnoisy.onnx,0.7\n")
    done = pair.succeed(*BOTH, "--reference", "ref.csv", "--json")
    given = {m["name"]: m["reference"] for m in json.loads(done.stdout)["details"]["members"]}
    assert given == {"model.onnx": 0.9, "noisy.onnx": 0.7}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*BOTH[:-2], "--kappa", "0.1", "--limit", "0.6"), "kappa (--kappa) or limit"),
        ((*BOTH, "--kappa", "0.1"), "either each (--each) or kappa (--kappa)"),
        ((*BOTH[:-2], "--limit", "0.6", "--property", "true"), "leave out property (--prop"),
        ((*BOTH, "--reference", "0.9"), "1 numbers for 2 models"),
        ((*BOTH, "--not-worse", "7"), "(--not-worse) must be between 0 and 1"),
        ((*TAIL, "--limit", "0.4"), "between 0.5 and 1"),
        ((*TAIL, "--transforms", "cube"), "there is no transform 'cube'"),
        ((*TAIL, "--normality", "2"), "(--normality) must be between 0 and 1"),
        ((*TAIL, "--levels", "0.1"), "two different levels"),
        ((*TAIL, "--levels", "0.1,x"), "'x' is not a number"),
        ((*TAIL, "--figure", "a.svg"), "a.svg needs several levels: add levels (--levels"),
        ((*TAIL, "--levels", "0.1,0.2", "--figure", "a.gif"), "written as .svg, .png, .pdf, .json"),
        ((*TAIL, "--levels", "0.1,0.2", "--require", "0.5"), "about one level"),
        ((*TAIL, "--require-each", "5"), "(--require-each) must be between 0 and 1"),
    ],
)
def test_bad_questions_are_one_sentence(workspace, refusal, words, said):
    shutil.copy(workspace.folder / "model.onnx", workspace.folder / "noisy.onnx")
    assert said in refusal(*words)


CERTIFY = ("certify", "model.onnx", "test.npz", "--perturb", "linf:16/255", "--first", "12")


def test_certify_without_a_requirement_counts_and_gives_no_verdict(workspace):
    done = workspace.succeed(*CERTIFY, "--kappa", "1e-3", "--max-trials", "50")
    assert re.search(r"\d+ of .* decided to be wrong under more than 1 in 1,000", done.stdout)
    assert not {"PASS:", "FAIL:", "UNDECIDED:"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly_with_the_code_of_the_result(workspace):
    words = (*CERTIFY, "--kappa", "1e-3", "--max-trials", "50", "--require", "all")
    with workspace.start_anew(*words) as run:
        run.stdout.close()  # as `| head` does once it has its lines
        errors = run.stderr.read()
        assert run.wait(SECONDS) == 2, errors
    assert "Broken" not in errors
    assert "Traceback" not in errors


def test_certify_passes_fails_or_stays_undecided(workspace):
    weak = workspace.succeed(*CERTIFY, "--kappa", "0.9", "--require", "all", "--json")
    output = json.loads(weak.stdout)
    (decided,) = output["verdicts"]
    assert not [claim for claim in output["claims"] if claim["verdict"]]
    assert (decided["kind"], decided["verdict"]) == ("all_kappa", "PASS")
    assert {row["result"]["kept"] is not None for row in output["inputs"]} == {True}
    strong = ("certify", "model.onnx", "test.npz", "--perturb", "linf:90/255", "--sil", "2")
    refuted = workspace.run(*strong, "--first", "12", "--require", "all", "--report", "page.html")
    assert refuted.returncode == 1, refuted.stdout
    assert "FAIL:" in refuted.stdout
    page = (workspace.folder / "page.html").read_text()
    assert not re.search(r"\bSIL\b|61508", refuted.stdout + page)  # a number, not a certificate
    short = workspace.run(*CERTIFY, "--kappa", "1e-3", "--max-trials", "50", "--require", "all")
    assert short.returncode == 2
    assert "UNDECIDED:" in short.stdout


@pytest.mark.parametrize("share", [("--require", "0.2"), ("--require-these", "0.75")])
def test_certify_can_require_a_share(workspace, share):
    done = workspace.succeed(*CERTIFY, "--kappa", "0.5", *share, "--json")
    (decided,) = json.loads(done.stdout)["verdicts"]
    assert (decided["verdict"], decided["requirement"]) == ("PASS", float(share[1]))


DESIGN = ("design", "--width", "0.02", "--confidence", "0.99")


def test_json_is_the_whole_design_with_its_cost(workspace):
    output = json.loads(workspace.run(*DESIGN, "--json").stdout)
    made = design_for(0.02, 0.01)
    assert output["design"]["looks"] == list(made.looks)
    assert output["design"]["few"] == list(made.few)
    assert 0 < output["design"]["proved"] <= output["design"]["error"] == 0.01
    assert output["cost"]["okamoto"] == okamoto(0.02, 0.01)
    assert output["cost"]["fixed_size"] == fixed_size(0.02, 0.01)
    rows = {row["p"]: row for row in output["cost"]["expected"]}
    assert list(rows) == [0.0, 0.01, 0.05, 0.1, 0.25, 0.5]
    assert rows[0.1]["trials"] == pytest.approx(expected_trials(made, 0.9))
    assert rows[0.5]["limit"] == pytest.approx(2.5758293**2 / 4 / 0.02**2)


def test_the_figure_is_a_image_of_its_own(workspace):
    words = ("design", "--width", "0.5", "--confidence", "0.7", "--figure", "design.svg")
    done = workspace.succeed(*words, "--json")
    assert done.stderr == "figure written to design.svg\n"
    assert json.loads(done.stdout)["design"]["width"] == 0.5
    image = (workspace.folder / "design.svg").read_text()
    root = ElementTree.fromstring(image)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    output = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"trials so far", "expected trials", "exact sequential", "Okamoto"} <= output
    assert "NaN" not in image
    assert len(image) < 60_000


@pytest.mark.parametrize(
    "words",
    [
        *[("--width", text) for text in ("1e-4", "wide", "2")],
        *[("--confidence", text) for text in ("99", "1")],
        *[("--figure", text) for text in ("no/such/design.svg", "design.gif")],
    ],
)
def test_what_cannot_be_designed_is_one_sentence_and_writes_nothing(refusal, words):
    refusal("design", *words)


def test_asking_for_help_imports_nothing_heavy():
    code = (
        "import sys; import surefoot.cli.main; "
        "print([m for m in ('numpy', 'scipy', 'altair', 'rich.table') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=True, timeout=SECONDS
    )
    assert done.stdout.strip() == "[]"
