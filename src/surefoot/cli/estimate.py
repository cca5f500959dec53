"""`surefoot estimate`: how robust, to a stated width."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli.levels_option import Side, run_levels
from surefoot.cli.options import DataArg, ModelArg, Reading, expanded
from surefoot.cli.requirement_options import Requiring
from surefoot.cli.run_options import Asked, PropertyOption, Running, conclude
from surefoot.errors import InvalidArgument


@expanded
def estimate(
    model: ModelArg,
    data: DataArg,
    *,
    reading: Reading,
    width: Annotated[str, typer.Option(help="How far an estimate may be off.")] = "0.02",
    confidence: Annotated[str, typer.Option(help="How sure to be.")] = "0.99",
    method: Annotated[
        str, typer.Option(help="exact-sequential, bu-sun, fixed-size or okamoto.")
    ] = "exact-sequential",
    prop: PropertyOption = "same",
    side: Side,
    requiring: Requiring,
    running: Running,
) -> int:
    """Estimate how likely each input keeps its label under random perturbation.

    The mean over the population of inputs, each class, and each input come with an interval.
    Interrupted, the same command goes on where it stopped.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --report report.html
    """
    requiring.check()
    side.check()
    asked = Asked(data, prop, method_for(method, width, confidence))
    if side.levels is not None:
        return run_levels(reading, model, asked, running, side, requiring)
    study, source = running.study(reading, model, asked)
    return conclude(study, source, running, requiring)


def method_for(method: str, width: str, confidence: str) -> Any:  # noqa: ANN401
    """The method of this name, at this width and confidence."""
    from surefoot.methods import ESTIMATORS
    from surefoot.study.registry import number, share

    if method not in ESTIMATORS:
        raise InvalidArgument(
            f"there is no method {method!r}: choose one of {', '.join(ESTIMATORS)}"
        )
    return ESTIMATORS[method](number(width), round(1 - share("--confidence", confidence), 12))
