"""`surefoot demo`: a small network and 300 images that come with the package."""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.output import run_command
from surefoot.commands.estimate import estimate
from surefoot.commands.options import (
    BatchOptions,
    EstimateOptions,
    LevelsOptions,
    PropertyOptions,
    RunOptions,
)
from surefoot.commands.requirement_options import RequirementOptions
from surefoot.errors import InvalidArgument

_PERTURB = "linf:32/255"
_MEASUREMENT = EstimateOptions(width=0.02, confidence=0.99)
"""More confidence than the default: the demo takes seconds anyway, and the README quotes it."""


def demo(
    out: Annotated[str, typer.Option("--out", help="Folder for report.html and the store.")] = ".",
    json: o.Json = False,
) -> int:
    """Run an example that comes with the package, and write report.html.

    It estimates how often a small Fashion-MNIST network fails under random noise.

    Example: surefoot demo --out .
    """
    folder = Path(out)
    if not folder.is_dir():
        raise InvalidArgument(f"there is no folder {out}: create it first")
    data = files("surefoot") / "data"
    report, store = str(folder / "report.html"), str(folder / o.DEFAULT_STORE)
    with as_file(data / "fashion_cnn.onnx") as model, as_file(data / "fashion_test.npz") as images:
        sys.stderr.write(
            "A small network (90 % accurate) classifies 300 Fashion-MNIST test images, the first\n"
            "30 of each class, perturbed by random noise of up to 32/255 per pixel. How often\n"
            "does its answer change?\n\n"
        )
        code = run_command(
            estimate,
            str(model),
            str(images),
            _PERTURB,
            json=json,
            inputs=InputOptions(bounds="0,1").files(),
            measurement=_MEASUREMENT,
            prop=PropertyOptions(),
            levels=LevelsOptions(),
            requirement=RequirementOptions(),
            running=RunOptions(report=report, store=store),
            batches=BatchOptions(),
        )
    sys.stderr.write(f"open {report} in a browser\n")
    return code
