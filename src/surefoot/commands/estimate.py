"""`estimate`: failure probabilities to a stated width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.methods import BuSunOptions, mean_or_each

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result


def estimate(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: o.SeveralPerturb,
    *,
    measurement: o.EstimateOptions,
    stages: BuSunOptions,
    prop: o.PropertyOptions,
    levels: o.LevelsOptions,
    requirement: o.RequirementOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Estimate how accurate a model is under random perturbations, with intervals.

    The mean over these inputs (or over the population) to a half-width of `precision`, with few
    trials; or, with `each`, each input to that width, each class and the population.

    `model` is a path, a module, an estimator, a function or a loaded model; `data` a path,
    `(x, y)`, an array, a dataset or loaded inputs; `perturb` text such as "linf:8/255" or an object
    of `sf.perturb`; of several in a list it is `sf.suite` with these rows. The options are those of
    `surefoot estimate`. With a `store` an interrupted call goes on where it stopped; `store=None`
    keeps nothing.

    Example: sf.estimate("model.onnx", "test.npz", "linf:8/255", require=0.8)
    """
    from surefoot.commands.request import SamplingRequest, run_sampling

    several = o.one_or_several(perturb)
    if len(several) > 1:
        from surefoot.catalogue.suites import suite_of
        from surefoot.commands.suite import SuiteOptions, suite

        one = {"each": measurement.each, "method": measurement.method, "levels": levels.levels}
        of_classes = {"by_class": measurement.by_class, "require_each": requirement.require_each}
        o.refuse_with_several({**one, **of_classes, **vars(stages)})
        cells = SuiteOptions(
            suite_of(several), measurement.precision, None, measurement.about,
            measurement.confidence, requirement.require, prop.property, levels.figure,
        )  # fmt: skip
        return suite(model, data, measurement=cells, running=running, caller=caller)
    of_each = levels.levels is not None or requirement.require_each is not None
    method = mean_or_each(measurement, stages, of_each=of_each)
    anytime, by_class = measurement.planned or measurement.anytime, measurement.by_class
    request = SamplingRequest(
        model, data, several[0], running, prop.property, method, anytime, by_class
    )
    return run_sampling(request, levels, requirement, running, caller)
