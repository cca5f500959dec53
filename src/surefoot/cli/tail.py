"""`surefoot tail`: RoMA, a rare failure extrapolated, with the plain count beside it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli.levels_option import Side, run_levels
from surefoot.cli.options import DataArg, ModelArg, Reading, expanded
from surefoot.cli.requirement_options import Requiring
from surefoot.cli.run_options import Asked, Running, conclude

DrawsOption = Annotated[int, typer.Option(min=20, help="Trials an input.")]
DELTA = "0.6"


@expanded
def tail(
    model: ModelArg,
    data: DataArg,
    *,
    reading: Reading,
    limit: Annotated[
        str,
        typer.Option(help="The confidence that no other label may reach, from 0.5 to 1."),
    ] = DELTA,
    draws: DrawsOption = 1000,
    normality: Annotated[
        str, typer.Option(help="The level of the Anderson-Darling test of normality.")
    ] = "0.05",
    transforms: Annotated[
        str,
        typer.Option(help="To be tried in this order: none, box-cox, logit, yeo-johnson."),
    ] = "none,box-cox",
    confidence: Annotated[str, typer.Option(help="How sure to be of what is counted.")] = "0.95",
    side: Side,
    requiring: Requiring,
    running: Running,
) -> int:
    """Extrapolate how likely a confident mistake is, from the spread of the scores (RoMA).

    A normal distribution is fitted to the highest wrong confidence of each trial and read off at
    limit. That is a model's guess and carries no guarantee; what the trials themselves show stands
    beside it, and a contradiction is flagged. What is required is required of the counted mean.

    Example: surefoot tail model.onnx test.npz --perturb linf:8/255 --limit 0.6
    """
    requiring.check()
    side.check()
    method_ = method_for(draws, confidence, normality, transforms)
    asked = Asked(data, f"confident:{limit}", method_)
    if side.levels is not None:
        return run_levels(reading, model, asked, running, side, requiring)
    study, source = running.study(reading, model, asked)
    return conclude(study, source, running, requiring)


def method_for(
    draws: int, confidence: str, normality: str = "0.05", transforms: str = "none,box-cox"
) -> Any:  # noqa: ANN401
    """RoMA, with these settings."""
    from surefoot.statistics import NormalTail
    from surefoot.study.registry import share

    return NormalTail(
        draws=draws,
        level=share("--normality", normality),
        transforms=tuple(part.strip() for part in transforms.split(",")),
        error=round(1 - share("--confidence", confidence), 12),
    )
