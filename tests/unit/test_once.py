"""An option given twice is refused, unless it takes several values."""

import pytest
from typer.testing import CliRunner

from surefoot.cli.main import app


def invoke(*words):
    return CliRunner().invoke(app, words, standalone_mode=False)


@pytest.mark.parametrize(
    "twice",
    [
        ("--require-each", "Dress=0.2", "--require-each", "Bag=0.1"),
        ("--perturb", "blur:1", "--width=0.1", "--width", "0.2"),
    ],
)
def test_one_of_two_values_is_not_lost_in_silence(twice):
    done = invoke("estimate", "model.onnx", "test.npz", "--perturb", "linf:8/255", *twice)
    assert done.exit_code != 0
    assert "is given twice" in done.exception.format_message()


def test_options_that_take_several_values_are_given_several_times():
    done = invoke("curve", "no.onnx", "no.npz", "--perturb", "blur:0..2", "--threshold", "0.6",
                  "--threshold", "0.9")  # fmt: skip
    assert "twice" not in str(done.exception)
