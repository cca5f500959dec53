"""What `--help` prints: running text, and an example that can be pasted."""

import pytest
from typer.testing import CliRunner

from surefoot.cli.main import app, running_text

COMMANDS = {command.name: command for command in app.registered_commands}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_running_text_and_ends_with_an_example(name):
    *paragraphs, example = COMMANDS[name].help.split("\n\n")
    assert paragraphs
    assert all("\n" not in part for part in paragraphs)
    assert example.startswith(f"Example: surefoot {name}")
    assert "\n" not in example  # what is pasted from two lines runs as two commands


def test_a_paragraph_fills_the_screen_it_is_printed_on():
    wide, narrow = (
        CliRunner().invoke(app, ["critical", "--help"], env={"COLUMNS": str(n)}, color=False).output
        for n in (180, 60)
    )
    sentence = "Up to the lower end the label is proved constant; at the upper end stands a point"
    assert sentence in wide
    assert sentence not in narrow
    assert sentence in " ".join(narrow.split())


def test_an_example_keeps_its_lines():
    told = "One\ntwo.\n\nthree\n  four.\n\nExample: a \\\n  b"
    assert running_text(told) == "One two.\n\nthree four.\n\nExample: a \\\n  b"
