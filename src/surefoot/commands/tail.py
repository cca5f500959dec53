"""`tail`: RoMA, a rare failure extrapolated, next to what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.methods import tail_method
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions

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
    clean: o.CleanOptions,
    inputs: FileOptions,
    running: o.RunOptions,
    batches: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Extrapolate the probability of a rare confident mistake (RoMA); without guarantee.

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
    request = SamplingRequest(model, data, perturb, inputs, measured, method)
    return run_sampling(request, levels, requirement, running, batches, clean, caller)
