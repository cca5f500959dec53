"""One study repeated at several levels."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.numbers import number_list
from surefoot.cli.output_files import check_figure_file
from surefoot.cli.requirement_options import RequirementOptions
from surefoot.cli.run_options import RunOptions, StudyRequest, run_study
from surefoot.cli.side_by_side import run_side_by_side
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.region import Attack


@dataclass(frozen=True)
class LevelsOptions:
    """Levels to measure one after the other, and where their figure goes."""

    levels: Annotated[
        str | None,
        typer.Option(
            help="Repeat at these levels and compare: --perturb linf --levels 0.01,4/255. Not "
            "with a requirement."
        ),
    ] = None
    figure: Annotated[
        str | None,
        typer.Option(help="With --levels: write the figure here: curve.svg, .png or .json."),
    ] = None

    def check(self) -> None:
        """Refuse what makes no sense before anything is read or run."""
        if self.figure is not None and self.levels is None:
            raise InvalidArgument(
                f"--figure {self.figure} needs several levels: add --levels 0.01,0.02,0.04"
            )
        check_figure_file(self.figure)


def run_at_levels(
    request: StudyRequest,
    model: str,
    options: RunOptions,
    levels: LevelsOptions,
    requirement: RequirementOptions,
    attack: Attack | None = None,
) -> int:
    """Run the study at the level of --perturb, or at every level of --levels."""
    requirement.check()
    levels.check()
    options.check()
    if levels.levels is None:
        return run_study(request, model, options, requirement, attack)
    if requirement:
        raise InvalidArgument(
            "a requirement is about one level: leave out --levels, or leave out --require and "
            "--require-each"
        )
    return _sweep(request, model, options, levels, attack)


def _sweep(
    request: StudyRequest,
    model: str,
    options: RunOptions,
    levels: LevelsOptions,
    attack: Attack | None,
) -> int:
    """The same study at every level: a table, a report and a figure of failures per level."""
    from surefoot.perturb._ops.levels import level_words
    from surefoot.study import sweep
    from surefoot.study.comparison import studies_by_level
    from surefoot.study.parse_perturbation import at_level, written_level

    chosen_levels = number_list("--levels", levels.levels or "")
    texts = {level_words(level): at_level(request.perturb, level) for level in chosen_levels}
    at_first_level = replace(request, perturb=next(iter(texts.values())))
    study, source = at_first_level.study(model, options.seed)
    studies_by_level(study, chosen_levels)  # refuses bad levels before anything is printed
    if written := written_level(request.perturb):
        use = "is scaled to each of --levels" if ".." in written else "is not used with --levels"
        sys.stderr.write(f"{written} in --perturb {request.perturb} {use}\n")
    sources = {name: replace(source, perturb=text) for name, text in texts.items()}
    run = partial(sweep, study, chosen_levels, attack=attack)
    result = run_side_by_side(run, sources, options, part="level")
    return options.finish(result, levels.figure)
