"""Code that a command names: it runs only where the user names it, and cannot end in a pass."""

import pytest

CODE = """
import sys
from pathlib import Path
import numpy as np
Path("runs.txt").write_text("run")

def kept(reference, output):
    return True

def exit_kept(reference, output):
    sys.exit(0)

def scores(x):
    return x.reshape(len(x), -1)[:, :20:2]

def exit_model(x):
    sys.exit(0)

def exit_perturb(x, rng, level):
    sys.exit(0)

class Leaves:
    def predict_proba(self, x):
        raise GeneratorExit
leaves = Leaves()
"""
ESTIMATE = ("--first", "2", "--each", "0.5", "--shape", "1,28,28", "--bounds", "0,1")


@pytest.fixture
def own(workspace):
    (workspace.folder / "mine.py").write_text(CODE)
    (workspace.folder / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    return workspace


def test_a_stored_property_is_not_imported_without_trust(own):
    words = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:0.2", "--bounds", "0,1")
    more = ("--property", "@mine:kept", "--first", "2", "--each", "0.5", "--store", "s.db")
    own.succeed(*words, *more)
    (own.folder / "runs.txt").unlink()
    refused = own.run("replay", "latest", "0", "1", "--store", "s.db")
    assert refused.returncode == 3
    assert "names code to run (@mine:kept): pass --trust" in refused.stderr
    assert not (own.folder / "runs.txt").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.py:exit_model", "--perturb", "linf:0.1"), "the model called sys.exit(0)"),
        (("mine.py:scores", "--perturb", "mine.py:exit_perturb:1"), "called sys.exit(0)"),
        (
            ("mine.py:scores", "--perturb", "linf:0.1", "--property", "@mine:exit_kept"),
            "exit_kept called sys.exit(0)",
        ),
        (("leaving.py:model", "--perturb", "linf:0.1"), "its module called sys.exit(0)"),
        (("leaving:model", "--perturb", "linf:0.1"), "its module called sys.exit(0)"),
        (("mine.py:leaves", "--perturb", "linf:0.1"), "GeneratorExit"),
    ],
)
def test_code_that_ends_the_program_is_an_error_and_no_pass(own, words, says):
    model, *others = words
    done = own.run("estimate", model, "test.npz", *others, *ESTIMATE, "--require", "0.9")
    assert done.returncode == 3, done.stdout
    assert says in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout
