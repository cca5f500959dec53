"""`estimate`: failure probabilities to a stated width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.methods import BuSunOptions, mean_or_each
from surefoot.records.options import FileOptions

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result


def estimate(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: o.Perturb,
    *,
    measurement: o.EstimateOptions,
    stages: BuSunOptions,
    prop: o.PropertyOptions,
    levels: o.LevelsOptions,
    requirement: o.RequirementOptions,
    inputs: FileOptions,
    running: o.RunOptions,
    batches: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Estimate how often a model fails under random perturbations, with intervals.

    With `precision` the mean over these inputs (or over the population) to that half-width, with
    few trials; else each input, each class and the population to a `width` of each input.

    `model` is a path, a module, an estimator, a function or a loaded model; `data` a path,
    `(x, y)`, an array, a dataset or loaded inputs; `perturb` text such as "linf:8/255" or an object
    of `sf.perturb`. The options are those of `surefoot estimate`. With a `store` an interrupted
    call goes on where it stopped; `store=None` keeps nothing.

    Example: sf.estimate("model.onnx", "test.npz", "linf:8/255", width=0.05)
    """
    from surefoot.commands.request import SamplingRequest, run_sampling

    method = mean_or_each(measurement, stages)
    request = SamplingRequest(model, data, perturb, inputs, prop.property, method)
    return run_sampling(request, levels, requirement, running, batches, caller)
