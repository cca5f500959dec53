"""The first commands a user types; `test_cli.py` has the rest."""

import json

ESTIMATE = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:90/255", "--each", "0.1")


def test_help_lists_the_commands(workspace):
    done = workspace.succeed("--help")
    assert {"estimate", "certify", "curve", "critical"} <= set(done.stdout.split())


def test_an_estimate_is_one_claim_and_a_requirement_the_exit_code(workspace):
    verdicts = {"0.05": (0, "PASS"), "0.999": (1, "FAIL"), "0.6": (2, "UNDECIDED")}
    for require, (code, word) in verdicts.items():  # measured once, then read from the store
        done = workspace.run(*ESTIMATE, "--require", require, "--json")
        assert done.returncode == code, done.stderr
        output = json.loads(done.stdout)
        assert [v["verdict"] for v in output["verdicts"]] == [word]
        assert all(claim["sentence"].endswith(".") for claim in output["claims"])


def test_a_model_that_is_missing_is_named_and_exits_with_three(workspace):
    done = workspace.run("estimate", "missing.onnx", "test.npz", "--perturb", "linf:1/255")
    assert done.returncode == 3
    assert "missing.onnx" in done.stderr
    assert done.stdout == ""
