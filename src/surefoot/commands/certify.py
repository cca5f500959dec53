"""`certify`: is the failure probability of each input at most kappa?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.methods import kappa_method

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result


def certify(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: o.Perturb,
    *,
    measurement: o.KappaOptions,
    prop: o.PropertyOptions,
    levels: o.LevelsOptions,
    attack: o.AttackOptions,
    requirement: o.DecisionRequirementOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Decide whether each input is wrong under at most a share kappa of the perturbations.

    Model, data and perturbation as for `sf.estimate`; the options are those of `surefoot certify`.
    `attack` may also be an `sf.methods.Attack` or `PGD`, or a function of (model, images, labels,
    radius) that returns perturbed images.

    Example: sf.certify("model.onnx", "test.npz", "linf:8/255", kappa=1e-2)
    """
    from surefoot.commands.request import SamplingRequest, run_sampling

    method, gradient_attack = kappa_method(measurement), attack.method()
    request = SamplingRequest(model, data, perturb, running, prop.property, method)
    return run_sampling(request, levels, requirement, running, caller, gradient_attack)
