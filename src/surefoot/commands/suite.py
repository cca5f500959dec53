"""`suite`: accuracy under many perturbations at several levels, in one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.records.options import PRECISION, option, refused, refused_value, same_option

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.records.record import Source
    from surefoot.study import Result
    from surefoot.study.study import CellPlan, SuiteForecast

_LARGE_INPUT = 50_000
"""Values of an input beyond which models are slow: there a pass over the inputs is the default."""


@dataclass(frozen=True)
class SuiteOptions:
    """Which suite, and how well each of its cells is to be known."""

    suite: str | Path | object | None = option(
        None,
        "corruptions, corruptions-extra, noise, weather, geometry, sensor, table, text, "
        "audio, or a file of your own, mine.toml (default: what suits the data).",
        common=True,
    )
    precision: v.Number | None = option(
        None,
        f"Half-width of the interval of each cell (default: {PRECISION}; of inputs of more than "
        f"{_LARGE_INPUT:,} values one pass).",
        common=True,
    )
    passes: int | None = option(
        None, "Instead of --precision: trials of each input in each cell.", least=1
    )
    about: str | None = option(
        None, "What the table is about: these (inputs) or population (default: these)."
    )
    confidence: v.Number = same_option(o.EstimateOptions, "confidence")
    require: v.Number | None = option(
        None, "Require that the mean of all cells, not each, is at least this: 0.6.", common=True
    )
    property: str | object | None = option(
        None,
        "When an output counts as kept (default: true, its label, where the data have labels; else "
        "same).",
    )
    figure: str | Path | None = option(None, "Write the figure here: suite.svg, .png or .json.")
    baseline: str | Path | object | None = option(
        None, "Another model, run beside this one: the mCE, errors over those of the baseline."
    )

    def plan(self, values: int) -> CellPlan:
        """How each cell is measured; `values` are those of one input."""
        from surefoot.core.claims import About
        from surefoot.study.study import CellPlan

        about = {None: About.THESE, "these": About.THESE, "population": About.POPULATION}
        if self.about not in about:
            raise refused(
                "about", self.about, f"must be these or population, got {self.about!r}: choose one"
            )
        if self.precision is not None and self.passes is not None:
            raise refused_value(
                "passes", self.passes, "is in place of a precision: leave out one of them"
            )
        precision, passes = self.precision, self.passes
        large = values > _LARGE_INPUT and about[self.about] is About.THESE
        if precision is None and passes is None:
            precision, passes = (None, 1) if large else (PRECISION, None)
        number = None if precision is None else v.as_number("precision", precision)
        return CellPlan(number, passes, about[self.about], v.error_from(self.confidence))


def suite(
    model: o.ModelArgument,
    data: o.DataArgument,
    *,
    measurement: SuiteOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Measure accuracy under every perturbation of a suite, with an interval in each cell.

    All cells and their mean share one error. Model and data as for `sf.estimate`; the options are
    those of `surefoot suite`. With a `store` every cell is a run of its own in it, and an
    interrupted call goes on with the cells that are missing.

    Example: sf.suite("model.onnx", "test.npz", suite="weather", precision=0.05)
    """
    from surefoot.catalogue.suites import choose_suite, read_suite
    from surefoot.commands.request import read_subjects, run_each
    from surefoot.records.record import BASELINE
    from surefoot.study import Study
    from surefoot.study.study import cell_studies, run_suite

    running.check()
    v.check_figure_file(measurement.figure)
    measurement.plan(0)  # refuses a mistake before files are read
    if measurement.require is not None:
        v.share("require", measurement.require)
    if isinstance(measurement.suite, str | Path) and str(measurement.suite).endswith(".toml"):
        read_suite(measurement.suite)
    beside = {} if measurement.baseline is None else {BASELINE: measurement.baseline}
    subjects = read_subjects(
        {"": model, **beside}, data, running, running.seed, measurement.property
    )
    running.check_clean(subjects.inputs)
    chosen = choose_suite(measurement.suite, subjects.inputs)
    plan = measurement.plan(getattr(subjects.inputs.x[0], "size", 0))
    cells = chosen.perturbations(subjects.inputs.frame)
    first = next(iter(cells.values()))
    studies: dict[str, Study] = {}
    sources: dict[str, Source | None] = {}
    each = replace(plan, error=plan.error / 2) if beside else plan
    for name, one in subjects.models.items():
        whole = Study(
            one, subjects.inputs, first, plan.method(1, 1), property=subjects.property,
            seed=running.seed,
        )  # fmt: skip
        own = cell_studies(whole, cells, each)
        studies |= {f"{name}{cell}": study for cell, study in own.items()}
        source = subjects.source(name, caller, chosen.name)
        for cell, text in chosen.texts.items():
            known = source if isinstance(text, str) else None
            sources[f"{name}{cell}"] = None if known is None else replace(known, perturb=text)
    for words in filter(None, [chosen.left_out, _budget_words(plan, measurement)]):
        caller.remark(words)
    say = partial(_say_forecast, caller)
    run = partial(run_suite, studies, chosen.name, plan.error, on_forecast=say)
    quiet = replace(caller, announce=lambda _: None)  # the progress says which cell it is
    result = run_each(run, sources, quiet, part="cell", **running.arguments())
    least = None if measurement.require is None else v.share("require", measurement.require)
    return running.finish(result, caller.command, measurement.figure, least=least)


def _budget_words(plan: CellPlan, measurement: SuiteOptions) -> str:
    """That the default is a budget, and what narrows it."""
    if plan.passes is None or measurement.passes is not None:
        return ""
    return (
        f"inputs are large: {plan.passes} trial of each in every cell "
        f"(--precision {PRECISION} for narrower intervals)"
    )


def _say_forecast(caller: Caller, forecast: SuiteForecast) -> None:
    from surefoot.report.formatting import duration_words

    trials, time = f"{forecast.trials:,} trials", duration_words(forecast.seconds)
    caller.announce(f"{forecast.cells} cells, about {trials}, about {time} (a forecast)")
