"""`surefoot critical`: how far can an input be perturbed before its label can change?"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import critical as function


@o.options_of(function.critical)
def critical(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL.onnx... DATA", help="One or more ONNX files, then the data."),
    ],
    *,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Bracket the L∞ radius at which each label can change, between proof and counterexample.

    Up to the lower end of a bracket the label is proved constant; at the upper end there is a
    perturbed input that the model gives another label. The result is the radius that a share of the
    inputs does not reach, with an interval for the population. If the run is interrupted, the
    brackets so far are printed, and the same command continues it. Needs pip install
    'surefoot\\[verify]'.

    Example: surefoot critical model.onnx test.npz --first 20 --tolerance 0.002 --quantile 0.05
    """
    _limit_library_threads()
    *models, data = paths
    return run_command(function.critical, models, data, json=json, **options)


def _limit_library_threads() -> None:
    """One thread for each numerical library: our workers already use the cores.

    The CPU time of further threads would not be counted. Must be set before the libraries load.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
