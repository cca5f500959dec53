"""Files with counterexamples and properties for other tools."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.errors import InvalidArgument
from surefoot.records.options import option, refused

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.population import CriticalQuantile
    from surefoot.records.record import Record
    from surefoot.region.critical_level import CriticalLevel
    from surefoot.study import Result, Study
    from surefoot.subject.protocols import Perturbation


@dataclass(frozen=True)
class ExportOptions:
    """What to write for other tools."""

    counterexamples: str | Path | None = option(
        None, "Write the counterexamples here: counterexamples.npz."
    )
    vnnlib: str | Path | None = option(
        None, "Write VNN-LIB properties and instances.csv into this folder."
    )

    def check(self, names: Iterable[str]) -> None:
        """Refuse early what could not be written."""
        for name in names:
            if self.counterexamples is not None:
                v.check_file(path_for_network(self.counterexamples, name))
            if self.vnnlib is not None:
                v.check_folder(path_for_network(self.vnnlib, name))
        if self.counterexamples is not None and Path(self.counterexamples).suffix != ".npz":
            raise refused(
                "counterexamples",
                self.counterexamples,
                f"must be a .npz file, got {self.counterexamples}",
            )

    def check_region(self, study: Study) -> None:
        """Refuse a region that VNN-LIB has no words for."""
        kinds = study.perturbation.kind, study.property.kind
        if self.vnnlib is not None and not (kinds[0] == "linf" and kinds[1] in ("true", "same")):
            raise refused(
                "vnnlib",
                self.vnnlib,
                f"describes boxes in which no other label may win, got {kinds[0]} and {kinds[1]}: "
                "use linf and true or same, or leave it out",
            )

    def write(
        self, study: Study, record: Record, graph: object, name: str, remark: Callable[[str], None]
    ) -> None:
        """Write the files; with several networks, the network's name is in the file name."""
        from surefoot.study.export_counterexamples import write_counterexamples, write_properties

        if self.counterexamples is not None:
            path = path_for_network(self.counterexamples, name)
            number = write_counterexamples(study, record, path)
            remark(f"{number:,} counterexamples written to {path}")
        if self.vnnlib is not None:
            if not isinstance(graph, str | Path):
                raise refused(
                    "vnnlib", self.vnnlib, "names the ONNX file: pass the model by its path"
                )
            path = path_for_network(self.vnnlib, name)
            number = write_properties(study, record, Path(graph), path)
            remark(f"{number:,} properties written to {path}")


def path_for_network(path: str | Path, name: str) -> Path:
    """The path with the network's name before its suffix; unchanged if the name is empty."""
    if not name:
        return Path(path)
    plain_name = name.replace("/", "_").replace("\\", "_")  # the name may be a whole path
    target = Path(path) if Path(path).name else Path(path).resolve()
    return target.with_name(f"{target.stem}-{plain_name}{target.suffix}")


@dataclass(frozen=True)
class RadiusOptions:
    """How brackets are found, and which quantile is claimed."""

    perturb: v.AnyPerturbation = option(
        "linf",
        "Ball in which points move: linf, l2 or l1; table:1sd or table:1,features=FILE.toml: the "
        "radius multiplies the noise of each feature.",
        common=True,
    )
    property: str | object | None = option(
        None,
        "What every point must do: get the true label (true), keep the clean one (same), keep the "
        "true label among the best k (topk:2); default: true, or same without labels.",
    )
    tolerance: v.Number = option(0.002, "How narrow each bracket must be.", common=True)
    quantile: v.Number = option(
        0.05, "The share of inputs whose critical radius may be smaller.", common=True
    )
    confidence: v.Number = option(o.CONFIDENCE, "Confidence of the result.")
    seconds_per_input: float | None = option(
        None,
        "Maximum seconds per input, of one core or on a GPU: 60, or none with --nodes-per-input.",
    )
    nodes_per_input: int | None = option(
        None,
        "Maximum nodes of branch and bound per input: on any processor the same.",
        least=2,
    )
    quantile_only: bool = option(
        False, "Only narrow brackets as far as the quantile (or --require) needs: much faster."
    )
    within: v.Number | None = option(
        None, "Take inputs until the quantile is known to ± this (--quantile-only)."
    )
    samples: int = option(
        200, "Random points per input and radius as a check; 0 for none.", least=0
    )
    arithmetic: str = option(
        "float32",
        "What proofs hold for: float32, the model as run, or real, one that computes exactly.",
    )
    verifier: str = option(
        "",
        "Use another prover: neuralsat, abcrown=PATH, or any command as in 'tool {onnx} {vnnlib} "
        "{seconds} {result}'.",
    )
    prove_on: str = option(
        "", "Where proofs are searched: cpu, or a GPU (cuda, cuda:1); default: beside the model."
    )

    def ball(self, frame: tuple[int, ...] = ()) -> Perturbation:
        """The perturbation, its level open; that of a table is one of all its features together."""
        given = self.perturb
        text = f"{given}:1" if isinstance(given, str) and ":" not in given else given
        ball: Any = v.as_perturbation(text, frame)
        if text is not given or (ball.kind == "table" and ball.level == 1):
            ball = replace(ball, level=None)
        return cast("Perturbation", ball)

    def method(self, least: float | None) -> CriticalLevel | CriticalQuantile:
        """The method; `least` is the radius that is required."""
        from surefoot.population import CriticalQuantile
        from surefoot.region.critical_level import CriticalLevel, arithmetic_named

        arithmetic = arithmetic_named(self.arithmetic)
        seconds, nodes = self.seconds_per_input, self.nodes_per_input
        shared = (
            v.as_number("tolerance", self.tolerance),
            None if seconds is None else v.as_number("seconds_per_input", seconds),
            v.share("quantile", self.quantile),
            v.error_from(self.confidence),
            self.samples,
        )
        if not self.quantile_only and self.within is None:
            return CriticalLevel(*shared, self.verifier, nodes, arithmetic)
        if self.verifier:
            raise refused(
                "verifier",
                self.verifier,
                f"{self.verifier}: another prover closes brackets; leave "
                "out quantile_only (--quantile-only) and within (--within)",
            )
        within = None if self.within is None else v.as_number("within", self.within)
        return CriticalQuantile(
            *shared, within, least, nodes_per_input=nodes, arithmetic=arithmetic
        )


