"""`curve`: up to which level does the model still work?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.commands.curve_options import CurveOptions
from surefoot.commands.option import option, option_name
from surefoot.commands.options import BatchOptions, RunOptions
from surefoot.commands.output_files import check_figure_file
from surefoot.commands.values import Number, as_number, as_property
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.commands.subjects import Subjects
    from surefoot.core.results import Interval
    from surefoot.records.record import Source
    from surefoot.study import Result, Study
    from surefoot.study.load_files import FileOptions
    from surefoot.subject.protocols import Perturbation


@dataclass(frozen=True)
class CurveOutcome:
    """What is shown and required of the curves."""

    by_class: bool = option(False, "Also a curve for each class.")
    require: Number | None = option(
        None,
        "Require accuracy at or above the threshold on at least this share of the range of levels, "
        "from 0 to 1 (not a level): 0.25.",
    )
    figure: str | Path | None = option(None, "Write the figure here: curve.svg, .png or .json.")


def curve(
    model: Any,  # noqa: ANN401  any kind of model
    data: Any,  # noqa: ANN401  any kind of data
    perturb: Any,  # noqa: ANN401  a perturbation, or its text
    *,
    measurement: CurveOptions,
    outcome: CurveOutcome,
    inputs: FileOptions,
    running: RunOptions,
    batches: BatchOptions,
    caller: Caller,
) -> Result:
    """Measure accuracy against the level, and find where it falls below a threshold.

    `perturb` has a range of levels: "blur:0..2", or an object of `sf.perturb` (from 0 to its level,
    or as far as it goes). Several models, or several perturbations, are given in a list: then the
    curves stand side by side. The options are those of `surefoot curve`.

    Example: sf.curve("model.onnx", "test.npz", "blur:0..2", threshold=0.8)
    """
    from surefoot.commands.sampling import run_each
    from surefoot.commands.subjects import named_models, read_subjects
    from surefoot.study.comparison import compare

    running.check()
    limits = batches.arguments()
    check_figure_file(outcome.figure)
    perturbations = list(perturb) if isinstance(perturb, list | tuple) else [perturb]
    least = None
    if outcome.require is not None:
        least = _share_of_levels(outcome.require, perturbations[0])
    for one in perturbations:
        range_of(one)  # refuses a mistake before files are read
        if perturbations.count(one) > 1:
            raise InvalidArgument(f"{option_name('perturb')} {one} is given twice: give it once")
    measurement.check()
    if least is not None and measurement.compare_methods:
        raise InvalidArgument(
            f"{option_name('require')} {outcome.require} is for one method: leave out "
            "compare_methods (--compare-methods), or run it apart"
        )
    models = named_models(model)
    if not models:
        raise InvalidArgument(
            "curve needs one or more models, then the data: write model.onnx test.npz"
        )
    stated = measurement.property
    needs = None if stated is None else as_property(stated).needs
    subjects = read_subjects(models, data, inputs, running.seed, needs)
    request = _CurveRequest(subjects, measurement, outcome.by_class, running.seed, caller)
    studies, sources = request.studies(perturbations)
    more = {**running.arguments(), **limits}
    result = run_each(
        partial(compare, studies), list(studies), sources, caller, part="curve", unit="curves",
        **more,
    )  # fmt: skip
    result = result if least is None else result.require(least)
    return running.write(result, caller.command, outcome.figure)


def _share_of_levels(required: Number, perturb: Any) -> float:  # noqa: ANN401  a perturbation, or its text
    """The value of `require`; a level is refused, with the share that it stands for."""
    value = as_number("require", required)
    if 0 <= value <= 1:
        return value
    _, levels = range_of(perturb)
    way_out = "write 0.25 for a quarter of the range"
    if levels.low == 0 <= value <= levels.high:
        way_out = f"for level {value:g} of {perturb} write {value / levels.high:.4g}"
    raise InvalidArgument(
        f"{option_name('require')} {required}: it is the share of the range of levels on which the "
        f"accuracy must be kept, from 0 to 1, not a level: {way_out}"
    )


@dataclass(frozen=True, eq=False)
class _CurveRequest:
    """Models and inputs, what is measured, and how the record names it."""

    subjects: Subjects
    measurement: CurveOptions
    by_class: bool
    seed: int
    caller: Caller

    def studies(
        self, perturbations: list[Any]
    ) -> tuple[dict[str, Study], dict[str, Source] | None]:
        """A study for every model and perturbation, and where it came from, by name."""
        from surefoot.study import Study

        inputs, models = self.subjects.inputs, self.subjects.models
        bounds = next(iter(models.values())).signature.bounds
        kept_if = self.measurement.property_for(inputs)
        prop, methods = as_property(kept_if), self.measurement.methods()
        studies: dict[str, Study] = {}
        sources: dict[str, Source | None] = {}
        for perturb in perturbations:
            perturbation, levels = range_of(perturb, inputs.frame, bounds)
            for name, model in models.items():
                parts = [name] * (len(models) > 1)
                words = perturb if isinstance(perturb, str) else perturbation.kind
                parts += [words] * (len(perturbations) > 1 or len(methods) > 1)
                for method in methods:
                    key = ", ".join([*parts, *([method] * (len(methods) > 1))])
                    if key in studies:
                        raise InvalidArgument(f"two curves are called {key!r}: run them apart")
                    studies[key] = Study(
                        model,
                        inputs,
                        perturbation,
                        self.measurement.method_on(levels, self.seed, method),
                        property=prop,
                        seed=self.seed,
                        by_class=self.by_class,
                    )
                    sources[key] = self.subjects.source(name, self.caller, perturb, kept_if)
        known = {key: source for key, source in sources.items() if source is not None}
        return studies, known if len(known) == len(studies) else None


def range_of(
    perturb: Any,  # noqa: ANN401  a perturbation, or its text
    frame: tuple[int, ...] = (),
    bounds: Interval | None = None,
) -> tuple[Perturbation, Interval]:
    """The perturbation with an open level, and the levels to go through."""
    from surefoot.catalogue.parse import parse_range
    from surefoot.commands.values import as_perturbation
    from surefoot.core.results import Interval
    from surefoot.perturb import RandomLevel

    if isinstance(perturb, str):
        return parse_range(perturb, frame, bounds)
    given: Any = as_perturbation(perturb)
    if isinstance(given, RandomLevel):
        inner: Any = given.inner
        return replace(inner, level=None), Interval(given.lowest * given.level, given.level)
    if given.level is None:
        return given, Interval(0.0, _strongest(given, frame, bounds))
    return replace(given, level=None), Interval(0.0, float(given.level))


def _strongest(perturbation: Any, frame: tuple[int, ...], bounds: Interval | None) -> float:  # noqa: ANN401  a perturbation, or its text
    """The end of the range of a perturbation that names no level."""
    from surefoot.catalogue.parse import parse_range
    from surefoot.catalogue.registry import PERTURBATIONS

    kind = perturbation.kind
    if kind in PERTURBATIONS:
        return parse_range(kind, frame, bounds)[1].high
    strongest = float(perturbation.levels(bounds).high)
    if math.isfinite(strongest):
        return strongest
    raise InvalidArgument(f"{kind} names no level: give it one, and the levels go from 0 to it")
