"""`surefoot critical`: how far can an input be perturbed before its label can change?"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.export_options import ExportOptions
from surefoot.cli.input_options import InputOptions
from surefoot.cli.numbers import error_from, number, number_list, share
from surefoot.cli.output import command_line
from surefoot.cli.output_files import check_figure_file
from surefoot.cli.run_options import RunOptions
from surefoot.cli.side_by_side import names_of, run_side_by_side
from surefoot.cli.terminal import print_view
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.population import CriticalQuantile
    from surefoot.region import CriticalLevel
    from surefoot.store.records import Source
    from surefoot.study import Result, Study


@dataclass(frozen=True)
class RadiusOptions:
    """How brackets are found, and which quantile is claimed."""

    tolerance: Annotated[str, typer.Option(help="How narrow each bracket must be.")] = "0.002"
    quantile: o.QuantileOption = "0.05"
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE
    seconds_per_input: Annotated[float, typer.Option(help="Maximum CPU seconds per input.")] = 60.0
    quantile_only: Annotated[
        bool,
        typer.Option(
            "--quantile-only",
            help="Only narrow brackets as far as the quantile (or --require) needs: much faster.",
        ),
    ] = False
    within: Annotated[
        str | None,
        typer.Option(help="Take inputs until the quantile is known to ± this (--quantile-only)."),
    ] = None
    samples: Annotated[
        int, typer.Option(min=0, help="Random points per input and radius as a check; 0 for none.")
    ] = 200
    verifier: Annotated[
        str,
        typer.Option(help="Use another prover: 'tool {onnx} {vnnlib} {seconds} {result}'."),
    ] = ""

    def method(self, least: float | None) -> CriticalLevel | CriticalQuantile:
        """The method; `least` is the radius that --require states."""
        from surefoot.population import CriticalQuantile
        from surefoot.region import CriticalLevel

        shared = (
            number("--tolerance", self.tolerance),
            self.seconds_per_input,
            share("--quantile", self.quantile),
            error_from(self.confidence),
            self.samples,
        )
        if not self.quantile_only and self.within is None:
            return CriticalLevel(*shared, self.verifier)
        if self.verifier:
            raise InvalidArgument(
                f"--verifier {self.verifier}: another prover closes brackets; leave out "
                "--quantile-only and --within"
            )
        return CriticalQuantile(
            *shared, None if self.within is None else number("--within", self.within), least
        )


@o.expand_options
def critical(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL.onnx... DATA", help="One or more ONNX files, then the data."),
    ],
    *,
    inputs: InputOptions,
    export: ExportOptions,
    radius: RadiusOptions,
    at: Annotated[
        str | None,
        typer.Option(help="Also the robust accuracy at these radii: 0.01,8/255."),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Also the quantile of each class.")
    ] = False,
    require: o.RadiusOption = None,
    figure: o.RadiiFigure = None,
    seed: o.SeedOption = 1,
    report: o.ReportOption = None,
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    workers: o.WorkersOption = None,
) -> int:
    """Bracket the L∞ radius at which each label can change, between proof and counterexample.

    Up to the lower end of a bracket the label is proved constant; at the upper end there is a
    perturbed input that the model gives another label. The result is the radius that a share of the
    inputs does not reach, with an interval for the population. If the run is interrupted, the
    brackets so far are printed, and the same command continues it. Needs pip install
    'surefoot\\[verify]'.

    Example: surefoot critical model.onnx test.npz --first 20 --tolerance 0.002 --quantile 0.05
    """
    _limit_library_threads()
    from surefoot.region import CriticalLevel
    from surefoot.study import compare

    *models, data = paths
    if not models:
        raise InvalidArgument("critical needs one or more ONNX files, then the data")
    keys = names_of(models) if len(models) > 1 else [""]
    options = RunOptions(seed, report, store, json, workers)
    options.check()
    export.check(keys)
    check_figure_file(figure)
    least, radii = _required_radius(require), () if at is None else number_list("--at", at)
    request = _RadiiRequest(inputs, data, radius.method(least), by_class)
    studies, sources = request.studies(dict(zip(keys, models, strict=True)), seed)
    unit = "inputs" if isinstance(request.method, CriticalLevel) else "quantiles"
    run = partial(compare, studies, on_interrupt=partial(_print_interrupted, as_json=json))
    result = run_side_by_side(run, sources, options, part="model", unit=unit)
    for path, key in zip(models, keys, strict=True):
        part = result.parts[key] if result.parts else result
        export.write(studies[key], part.record, path, key)
    for level in radii:
        result = result.at_radius(level)
    if least is not None:
        result = result.require(least)
    return options.finish(result, figure)


@dataclass(frozen=True)
class _RadiiRequest:
    """What is to be proved, as typed, with the method already built."""

    inputs: InputOptions
    data: str
    method: CriticalLevel | CriticalQuantile
    by_class: bool

    def studies(
        self, models: dict[str, str], seed: int
    ) -> tuple[dict[str, Study], dict[str, Source]]:
        """A study for every network, and where it came from, by name."""
        from surefoot import perturb
        from surefoot.properties import SameLabel, TrueLabel
        from surefoot.study import Study

        loaded, inputs = self.inputs.load_all(list(models.values()), self.data, seed)
        prop = SameLabel() if inputs.labels is None else TrueLabel()
        studies = {
            name: Study(
                model,
                inputs,
                perturb.LinfNoise(),
                self.method,
                property=prop,
                seed=seed,
                by_class=True if self.by_class else None,
            )
            for name, model in zip(models, loaded, strict=True)
        }
        sources = {
            name: self.inputs.source(path, self.data, command=command_line(), property=prop.kind)
            for name, path in models.items()
        }
        return studies, sources


def _required_radius(text: str | None) -> float | None:
    if text is None:
        return None
    least = number("--require", text)
    if not 0 < least < math.inf:
        raise InvalidArgument(f"--require must be a radius above 0, got {text}: try 8/255")
    return least


def _limit_library_threads() -> None:
    """One thread for each numerical library: our workers already use the cores.

    The CPU time of further threads would not be counted. Must be set before the libraries load.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _print_interrupted(result: Result, *, as_json: bool) -> None:
    """Print the brackets of an interrupted run."""
    if as_json:
        typer.echo(result.to_json())
        return
    typer.echo("Interrupted. The brackets so far:\n")
    print_view(result.view)
