"""The options that decide how a curve is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.commands.methods import fields_of, named_method
from surefoot.errors import InvalidArgument
from surefoot.records.options import Option, option, option_name, refused, refused_value

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.core.results import Interval
    from surefoot.records.record import Source
    from surefoot.study import Result, Study
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Perturbation


@dataclass(frozen=True)
class CurveOptions:
    """What is measured along the curve, and by which method.

    An option that is left out is None, so that one the method cannot honour is refused.
    """

    threshold: v.Numbers | None = option(
        None, "Lowest accepted accuracy: 0.8, or 0.8,0.6 (default: 0.8).", repeats=True, common=True
    )
    measure: str | None = option(
        None, "accuracy, or confidence: the mean confidence in the label (default: accuracy)."
    )
    property: str | object | None = option(
        None,
        "When an output counts as correct: true, same, topk:5; without classes close:0.5, "
        "pixels:0.95, iou:0.8, boxes:0.5, labels:0.5 (default: true, or same without labels).",
    )
    scope: str | None = option(
        None,
        "What the curve is about: set (exactly these inputs) or population (what they are a random "
        "sample of) (default: set).",
    )
    confidence: v.Number | None = option(
        None, f"Confidence of the result (default: {o.CONFIDENCE})."
    )
    resolution: v.Number | None = option(
        None, "How precisely to locate a crossing, as a share of the range (default: 0.001)."
    )
    assume: str | None = option(
        None,
        "What is assumed between the levels: bounded-rise (a stronger level never raises accuracy "
        "by more than half a point or two inputs; bounded-rise:0.02 by more than 2 points), "
        "one-crossing (once below the threshold, below at all stronger levels), monotone (an input "
        "that fails keeps failing), curvature:128 (default: bounded-rise).",
    )
    fixed_draws: bool = option(
        False,
        "For a random perturbation: one draw for each input, the same at every level, instead of "
        "fresh draws.",
    )
    method: str = option("sequential", "sequential, asap, uniform, random or quad.")
    compare_methods: bool = option(False, "Also run asap, uniform and quad, on the same inputs.")
    levels: int | None = option(None, "For uniform, random, quad: number of levels.", least=2)
    as_printed: bool = option(False, "For asap: exactly as the paper prints it.")
    curvature: v.Number | None = option(
        None,
        "For asap: the paper's â, in accuracy per squared range (default: from the data); as "
        "printed per squared unit of the level (128).",
    )
    grid: int | None = option(
        None, "For asap: the paper's n, no pair of levels is closer (default: 1024)."
    )
    step: v.Number | None = option(
        None, "For asap, instead of --grid: the smallest step, a share of the range."
    )

    def property_for(self, inputs: Inputs) -> v.Given:
        """The property: the one given, or what suits measure and labels."""
        if self.property is None and self.measure == "confidence":
            return "confidence" if inputs.labels is not None else "confidence:predicted"
        return v.property_for(self.property, inputs)

    def check(self) -> None:
        """Refuse an option that the method does not have, before files are read."""
        for method in self.methods():
            self._chosen_fields(method)
        for name, value in (("scope", self.scope), ("measure", self.measure)):
            if self.compare_methods and value not in (None, "set", "accuracy"):
                raise refused(
                    "compare_methods",
                    True,
                    f"is about the accuracy of exactly these "
                    f"inputs, got {option_name(name)} {value}: leave out one of the two",
                )

    def methods(self) -> tuple[str, ...]:
        """The methods that are run, the chosen one first."""
        return tuple(dict.fromkeys((self.method, *(_COMPARED if self.compare_methods else ()))))

    def method_on(self, levels: Interval, seed: int, name: str = "") -> v.AnyMethod:
        """The chosen method over this range of levels, or another of `methods`."""
        from surefoot.catalogue.methods import CURVES

        chosen = self._chosen_fields(name or self.method)
        method = CURVES[name or self.method]
        if "seed" in fields_of(method):
            chosen["seed"] = seed
        return method(low=levels.low, high=levels.high, **chosen)

    def _chosen_fields(self, method: str) -> dict[str, v.Given]:
        """The fields that the options set; of a method to compare with, what it shares."""
        from surefoot.catalogue.methods import CURVES

        named_method(method, CURVES)
        takes = {name: fields_of(kind) for name, kind in CURVES.items()}
        chosen = {}
        for name, value in self._values().items():
            field = _FIELDS.get(name, name)
            if field in takes[method]:
                chosen[field] = value
            elif method == self.method and all(field not in takes[m] for m in self.methods()[1:]):
                able = " or ".join(method for method in CURVES if field in takes[method])
                raise refused(name, value, f"is not for method {method}: use {able}")
        return chosen

    def _values(self) -> dict[str, v.Given]:
        """The options that were given, read."""
        readers: dict[str, Callable[[str, v.Given], v.Given]] = {
            "threshold": v.as_numbers,
            "confidence": lambda _, value: v.error_from(value),
            **dict.fromkeys(("resolution", "curvature", "step"), v.as_number),
        }
        given = {name: getattr(self, name) for name in _SETTINGS}
        return {
            name: readers[name](name, value) if name in readers else value
            for name, value in given.items()
            if value is not None and value is not False
        }


_SETTINGS = (
    *("threshold", "confidence", "resolution", "scope", "measure", "assume", "fixed_draws"),
    *("curvature", "grid", "step", "as_printed", "levels"),
)
"""Options that set a field of a method, in the order in which they are refused."""
_FIELDS = {"threshold": "thresholds", "confidence": "error"}
"""Options whose field has another name, because it holds several or the complement."""
_COMPARED = ("asap", "uniform", "quad")
"""Methods of compare_methods: the paper's, and the two without chance that it compares with."""


