"""Odd terminals, closed pipes, odd names: words come out, never exit code 1 by accident."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from tests.system.hold import SECONDS

QUICK = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:32/255", "--each", "0.2")


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "30"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_any_terminal_gets_the_result(workspace, surroundings):
    spoken = surroundings.get("PYTHONIOENCODING", "utf-8")
    done = workspace.succeed(
        *QUICK, "--first", "4", env={**os.environ, **surroundings}, encoding=spoken
    )
    assert "ccuracy on these 4 inputs" in " ".join(done.stdout.split())


def test_the_package_runs_as_a_module(workspace):
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", "perturb", "fogg"], cwd=workspace.folder, text=True,
        capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 3
    assert "there is no perturbation 'fogg': do you mean fog?" in done.stderr


def test_a_image_with_an_undecodable_name(workspace):
    folder = workspace.folder / "images" / "0"
    folder.mkdir(parents=True)
    Image.fromarray(workspace.x[0]).save(os.fsencode(folder) + b"/\xff.png")
    workspace.succeed("estimate", "model.onnx", "images", "--perturb", "linf:0.1", "--each", "0.2")


@pytest.mark.parametrize(
    "words",
    [("--each", "1e-200"), ("--classes", "²"), ("--shape", "²"), ("--size", "²x²"),
     ("--confidence", "0.99999999999999"), ("--method", "fixed-size", "--each", "1e-6")],
)  # fmt: skip
def test_odd_numbers_are_refused_not_crashed_on(refusal, words):
    assert "a fault in surefoot" not in refusal(*QUICK, *words)


def test_what_the_preflight_wonders_about_is_said_with_the_result(workspace):
    workspace.save("raw.npz", x=workspace.x[:10].astype(np.float32), y=workspace.y[:10])
    words = ("--perturb", "linf:8/255", "--each", "0.2", "--report", "r.html")
    done = workspace.succeed("estimate", "model.onnx", "raw.npz", *words)
    assert "(--scale 255 --bounds 0,1)" in done.stdout
    assert "the level in the unit of the data" in done.stdout
    assert "the level in the unit of the data" in (workspace.folder / "r.html").read_text()
