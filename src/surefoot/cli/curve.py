"""`surefoot curve`: up to which level does the model still work?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.curve_options import CurveOptions
from surefoot.cli.input_options import InputOptions
from surefoot.cli.numbers import number
from surefoot.cli.output import command_line
from surefoot.cli.output_files import check_figure_file
from surefoot.cli.run_options import RunOptions
from surefoot.cli.side_by_side import names_of, run_side_by_side
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Source
    from surefoot.study import Study


@o.expand_options
def curve(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL... DATA", help="One or more models, then the data."),
    ],
    *,
    inputs: InputOptions,
    perturb: Annotated[
        list[str],
        typer.Option(
            help="Perturbation and range of levels: blur:0..2, rotation:-30..30, fog (up to "
            "severity 5), blur:2+jpeg:0.5 (from none to both). Repeat it for several curves."
        ),
    ],
    measurement: CurveOptions,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Also a curve for each class.")
    ] = False,
    require: Annotated[
        str | None,
        typer.Option(
            help="Require accuracy at or above the threshold on at least this share of the range "
            "of levels, from 0 to 1 (not a level): 0.25."
        ),
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Write the figure here: curve.svg, .png or .json.")
    ] = None,
    options: RunOptions,
) -> int:
    """Measure accuracy against the level, and find where it falls below a threshold.

    Levels are chosen where the curve may cross the threshold. Far from the threshold a part of the
    inputs is enough. The interval holds for the curve as it is between the levels too, under what
    --assume says; the result names it, and says so if the data contradict it. If the perturbation
    is random, the curve is the mean over fresh draws of the noise, unless --fixed-draws is given.

    Example: surefoot curve model.onnx test.npz --perturb blur:0..2 --threshold 0.8
    """
    from surefoot.study import compare
    from surefoot.study.parse_perturbation import parse_range

    *models, data = paths
    if not models:
        raise InvalidArgument("curve needs one or more models, then the data: model.onnx test.npz")
    options.check()
    check_figure_file(figure)
    least = None if require is None else _share_of_levels(require, perturb)
    for text in perturb:
        parse_range(text)  # refuses a mistake before files are read
        if perturb.count(text) > 1:
            raise InvalidArgument(f"--perturb {text} is given twice: give it once")
    measurement.check()
    if least is not None and measurement.compare_methods:
        raise InvalidArgument(
            f"--require {require} is for one method: leave out --compare-methods, or run it apart"
        )
    request = _CurveRequest(inputs, data, measurement, by_class)
    studies, sources = request.studies(models, perturb, options.seed)
    run = partial(compare, studies)
    result = run_side_by_side(run, sources, options, part="curve", unit="curves")
    if least is not None:
        result = result.require(least)
    return options.finish(result, figure)


def _share_of_levels(text: str, perturb: Sequence[str]) -> float:
    """The value of --require; a level is refused, with the share that it stands for."""
    from surefoot.study.parse_perturbation import parse_range

    value = number("--require", text)
    if 0 <= value <= 1:
        return value
    _, levels = parse_range(perturb[0])
    way_out = "write 0.25 for a quarter of the range"
    if levels.low == 0 <= value <= levels.high:
        way_out = f"for level {value:g} of {perturb[0]} write {value / levels.high:.4g}"
    raise InvalidArgument(
        f"--require {text}: it is the share of the range of levels on which the accuracy must be "
        f"kept, from 0 to 1, not a level: {way_out}"
    )


@dataclass(frozen=True)
class _CurveRequest:
    """What is to be measured, as typed."""

    inputs: InputOptions
    data: str
    measurement: CurveOptions
    by_class: bool

    def studies(
        self, models: Sequence[str], perturb: Sequence[str], seed: int
    ) -> tuple[dict[str, Study], dict[str, Source]]:
        """A study for every model and perturbation, and where it came from, by name."""
        from surefoot.study import Study
        from surefoot.study.parse_perturbation import parse_range
        from surefoot.study.registry import parse_property

        loaded, inputs = self.inputs.load_all(models, self.data, seed)
        written_property = self.measurement.property_for(inputs)
        prop = parse_property(written_property)
        studies: dict[str, Study] = {}
        sources: dict[str, Source] = {}
        methods = self.measurement.methods
        for text in perturb:
            perturbation, levels = parse_range(text, inputs.frame, loaded[0].signature.bounds)
            for path, name, model in zip(models, names_of(models), loaded, strict=True):
                parts = [name] * (len(models) > 1)
                parts += [text] * (len(perturb) > 1 or len(methods) > 1)
                source = self.inputs.source(
                    path, self.data, command=command_line(), perturb=text, property=written_property
                )
                for method in methods:
                    key = ", ".join([*parts, *([method] * (len(methods) > 1))])
                    studies[key] = Study(
                        model,
                        inputs,
                        perturbation,
                        self.measurement.method_on(levels, seed, method),
                        property=prop,
                        seed=seed,
                        by_class=self.by_class,
                    )
                    sources[key] = source
        return studies, sources
