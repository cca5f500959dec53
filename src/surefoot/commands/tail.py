"""`tail`: a rare failure, extrapolated (RoMA) or searched for, next to what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.methods import tail_method
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result

LIMIT = 0.6
"""The confidence of RoMA's experiments."""


def tail(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: o.Perturb,
    *,
    measurement: o.TailOptions,
    levels: o.LevelsOptions,
    requirement: o.RequirementOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """The probability of a rare confident mistake: extrapolated (RoMA), or by splitting.

    RoMA's is without guarantee; splitting takes for granted that it reached every kind of failure.
    Model, data and perturbation as for `sf.estimate`; the options are those of `surefoot tail`.

    Example: sf.tail("model.onnx", "test.npz", "linf:8/255", limit=0.6)
    """
    from surefoot.commands.request import SamplingRequest, run_sampling

    if measurement.property is not None and measurement.limit is not None:
        raise InvalidArgument(
            f"limit (--limit) {measurement.limit} is about confident mistakes: leave out property "
            f"(--property) {measurement.property}"
        )
    limit = LIMIT if measurement.limit is None else measurement.limit
    measured = measurement.property or f"confident:{limit}"
    method = tail_method(measurement)
    if measurement.method == "splitting" and o.required(requirement) != o.Required():
        raise InvalidArgument(
            "splitting takes for granted that it reached every kind of failure, which nothing can "
            "confirm, so that it passes no requirement: leave out the requirement, or count "
            "(surefoot certify --kappa 1e-4)"
        )
    request = SamplingRequest(model, data, perturb, running, measured, method)
    return run_sampling(request, levels, requirement, running, caller)
