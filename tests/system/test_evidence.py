"""Evidence from the command line: written where model and data are, checked where they are not."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from surefoot.errors import EvidenceFailed, InvalidArgument
from tests.refusals import raised
from tests.shell import in_shell
from tests.unit.small_models import batch, relu_net
from tests.worlds import points, study


def surefoot(*words):
    """The exit code of a command in this process, and what it prints."""
    done = in_shell(*words)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


@pytest.fixture(scope="module")
def second_party(tmp_path_factory):
    """A folder with a signed file, the public key, and neither store, model nor data."""
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    study(inputs=points(4)).run(store=str(first / "surefoot.db"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(first)
        assert surefoot("key", "new", "-o", "key.pem")[0] == 0
        written = surefoot("evidence", "latest", "-o", "run.json", "--key", "key.pem")
        assert written == (0, "run.json\n")
    for name in ("run.json", "key.pub"):
        shutil.copy(first / name, second)
    return second


def test_a_second_party_checks_a_run_without_model_and_data(second_party):
    command = [sys.executable, "-m", "surefoot", "verify", "run.json", "--key", "key.pub"]
    command.append("--explain")
    done = subprocess.run(command, cwd=second_party, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.endswith("?")]
    assert titles[:2] == ["Who signed it?", "Do its names fit?"]
    assert titles[-1] == "What is not covered?"
    assert "does not follow" not in done.stdout
    assert done.stdout.splitlines()[0].endswith("claims are correct.")


def test_a_file_whose_signature_was_removed_is_refuted(second_party, monkeypatch):
    monkeypatch.chdir(second_party)
    whole = json.loads((second_party / "run.json").read_text())
    (second_party / "bare.json").write_text(json.dumps(whole | {"signatures": []}))
    code, text = surefoot("verify", "bare.json", "--key", "key.pub")
    assert (code, text.startswith("Unsigned")) == (1, True)
    code, text = surefoot("verify", "bare.json", "--json")
    assert (code, json.loads(text)["signature"]["reason"]) == (0, "an unsigned file")
    code, text = surefoot("verify", "bare.json")
    assert len(text.split()) <= 120
    assert all("nsigned" in line for line in (text.splitlines()[0], text.splitlines()[-1]))
    raised(EvidenceFailed, "check the path", surefoot, "verify", "nowhere.json")


def test_a_second_party_with_model_and_data_runs_trials_again(cwd):
    shape = (1, 4, 4)
    relu_net(cwd / "model.onnx", shape)
    relu_net(cwd / "other.onnx", shape, seed=9)
    np.savez(cwd / "test.npz", x=batch(6, shape), y=[0, 0, 1, 1, 2, 2])
    reading = ("--bounds", "0,1", "--first", "5")
    noise = ("--perturb", "linf:0.1+gaussian:0.05", "--each", "0.3",
             "--property", "same")  # fmt: skip
    surefoot("estimate", "model.onnx", "test.npz", *noise, *reading)
    surefoot("evidence")
    verify = ("verify", "run.evidence.json", "--data", "test.npz", "--seed", "7")
    code, text = surefoot(*verify, "--model", "model.onnx", *reading, "--explain")
    assert code == 0, text
    assert "(seed 7)" in text
    assert "trials that were run again came out as it says (5 % altered" in text.splitlines()[0]
    code, text = surefoot(*verify, "--model", "other.onnx", *reading, "--json")
    assert (code, json.loads(text)["exit_code"], json.loads(text)["again"]["trials"]) == (1, 1, [])
    code, text = surefoot(*verify, "--model", "model.onnx", "--bounds", "0,1")
    again = "surefoot verify FILE --model model.onnx --data test.npz"
    assert (code, f"read and choose the inputs as the run did: {again}" in text) == (1, True)
    with pytest.raises(InvalidArgument, match=rf"bounds.* add --bounds 0,1: {again}"):
        surefoot(*verify, "--model", "model.onnx", "--first", "5")
