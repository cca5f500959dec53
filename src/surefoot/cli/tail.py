"""`surefoot tail`: RoMA, a rare failure extrapolated, next to what was counted."""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.levels_options import LevelsOptions, run_at_levels
from surefoot.cli.methods import tail_method
from surefoot.cli.requirement_options import RequirementOptions
from surefoot.cli.run_options import RunOptions, StudyRequest
from surefoot.errors import InvalidArgument

_LIMIT = "0.6"
"""The confidence of RoMA's experiments."""


@o.expand_options
def tail(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    inputs: InputOptions,
    perturb: o.PerturbOption,
    limit: Annotated[
        str,
        typer.Option(help="Confidence that no wrong class may reach, from 0.5 to 1."),
    ] = _LIMIT,
    prop: Annotated[
        str | None,
        typer.Option(
            "--property",
            help="In place of --limit, for a model without classes: close:0.5, iou:0.8.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=20, help="Trials per input.")] = 1000,
    normality: Annotated[
        str, typer.Option(help="Level of the Anderson-Darling test of normality.")
    ] = "0.05",
    transforms: Annotated[
        str,
        typer.Option(help="Transforms to try, in this order: none, box-cox, logit, yeo-johnson."),
    ] = "none,box-cox",
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    levels: LevelsOptions,
    requirement: RequirementOptions,
    options: RunOptions,
) -> int:
    """Extrapolate the probability of a rare confident mistake (RoMA); without guarantee.

    A normal distribution is fitted to the highest wrong confidence of each trial and evaluated at
    the limit. That is an extrapolation and has no guarantee. The failures that were counted, with
    their interval, are printed next to it; a contradiction is reported. A requirement is about the
    counted mean.

    Example: surefoot tail model.onnx test.npz --perturb linf:8/255 --limit 0.6
    """
    method = tail_method(confidence, draws, normality, transforms)
    if prop is not None and limit != _LIMIT:
        raise InvalidArgument(
            f"--limit {limit} is about confident mistakes: leave out --property {prop}"
        )
    measured = prop or f"confident:{limit}"
    request = StudyRequest(inputs, data, perturb, measured, method)
    return run_at_levels(request, model, options, levels, requirement)
