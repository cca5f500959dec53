"""What `--help` prints: running text, and an example that can be pasted."""

import inspect
from dataclasses import MISSING, fields

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import surefoot as sf
from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import number
from surefoot.cli.main import app
from surefoot.cli.parsing import running_text
from surefoot.commands.curve import CurveOptions
from surefoot.study.external import brackets

COMMANDS = get_command(app).commands


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
    sentence = (
        "Up to the lower end of a bracket the label is proved constant; at the upper end there is"
    )
    assert sentence in wide
    assert sentence not in narrow
    assert sentence in " ".join(narrow.split())


def test_an_example_keeps_its_lines():
    told = "One\ntwo.\n\nthree\n  four.\n\nExample: a \\\n  b"
    assert running_text(told) == "One two.\n\nthree four.\n\nExample: a \\\n  b"


def default_of(command, option):
    params = {name: p for p in get_command(app).commands[command].params for name in p.opts}
    return params[option].default


@pytest.mark.parametrize(
    "command",
    ["estimate", "certify", "tail", "compare", "critical", "tally", "brackets", "plan", "design"],
)
def test_every_command_has_the_same_default_confidence(command):
    assert default_of(command, "--confidence") == "0.95"


def test_an_error_that_has_a_default_in_python_has_the_one_of_the_command_line():
    with_error = {
        name: f.default
        for name, kind in METHODS.items()
        for f in fields(kind)
        if f.name == "error" and f.default is not MISSING
    }
    assert {"sequential-curve", "critical-level", "normal-tail"} <= set(with_error)
    assert set(with_error.values()) == {0.05}
    assert inspect.signature(brackets).parameters["error"].default == 0.05


@pytest.mark.parametrize(
    ("command", "option", "method", "field"),
    [
        ("certify", "--seed", sf.Study, "seed"),
        ("tail", "--draws", sf.methods.NormalTail, "draws"),
        ("tail", "--normality", sf.methods.NormalTail, "normality"),
        ("critical", "--tolerance", sf.methods.CriticalLevel, "tolerance"),
        ("critical", "--seconds-per-input", sf.methods.CriticalLevel, "seconds_per_input"),
        ("critical", "--quantile", sf.methods.CriticalLevel, "quantile"),
        ("critical", "--samples", sf.methods.CriticalLevel, "samples"),
        ("critical", "--within", sf.methods.CriticalQuantile, "within"),
        ("critical", "--verifier", sf.methods.CriticalLevel, "verifier"),
    ],
)
def test_an_option_has_the_default_of_the_field_it_sets(command, option, method, field):
    typed = default_of(command, option)
    known = {f.name: f.default for f in fields(method)}[field]
    assert (number(typed) if isinstance(typed, str) and typed else typed) == known


def test_a_curve_without_options_is_the_one_of_python():
    from surefoot.core.results import Interval

    assert CurveOptions().method_on(Interval(0.0, 2.0), 1) == sf.methods.SequentialCurve(0.0, 2.0)
