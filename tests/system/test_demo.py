"""`surefoot demo`: a sentence and a section for each method, from claims alone."""

import json
import re
import shlex

import pytest

from surefoot.cli import verbs
from surefoot.commands.caller import Caller
from surefoot.commands.demo import FILES, STEPS, DemoOptions
from surefoot.errors import MissingPackage
from tests.system.conftest import Workspace

METHODS = ["estimate", "certify", "tail", "curve", "critical", "compare"]


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """A folder in which the demo has run, what it printed, and its page."""
    workspace = Workspace(tmp_path_factory.mktemp("demo"))
    done = workspace.succeed("demo", "--out", ".")
    return workspace, done, (workspace.folder / "report.html").read_text()


@pytest.mark.slow
def test_the_demo_claims_one_sentence_for_each_method_and_writes_one_small_page(demonstrated):
    workspace, done, page = demonstrated
    assert "6 of 6, compare: " in done.stderr
    assert "open report.html in a browser" in done.stderr
    assert len(page) < 2_000_000
    assert re.search(r"(src|href)=\"(https?:)?//", page) is None
    assert re.findall(r'<section id="(\w+)" class="chapter">', page) == METHODS
    lines = [line for line in done.stdout.splitlines() if line]
    again = workspace.run("demo", "--json")
    assert "measuring: " not in again.stderr
    results = json.loads(again.stdout)
    assert list(results) == METHODS
    for question, line, name in zip(lines[::2], lines[1::2], METHODS, strict=True):
        assert question == f"{name}: {STEPS[name].question}"
        said = line.split(" (")[0].split(", ")[-1]  # assumptions are in a few words
        assert any(said in claim["sentence"] for claim in results[name]["claims"])
        assert f"<code>{STEPS[name].line}</code>" in page
    repeat_the_commands_of_the_page(workspace)


def repeat_the_commands_of_the_page(workspace):
    """As printed, on the files that the demo copies: the runs are those of the demo."""
    assert workspace.run("demo", "--files", ".").returncode == 0
    for step in STEPS.values():
        done = workspace.succeed(*shlex.split(step.line)[1:])
        assert "was already finished" in done.stderr, step.line


@pytest.mark.slow
def test_one_method_writes_its_own_full_page(demonstrated):
    workspace, *_ = demonstrated
    done = workspace.succeed("demo", "--only", "curve")
    assert "measuring: " not in done.stderr
    page = (workspace.folder / "report.html").read_text()
    assert 'class="chapter"' not in page
    assert STEPS["curve"].line in page
    (claim, *_) = json.loads(workspace.run("demo", "--only", "curve", "--json").stdout)["claims"]
    assert claim["sentence"].split(", if ")[0] in done.stdout


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("--only", "wrong"), f"--only wrong: choose one of {', '.join(METHODS)}"),
        (("--out", "missing"), "there is no folder missing: create it first"),
        (("--files", "missing"), "there is no folder missing: create it first"),
        (("--files", ".", "--only", "tail"), "--files only copies files: leave out --only"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_way_out(refusal, words, answer):
    assert answer in refusal("demo", *words)


def test_the_files_are_copied_and_another_file_is_not_overwritten(workspace):
    (workspace.folder / "fashion_test.npz").write_bytes(b"mine")
    done = workspace.run("demo", "--files", ".")
    assert done.returncode == 3
    assert "fashion_test.npz exists already and is another file" in done.stderr
    assert "fashion_cnn.onnx" not in workspace.files()
    (workspace.folder / "fashion_test.npz").unlink()
    assert workspace.run("demo", "--files", ".").returncode == 0
    assert workspace.run("demo", "--files", ".").returncode == 0
    for path in FILES:
        assert (workspace.folder / path.name).read_bytes() == path.read_bytes()


def test_a_method_whose_package_is_missing_is_left_out_with_the_line_that_installs_it(
    demonstrated, tmp_path, monkeypatch, capsys
):
    workspace, *_ = demonstrated
    result = STEPS["curve"].run(str(workspace.folder / "surefoot.db"), Caller())
    assert result.from_store

    def run(step, *_):
        if step.command == "critical":
            raise MissingPackage("this needs onnx: pip install 'surefoot[verify]'")
        return result

    monkeypatch.setattr("surefoot.commands.demo.Step.run", run)
    assert verbs.demo(options=DemoOptions(str(tmp_path)), json=False) == 0
    page = (tmp_path / "report.html").read_text()
    assert 'id="compare" class="chapter"' in page
    assert 'id="critical" class="chapter"' not in page
    assert "critical is left out: this needs onnx: pip install" in capsys.readouterr().err