@dataclass(frozen=True)
class RadiusOutcome:
    """What is shown and required of the radii."""

    at: v.Numbers | None = option(None, "Also the robust accuracy at these radii: 0.01,8/255.")
    by_class: bool = option(False, "Also the quantile of each class.")
    estimator: str = option(
        o.ESTIMATOR, "Of the quantile: shortest-ranks, order-statistics, log-normal or algorithm-1."
    )
    gamma: v.Number | None = option(None, "Length of interval at which algorithm-1 stops: 0.002.")
    require: v.Number | None = option(
        None, "Require that the quantile is at least this radius: 8/255.", common=True
    )
    figure: str | Path | None = option(
        None, "Write the figure here: critical.svg, .png, .pdf or .json."
    )

    def required_radius(self) -> float | None:
        """The radius that is required, if there is one."""
        if self.require is None:
            return None
        least = v.as_number("require", self.require)
        if not 0 < least < math.inf:
            raise refused(
                "require", self.require, f"must be a radius above 0, got {self.require}: try 8/255"
            )
        return least


def critical(
    model: Annotated[
        v.AnyModel, o.several_models("MODEL.onnx... DATA", "One or more ONNX files, then the data.")
    ],
    data: v.AnyData,
    *,
    export: ExportOptions,
    radius: RadiusOptions,
    outcome: RadiusOutcome,
    running: o.ProofTimeOptions,
    caller: Caller,
) -> Result:
    """Bracket the radius at which each label can change, between proof and counterexample.

    `model`: an ONNX file, or several in a list; data as for `sf.estimate`; the options are those of
    `surefoot critical`.

    Example: sf.critical("model.onnx", "test.npz", first=10)
    """
    from surefoot.commands.request import named_models, read_subjects, run_each
    from surefoot.region.critical_level import CriticalLevel
    from surefoot.study import Study
    from surefoot.study.external import check_estimator, with_estimator
    from surefoot.study.study import compare

    models = named_models(model)
    if not models:
        raise InvalidArgument(
            "critical needs one or more ONNX files, then the data: write model.onnx test.npz"
        )
    running.check()
    export.check(models)
    v.check_figure_file(outcome.figure)
    least = outcome.required_radius()
    radii = () if outcome.at is None else v.as_numbers("at", outcome.at)
    method = radius.method(least)
    gamma = None if outcome.gamma is None else v.as_number("gamma", outcome.gamma)
    check_estimator(method, outcome.estimator, gamma)
    radius.ball()  # refuses a mistake before files are read
    subjects = read_subjects(models, data, running, running.seed)
    subjects = replace(subjects, kept_if=v.property_for(radius.property, subjects.inputs))
    running.check_clean(subjects.inputs)
    studies = {
        name: Study(
            network, subjects.inputs, radius.ball(subjects.inputs.frame), method,
            property=subjects.property, seed=running.seed, by_class=outcome.by_class or None,
            prove_on=radius.prove_on,
        )
        for name, network in subjects.models.items()
    }  # fmt: skip
    export.check_region(next(iter(studies.values())))
    sources = {name: subjects.source(name, caller, radius.perturb) for name in models}
    unit = "inputs" if isinstance(method, CriticalLevel) else "quantiles"
    few = _too_few(method, len(subjects.inputs), outcome.estimator)
    if few and not subjects.inputs.groups:
        caller.announce(few)
    run = partial(compare, studies, on_interrupt=caller.on_interrupt)
    result = run_each(run, sources, caller, part="model", unit=unit, **running.arguments())
    result = with_estimator(result, outcome.estimator, gamma)
    for name, path in models.items():
        part = result.parts[name] if result.parts else result
        export.write(studies[name], part.record, path, name, caller.remark)
    if radii:
        result = result.at_radius(*radii)
    return running.finish(result, caller.command, outcome.figure, least=least)


def _too_few(method: CriticalLevel | CriticalQuantile, inputs: int, estimator: str) -> str:
    """That these inputs cannot bound the quantile from below, before any is proved, or empty."""
    from surefoot.statistics.ranks import fewest

    least = fewest(method.quantile, method.error)
    if estimator != o.ESTIMATOR or getattr(method, "within", None) or inputs >= least:
        return ""
    reached = 1 - method.error ** (1 / inputs)
    return (
        f"{inputs:,} inputs are too few to bound the {100 * method.quantile:g} % quantile from "
        f"below: take {least:,} or more (--first {least}), or --quantile "
        f"{math.ceil(100 * reached) / 100:g}"
    )
