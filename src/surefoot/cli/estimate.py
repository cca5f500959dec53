"""`surefoot estimate`: failure probabilities to a stated width."""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.levels_options import LevelsOptions, run_at_levels
from surefoot.cli.methods import estimate_method
from surefoot.cli.requirement_options import RequirementOptions
from surefoot.cli.run_options import RunOptions, StudyRequest


@o.expand_options
def estimate(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    inputs: InputOptions,
    perturb: o.PerturbOption,
    width: o.WidthOption = o.DEFAULT_WIDTH,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    method: Annotated[
        str, typer.Option(help="exact-sequential, bu-sun, fixed-size or okamoto.")
    ] = "exact-sequential",
    prop: o.PropertyOption = "same",
    levels: LevelsOptions,
    requirement: RequirementOptions,
    options: RunOptions,
) -> int:
    """Estimate how often each input fails under random perturbations, with intervals.

    Each input, each class and the population get an estimate with an interval. If the run is
    interrupted, the same command continues it.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --report report.html
    """
    request = StudyRequest(inputs, data, perturb, prop, estimate_method(method, width, confidence))
    return run_at_levels(request, model, options, levels, requirement)
