"""The GitHub action and the hook of pre-commit: their shape, and their scripts run in bash."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.system import forked
from tests.system.hold import SECONDS

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
HOSTILE = """$(touch injected) `touch injected` "; touch injected; '"""


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """`python` and `surefoot` that write down their arguments and end with $CODE."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python", "surefoot"):
        script = folder / name
        script.write_text(
            '#!/bin/bash\nprintf "%s\\n" "$(basename "$0")" "$@" > called\nexit $CODE\n'
        )
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def run_step(action, name, folder, code=0, **inputs):
    """As GitHub runs it: expressions are replaced in `env` alone, then bash gets the script."""
    values = {key: entry["default"] for key, entry in action["inputs"].items()} | inputs
    step = next(step for step in action["runs"]["steps"] if step.get("name") == name)
    known = {f"inputs.{key}": value for key, value in values.items()}
    known["github.action_path"] = "/the action"
    env = {
        key: re.sub(r"\$\{\{ (.+?) \}\}", lambda m: known[m[1]], text)
        for key, text in step["env"].items()
    }
    script = folder / "script.sh"
    script.write_text(step["run"])
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **env, "CODE": str(code)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    called = folder / "called"
    return done, called.read_text().splitlines() if called.exists() else []


def test_no_script_of_the_action_has_an_input_in_its_text(action):
    steps = action["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(action["inputs"])
    assert all(entry["description"] for entry in action["inputs"].values())


def test_the_evidence_is_kept_whatever_the_outcome(action):
    *_, last = action["runs"]["steps"]
    assert last["uses"].startswith("actions/upload-artifact@v")
    assert last["if"] == "always()"
    assert "${{ inputs.evidence }}" in last["with"]["path"]
    assert "${{ inputs.junit }}" in last["with"]["path"]


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_action_ends_as_the_command_does(action, commands, tmp_path, code):
    done, called = run_step(action, "Check the requirements", tmp_path, code, study="a b.toml")
    assert done.returncode == code
    assert called == ["surefoot", "run", "--junit=surefoot-junit.xml",
                      "--evidence=surefoot-evidence", "--", "a b.toml"]  # fmt: skip


def test_a_hostile_input_is_a_name_and_is_not_run(action, commands, tmp_path):
    values = dict.fromkeys(("study", "junit", "evidence"), HOSTILE)
    _, called = run_step(action, "Check the requirements", tmp_path, **values)
    assert called[-1] == HOSTILE
    for name in ("version", "extras"):
        done, _ = run_step(action, "Install surefoot", tmp_path, **{name: HOSTILE})
        assert done.returncode == 3
        assert done.stderr.startswith(name)
    assert not (tmp_path / "injected").exists()


@pytest.mark.parametrize(
    ("inputs", "package"),
    [
        ({}, "/the action"),
        ({"extras": "torch, sign"}, "/the action[torch,sign]"),
        ({"version": "0.1.0"}, "surefoot==0.1.0"),
        ({"version": "0.2.0rc1", "extras": "torch"}, "surefoot[torch]==0.2.0rc1"),
    ],
)
def test_what_is_installed(action, commands, tmp_path, inputs, package):
    done, called = run_step(action, "Install surefoot", tmp_path, **inputs)
    assert (done.returncode, called[-1]) == (0, package)
    assert called[:4] == ["python", "-m", "pip", "install"]


def test_the_hook_runs_before_a_push_that_changes_a_model_or_data():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert (hook["id"], hook["language"]) == ("surefoot-run", "python")
    assert hook["entry"] == "surefoot run"
    assert hook["pass_filenames"] is False
    assert hook["stages"] == ["pre-push"]
    changed = re.compile(hook["files"])
    assert all(changed.search(name) for name in ("surefoot.toml", "m/model.onnx", "data/test.npz"))
    assert not any(
        changed.search(name) for name in ("README.md", "src/onnx.py", "my_surefoot.toml")
    )


def test_the_command_takes_the_words_of_the_action(action, commands, tmp_path):
    _, called = run_step(action, "Check the requirements", tmp_path, study=HOSTILE)
    done = forked.run(tuple(called[1:]), tmp_path, timeout=SECONDS)
    assert done.returncode == 3
    assert f"there is no study file {HOSTILE}" in done.stderr
    assert not (tmp_path / "injected").exists()
