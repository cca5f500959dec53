"""`plan`, `doctor`, `design`: what a run will cost, and whether model and data fit together."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from surefoot.commands import methods
from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.commands.caller import Answer, Caller
from surefoot.commands.option import PANEL_OF_RUN
from surefoot.errors import InvalidArgument
from surefoot.records.options import PRECISION, FileOptions, Option, option, same_option

if TYPE_CHECKING:
    from surefoot.report.tables import Table
    from surefoot.report.views.design import Cost
    from surefoot.statistics.designs import Design
    from surefoot.study.run import Checkup
    from surefoot.study.study import Plan


@dataclass(frozen=True)
class SeedOptions:
    """The seed alone, of a command that stores nothing."""

    seed: int = option(o.SEED, "Random seed.", least=0)


def doctor(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: Annotated[
        v.AnyPerturbation, Option("Also check this perturbation, for example linf:8/255.")
    ] = None,
    *,
    inputs: FileOptions,
    choice: SeedOptions,
) -> Checkup:
    """Check that model and data fit together before a run; `print` the answer.

    Model, data and perturbation as for `sf.estimate`; without a perturbation model and data alone
    are checked. The options are those of `surefoot doctor`.

    Example: print(sf.doctor("model.onnx", "test.npz", bounds=(0, 1)))
    """
    from surefoot.commands.request import read_subjects
    from surefoot.study.run import doctor as check

    subjects = read_subjects({"": model}, data, inputs, choice.seed)
    noise = None if perturb is None else v.as_perturbation(perturb, subjects.inputs.frame)
    return check(subjects.models[""], subjects.inputs, noise)


@dataclass(frozen=True)
class PlanOptions:
    """Which run is planned, and what is assumed of the model."""

    precision: v.Number | None = option(
        None,
        f"Plan `estimate` with this precision of the mean (default: {PRECISION}).",
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
    method: str | None = same_option(o.EstimateOptions, "method")
    assume: v.Numbers = option(
        "1,0.999,0.99,0.9,0.5", "Assumed probabilities that a perturbed input is kept."
    )

    def planned(self, stages: methods.BuSunOptions) -> v.AnyMethod:
        """The method that is planned."""
        if self.kappa is None:
            mean = o.EstimateOptions(
                self.precision, self.about, each=self.each,
                confidence=self.confidence, method=self.method,
            )  # fmt: skip
            return methods.mean_or_each(mean, stages)
        methods.refuse_method(self.method, stages, "kappa")
        if self.each is not None or self.precision is not None:
            raise InvalidArgument(
                "give either each (--each) or precision (--precision), for estimate, or kappa "
                "(--kappa), for certify"
            )
        return methods.kappa_method(o.KappaOptions(kappa=self.kappa, confidence=self.confidence))


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
    stages: methods.BuSunOptions,
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


_FAILURE_PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_ROWS = 12
"""Interim analyses that fit on a screen."""


@dataclass(frozen=True)
class DesignOptions:
    """Of which estimate, and how much of its design is shown."""

    width: v.Number = option(o.WIDTH, "How far each estimate may be from the truth.")
    confidence: v.Number = option(o.CONFIDENCE, "Confidence of the result.")
    every: bool = option(False, "Print every interim analysis.", names=("--all",))
    figure: str | None = option(None, "Write the figure here: design.svg, .png, .pdf or .json.")


def design(*, options: DesignOptions, caller: Caller) -> Answer:
    """The design of exact-sequential, in sentences and tables."""
    from surefoot.report.figures import write_figure
    from surefoot.report.views.design import cost, design_figure, design_sentences

    figure = options.figure
    v.check_figure_file(figure)
    made: Design = methods.estimate_method(options.width, options.confidence).design
    costs = cost(made, _FAILURE_PROBABILITIES)
    if figure is not None:
        write_figure(design_figure(made), Path(figure))
        caller.remark(f"figure written to {figure}")
    lines: tuple[str | Table, ...] = (
        *design_sentences(made),
        *_tables(made, costs, len(made.looks) if options.every else _ROWS),
        f"Okamoto's number of trials is {costs.okamoto:,}; the smallest fixed number for every p "
        f"is {costs.fixed_size:,}. The limit is what any sound method needs on average when the "
        "width is small.",
    )
    return Answer(lines, json.dumps({"design": asdict(made), "cost": asdict(costs)}))


def _tables(made: Design, costs: Cost, rows: int) -> tuple[Table, Table]:
    """When to stop, at the first interim analysis, every few, and the last; and the cost."""
    from surefoot.report.tables import Table

    last, step = len(made.looks) - 1, math.ceil(len(made.looks) / rows)
    ordinal = {2: "2nd", 3: "3rd"}.get(step, f"{step}th")
    some = f" (every {ordinal} analysis; --all prints all)" if step > 1 else ""
    stops = [
        (str(i + 1), f"{made.looks[i]:,}", "always" if i == last else f"{made.few[i]:,}")
        for i in sorted({*range(0, last, step), last})
    ]
    few = "stop if at most this many are kept, or at most this many failed"
    expected = [
        (
            f"{row.p:g}",
            f"{row.trials:,.0f}",
            f"{100 * row.trials / costs.okamoto:.1f} %",
            f"{row.limit:,.0f}",
        )
        for row in costs.expected
    ]
    headings = ("p or 1 - p", "expected trials", "of Okamoto's number", "limit")
    return (
        Table(f"When to stop{some}", ("analysis", "trials", few), tuple(stops), 0),
        Table("Expected trials", headings, tuple(expected), 0),
    )
