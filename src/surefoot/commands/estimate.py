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
    clean: o.CleanOptions,
    inputs: FileOptions,
    running: o.RunOptions,
    batches: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Estimate how accurate a model is under random perturbations, with intervals.

    The mean over these inputs (or over the population) to a half-width of `precision`, with few
    trials; or, with `each`, each input to that width, each class and the population.

    `model` is a path, a module, an estimator, a function or a loaded model; `data` a path,
    `(x, y)`, an array, a dataset or loaded inputs; `perturb` text such as "linf:8/255" or an object
    of `sf.perturb`. The options are those of `surefoot estimate`. With a `store` an interrupted
    call goes on where it stopped; `store=None` keeps nothing.

    Example: sf.estimate("model.onnx", "test.npz", "linf:8/255", require=0.8)
    """
    from surefoot.commands.request import SamplingRequest, run_sampling

    of_each = levels.levels is not None or requirement.require_each is not None
    method = mean_or_each(measurement, stages, of_each=of_each)
    request = SamplingRequest(model, data, perturb, inputs, prop.property, method)
    return run_sampling(request, levels, requirement, running, batches, clean, caller)
