"""Small studies of every command that measures, and the files that they read and write."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.unit.small_models import relu_net

SHAPE = (1, 6, 6)
_FUNCTIONS = """
import numpy as np

rng = np.random.default_rng(5)
first, second = rng.normal(size=(2, 36, 3)).astype(np.float32)

def scores(x):
    return (x.reshape(len(x), -1) - 0.5) @ first

def others(x):
    return (x.reshape(len(x), -1) - 0.5) @ (first + 0.2 * second)
"""
_FUNCTION = ("mine.py:scores", "test.npz", "--shape", "1,6,6", "--scores", "logits")
_NOISE = ("--perturb", "linf:0.2", "--bounds", "0,1", "--batch", "64")


@dataclass(frozen=True)
class SmallStudy:
    """The words of a command, and the files that it writes."""

    words: tuple[str, ...]
    files: tuple[str, ...] = ()


STUDIES = {
    "estimate": SmallStudy(
        ("estimate", *_FUNCTION, *_NOISE, "--each", "0.05", "--require", "0.99",
         "--report", "report.html"),
        ("report.html",),
    ),
    "estimate onnx": SmallStudy(
        ("estimate", "model.onnx", "test.npz", *_NOISE, "--each", "0.05", "--method", "okamoto"),
    ),
    "certify": SmallStudy(
        ("certify", *_FUNCTION, *_NOISE, "--kappa", "0.02", "--max-trials", "2000",
         "--require", "all", "--report", "report.html"),
        ("report.html",),
    ),
    "tail": SmallStudy(("tail", *_FUNCTION, *_NOISE, "--draws", "500")),
    "curve": SmallStudy(
        ("curve", *_FUNCTION, "--bounds", "0,1", "--perturb", "gaussian:0..0.3", "--threshold",
         "0.5", "--resolution", "0.1", "--batch", "64", "--figure", "curve.svg"),
        ("curve.svg",),
    ),
    "critical": SmallStudy(
        ("critical", "model.onnx", "test.npz", "--bounds", "0,1", "--first", "6",
         "--counterexamples", "examples.npz", "--vnnlib", "properties"),
        ("examples.npz", "properties"),
    ),
    "compare": SmallStudy(
        ("compare", "mine.py:scores", "mine.py:others", *_FUNCTION[1:], *_NOISE, "--each", "0.1",
         "--report", "report.html"),
        ("report.html",),
    ),
}  # fmt: skip


def write_inputs(folder: Path) -> None:
    """The models and the data of all studies."""
    (folder / "mine.py").write_text(_FUNCTIONS)
    relu_net(folder / "model.onnx", SHAPE)
    rng = np.random.default_rng(7)
    x = rng.uniform(0, 1, (12, *SHAPE)).astype(np.float32)
    np.savez(folder / "test.npz", x=x)
