"""Commands that documents print give the verdict shown, and read files as the run did."""

import shlex

import numpy as np
import pytest

from surefoot.evidence.check import reading_options
from surefoot.records.record import Requirements
from surefoot.study.result import required_command
from tests.shell import done_in_shell
from tests.unit.small_models import batch, relu_net

EVIDENCE = "run.evidence.json"


def files(folder):
    """A network and four inputs."""
    relu_net(folder / "model.onnx", (1, 4, 4))
    np.savez(folder / "test.npz", x=batch(4, (1, 4, 4)), y=[0, 1, 0, 1])
    return ["model.onnx", "test.npz", "--perturb", "linf:0.1", "--each", "0.3", "--bounds", "0,1"]


def cli(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["surefoot", *words])
    return done_in_shell(*words)


def test_a_document_has_the_command_of_the_verdict_that_it_shows(cwd, monkeypatch):
    """The last requirement of a run counts, whether it was made by its command or later."""
    estimate = ["estimate", *files(cwd)]
    plain = f"surefoot {shlex.join(estimate)}"
    for words in (["--require", "0.1"], ["--require=0.99"]):
        cli(monkeypatch, *estimate, *words)
        cli(monkeypatch, *estimate)  # requires nothing, and leaves what was required
        shown = shlex.join([*plain.split(), *words])
        card = cli(monkeypatch, "export", "latest").stdout
        assert f"```sh\n{shown}\n```" in card
        assert ("at least 99 %" in card or "below 99 %" in card) == (words == ["--require=0.99"])
        written = cli(monkeypatch, "evidence", "latest")
        assert written.stdout == f"{EVIDENCE} (unsigned; --key key.pem signs it)\n"
        assert "run " in written.stderr
        assert ": model.onnx on test.npz" in written.stderr
        assert "L∞ ball of radius 0.1" in written.stderr
        explained = cli(monkeypatch, "verify", EVIDENCE, "--explain").stdout
        assert f"{shown} (as the file says it)" in explained
        again = "some again: surefoot verify FILE --model model.onnx --data test.npz --bounds 0,1."
        assert again in explained
        assert f'"command": "{shown}"' in cli(monkeypatch, "show", "--list", "--json").stdout
        later = cli(monkeypatch, "export", EVIDENCE, "--require", "0.5").stdout
        assert f"```sh\n{plain} --require 0.5\n```" in later
    numbers = cli(monkeypatch, "export", "latest", "--to", "hugging-face", "--task", "other")
    assert "model-index" in numbers.stdout
    assert "what was required of the run is left out" in numbers.stderr


@pytest.mark.parametrize(
    ("command", "required", "expected"),
    [
        ("sf.estimate('m')", {"least": 0.9}, "sf.estimate('m').require(least=0.9)"),
        (
            "surefoot certify m d --require all --first 3 --require-each=0.5",
            {"of_these": 0.9, "of_each_class": {"a b": 0.5, "c": 1.0}},
            "surefoot certify m d --first 3 --require-each 'a b=0.5,c=1.0' --require-these 0.9",
        ),
        ("surefoot compare a b d", {"not_worse": ("b", 0.1)}, ""),
        ("surefoot show 123", {"least": 0.9}, ""),
        ("surefoot estimate 'm", {"least": 0.9}, ""),
        ("", {"least": 0.9}, ""),
    ],
)
def test_a_later_requirement_is_in_the_command_or_there_is_none(command, required, expected):
    assert required_command(command, Requirements(**required)) == expected


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("surefoot certify m d --bounds=0,1 --half --first 5", "--bounds=0,1 --half --first 5"),
        ("surefoot estimate m d --trust --token-variable SECRET --mean 0.5", "--mean 0.5"),
        ("surefoot estimate 'm", None),
        ("sf.estimate('m', 'd', bounds=(0, 1))", None),
    ],
)  # fmt: skip
def test_the_command_of_a_second_party_reads_as_the_run_did_and_never_trusts(command, options):
    assert reading_options(command) == (None if options is None else options.split())