@dataclass(frozen=True)
class CurveOutcome:
    """What is shown and required of the curves."""

    by_class: bool = option(False, "Also a curve for each class.")
    require: v.Number | None = option(
        None,
        "Require that accuracy stays at or above the threshold on at least this share of the range "
        "of levels, from 0 to 1 (not a level): 0.25.",
    )
    figure: str | Path | None = option(
        None, "Write the figure here: curve.svg, .png, .pdf or .json.", common=True
    )


def curve(
    model: Annotated[
        v.AnyModel, o.several_models("MODEL... DATA", "One or more models, then the data.")
    ],
    data: v.AnyData,
    perturb: Annotated[
        v.AnyPerturbation,
        Option(
            "Perturbation and range of levels: blur:0..2, rotation:-30..30, fog (up to "
            "severity 5), blur:2+jpeg:0.5 (from none to both). Repeat it for several curves.",
            repeats=True,
        ),
    ],
    *,
    measurement: CurveOptions,
    outcome: CurveOutcome,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Measure accuracy against the level, and find where it falls below a threshold.

    `perturb` has a range of levels: "blur:0..2", or an object of `sf.perturb` (from 0 to its level,
    or as far as it goes). Several models, or several perturbations, are given in a list: then the
    curves stand side by side. The options are those of `surefoot curve`.

    Example: sf.curve("model.onnx", "test.npz", "blur:0..2", threshold=0.8)
    """
    from surefoot.catalogue.parse import refuse_one_level
    from surefoot.commands.request import named_models, read_subjects, run_each
    from surefoot.study.study import Study, compare

    running.check()
    more = running.arguments()
    v.check_figure_file(outcome.figure)
    perturbations = list(perturb) if isinstance(perturb, list | tuple) else [perturb]
    least = None
    if outcome.require is not None:
        least = _share_of_levels(outcome.require, perturbations[0])
    for one in perturbations:
        if isinstance(one, str):
            refuse_one_level(one)
        range_of(one)  # refuses a mistake before files are read
        if perturbations.count(one) > 1:
            raise refused_value("perturb", one, "is given twice: give it once")
    measurement.check()
    if least is not None and measurement.compare_methods:
        raise refused_value(
            "require",
            outcome.require,
            "is for one method: leave out compare_methods (--compare-methods), or run it apart",
        )
    models = named_models(model)
    if not models:
        raise InvalidArgument(
            "curve needs one or more models, then the data: write model.onnx test.npz"
        )
    subjects = read_subjects(models, data, running, running.seed, measurement.property)
    subjects = replace(subjects, kept_if=measurement.property_for(subjects.inputs))
    running.check_clean(subjects.inputs)
    bounds = next(iter(subjects.models.values())).signature.bounds
    methods = measurement.methods()
    studies: dict[str, Study] = {}
    sources: dict[str, Source | None] = {}
    for one in perturbations:
        perturbation, levels = range_of(one, subjects.inputs.frame, bounds)
        for name, network in subjects.models.items():
            parts = [name] * (len(models) > 1)
            words = one if isinstance(one, str) else perturbation.kind
            parts += [words] * (len(perturbations) > 1 or len(methods) > 1)
            for method in methods:
                key = ", ".join([*parts, *([method] * (len(methods) > 1))])
                if key in studies:
                    raise InvalidArgument(f"two curves are called {key!r}: run them apart")
                studies[key] = Study(
                    network, subjects.inputs, perturbation,
                    measurement.method_on(levels, running.seed, method),
                    property=subjects.property, seed=running.seed, by_class=outcome.by_class,
                )  # fmt: skip
                sources[key] = subjects.source(name, caller, one)
    run = partial(compare, studies)
    result = run_each(run, sources, caller, part="curve", unit="curves", **more)
    return running.finish(result, caller.command, outcome.figure, least=least)


def _share_of_levels(required: v.Number, perturb: v.AnyPerturbation) -> float:
    """The value of `require`; a level is refused, with the share that it stands for."""
    value = v.as_number("require", required)
    if 0 <= value <= 1:
        return value
    _, levels = range_of(perturb)
    way_out = "write 0.25 for a quarter of the range"
    if levels.low == 0 <= value <= levels.high:
        way_out = f"for level {value:g} of {perturb} write {value / levels.high:.4g}"
    raise refused(
        "require",
        required,
        f"{required}: it is the share of the range of levels on which the "
        f"accuracy must be kept, from 0 to 1, not a level: {way_out}",
    )


def range_of(
    perturb: v.AnyPerturbation, frame: tuple[int, ...] = (), bounds: Interval | None = None
) -> tuple[Perturbation, Interval]:
    """The perturbation with an open level, and the levels to go through."""
    from surefoot.catalogue.parse import parse_range
    from surefoot.catalogue.registry import PERTURBATIONS
    from surefoot.core.results import Interval
    from surefoot.perturb import RandomLevel

    if isinstance(perturb, str):
        return parse_range(perturb, frame, bounds)
    given: Any = v.as_perturbation(perturb)
    if isinstance(given, RandomLevel):
        inner: Any = given.inner
        return replace(inner, level=None), Interval(given.lowest * given.level, given.level)
    if given.level is not None:
        return replace(given, level=None), Interval(0.0, float(given.level))
    if given.kind in PERTURBATIONS:
        return given, Interval(0.0, parse_range(given.kind, frame, bounds)[1].high)
    strongest = float(given.levels(bounds).high)
    if math.isfinite(strongest):
        return given, Interval(0.0, strongest)
    raise InvalidArgument(
        f"{given.kind} names no level: give it one, and the levels go from 0 to it"
    )
