"""The tutorial runs from top to bottom as printed, and prints what it says that it prints."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCKS = re.compile(r"^```(?P<kind>\w*)\n(?P<block>.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def test_the_numbers_of_a_line_may_differ_but_not_its_words():
    assert pattern("8.33 % of 1,386 trials …").match("7.5 % of 92 trials, and more")
    assert not pattern("8.33 % of 1,386 trials").match("7.5 % of 92 inputs")


@pytest.mark.slow
def test_the_tutorial_runs_as_printed_and_prints_what_it_says(tmp_path, monkeypatch):
    pytest.importorskip("skl2onnx")
    monkeypatch.chdir(tmp_path)
    output = ""
    for part in BLOCKS.finditer(PAGE.read_text()):
        if part["kind"] == "python":
            exec(compile(part["block"], "train.py", "exec"), {"__name__": "__main__"})
        elif part["kind"] == "text":
            for line in part["block"].splitlines():
                assert pattern(line).search(output), line
        elif not part["kind"]:
            output = "".join(printed(line) for line in part["block"].splitlines())
    page = (tmp_path / "report.html").read_text()
    assert "Averaged over these 600 inputs" in page
    assert (tmp_path / "digits.onnx").stat().st_size < 20_000


def printed(line: str) -> str:
    """Of one command, which must end with 0: the page hands over a result that passes."""
    done = CliRunner().invoke(app, shlex.split(line)[1:], standalone_mode=False)
    assert done.exception is None, done.exception
    assert done.return_value == 0, done.output
    return done.stdout


def pattern(line: str) -> re.Pattern[str]:
    """The line with any numbers; … stands for the rest of a line."""
    words = (re.escape(part) for part in NUMBER.split(line.partition(" …")[0]))
    return re.compile(r"\d[\d,.]*".join(words))
