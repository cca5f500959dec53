"""The README tells the truth: its example runs, its links exist, its embedded files are small."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from surefoot.cli.main import app
from tests.system.hold import SECONDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_python_example_runs_as_printed(workspace):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 5
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=workspace.folder, text=True,
        capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"(PASS|UNDECIDED): .*accuracy on .* at least 80 %", done.stdout)
    assert (workspace.folder / "report.html").read_text().startswith("<!doctype html>")


def test_every_link_of_the_documentation_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_command_that_is_written_down_exists_with_its_options():
    known = {
        name: {option for made in command.params for option in made.opts}
        for name, command in get_command(app).commands.items()
    }
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    code = re.compile(r"```(?:sh|bash|console|yaml)?\n.*?```|`[^`\n]+`", re.DOTALL)
    commands = re.compile(r"(?:^|[`$:] *)surefoot ([a-z]+)([^`\n#|]*)", re.MULTILINE)
    written = [
        (page.name, name, set(re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)))
        for page in pages
        for part in code.findall(page.read_text())
        for name, rest in commands.findall(part)
    ]
    assert len(written) > 20
    for page, name, options in written:
        assert name in known, f"{page}: there is no command {name}"
        strange = options - known[name] - {"--help"}
        assert not strange, f"{page}: surefoot {name} takes no {', '.join(strange)}"


def test_every_command_has_an_example_on_its_page():
    page = (ROOT / "docs" / "commands.md").read_text()
    written = set(re.findall(r"`surefoot ([a-z]+)", page))
    assert sorted(set(get_command(app).commands) - written) == []


def test_the_embedded_models_are_small_and_their_licence_is_named():
    data = ROOT / "src" / "surefoot" / "data"
    assert all(file.stat().st_size < 230_000 for file in data.glob("*.onnx"))
    licence = (data / "LICENCE-fashion-mnist.txt").read_text()
    assert "Zalando" in licence
    assert "Permission is hereby granted" in licence


@pytest.mark.slow
def test_a_newcomer_without_files_can_run_what_is_written(workspace):
    for name in ("model.onnx", "test.npz"):
        (workspace.folder / name).unlink()
    made = subprocess.run(
        [sys.executable, ROOT / "examples" / "files_to_try.py"], cwd=workspace.folder, text=True,
        capture_output=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    assert "model.onnx, old.onnx and test.npz (100 images)" in made.stdout
    # trials are named by seed, input and number: every machine has the same
    quoted = re.findall(r"^surefoot ([^\n]*)\n```\n\n> ([^\n]*)\n", README, re.MULTILINE)
    assert [words.split()[0] for words, _ in quoted] == ["estimate", "suite"]
    for words, sentence in quoted:
        assert workspace.succeed(*shlex.split(words)).stdout.splitlines()[0] == sentence
