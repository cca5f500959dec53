"""`surefoot critical`: how far can an input be perturbed before its label can change?"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.compare import names_of
from surefoot.cli.levels_option import announced
from surefoot.cli.output import command_line, present, say_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.run_options import ReportOption, SeedOption, WorkersOption
from surefoot.cli.terminal import show_view
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Record
    from surefoot.study import Result, Study


@dataclass(frozen=True)
class Files:
    """What other tools may want of the outcome."""

    counterexamples: Annotated[
        str | None, typer.Option(help="Write the points with another label here: ce.npz.")
    ] = None
    vnnlib: Annotated[
        str | None,
        typer.Option(help="Write VNN-LIB properties and instances.csv into this folder."),
    ] = None

    def check(self, names: Sequence[str]) -> None:
        """Refuse early what could not be written."""
        for name in names:
            if self.counterexamples is not None:
                o.check_file(str(_apart(self.counterexamples, name)))
            if self.vnnlib is not None:
                o.check_folder(str(_apart(self.vnnlib, name)))
        if self.counterexamples is not None and Path(self.counterexamples).suffix != ".npz":
            raise InvalidArgument(f"--counterexamples writes .npz, got {self.counterexamples}")

    def write(self, study: Study, record: Record, graph: str, name: str) -> None:
        """Write what was asked for; the network's name is in it where there are several."""
        from surefoot.study.export_counterexamples import write_counterexamples, write_properties

        if self.counterexamples is not None:
            at = _apart(self.counterexamples, name)
            many = write_counterexamples(study, record, at)
            sys.stderr.write(f"written: {at}, {many:,} counterexamples\n")
        if self.vnnlib is not None:
            at = _apart(self.vnnlib, name)
            many = write_properties(study, record, Path(graph), at)
            sys.stderr.write(f"written: {at}, {many:,} properties\n")


def _apart(path: str, name: str) -> Path:
    given = Path(path)
    if not name:
        return given
    plain = name.replace("/", "_").replace(
        "\\", "_"
    )  # a whole path, where file names are not enough
    whole = given if given.name else given.resolve()
    return whole.with_name(f"{whole.stem}-{plain}{whole.suffix}")


@o.expanded
def critical(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL.onnx... DATA", help="One ONNX file or more, then the data."),
    ],
    *,
    reading: o.Reading,
    files: Files,
    tolerance: Annotated[str, typer.Option(help="How narrow a bracket is to be.")] = "0.002",
    quantile: o.QuantileOption = "0.05",
    confidence: o.SureOption = "0.95",
    seconds_per_input: Annotated[
        float, typer.Option(help="CPU seconds at most for an input.")
    ] = 60.0,
    quantile_only: Annotated[
        bool,
        typer.Option(
            "--quantile-only",
            help="Prove and refute no further than the quantile (or --require) needs: much faster.",
        ),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(help="Take inputs until the quantile is known to ± this; no further proofs."),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Points drawn within each of some radii of an input; 0 for none.")
    ] = 200,
    verifier: Annotated[
        str,
        typer.Option(
            help="Another prover in place of ours: 'tool {onnx} {vnnlib} {seconds} {result}'."
        ),
    ] = "",
    at: Annotated[
        str | None,
        typer.Option(help="Robust accuracy at these radii: 0.01,8/255."),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="The quantile of each class as well.")
    ] = False,
    require: o.RadiusOption = None,
    figure: o.RadiiFigure = None,
    seed: SeedOption = 1,
    report: ReportOption = None,
    store: o.StoreOption = o.DEFAULT_STORE,
    json: o.Json = False,
    workers: WorkersOption = None,
) -> int:
    """Bracket the critical L∞ radius of every input between a proof and a counterexample.

    Up to the lower end the label is proved constant; at the upper end stands a point that the model
    itself gives another label. Then the radius that a share of the inputs does not exceed, with an
    interval for the population. Interrupted, it gives the brackets reached, and the same command
    goes on from there. Needs pip install 'surefoot\\[verify]'.

    Example: surefoot critical model.onnx test.npz --first 20 --tolerance 0.002 --quantile 0.05
    """
    _one_thread_each()
    from surefoot import perturb
    from surefoot.population import CriticalQuantile
    from surefoot.properties import SameLabel, TrueLabel
    from surefoot.report.figures import check_figure
    from surefoot.search import CriticalLevel
    from surefoot.study import Study, compare
    from surefoot.study.registry import number, share

    *models, data = paths
    if not models:
        raise InvalidArgument("critical takes an ONNX file or more, then the data")
    names = names_of(models)
    o.check_file(report)
    files.check(names if len(models) > 1 else [""])
    if figure is not None:
        o.check_file(figure)
        check_figure(figure)
    least = None if require is None else number(require)
    radii = [] if at is None else [number(part) for part in at.split(",")]
    if least is not None and not 0 < least < math.inf:
        raise InvalidArgument(f"--require is a radius above 0, got {require}: try 8/255")
    told = (
        number(tolerance),
        seconds_per_input,
        share("--quantile", quantile),
        round(1 - share("--confidence", confidence), 12),
        samples,
    )
    asked: CriticalLevel | CriticalQuantile = CriticalLevel(*told, verifier)
    if quantile_only or within is not None:
        if verifier:
            raise InvalidArgument(
                f"--verifier {verifier}: another prover closes brackets; leave out --quantile-only "
                "and --within"
            )
        near = None if within is None else number(within)
        asked = CriticalQuantile(*told, near, least)
    loaded, inputs = reading.load_all(models, data, seed)
    held = SameLabel() if inputs.labels is None else TrueLabel()
    classes = True if by_class else None
    keys = names if len(models) > 1 else [""]
    studies = {
        key: Study(
            model, inputs, perturb.LinfNoise(), asked, property=held, seed=seed, by_class=classes
        )
        for key, model in zip(keys, loaded, strict=True)
    }
    sources = {
        key: reading.source(path, data, command=command_line(), property=held.kind)
        for key, path in zip(keys, models, strict=True)
    }
    what = "inputs" if isinstance(asked, CriticalLevel) else "quantiles"
    with progress_on_stderr(what) as watch:
        found = compare(
            studies,
            store=store,
            workers=workers,
            on_progress=watch,
            sources=sources,
            on_start=announced("model", len(models)),
            on_interrupt=partial(_reached, as_json=json),
        )
    say_from_store(found, store)
    for path, key in zip(models, keys, strict=True):
        part = found.parts[key] if found.parts else found
        files.write(studies[key], part.record, path, key)
    found = replace(found, command=command_line())
    for radius in radii:
        found = found.at_radius(radius)
    if least is not None:
        found = found.require(least)
    return present(found, report=report, figure=figure, as_json=json, kept_in=store)


def _one_thread_each() -> None:
    """Every worker is a thread of ours: more of the libraries' own would only be in the way.

    Nor would their time be counted. It must be said before they are loaded.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _reached(found: Result, *, as_json: bool) -> None:
    """Show the brackets that a stopped run has reached."""
    if as_json:
        typer.echo(found.to_json())
        return
    typer.echo("Stopped early. What was reached so far:\n")
    show_view(found.view)
