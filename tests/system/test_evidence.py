"""Evidence from the command line: written where model and data are, checked where they are not."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.worlds import points, study

KEY = "key.pem"


def surefoot(folder, *words):
    command = [sys.executable, "-m", "surefoot", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def second_party(tmp_path_factory):
    """A folder with a signed file, the public key, and neither store, model nor data."""
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    study(inputs=points(4)).run(store=str(first / "surefoot.db"))
    assert surefoot(first, "key", "new", "-o", KEY).returncode == 0
    written = surefoot(first, "evidence", "latest", "-o", "run.json", "--key", KEY)
    assert (written.returncode, written.stdout) == (0, "run.json\n")
    for name in ("run.json", "key.pub"):
        shutil.copy(first / name, second)
    return second


def test_a_second_party_checks_a_run_without_model_and_data(second_party):
    done = surefoot(second_party, "verify", "run.json", "--key", "key.pub")
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.endswith("?")]
    assert titles[:2] == ["Who signed it?", "Is it intact?"]
    assert titles[-1] == "What is not covered?"
    assert "does not follow" not in done.stdout
    assert done.stdout.rstrip().endswith("claims follow from the journal in this file.")


def test_a_changed_file_and_one_without_signature_are_refuted(second_party):
    whole = json.loads((second_party / "run.json").read_text())
    (second_party / "bare.json").write_text(json.dumps(whole | {"signatures": []}))
    unsigned = surefoot(second_party, "verify", "bare.json", "--key", "key.pub")
    assert (unsigned.returncode, "no signature" in unsigned.stdout) == (1, True)
    said = surefoot(second_party, "verify", "bare.json", "--json")
    assert "unsigned" in json.loads(said.stdout)["signature"]["subject"]
    missing = surefoot(second_party, "verify", "nowhere.json")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert missing.stderr.count("\n") == 1
