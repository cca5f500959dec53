"""`surefoot demo`: a small network and some hundred images that come with the package."""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.requirement_options import Requiring
from surefoot.cli.run_options import Asked, Running, conclude
from surefoot.errors import InvalidArgument

_PERTURB = "linf:32/255"
_WIDTH, _ERROR = 0.02, 0.01


def demo(
    out: Annotated[
        str, typer.Option("--out", help="The folder for report.html and the store.")
    ] = ".",
    json: o.Json = False,
) -> int:
    """Estimate the robustness of an embedded Fashion-MNIST network and write report.html.

    Example: surefoot demo --out .
    """
    from surefoot.statistics import ExactSequential

    folder = Path(out)
    if not folder.is_dir():
        raise InvalidArgument(f"there is no folder {out}: make it first")
    data = files("surefoot") / "data"
    report, store = str(folder / "report.html"), str(folder / o.DEFAULT_STORE)
    with as_file(data / "fashion_cnn.onnx") as model, as_file(data / "fashion_test.npz") as inputs:
        sys.stderr.write(
            "A small network (90 % accurate) meets 300 Fashion-MNIST test images, the first 30 of\n"
            "each class, perturbed by random noise of up to 32/255 a pixel. How often does its\n"
            "answer change?\n\n"
        )
        running = Running(_PERTURB, report=report, store=store, json=json)
        asked = Asked(str(inputs), "same", ExactSequential(_WIDTH, _ERROR))
        study, source = running.study(o.Reading(bounds="0,1"), str(model), asked)
        code = conclude(study, source, running, Requiring())
    sys.stderr.write(f"open {report} in a browser\n")
    return code
