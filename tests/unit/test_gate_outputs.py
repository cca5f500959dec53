"""What `surefoot run` writes: over no file of the studies, and said where it is so."""

# ruff: noqa: F811  the fixture is imported

import os

import pytest

from surefoot.errors import InvalidArgument
from tests.unit.test_gate_run import folder, run, study  # noqa: F401  a fixture


@pytest.mark.parametrize(
    "junit",
    ["surefoot.toml", "test.npz", "models.py", "surefoot.db", "ev/noise.evidence.json",
     "ev/noise-a.evidence.json"],
)  # fmt: skip
def test_test_cases_replace_no_file_of_the_studies(folder, junit):
    noise = study("noise", "require = 0.7")
    done = run(noise, words=["--junit", junit, "--evidence", "ev"])
    assert isinstance(done.exception, InvalidArgument), done.exception
    assert not (folder / "surefoot.db").exists()
    assert "noise" in (folder / "surefoot.toml").read_text()


def test_pages_and_figures_of_studies_replace_no_file_of_another(folder):
    (folder / "link.html").symlink_to("surefoot.toml")
    for page in ("link.html", "a.html"):
        first = study("one", "report = 'a.html'\nstore = 'other.db'")
        done = run(first, study("two", f"report = '{page}'"))
        assert "is the same file as" in str(done.exception)
    assert [p.suffix for p in folder.iterdir() if p.suffix in (".db", ".html")] == [".html"]
    done = run(study("one", "first = 5\nreport = 'a.html'"))
    assert run(study("one", "first = 5\nreport = 'a.html'")).return_value == done.return_value == 0


def test_evidence_is_said_to_be_written_where_it_is(folder):
    done = run(study("noise", "model = 'models.py:broken'"), words=["--evidence", "ev"])
    assert done.return_value == 3
    assert "no evidence was written\n" in done.stderr
    assert not (folder / "ev").exists()


def test_a_summary_that_nobody_reads_holds_nothing_up(folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "pipe"))
    done = run(study("noise", "first = 5"))
    assert done.return_value == 0
    assert "pipe cannot be written" in done.stderr
