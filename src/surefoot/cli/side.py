"""Several runs of one command set side by side: at several levels, or of several models."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.screen import exit_code, open_console, show_table
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.cli.options import Reading
    from surefoot.cli.requiring import Requiring
    from surefoot.cli.running import Asked, Running
    from surefoot.engine.attacking import Attack
    from surefoot.report.comparison import Comparison
    from surefoot.results import Decision, Undecided
    from surefoot.store.records import Record, Source
    from surefoot.study import Study

LevelsOption = Annotated[
    str | None,
    typer.Option(
        help="Repeat at these levels, side by side: --perturb linf --levels 0.01,4/255. Nothing "
        "is claimed then."
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
    """The same study at every level: a table, a page and a figure of robustness against it."""
    from surefoot.perturb.levels import level_words
    from surefoot.report.comparison import LEVELS, side_by_side
    from surefoot.study.comparing import at_levels
    from surefoot.study.notation import at_level, written_level
    from surefoot.study.registry import number

    if requiring:
        raise InvalidArgument("a requirement is for one level: leave out --levels, or --require")
    wanted = [number(part) for part in (side.levels or "").split(",")]
    texts = {level_words(level): at_level(running.perturb, level) for level in wanted}
    first = replace(running, perturb=next(iter(texts.values())))
    study, source = first.study(reading, model, asked)
    made = at_levels(study, wanted)
    if given := written_level(running.perturb):
        used = "is scaled to each of --levels" if ".." in given else "is not used beside --levels"
        sys.stderr.write(f"{given} in --perturb {running.perturb} {used}\n")
    sources = {
        name: replace(source, options={**source.options, "perturb": texts[name]}) for name in made
    }
    records = run_each(made, sources, running, "level", attack)
    found = side_by_side(records, LEVELS, command=command_line())
    if side.figure is not None:
        sys.stderr.write(f"figure written to {found.figure(side.figure)}\n")
    return present(found, running)


def run_each(
    studies: Mapping[str, Study],
    sources: Mapping[str, Source],
    running: Running,
    what: str,
    attack: Attack | None = None,
) -> dict[str, Record]:
    """Run one after the other, each with its progress."""
    records = {}
    for place, (name, study) in enumerate(studies.items(), start=1):
        sys.stderr.write(f"{what} {name} ({place} of {len(studies)})\n")
        with progress_on_stderr() as watch:
            found = study.run(
                running.store,
                workers=running.workers,
                batch=running.batch,
                watch=watch,
                source=sources[name],
                attack=attack,
            )
        records[name] = found.record
    return records


def present(found: Comparison, running: Running, claim: Decision | Undecided | None = None) -> int:
    """Write the page, print; the exit code says whether what was claimed holds."""
    from surefoot.report.phrases import verdict

    said = "" if claim is None else verdict(claim)
    if running.report is not None:
        found.report(running.report, said)
        sys.stderr.write(f"report written to {running.report}\n")
    if running.json:
        told = jsonlib.loads(found.to_json())
        told["requirements"] = [] if claim is None else [asdict(claim)]
        typer.echo(jsonlib.dumps(told, ensure_ascii=False))
    else:
        _show(found)
        if said:
            typer.echo(f"\n{said}")
    sys.stderr.write(f"evidence kept in {running.store}\n")
    return exit_code([] if claim is None else [claim])


def _show(found: Comparison) -> None:
    from surefoot.report import comparison_words as words

    console = open_console()
    console.print(words.headline(found), style="bold", markup=False)
    console.print(words.about(found), markup=False)
    for line in found.cautions:
        console.print(line, style="yellow", markup=False)
    console.print()
    for line in words.how_sure(found):
        console.print(line, markup=False)
    show_table(console, words.member_table(found))
    if (pairs := words.difference_table(found)) is not None:
        show_table(console, pairs)
    for line in words.agreement_words(found):
        console.print(f"\n{line}", markup=False)


def command_line() -> str:
    """What was typed."""
    return "surefoot " + shlex.join(sys.argv[1:])
