"""Several runs of one command set side by side: at several levels, or of several models."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.output import command_line, present, say_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.cli.options import Reading
    from surefoot.cli.requirement_options import Requiring
    from surefoot.cli.run_options import Asked, Running
    from surefoot.search import Attack
    from surefoot.study import Result

LevelsOption = Annotated[
    str | None,
    typer.Option(
        help="Repeat at these levels, side by side: --perturb linf --levels 0.01,4/255. No "
        "requirement can be stated then."
    ),
]
FigureOption = Annotated[
    str | None,
    typer.Option(help="With --levels: write the curve here, as curve.svg, .png or .json."),
]


@dataclass(frozen=True)
class Side:
    """Levels to be set side by side, and where the figure of them goes."""

    levels: LevelsOption = None
    figure: FigureOption = None

    def check(self) -> None:
        """Before anything is read or run."""
        from surefoot.cli.options import check_file
        from surefoot.report.figures import check_figure

        if self.figure is None:
            return
        if self.levels is None:
            raise InvalidArgument(
                f"a figure is of several levels: add --levels 0.01,0.02,0.04 to --figure "
                f"{self.figure}"
            )
        check_file(self.figure)
        check_figure(self.figure)


def run_levels(
    reading: Reading,
    model: str,
    asked: Asked,
    running: Running,
    side: Side,
    requiring: Requiring,
    attack: Attack | None = None,
) -> int:
    """The same study at every level: a table, a page and a figure of failing against it."""
    from surefoot.perturb._ops.levels import level_words
    from surefoot.study import sweep
    from surefoot.study.comparison import studies_by_level
    from surefoot.study.parse_perturbation import at_level, written_level
    from surefoot.study.registry import number

    if requiring:
        raise InvalidArgument("a requirement is for one level: leave out --levels, or --require")
    wanted = [number(part) for part in (side.levels or "").split(",")]
    texts = {level_words(level): at_level(running.perturb, level) for level in wanted}
    first = replace(running, perturb=next(iter(texts.values())))
    study, source = first.study(reading, model, asked)
    studies_by_level(study, wanted)  # refuses levels that make no sense before anything is said
    if given := written_level(running.perturb):
        used = "is scaled to each of --levels" if ".." in given else "is not used beside --levels"
        sys.stderr.write(f"{given} in --perturb {running.perturb} {used}\n")
    sources = {name: replace(source, perturb=text) for name, text in texts.items()}
    with progress_on_stderr() as watch:
        found = sweep(
            study,
            wanted,
            store=running.store,
            workers=running.workers,
            batch=running.batch,
            on_progress=watch,
            attack=attack,
            sources=sources,
            on_start=announced("level", len(texts)),
        )
    return shown(found, running, side.figure)


def announced(what: str, number: int) -> Callable[[str], None]:
    """Say which one of several runs now."""
    place = count(1)

    def say(name: str) -> None:
        if number > 1:
            sys.stderr.write(f"{what} {name} ({next(place)} of {number})\n")

    return say


def shown(found: Result, running: Running, figure: str | None = None) -> int:
    """Write and print results side by side."""
    say_from_store(found, running.store)
    return present(
        replace(found, command=command_line()),
        report=running.report,
        figure=figure,
        as_json=running.json,
        kept_in=running.store,
    )
