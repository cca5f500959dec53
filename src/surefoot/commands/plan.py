"""`plan`: what a run will cost, before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.commands.caller import Caller
from surefoot.commands.doctor import SeedOptions
from surefoot.commands.methods import BuSunOptions, kappa_method, mean_or_each, refuse_method
from surefoot.commands.option import PANEL_OF_RUN
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions, option

if TYPE_CHECKING:
    from surefoot.study.cost_plan import Plan


@dataclass(frozen=True)
class PlanOptions:
    """Which run is planned, and what is assumed of the model."""

    precision: v.Number | None = option(
        None,
        f"Plan `estimate` with this precision of the mean (default: {o.PRECISION}).",
        common=True,
    )
    about: str | None = option(
        None, "What the mean of --precision is about: these or population (default: these)."
    )
    each: v.Number | None = option(
        None, "Plan `estimate` with this width of each input instead.", common=True
    )
    kappa: v.Number | None = option(None, "Plan `certify` with this kappa instead.", common=True)
    confidence: v.Number = option(o.CONFIDENCE, "Confidence of the result.")
    method: str | None = option(
        None,
        "With --each: exact-sequential, bu-sun, fixed-size or okamoto (default: exact-sequential).",
    )
    assume: v.Numbers = option(
        "1,0.999,0.99,0.9,0.5", "Assumed probabilities that a perturbed input is kept."
    )

    def planned(self, stages: BuSunOptions) -> v.AnyMethod:
        """The method that is planned."""
        if self.kappa is None:
            mean = o.EstimateOptions(
                self.precision, self.about, self.each,
                confidence=self.confidence, method=self.method,
            )  # fmt: skip
            return mean_or_each(mean, stages)
        refuse_method(self.method, stages, "kappa")
        if self.each is not None or self.precision is not None:
            raise InvalidArgument(
                "give either each (--each) or precision (--precision), for estimate, or kappa "
                "(--kappa), for certify"
            )
        return kappa_method(o.KappaOptions(kappa=self.kappa, confidence=self.confidence))


@dataclass(frozen=True)
class PlanRunOptions(SeedOptions):
    """The seed, and how many work on it."""

    workers: int | None = option(
        None, "Worker threads (default: chosen for the model).", least=1, panel=PANEL_OF_RUN
    )


def plan(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: o.Perturb,
    *,
    measurement: PlanOptions,
    stages: BuSunOptions,
    prop: o.PropertyOptions,
    inputs: FileOptions,
    choice: PlanRunOptions,
) -> Plan:
    """Predict how many trials and how much time a run will take; nothing is stored.

    Model, data and perturbation as for `sf.estimate`; the options are those of `surefoot plan`.

    Example: print(sf.plan("model.onnx", "test.npz", "linf:8/255", each=0.01))
    """
    from surefoot.commands.request import SamplingRequest

    assumed = [v.share("assume", p) for p in v.as_numbers("assume", measurement.assume)]
    method = measurement.planned(stages)
    request = SamplingRequest(model, data, perturb, inputs, prop.property, method)
    study, _ = request.study(choice.seed, Caller())
    return study.plan(assumed, choice.workers)
