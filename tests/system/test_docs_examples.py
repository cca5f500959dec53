"""Every command and every Python block of README, documentation and `--help` runs as printed.

All share one folder with the files of `examples/files_to_try.py` and the other kinds of files that
`docs/how-to/your-own-model.md` describes. None needs that another one has run before.
"""

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command

from papers.__main__ import main as papers
from surefoot.cli.main import app
from tests.shell import done_in_shell, in_shell
from tests.system.docs_files import write_files

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
"""Its commands follow from each other: one test runs all of them."""
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - {TUTORIAL})]
CODE = re.compile(r"```(?P<kind>\w*)\n(?P<block>.*?)```|`(?P<inline>[^`\n]+)`", re.DOTALL)
COMMAND = re.compile(r"(?:^|run: )\s*(?:surefoot |python -m (?=papers ))(.+)", re.MULTILINE)
SHELL_WORDS = {">", "|", "||", "&&", ";"}
"""What follows one of these in a line is not an argument of the command."""
REQUIREMENT_OPTIONS = {"--require", "--require-each", "--not-worse", "--kappa"}
"""With one of these the exit code is a verdict; which one the small network gets is no matter."""
READERS = ("show", "report", "replay", "evidence", "verify", "export")
"""They read a stored run or its evidence: each has a copy of a folder with both."""
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
HELP = "--help"
"""In place of a page."""
WRITES = {
    "estimate": "report.html",
    "brackets": "critical.svg",
    "design": "design.svg",
    "evidence": "run.evidence.json",
    "export": "robustness.md",
    "init": "surefoot.toml",
    "perturb": "sheet.png",
    "report": "report.html",
    "replay": "perturbed.png",
    "run": "junit.xml",
}
"""What the examples of `--help` write."""
TORCH_FILES = (".pt2", ".pt", ".pth")
NOT_RUN = {
    "papers roma --quick": "test_report_in_browser makes the page of every paper",
    "surefoot demo": "the slowest; test_demo runs it",
    "attacks.py:pgd": "needs Foolbox; test_attack_function runs the function",
    "://": "needs a server; test_endpoint and test_shared_store run such commands",
    "--not-worse-than": "needs the evidence of an earlier run; test_gate_run runs such commands",
    "--model old.onnx": "needs the evidence of a comparison; test_evidence runs such a command",
    "--previous-model": "test_gate_run runs such a command",
    "found-1": "needs a failure that splitting found; test_splitting runs such a command",
    "surefoot serve": "runs until it is stopped; test_dashboard_in_browser runs it",
    "ImageNet-C/": "needs its images, as the next; test_inputs_images runs such studies",
    "noise3.npz": "",
    "medical.h5": "needs Keras and a clone of the authors' repository",
    "--verifier": "needs Marabou; test_verify_external_verifier runs another verifier",
}
"""A part of a command: why it is not run here."""
RUN_IN_FULL = ("suite model.onnx test.npz",)
"""Its 75 cells: test_readme runs it and reads its sentence."""
NOT_RUN_PYTHON = {
    "# mymodel.py": "the folder has it as mymodel.py, and the command line imports it",
    "# reviews.py": "the folder has it, as the next two",
    "# shout.py": "",
    "# mine.py": "",
    "# attacks.py": "needs Foolbox; test_attack_function runs it",
    "# hearing.py": "the folder has it as hearing.py, and the command line imports it",
    "https://host/v2/models": "needs a server",
    "@perturbation": "a class of the package with its body left out",
}
SMALLER = (("--quick",), ("--first", "6"))
"""Added to the commands of papers, whose experiments take hours."""
FEWER = re.compile(r"critical |tail |suite |(estimate|curve) .*mine\.py:")
"""Commands that take six inputs too: they solve or fit for each input, run
dozens of cells, or call a function of Python for each trial, and show the same on a few."""


@dataclass(frozen=True)
class Example:
    """A command or a Python block, and the first page it stands on."""

    text: str
    page: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text.strip().splitlines()[-1][:60]}"


def commands() -> list[Example]:
    """Every different command with arguments; `surefoot estimate` alone is the name of one."""
    texts = {
        " ".join(arguments_of(line)): page.name
        for page in reversed(PAGES)
        for part in CODE.finditer(page.read_text())
        if part["kind"] in {None, "", "yaml"}
        for line in COMMAND.findall((part["block"] or part["inline"]).replace("\\\n", " "))
        if len(arguments_of(line)) > 1
    }
    on_pages = [e for e in (Example(text, page) for text, page in texts.items()) if is_run(e)]
    helped = help_examples()
    return helped + [e for e in on_pages if e.text not in {one.text for one in helped}]


def help_examples() -> list[Example]:
    """Of every command but `demo` and `serve`, which other tests run."""
    lines = [
        command.help.rpartition("Example: surefoot ")[2]
        for command in get_command(app).commands.values()
        if command.name not in ("demo", "serve")
    ]
    return [Example(" ".join(arguments_of(line)), HELP) for line in lines]


