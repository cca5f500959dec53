"""Every example that `--help` prints works on the files that a newcomer can make."""

import os
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot.cli.main import app

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    command.name: shlex.split(command.help.rpartition("Example: surefoot ")[2])
    for command in app.registered_commands
    if command.name not in ("demo", "serve")
}
"""Others run them: the demo is the slowest, and a server does not end by itself."""
WRITES = {
    "estimate": "report.html",
    "brackets": "critical.svg",
    "design": "design.svg",
    "evidence": "run.evidence.json",
    "export": "robustness.md",
    "perturb": "sheet.png",
    "report": "report.html",
    "replay": "perturbed.png",
    "run": "junit.xml",
}
RUNS_FIRST = ("estimate", "show", "report", "replay", "evidence", "verify", "export")
"""All but the first read what the first has stored, and nothing may be stored in between."""
REFUTED_OR_UNDECIDED = {"compare": {0, 1, 2}}
"""Examples with a requirement; what the small network achieves is not the point here."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files to try; one for all, so that later commands find earlier runs."""
    made = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        runpy.run_path(str(ROOT / "examples" / "files_to_try.py"))
    return made


@pytest.mark.parametrize("name", [*RUNS_FIRST, *(n for n in EXAMPLES if n not in RUNS_FIRST)])
def test_an_example_works_as_printed(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, os.environ.get(variable, "1"))
    done = CliRunner().invoke(app, EXAMPLES[name], standalone_mode=False)
    assert done.exception is None, done.exception
    assert done.return_value in REFUTED_OR_UNDECIDED.get(name, {0}), done.output
    assert done.stdout.strip()
    if name in WRITES:
        assert Path(WRITES[name]).stat().st_size > 500
