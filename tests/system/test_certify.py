"""`surefoot certify`: counts without a requirement, a verdict and its exit code with one."""

import json
import re

import pytest

from tests.system.hold import SECONDS

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