def arguments_of(line: str) -> list[str]:
    """The arguments as a shell reads them, each quoted again."""
    lexer = shlex.shlex(line.replace("\\|", "|"), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((i for i, word in enumerate(words) if word in SHELL_WORDS), len(words))
    return [shlex.quote(word) for word in words[:end]]


def is_run(example: Example) -> bool:
    parts = (part in f"surefoot {example.text}" for part in NOT_RUN)
    return example.text not in RUN_IN_FULL and not any(parts)


def python_blocks() -> list[Example]:
    blocks = {
        part["block"]: page.name
        for page in PAGES[1:]  # test_readme runs the block of the README
        for part in CODE.finditer(page.read_text())
        if part["kind"] == "python"
    }
    return [
        Example(text, page)
        for text, page in blocks.items()
        if not any(part in text for part in NOT_RUN_PYTHON)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all, so that a study that several pages run is measured once."""
    files = tmp_path_factory.mktemp("documentation")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        write_files()
    return files


@pytest.fixture(scope="module")
def stored_run(folder):
    """A folder with the two files, the store of one run on them, and its evidence, signed."""
    place = folder / "stored"
    place.mkdir()
    for name in ("model.onnx", "test.npz"):
        (place / name).write_bytes((folder / name).read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in (
            "estimate model.onnx test.npz --perturb linf:8/255 --each 0.1",
            "key new -o key.pem",
            "evidence latest -o run.evidence.json --key key.pem",
        ):
            assert in_shell(*line.split()).return_value == 0
    return place


@pytest.fixture(scope="module")
def torch_files(folder, torch):
    """The same small network in each kind of PyTorch file."""
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10)).eval()
    sample = torch.zeros(2, 1, 28, 28)
    free = {0: torch.export.Dim("batch")}
    torch.export.save(torch.export.export(network, (sample,), dynamic_shapes=(free,)),
                      str(folder / "model.pt2"))  # fmt: skip
    with pytest.warns(DeprecationWarning):
        torch.jit.save(torch.jit.trace(network, sample), str(folder / "model.pt"))
    torch.save(network, folder / "whole.pth")
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for module in folder.glob("*.py"):  # another test's module may have the same name
        monkeypatch.delitem(sys.modules, module.stem, raising=False)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, os.environ.get(variable, "1"))


@pytest.mark.parametrize("example", commands(), ids=str)
def test_a_command_runs_as_printed(example, request, monkeypatch, tmp_path, capsys):
    words = shlex.split(example.text)
    if words[0] in READERS:
        stored = request.getfixturevalue("stored_run")
        monkeypatch.chdir(shutil.copytree(stored, tmp_path / "stored"))
        if "cells" in words:  # of a suite
            files = [str(stored / name) for name in ("model.onnx", "test.npz")]
            suite = ["suite", *files, "--suite", "noise", "--first", "4", "--precision", "0.3"]
            done_in_shell(*suite)
    elif words[0] == "key":
        monkeypatch.chdir(tmp_path)
    elif words[0] == "init":  # the folder has a study file of its own
        for name in ("model.onnx", "test.npz"):
            shutil.copy(name, tmp_path)
        monkeypatch.chdir(tmp_path)
    if any(word.endswith(TORCH_FILES) for word in words):
        request.getfixturevalue("torch_files")
    if words[0] == "papers":
        smaller = [pair for pair in SMALLER if pair[0] not in words and len(words) > 2]
        words += [word for pair in smaller for word in pair if "--random" not in words]
        assert papers(words[1:]) == 0
        assert capsys.readouterr().out.strip()
        return
    if FEWER.match(example.text):
        few = "1" if "splitting" in words else "6"  # it takes thousands of trials for each input
        words = [*shlex.split(re.sub(r" --first \d+", "", example.text)), "--first", few]
        if words[0] == "suite":  # of dozens of cells
            said = re.sub(r" --(first|precision) [\d.]+", "", example.text)
            words = [*shlex.split(said), "--first", "3", "--precision", "0.4"]
    done = done_in_shell(*words)
    undecided = REQUIREMENT_OPTIONS & set(words) and (example.page != HELP or words[0] == "compare")
    assert done.return_value in ({0, 1, 2} if undecided else {0}), done.output
    if example.page == HELP:
        assert done.stdout.strip()
        assert words[0] not in WRITES or Path(WRITES[words[0]]).stat().st_size > 500
    assert done.stdout.strip() or {"--report", "--out", "--sheet"} & set(words)


@pytest.mark.parametrize("example", python_blocks(), ids=str)
def test_a_python_block_runs_as_printed(example):
    exec(compile(example.text, example.page, "exec"), {"__name__": "__main__"})


def test_examples_are_recognised_and_exceptions_are_still_needed():
    pages = "\n".join(page.read_text() for page in PAGES)
    assert len(commands()) > 30
    assert len(help_examples()) > 15
    assert len(python_blocks()) > 5
    assert {part for part in [*NOT_RUN, *NOT_RUN_PYTHON] if part not in pages} == set()


def test_the_numbers_of_a_line_may_differ_but_not_its_words():
    assert pattern("8.33 % of 1,386 trials …").match("7.5 % of 92 trials, and more")
    assert not pattern("8.33 % of 1,386 trials").match("7.5 % of 92 inputs")


@pytest.mark.slow
def test_the_tutorial_runs_as_printed_and_prints_what_it_says(cwd):
    pytest.importorskip("skl2onnx")
    output = ""
    for part in CODE.finditer(TUTORIAL.read_text()):
        if part["kind"] == "python":
            exec(compile(part["block"], "train.py", "exec"), {"__name__": "__main__"})
        elif part["kind"] == "text":
            for line in part["block"].splitlines():
                assert pattern(line).search(output), line
        elif part["kind"] == "":
            output = "".join(printed(line) for line in part["block"].splitlines())
    page = (cwd / "report.html").read_text()
    assert "on these 600 inputs" in page
    assert (cwd / "digits.onnx").stat().st_size < 20_000


def printed(line: str) -> str:
    """Of one command, which must end with 0: the page hands over a result that passes."""
    done = in_shell(*shlex.split(line)[1:])
    assert done.exception is None, done.exception
    assert done.return_value == 0, done.output
    return done.stdout


def pattern(line: str) -> re.Pattern[str]:
    """The line with any numbers; … stands for the rest of a line."""
    words = (re.escape(part) for part in NUMBER.split(line.partition(" …")[0]))
    return re.compile(r"\d[\d,.]*".join(words))
